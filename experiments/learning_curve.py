"""The picture of a training: what it learned from, and how the policy compares with the baselines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .drawing import polish, style_of
from .metrics import running_median
from .results import atomic_path
from .while_training import COMPARED


def draw_learning_curve(
    rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]], stem: Path, agent: str
) -> list[Path]:
    """Draw `progress.jsonl` and the baselines' numbers as PNG and SVG; returns the files."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = agent
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    compared = sorted({key for row in rows for key in row if key.startswith(COMPARED)}, key=_number)
    figure = Figure(figsize=(4.2 * (2 + bool(compared)), 3.4), layout="constrained")
    axes = figure.subplots(1, 2 + bool(compared))
    rounds = np.array([row["round"] for row in rows])
    for ax, key, title in zip(axes, ("reward", "loss"), ("mean reward of a batch, us", "loss"), strict=False):
        values = np.array([np.nan if row.get(key) is None else row[key] for row in rows], dtype=float)
        ax.plot(rounds, values, color="#c9c9c9" if len(values) > 10 else "#0072B2", linewidth=0.8)
        if len(values) > 10:
            ax.plot(rounds, running_median(values, 2 * (len(values) // 40) + 1), color="#0072B2", linewidth=1.6)
        ax.set(xlabel="round", title=title)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        polish(ax)
    if compared:
        # One load (or job), the middle one: several would be several figures.
        _compare(axes[-1], rows, baselines, compared[len(compared) // 2], agent)
    written = []
    for suffix in ("png", "svg"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=160, metadata={"Date": None} if suffix == "svg" else None)
        written.append(path)
    return written


def _number(key: str) -> tuple[float, str]:
    label = key.rsplit("@", 1)[1]
    return (float(label) if label.replace(".", "", 1).isdigit() else 0.0, label)


def _compare(
    ax: Any, rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]], key: str, agent: str
) -> None:
    what, label = key.rsplit("@", 1)
    title = f"mean latency at load {label}, ns" if what == "latency_ns" else f"communication time of {label}, ns"
    measured = [(row["round"], row[key]) for row in rows if row.get(key) is not None]
    ax.plot(*zip(*measured, strict=True), color="#CC79A7", marker="o", label=agent)
    for name, values in baselines.items():
        style = style_of(name)
        ax.axhline(values[key], color=style.color, linestyle="--", linewidth=1.2, label=style.label)
    ax.set(xlabel="round", title=title, ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    polish(ax)
