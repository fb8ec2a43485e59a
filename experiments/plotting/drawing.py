"""The common style of the figures: each routing has the same colour, marker and line in all of them.

The colours are safe for colour-blind readers.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike, NDArray

from ...simcore._files import atomic_path
from ..metrics import mean_interval
from .players import pattern_of, player_of

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Style:
    """The style of a routing."""

    label: str
    color: ColorType
    marker: str
    line: Literal["-", "--", ":", "-."] = "-"
    width: float = 1.4


# Okabe and Ito's palette. Routings of one family share a hue and differ in line and marker. Labels are those of papers.
STYLES = {
    "minimal": Style("MIN", "#000000", "o"),
    "dimension_order": Style("DOR", "#000000", "o"),
    "minimal_adaptive": Style("MIN-AD", "#000000", "x", ":"),
    "valiant": Style("VAL", "#8a8a8a", "^", "--"),
    "valiant_group": Style("VALg", "#9a9a9a", "v", "--"),
    "valiant_router": Style("VALn", "#6b6b6b", "^", "--"),
    "ugal": Style("UGAL", "#0072B2", "D"),
    "clos_ad": Style("Clos-AD", "#56B4E9", "s"),
    "ugal_group": Style("UGALg", "#56B4E9", "s"),
    "ugal_l": Style("UGAL-L", "#0072B2", "v"),
    "ugal_router": Style("UGALn", "#0072B2", "D"),
    "ugal_global": Style("UGAL-G (oracle)", "#0072B2", "x", ":"),
    "par": Style("PAR", "#009E73", "P"),
    "dal": Style("DAL", "#7fcdb6", "h"),
    "dim_war": Style("DimWAR", "#009E73", "P"),
    "omni_war": Style("OmniWAR", "#005a41", "X", width=2.0),
    "up_down": Style("up/down", "#009E73", "P"),
    "ecmp": Style("ECMP", "#CC79A7", "o", "--"),
    "packet_spray": Style("spraying", "#CC79A7", "s"),
    "flowlet": Style("LetFlow", "#CC79A7", "v", ":"),
    "reps": Style("REPS-like", "#882255", "D"),
    "polarized": Style("Polarized", "#44AA99", "h"),
    "q_routing": Style("Q-routing", "#E69F00", "<"),
    "q_adaptive": Style("Q-adaptive", "#D55E00", "*", width=2.4),
}

# For policies without a style, in this order. The colours differ clearly from each other and from those above. The
# numbers of colours and markers have no common divisor, so that pairs repeat late.
FURTHER_COLORS = ("#CC79A7", "#6A3D9A", "#A6761D", "#E6194B", "#1B9E9E")
FURTHER_MARKERS = ("h", "d", "p", ">")

_further: dict[str, Style] = {}  # styles assigned by `style_of`, by name

# Of the figures of papers and studies: a light grid, no frame at the top and right, and bold titles.
STYLE: Any = {
    **{"axes.grid": True, "grid.color": "#e6e6e6", "grid.linewidth": 0.7, "axes.axisbelow": True},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold"},
}

BANDS = "bands: 95 % intervals over the seeds"  # of `draw_band`

# A published point: a large hollow star. `Any`, because Matplotlib's keyword arguments have no common type.
PUBLISHED: dict[str, Any] = {
    "marker": "*",
    "markersize": 15,
    "markerfacecolor": "none",
    "markeredgecolor": "#CC79A7",
    "linestyle": "none",
}


def style_of(routing: str) -> Style:
    """The style of a routing. A routing that is not in `STYLES` gets the next free style in its first call."""
    return replace(paper_style(routing), label=routing)


def paper_style(routing: str) -> Style:
    """The style of a routing with its name in the papers, for the figures of papers."""
    return STYLES.get(routing) or _further.setdefault(routing, _further_style(routing, len(_further)))


def distinct_styles(routings_by_name: Mapping[str, str]) -> dict[str, Style]:
    """Distinct styles for the policies of one figure, by name; the argument has the routing of each policy.

    The first policy of a routing has the routing's usual style. Learned policies, and policies whose style is taken,
    have a further colour and marker.
    """
    styles: dict[str, Style] = {}
    taken = set()
    further = itertools.count()
    for name, routing in routings_by_name.items():
        known = STYLES.get(routing)
        # Routings for different topologies may share a style.
        if known and (known.color, known.marker) not in taken:
            taken.add((known.color, known.marker))
            styles[name] = replace(known, label=name)
        else:
            styles[name] = _further_style(name, next(further))
    return styles


def _further_style(name: str, k: int) -> Style:
    color, marker = FURTHER_COLORS[k % len(FURTHER_COLORS)], FURTHER_MARKERS[k % len(FURTHER_MARKERS)]
    # When all colours are used, they repeat with dashed lines.
    return Style(name, color, marker, "-" if k < len(FURTHER_COLORS) else "--", 2.0)


def select(rows: Sequence[Row], pattern: str, routing: str | None = None) -> list[Row]:
    """The rows of a pattern, and of a routing if given, by increasing load and seed."""
    chosen = [row for row in rows if pattern_of(row) == pattern and routing in (None, player_of(row))]
    if not chosen:
        raise ValueError(f"no row for pattern {pattern}" + (f" and routing {routing}" if routing else ""))
    return sorted(chosen, key=lambda row: (row["traffic.load"], row["seed"]))


def curve(rows: Sequence[Row], quantity: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The offered loads, and the mean over seeds of a quantity at each load; NaN without a measurement."""
    loads = sorted({row["traffic.load"] for row in rows})
    return np.array(loads), np.array([np.mean(values) for values in _at_loads(rows, quantity)])


def _at_loads(rows: Sequence[Row], quantity: str) -> list[NDArray[np.float64]]:
    """The values of a quantity at each load, [loads][seeds]; NaN without a measurement."""
    at: dict[float, list[float | None]] = {}
    for row in rows:
        at.setdefault(row["traffic.load"], []).append(row[quantity])
    return [np.array(at[load], dtype=float) for load in sorted(at)]


def routings(rows: Sequence[Row]) -> list[str]:
    """Every routing or policy in the rows, in the order of `routing_order`."""
    return routing_order(player_of(row) for row in rows)


def routing_order(names: Iterable[str]) -> list[str]:
    """Distinct routings. Names in `STYLES` come first, in the order there."""
    present = set(names)
    return [name for name in STYLES if name in present] + sorted(present - set(STYLES))


def draw_curves(ax: Axes, rows: Sequence[Row], pattern: str, quantity: str) -> None:
    """Draw the curves of every routing over the offered load for one pattern. Latencies have a logarithmic axis.

    A band is the 95 % interval over the seeds, if there are several.
    """
    for name in routings(rows):
        own, style = select(rows, pattern, name), style_of(name)
        loads, values = curve(own, quantity)
        draw_band(ax, loads, _at_loads(own, quantity), style)
        ax.plot(
            loads, values, color=style.color, marker=style.marker, linestyle=style.line, linewidth=style.width,
            markersize=5, zorder=3 if name == "q_adaptive" else 2,
        )  # fmt: skip
    if quantity.endswith("_ns"):
        latency_axis(ax)


def polish(ax: Axes, bars: Literal["", "x", "y"] = "") -> None:
    """Add the grid and remove the frame as `STYLE` does. The axis of `bars` needs neither grid nor ticks."""
    ax.grid(True, which="major", color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if bars:
        ax.grid(False, axis=bars)
        ax.tick_params(axis=bars, length=0)


def latency_axis(ax: Axes) -> None:
    """Make the y axis logarithmic, with ticks such as 500, 1,000 and 2,000."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def legend_of(figure: Figure, handles: Sequence[Artist], columns: int | None = None) -> None:
    """Draw a legend of given entries above all panels, with up to six columns unless a number is given."""
    columns = columns or min(len(handles), 6)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False, fontsize=9)


def interval_key(confidence: float, of: str) -> Line2D:
    """The entry of a legend for intervals; `of` is the number of seeds in words."""
    return Line2D([], [], color="#888888", alpha=0.35, linewidth=8, label=f"{100 * confidence:.12g} % interval, {of}")


def draw_intervals(ax: Axes, x: NDArray[Any], y: NDArray[Any], style: Style, shaded: bool = False) -> None:
    """Draw intervals as error bars, or as a shaded band along a curve.

    x is [points], and y is [points, 3] with value, lower and upper end.
    """
    if shaded:
        ax.fill_between(x, y[:, 1], y[:, 2], color=style.color, alpha=0.2, linewidth=0, zorder=1.5)
        return
    kept = np.isfinite(y).all(axis=1)
    ax.vlines(x[kept], y[kept, 1], y[kept, 2], color=style.color, linewidth=1.6, zorder=2)


def draw_band(ax: Axes, x: NDArray[Any], values: Iterable[ArrayLike], style: Style) -> None:
    """Draw a band along a curve: 95 % intervals over the seeds. A curve of a single seed has no band.

    x is [points], and `values` are [points][seeds]; NaN without a measurement.
    """
    points = list(values)
    if max(map(np.size, points)) > 1:
        draw_intervals(ax, x, np.array([mean_interval(at) for at in points]), style, shaded=True)


def key_line(style: Style) -> Line2D:
    """The entry of a legend for a style."""
    return Line2D([], [], color=style.color, marker=style.marker, linestyle=style.line, linewidth=style.width,
                  markersize=6, label=style.label)  # fmt: skip


def save_figure(figure: Figure, stem: Path, salt: str, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure as PNG and SVG; the same figure gives the same bytes. Returns the files.

    `stem` is their path without a suffix. `salt` makes the identifiers in an SVG, which would otherwise be random.
    """
    written = []
    for suffix in kinds:
        path = stem.with_name(f"{stem.name}.{suffix}")
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
        # Type 42: fonts are embedded as TrueType, which publishers require.
        with atomic_path(path) as temporary, matplotlib.rc_context({"svg.hashsalt": salt, "pdf.fonttype": 42}):
            figure.savefig(temporary, dpi=160, metadata=undated)
        written.append(path)
    return written
