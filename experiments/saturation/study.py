"""The measure of `flitgym saturate`: the highest load that a network carries, by network, pattern and policy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..evaluation.cells import Cell, Measured, Row
from ..evaluation.plan import Trial, plan
from ..evaluation.study import Comparison, Results
from ..evaluation.tables import Panel
from ..metrics import Interval, mean_interval
from ..results.copies import count_text, distinct
from ..terminal.commandline import CommandError
from .search import SATURATIONS

_FLITS = "flits per terminal per flit time"
_METRICS = {key: key for key in ("saturation_load", "saturation_accepted", "bound", "of_bound")}


class Saturation(Comparison):
    """See the module."""

    name, title = "saturation", "Saturation"
    picture = "Highest carried load of every policy and pattern, with its interval and bound"
    panels: ClassVar[Mapping[str, Sequence[Panel]]] = {
        "network": (Panel("saturation_load", f"highest carried load\n({_FLITS})", "pattern", limit="bound"),)
    }

    def planned(self) -> list[Trial]:
        """See `Comparison`. Each network, policy, pattern and seed has its own search."""
        given, study = self.given, self.study
        if not 0 < given["precision"] < 0.5:
            raise CommandError(f"precision: {given['precision']:g} is not between 0 and 0.5")
        if not 0 < given["max_ns"] < math.inf:
            raise CommandError(f"max_ns: {given['max_ns']:g} is not a time above 0")
        searches: list[Trial] = []
        for network in given["networks"]:
            common = [f"topology={network}", *study.common]
            axes = ([1.0], given["seeds"], study.directory)
            trials = plan(self.policies, self.scenarios, common, *axes)
            settings = {key: given[key] for key in ("precision", "confidence", "max_ns")}
            for trial in trials:  # a search replaces the simulation
                run = SATURATIONS.planned(trial.run, settings)
                searches.append(replace(trial, run=run, marks={"network": network}))
        return searches

    def cells(self, rows: Sequence[Row], results: Results) -> list[Cell]:
        return with_brackets(self.compared(rows, points_of), rows, self.given["confidence"])

    def meaning(self, cells: Sequence[Cell]) -> str:
        counts = [cell.seeds for cell in cells if cell.metric == "saturation_load" and cell.seeds]
        mean = f", mean over {count_text(counts)}" if max(counts) > 1 else ""
        precision, confidence = 100 * self.given["precision"], 100 * self.given["confidence"]
        brackets = "from the carried to the refused load of one search"
        if max(counts) > 1:
            brackets = (
                f"from the lower end of the {confidence:.12g} % interval of the carried loads to the "
                f"upper end of that of the refused loads; without an interval, {brackets}"
            )
        return (
            "carried load: the highest offered load at which the source queues are stable and the accepted load equals "
            f"the offered one within {precision:g} %{mean}, in {_FLITS}. Intervals: {brackets}. "
            "accepted: the accepted load at the carried load. bound: the highest load that the links can carry, if all "
            "their bandwidth is used."
        )


def points_of(row: Row) -> Iterator[Measured]:
    """The network and the pattern of a search."""
    of_bound = row["saturation_load"] / row["bound"] if row["bound"] else None
    yield {"network": row["network"], "pattern": row["scenario"]}, {**row, "of_bound": of_bound}, _METRICS


def with_brackets(cells: Sequence[Cell], rows: Sequence[Row], confidence: float) -> list[Cell]:
    """The cells with the intervals of carried loads.

    An interval begins at the lower end of the interval of the carried loads, and ends at the upper end of that of the
    refused loads. Without an interval over seeds, the bracket of a search takes its place.
    """
    bracketed = []
    for cell in cells:
        keys = (*cell.point.values(), cell.policy)
        own = distinct(row for row in rows if (row["network"], row["scenario"], row["policy"]) == keys)
        if own and cell.metric == "saturation_load":
            carried, refused = ([float(row[key]) for row in own] for key in ("saturation_load", "refused_load"))
            below, above = (mean_interval(loads, confidence) for loads in (carried, refused))
            low = carried[0] if np.isnan(below.low) else below.low
            mean = Interval(below.value, low, refused[0] if np.isnan(above.high) else above.high)
            cell = replace(cell, mean=mean)
        bracketed.append(cell)
    return bracketed
