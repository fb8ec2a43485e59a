"""The measure `regret` of `flitgym evaluate`: the loss of decisions against the best candidate in hindsight.

Decisions are sampled. Every candidate is tried in a fork of the network, and the delays of all packets are compared.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...simcore import CoreError
from ..evaluation.cells import Cell, Row
from ..evaluation.plan import Trial, plan
from ..evaluation.study import Comparison, Results
from ..evaluation.tables import Panel
from ..metrics import Interval, mean_interval, ratio_interval
from ..results.files import read_columns
from ..terminal.commandline import CommandError
from .measure import REGRETS, check

Columns = Mapping[str, NDArray[Any]]

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
        """See `Comparison`."""
        given, study = self.given, self.study
        if given["workloads"]:
            raise CommandError("workload: the regret is measured under traffic; leave the workload out")
        check(given["regret"])
        trials = plan(self.policies, self.scenarios, study.common, given["loads"], given["seeds"], study.directory)
        return [replace(trial, run=REGRETS.planned(trial.run, given["regret"])) for trial in trials]

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        """See `Comparison`."""
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
        """See `Comparison`."""
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
    """All cells. Those of all decisions precede those of the decisions after each number of hops.

    Args:
        groups: By pattern, load and policy, the columns of each seed's run (`measure.columns_of`).
        confidence: The confidence of the intervals.
    """
    cells = []
    for (pattern, load, policy), runs in groups.items():
        present = sorted({int(hops) for run in runs for hops in np.unique(run["hops"])})
        for hop in (None, *(present if len(present) > 1 else ())):
            chosen = [run if hop is None else _of_hop(run, hop) for run in runs]
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


def _of_hop(run: Columns, hop: int) -> Columns:
    return {key: column[run["hops"] == hop] for key, column in run.items()}


def _stretches(runs: Sequence[Columns], key: str) -> NDArray[np.float64]:
    """The mean of each stretch of time of each run."""
    means = [
        stretch.mean()
        for run in runs
        for stretch in np.array_split(run[key].astype(np.float64), min(_STRETCHES, max(1, len(run[key]) // 2)))
        if stretch.size
    ]
    return np.array(means)
