"""The oracle of a task: the policy `flitgym` with the costs that a search on the task finds, with other seeds."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from ...configs.composition import compose_root
from ...configs.policies import shipped_policy
from ...configs.training import register_training, world_sections
from ...env.experience.world import Mixture, World, routing_section
from ...simcore import ConfigError
from ...simcore._policy_file import load_policy, save_policy
from ..results.files import require_writable
from ..running.one_run import prepare, with_table
from ..running.plan import SIMULATIONS, PlannedRun
from ..terminal.progress import Report
from .kinds import ExtendedKind
from .plan import Policy, Trial

Values = NDArray[np.float64]

NAME = "oracle"
ORACLE = Policy(NAME, "policy", {})
MEANING = (
    " gap closed: the share of the gap from the best baseline, which plays no policy file (0), to the oracle (1); none "
    "if the gap is below 1 %. The oracle is flitgym with the costs of a search on the same task, with other seeds."
)
_POLICY = "flitgym"  # the policy whose costs are searched
_FILE = "policy.safetensors"
_ROUND = 12  # candidates per round
_EPISODES = 3  # with which the means of all rounds are compared
_SEED = 1  # of the search, which derives the seeds of its episodes from it
_LEAST_GAP = np.log(1.01)  # a smaller gap shows noise


class OracleKind(ExtendedKind):
    """A search; the section `oracle` has the number of its `candidates`."""

    section = NAME

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`. Writes `result.json` and `policy.safetensors`."""
        require_writable(directory)
        agent = searcher(plain)
        means = [agent.mean]
        for k in range(agent.rounds):
            report("search", k / (agent.rounds + 1))
            agent.train_round()
            means.append(agent.mean)
        kept = agent.keep_best(means, _EPISODES)  # the start may be the best one
        keys = ("network", "slots", "observation", "relation", "slots_by", "allocation")
        facts = {key: getattr(agent.config, key) for key in keys}
        save_policy(directory / _FILE, agent.policy(), topology="any", **facts)
        numbers = {"rounds": agent.rounds, "kept_after_rounds": kept, "files": {"policy": _FILE}}
        self.write(plain, directory, with_table(prepare(plain), plain), numbers)


ORACLES = OracleKind()


def searcher(plain: Mapping[str, Any]) -> Any:
    """The agent `policy_search` from the costs of `flitgym`. An episode of traffic takes the time of a run."""
    from ...agents import trainable

    register_training(trainable())
    from ...agents.policy_search import Agent, Config, costs_of

    layers, metadata = load_policy(shipped_policy(_POLICY))
    tolls = list(compose_root("train", shlex.split(metadata["trained_by"])[2:]).agent.tolls)
    population = min(_ROUND, plain[NAME]["candidates"])
    given: dict[str, Any] = {key: metadata[key] for key in ("observation", "relation", "slots_by")}
    given |= {"slots": int(metadata["slots"]), "tolls": tolls, "allocation": plain["routing"]["allocation"]}
    given |= {"spread": 0.5, "population": population, "elite": max(1, population // 3)}
    config = Config(**given, start=costs_of(layers, given["observation"], tolls))
    run = plain["run"]
    world = World(world_sections(OmegaConf.create(dict(plain))))
    traffic_ns = None if "workload" in world.sections else run["warmup_ns"] + run["measure_ns"]
    return Agent(config, Mixture([world], [traffic_ns]), rounds=plain[NAME]["candidates"] // population, seed=_SEED)


def searches_of(trials: Sequence[Trial], candidates: Any) -> list[Trial]:
    """A search for each scenario, load and task of a plan, with the windows of its first trial."""
    if not isinstance(candidates, int) or candidates < 2:
        raise ConfigError(f"oracle: {candidates!r} is not a number of candidates; use 2 or more, or 0 for no search")
    if any(trial.policy.name == NAME for trial in trials):
        raise ConfigError(f"routing: '{NAME}' is the policy that oracle={candidates} finds; give yours another name")
    if not baselines_of(trials):
        raise ConfigError("oracle: the gap begins at the best baseline; add a routing that plays no file, routing=ugal")
    points = {(t.scenario.name, t.run.plain["traffic"]["load"], *t.marks.values()): t for t in reversed(trials)}
    routing = routing_section(NAME, _POLICY)
    return [
        replace(trial, policy=ORACLE, run=ORACLES.planned(_with(trial.run, _SEED, routing), {"candidates": candidates}))
        for trial in reversed(points.values())
    ]


def judged(search: Trial, seeds: Sequence[int]) -> list[Trial]:
    """The runs of the policy that a finished search has found."""
    path = str(search.run.directory / _FILE)
    runs = [_with(search.run, seed, {**search.run.plain["routing"], "path": path}) for seed in seeds]
    return [replace(search, run=run) for run in runs]


def _with(run: PlannedRun, seed: int, routing: Mapping[str, Any]) -> PlannedRun:
    """The simulation of a run with another seed and routing."""
    own = {**run.plain["run"], "load_q_table": None, "freeze_q_table": False}  # of a policy with a table
    plain = {**run.plain, "run": own, "seed": seed, "routing": dict(routing)}
    plain.pop(NAME, None)
    return PlannedRun(plain, run.directory.parent / SIMULATIONS.folder(plain))


def baselines_of(trials: Sequence[Trial]) -> list[str]:
    """The names of the policies that play no policy file."""
    return list(dict.fromkeys(t.policy.name for t in trials if t.run.plain["routing"]["name"] != "policy"))


def gap_closed(own: Values, baselines: Mapping[str, Values], oracle: Values) -> Values:
    """The share of the gap between the best baseline (0) and the oracle (1) that a policy closes, [seeds].

    All arguments are natural logarithms of a measure that is better if it is smaller, [seeds], with NaN for a missing
    run. The best baseline has the least mean among those without a missing run. The gap is the mean over the seeds. If
    the oracle is less than 1 % better than the best baseline, all shares are NaN.
    """
    complete = [values for values in baselines.values() if np.isfinite(values).all()]
    best = min(complete, key=np.mean, default=np.full_like(own, np.nan))
    gaps = best - oracle
    gap = gaps[np.isfinite(gaps)].mean() if np.isfinite(gaps).any() else np.nan
    share: Values = (best - own) / gap if gap >= _LEAST_GAP else np.full_like(own, np.nan)
    return share
