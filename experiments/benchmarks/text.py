"""The tables of a benchmark: on the terminal, in `benchmark.md`, in `docs/benchmarks` and in `benchmark.csv`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..metrics import Interval, mean_interval
from ..terminal.tables import (
    MISSING,
    failed,
    interval_columns,
    interval_text,
    markdown_table,
    terminal_table,
    write_csv,
)
from .measures import SCORED
from .scoring import LEAST_AHEAD, Cell, Summary, Values
from .suite import Task

_INCOMPLETE = "†"
_UNSCORED = "‡"
_KINDS = {
    "below": "below saturation",
    "above": "above saturation",
    "jobs": "jobs",
    "cold_start": "cold start",
    "recovery": "failed link",
    "changing": "changes",
}
_SETS = {"held_out": "held out", "train": "train"}
# By measure: title, factor from its unit, format.
_COLUMNS = {
    "latency_mean_ns": ("latency, ns", 1.0, "{:,.0f}"),
    "latency_p99_ns": ("p99, ns", 1.0, "{:,.0f}"),
    "accepted_load": ("accepted", 1.0, "{:.3f}"),
    "comm_time_ns": ("comm., us", 1e-3, "{:,.1f}"),
    "finish_ns": ("finish, us", 1e-3, "{:,.1f}"),
    "latency_first_ns": ("first 10 us, ns", 1.0, "{:,.0f}"),
    "recovery_ns": ("back within, us", 1e-3, "{:.1f}"),
}
# By kind of task: the measures that the tables of tasks show.
_SHOWN = {
    "below": ("latency_mean_ns", "latency_p99_ns", "accepted_load"),
    "above": ("latency_mean_ns", "latency_p99_ns", "accepted_load"),
    "jobs": ("comm_time_ns", "finish_ns", "latency_mean_ns", "latency_p99_ns"),
    "cold_start": ("latency_first_ns", "latency_mean_ns", "latency_p99_ns", "accepted_load"),
    "recovery": ("recovery_ns", "latency_mean_ns", "latency_p99_ns", "accepted_load"),
    "changing": ("recovery_ns", "latency_mean_ns", "latency_p99_ns", "accepted_load"),
}

Lines = list[list[str]]


@dataclass(frozen=True)
class About:
    """The facts that the text around the tables mentions."""

    suite: str  # with its version
    about: str
    command: str
    version: str  # of the core
    tasks: int
    all_tasks: int
    seeds: int
    confidence: float
    notes: Sequence[str]  # about the recorded results
    copies: int = 0  # runs that count as one with another seed

    @property
    def caption(self) -> str:
        """An explanation of the tables."""
        part = "" if self.tasks == self.all_tasks else f", {self.tasks} of its {self.all_tasks} tasks"
        text = (
            f"{self.suite}{part}, {self.seeds} seed{'s' * (self.seeds > 1)}. The scale of the scores is logarithmic: 0 "
            f"is the reference of a task. 1 is the best known policy, or {LEAST_AHEAD:.0%} better than the reference "
            f"if no policy is that good. Scores are interquartile means over tasks and seeds."
        )
        if self.seeds == 1:
            return f"{text} One seed gives no intervals."
        text += (
            f" Brackets hold the {100 * self.confidence:.12g} % interval over seeds (bootstrap, stratified by task)."
        )
        if self.copies:
            text += (
                f" {self.copies} runs repeat a run with another seed bit by bit, like the reference's. They count once."
            )
        return text


def overview(summaries: Sequence[Summary]) -> tuple[list[str], Lines]:
    """Headings and lines of the first table, with a line per policy."""
    heads = [
        *("policy", *_SETS.values(), "tasks", "lowest score"),
        *("latency / reference", "/ best known", "worst / best known", "/ best recorded other"),
    ]
    lines = []
    for summary in summaries:
        lines.append(
            [
                _name(summary),
                *(interval_text(summary.by_set[which], "{:.2f}") for which in ("held_out", "train")),
                f"{summary.played} of {summary.of}" + (f", {summary.unscored}{_UNSCORED}" if summary.unscored else ""),
                _at(summary.worst),
                _number(summary.latency_to_reference, "{:.3f}"),
                _number(summary.latency_to_best, "{:.3f}"),
                _at(summary.worst_to_best),
                _number(summary.latency_to_others, "{:.3f}"),
            ]
        )
    return heads, lines


def by_network(summaries: Sequence[Summary]) -> tuple[list[str], Lines]:
    """Scores per network."""
    return _split(summaries, lambda summary: summary.by_network, str)


def by_kind(summaries: Sequence[Summary]) -> tuple[list[str], Lines]:
    """Scores per kind of task."""
    return _split(summaries, lambda summary: summary.by_kind, lambda kind: _KINDS[kind])


def of_tasks(cells: Sequence[Cell], confidence: float) -> Iterable[tuple[str, list[str], Lines]]:
    """Title, headings and lines of the tables of tasks, one per network and kind."""
    for network, kind in dict.fromkeys((cell.task.network, cell.task.kind) for cell in cells):
        own = [cell for cell in cells if (cell.task.network, cell.task.kind) == (network, kind)]
        shown = _SHOWN[kind]
        heads = ["task", "set", "policy", "score", *(_COLUMNS[name][0] for name in shown)]
        lines = []
        for cell in own:
            numbers = []
            for name in shown:
                _, factor, form = _COLUMNS[name]
                values = cell.measures.get(name)
                numbers.append(MISSING if values is None else _number(_mean(values) * factor, form))
            mean = mean_interval(cell.scores, confidence)
            fewer = _INCOMPLETE if cell.missing else ""
            scored = interval_text(mean, "{:.2f}") + (_UNSCORED if cell.unscored else "")
            lines.append([cell.task.id, _SETS[cell.task.set], cell.policy + fewer, scored, *numbers])
        yield f"{network}, {_KINDS[kind]}", heads, lines


def print_tables(console: Any, summaries: Sequence[Summary], about: About) -> None:
    """Print the overview, and the scores per network and kind.

    Args:
        console: A console of Rich.
        summaries: All summaries.
        about: The facts for the caption.
    """
    tables = {"scores": overview, "by network": by_network, "by kind of task": by_kind}
    for title, make in tables.items():
        heads, lines = make(summaries)
        table = terminal_table(heads, left=heads[:1], title=title)
        for line in lines:
            table.add_row(*line)
        console.print(table)
    for note in _footnotes(summaries):
        console.print(note)
    console.print(about.caption)


def standing(summaries: Sequence[Summary]) -> str:
    """The three tables of scores as Markdown, for `benchmark.md`."""
    parts = [_markdown(*overview(summaries))]
    parts += [note + "\n" for note in _footnotes(summaries)]
    parts += [f"By network:\n\n{_markdown(*by_network(summaries))}"]
    parts += [f"By kind of task:\n\n{_markdown(*by_kind(summaries))}"]
    return "\n".join(parts)


def markdown(
    cells: Sequence[Cell],
    summaries: Sequence[Summary],
    about: About,
    figure: str,
    failures: Sequence[str],
) -> str:
    """The page `benchmark.md`: the command, notes, failures, the figure and every table."""
    parts = [f"# Benchmark {about.suite}\n\n    {about.command}\n", f"{about.about}\n\nCode {about.version}.\n"]
    if about.notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in about.notes) + "\n")
    parts += [
        *failed(failures),
        f"## Scores\n\n{about.caption}\n",
        standing(summaries),
        f"![Scores and performance profiles]({figure})\n",
    ]
    for title, heads, lines in of_tasks(cells, about.confidence):
        parts.append(f"## {title}\n\n{_markdown(heads, lines)}")
    return "\n".join(parts)


def write_numbers(path: Path, cells: Sequence[Cell], summaries: Sequence[Summary], confidence: float) -> None:
    """Write the CSV: a line per measure and score of a task, and per aggregate. A missing number is an empty field."""
    lines = []
    for cell in cells:
        of_cell = {"policy": cell.policy, **_columns_of(cell.task)}
        for name, values in {"score": cell.scores, **cell.measures}.items():
            interval = mean_interval(values, confidence)
            found = int(np.isfinite(values).sum())
            scored = name == SCORED[cell.task.kind][0]
            lines.append(
                {**of_cell, "metric": name, "scored": scored, **_ends(interval), "runs": found,
                 "missing": values.size - found - (cell.copies if name == "score" else 0)}
            )  # fmt: skip
    for summary in summaries:
        split: dict[str, Mapping[Any, Interval]] = {
            "set": summary.by_set, "network": summary.by_network, "kind": summary.by_kind
        }  # fmt: skip
        for key, intervals in split.items():
            for which, interval in intervals.items():
                lines.append({"policy": summary.policy, key: which, "metric": "score_iqm", **_ends(interval)})
        for name in ("latency_to_reference", "latency_to_best", "latency_to_others"):
            value = getattr(summary, name)
            lines.append({"policy": summary.policy, "metric": name, "value": None if np.isnan(value) else value})
        lines.append({"policy": summary.policy, "metric": "tasks_played", "value": summary.played})
        lines.append({"policy": summary.policy, "metric": "tasks_unscored", "value": summary.unscored})
    columns = ("policy", "task", "set", "network", "kind", "load", "metric", "scored", "value", "low", "high")
    write_csv(path, lines, (*columns, "runs", "missing"))


def _columns_of(task: Task) -> dict[str, Any]:
    return {"task": task.id, "set": task.set, "network": task.network, "kind": task.kind, "load": task.load}


def _split(
    summaries: Sequence[Summary], of: Callable[[Summary], Mapping[Any, Interval]], title: Callable[[Any], str]
) -> tuple[list[str], Lines]:
    keys = list(of(summaries[0]))
    lines = [[_name(s), *(interval_text(of(s)[key], "{:.2f}") for key in keys)] for s in summaries]
    return ["policy", *map(title, keys)], lines


def _name(summary: Summary) -> str:
    return summary.policy + ("" if summary.complete else _INCOMPLETE)


def _at(of: tuple[Task, float] | None) -> str:
    return MISSING if of is None else f"{of[1]:.2f} in {of[0].name}"


def _mean(values: Values) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def _number(value: float, form: str) -> str:
    return MISSING if np.isnan(value) else form.format(value)


def _ends(interval: Interval) -> dict[str, float | None]:
    return interval_columns(interval, "value", "low", "high")


def _markdown(heads: Sequence[str], lines: Lines) -> str:
    return markdown_table(heads, lines, left=("policy", "task", "set"))


def _footnotes(summaries: Sequence[Summary]) -> list[str]:
    notes = []
    if any(not summary.complete for summary in summaries):
        notes.append(
            f"{_INCOMPLETE} has not played every task. Its scores cover the tasks that it played. It is listed after "
            "the policies that played all."
        )
    if any(summary.unscored for summary in summaries):
        notes.append(
            f"{_UNSCORED} tasks in which runs have no score, since the reference has no value with their seeds: scores "
            "are of the other runs."
        )
    return notes
