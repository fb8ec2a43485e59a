"""Decision processes: the decisions of an episode, and their rewards, in K networks at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..simcore import ConfigError, Simulation
from ..simcore._core import DecisionSteps
from .experience.world import EPISODE_NS
from .packet_network import PacketNetwork
from .packet_options import PacketOptions

_NO_LIMIT = 2**62


class DecisionProcess(ABC):
    """K networks, each of which stops at every decision of the agent.

    A step is one call of the core, which makes a decision in each network and writes the results into the arrays below.

    Args:
        options: see `PacketOptions`.
        networks: K.

    Attributes:
        networks: the networks.
        seam: the features, see `Simulation.seam()`; the same for all networks.
        observation: of the present decisions, float32 [K, width]; zeros without a decision. If the episode of a packet
            was truncated, this is the packet's last observation. An algorithm can bootstrap the rest of the return from
            the value of this observation.
        mask: true for slots with a candidate, bool [K, slots]; only slot 0 without a decision.
        router: the router of each decision, [K]; -1 without one.
        time_ns: simulated time, [K].
        invalid_actions: the number of actions in each network that slot 0 has replaced, [K].
        reward: of the last step, [K], in us, or in tens of mean hops with reward=relative_delay.
        terminated: whether the last step terminated the episode, [K].
        truncated: whether it truncated the episode, [K].
        at: the row of each present decision among the decisions of its network's cycle, [K]; -1 without one.
        over: whether the network's time is over, [K].
        renew: whether the next episode needs a `reset`, because it cannot begin at the network's next decision, [K].

    Raises:
        ConfigError: the world cannot be built, or the reward is not known after a step.
    """

    REWARDS: ClassVar[tuple[str, ...]] = ("hop_delay",)
    """The rewards of `PacketOptions` that the process knows at the end of a step."""

    def __init__(self, options: PacketOptions, networks: int = 1) -> None:
        self.options, parts = options, options.parts
        if parts.reward is not None:
            raise ConfigError(
                f"reward: '{options.reward}' is computed in Python from complete transitions, which arrive many steps "
                "later; use PacketBatch, whose take() returns this reward"
            )
        probe = options.simulation(0, warm=False)
        self.check_reward(probe)
        core = probe.seam()
        self.seam = parts.seam(core)
        self.slots = int(self.seam["slots"])
        self.networks = [PacketNetwork(options, self.usual_ns) for _ in range(networks)]

        self.observation = np.zeros((networks, self.seam["width"]), np.float32)
        self.mask = np.zeros((networks, self.slots), np.bool_)
        self.reward, self.time_ns, self.accrued = (np.zeros(networks) for _ in range(3))
        self.router, self.invalid_actions, self.at, self.decided = (np.zeros(networks, np.int64) for _ in range(4))
        self.terminated, self.truncated, self.collected = (np.zeros(networks, np.bool_) for _ in range(3))
        self.over, self.renew = np.ones(networks, np.bool_), np.ones(networks, np.bool_)
        self.at[:], self.router[:], self.mask[:, 0] = -1, -1, True
        # If some features come from Python, the core writes its own features into separate rows.
        self._joined = parts.in_python
        self._core_rows = np.zeros((networks, core["width"]), np.float32) if self._joined else self.observation
        self._look()

    # ---- The parts of a process ----

    def check_reward(self, probe: Simulation) -> None:
        """Refuse a reward of the options that the process does not know at the end of a step.

        Args:
            probe: a simulation of the world.

        Raises:
            ConfigError: names the valid rewards.
        """
        options = self.options
        if options.reward not in self.REWARDS:
            raise ConfigError(
                f"reward: '{options.reward}' is not known at the end of a step with control={options.control}; valid: "
                + ", ".join(self.REWARDS)
                + "; or use control=all or PacketBatch"
            )

    @property
    def usual_ns(self) -> float:
        """The length of an episode of traffic without `episode_ns`."""
        return EPISODE_NS

    @property
    def core_reward(self) -> str:
        """The reward that the core computes in a step."""
        return self.options.reward

    @abstractmethod
    def goes_on(self, k: int) -> bool:
        """Whether the next episode of network k begins in the same network; if so, its first decision is presented."""

    def find_start(self, k: int) -> bool:
        """Run network k to the first decision of an episode; false if the network's time is over before."""
        network = self.networks[k]
        found = network.collect(network.end) > 0
        self.show(k, 0 if found else -1)
        return found

    # ---- Episodes ----

    def reset(self, k: int, seed: int | None, fallback: int = 0) -> None:
        """Begin an episode in network k.

        Args:
            k: the network.
            seed: restarts the sequence of networks; None continues it.
            fallback: the seed if none was ever given.

        Raises:
            ConfigError: no network of the world has a decision.
        """
        network = self.networks[k]
        self.over[k] |= network.episodes.begin(seed, fallback)
        if not self.over[k] and self.goes_on(k):
            return
        # An agent cannot use a network that ends in the warm-up or has no decision.
        for _ in range(16):
            network.draw(network.episodes.next())
            self._place(k)
            self.over[k], self.decided[k], self.invalid_actions[k] = False, 0, 0
            # The agent's reward counts the delay from here on.
            self.accrued[k] = network.simulation.accrued_delay_us()
            if self.find_start(k):
                return
        raise ConfigError(
            f"world: 16 networks in a row had no decision within {network.end * network.simulation.cycle_ns:g} ns "
            "(episode_ns); is there traffic between routers, and is there more than one path?"
        )

    def begin(self, ended: NDArray[np.bool_]) -> None:
        """Begin the next episode in the networks that both `ended`, bool [K], and `renew` mark."""
        for k in np.flatnonzero(ended & self.renew).tolist():
            self.reset(k, None)

    def step(self, actions: NDArray[np.int64], begins: NDArray[np.bool_]) -> tuple[int, int]:
        """Decide in every network, and run each to the agent's next decision.

        Args:
            actions: slots, [K].
            begins: networks without a decision in this step, [K]; their action is ignored and their reward is 0.

        Returns:
            The number of ended episodes, and the number of networks, ended or in `begins`, that `renew` marks.

        Raises:
            ConfigError: an action is not a slot, or, with invalid=error, the slot has no candidate. The message names
                the valid slots. No network has made the step.
            CoreError: there is no decision, or the ranks of a workload wait for ever.
        """
        counts = self._steps.step(actions, begins)
        if self._joined:
            for k, network in enumerate(self.networks):
                if self.collected[k]:
                    network.write_blocks()
                self._join(k)
        return counts

    def show(self, k: int, at: int) -> None:
        """Present the decision of row `at` of network k; -1: none."""
        self.at[k] = at
        self._steps.show(k)
        if self._joined:
            self._join(k)

    def rendered(self, mode: str | None, k: int = 0) -> Any:
        """Network k as text (`ansi`) or as a picture (`rgb_array`); None without a mode."""
        if mode == "rgb_array":
            return self.networks[k].picture()
        return self.describe(k) if mode == "ansi" else None

    def describe(self, k: int = 0) -> str:
        """The present decision of network k as text."""
        simulation, at = self.networks[k].simulation, int(self.at[k])
        if at < 0:
            return f"t = {simulation.time_ns:.1f} ns: no decision"
        decisions = simulation.decisions()
        general, per_slot = self.seam["general"], self.seam["per_slot"]
        row = self.observation[k]
        lines = [
            f"t = {simulation.time_ns:.1f} ns, router {self.router[k]}: packet {decisions['sequence'][at]} from "
            f"terminal {decisions['source'][at]} to {decisions['destination'][at]}, {decisions['hops'][at]} hops done"
        ]
        lines += [f"  {feature['name']} = {row[i]:.3f}" for i, feature in enumerate(general)]
        for slot in range(int(decisions["slots"][at])):
            first = len(general) + slot * len(per_slot)
            shown = (f"{feature['name']} = {row[first + i]:.3f}" for i, feature in enumerate(per_slot))
            lines.append(f"  slot {slot}: port {decisions['port'][at][slot]}, " + ", ".join(shown))
        return "\n".join(lines)

    # ---- The core ----

    def _join(self, k: int) -> None:
        self.observation[k] = self.networks[k].observation[self.at[k]] if self.at[k] >= 0 else 0

    def _place(self, k: int) -> None:
        network = self.networks[k]
        self._steps.place(k, network.batch, network.actions, network.end)

    def _look(self) -> None:
        arrays = {name: value for name, value in self.__dict__.items() if isinstance(value, np.ndarray)}
        limit = self.options.episode_decisions or _NO_LIMIT
        self._steps = DecisionSteps(
            self.core_reward, self.options.invalid == "error", limit, {**arrays, "observation": self._core_rows}
        )
        for k, network in enumerate(self.networks):
            if hasattr(network, "simulation"):
                self._place(k)

    # A copy has its own arrays.
    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_steps"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()
