"""A comparison in Markdown and in sentences."""

from collections.abc import Sequence

import numpy as np

from ..plotting.words import axis_label
from ..terminal.commandline import some
from ..terminal.tables import escaped, markdown_table
from .pairs import EQUAL, EXCEEDS, NO_SEED, NO_SPREAD, WITHIN, Comparison, Difference

_NOTE = (
    "Differences are second - first, with 95 % intervals over paired seeds and the p values of Student's paired t "
    "test. A difference exceeds noise if its interval excludes 0. One in twenty does so by chance."
)
_COUNTED = {
    EXCEEDS: "beyond noise",
    WITHIN: "within noise",
    EQUAL: "equal",
    NO_SPREAD: "with one run or no variation, and no interval",
    NO_SEED: "with no seed in common",
}
_UNIT = " (flits per terminal per flit time)"  # of loads, too long for a table
_LEAST_P = 0.001  # a smaller p value is not written as a number


def sentences(found: Comparison, names: Sequence[str]) -> list[str]:
    """A sentence per pair and result, with the effect, its interval and the test; `names` are those of both sides."""
    lines = []
    for pair in found.pairs:
        where = f"{pair.name}: " if pair.name else ""
        if pair.identical:
            lines.append(f"{where}{names[1]} and {names[0]} are identical, bit by bit.")
        for one in () if pair.identical else pair.differences:
            label, first, second, change, interval, *_ = _cells(one)
            text = f"{where}{label}: {second} with {names[1]}, {first} with {names[0]}: {change}"
            if np.isfinite(one.test.p):
                p = f"p = {one.test.p:.2g}" if one.test.p >= _LEAST_P else f"p < {_LEAST_P:g}"
                test = f"paired t({one.test.freedom}) = {one.test.t:.2f}, {p}"
                text += f", 95 % interval {interval}, {test}, {len(pair.seeds)} pairs of runs"
            else:
                text += f" ({one.verdict})"
            lines.append(f"{text}.")
    return lines


def remarks(found: Comparison, names: Sequence[str]) -> list[str]:
    """The meaning of the differences, the saturated runs, and the runs without a partner; arguments of `sentences`."""
    lines = [_NOTE] if any(np.isfinite(one.change.low) for pair in found.pairs for one in pair.differences) else []
    saturated = [pair.name or "all" for pair in found.pairs if pair.saturated and not pair.identical]
    if saturated:
        sides = f"in {names[0]} or {names[1]}"
        lines.append(f"Saturated {sides}, so that latencies depend on the window: {some(saturated, between='; ')}")
    alone = zip(names, found.alone, strict=True)
    return lines + [f"Only in {name}: {some(runs, between='; ')}" for name, runs in alone if runs]


def results_of(found: Comparison, names: Sequence[str]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """The headings, and a line per pair and result."""
    results = []
    for pair in found.pairs:
        head = (pair.name or "all", str(len(pair.seeds)))
        if pair.identical:
            results.append((*head, "all results", *[""] * 5, "identical, bit by bit"))
        else:
            results += [(*head, *_cells(one)) for one in pair.differences]
    return ("runs", "seeds", "result", *names, "difference", "95 % interval", "p", "verdict"), results


def markdown(found: Comparison, names: Sequence[str]) -> str:
    """The whole comparison as a Markdown page: the keys that differ, and a line per pair and result."""
    identical = sum(pair.identical for pair in found.pairs)
    verdicts = [one.verdict for pair in found.pairs if not pair.identical for one in pair.differences]
    counted = [f"{verdicts.count(verdict)} {words}" for verdict, words in _COUNTED.items() if verdict in verdicts]
    counts = [
        f"{len(found.pairs)} pair{'s' if len(found.pairs) != 1 else ''} of runs",
        f"{identical} identical, bit by bit" if identical else "",
        f"{len(verdicts)} results: {', '.join(counted)}" if verdicts else "",
    ]
    parts = [f"# {escaped(names[0])} and {escaped(names[1])}\n", f"{'; '.join(filter(None, counts))}.\n"]
    settings = [(key, *values) for key, values in found.settings.items()]
    heads, results = results_of(found, names)
    for title, columns, lines in (("Configuration", ("key", *names), settings), ("Results", heads, results)):
        if lines:
            parts.append(f"## {title}\n\n{markdown_table(columns, lines, left=columns)}")
    return "\n".join([*parts, *(f"{escaped(line)}\n" for line in remarks(found, names))])


def _cells(one: Difference) -> tuple[str, ...]:
    interval = f"{_signed(one.change.low)} to {_signed(one.change.high)}" if np.isfinite(one.change.low) else "-"
    part = f" ({_signed(100 * one.change.value / abs(one.first))} %)" if one.first and one.verdict != EQUAL else ""
    label = axis_label(one.column).removesuffix(_UNIT)
    p = f"{one.test.p:.2g}" if np.isfinite(one.test.p) else "-"
    change = _signed(one.change.value) + part
    return label, _number(one.first), _number(one.second), change, interval, p, one.verdict


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{value:+,.1f}" if abs(value) >= 100 else f"{value:+.3g}"
