"""RLlib's `MultiAgentEnv` for the core: one agent per router, in plain Python, for small networks.

An agent acts when a packet at its router has several candidates. If its router has several such packets in a cycle, the
agent acts once for each. The reward that comes with an action is the sum of the rewards of earlier decisions that the
router received since its last action. For training at full speed see `flitgym.env.rllib_runner`.

When a workload is done, the episode is terminated. When `episode_ns` are over, it is truncated. RLlib then adds the
value of each router's last observation to its rewards, so this is the observation of the router's next decision. Slot 0
decides for the other packets until every router has one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..configs import unknown
from ..simcore import ConfigError
from .experience.bounds import seen
from .experience.ring import Ring
from .experience.seeds import Episodes
from .experience.world import check_number, episode_cycles, refuse_stuck
from .packet_options import world_of
from .rllib_runner import spaces_of

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError as error:
    raise ConfigError(f"flitgym.env.rllib_multi_agent needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

_MOST_ROUTERS = 64
_KEYS = ("world", "overrides", "vary", "episode_ns", "seam", "seed")
# Cycles after `episode_ns` in which the routers can have the decision of their last observation.
_BEYOND = 1024

Row = NDArray[np.float32]
ByAgent = dict[Any, Any]  # RLlib's type


class RoutersEnv(MultiAgentEnv):
    """All routers of one network.

    An observation is a row of features, followed by the mask: 1 for each slot with a candidate, else 0. An action is a
    slot. Slot 0, a minimal path, replaces a slot without a candidate, since RLlib ignores masks when it checks an
    environment or acts at random. A last observation without a decision has zeros, and the mask of slot 0.

    Args:
        config: `world`, `overrides` and `vary` as in `PacketOptions`, `episode_ns` (simulated time of an episode;
            without it 10,000 for traffic, and no limit for a workload), `seam` (parameters of routing=agent: relation,
            slots, observation, reward) and `seed`.

    Raises:
        ConfigError: a key is unknown, the world cannot be built, or the network has more than 64 routers.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        for key in config:
            if key not in _KEYS:
                raise ConfigError(unknown(type(self).__name__, key, _KEYS, "key"))
        self.world = world_of(config.get("world"), config.get("overrides"), config.get("vary"))
        self.episode_ns: float | None = config.get("episode_ns")
        if self.episode_ns is not None:
            check_number("episode_ns", self.episode_ns, 1)
        self.routing = {"name": "agent", "record": 1 << 14, **config.get("seam", {})}
        self.episodes = Episodes(int(config.get("seed", 0)))
        self.simulation = self.world.simulation(self.routing, 0)  # gives the sizes of the spaces
        routers = self.simulation.facts()["routers"]
        if routers > _MOST_ROUTERS:
            raise ConfigError(
                f"RoutersEnv: {routers} routers, and {_MOST_ROUTERS} at most (RLlib's work per agent and step would "
                "dominate); use flitgym.env.rllib_runner"
            )
        observation, action = spaces_of(self.simulation.seam())
        self.agents = self.possible_agents = [f"router_{k}" for k in range(routers)]
        self.observation_spaces = dict.fromkeys(self.possible_agents, observation)
        self.action_spaces = dict.fromkeys(self.possible_agents, action)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[ByAgent, ByAgent]:
        """Draw a new network; returns the observations of the routers with a decision."""
        self.episodes.begin(seed)
        self.simulation = self.world.simulation(self.routing, self.episodes.next())
        self.end = episode_cycles(self.simulation, self.episode_ns)
        self.reader = Ring(self.simulation)
        self.earned = dict.fromkeys(self.possible_agents, 0.0)
        self.acted: set[str] = set()
        self.queues: dict[str, deque[int]] = {}
        self._next_cycle_with_decisions(self.end)
        return self._ask(), {}

    def step(  # type: ignore[override]
        self, action_dict: ByAgent
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Take the actions of the present routers; returns the observations of the next ones."""
        for agent, action in action_dict.items():
            decision = self.queues[agent].popleft()
            self.choices[decision] = action if self.mask[decision, action] else 0
        self.acted.update(action_dict)
        if not any(self.queues.values()):  # every packet of this cycle has an action
            self.simulation.apply(self.choices)
            if not self._next_cycle_with_decisions(self.end):
                return self._last()
        asked = self._ask()
        return asked, self._pay(asked), {"__all__": False}, {"__all__": False}, {}

    def _last(self) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Run to the next decision of each router that has acted; its reward counts until then."""
        rows: dict[str, Row] = {}
        paid: dict[str, float] = {}
        finished = self._finished()
        while len(rows) < len(self.acted) and self._next_cycle_with_decisions(self.end + _BEYOND):
            new = {agent: row for agent, row in self._ask().items() if agent in self.acted and agent not in rows}
            rows |= new
            paid |= self._pay(new)
            self.simulation.apply(self.choices)
            self.queues.clear()
        none = np.concatenate([np.zeros(self.rows.shape[1] - self.mask.shape[1]), np.arange(self.mask.shape[1]) == 0])
        rest = dict.fromkeys(self.acted - rows.keys(), none.astype(np.float32))
        return rows | rest, paid | self._pay(rest), {"__all__": finished}, {"__all__": not finished}, {}

    def _finished(self) -> bool:
        """Whether the workload is done, the network empty, and every reward known."""
        refuse_stuck(self.simulation)
        return (
            self.simulation.workload_finished
            and self.simulation.packets_in_network == 0
            and self.simulation.transition_count == self.simulation.decision_count
        )

    def _next_cycle_with_decisions(self, end: float) -> bool:
        """Run to the next cycle with decisions; false if the episode ends before it."""
        while self.simulation.now < end and not self._finished():
            if self.simulation.collect():
                decisions = self.simulation.decisions()
                self.rows = seen(decisions["observation"], decisions["mask"])
                self.mask = decisions["mask"].copy()
                self.choices = np.zeros(len(self.rows), np.uint32)
                for number, router in enumerate(decisions["router"].tolist()):
                    self.queues.setdefault(f"router_{router}", deque()).append(number)
                return True
            self.simulation.apply()
        return False

    def _ask(self) -> dict[str, Row]:
        return {agent: self.rows[queue[0]] for agent, queue in self.queues.items() if queue}

    def _pay(self, agents: ByAgent) -> dict[str, float]:
        rows = self.reader.take()
        for router, reward in zip(rows["router"].tolist(), rows["reward"].tolist(), strict=True):
            self.earned[f"router_{router}"] += reward
        paid = {agent: self.earned[agent] for agent in agents}
        self.earned.update(dict.fromkeys(agents, 0.0))
        return paid
