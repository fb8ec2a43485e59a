"""One agent per router, as a PettingZoo environment. Each agent sets how strongly its router prefers minimal paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..configs import refuse_unknown
from ..simcore import ConfigError, CoreError, Simulation
from ..simcore.pictures.live import LivePicture
from .experience.ring import Ring
from .experience.seeds import Episodes
from .experience.world import Vary, World, check_number, refuse_stuck, window_cycles

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ConfigError("RouterParallelEnv needs PettingZoo: pip install 'flitgym[learn]'") from error

from .packet_options import world_of

_Row = NDArray[np.float32]
_INTERVALS = 100  # of an episode of traffic, which has no end
_REWARDS = ("team", "local")
_MOST_LOAD, _MOST_DELAY_US, _MOST_FEEDBACK = 32.0, 100.0, 1000.0


class RouterParallelEnv(ParallelEnv[str, NDArray[np.float32], NDArray[np.float32]]):
    """A network whose routers set biases, which influence their routing for an interval.

    Agents: `router_0`, `router_1`, ..., all of them until the end of the episode.

    Action: Box float32 [regions], flits within +-`bias_flits`. For each region of destinations, the bias is added to
    the congestion of every non-minimal candidate (`routing=biased`). With 0 the routing is UGAL; a high bias favours
    minimal paths, and a low one non-minimal paths. `table` [routers, regions] is a view of the biases in the core, and
    actions are written into it. An agent without an action keeps its biases.

    Observation: Box float32 [3 * ports + 2], the local knowledge of a router. `ports` is the largest number of ports
    from a router's first link to its last. Each port has three features. `load`: flits queued for the link or not yet
    credited, divided by the buffer size of one VC. `utilisation`: fraction of the interval in which the link was
    sending. `stall`: fraction of the interval in which it had flits but no credit. A port without a working link has
    zeros. Two numbers describe the feedback that arrived in the interval for the router's decisions: their mean delay
    from decision to delivery in us, and their number / 1000. Feedback arrives one flight time after the delivery.

    State: `state()` and `state_space`, Box float32 [routers, 3 * ports + 2]: row k is the observation of `router_k`.

    Reward, packet-us per terminal: minus the delay that accrued in the interval, summed over packets that are not yet
    delivered, in the network or at their source. `team`: all packets; the reward is the same for all routers. `local`:
    the packets of the router's own terminals; 0 for a router without terminals.

    Episode: a network drawn from (seed, number of the episode), truncated after `intervals`; terminated when a workload
    is done.

    Args:
        render_mode: `rgb_array`: `render()` returns a picture of the network, uint8 [height, width, 3].
        world: as `overrides` and `vary`, see `PacketOptions`.
        interval_ns: simulated time of a step.
        intervals: steps of an episode; None = 100 for traffic, no limit for a workload.
        bias_flits: bound of an action.
        reward: `team` or `local`.
        **routing: `slots` and `relation`: see `PacketOptions`; `decisions`: `router`, or `source` or `both`, where the
            biases of a router choose the paths of the packets from its own terminals; `record`: transitions that the
            core keeps (65,536); it must be at least the number in an interval.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.
    """

    metadata: dict[str, Any] = {"name": "flitgym_router_parallel_v1", "render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        world: World | Mapping[str, Any] | None = None,
        overrides: Sequence[str] | None = None,
        vary: Vary | None = None,
        interval_ns: float = 1_000.0,
        intervals: int | None = None,
        bias_flits: float = 64.0,
        reward: str = "team",
        **routing: Any,
    ) -> None:
        refuse_unknown("reward", [reward], _REWARDS, "value")
        if intervals is not None:
            check_number("intervals", intervals, 1, whole=True)
        check_number("bias_flits", bias_flits)
        self.render_mode = render_mode
        self.world = world_of(world, overrides, vary)
        self.interval_ns, self.intervals = interval_ns, intervals
        self.bias_flits, self.reward = bias_flits, reward
        self._routing = {"name": "biased", "slots": 8, "record": 65_536, **routing, "reward": "end_to_end_delay"}
        self._random = np.random.default_rng()
        self._episodes = Episodes()
        self._seen: NDArray[np.float32] | None = None

        # The networks of all episodes have the same sizes.
        self._draw(0)
        window_cycles(self.simulation, "interval_ns", self.interval_ns, least=1)
        self.possible_agents = [f"router_{k}" for k in range(self._routers)]
        self.agents: list[str] = []
        self._sizes = self._routers, self._span
        high = np.array([_MOST_LOAD, 1.0, 1.0] * self._span + [_MOST_DELAY_US, _MOST_FEEDBACK], np.float32)
        bias = np.full(self.table.shape[1], self.bias_flits, np.float32)
        box = gymnasium.spaces.Box
        self.observation_spaces = {agent: box(np.zeros_like(high), high) for agent in self.possible_agents}
        self.action_spaces = {agent: box(-bias, bias) for agent in self.possible_agents}
        most = np.tile(high, (self._routers, 1))
        self.state_space = box(np.zeros_like(most), most)

    def observation_space(self, agent: str) -> gymnasium.spaces.Box:
        """The observations of a router."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Box:
        """The actions of a router."""
        return self.action_spaces[agent]

    def state(self) -> NDArray[np.float32]:
        """The observations of all routers, for a centralised critic: float32 [routers, 3 * ports + 2].

        Row k is the latest observation of `router_k`, also after the last step of an episode.

        Raises:
            CoreError: before the first `reset()`.
        """
        if self._seen is None:
            raise CoreError("state(): there is no observation yet; call reset() first")
        return self._seen.copy()

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, _Row], dict[str, dict[str, Any]]]:
        """Draw a network and begin.

        Args:
            seed: restarts the sequence of networks; None continues it.
            options: ignored; PettingZoo requires that an environment accepts any options.
        """
        self._episodes.begin(seed, fallback=int(self._random.integers(2**31)))
        self._draw(self._episodes.next())
        if (sizes := (self._routers, self._span)) != self._sizes:
            raise ConfigError(
                f"world: it has networks of {self._sizes[0]} routers with {self._sizes[1]} ports and of {sizes[0]} "
                f"with {sizes[1]}; all episodes of an environment must have the same agents and observations"
            )
        self._steps, self._most = 0, math.inf if self.simulation.jobs() else _INTERVALS
        if self.intervals is not None:
            self._most = self.intervals
        self._charged = self.simulation.accrued_delay_by_router_us()
        self.agents = list(self.possible_agents)
        self.simulation.begin_window()
        self._interval_begin = self.simulation.now
        rows = self._observe(0.0, np.zeros(self._routers), np.zeros(self._routers))
        return self._by_agent(rows), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, _Row]
    ) -> tuple[dict[str, _Row], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Set the biases and run an interval.

        Args:
            actions: biases in flits per router, [regions].

        Raises:
            ConfigError: an agent does not exist, or its biases have a wrong shape or are not finite.
            CoreError: the episode is over, or the ranks of a workload wait for ever.
        """
        if not self.agents:
            raise CoreError("step(): the episode is over; call reset()")
        refuse_unknown("actions", actions, self.action_spaces, "agent")
        for agent, action in actions.items():
            bias = np.asarray(action, np.float32)
            if bias.shape != self.table.shape[1:] or not np.isfinite(bias).all():
                raise ConfigError(f"actions: {agent} needs {self.table.shape[1]} finite numbers, not {action!r}")
            row = int(agent.removeprefix("router_"))
            np.clip(bias, -self.bias_flits, self.bias_flits, out=self.table[row])
        simulation = self.simulation
        simulation.begin_window()
        self._interval_begin = before = simulation.now
        if not self._done():
            simulation.run(max(simulation.cycles(self.interval_ns), 1))
        span = (simulation.now - before) * simulation.cycle_ns
        delay, count = self._feedback()
        before_us, self._charged = self._charged, simulation.accrued_delay_by_router_us()
        owed = self._charged - before_us

        self._steps += 1
        over = self._done()
        cut = not over and self._steps >= self._most
        agents = self.agents
        if self.reward == "team":
            paid = np.full(self._routers, -owed.sum() / self._terminals.sum())
        else:
            paid = -owed / np.maximum(self._terminals, 1)
        result = (
            self._by_agent(self._observe(span, delay, count)),
            {agent: float(reward) for agent, reward in zip(agents, paid, strict=True)},
            dict.fromkeys(agents, bool(over)),
            dict.fromkeys(agents, bool(cut)),
            {agent: {"time_ns": simulation.time_ns} for agent in agents},
        )
        if over or cut:
            self.agents = []
        return result

    def render(self) -> NDArray[np.uint8] | None:
        """The utilisation of the links in the last interval, [height, width, 3]."""
        if self.render_mode != "rgb_array":
            return None
        return LivePicture(self.simulation, since=self._interval_begin).draw()

    # ---- The network ----

    def _draw(self, seed: int) -> None:
        self.simulation: Simulation = self.world.simulation(self._routing, seed)
        facts = self.simulation.facts()
        self._routers = int(facts["routers"])
        self._look()
        self._ring = Ring(self.simulation)
        channels, routers = self.simulation.channels(), self.simulation.routers()
        self._terminals = np.bincount(self.simulation.terminals()["router"], minlength=self._routers)
        # A port keeps its place in the observation when links fail.
        drawn = self.world.draw(seed)
        whole = self.simulation
        if drawn.pop("failures", None):
            whole = Simulation({**drawn, "routing": self._routing, "seed": seed})
        first, self._span = whole.routers()["first_link"].astype(np.int64), int(whole.facts()["link_span"])
        # For each working link: its channel, its place in the observations, and its place in the core's array of ports.
        self._ours = np.flatnonzero(channels["peer_router"] >= 0)
        router, port = (channels[name][self._ours].astype(np.int64) for name in ("router", "port"))
        self._place = router, 3 * (port - first[router])
        self._load_of = routers["first_port"].astype(np.int64)[router] + port
        buffers = ("input_buffer_flits", "output_buffer_flits")
        router_section = whole.configuration()["router"]
        self._room = float(sum(router_section[key] for key in buffers))

    def _look(self) -> None:
        table = self.simulation.memory("biases")
        self.table: NDArray[np.float32] = table[:, :, 0]  # a view of the biases that the routers use
        self._loads = self.simulation.arrays()["ports"]["load"]

    # A copy creates its own views of the core's memory.
    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("table", "_loads")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()

    def _done(self) -> bool:
        refuse_stuck(self.simulation)
        return self.simulation.workload_finished and self.simulation.packets_in_network == 0

    def _feedback(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The feedback since the last call: the mean delay in us and the number of decisions, per router."""
        total, number = np.zeros(self._routers), np.zeros(self._routers)
        columns = self._ring.columns
        for rows in self._ring.new():
            router = columns["router"][rows]
            total -= np.bincount(router, columns["reward"][rows], self._routers)
            number += np.bincount(router, minlength=self._routers)
        return total / np.maximum(number, 1), number

    def _observe(self, span_ns: float, delay: NDArray[np.float64], count: NDArray[np.float64]) -> NDArray[np.float32]:
        channels = self.simulation.channels()
        rows = np.zeros((self._routers, 3 * self._span + 2), np.float32)
        stall = channels["stall_ns"][self._ours] / span_ns if span_ns else np.zeros(len(self._ours))
        router, place = self._place
        rows[router, place] = np.minimum(self._loads[self._load_of] / self._room, _MOST_LOAD)
        rows[router, place + 1] = np.clip(channels["utilisation"][self._ours], 0, 1)
        rows[router, place + 2] = np.clip(stall, 0, 1)
        rows[:, -2] = np.minimum(delay, _MOST_DELAY_US)
        rows[:, -1] = np.minimum(count * 1e-3, _MOST_FEEDBACK)
        self._seen = rows.copy()  # agents may change their rows
        return rows

    def _by_agent(self, rows: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        return dict(zip(self.possible_agents, rows, strict=True))
