"""The measure of `flitgym saturate`: the highest load that a network carries, by network, pattern and policy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.cells import Cell, summarise
from ..evaluation.plan import Policy, Scenario, Trial, check_axis, plan
from ..evaluation.study import Measure, Plan, Study, network_text
from ..metrics import Interval, mean_interval
from ..results.copies import count_text, distinct
from ..running.plan import Composers
from ..terminal.commandline import CommandError
from .search import search_of

if TYPE_CHECKING:  # Matplotlib takes long to import
    from ..evaluation.figure import Panel

_SETTINGS = ("precision", "confidence", "max_ns")
_METRICS = {key: key for key in ("saturation_load", "saturation_accepted", "bound", "of_bound")}


class Saturation(Measure):
    """See the module."""

    name, title = "saturation", "Saturation"
    picture = "Highest carried load of every policy and pattern, with its interval and bound"

    def check(self, given: Mapping[str, Any]) -> None:
        """See `Measure`."""
        check_axis("networks", given["networks"])
        if not 0 < given["precision"] < 0.5:
            raise CommandError(f"precision: {given['precision']:g} is not between 0 and 0.5")
        if not 0 < given["max_ns"] < math.inf:
            raise CommandError(f"max_ns: {given['max_ns']:g} is not a time above 0")

    def trials(
        self, given: Mapping[str, Any], study: Study, policies: Sequence[Policy], scenarios: Sequence[Scenario]
    ) -> list[Trial]:
        """See `Measure`. Each network, policy, pattern and seed has its own search."""
        settings, composers = {key: given[key] for key in _SETTINGS}, Composers()
        searches: list[Trial] = []
        for network in given["networks"]:
            common = [f"topology={network}", *study.common]
            trials = plan(policies, scenarios, common, [1.0], given["seeds"], study.directory, composers)
            searches += [search_of(trial, network, settings) for trial in trials]
        return searches

    def cells(
        self, plan: Plan, rows: Sequence[Mapping[str, Any]], results: Mapping[Path, Mapping[str, Any]]
    ) -> list[Cell]:
        """See `Measure`."""
        return cells_of(rows, plan.given["seeds"], plan.reference, plan.given["confidence"])

    def network(self, plan: Plan, results: Mapping[Path, Mapping[str, Any]]) -> str:
        """See `Measure`."""
        found = {t.labels["network"]: results[at] for t in plan.trials if (at := t.run.directory) in results}
        version = next(iter(results.values()))["version"]
        return f"{'; '.join(f'{name}: {network_text(one)}' for name, one in found.items())}. Code {version}."

    def meaning(self, plan: Plan, cells: Sequence[Cell]) -> str:
        """See `Measure`."""
        return meaning(cells, plan.given["precision"], plan.given["confidence"])

    @property
    def panels(self) -> "Mapping[str, Sequence[Panel]]":
        """See `Measure`."""
        from ..evaluation.figure import Panel

        title = "highest carried load\n(flits per terminal per flit time)"
        return {"network": (Panel("saturation_load", title, "pattern", limit="bound"),)}


def cells_of(rows: Sequence[Mapping[str, Any]], seeds: Sequence[int], reference: str, confidence: float) -> list[Cell]:
    """The cells of every network, pattern and policy, in the order of their first rows.

    The interval of a carried load begins at the lower end of the interval of the carried loads, and ends at the upper
    end of that of the refused loads.

    Args:
        rows: One per search, with its labels.
        seeds: The seeds of every search.
        reference: The policy that ratios and differences refer to.
        confidence: The confidence of the intervals.
    """
    points: dict[tuple[str, str], dict[str, dict[int, Mapping[str, Any]]]] = {}
    for row in rows:
        policies = points.setdefault((row["network"], row["scenario"]), {})
        policies.setdefault(row["policy"], {})[row["seed"]] = {**row, "of_bound": _of_bound(row)}
    networks = list(dict.fromkeys(network for network, _ in points))
    cells = []
    for (network, pattern), found in sorted(points.items(), key=lambda item: networks.index(item[0][0])):
        at = {policy: [own.get(seed) for seed in seeds] for policy, own in found.items()}
        # A reference without any search has no values, so there are no ratios.
        known = {reference: [None] * len(seeds)} | at
        for cell in summarise({"network": network, "pattern": pattern}, known, _METRICS, reference, confidence):
            if cell.policy not in at:
                continue
            if cell.metric == "saturation_load":
                cell = replace(cell, mean=_bracket(list(found[cell.policy].values()), confidence))
            cells.append(cell)
    return cells


def meaning(cells: Sequence[Cell], precision: float, confidence: float) -> str:
    """The meaning of the numbers, in sentences."""
    counts = [cell.seeds for cell in cells if cell.metric == "saturation_load"]
    mean = f", mean over {count_text(counts)}" if max(counts) > 1 else ""
    one = "from the carried to the refused load of one search"
    brackets = (
        f"from the lower end of the {100 * confidence:.12g} % interval of the carried loads to the upper end of that "
        f"of the refused loads; without an interval, {one}"
        if max(counts) > 1
        else one
    )
    return (
        "carried load: the highest offered load at which the source queues are stable and the accepted load equals the "
        f"offered one within {100 * precision:g} %{mean}, in flits per terminal per flit time. Intervals: {brackets}. "
        "accepted: the accepted load at the carried load. bound: the highest load that the links can carry, if all "
        "their bandwidth is used."
    )


def _bracket(rows: Sequence[Mapping[str, Any]], confidence: float) -> Interval:
    """The carried load with its interval. Without an interval over seeds, the bracket of a search takes its place."""
    different = distinct(rows)
    carried, refused = ([float(row[name]) for row in different] for name in ("saturation_load", "refused_load"))
    below, above = (mean_interval(loads, confidence) for loads in (carried, refused))
    low = carried[0] if np.isnan(below.low) else below.low
    return Interval(below.value, low, refused[0] if np.isnan(above.high) else above.high)


def _of_bound(row: Mapping[str, Any]) -> float | None:
    return row["saturation_load"] / row["bound"] if row["bound"] else None
