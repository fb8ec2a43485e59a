"""The oracle of a task: the policy `flitgym` with the costs that a search on the task itself finds.

The search plays other seeds than the runs that judge it. Together with the best baseline, the oracle is the scale for
the gap that a policy closes: 0 is the best baseline, and 1 the oracle.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from ...configs.composition import compose_root
from ...configs.policies import POLICY_SUFFIX, shipped_policy
from ...configs.training import register_training, world_sections
from ...env.experience.world import Mixture, World
from ...simcore import ConfigError
from ...simcore._policy_file import load_policy, save_policy
from ..results.files import require_writable
from ..terminal.progress import Report
from .kinds import ExtendedKind, network_of
from .plan import Policy, Scenario, Trial, plan

Values = NDArray[np.float64]

NAME = "oracle"
_POLICY = "flitgym"  # the policy whose costs are searched
_ROUND = 12  # candidates per round
_SEED = 1  # of the search, which derives the seeds of its episodes from it
_LEAST_GAP = np.log(1.01)  # a smaller gap shows noise


class OracleKind(ExtendedKind):
    """A search; the section `oracle` has the number of its `candidates`."""

    section = NAME

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`. Writes `result.json` and `policy.safetensors`."""
        require_writable(directory)
        agent = searcher(plain)
        losses = []
        for k in range(agent.rounds):
            report("search", k / agent.rounds)
            losses.append(agent.train_round()["loss"])
        path = directory / f"policy{POLICY_SUFFIX}"
        kept = {key: getattr(agent.config, key) for key in ("network", "slots", "observation", "relation", "slots_by")}
        save_policy(path, agent.policy(), topology="any", **kept)
        numbers = {"losses": losses, "decisions": agent.decisions, "files": {"policy": path.name}}
        self.write(plain, directory, network_of(plain)[0], numbers)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`."""
        return super().cost(plain) * float(plain[NAME]["candidates"])


ORACLES = OracleKind()


def searcher(plain: Mapping[str, Any]) -> Any:
    """The search of a run: an agent `policy_search` that starts from the costs of `flitgym`.

    An episode of traffic takes the time of a run. Its second half gives the loss.

    Raises:
        ConfigError: torch is not installed.
    """
    from ...agents import trainable

    register_training(trainable())
    from ...agents.policy_search import Agent, Config, costs_of

    layers, metadata = load_policy(shipped_policy(_POLICY))
    trained = compose_root("train", shlex.split(metadata["trained_by"])[2:]).agent
    candidates = plain[NAME]["candidates"]
    population = min(_ROUND, candidates)
    given = {key: metadata[key] for key in ("observation", "relation", "slots_by")}
    config = Config(
        **given,
        slots=int(metadata["slots"]),
        tolls=list(trained.tolls),
        start=costs_of(layers, metadata["observation"], list(trained.tolls)),
        spread=0.5,
        population=population,
        elite=max(1, population // 4),
        smoothing=1.0,
    )
    run = plain["run"]
    world = World(world_sections(OmegaConf.create(dict(plain))))
    traffic_ns = None if "workload" in world.sections else run["warmup_ns"] + run["measure_ns"]
    return Agent(config, Mixture([world], [traffic_ns]), rounds=max(1, candidates // population), seed=_SEED)


def check(candidates: Any, routings: Mapping[str, str]) -> None:
    """Check the key `oracle` before a study plans its runs.

    Args:
        candidates: Its value.
        routings: The routing of the core of each policy and baseline.

    Raises:
        ConfigError: the value is no number of candidates, a policy has the name `oracle`, or there is no baseline.
    """
    if not isinstance(candidates, int) or candidates < 2:
        raise ConfigError(f"oracle: {candidates!r} is not a number of candidates; use 2 or more, or 0 for no search")
    if NAME in routings:
        raise ConfigError(f"routing: '{NAME}' is the policy that oracle={candidates} finds; give yours another name")
    if not baselines_of(routings):
        raise ConfigError("oracle: the gap begins at the best baseline; add a routing that plays no file, routing=ugal")


def baselines_of(routings: Mapping[str, str]) -> list[str]:
    """The names of the policies that play no policy file, from their routings of the core."""
    return [name for name, routing in routings.items() if routing != "policy"]


def routings_of(trials: Sequence[Trial]) -> dict[str, str]:
    """The routing of the core of each policy, by name."""
    return {trial.policy.name: trial.run.plain["routing"]["name"] for trial in trials}


def searches_of(
    candidates: int, scenarios: Sequence[Scenario], common: Sequence[str], loads: Sequence[float], directory: Path
) -> list[Trial]:
    """A search per scenario and load; arguments as for `plan`."""
    trials = plan([Policy(NAME, _POLICY, {})], scenarios, common, loads, [_SEED], directory)
    return [replace(trial, run=ORACLES.planned(trial.run, {"candidates": candidates})) for trial in trials]


def judged(search: Trial, common: Sequence[str], seeds: Sequence[int], directory: Path) -> list[Trial]:
    """The runs of the policy that a finished search has found; arguments as for `plan`."""
    policy = Policy(NAME, "policy", {"routing.path": str(search.run.directory / f"policy{POLICY_SUFFIX}")})
    loads = [search.run.plain["traffic"]["load"]]
    trials = plan([policy], [search.scenario], common, loads, seeds, directory)
    return [replace(trial, marks=search.marks) for trial in trials]


def gap_closed(own: Values, baselines: Mapping[str, Values], oracle: Values) -> Values:
    """The share of the gap between the best baseline and the oracle that a policy closes.

    Args:
        own: Natural logarithms of a measure that is better if it is smaller, [seeds]. NaN stands for a missing run.
        baselines: The same of each baseline. The best one has the least mean among those without a missing run.
        oracle: The same of the oracle.

    Returns:
        [seeds] 0 is the best baseline, 1 the oracle. The gap is the mean over the seeds. All are NaN if the oracle is
        less than 1 % better than the best baseline.
    """
    complete = [values for values in baselines.values() if np.isfinite(values).all()]
    best = min(complete, key=np.mean, default=np.full_like(own, np.nan))
    gaps = best - oracle
    gap = gaps[np.isfinite(gaps)].mean() if np.isfinite(gaps).any() else np.nan
    share: Values = (best - own) / gap if gap >= _LEAST_GAP else np.full_like(own, np.nan)
    return share
