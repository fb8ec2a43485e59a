"""The tables of a benchmark: its scores, its tasks, and the rows of `benchmark.csv`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.cells import Cell
from ..evaluation.oracle import MEANING, NAME
from ..evaluation.tables import Table
from ..metrics import Interval, mean_interval
from ..terminal.tables import MISSING, interval_columns, interval_text
from .measures import SCORED
from .scoring import LEAST_AHEAD, Played, Summary
from .suite import Suite

CANDIDATES = 4  # of the decision whose cost the overview shows
_INCOMPLETE = "†"
_UNSCORED = "‡"
TITLES = {
    **{"below": "below saturation", "above": "above saturation", "jobs": "jobs", "cold_start": "cold start"},
    **{"recovery": "failed link", "changing": "changes", "held_out": "held out", "train": "train"},
    **{"shape": "new shape", "pattern": "new pattern", "family": "new family"},
}
_UNDER_TRAFFIC = ("latency_mean_ns", "latency_p99_ns", "accepted_load")
# By kind of task: the numbers that the tables of tasks show.
_SHOWN = {
    "below": ("score", *_UNDER_TRAFFIC),
    "above": ("score", *_UNDER_TRAFFIC),
    "jobs": ("score", "comm_time_ns", "finish_ns", "latency_mean_ns", "latency_p99_ns"),
    "cold_start": ("score", "latency_first_ns", *_UNDER_TRAFFIC),
    "recovery": ("score", "recovery_ns", *_UNDER_TRAFFIC),
    "changing": ("score", "recovery_ns", *_UNDER_TRAFFIC),
}
_COLUMNS = ("policy", "task", "set", "transfer", "network", "kind", "load", "metric", "scored", "value", "low", "high",
            "runs", "missing")  # fmt: skip


def caption(suite: Suite, tasks: int, played: Sequence[Played], confidence: float) -> str:
    """An explanation of the tables of a suite with the tasks that are played, out of a number of tasks."""
    part = "" if len(suite.tasks) == tasks else f", {len(suite.tasks)} of its {tasks} tasks"
    seeds, copies = len(suite.seeds), sum(one.copies for one in played)
    text = (
        f"{suite.id}{part}, {seeds} seed{'s' * (seeds > 1)}. The scale of the scores is logarithmic: 0 is the "
        f"reference of a task. 1 is the best known policy, or {LEAST_AHEAD:.0%} better than the reference if no policy "
        "is that good. Scores are interquartile means over tasks and seeds."
    )
    text += (
        f" cost: multiplications of a decision among {CANDIDATES} candidates, and bytes of weights, tables and other "
        "state in a router, on the first network that a policy can play."
    )
    if any(one.policy == NAME for one in played):
        text += MEANING
    if seeds == 1:
        return f"{text} One seed gives no intervals."
    text += f" Brackets hold the {100 * confidence:.12g} % interval over seeds (bootstrap, stratified by task)."
    if copies:
        text += f" {copies} runs repeat a run with another seed bit by bit, like the reference's. They count once."
    return text


def score_tables(summaries: Sequence[Summary], costs: Mapping[str, Sequence[str]]) -> list[Table]:
    """The overview with the cost of each policy, and the scores by network and by kind of task.

    If each task has its own network, there are no scores by network.
    """
    table = overview(summaries)
    unknown = (MISSING, MISSING)
    lines = [[*line, *costs.get(one.policy, unknown)] for line, one in zip(table.lines, summaries, strict=True)]
    first = Table(table.title, [*table.heads, "cost, mult.", "bytes"], lines)
    alone = len(summaries[0].by["network"]) == summaries[0].of
    return [first, *(split(summaries, key) for key in ("transfer", "network", "kind") if key != "network" or not alone)]


def overview(summaries: Sequence[Summary]) -> Table:
    """The first table, with a line per policy and without empty columns."""
    columns = {
        "policy": [_name(one) for one in summaries],
        "held out": [interval_text(one.by["set"]["held_out"], "{:.2f}") for one in summaries],
        "within 2 %": [_share(one.within[0]) for one in summaries],
        "within 5 %": [_share(one.within[1]) for one in summaries],
        "worst / best other": [
            MISSING if one.worst is None else f"{one.worst[1]:.2f} in {one.worst[0].name}" for one in summaries
        ],
        "trainings": [
            f"{len(own)}: {min(own):.2f} to {max(own):.2f}" if (own := one.trainings) else MISSING for one in summaries
        ],
        "train": [interval_text(one.by["set"]["train"], "{:.2f}") for one in summaries],
        "tasks": [
            f"{one.played} of {one.of}" + (f", {one.unscored}{_UNSCORED}" if one.unscored else "") for one in summaries
        ],
        "gap closed": [interval_text(one.gap, "{:.2f}") for one in summaries],
        "latency / best known": [
            MISSING if np.isnan(one.latency_to_best) else f"{one.latency_to_best:.3f}" for one in summaries
        ],
    }
    columns = {head: column for head, column in columns.items() if set(column) != {MISSING}}
    return Table("scores", list(columns), [list(line) for line in zip(*columns.values(), strict=True)])


def split(summaries: Sequence[Summary], key: str) -> Table:
    """The scores by `network`, by `kind` of task, or by the `transfer` that a task tests."""
    values = list(summaries[0].by[key])
    lines = [[_name(one), *(interval_text(one.by[key][value], "{:.2f}") for value in values)] for one in summaries]
    titles = {"network": "by network", "kind": "by kind of task", "transfer": "by what is new"}
    return Table(titles[key], ["policy", *(TITLES.get(value, value) for value in values)], lines)


def task_cells(played: Sequence[Played], confidence: float) -> list[Cell]:
    """The cells of the tables of tasks, one table per network and kind."""
    found: dict[str, list[Cell]] = {}
    for one in played:
        task, values = one.task, {"score": one.scores, **one.measures}
        title = f"{task.network}, {TITLES[task.kind]}"
        point = {"network": title, "task": task.id, "set": TITLES[task.transfer]}
        for name in (*_SHOWN[task.kind], *("gap_closed" for _ in [0] if "gap_closed" in values)):
            mean, gaps = mean_interval(values.get(name, one.ahead * np.nan), confidence), _gaps(one, name)
            cell = Cell(one.policy, point, name, mean, seeds=one.ahead.size - gaps, missing=gaps)
            found.setdefault(title, []).append(cell)
    return [cell for cells in found.values() for cell in cells]


def numbers(played: Sequence[Played], summaries: Sequence[Summary], confidence: float) -> list[dict[str, Any]]:
    """The rows of the CSV: one per measure and score of a task, and per aggregate."""
    lines: list[dict[str, Any]] = []
    for one in played:
        task = {
            "task": one.task.id,
            **{key: getattr(one.task, key) for key in ("set", "transfer", "network", "kind", "load")},
        }
        for name, values in {"score": one.scores, **one.measures}.items():
            counts = {"runs": int(np.isfinite(values).sum()), "missing": _gaps(one, name)}
            ends = _ends(mean_interval(values, confidence))
            scored = name == SCORED[one.task.kind][0]
            lines.append({"policy": one.policy, **task, "metric": name, "scored": scored, **ends, **counts})
    for summary in summaries:
        of = {"policy": summary.policy}
        for key, intervals in summary.by.items():
            lines += [{**of, key: which, "metric": "score_iqm", **_ends(own)} for which, own in intervals.items()]
        lines += [{**of, "metric": "gap_closed_iqm", **_ends(own)} for own in [summary.gap] if np.isfinite(own.value)]
        shares = zip(("within_2", "within_5"), summary.within, strict=True)
        for name, value in (("latency_to_best", summary.latency_to_best), *shares):
            lines.append({**of, "metric": name, **_ends(Interval(value, np.nan, np.nan))})
        lines.append({**of, "metric": "tasks_played", "value": summary.played})
        lines.append({**of, "metric": "tasks_unscored", "value": summary.unscored})
    return [dict.fromkeys(_COLUMNS) | line for line in lines]


def footnotes(summaries: Sequence[Summary]) -> list[str]:
    """Explanations of the marks in the tables of scores."""
    notes = []
    if any(not one.complete for one in summaries):
        notes.append(
            f"{_INCOMPLETE} has not played every task. Its scores cover the tasks that it played. It is listed after "
            "the policies that played all."
        )
    if any(one.unscored for one in summaries):
        notes.append(
            f"{_UNSCORED} tasks in which runs have no score, since the reference has no value with their seeds: scores "
            "are of the other runs."
        )
    return notes


def _gaps(one: Played, name: str) -> int:
    """The number of seeds without a value, in which copies have no score."""
    if name == "score":
        return int(np.isnan(one.ahead).sum()) - one.copies
    return int(np.isnan(one.measures[name]).sum()) if name in one.measures else one.ahead.size


def _name(summary: Summary) -> str:
    return summary.policy + ("" if summary.complete else _INCOMPLETE)


def _share(part: float) -> str:
    return MISSING if np.isnan(part) else f"{part:.0%}"


def _ends(interval: Interval) -> Mapping[str, float | None]:
    return interval_columns(interval, "value", "low", "high")
