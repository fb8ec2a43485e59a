"""Windows or rates as decisions of NICs: `InjectionBatch` of all flows of K networks, `flitgym/Injection-v0` of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..simcore import ConfigError, CoreError, Simulation
from .experience.bounds import bounds_of
from .experience.ring import Rows
from .experience.seeds import Episodes
from .experience.world import EPISODE_NS, Vary, World, check_number, refuse_stuck, routing_section, window_cycles
from .packet_batch import PacketBatch
from .packet_options import check_options, world_of

Reward = Callable[[NDArray[np.float32]], NDArray[np.float32]]
KEEP = 3
"""The action that keeps the window or the rate."""
DEFAULT_WORLD = (
    *("topology=dragonfly_72", "traffic=hotspot", "traffic.load=0.3"),
    *("congestion_control=agent", "congestion_control.flows=1"),
)
_COLUMNS = {"observation", "network", "flow", "reward", "action"}
_TARGET, _SHARE = np.float32(np.log2(1.1)), np.float32(1 / 8)


def target_delay(rows: NDArray[np.float32], rates: bool = False) -> NDArray[np.float32]:
    """Minus the distance of the delay from a target, which is higher for flows of lower rate.

    After Tessler et al., "Reinforcement Learning for Datacenter Congestion Control", SIGMETRICS 2022, in logarithms:
    `-|log2(delay) + log2(rate) / 8 - log2(1.1)|`. The rate is that of a full window, window / delay, so an application
    that sends little does not count. All flows of a queue have the same delay, so equal rates are the only fixed point.
    With a reward log(rate) - w log(delay), a flow of N that grows alone would pay 1/N of the delay.

    Args:
        rows: observations at the next decisions, which measure the delay since the decisions.
        rates: whether the decisions set rates instead of windows.
    """
    delay, rate = rows[:, 1], rows[:, 4] - (0 if rates else rows[:, 1])
    return -np.abs(delay + _SHARE * rate - _TARGET)


class InjectionBatch:
    """All decisions of NICs about their windows or rates, in K networks.

    A NIC decides about a flow, all its packets to a destination, once per round trip. `collect()` runs every network to
    the next time with decisions. They are rows [0, n) of these arrays, network after network:

        observation  float32 [n, 6]  `seam` has the names, bounds and meanings
        network      int64   [n]     0 .. K - 1
        flow         uint32  [n]     source x F + destination mod F, with F = `congestion_control.flows`
        reward       float32 [n]     of the previous decision of this flow

    An action is one of the 7 factors of the window, `seam["factors"]`. `KEEP` keeps the window. The window is at most
    `congestion_control.window_bytes` and at least a packet. With `congestion_control.flow_rate`, the factors are those
    of the rate, which is at most this part of the rate of the link, and at least a thousandth.

    With `routes`, routers decide, too: both batches then have the same networks, and `routes.collect()` runs them.

        routes = PacketBatch(4, overrides=["topology=dragonfly_72", "congestion_control=agent"])
        windows = InjectionBatch(routes=routes)
        routes.reset(seed=1)
        windows.reset()
        while routes.time_ns.min() < 10_000:
            n, m = routes.collect(), windows.collect()
            windows.apply(policy(windows.observation))
            routes.apply(other_policy(routes.observation[:n], routes.mask[:n]))
        rows = windows.take()

    Decisions are kept until `take()` or `reset()`. With `routes`, a NIC decides in the next cycle with a decision of a
    router.

    Args:
        num_envs: K.
        world: as `overrides` and `vary`, see `PacketOptions`; `congestion_control=agent` is the default. None: a
            Dragonfly of 72 terminals with a hotspot, and one flow per source.
        routing: the name of a routing of the core, or the path of a policy file.
        reward: a function of the observations at the next decisions; None: `target_delay`.
        routes: replaces all arguments but `reward`.

    Raises:
        ConfigError: the world cannot be built, or has another congestion control.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        world: World | Mapping[str, Any] | None = None,
        overrides: Sequence[str] | None = None,
        vary: Vary | None = None,
        routing: str = "minimal",
        reward: Reward | None = None,
        routes: PacketBatch | None = None,
    ) -> None:
        check_number("num_envs", num_envs, 1, whole=True)
        self.num_envs, self.routes, self._reward = num_envs, routes, reward
        self.seam: dict[str, Any] = Simulation._window_seam()
        self.simulations: list[Simulation] = []
        self._episodes, self._open = Episodes(0), list[Rows]()
        if routes is None:
            default = DEFAULT_WORLD if world is None and vary is None else None
            given = world_of(world, default if overrides is None else overrides, vary)
            self.world = World({"congestion_control": {"name": "agent"}, **given.sections}, given.vary)
            self._routing = routing_section("routing", routing)
            self.world.simulation(self._routing, 0)._window_decisions()

    def reset(self, seed: int | None = None) -> None:
        """Draw K new networks; with `routes`, take over its present networks.

        Args:
            seed: restarts the sequence of networks; None continues it.
        """
        if self.routes is not None:
            self.simulations = self.routes.simulations
        else:
            self._episodes.begin(seed)
            seeds = self._episodes.next_of(self.num_envs)
            self.simulations = [self.world.simulation(self._routing, number) for number in seeds]
        facts = [simulation.facts() for simulation in self.simulations]
        if any("decision_cycles" not in fact for fact in facts):
            raise ConfigError("InjectionBatch: the networks of routes need congestion_control=agent without a path")
        self._period = [fact["decision_cycles"] for fact in facts]
        rates = any(simulation.configuration()["congestion_control"]["flow_rate"] for simulation in self.simulations)
        self.reward_of = self._reward or partial(target_delay, rates=rates)
        self._open = []  # decisions since the last take(), and those that wait for their reward
        self._show([])

    def collect(self, max_cycles: int = 10_000) -> int:
        """Run to the next decisions; returns their number, 0 if no network had one in that time.

        Raises:
            CoreError: there are no networks before `reset()`.
        """
        if not self.simulations:
            raise CoreError("InjectionBatch: it has no networks yet; call reset() first")
        if self.routes is not None and self.simulations is not self.routes.simulations:
            raise CoreError("InjectionBatch: routes.reset() has made new networks; call reset() after it")
        found = []
        for simulation, period in zip(self.simulations, self._period, strict=True):
            end = simulation.now + max_cycles
            decisions = simulation._window_decisions()
            while self.routes is None and not len(decisions[0]) and simulation.now < end:
                refuse_stuck(simulation)
                if simulation.workload_finished and not simulation.packets_in_network:
                    break
                simulation.run(period - simulation.now % period)
                decisions = simulation._window_decisions()
            found.append(decisions)
        self._show(found)
        return len(self.network)

    def apply(self, actions: ArrayLike, **columns: ArrayLike) -> None:
        """Decide, and keep columns [n, ...] that come back with the transitions of `take()`.

        Raises:
            ConfigError: an action is not in 0 .. 6, or a column has another length or name. No decision is made.
        """
        actions, own = np.array(actions, np.int64), {name: np.array(column) for name, column in columns.items()}
        if actions.shape != self.network.shape:
            raise ConfigError(f"apply(): actions of shape {actions.shape} for {len(self.network)} decisions")
        if not ((actions >= 0) & (actions < len(self.seam["factors"]))).all():
            raise ConfigError(f"apply(): actions are 0 .. {len(self.seam['factors']) - 1}")
        for name, column in own.items():
            if len(column) != len(actions):
                raise ConfigError(f"apply(): {name} has {len(column)} rows for {len(actions)} decisions")
        if self._open and self._open[0].keys() - _COLUMNS != own.keys():
            raise ConfigError(f"apply(): columns {sorted(own)}, but earlier decisions have others; call take() between")
        for k, simulation in enumerate(self.simulations):
            rows = self.network == k
            simulation._decide_windows(self.flow[rows], actions[rows])
        self._open.append({"action": actions, **{name: getattr(self, name) for name in _COLUMNS - {"action"}}, **own})
        self._show([])

    def take(self) -> Rows:
        """The transitions since the last call, flow by flow.

        Returns:
            `observation`, `action`, `reward`, `next_observation`, `network`, `flow`, and for each column of `apply()`
            its values at the decision and, as `next_...`, at the flow's next decision.
        """
        if not self._open:
            raise CoreError("take(): there are no decisions")
        rows = {name: np.concatenate([part[name] for part in self._open]) for name in self._open[0]}
        order = np.lexsort((rows["flow"], rows["network"]))
        rows = {name: column[order] for name, column in rows.items()}
        last = np.diff(rows["network"].astype(np.int64) << 32 | rows["flow"], append=-1) != 0
        self._open = [{name: column[last] for name, column in rows.items()}]
        done = np.flatnonzero(~last)
        taken = {name: column[done] for name, column in rows.items()}
        same = ("network", "flow", "reward", "action")
        taken |= {f"next_{name}": column[done + 1] for name, column in rows.items() if name not in same}
        return taken | {"reward": rows["reward"][done + 1]}

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """Simulated time of every network, [K]."""
        return np.array([simulation.time_ns for simulation in self.simulations])

    def _show(self, found: Sequence[tuple[NDArray[np.uint32], NDArray[np.float32]]]) -> None:
        self.network = np.repeat(np.arange(len(found)), [len(numbers) for numbers, _ in found])
        self.flow = np.concatenate([np.zeros(0, np.uint32), *(numbers for numbers, _ in found)])
        self.observation = np.concatenate([np.zeros((0, self.seam["width"]), np.float32), *(rows for _, rows in found)])
        self.reward = self.reward_of(self.observation)


class InjectionEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One flow of a network, whose NIC sets its window or rate once per round trip. The other flows keep theirs.

    Observation: Box float32 [6], see `seam` of `InjectionBatch`. Action: Discrete(7), the factor; 3 keeps the
    window or the rate. Reward: see `target_delay`; it is measured until the flow's next decision. info: `flow`,
    `time_ns`.

    Episode: a network drawn from (seed, number of the episode), and a random flow among the first that ask. It is
    truncated at the first decision after `episode_ns`, or if the flow sends nothing for this time.

    Args:
        episode_ns: simulated time.
        **keywords: see `InjectionBatch`. With `congestion_control.flows=1`, a flow is a NIC.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.
    """

    def __init__(self, episode_ns: float = 5 * EPISODE_NS, **keywords: Any) -> None:
        self.batch, self.episode_ns = InjectionBatch(1, **keywords), episode_ns
        low, high = bounds_of(self.batch.seam)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(self.batch.seam["factors"]))
        self._at = -1

    @property
    def simulation(self) -> Simulation:
        """The present network."""
        return self.batch.simulations[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Draw a network and a flow.

        Args:
            seed: restarts the sequence of networks; None continues it.
            options: must be empty.

        Raises:
            ConfigError: no flow asks for a decision within `episode_ns`.
        """
        check_options(options)
        super().reset(seed=seed)
        if seed is None and not self.batch.simulations:
            seed = int(self.np_random.integers(2**31))
        self.batch.reset(seed)
        self._end = window_cycles(self.simulation, "episode_ns", self.episode_ns, 1)
        if not (count := self.batch.collect(self._end)):
            raise ConfigError(f"world: no flow asks for a decision within {self.episode_ns:g} ns (episode_ns)")
        self._at = int(self.np_random.integers(count))
        self._flow = int(self.batch.flow[self._at])
        return self.batch.observation[self._at], self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Scale the window or the rate, and run to the flow's next decision.

        Raises:
            ConfigError: the action is not in 0 .. 6.
            CoreError: the episode is over.
        """
        if self._at < 0:
            raise CoreError("step() without a decision; call reset() first")
        actions, silent = np.full(len(self.batch.flow), KEEP), self.simulation.now + self._end
        actions[self._at], self._at = int(action), -1
        while self._at < 0:
            self.batch.apply(actions)
            self.batch._open.clear()  # an environment returns its transitions itself
            if not self.batch.collect(max(silent - self.simulation.now, 0)):
                return np.zeros(self.batch.seam["width"], np.float32), 0.0, False, True, self._info()
            actions = np.full(len(self.batch.flow), KEEP)
            self._at = int((*np.flatnonzero(self.batch.flow == self._flow), -1)[0])
        row, reward = self.batch.observation[self._at], float(self.batch.reward[self._at])
        if over := self.simulation.now >= self._end:
            self._at = -1
        return row, reward, False, over, self._info()

    def _info(self) -> dict[str, Any]:
        return {"flow": self._flow, "time_ns": self.simulation.time_ns}
