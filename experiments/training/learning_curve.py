"""The picture of a training: reward and loss, and the policy compared with the baselines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ...simcore._files import atomic_path
from ..metrics import mean_interval, running_median
from ..plotting.drawing import FURTHER_COLORS, FURTHER_MARKERS, polish, save_figure, style_of
from .comparison import COMPARED

if TYPE_CHECKING:
    from .group import Group

_MOST_GROUPS = 10  # groups with distinct styles in a figure
_POINTS = 100  # of a curve
_WORLD = ("topology.", "router.", "traffic.", "workload.", "failures.", "worlds")
_FEW = 12  # points that have markers


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
        # The panel has room for one load or job, so it shows the middle one.
        _compare(axes[-1], rows, baselines, compared[len(compared) // 2], agent)
    written = []
    for suffix in ("png", "svg"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=160, metadata={"Date": None} if suffix == "svg" else None)
        written.append(path)
    return written


def draw_study(groups: Sequence["Group"], stem: Path) -> list[Path]:
    """Draw the learning curves of trainings: means over seeds with 95 % intervals; returns the files.

    Args:
        groups: Groups of trainings, the best first. Only the first ten are drawn.
        stem: The files' path without a suffix.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    shown = groups[:_MOST_GROUPS]
    rows = [entry for group in shown for entry in group.rows]
    prefixes = tuple(f"progress.{word}" for word in COMPARED)
    compared = sorted({key for entry in rows for key in entry if key.startswith(prefixes)}, key=_number)[:3]
    panels = ["progress.reward", "progress.loss", *compared]
    figure = Figure(figsize=(4.2 * len(panels), 3.9), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, key in zip(axes, panels, strict=True):
        for k, group in enumerate(shown):
            rounds, values = _curves(group, key)
            if len(rounds):
                ends = np.array([mean_interval(column) for column in values.T])
                color, line, marker = _look(k)
                marker = marker if len(rounds) <= _FEW else ""
                ax.plot(rounds, ends[:, 0], line, color=color, marker=marker, markersize=4, linewidth=1.6)
                ax.fill_between(rounds, ends[:, 1], ends[:, 2], color=color, alpha=0.2, linewidth=0)
        for name, value in _baselines(rows, key.removeprefix("progress.")).items():
            ax.axhline(value, color=style_of(name).color, linestyle=":", linewidth=1.2, label=name)
        if key in compared:
            ax.legend(frameon=False, fontsize=8)
        ax.set(xlabel="round", title=_title(key.removeprefix("progress.")))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        polish(ax)
    handles = [
        Line2D([], [], color=color, linestyle=line, label=f"{group.label} ({len(group.rows)})")
        for (color, line, _), group in zip(map(_look, range(len(shown))), shown, strict=True)
    ]
    note = f"; the best {len(shown)} of {len(groups)}" if len(groups) > len(shown) else ""
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8,
                  title=f"mean and 95 % interval over seeds (number of seeds){note}", title_fontsize=8)  # fmt: skip
    return save_figure(figure, stem, "trainings")


def _look(k: int) -> tuple[str, Literal["-", "--"], str]:
    """Colour, line and marker of the k-th group. When all colours are used, they repeat with dashed lines."""
    n = len(FURTHER_COLORS)
    return FURTHER_COLORS[k % n], "-" if k < n else "--", FURTHER_MARKERS[k % len(FURTHER_MARKERS)]


def _curves(group: "Group", key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rounds [n] in which a seed has a value, at most `_POINTS` of them, and the values [seeds, n]."""
    curves = [np.array([np.nan if x is None else x for x in entry.get(key) or []]) for entry in group.rows]
    length = max((len(curve) for curve in curves), default=0)
    curves = [np.pad(curve, (0, length - len(curve)), constant_values=np.nan) for curve in curves]
    values = np.array(curves, dtype=float).reshape(len(curves), length)
    measured = np.flatnonzero(np.isfinite(values).any(axis=0))
    if len(measured) > _POINTS:
        # Metrics of single rounds are noisy, so a long curve is smoothed before points are selected.
        values = np.array([running_median(curve, 2 * (length // 40) + 1) for curve in values])
        measured = measured[np.linspace(0, len(measured) - 1, _POINTS).astype(int)]
    return (measured + 1).astype(np.float64), values[:, measured]


def _baselines(rows: Sequence[Mapping[str, Any]], metric: str) -> dict[str, float]:
    """Means over all trainings; empty if they have different worlds."""
    worlds = {str(sorted((k, str(v)) for k, v in entry.items() if k.startswith(_WORLD))) for entry in rows}
    if len(worlds) > 1:
        return {}
    found: dict[str, list[float]] = {}
    for entry in rows:
        for key, value in entry.items():
            if key.startswith("baselines.") and key.endswith(f".{metric}") and value is not None:
                found.setdefault(key.split(".", 2)[1], []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _title(metric: str) -> str:
    what, _, label = metric.partition("@")
    titles = {"reward": "mean reward, us", "latency_ns": f"mean latency at load {label}, ns",
              "comm_time_ns": f"communication time of {label}, ns"}  # fmt: skip
    return titles.get(what, what)


def _number(key: str) -> tuple[float, str]:
    label = key.rsplit("@", 1)[1]
    return (float(label) if label.replace(".", "", 1).isdigit() else 0.0, label)


def _compare(
    ax: Any, rows: Sequence[Mapping[str, Any]], baselines: Mapping[str, Mapping[str, float]], key: str, agent: str
) -> None:
    what, label = key.rsplit("@", 1)
    title = f"mean latency at load {label}, ns" if what == "latency_ns" else f"communication time of {label}, ns"
    measured = [(row["round"], row[key]) for row in rows if row.get(key) is not None]
    if measured:
        ax.plot(*zip(*measured, strict=True), color="#CC79A7", marker="o", label=agent)
    for name, values in baselines.items():
        ax.axhline(values.get(key, np.nan), color=style_of(name).color, linestyle="--", linewidth=1.2, label=name)
    ax.set(xlabel="round", title=title, ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    polish(ax)
