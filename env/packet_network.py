"""One network that hands out its decisions one at a time; the environments with one decision per step share it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, CoreError, Simulation, SimulationBatch
from .experience.block_rows import BlockRows
from .experience.ring import Ring
from .experience.seeds import Episodes
from .experience.world import EPISODE_NS, episode_cycles, refuse_stuck, window_cycles
from .packet_options import TOLLED_EPISODE_NS, PacketOptions

# Cycles that a run without decisions may take at once; short enough to notice the end of a workload.
_STRIDE = 1024
_LOOK_EVERY = 16  # cycles with decisions between two checks for a packet's delivery
# Mean hops per unit of the tolled reward. The Huber loss of DQN is quadratic, and so finds means of the noisy delays,
# only for errors below 1.
_TOLLED_UNIT = 10.0
# Limits of the weight of a job's packets with reward=job_slowdown (simcore/src/learning/reward/job_slowdown.cpp).
_JOB_WEIGHTS = (0.1, 10.0)


class PacketNetwork:
    """One network that stops at each decision of the agent.

    Args:
        options: see `PacketOptions`.

    Attributes:
        simulation: the present network.
        seam: `Simulation.seam()`; the same for all networks.
        observation: of the present decision, float32 [width], a view; zeros without a decision. If the episode of a
            packet was truncated, this is the packet's last observation. Its value can replace the rest of the return.
        mask: true for slots with a candidate, bool [slots], a view; only slot 0 without a decision.
        router: the router of the decision; -1 without one.
        time_ns: simulated time.
        invalid_actions: the number of actions of this network that slot 0 has replaced.
    """

    simulation: Simulation

    def __init__(self, options: PacketOptions) -> None:
        self.options = options
        self.parts = options.parts()
        if self.parts.reward is not None:
            raise ConfigError(
                f"reward: '{options.reward}' is computed in Python from complete transitions, which arrive many steps "
                "later; use PacketBatch, whose take() returns this reward"
            )
        probe = options.world.simulation(options.routing(), 0)
        self.seam = self.parts.seam(probe.seam())
        rewards = {"decision": ("hop_delay", "relative_delay"), "packet": ("hop_delay",)}.get(options.control)
        if rewards and options.reward not in rewards:
            raise ConfigError(
                f"reward: '{options.reward}' is not known at the end of a step with control={options.control}; valid: "
                + ", ".join(rewards)
                + "; or use control=all or PacketBatch"
            )
        if options.control == "all" and options.reward == "relative_delay":
            raise ConfigError("reward: relative_delay needs control=decision; control=all charges the delay itself")
        self._tolled = options.control == "decision" and options.reward == "relative_delay"
        if self._tolled:
            SimulationBatch([probe]).tolled_delay()  # raises if `decisions` or `observation` excludes it
        self.slots, self.width = int(self.seam["slots"]), int(self.seam["width"])
        self.time_ns, self.invalid_actions = 0.0, 0
        self._control, self._strict = options.control, options.invalid == "error"
        self._by_job = options.reward == "job_slowdown"
        self._decisions = options.episode_decisions or math.inf
        self._episodes = Episodes()
        self._over = True  # the next episode needs a new network
        self._show(-1)

    # ---- Observation ----

    def _show(self, at: int) -> None:
        """Present the decision of row `at`; -1: none."""
        self._at = at
        self.observation: NDArray[np.float32]
        self.mask: NDArray[np.bool_]
        if at >= 0:
            self.observation, self.mask = self._rows[at], self._masks[at]
            self.router = self._routers.item(at)
        else:
            self.observation, self.mask = np.zeros(self.width, np.float32), np.arange(self.slots) == 0
            self.router = -1

    @property
    def seeded(self) -> bool:
        """Whether a sequence of networks was begun."""
        return self._episodes.seed is not None

    def describe(self) -> str:
        """The present decision as text."""
        if self._at < 0:
            return f"t = {self.simulation.time_ns:.1f} ns: no decision"
        decisions = self.simulation.decisions()
        general, per_slot = self.seam["general"], self.seam["per_slot"]
        row, at = self.observation, self._at
        lines = [
            f"t = {self.simulation.time_ns:.1f} ns, router {self.router}: packet {decisions['sequence'][at]} from "
            f"terminal {decisions['source'][at]} to {decisions['destination'][at]}, {decisions['hops'][at]} hops done"
        ]
        lines += [f"  {feature['name']} = {row[i]:.3f}" for i, feature in enumerate(general)]
        for slot in range(int(decisions["slots"][at])):
            first = len(general) + slot * len(per_slot)
            shown = (f"{feature['name']} = {row[first + i]:.3f}" for i, feature in enumerate(per_slot))
            lines.append(f"  slot {slot}: port {decisions['port'][at][slot]}, " + ", ".join(shown))
        return "\n".join(lines)

    # ---- Episodes ----

    def reset(self, seed: int | None, fallback: int) -> None:
        """Begin an episode.

        Args:
            seed: restarts the sequence of networks; None continues it.
            fallback: the seed if none was ever given.
        """
        self._over |= self._episodes.begin(seed, fallback)
        if self._control == "decision" and not self._over and self._at >= 0:
            return  # the network continues with its next decision
        if self._over or self._control != "packet":
            # An agent cannot use a network that ends in the warm-up or has no decision.
            for _ in range(16):
                self._draw()
                if self._next_start():
                    return
            raise ConfigError(
                "world: 16 networks in a row had no decision within "
                f"{self._end * self.simulation.cycle_ns:g} ns (episode_ns); is there traffic between routers, and is "
                "there more than one path?"
            )
        if not self._next_start():
            self._over = True
            self.reset(None, fallback)

    def _draw(self) -> None:
        options, seed = self.options, self._episodes.next()
        self._random = np.random.default_rng([seed, 1])
        self.simulation = options.world.simulation(options.routing(), seed)
        self._blocks = BlockRows(self.parts, [self.simulation]) if self.parts.observations else None
        self._look()
        self._actions = np.zeros(len(self._rows), np.int64)
        self._ring = Ring(self.simulation)
        self._has_jobs, self._cycle_ns = bool(self.simulation.jobs()), self.simulation.cycle_ns
        self._count = 0
        self._over = False
        self._decided = 0
        self.invalid_actions = 0
        warmup = window_cycles(self.simulation, "warmup_ns", options.warmup_ns)
        # Neighbours need some time to learn the lost times of which the tolled delay consists.
        usual_ns = TOLLED_EPISODE_NS if self._tolled else EPISODE_NS
        self._end = warmup + episode_cycles(self.simulation, options.episode_ns, usual_ns)
        while self._collect(warmup):
            self._background()
            self._apply()
        # The agent's reward counts the delay from here on.
        self._ring.skip()
        self._charged = self._accrued()

    def _look(self) -> None:
        self._batch = SimulationBatch([self.simulation])
        self._rows, self._masks, self._routers = self._batch.observation, self._batch.mask, self._batch.router
        self._delay = self._delays()
        if self._blocks is not None:
            self._blocks.look(self._batch)
            self._rows = self._blocks.observation

    def _delays(self) -> NDArray[np.float32]:
        """The delay of each slot, whose negative is the reward of control=decision."""
        return self._batch.tolled_delay() if self._tolled else self._batch.path_delay_us()

    # A copy creates its own views of the core's memory.
    def __getstate__(self) -> dict[str, Any]:
        views = ("_batch", "_rows", "_masks", "_routers", "_delay")
        return {key: value for key, value in self.__dict__.items() if key not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "simulation" in state:
            self._look()
        if self._at >= 0:
            self._show(self._at)

    # ---- Steps ----

    def step(self, action: int) -> tuple[float, bool, bool]:
        """Decide, and run to the agent's next decision.

        Args:
            action: accepted by `check`.

        Returns:
            The reward in us, or in tens of mean hops (reward=relative_delay); whether the episode is terminated
            (`decision`: always; `packet`: delivered; `all`: the workload is done and the network empty); and whether
            it is truncated.

        Raises:
            CoreError: the ranks of a workload wait for ever.
        """
        if not self.mask[action]:
            self.invalid_actions += 1
            action = 0
        self._actions[self._at] = action
        self._decided += 1
        if self._control == "decision":
            done, reward = self._one(action)
        else:
            done, reward = self._all() if self._control == "all" else self._packet()
        if self._ended or self._decided >= self._decisions:
            self._over = True
        return reward, done, not done and (self._over or self._at < 0)

    def check(self, action: int) -> None:
        """Refuse an action that `step` cannot take.

        Raises:
            ConfigError: the action is not a slot, or, with invalid=error, the slot has no candidate. The message names
                the valid slots.
            CoreError: there is no decision.
        """
        if self._at < 0:
            raise CoreError("step() without a decision; call reset() first")
        if not 0 <= action < self.slots:
            raise ConfigError(f"action: {action} is not a slot; slots are 0 .. {self.slots - 1}")
        if self._strict and not self.mask[action]:
            valid = ", ".join(str(slot) for slot in np.flatnonzero(self.mask))
            raise ConfigError(
                f"action: slot {action} has no candidate; valid here: {valid} (info['action_mask'], or "
                "invalid='minimal' replaces such actions with slot 0)"
            )

    def _one(self, action: int) -> tuple[bool, float]:
        reward = -self._delay.item(self._at, action)
        if self._tolled:
            # The mean does not depend on the action. It removes the part of the delay that no choice changes.
            reward = (reward + float(self._delay[self._at][self.mask].mean())) / _TOLLED_UNIT
        self._next_row()
        return True, reward

    def _all(self) -> tuple[bool, float]:
        found = self._next_row()
        before, self._charged = self._charged, self._accrued()
        paid = before - self._charged
        return not found and self._finished(), float((paid * self._weights()).sum()) if self._by_job else paid

    def _next_row(self) -> bool:
        """Run to the next decision of the network; false if its time is over before."""
        if self._at + 1 < self._count:
            self._show(self._at + 1)
            return True
        self._apply()
        found = self._collect(self._end + (_STRIDE if self._control == "all" else 0)) > 0
        self._show(0 if found else -1)
        return found

    def _accrued(self) -> Any:
        """Delay so far in packet-us, in total or, if jobs have weights, per job."""
        return self.simulation.accrued_delay_by_job_us() if self._by_job else self.simulation.accrued_delay_us()

    def _weights(self) -> NDArray[np.float64]:
        slowdown = self.simulation.memory("job_slowdown")
        return np.asarray(np.clip(slowdown / slowdown.mean(), *_JOB_WEIGHTS))

    def _packet(self) -> tuple[bool, float]:
        decided = self.simulation.now
        number = self.simulation.decision_count + self._at
        self._apply()
        self._show(-1)
        source, sequence = self._followed
        batches = 0
        # Also after the end, since a truncated episode needs the observation that follows the action.
        while True:
            found = self._collect(max(self._end, self.simulation.now + _STRIDE))
            if found:
                decisions = self.simulation.decisions()
                here = (decisions["source"] == source) & (decisions["sequence"] == sequence)
                if here.any():
                    self._background()
                    self._show(int(here.argmax()))
                    return False, self._since(decided)
            # An occasional check is enough, since the transition holds the time of delivery.
            batches += 1
            if (not found or batches % _LOOK_EVERY == 0) and (paid := self._delivered(number)) is not None:
                return True, paid
            if found:
                self._background()
                self._apply()

    def _since(self, decided: int) -> float:
        return -(self.simulation.now - decided) * self._cycle_ns * 1e-3

    def _delivered(self, number: int) -> float | None:
        for rows in self._ring.new():
            ours = np.flatnonzero(self._ring.columns["decision"][rows] == number)
            if len(ours) and self._ring.columns["done"][rows][ours[0]]:
                return float(self._ring.columns["reward"][rows][ours[0]])
        return None

    # ---- The network ----

    def _next_start(self) -> bool:
        """Run to the first decision of an episode; false if the network's time is over before."""
        self._show(-1)
        while self._count or self._collect(self._end):
            if self._control != "packet":
                self._show(0)
                return True
            # The agent gets a random packet of the cycle that is at its first decision.
            decisions = self.simulation.decisions()
            self._background()
            starts = np.flatnonzero(decisions["hops"] == 0)
            if len(starts):
                self._show(int(starts[self._random.integers(len(starts))]))
                self._ring.skip()
                self._followed = (int(decisions["source"][self._at]), int(decisions["sequence"][self._at]))
                return True
            self._apply()
        return False

    def _collect(self, end: float) -> int:
        """Run to the next cycle with decisions, before cycle `end`; returns their number."""
        self._count, now = 0, self.simulation.now
        while not self._count and now < end and not self._finished():
            self._count = self._batch.collect(int(min(_STRIDE, end - now)))
            now = self.simulation.now
        self._ended = now >= self._end or self._finished()
        self.time_ns = now * self._cycle_ns
        if self._count and self._blocks is not None:
            self._blocks.write(self._count)
        if self._count and self._control == "decision":
            self._delay = self._delays()
        return self._count

    def _apply(self) -> None:
        self._batch.apply(self._actions[: self._count])
        self._count, self._at = 0, -1

    def _background(self) -> None:
        """Decide for all rows of the cycle; the agent's action then replaces its row."""
        n, rule = self._count, self.options.background
        actions = self._actions[:n]
        if rule == "minimal":
            actions[:] = 0
        elif rule == "random":
            actions[:] = self._random.random(n) * self._masks[:n].sum(axis=1)
        elif callable(rule):
            actions[:] = rule(self._rows[:n], self._masks[:n])

    def _finished(self) -> bool:
        """Whether the workload is done, the network empty, and every transition recorded."""
        if not self._has_jobs:
            return False
        simulation = self.simulation
        refuse_stuck(simulation)
        return (
            simulation.workload_finished
            and simulation.packets_in_network == 0
            and simulation.transition_count == simulation.decision_count
        )
