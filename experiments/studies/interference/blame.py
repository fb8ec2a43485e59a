"""Delays between jobs: per packet of a victim, the time that it waited because of each culprit's packets."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...plotting.drawing import Row, paper_style, routings
from ...plotting.jobs import MIXED, backgrounds, job_title, targets
from .runs import DETAIL, background_job, mixed, pair

_KINDS = (("wait", "waiting for the link"), ("stall", "stalls (no credits)"))
_COLORS = "YlOrRd"
_LEAST_NS = 1.0


def blame_of(runs: Sequence[Row], victim: str, culprit: str, kind: str) -> list[float]:
    """The delay by a culprit in ns per packet of the victim, [placements]; NaN if the victim sent no packet."""
    found = []
    for run in runs:
        jobs = list(run["blame.jobs"])
        value = run[f"blame.{kind}_ns_per_packet"][jobs.index(victim)][jobs.index(culprit)]
        found.append(np.nan if value is None else float(value))
    return found


def pairs(rows: Sequence[Row]) -> Figure:
    """The delays of each target by each background, and by the target itself in the same runs.

    Small numbers are the lowest and the highest placement.

    Raises:
        ValueError: a pair has no row.
    """
    others, victims = backgrounds(rows)[1:], targets(rows)
    figure = Figure(figsize=(13, 9), layout="constrained")
    axes = figure.subplots(len(DETAIL), 4)
    matrices = {}
    for r, name in enumerate(DETAIL):
        for k, (kind, _) in enumerate(_KINDS):
            for c, of_background in enumerate((True, False)):
                matrices[r, 2 * k + c] = np.array(
                    [
                        [_of_pair(rows, target, other, name, kind, of_background) for other in others]
                        for target in victims
                    ]
                )
    scale = _scale(list(matrices.values()))
    for (r, c), values in matrices.items():
        ax = axes[r, c]
        _matrix(ax, values, scale, ends=True)
        ax.set_xticks(range(len(others)), [job_title(other) for other in others], rotation=40, ha="right")
        ax.set_yticks(range(len(victims)), [job_title(target) for target in victims] if c == 0 else [])
        culprit = "by the background" if c % 2 == 0 else "by the target itself"
        ax.set_title(f"{_KINDS[c // 2][1]}\n{culprit}", fontsize=10)
        if c == 0:
            ax.set_ylabel(paper_style(DETAIL[r]).label, fontweight="bold", fontsize=12)
        if r == len(DETAIL) - 1:
            ax.set_xlabel("background")
    figure.colorbar(ScalarMappable(scale, _COLORS), ax=axes, label="ns per packet of the target", shrink=0.6, pad=0.01)
    return figure


def jobs(rows: Sequence[Row]) -> Figure:
    """The blame matrix of the mixed workload under every routing, with a row per victim and a column per culprit.

    Raises:
        ValueError: a routing has no row.
    """
    names = routings(rows)
    figure = Figure(figsize=(14, 7.6), layout="constrained")
    axes = figure.subplots(len(_KINDS), len(names), squeeze=False)
    matrices = {
        (r, c): np.array([[blame_of(mixed(rows, name), v, u, kind) for u in MIXED] for v in MIXED])
        for r, (kind, _) in enumerate(_KINDS)
        for c, name in enumerate(names)
    }
    scale = _scale(list(matrices.values()))
    for (r, c), values in matrices.items():
        ax = axes[r, c]
        _matrix(ax, values, scale)
        last = r == len(_KINDS) - 1
        ax.set_xticks(range(len(MIXED)), [job_title(job) for job in MIXED] if last else [], rotation=40, ha="right")
        ax.set_yticks(range(len(MIXED)), [job_title(job) for job in MIXED] if c == 0 else [])
        if r == 0:
            ax.set_title(paper_style(names[c]).label, fontweight="bold")
        if c == 0:
            ax.set_ylabel(f"{_KINDS[r][1]}\nvictim")
        if last:
            ax.set_xlabel("culprit")
    figure.colorbar(ScalarMappable(scale, _COLORS), ax=axes, label="ns per packet of the victim", shrink=0.7, pad=0.01)
    return figure


def _of_pair(rows: Sequence[Row], target: str, other: str, name: str, kind: str, of_background: bool) -> list[float]:
    culprit = background_job(target, other) if of_background else target
    return blame_of(pair(rows, target, other, name), target, culprit, kind)


def _scale(matrices: Sequence[NDArray[np.float64]]) -> LogNorm:
    highest = max(float(np.nanmax(values.mean(axis=2), initial=0)) for values in matrices)
    return LogNorm(_LEAST_NS, max(highest, 10 * _LEAST_NS), clip=True)


def _matrix(ax: Axes, delays: NDArray[np.float64], scale: LogNorm, ends: bool = False) -> None:
    """Draw the means of [victims, culprits, placements]; `ends` also writes the lowest and the highest placement."""
    values = delays.mean(axis=2)
    ax.imshow(values, cmap=_COLORS, norm=scale, aspect="auto")
    ax.grid(False)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if float(scale(max(value, _LEAST_NS))) > 0.6 else "#222222"
            both = ends and delays.shape[2] > 1
            ax.text(x, y - 0.15 * both, _text(value), ha="center", va="center", fontsize=8, color=color)
            if both:
                small = f"{_text(delays[y, x].min())} to {_text(delays[y, x].max())}"
                ax.text(x, y + 0.25, small, ha="center", va="center", fontsize=6, color=color)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
