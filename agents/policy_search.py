"""Evolution strategy for a policy with few parameters. Whole runs are judged, not single decisions.

The delay of a decision does not show what a detour costs other packets. If a job floods the network, a detour is faster
for its own packet, but it fills the buffers of links that other packets need. So each candidate policy plays whole
episodes, and the loss is measured over all of them.

The score of a slot is minus a sum: each feature of the slot times a positive cost. The search is over the logarithms of
the costs. Features may share a cost (`tied`): time in flight delays a packet as much as reported time in queues, but
cables are too similar on most networks for a search to tell. Non-minimal paths may pay a further cost for a feature
(`tolls`), which no linear score can express. The delay that a detour causes other packets grows with the time lost on
its links (marginal-cost pricing: Beckmann, McGuire, Winsten 1956). The costs may also be subtracted from the score of a
trained policy (`base`).

    Ros and Hansen, PPSN X (2008)                                           sep-CMA-ES: a step and a scale per cost
    Kelly, Maulloo, Tan, J. Oper. Res. Soc. 49 (1998)                       proportional fairness: the sum of log rates

The loss of an episode with jobs is the mean over its jobs of log(communication time per flit received). So a slowdown
of 10 % weighs the same for a small job and for the job that floods the network. The episode ends when the first job of
the list is done, or after `episode_ns`; an unfinished job counts with the time since its start. The loss of an episode
with traffic is log(mean latency / accepted part of the load) in the second half of the episode.

All candidates of a round play the same episodes (common random numbers), and one candidate is the present mean. In a
world, a difference d from the median candidate counts as limit asinh(d / limit): d if it is small, and a logarithm
beyond `limit`. Otherwise a saturated world, where latencies differ by factors, would outweigh all others.

See docs/agents/policy_search.md for results.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..env.experience.seeds import training_seed
from ..env.experience.world import Mixture, World
from ..simcore import ConfigError, Simulation, registered
from ..simcore._words import refuse_unknown
from .learning.abandonment import RoundAbandonedError
from .learning.bounds import check
from .networks import Layers
from .policy.score_layers import LONGER, MOST_TOLLED, added, base_of, cost_layers, hidden_units
from .rllib.ray_cluster import join, on_cluster

_CHUNK_NS = 5000  # simulated time between two checks for the end of the first job and for `abandon()`
_MOST_COST = 1e6
_MOST_LOSS = 1e3
_MOST_LOG = math.log(_MOST_COST)


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "policy_search"
    # observation
    network: str = "slots"
    hidden: list[int] = field(default_factory=list)  # empty: the score is linear
    observation: str = "relative+relative_lost_by_source"
    relation: str = "widest"
    slots: int = 6
    slots_by: str = "estimate"  # or random, rotated: how candidates are chosen if there are more than slots
    allocation: str = "greedy"  # or sequential: a decision sees the earlier ones of its router in the cycle
    tolls: list[str] = field(default_factory=list)  # features for which non-minimal paths pay an extra cost
    # Features with the cost of another one: {more_time: lost} if time in flight and reported lost time count alike
    tied: dict[str, str] = field(default_factory=dict)
    # Name or file of a policy, from whose score the costs are subtracted; null: the score consists of the costs only
    base: str | None = None
    # search
    start: dict[str, float] = field(default_factory=dict)  # first costs, by feature or feature_toll; default 1
    limit: float = 0.1  # beyond it, a difference from the median candidate's loss in a world counts as its logarithm
    spread: float = 0.7  # first standard deviation of the logarithms of the costs; 0: the search keeps its start
    decay: float = 0.0  # weight of the mean square of the logarithms of the costs in the loss
    population: int = 12  # candidates per round, the mean included
    elite: int = 4  # best candidates, to which the next mean and spread are fitted
    episode_ns: float = 2000000  # the longest episode, in worlds that do not set their own
    threads: int = 1  # episodes that run at the same time; 0 = one per core. The result does not depend on it
    # Ray cluster whose CPUs, instead of `threads`, play the episodes: host:port, ray://host:port or auto
    address: str | None = None

    def __post_init__(self) -> None:
        check(
            self,
            spread=(0, 10),
            population=(2, 4096),
            elite=(1, 4095),
            limit=(1e-3, _MOST_COST),
            decay=(0, _MOST_COST),
        )
        if self.network != "slots" or list(self.hidden):
            raise ConfigError(
                "agent.network, agent.hidden: policy_search builds its own network; leave them at slots and []"
            )
        if self.elite >= self.population:
            raise ConfigError(f"agent.elite: {self.elite} is not below agent.population={self.population}")
        general, features = (features_of(self.observation, kind) for kind in ("general", "per_slot"))
        refuse_unknown("agent.tolls", self.tolls, general + features, "feature")
        for names in (features, self.tolls):
            if len(set(names)) < len(names):
                raise ConfigError(f"agent: {', '.join(names)} has a feature twice; each cost needs its own name")
        if self.tolls and LONGER not in features:
            raise ConfigError(f"agent.tolls: they need '{LONGER}', which agent.observation={self.observation} lacks")
        for name, other in self.tied.items():
            refuse_unknown(f"agent.tied.{name}", (name, other), features, "feature")
            if other in self.tied:
                raise ConfigError(f"agent.tied.{name}: '{other}' has no cost of its own")
        for name, cost in self.start.items():
            if name in self.tied:
                raise ConfigError(f"agent.start.{name}: its cost is that of '{self.tied[name]}' (agent.tied)")
            refuse_unknown("agent.start", [name], self.costs, "feature")
            if not (math.isfinite(cost) and 1 / _MOST_COST <= cost <= _MOST_COST):
                raise ConfigError(f"agent.start.{name}: {cost} is outside {1 / _MOST_COST:g} .. {_MOST_COST:g}")

    @property
    def costs(self) -> list[str]:
        """The names of the costs that the search varies: feature or feature_toll."""
        return [name for name in (*features_of(self.observation), *_tolls(self.tolls)) if name not in self.tied]


_DISTRIBUTION = ("mean", "step", "scale", "path", "path_in_steps")
_PARAMETERS = ("network", "hidden", "observation", "relation", "slots", "slots_by", "allocation")


def features_of(observation: str, kind: str = "per_slot") -> list[str]:
    """Names of the features in an observation, without the names of their blocks.

    Args:
        observation: Blocks, joined by +.
        kind: `per_slot`, or `general` for those of packet and router, which are the same for all slots.

    Raises:
        ConfigError: the core has no such block.
    """
    blocks = registered("observation")
    refuse_unknown("agent.observation", observation.split("+"), blocks, "block")
    return [name for block in observation.split("+") for name in blocks[block]["facts"][kind]]


def costs_of(layers: Layers, observation: str, tolls: Sequence[str]) -> dict[str, float]:
    """The costs of a policy that a search without a base has found, by feature or feature_toll."""
    features = features_of(observation)
    score = layers[0][0][1] if tolls else layers[0][0][0]
    costs = -score[len(features_of(observation, "general")) :]
    if tolls:
        costs = np.concatenate([costs, -layers[1][0][0, 2:-1]])
    return dict(zip([*features, *_tolls(tolls)], map(float, costs), strict=True))


def _tolls(features: Sequence[str]) -> list[str]:
    return [f"{name}_toll" for name in features]


@dataclass(frozen=True)
class _Player:
    """Plays episodes. Ray copies it to the processes of a cluster."""

    config: Config
    mixture: Mixture
    routing: Mapping[str, Any]  # parameters of `routing=policy`

    def simulation(self, k: int, seed: int) -> Simulation:
        return self.mixture.worlds[k].simulation({**self.routing, "name": "policy"}, seed)

    def play(
        self, layers: Layers, k: int, seed: int, check_abandoned: Callable[[], None] = lambda: None
    ) -> tuple[float, int]:
        """The loss of an episode of world k, and the number of its decisions."""
        check_abandoned()
        simulation = self.simulation(k, seed)
        simulation.set_policy(layers)
        own = self.mixture.episode_ns[k]
        limit_ns = self.config.episode_ns if own is None else own
        jobs = "workload" in self.mixture.worlds[k].sections
        loss_of = _loss_of_jobs if jobs else _loss_of_traffic
        return loss_of(simulation, limit_ns, check_abandoned), simulation.decision_count


class Agent:
    """Searches the costs of slot features on a world, or on a mixture; a round plays each of its worlds once."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds = config, rounds
        self.mixture = world if isinstance(world, Mixture) else Mixture.alone(world)
        self.next_seed = training_seed(seed)
        self.base = base_of(config)
        self._player = _Player(config, self.mixture, self.routing(config))
        seam = self._player.simulation(0, self.next_seed).seam()
        # General features are the same for all slots, so they have no costs, only tolls.
        self.costs = config.costs
        for feature in [*seam["general"], *seam["per_slot"]]:
            if feature["name"].rpartition(".")[2] not in config.tolls:
                continue
            if feature["low"] < 0 or feature["high"] > MOST_TOLLED:
                raise ConfigError(
                    f"agent.tolls: {feature['name']} is within {feature['low']:g} .. {feature['high']:g}; a toll needs "
                    f"a feature within 0 .. {MOST_TOLLED:g}"
                )
        costs = torch.tensor([float(config.start.get(name, 1.0)) for name in self.costs], dtype=torch.float64)
        self.mean = costs.log()  # mean of the logarithms of the costs
        self.step = torch.tensor(config.spread, dtype=torch.float64)
        self.scale = torch.ones_like(self.mean)  # standard deviations in steps
        self.path = torch.zeros_like(self.mean)  # of the mean, in standard deviations
        self.path_in_steps = torch.zeros_like(self.mean)
        self.generator = torch.Generator().manual_seed(seed)
        self.round = self.decisions = 0
        self._abandoned = threading.Event()
        if config.address:
            join(config.address, "agent.address", include_dashboard=False, log_to_driver=False)

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        ones = dict.fromkeys([*features_of(config.observation), *_tolls(config.tolls)], 1.0)
        hidden = hidden_units(_layers(config, ones, base_of(config)))
        return {**{key: getattr(config, key) for key in _PARAMETERS}, "hidden": hidden}

    def abandon(self) -> None:
        """Stop the present round, which may take minutes, and refuse later rounds. Any thread may call this."""
        self._abandoned.set()

    def train_round(self) -> dict[str, float]:
        """Draw candidates, let each play an episode of every world, and fit mean and spread to the best.

        Raises:
            RoundAbandonedError: `abandon()` was called; the agent has the state from before this round.
        """
        config, worlds = self.config, len(self.mixture.worlds)
        before = self.generator.get_state()
        noise = torch.randn((config.population - 1, len(self.mean)), generator=self.generator, dtype=self.mean.dtype)
        drawn = torch.cat([self.mean[None], self.mean + self.step * self.scale * noise])
        drawn = drawn.clamp(-_MOST_LOG, _MOST_LOG)
        plays = [(logs, k) for logs in drawn for k in range(worlds)]
        try:
            played = self._played(plays)
        except RoundAbandonedError:
            self.generator.set_state(before)
            raise
        self.next_seed += worlds
        self.decisions += sum(decisions for _, decisions in played)
        by_world = torch.tensor([loss for loss, _ in played]).reshape(len(drawn), worlds)
        losses = by_world.mean(1)
        # A candidate that delivers nothing has an infinite loss. If most do, the median is infinite, too.
        finite = by_world.clamp(max=_MOST_LOSS)
        judged = (config.limit * ((finite - finite.median(0).values) / config.limit).asinh()).mean(1)
        judged += config.decay * drawn.square().mean(1)
        chosen = judged[1:].argsort(stable=True)[: config.elite]
        self.round += 1
        self._follow(noise[chosen])
        return {
            "loss": float(losses[0]),  # of the mean before the round
            "loss_elite": float(losses[1:][chosen].mean()),
            "spread": float((self.step * self.scale).mean()),
            "decisions": float(self.decisions),
            **{f"cost.{name}": math.exp(value) for name, value in zip(self.costs, self.mean.tolist(), strict=True)},
        }

    def _follow(self, elite: Tensor) -> None:
        """Move mean, step and scale towards the best draws, in standard deviations [elite, costs], the best one first.

        The constants are those of Ros and Hansen, with the weights of Hansen's tutorial (arXiv 1604.00772).
        """
        count, n = elite.shape
        weights = math.log(count + 0.5) - torch.arange(1, count + 1, dtype=elite.dtype).log()
        weights /= weights.sum()
        size = 1 / float(weights.square().sum())  # effective number of draws
        to_path, to_steps = (size + 2) / (n + size + 5), (4 + size / n) / (n + 4 + 2 * size / n)
        faster = (n + 2) / 3  # scales are learned faster than a whole covariance matrix
        to_last = min(1.0, faster * 2 / ((n + 1.3) ** 2 + size))
        to_draws = min(1 - to_last, faster * 2 * (size - 2 + 1 / size) / ((n + 2) ** 2 + size))
        moved = weights @ elite
        self.mean = (self.mean + self.step * self.scale * moved).clamp(-_MOST_LOG, _MOST_LOG)
        self.path = (1 - to_path) * self.path + math.sqrt(to_path * (2 - to_path) * size) * moved
        usual = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # mean length of a path without selection
        length = float(self.path.norm()) / usual
        damping = 1 + 2 * max(0.0, math.sqrt((size - 1) / (n + 1)) - 1) + to_path
        self.step = self.step * math.exp(min(1.0, to_path / damping * (length - 1)))
        # A long path makes the step longer. The scale does not follow it, too.
        steady = length / math.sqrt(1 - (1 - to_path) ** (2 * self.round)) < 1.4 + 2 / (n + 1)
        self.path_in_steps = (1 - to_steps) * self.path_in_steps
        if steady:
            self.path_in_steps += math.sqrt(to_steps * (2 - to_steps) * size) * self.scale * moved
        kept = 1 - to_last - to_draws + (0 if steady else to_last * to_steps * (2 - to_steps))
        square = self.scale.square()
        draws = weights @ (square * elite.square())
        self.scale = (kept * square + to_last * self.path_in_steps.square() + to_draws * draws).sqrt()

    def keep_best(self, means: Sequence[Tensor], episodes: int) -> int:
        """Continue with the best of some means, and return its number. Each plays new episodes of every world."""
        losses = torch.zeros(len(means))
        worlds = range(len(self.mixture.worlds))
        for _ in range(episodes):
            losses += torch.tensor([[self._play(logs, k)[0] for k in worlds] for logs in means]).mean(1)
            self.next_seed += len(worlds)
        best = int(losses.argmin())
        self.mean = means[best]
        return best

    def _played(self, plays: Sequence[tuple[Tensor, int]]) -> list[tuple[float, int]]:
        if not self.config.address:
            with ThreadPoolExecutor(self.config.threads or os.cpu_count() or 1) as pool:
                return list(pool.map(lambda play: self._play(*play), plays))
        calls = [(self._layers(logs), k, self.next_seed + k) for logs, k in plays]
        return on_cluster(_Player.play, self._player, calls, self._check_abandoned)

    def _play(self, logs: Tensor, k: int) -> tuple[float, int]:
        return self._player.play(self._layers(logs), k, self.next_seed + k, self._check_abandoned)

    def _check_abandoned(self) -> None:
        if self._abandoned.is_set():
            raise RoundAbandonedError

    def _layers(self, logs: Tensor) -> Layers:
        costs = dict(zip(self.costs, logs.exp().tolist(), strict=True))
        costs |= {name: costs[other] for name, other in self.config.tied.items()}
        return _layers(self.config, costs, self.base)

    def policy(self) -> Layers:
        """The layers, made from the mean costs, that the core evaluates for its decisions."""
        return self._layers(self.mean)

    def state(self) -> dict[str, Any]:
        """The agent's part of a checkpoint. It holds no episodes, because every round begins new episodes."""
        own = {name: getattr(self, name) for name in (*_DISTRIBUTION, "round", "next_seed", "decisions")}
        return {**own, "generator": self.generator.get_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`."""
        self.generator.set_state(state["generator"])
        self.round, self.next_seed, self.decisions = state["round"], state["next_seed"], state["decisions"]
        for name in _DISTRIBUTION:
            setattr(self, name, state[name].clone())


def _layers(config: Config, costs: Mapping[str, float], base: Layers | None) -> Layers:
    features = features_of(config.observation)
    own = cost_layers(
        [*features_of(config.observation, "general"), *features],
        {name: costs[name] for name in features},
        {name: costs[toll] for name, toll in zip(config.tolls, _tolls(config.tolls), strict=True)},
    )
    return own if base is None else added(base, own)


def _loss_of_jobs(simulation: Simulation, limit_ns: float, check_abandoned: Callable[[], None]) -> float:
    """Mean over the jobs of log(ns of communication per flit received); infinite if a job has received none."""
    while simulation.time_ns < limit_ns and not (simulation.workload_finished or simulation.workload_stuck):
        check_abandoned()
        simulation.run_workload(max(1, simulation.cycles(min(_CHUNK_NS, limit_ns))))
        first = simulation.jobs()[0]
        if first["ranks_finished"] == first["ranks"]:
            break
    logs = []
    for job in simulation.jobs():
        done = job["ranks_finished"] == job["ranks"]
        took = float(np.mean(job["rank_comm_time_ns"])) if done else simulation.time_ns - job["start_ns"]
        logs.append(math.log(max(took, 1.0) / job["flits"]) if job["flits"] else math.inf)
    return sum(logs) / len(logs)


def _loss_of_traffic(simulation: Simulation, limit_ns: float, check_abandoned: Callable[[], None]) -> float:
    """log(mean latency in ns / accepted part of the load); infinite if no packet arrived."""
    _run(simulation, limit_ns / 2, check_abandoned)
    simulation.begin_window()
    _run(simulation, limit_ns / 2, check_abandoned)
    simulation.end_window()
    statistics = simulation.statistics()
    if not statistics["packets_delivered"] or not statistics["accepted_load"]:
        return math.inf
    part = statistics["accepted_load"] / statistics["offered_load"]
    return math.log(statistics["generation_latency_mean_ns"] / part)


def _run(simulation: Simulation, ns: float, check_abandoned: Callable[[], None]) -> None:
    cycles, chunk = simulation.cycles(ns), max(1, simulation.cycles(_CHUNK_NS))
    for begun in range(0, cycles, chunk):
        check_abandoned()
        simulation.run(min(chunk, cycles - begun))
