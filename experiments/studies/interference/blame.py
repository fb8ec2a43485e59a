"""Delays between jobs: per packet of a victim, the time that it waited because of each culprit's packets."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...plotting.drawing import Row, paper_style
from ..delays import draw_delays
from .runs import DETAIL, MIXED, Jobs, background_job, job_title

_KINDS = {"wait": "waiting for the link", "stall": "stalls (no credits)"}


def blame_of(runs: Sequence[Row], victim: str, culprit: str, kind: str) -> list[float]:
    """The delay by a culprit in ns per packet of the victim, [placements]; NaN if the victim sent no packet."""
    found = []
    for run in runs:
        jobs = list(run["blame.jobs"])
        value = run[f"blame.{kind}_ns_per_packet"][jobs.index(victim)][jobs.index(culprit)]
        found.append(np.nan if value is None else float(value))
    return found


def pairs(jobs: Jobs) -> Figure:
    """The delays of each target by each background, and by the target itself in the same runs.

    Small numbers are the lowest and the highest placement.
    """

    def delays(name: str, kind: str, by_background: bool) -> NDArray[np.float64]:
        def of(target: str, other: str) -> list[float]:
            culprit = background_job(target, other) if by_background else target
            return blame_of(jobs.pair(target, other, name), target, culprit, kind)

        return np.array([[of(target, other) for other in jobs.backgrounds] for target in jobs.targets])

    figure = Figure(figsize=(13, 9), layout="constrained")
    axes = figure.subplots(len(DETAIL), 4)
    found = {}
    for (r, c), ax in np.ndenumerate(axes):
        kind = list(_KINDS)[c // 2]
        found[ax] = delays(DETAIL[r], kind, c % 2 == 0)
        ax.set_xticks(range(len(jobs.backgrounds)), map(job_title, jobs.backgrounds), rotation=40, ha="right")
        ax.set_yticks(range(len(jobs.targets)), map(job_title, jobs.targets) if c == 0 else [])
        ax.set_title(f"{_KINDS[kind]}\nby the {'target itself' if c % 2 else 'background'}", fontsize=10)
    for ax, name in zip(axes[:, 0], DETAIL, strict=True):
        ax.set_ylabel(paper_style(name).label, fontweight="bold", fontsize=12)
    for ax in axes[-1]:
        ax.set_xlabel("background")
    draw_delays(figure, found, "ns per packet of the target", ends=True, shrink=0.6, pad=0.01)
    return figure


def mixed(jobs: Jobs) -> Figure:
    """The blame matrix of the mixed workload under every routing, with a row per victim and a column per culprit."""
    figure = Figure(figsize=(14, 7.6), layout="constrained")
    axes = figure.subplots(len(_KINDS), len(jobs.names), squeeze=False)
    titles, found = list(map(job_title, MIXED)), {}
    for (r, c), ax in np.ndenumerate(axes):
        runs, kind = jobs.mixed(jobs.names[c]), list(_KINDS)[r]
        found[ax] = np.array([[blame_of(runs, victim, culprit, kind) for culprit in MIXED] for victim in MIXED])
        last = r == len(_KINDS) - 1
        ax.set_xticks(range(len(MIXED)), titles if last else [], rotation=40, ha="right")
        ax.set_yticks(range(len(MIXED)), titles if c == 0 else [])
    for ax, name in zip(axes[0], jobs.names, strict=True):
        ax.set_title(paper_style(name).label, fontweight="bold")
    for ax, kind in zip(axes[:, 0], _KINDS.values(), strict=True):
        ax.set_ylabel(f"{kind}\nvictim")
    for ax in axes[-1]:
        ax.set_xlabel("culprit")
    draw_delays(figure, found, "ns per packet of the victim", shrink=0.7, pad=0.01)
    return figure
