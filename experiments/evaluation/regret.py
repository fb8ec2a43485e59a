"""The measure `regret` of `flitgym evaluate`: the loss of decisions against the best candidate in hindsight.

Decisions are sampled. Every candidate is tried in a fork of the network, and the delays of all packets are compared.
"""

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...configs import refuse_unknown
from ...simcore import ConfigError, CoreError, MarginalCost, Simulation
from ..metrics import Interval, mean_interval, ratio_interval
from ..results.cautions import late_events
from ..results.files import read_columns, require_writable, write_table
from ..running.one_run import prepare, run_cycles, with_table
from ..terminal.commandline import CommandError
from ..terminal.progress import Report
from .cells import Cell, Row
from .kinds import ExtendedKind
from .plan import Trial
from .study import Comparison, Results
from .tables import Panel

Columns = Mapping[str, NDArray[Any]]

_LIMITS = {
    "decisions": (1, math.inf),
    "sample_fraction": (1e-9, 1),
    "horizon_ns": (1e-3, 1e9),
    "slots": (2, 64),
    "threads": (0, math.inf),
}
_CHUNK = 64  # decisions between two reports of progress
_WARMUP_PART = 0.2  # of the progress bar
# Stretches of time into which a run is cut for the intervals, because decisions close in time are correlated.
_STRETCHES = 20
_LEAST_UNEVEN = 1.1  # ratio of the mean numbers of candidates
_UNEVEN = (
    "The policies choose among different numbers of candidates (cand.), so best taken, regret and relative refer to "
    "different best candidates; regret.candidates=pair compares all policies on two candidates per decision. "
)
_PAIR = "Two candidates of each decision are compared: the minimal one, and the one taken or else a random other. "
_OTHERS = {
    "kept": "the other packets keep the routes that they take in the run",
    "routed": "the routing decides again for the other packets",
}


class Regret(Comparison):
    """See the module."""

    name, title, picture = "regret", "Regret", "Regret of every policy over the offered load and by hop"
    panels: ClassVar[Mapping[str, Sequence[Panel]]] = {
        "pattern": (
            Panel("regret_ns", "regret per decision (ns)", "load"),
            Panel("relative", "regret / regret of a random choice", "load", line=1),
            Panel("regret_ns", "regret per decision (ns)", "hop"),
        )
    }

    def planned(self) -> list[Trial]:
        given = self.given
        if given["workloads"]:
            raise CommandError("workload: the regret is measured under traffic; leave the workload out")
        if given["oracle"]:
            raise CommandError("oracle: it finds the scale of measure=performance; leave it out")
        check(given["regret"])
        return [replace(trial, run=REGRETS.planned(trial.run, given["regret"])) for trial in super().planned()]

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        groups: dict[tuple[str, float, str], list[Columns]] = {}
        patterns = [scenario.name for scenario in self.scenarios]
        ordered = sorted(self.trials, key=lambda t: (patterns.index(t.scenario.name), t.run.plain["traffic"]["load"]))
        for trial in ordered:
            if (result := results.get(trial.run.directory)) is None:
                continue
            columns = read_columns(result, trial.run.directory, "decisions")
            if columns is None:
                raise CoreError(f"{trial.run.directory}: decisions.parquet is missing; add run.overwrite=true")
            key = (trial.scenario.name, float(trial.run.plain["traffic"]["load"]), trial.policy.name)
            groups.setdefault(key, []).append(columns)
        cells = cells_of(groups, self.given["confidence"])
        if is_uneven(cells):
            print(f"flitgym evaluate: warning: {_UNEVEN}", file=sys.stderr, flush=True)
        return cells

    def meaning(self, cells: Sequence[Cell]) -> str:
        sampling = self.given["regret"]
        compared = _PAIR if sampling["candidates"] == "pair" else _UNEVEN if is_uneven(cells) else ""
        return (
            "Each candidate of a sampled decision was tried in a fork, which ran "
            f"{sampling['horizon_ns']:,.0f} ns with the same packets; {_OTHERS[sampling['other_packets']]}. The "
            "cost of a candidate is the sum of the delays of all packets. regret: the cost of the candidate taken "
            "minus the cost of the best one, mean per decision. No routing reaches 0, because it cannot know the "
            "future. relative: regret divided by the regret of a random choice (1: as good as chance). change: the "
            "mean cost of the other candidates minus the cost of the one taken; below 0, another candidate is better. "
            f"{compared}Intervals: {100 * self.given['confidence']:.12g} % (Student's t over stretches of time)."
        )


def cells_of(groups: Mapping[tuple[str, float, str], Sequence[Columns]], confidence: float) -> list[Cell]:
    """All cells. `groups` has the columns of each seed's run (`columns_of`) by pattern, load and policy.

    The cells of all decisions precede those of the decisions after each number of hops.
    """
    cells = []
    for (pattern, load, policy), runs in groups.items():
        present = sorted({int(hops) for run in runs for hops in np.unique(run["hops"])})
        for hop in (None, *(present if len(present) > 1 else ())):
            chosen = [{key: run[key][(run["hops"] == hop) | (hop is None)] for key in run} for run in runs]
            whole = {key: np.concatenate([run[key] for run in chosen]) for key in chosen[0]}
            regret, chance, change = (_stretches(chosen, key) for key in ("regret_ns", "chance_ns", "change_ns"))
            numbers = {
                "decisions": _alone(len(whole["regret_ns"])),
                "candidates": _alone(whole["candidates"].mean()),
                "best_taken": _alone((whole["regret_ns"] <= 0).mean()),
                "regret_ns": mean_interval(regret, confidence),
                "relative": ratio_interval(regret, chance, confidence),
                "change_ns": mean_interval(change, confidence),
            }
            point = {"pattern": pattern, "load": load, "hop": hop}
            cells += [Cell(policy, point, metric, mean, seeds=len(runs)) for metric, mean in numbers.items()]
    return cells


def is_uneven(cells: Sequence[Cell]) -> bool:
    """Whether policies at the same point choose among different numbers of candidates."""
    points: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        if cell.metric == "candidates" and cell.point["hop"] is None:
            points.setdefault(tuple(cell.point.values()), []).append(cell.mean.value)
    return any(max(numbers) > _LEAST_UNEVEN * min(numbers) for numbers in points.values())


def _alone(value: float) -> Interval:
    return Interval(float(value), np.nan, np.nan)


def _stretches(runs: Sequence[Columns], key: str) -> NDArray[np.float64]:
    """The mean of each stretch of time of each run."""
    means = [
        stretch.mean()
        for run in runs
        for stretch in np.array_split(run[key].astype(np.float64), min(_STRETCHES, max(1, len(run[key]) // 2)))
        if stretch.size
    ]
    return np.array(means)


def check(given: Mapping[str, Any]) -> None:
    """Check the section `regret`, which `evaluate.yaml` explains."""
    for key, (least, most) in _LIMITS.items():
        if not least <= given[key] <= most:
            raise ConfigError(f"regret.{key}: {given[key]:g} is not in [{least:g}, {most:g}]")
    refuse_unknown("regret.other_packets", [given["other_packets"]], tuple(_OTHERS), "value")
    refuse_unknown("regret.candidates", [given["candidates"]], ("own", "pair"), "value")


class RegretKind(ExtendedKind):
    """A run with forks; the section `regret` has the sampling."""

    section = "regret"
    no_identity = ("threads",)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`. Writes `result.json` and `decisions.parquet`, a row per decision."""
        (simulation, costs), given = _forks(plain), plain[self.section]
        require_writable(directory)
        warmup = simulation.cycles(plain["run"]["warmup_ns"])
        run_cycles(simulation, warmup, "warm-up", warmup / _WARMUP_PART, report)
        began, pieces, found = time.perf_counter(), [], 0
        random = np.random.default_rng(plain["seed"])
        while found < given["decisions"]:
            labels = costs.label(min(_CHUNK, given["decisions"] - found), given["sample_fraction"])
            pieces.append(columns_of(pairs_of(labels, random) if given["candidates"] == "pair" else labels))
            found += len(pieces[-1]["regret_ns"])
            report("forks", _WARMUP_PART + (1 - _WARMUP_PART) * found / given["decisions"])
        columns = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
        seconds = time.perf_counter() - began
        write_table(directory / "decisions.parquet", columns)
        late = late_events(plain, simulation.time_ns)
        numbers = {
            **means_of(columns),
            "decisions": found,
            "horizon_ns": given["horizon_ns"],
            "others": given["other_packets"],
            "candidates": given["candidates"],
            "wall_seconds": seconds,
            "decisions_per_second": found / seconds,
            "simulated_ns": simulation.time_ns,
            "files": {"decisions": "decisions.parquet"},
            "warnings": {} if late is None else {"late_events": late},
        }
        self.write(plain, directory, simulation, numbers)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`. All runs sample equally many decisions."""
        return float(plain[self.section]["decisions"])

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        """See `Kind`. A routing without choices is refused here."""
        facts = _forks(plain)[0].facts()
        return int(facts["memory_estimate_bytes"]), int(facts["terminals"])


REGRETS = RegretKind()


def _forks(plain: Mapping[str, Any]) -> tuple[Simulation, MarginalCost]:
    """The network of a run, and the forks that try its candidates."""
    simulation, given = with_table(prepare(plain), plain), plain[RegretKind.section]
    settings = {key: given[key] for key in ("horizon_ns", "slots", "threads")}
    reroute = given["other_packets"] == "routed"
    return simulation, MarginalCost(simulation, **settings, seed=plain["seed"], reroute=reroute)


def pairs_of(labels: Columns, random: np.random.Generator) -> Columns:
    """The same labels with two candidates per decision, so that all policies are compared on sets of the same kind.

    The two are the minimal candidate, and the candidate taken or, if that is the minimal one, a random other.
    """
    mask, taken = labels["mask"], labels["taken"].astype(np.int64)
    drawn = 1 + random.integers(mask.sum(axis=1) - 1)
    slots = np.arange(mask.shape[1])
    kept = (slots == 0) | (slots == np.where(taken > 0, taken, drawn)[:, None])
    return {
        **labels,
        "mask": kept,
        "cost_ns": np.where(kept, labels["cost_ns"], np.nan),
        "candidates": np.full_like(labels["candidates"], 2),
    }


def columns_of(labels: Columns) -> Columns:
    """The columns of `decisions.parquet`, from the result of `MarginalCost.label`.

    Returns:
        `cycle`, `router`, `hops`, `came_by` and `candidates`, as in `labels`.
        `taken`, `best`: the slots of the candidate taken and of the cheapest one.
        `regret_ns`: cost of the candidate taken minus that of the cheapest.
        `chance_ns`: mean cost of all candidates minus that of the cheapest.
        `change_ns`: mean cost of the other candidates minus that of the one taken.
        `minimal_ns`: cost of the minimal candidate minus that of the one taken.
        `taken_minimal`: 1 if the minimal candidate was taken.
    """
    cost, mask, taken = labels["cost_ns"], labels["mask"], labels["taken"]
    best, tried = np.nanmin(cost, axis=1), mask.sum(axis=1)
    total = np.nansum(cost, axis=1)
    return {
        **{key: labels[key] for key in ("cycle", "router", "hops", "came_by", "candidates", "taken")},
        "best": np.nanargmin(cost, axis=1).astype(np.uint32),
        "regret_ns": -best,
        "chance_ns": total / tried - best,
        "change_ns": total / (tried - 1),
        "minimal_ns": cost[:, 0],
        "taken_minimal": (taken == 0).astype(np.uint8),
    }


def means_of(columns: Columns) -> dict[str, float]:
    """The means over all decisions of a run."""
    return {
        "regret_mean_ns": float(columns["regret_ns"].mean()),
        "chance_mean_ns": float(columns["chance_ns"].mean()),
        "change_mean_ns": float(columns["change_ns"].mean()),
        "best_taken_fraction": float((columns["regret_ns"] <= 0).mean()),
        "minimal_fraction": float(columns["taken_minimal"].mean()),
    }
