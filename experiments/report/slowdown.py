"""The slowdown of jobs by other jobs: the communication time of a pair's target over that of the target alone."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from ..plotting.drawing import routing_order
from ..results.copies import distinct
from .runs import NOTHING, Run, Settings

Cell = dict[str, Any]  # of a coloured table: its kind, text, note and colours
# The runs of a target with a background that differ only in the seed, and the slowdowns of the finished ones without
# seeds whose final state equals that of another one.
Counted = tuple[list[Run], list[float]]


def slowdowns(runs: Sequence[Run]) -> dict[int, float]:
    """The slowdown of each finished pair, by the index of the run.

    The pair and the run of the target alone differ only in the background. Keys for the end of a run and its files are
    ignored.
    """
    finished = {i: run for i, run in enumerate(runs) if run.is_pair and run.finished}
    alone = {_alone(run): _time(run) for run in finished.values() if run.row["workload.background"] == "none"}
    return {i: _time(run) / alone[_alone(run)] for i, run in finished.items() if alone.get(_alone(run))}


def _alone(run: Run) -> tuple[Any, ...]:
    return run.setting("target"), run.row["seed"]


def _time(run: Run) -> float:
    return float(run.jobs[run.row["workload.target"]]["comm_time_mean_ns"])


def matrices(runs: Sequence[Run], settings: Settings, ratio: Mapping[int, float]) -> list[dict[str, Any]]:
    """Slowdown of every target (row) with every background (column), one matrix per setting and routing.

    A cell has the mean over seeds, a colour, and a note with the number of seeds. A pair that cannot be compared has no
    cell. `settings` are the labels of the configurations, and `ratio` is the result of `slowdowns`.
    """
    places: dict[tuple[Any, ...], dict[tuple[str, str], list[int]]] = {}
    for i, run in enumerate(runs):
        if run.is_pair and run.row["workload.background"] != "none" and (i in ratio or not run.finished):
            key = settings.text(run), run.row["routing"], run.setting()
            pair = settings.job(run, "target"), settings.job(run, "background")
            places.setdefault(key, {}).setdefault(pair, []).append(i)
    order = routing_order(routing for _, routing, _ in places)
    keys = sorted(places, key=lambda key: (key[0], order.index(key[1]), str(sorted(key[2], key=str))))
    cells = {key: {pair: _counted(own, runs, ratio) for pair, own in places[key].items()} for key in keys}
    means = [float(np.mean(found)) for of_key in cells.values() for _, found in of_key.values() if found]
    most = max([1.25, *means, *(1 / mean for mean in means)])
    several = len({text for text, _, _ in keys}) > 1
    out = []
    for (text, routing, _), found in cells.items():
        targets, backgrounds = (list(dict.fromkeys(pair[side] for pair in found)) for side in (0, 1))
        lines = [(target, [_shown(found.get((target, other)), most) for other in backgrounds]) for target in targets]
        name = f"{routing} · {text}" if several else routing
        out.append({"name": name, "routing": routing, "backgrounds": backgrounds, "lines": lines})
    return out


def _counted(own: Sequence[int], runs: Sequence[Run], ratio: Mapping[int, float]) -> Counted:
    # One run per seed, because runs of one seed in a cell differ only in keys that do not affect results.
    seeds = {runs[i].row["seed"]: i for i in reversed(own) if runs[i].finished}
    once = distinct([{**runs[i].row, "index": i} for i in reversed(seeds.values())])
    return [runs[i] for i in own], [ratio[row["index"]] for row in once]


def coloured(scale: str, at: float) -> Cell:
    """The colours of a cell by one of Matplotlib's scales at a place from 0 to 1; its text is readable."""
    red, green, blue, _ = colour = colormaps[scale](at)
    dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
    return {"kind": "", "colour": to_hex(colour), "ink": "#fff" if dark else "#111"}


def _shown(cell: Counted | None, most: float) -> Cell:
    if cell is None:
        return {"kind": "none", "text": NOTHING, "note": "not run"}
    runs, ratios = cell
    if not ratios:
        return {"kind": "open", "text": "not finished", "note": "no run of this pair finished"}
    mean, counted = float(np.mean(ratios)), len(ratios)
    finished = {run.row["seed"] for run in runs if run.finished}
    open_seeds = len({run.row["seed"] for run in runs} - finished)
    apart = next((run.apart for run in runs if run.finished and run.apart), "")
    ends = f", {min(ratios):.3f} to {max(ratios):.3f}" if counted > 1 else ""
    alike = len(finished) - counted
    notes = [
        f"{mean:.4f}",
        f"{counted} run{'s' * (counted > 1)}{ends}",
        f"{alike} with other seeds but an identical final state are not counted" if alike else "",
        f"{open_seeds} more did not finish" if open_seeds else "",
        apart,
    ]
    return coloured("PuOr_r", 0.5 + 0.5 * log(mean) / log(most)) | {
        "value": mean,
        "note": "; ".join(filter(None, notes)),
        "text": f"{mean:.2f}{'*' * bool(open_seeds)}{'†' * bool(apart)}",
    }
