"""The learning curves of trainings: reward and loss, and the policy compared with the baselines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..metrics import mean_interval, running_median
from ..plotting.drawing import distinct_styles, draw_intervals, polish, save_figure, style_of
from .comparison import COMPARED

Rows = Sequence[Mapping[str, Any]]

_MOST_GROUPS = 10  # groups with distinct styles in a figure
_MOST_COMPARED = 3  # panels of compared loads or jobs
_POINTS = 100  # of a curve
_WORLD = ("topology.", "router.", "traffic.", "workload.", "failures.", "worlds")
_FEW = 12  # points that have markers
_TITLES = {
    "reward": "mean reward, us",
    "latency_ns": "mean latency at load {}, ns",
    "comm_time_ns": "communication time of {}, ns",
}


def draw(groups: Mapping[str, Rows], stem: Path) -> list[Path]:
    """Draw the learning curves of trainings: means over seeds with 95 % intervals; returns the PNG and the SVG.

    A group has the rows of trainings that differ only in their seed. The best comes first, and ten groups are drawn.
    """
    styles = distinct_styles(dict.fromkeys(list(groups)[:_MOST_GROUPS], ""))
    rows = [row for label in styles for row in groups[label]]
    prefixes = tuple(f"progress.{word}" for word in COMPARED)
    compared = sorted({key for row in rows for key in row if key.startswith(prefixes)}, key=_number)[:_MOST_COMPARED]
    panels = [key for key in ("progress.reward", "progress.loss") if any(row.get(key) for row in rows)] + compared
    figure = Figure(figsize=(4.2 * len(panels), 3.9), layout="constrained")
    handles: list[Line2D] = []
    for ax, key in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        metric = key.removeprefix("progress.")
        handles = []
        for label, style in styles.items():
            rounds, values = _curves(groups[label], key)
            ends = np.array([mean_interval(column) for column in values.T]).reshape(-1, 3)
            (line,) = ax.plot(rounds, ends[:, 0], style.line, color=style.color, markersize=4)
            line.set(marker=style.marker if len(rounds) <= _FEW else "", label=f"{label} ({len(groups[label])})")
            handles.append(line)
            draw_intervals(ax, rounds, ends, style, shaded=True)
        lines = [
            ax.axhline(value, color=style_of(name).color, linestyle=":", linewidth=1.2, label=name)
            for name, value in _baselines(rows, metric).items()
        ]
        if lines:
            ax.legend(handles=lines, frameon=False, fontsize=8)
        what, _, where = metric.partition("@")
        ax.set(xlabel="round", title=_TITLES.get(what, what).format(where))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        polish(ax)
    note = f"; the best {len(styles)} of {len(groups)}" if len(groups) > len(styles) else ""
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8,
                  title=f"mean and 95 % interval over seeds (number of seeds){note}", title_fontsize=8)  # fmt: skip
    return save_figure(figure, stem, "trainings")


def _curves(rows: Rows, key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rounds [n] in which a seed has a value, at most `_POINTS` of them, and the values [seeds, n]."""
    curves = [np.array(row.get(key) or [], dtype=float) for row in rows]  # None becomes NaN
    length = max(map(len, curves))
    values = np.array([np.pad(curve, (0, length - len(curve)), constant_values=np.nan) for curve in curves])
    measured = np.flatnonzero(np.isfinite(values).any(axis=0))
    if len(measured) > _POINTS:
        # Metrics of single rounds are noisy, so a long curve is smoothed before points are selected.
        values = np.array([running_median(curve, 2 * (length // 40) + 1) for curve in values])
        measured = measured[np.linspace(0, len(measured) - 1, _POINTS).astype(int)]
    return (measured + 1).astype(np.float64), values[:, measured]


def _baselines(rows: Rows, metric: str) -> dict[str, float]:
    """Means over all trainings; empty if they have different worlds."""
    worlds = {str(sorted((k, str(v)) for k, v in row.items() if k.startswith(_WORLD))) for row in rows}
    if len(worlds) > 1:
        return {}
    found: dict[str, list[float]] = {}
    for row in rows:
        for key, value in row.items():
            if key.startswith("baselines.") and key.endswith(f".{metric}") and value is not None:
                found.setdefault(key.split(".", 2)[1], []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _number(key: str) -> tuple[float, str]:
    label = key.rsplit("@", 1)[1]
    return (float(label) if label.replace(".", "", 1).isdigit() else 0.0, label)
