"""The picture of a training: what it learned from, and how the policy compares with the baselines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .drawing import polish, style_of
from .metrics import running_median
from .results import atomic_path


def draw_learning_curve(
    rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]], stem: Path, agent: str
) -> list[Path]:
    """Draw `progress.jsonl` and the baselines' numbers as PNG and SVG; returns the files."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = agent
    from matplotlib.figure import Figure

    loads = sorted({float(key.rsplit("@", 1)[1]) for row in rows for key in row if key.startswith("latency_ns@")})
    figure = Figure(figsize=(4.2 * (2 + bool(loads)), 3.4), layout="constrained")
    axes = figure.subplots(1, 2 + bool(loads))
    rounds = np.array([row["round"] for row in rows])
    for ax, key, title in zip(axes, ("reward", "loss"), ("mean reward of a batch", "loss"), strict=False):
        values = np.array([np.nan if row.get(key) is None else row[key] for row in rows], dtype=float)
        ax.plot(rounds, values, color="#c9c9c9", linewidth=0.8)
        if len(values) > 10:
            ax.plot(rounds, running_median(values, 2 * (len(values) // 40) + 1), color="#0072B2", linewidth=1.6)
        ax.set(xlabel="round", title=title)
        polish(ax)
    if loads:
        _compare(axes[-1], rows, baselines, loads, agent)
    written = []
    for suffix in ("png", "svg"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=160, metadata={"Date": None} if suffix == "svg" else None)
        written.append(path)
    return written


def _compare(
    ax: Any,
    rows: Sequence[Mapping[str, Any]],
    baselines: Mapping[str, Mapping[str, float]],
    loads: list[float],
    agent: str,
) -> None:
    # One load, the middle one: several would be several figures.
    key = f"latency_ns@{loads[len(loads) // 2]:g}"
    measured = [(row["round"], row[key]) for row in rows if row.get(key) is not None]
    ax.plot(*zip(*measured, strict=True), color="#CC79A7", marker="o", label=agent)
    for name, values in baselines.items():
        style = style_of(name)
        ax.axhline(values[key], color=style.color, linestyle="--", linewidth=1.2, label=style.label)
    ax.set(xlabel="round", title=f"mean latency at load {loads[len(loads) // 2]:g}, ns", ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    polish(ax)
