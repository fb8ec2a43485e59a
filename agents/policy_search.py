"""Cross-entropy search for a policy of few costs: whole runs are judged, not single decisions.

A decision's own delay says nothing of what a detour costs others. Beside a job that floods the network every packet
that goes around, because it is faster for itself, fills the buffers of links that others need; rewards by packet make
the flood spread. Here a candidate policy plays whole episodes, and what it is judged by contains all of that: of jobs,
how fast each of them communicates.

A score is minus a sum of costs, one per feature of the slot and all positive; the search is over their logarithms. A
way with more hops than the least may pay for a feature once more (`tolls`), which no linear score can say: what a
detour takes from others, by holding links that they need, grows with how much is lost there (marginal-cost pricing:
Beckmann, McGuire, Winsten 1956). A constant price of detours (`more_hops`) that is high enough to keep jobs apart where
one floods the network keeps light adversarial traffic on its minimal links until they are full; a toll does so less.

    Rubinstein, Methodology and Computing in Applied Probability 1 (1999)   draw, keep the elite, fit, draw again
    Szita and Lorincz, Neural Computation 18 (2006)                         policies by this method
    Kelly, Maulloo, Tan, J. Oper. Res. Soc. 49 (1998)                       proportional fairness: the sum of log rates

A mean over worlds lets one pay for what others gain: an earlier search ended with ADV+1 at 2.3 times Q-adaptive's
latency (below). So known routings may play the episodes, too (`references`), and what an episode's loss is above the
least of theirs is added `harm` times. They play as they are, and a table that learns begins empty: in
episodes of 100 us of ADV+1 on dragonfly_72 Q-adaptive is the better one at loads of 0.1 and 0.2, PAR at 0.3 and 0.4.

An episode's loss is the mean over its jobs of log(communication time per flit received), so that 10 % more for a small
job and 10 % more for the one that floods the network weigh the same. It ends when the first job is done, or after
`episode_ns`; a job that is not done then counts by the time since its start. Of traffic the loss is log(mean latency /
part of the load that is accepted) in the second half of the episode. All candidates of a round play the same episodes
(common random numbers), and the mean is one of them.

Why detours: five runs on dragonfly_72 (router sc22) beside Halo3D: CosmoFlow and FFT3D in two placements, LU in one;
one seed. Communication time of the target and throughput of the system over Q-adaptive's, geometric means; hops, the
part that goes around, and the 99th percentile of packet latency in us. Sums are linear costs set by hand; `lost` had a
row per region of destinations:

    routing                                                            time  system  hops  around   p99
    q_adaptive                                                         1.00   1.00   2.89    0.45  22.1
    minimal                                                            0.85   0.94   2.28    0.00  10.1
    dqn (reward=relative_delay, toll 3)                                1.26   0.99   3.25    0.58  27.8
    dqn, relation=five_hop                                             1.19   1.01   3.11    0.53  27.0
    dqn_dragonfly (reward=hop_delay)                                   1.19   0.98   3.17    0.54  27.5
    par                                                                1.57   0.87   4.24    0.67  26.2
    lost + more_time                                                   1.03   0.96   3.06    0.48  23.3
    lost + more_time + queued + uncredited                             1.11   0.98   3.31    0.60  25.8
    lost + more_time, five_hop                                         0.99   0.97   2.92    0.43  21.8
    lost + 3 more_time + 3 more_hops + 0.3 queued, five_hop            0.91   1.00   2.74    0.34  21.0
    lost + 6 more_time + 12 more_hops + 0.3 queued, five_hop           0.87   0.99   2.50    0.20  19.5

Why tolls: on dragonfly_342, the six mixed jobs, FFT3D with Halo3D, LQCD and LU with DL; geometric mean of these nine
communication times over Q-adaptive's, one seed; and the mean latency in ns of ADV+1 at load 0.25 on dragonfly_72
(packets of 4 flits; Q-adaptive 741), 100 us after 300 where searched and for 17 alone, else 60 after 200. By hand with
1.6 lost, 3.6 more_time and small costs of queues, or searched on configs/worlds/interference.yaml (the second and the
sixth on earlier states of it, without references, from other starts and with ADV+1 to 0.25 alone); `all`: over the 36
cases of the study's quick preset; the last row is where the last search began:

    price of detours                         time   ADV+1   all
    17 more_hops                             1.01     869
    68 more_hops, searched without tolls     0.95    2716  0.970
    17 more_hops, toll of 4 on lost          0.96     769
    17 more_hops, toll of 8 on lost          0.94     764
    40 more_hops, toll of 3 on lost          0.93     891
    37 more_hops, toll of 8, searched        0.92    1737  0.952
    18 more_hops, toll of 6 (search_jobs)    0.94     824  0.955
    20 more_hops, toll of 5 (its start)      0.96     760  0.973

Why for all networks, too (routing=search_universal): mean latency over the best of UGAL, UGAL-L, PAR, Q-adaptive,
DimWAR and OmniWAR: geometric mean and worst of 16 tasks of the benchmark's suite quick (hyperx_64, fat_tree_64,
graph_32, torus_64, dragonfly_72), then uniform traffic on hyperx_64 at 0.8, fat_tree_64 at 0.8 and graph_128 at 0.6,
and tornado on torus_512 at 0.35. DQN's values come from noisy delays; of six candidates the one that is judged too
well is taken, so that it goes around too often where links are full, and longer training makes it worse. A price on
hops cures that and takes detours from where they are needed.

    policy                                              mean  worst   hyperx  fat tree  graph  torus
    dqn, as it is shipped                              0.965   1.02     1.02      1.08   2.36   0.62
    dqn, trained anew, seed 1                          0.976   1.34     1.34      1.04   3.22   0.65
    dqn, trained anew, seed 2                          0.974   1.37     1.37      1.11   1.80   0.93
    dqn, trained anew, seed 3                          0.985   1.55     1.55      1.03   1.84   1.33
    dqn, on a graph and fuller networks, too           0.976   1.38     1.38      1.13   2.80   0.97
    the same, a price of half a mean hop per hop       0.970   1.24     1.24      1.02   0.82   1.06
    the same, a price of a mean hop per hop            0.953   1.05     0.90      1.38   0.81   1.12
    costs by hand: 1 lost, queued, asking, more_time   0.955   1.04     0.90      0.97   0.80   2.52
    searched at lower loads, with fewer references     0.956   1.01     0.94      0.97   0.82   1.72
    search_universal                                   0.977   1.04     0.93      1.00   0.90   0.73

So costs may also be subtracted from the score of a policy that has learned (`base`), and tolls be on what is the same
for all candidates, above all on `backlog`, the mean over the router's links of what waits there. It tells a network
that is full, where a detour only takes from others, from one of which a single direction is, where it is needed:
tornado on a ring. A price per hop or on what is lost there does not. What it comes to (routing=dqn_priced): mean
latency over the same six routings, geometric mean over the 45 tasks below saturation of the suite standard on all but
the four largest networks, the worst of them, and two that want opposite things, graph_128 under uniform traffic at 0.6
and torus_64 under tornado at 0.35; then two of hyperx_4096, URBy and bit complement at 0.4. Ranges are from
the least to the most of trainings of worlds=universal with seeds 1 to 5. One seed, 120 us of warm-up where the suite
has 300 or 500; the others' numbers are the recorded ones, so that single tasks differ from the table above. By hand:
1.8 queued, 1.4 class_time, 0.9 asking, 3 lost, 0.3 uncredited, the rest small:

    policy                                            mean         worst         graph        torus        URBy    BC
    dqn, before its worlds had a torus of rings   0.98 .. 1.00  3.05 .. 3.67  3.05 .. 3.67  0.67 .. 1.63
    the same, 1.1 lost, 0.9 backlog, 0.9 hops     0.93 .. 0.95  1.05 .. 1.68  0.80 .. 0.82  0.76 .. 1.68
    with a torus of rings, the same tolls         0.93 .. 0.95  1.12 .. 1.46  0.80 .. 0.85  0.78 .. 1.35
    costs by hand, 1.5 lost, 2.7 backlog, 0.5 hops 0.93 .. 0.94 1.03 .. 1.09  0.82 .. 0.89  0.68 .. 1.09
    searched from there (to 3.1 backlog), seed 1      0.93          1.06          0.83          0.74        1.44  2.67
    the same, 1.3 backlog                                                         2.48          0.67        1.08  1.02
    searched with hyperx_cube, 10 rounds, seed 1      0.93          1.04          0.83          0.75        1.23  1.04
    the same, seed 2                                  0.94          1.08          0.84          1.08        1.06  1.01
    the same, seed 3                                  0.94          1.22          0.81          1.22        1.05  1.02
    the same, seed 4                                  0.94          1.15          0.82          1.15        1.10  1.03
    the same, seed 5                                  0.94          1.03          0.82          1.03        1.03  1.02
    seed 2 for 25 rounds (dqn_priced)                 0.94          1.03          0.85          1.01        1.05  1.01
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

from ..configs.errors import unknown
from ..configs.policies import policy_path
from ..env.experience.seeds import training_seed
from ..env.experience.world import Mixture, World
from ..simcore import ConfigError, Simulation, registered
from .learning import stored
from .learning.abandonment import RoundAbandonedError
from .learning.bounds import check
from .networks import Layers
from .policy.file import load_policy
from .policy.score_layers import LONGER, MOST_TOLLED, added, cost_layers, hidden_units

_CHUNK_NS = 5000  # between two looks whether the first job is done, or the round given up
_MOST_COST = 1e6


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "policy_search"
    # what the routers see
    network: str = "slots"
    hidden: list[int] = field(default_factory=list)  # none: the score is linear
    observation: str = "relative+relative_lost_by_source"
    relation: str = "widest"
    slots: int = 6
    slots_by: str = "estimate"  # or random: which candidates where there are more than slots
    tolls: list[str] = field(default_factory=list)  # features that ways with more hops pay an extra cost for
    base: str | None = None  # a policy, shipped or a file, from whose score costs are subtracted; null: costs alone
    # the search
    start: dict[str, float] = field(default_factory=dict)  # costs by feature, or feature_toll; 1 unless said
    references: list[str] = field(default_factory=list)  # the core's routings, with their defaults and empty tables
    harm_weight: float = 1.0  # weight of what a candidate's loss is above the least of theirs, added to the loss
    spread: float = 0.7  # standard deviation of the logarithms of costs at the start
    min_spread: float = 0.1
    population: int = 12  # candidates per round, the mean among them
    elite: int = 4  # of them, that the next mean and spread are fitted to
    smoothing: float = 0.7  # weight of the fit over what was before
    episode_ns: float = 2000000  # at most; of worlds that do not say it themselves
    threads: int = 1  # that episodes are played on; 0 = one per core. They change nothing else

    def __post_init__(self) -> None:
        check(
            self,
            spread=(0, 10),
            min_spread=(0, 10),
            population=(2, 4096),
            elite=(1, 4096),
            smoothing=(0, 1),
            harm_weight=(0, _MOST_COST),
            episode_ns=(1, 1e12),
            threads=(0, 1024),
        )
        if self.network != "slots" or list(self.hidden):
            raise ConfigError("agent.network, agent.hidden: policy_search has a score of slots of its own: slots, []")
        if self.elite > self.population:
            raise ConfigError(f"agent.elite: {self.elite} of a population of {self.population}")
        general, features = general_features(self.observation), slot_features(self.observation)
        for name in self.tolls:
            if name not in general + features:
                raise ConfigError(unknown("agent.tolls", name, general + features, "feature"))
            if (general + features).count(name) > 1:
                raise ConfigError(f"agent.tolls: agent.observation={self.observation} tells '{name}' twice")
        if len(set(self.tolls)) < len(self.tolls):
            raise ConfigError(f"agent.tolls: {list(self.tolls)} names a feature twice")
        if len(set(features)) < len(features):
            raise ConfigError(f"agent.observation: {self.observation} tells a feature twice, so costs have no names")
        if self.tolls and LONGER not in features:
            raise ConfigError(f"agent.tolls: agent.observation={self.observation} does not tell {LONGER}")
        costs = [*features, *_tolls(self.tolls)]
        for name, cost in self.start.items():
            if name not in costs:
                raise ConfigError(unknown("agent.start", name, costs, "feature"))
            if not (math.isfinite(cost) and 1 / _MOST_COST <= cost <= _MOST_COST):
                raise ConfigError(f"agent.start.{name}: {cost} is outside {1 / _MOST_COST:g} .. {_MOST_COST:g}")


_PARAMETERS = ("network", "hidden", "observation", "relation", "slots", "slots_by")


def slot_features(observation: str) -> list[str]:
    """Names of what an observation says of each slot, without those of their blocks.

    Raises:
        ConfigError: a block that the core does not have.
    """
    return _told(observation, "per_slot")


def general_features(observation: str) -> list[str]:
    """Likewise of what it says of packet and router, which is the same for all slots."""
    return _told(observation, "general")


def _told(observation: str, of: str) -> list[str]:
    blocks = registered("observation")
    for block in observation.split("+"):
        if block not in blocks:
            raise ConfigError(unknown("agent.observation", block, blocks, "block"))
    return [name for block in observation.split("+") for name in blocks[block]["facts"][of]]


def _tolls(features: Sequence[str]) -> list[str]:
    return [f"{name}_toll" for name in features]


class Agent:
    """Searches the costs of slot features on a world, or a mixture of which every round plays each world once."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds = config, rounds
        self.mixture = world if isinstance(world, Mixture) else Mixture.alone(world)
        self.next_seed = training_seed(seed)
        self._routing = self.routing(config)
        self.base = _base(config)
        seam = self._simulation(0, self.next_seed).seam()
        self.features = slot_features(config.observation)
        self.costs = [*self.features, *_tolls(config.tolls)]  # what is the same for all slots has tolls alone
        for feature in [*seam["general"], *seam["per_slot"]]:
            if feature["name"].rpartition(".")[2] not in config.tolls:
                continue
            if feature["low"] < 0:
                raise ConfigError(f"agent.tolls: {feature['name']} may be below 0, and a toll is on a cost")
            if feature["high"] > MOST_TOLLED:
                raise ConfigError(f"agent.tolls: {feature['name']} may be above {MOST_TOLLED:g}, the most for a toll")
        for reference in config.references:
            for k in range(len(self.mixture.worlds)):
                self._reference(reference, k, self.next_seed + k)
        costs = torch.tensor([float(config.start.get(name, 1.0)) for name in self.costs], dtype=torch.float64)
        self.mean = costs.log()  # of the logarithms of the costs
        self.spread = torch.full_like(self.mean, config.spread)
        self.generator = torch.Generator().manual_seed(seed)
        self.round = self.decisions = 0
        self._abandoned = threading.Event()

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`."""
        ones = dict.fromkeys([*slot_features(config.observation), *_tolls(config.tolls)], 1.0)
        hidden = hidden_units(_layers(config, ones, _base(config)))
        return {**{key: getattr(config, key) for key in _PARAMETERS}, "hidden": hidden}

    def _simulation(self, k: int, seed: int) -> Simulation:
        return self.mixture.worlds[k].simulation({**self._routing, "name": "policy"}, seed)

    def _reference(self, name: str, k: int, seed: int) -> Simulation:
        try:
            return self.mixture.worlds[k].simulation(name, seed)
        except ConfigError as error:
            raise ConfigError(f"agent.references: {name}: {error}") from error

    def abandon(self) -> None:
        """Give up the round that is under way, and every later one: rounds take minutes. From any thread."""
        self._abandoned.set()

    def train_round(self) -> dict[str, float]:
        """Draw candidates, let each play an episode of every world, and fit mean and spread to the best.

        Raises:
            RoundAbandonedError: `abandon()` was called; nothing of this round is left in the agent.
        """
        config, worlds = self.config, len(self.mixture.worlds)
        before = self.generator.get_state()
        noise = torch.randn((config.population - 1, len(self.mean)), generator=self.generator, dtype=self.mean.dtype)
        drawn = torch.cat([self.mean[None], self.mean + self.spread * noise])
        drawn = drawn.clamp(-math.log(_MOST_COST), math.log(_MOST_COST))
        plays = [(logs, k) for logs in drawn for k in range(worlds)]
        try:
            with ThreadPoolExecutor(config.threads or os.cpu_count() or 1) as pool:
                played = list(pool.map(lambda play: self._play(*play), plays))
                best = self._best_of_references(pool)
        except RoundAbandonedError:
            self.generator.set_state(before)
            raise
        self.next_seed += worlds
        self.decisions += sum(decisions for _, decisions in played)
        by_world = torch.tensor([loss for loss, _ in played]).reshape(len(drawn), worlds)
        # Where no reference got anything through, nothing is lost to it.
        harms = torch.where(best.isinf(), 0.0, (by_world - best).clamp(min=0)).mean(1)
        losses = by_world.mean(1)
        # 0 times an infinite loss is no number.
        judged = losses + config.harm_weight * harms if config.harm_weight else losses
        chosen = judged.argsort(stable=True)[: config.elite]
        elite = drawn[chosen]
        self.mean = self.mean.lerp(elite.mean(0), config.smoothing)
        self.spread = self.spread.lerp(elite.std(0, correction=0), config.smoothing).clamp(min=config.min_spread)
        self.round += 1
        return {
            "loss": float(losses[0]),  # of the mean, before the round
            "harm": float(harms[0]),
            "loss_elite": float(losses[chosen].mean()),
            "spread": float(self.spread.mean()),
            "decisions": float(self.decisions),
            **{f"cost.{name}": math.exp(value) for name, value in zip(self.costs, self.mean.tolist(), strict=True)},
        }

    def _best_of_references(self, pool: ThreadPoolExecutor) -> Tensor:
        """The least loss of any reference in each world; infinite where there is none."""
        worlds = range(len(self.mixture.worlds))

        def play(name: str, k: int) -> float:
            self._go_on()
            return self._loss(self._reference(name, k, self.next_seed + k), k)

        named = [(name, k) for name in self.config.references for k in worlds]
        losses = torch.tensor(list(pool.map(lambda at: play(*at), named)))
        nobody = torch.full((1, len(worlds)), math.inf)
        return torch.cat([losses.reshape(-1, len(worlds)), nobody]).min(0).values

    def _play(self, logs: Tensor, k: int) -> tuple[float, int]:
        """The loss of an episode of world k, and its decisions."""
        self._go_on()
        simulation = self._simulation(k, self.next_seed + k)
        simulation.set_policy(self._layers(logs))
        return self._loss(simulation, k), simulation.decision_count

    def _loss(self, simulation: Simulation, k: int) -> float:
        own = self.mixture.episode_ns[k]
        limit_ns = self.config.episode_ns if own is None else own
        jobs = "workload" in self.mixture.worlds[k].sections
        loss_of = _loss_of_jobs if jobs else _loss_of_traffic
        return loss_of(simulation, limit_ns, self._go_on)

    def _go_on(self) -> None:
        if self._abandoned.is_set():
            raise RoundAbandonedError

    def _layers(self, logs: Tensor) -> Layers:
        costs = dict(zip(self.costs, logs.exp().tolist(), strict=True))
        return _layers(self.config, costs, self.base)

    def policy(self) -> Layers:
        """The network that the core follows: the mean."""
        return self._layers(self.mean)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the agent. Episodes are not kept, since every round begins new ones."""
        return {
            "mean": self.mean,
            "spread": self.spread,
            "generator": self.generator.get_state(),
            "round": self.round,
            "next_seed": self.next_seed,
            "decisions": self.decisions,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`.

        Raises:
            ConfigError: it is of another agent, or damaged; the message names the piece.
        """
        given = stored.checked(state, "agent", {**self.state(), "generator": self.generator})
        self.generator.set_state(given["generator"])
        self.round = stored.whole(given["round"], "agent.round", 0, self.rounds)
        self.next_seed, self.decisions = given["next_seed"], given["decisions"]
        self.mean, self.spread = given["mean"].clone(), given["spread"].clone()


def _base(config: Config) -> Layers | None:
    """The policy from whose score the costs are subtracted; it sees and chooses among the same as the search."""
    if config.base is None:
        return None
    try:
        layers, metadata = load_policy(policy_path("agent.base", config.base))
    except ConfigError as error:
        words = str(error)
        raise ConfigError(words if words.startswith("agent.base") else f"agent.base: {words}") from error
    for key, missing in (("network", ""), ("observation", ""), ("relation", ""), ("slots", ""), ("slots_by", "random")):
        own, given = str(getattr(config, key)), metadata.get(key, missing)
        if own != given:
            raise ConfigError(f"agent.base: {config.base} has {key}={given}, and the search agent.{key}={own}")
    units = [len(general_features(config.observation)) + len(slot_features(config.observation))]
    for weight, bias in layers:
        if weight.ndim != 2 or weight.shape[1] != units[-1] or bias.shape != weight.shape[:1]:
            raise ConfigError(f"agent.base: {config.base}: a layer of shape {weight.shape} behind {units[-1]} units")
        units.append(len(weight))
    if units[-1] != 1:
        raise ConfigError(f"agent.base: {config.base} has {units[-1]} outputs, and a score of slots is one")
    return layers


def _layers(config: Config, costs: Mapping[str, float], base: Layers | None) -> Layers:
    features = slot_features(config.observation)
    own = cost_layers(
        [*general_features(config.observation), *features],
        {name: costs[name] for name in features},
        {name: costs[toll] for name, toll in zip(config.tolls, _tolls(config.tolls), strict=True)},
    )
    return own if base is None else added(base, own)


def _loss_of_jobs(simulation: Simulation, limit_ns: float, go_on: Callable[[], None]) -> float:
    """Mean over the jobs of log(ns of communication per flit received); infinite if one has received none."""
    while simulation.time_ns < limit_ns and not (simulation.workload_finished or simulation.workload_stuck):
        go_on()
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


def _loss_of_traffic(simulation: Simulation, limit_ns: float, go_on: Callable[[], None]) -> float:
    """log(mean latency in ns / part of the load that is accepted); infinite if nothing arrived."""
    _run(simulation, limit_ns / 2, go_on)
    simulation.begin_window()
    _run(simulation, limit_ns / 2, go_on)
    simulation.end_window()
    statistics = simulation.statistics()
    if not statistics["packets_delivered"] or not statistics["accepted_load"]:
        return math.inf
    part = statistics["accepted_load"] / statistics["offered_load"]
    return math.log(statistics["generation_latency_mean_ns"] / part)


def _run(simulation: Simulation, ns: float, go_on: Callable[[], None]) -> None:
    cycles, chunk = simulation.cycles(ns), max(1, simulation.cycles(_CHUNK_NS))
    for begun in range(0, cycles, chunk):
        go_on()
        simulation.run(min(chunk, cycles - begun))
