"""The load of the links of a run over time with the places of its routers, and its picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .layout import Floats, Integers, Layout, layout_of, paths, ring, space

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Columns = Mapping[str, NDArray[Any]]

_WIDTH = 7.2  # inches
_LABELLED = 60.0  # square points of a dot that has room for a number
_COLOURS, _LIGHTEST = 64, 0.08  # of the scale; lower values would be nearly white


class Quantity(NamedTuple):
    """A property of a link that the pictures show."""

    column: str  # of links.parquet
    label: str
    percent: bool


QUANTITIES = {
    "utilisation": Quantity("utilisation", "utilisation of the link", True),
    "stalls": Quantity("stall_share", "time with waiting flits but no credits", True),
    "queue": Quantity("queue", "flits that wait for the link", False),
    "credits": Quantity("uncredited", "buffer slots in use downstream, in flits", False),
}


@dataclass(frozen=True)
class Loads:
    """The entries of `LinkFrames` over time, and the picture of their network."""

    unit: str  # a place of the picture: "router" or "group"
    layout: Layout  # of the places; its cables are the entries between places
    ends: Integers  # [entries, 2] places; -1: terminals; equal: links within a group
    keys: Columns  # [entries] columns of `LinkFrames.table`
    begin_ns: Floats  # [frames]
    end_ns: Floats  # [frames]
    values: dict[str, Floats]  # [frames, entries] by quantity, and the utilisation by each job and class
    failed: Integers  # [cables, 2] places with a failed link between them
    flows: Columns  # as `LinkFrames.flows`

    def words(self, entry: int) -> str:
        """An entry in words."""
        a, b = self.ends[entry]
        if b < 0:
            return f"{self.unit} {a} to terminals"
        return f"within {self.unit} {a}" if a == b else f"{self.unit} {a} to {b}"

    def at(self, quantity: str, time_ns: float | None) -> Floats:
        """[entries] a quantity in the frame at a time; the mean over time for None."""
        values = self.values[quantity]
        if time_ns is None:
            return np.asarray(np.average(values, axis=0, weights=self.end_ns - self.begin_ns))
        return np.asarray(values[min(int(np.searchsorted(self.end_ns, time_ns)), len(values) - 1)])

    def fillers(self, entry: int, most: int = 3) -> str:
        """The flows of the packets that wait for a link, with their shares."""
        found = np.flatnonzero(
            np.all([self.flows[key] == self.keys[key][entry] for key in ("router", "port", *_OF)], 0)
        )
        return ", ".join(
            f"{self.flows['source_group'][k]} → {self.flows['destination_group'][k]} {self.flows['share'][k]:.0%}"
            for k in found[:most]
        )


_OF = ("group", "peer_group", "kind")


def loads_of(
    links: Columns, flows: Columns, topology: Mapping[str, Any], routers: int, failed: Sequence[str] = ()
) -> Loads:
    """The loads of a run.

    Args:
        links: The result of `LinkFrames.table`.
        flows: The result of `LinkFrames.flows`.
        topology: The section `topology` of the configuration, with all its keys.
        routers: Their number.
        failed: The names of failed links, `<router>-<router>`.
    """
    entries = int(np.argmax(links["begin_ns"] > links["begin_ns"][0])) or len(links["begin_ns"])
    frames = {key: column.reshape(-1, entries) for key, column in links.items()}
    keys = {key: column[0] for key, column in frames.items() if key in ("router", "port", "peer_router", "links", *_OF)}
    by_link = bool(keys["router"][0] >= 0)
    own, other = ("router", "peer_router") if by_link else ("group", "peer_group")
    ends = np.stack([keys[own], keys[other]], axis=1).astype(np.int64)
    between = (ends[:, 1] >= 0) & (ends[:, 0] != ends[:, 1])
    if by_link:
        # Both directions of a link are parallel cables, which the layout separates.
        layout = layout_of(topology, routers, ends[between], np.unique(ends[ends[:, 1] < 0, 0]))
    else:
        places = int(ends.max()) + 1
        kind = np.zeros(int(between.sum()), dtype=np.int64)
        outward = ring(places, 1.0)
        layout = Layout(outward * max(1.0, places / 6), outward, kind, ("links",), np.zeros(len(kind)))
    values = {name: frames[quantity.column].astype(np.float64) for name, quantity in QUANTITIES.items()}
    # A flit counts in the frame in which it begins.
    values["utilisation"] = np.minimum(values["utilisation"], 1)
    prefix = "flits."
    for name in links:
        if name.startswith(prefix):
            values[name.removeprefix(prefix)] = values["utilisation"] * frames[name] / np.maximum(frames["flits"], 1)
    numbers = [name.partition("#")[0].split("-") for name in failed if by_link]
    pairs = [[int(a), int(b)] for a, b in (pair for pair in numbers if len(pair) == 2) if (a + b).isdigit()]
    return Loads(
        unit="router" if by_link else "group",
        layout=layout,
        ends=ends,
        keys=keys,
        begin_ns=frames["begin_ns"][:, 0],
        end_ns=frames["end_ns"][:, 0],
        values=values,
        failed=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        flows=flows,
    )


def arcs(loads: Loads) -> Floats:
    """[entries between places, points, 2] the arcs of the links, quadratic Bezier curves."""
    ends = loads.ends[(loads.ends[:, 1] >= 0) & (loads.ends[:, 0] != loads.ends[:, 1])]
    return paths(loads.layout, ends, loads.layout.bend)


def scale() -> Colormap:
    """The colours of low to high values, in the pictures and on the page. Their lightness alone gives the order."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["magma_r"](np.linspace(_LIGHTEST, 1, _COLOURS)))


def draw_loads(loads: Loads, quantity: str = "utilisation", time_ns: float | None = None, title: str = "") -> Figure:
    """The picture of a network with its links coloured by a quantity.

    Wide and dark lines are high values. A dot is a router, coloured by its links to terminals. In the picture of
    groups, its ring has the colour of the links within the group. Failed links are red and dashed.

    Args:
        loads: Of the run.
        quantity: A key of `QUANTITIES`, or a job or class of `values` for its part of the utilisation.
        time_ns: Shows the frame at this time; None: the mean over time.
        title: Above the picture.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    values = loads.at(quantity, time_ns)
    known = QUANTITIES.get(quantity, Quantity("", f"utilisation by {quantity}", True))
    factor = 100.0 if known.percent else 1.0
    most = float(values.max(initial=0)) * factor or 1.0
    colours, norm = scale(), Normalize(0, most)
    at, between = loads.layout.at, (loads.ends[:, 1] >= 0) & (loads.ends[:, 0] != loads.ends[:, 1])

    low, high = at.min(axis=0) - 0.8, at.max(axis=0) + 0.8
    width, height = high - low
    inches = min(max(_WIDTH * height / width, 2.4), _WIDTH)
    figure = Figure(figsize=(_WIDTH, inches + 1.35), layout="constrained")
    ax = figure.subplots()
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")
    for x, y, radius in loads.layout.areas:
        ax.add_patch(Circle((x, y), radius, facecolor="#f2f4f7", edgecolor="none", zorder=0))
    shares = values[between] * factor
    order = np.argsort(shares)  # high values are drawn last
    thin = min(1.0, max(0.15, 14 / math.sqrt(len(order) + 1)))
    widths = thin * (0.7 + 2.3 * shares[order] / most)
    shades = colours(norm(shares[order]))
    shades[:, 3] = 0.35 + 0.65 * shares[order] / most
    lines = LineCollection(list(arcs(loads)[order]), colors=shades, linewidths=widths, zorder=1)
    lines.set_capstyle("round")
    ax.add_collection(lines)
    if len(loads.failed):
        broken = [at[pair] for pair in loads.failed]
        ax.add_collection(LineCollection(broken, colors="#D62728", linewidths=1.2, linestyles="dashed", zorder=2))
    unit = 72 * min(_WIDTH / width, inches / height) * space(at)
    dots = _dots(loads, values) * factor
    size = min(13.0, 0.42 * unit) ** 2
    for own, area, inner in ((dots[1], 2.6 * size, 2.5), (dots[0], size, 3.0)):
        shown = np.isfinite(own)
        face = colours(norm(own[shown]))
        ax.scatter(at[shown, 0], at[shown, 1], s=area, c=face, edgecolor="#444444", linewidths=0.4, zorder=inner)
    bare = np.isnan(dots).all(axis=0)
    ax.scatter(at[bare, 0], at[bare, 1], s=0.4 * size, c="white", edgecolor="#444444", linewidths=0.5, zorder=3)
    for place, (x, y) in enumerate(at):
        if loads.unit == "group":
            away = (12 + 0.4 * math.sqrt(size)) * loads.layout.outward[place]
            ax.annotate(str(place), (x, y), away, textcoords="offset points", fontsize=7, ha="center", va="center")
        elif size > _LABELLED:
            ink = "white" if dots[0, place] > 0.35 * most else "#222222"
            ax.text(
                x, y, str(place), fontsize=0.5 * math.sqrt(size), ha="center", va="center_baseline", color=ink, zorder=4
            )
    unit_words = " (%)" if known.percent else ""
    bar = figure.colorbar(ScalarMappable(norm, colours), ax=ax, location="bottom", shrink=0.6, aspect=40, pad=0.01)
    bar.set_label(f"{known.label}{unit_words}, the mean over time" if time_ns is None else f"{known.label}{unit_words}")
    bar.outline.set_visible(False)
    when = "" if time_ns is None else f"{time_ns / 1000:,.4g} us; "
    dot = "dot: links to terminals" + ("; ring: links within the group" if loads.unit == "group" else "")
    failed = "; red, dashed: failed" if len(loads.failed) else ""
    ax.set_title(title, fontsize=11, fontweight="bold", pad=20)
    words = f"{when}{len(at):,} {loads.unit}s; line: link in one direction; {dot}{failed}"
    ax.text(0.5, 1.01, words, transform=ax.transAxes, fontsize=8, ha="center", va="bottom")
    return figure


def _dots(loads: Loads, values: Floats) -> Floats:
    """[2, places] the mean of a place's links to terminals and of its links within the group; NaN without any."""
    found = np.full((2, len(loads.layout.at)), np.nan)
    inside = loads.ends[:, 0] == loads.ends[:, 1]
    for row, chosen in enumerate((loads.ends[:, 1] < 0, inside)):
        found[row, loads.ends[chosen, 0]] = values[chosen]
    return found
