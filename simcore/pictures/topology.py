"""The picture of a network: its routers, cables and terminals, and the cables that have failed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from .. import ChannelGraph
from .groups import grouped
from .layout import Floats, Integers, Layout, layout_of, paths, space

# Okabe and Ito's palette, which colour-blind readers can distinguish.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8a6d3b", "#6A3D9A", "#555555")
_FAILED, _INK, _TERMINAL, _AREA = "#D62728", "#222222", "#7f7f7f", "#f2f4f7"
_MOST_TERMINALS = 320  # a larger network is drawn without terminals, which would overlap
_WIDTH, _LEAST_HEIGHT, _MOST_HEIGHT = 6.4, 2.6, 6.4  # inches


@dataclass(frozen=True)
class Cables:
    """The cables of a network."""

    ends: Integers  # [cables, 2] the routers at both ends
    failed: np.ndarray[Any, np.dtype[np.bool_]]  # [cables]
    lost: np.ndarray[Any, np.dtype[np.bool_]]  # [routers] whether all cables of the router have failed


def cables_of(whole: ChannelGraph, used: ChannelGraph) -> Cables:
    """The cables of a network without failures, and which of them have failed in the network `used`.

    Routers and ports have the same numbers in both.
    """
    arrays, left = whole.arrays(), used.arrays()
    first = np.flatnonzero(np.arange(whole.channels) < arrays["reverse"])
    ends = np.stack([arrays["from"][first], arrays["to"][first]], axis=1).astype(np.int64)
    ports = max(whole.ports, used.ports)
    alive = left["from"].astype(np.int64) * ports + left["port"]
    failed = ~np.isin(ends[:, 0] * ports + arrays["port"][first], alive)
    had, has = (np.bincount(graph["from"], minlength=whole.switches) for graph in (arrays, left))
    return Cables(ends, failed, (had > 0) & (has == 0))


def draw_topology(
    topology: Mapping[str, Any], failures: Mapping[str, Any] | None = None, title: str = "", seed: int = 1
) -> Figure:
    """The picture of a network.

    Every cable is one segment of a `LineCollection`. Parallel cables are separate, and failed ones are red and dashed.
    Terminals are dots next to their router, in networks of up to 320 terminals. In the picture of a large network a
    circle is a group of routers, and a segment stands for all cables between two groups (`groups.py`).

    Args:
        topology: The section `topology` of a configuration, with all its keys.
        failures: The section `failures`, without events.
        title: Above the picture.
        seed: Draws random links and failures whose own seeds are not given.
    """
    whole = ChannelGraph(topology, None, seed)
    used = ChannelGraph(topology, failures, seed) if failures else whole
    cables = cables_of(whole, used)
    terminal_router = whole.arrays()["terminal_switch"].astype(np.int64)
    links, words = len(cables.ends), ""
    failed = int(cables.failed.sum())
    groups = grouped(topology, whole.switches, cables.ends, terminal_router)
    if groups:
        layout, cables, words = groups.layout, _by_group(cables, groups.of, groups.ends), f"; {groups.words}"
    else:
        layout = layout_of(topology, whole.switches, cables.ends, terminal_router)
    few = whole.terminals <= _MOST_TERMINALS and not groups
    terminals = _terminals(layout, terminal_router) if few else np.empty((0, 2))

    corners = [[[x - r, y - r], [x + r, y + r]] for x, y, r in layout.areas]
    everything = np.concatenate([layout.at, terminals, *corners])
    low, high = everything.min(axis=0) - 0.6, everything.max(axis=0) + 0.6
    width, height = high - low
    head, legend = 0.55, 0.3 * math.ceil((len(layout.kinds) + 1 + bool(failures)) / 4)
    inches = min(max(_WIDTH * height / width, _LEAST_HEIGHT), _MOST_HEIGHT)
    figure = Figure(figsize=(_WIDTH, inches + head + legend))
    total = inches + head + legend
    ax = figure.add_axes((0.01, legend / total, 0.98, inches / total))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")
    unit = 72 * min(0.98 * _WIDTH / width, inches / height)
    points = unit * space(layout.at)  # size of the space around a router

    for x, y, radius in layout.areas:
        ax.add_patch(Circle((x, y), radius, facecolor=_AREA, edgecolor="none", zorder=0))
    thin = min(1.3, max(0.25, 40 / math.sqrt(len(cables.ends) + 1) * points / 40))
    handles = _draw_cables(ax, layout, cables, thin)
    _draw_terminals(ax, layout, terminals, terminal_router, points)
    _draw_routers(ax, layout, cables, points)

    figure.text(0.5, 1 - 0.2 / total, title, ha="center", va="center", fontsize=12, fontweight="bold", color=_INK)
    counts = f"{whole.switches:,} routers, {whole.terminals:,} terminals, {links:,} links"
    counts += (f", {failed:,} of them failed" if failures else "") + words
    figure.text(0.5, 1 - 0.42 / total, counts, ha="center", va="center", fontsize=9, color=_INK)
    if len(terminals):
        dot = Line2D([], [], label="terminal", color="none", marker="o", markersize=4)
        dot.set(markerfacecolor=_TERMINAL, markeredgecolor="none")
        handles.append(dot)
    figure.legend(
        handles=handles, loc="lower center", ncols=min(len(handles), 4), frameon=False, fontsize=8, handlelength=1.6
    )
    return figure


def _by_group(cables: Cables, of: Integers, ends: Integers) -> Cables:
    """A cable per pair of groups, which has failed if one of its cables has. A group is lost with all its routers."""
    groups = int(of.max()) + 1
    pairs = np.sort(of[cables.ends[cables.failed]], axis=1)
    failed = np.isin(ends[:, 0] * groups + ends[:, 1], pairs[:, 0] * groups + pairs[:, 1])
    return Cables(ends, failed, np.bincount(of, ~cables.lost, groups) == 0)


def _draw_cables(ax: Any, layout: Layout, cables: Cables, thin: float) -> list[Line2D]:
    handles = []
    usual = 0.85 if len(cables.ends) < 400 else 0.45
    for kind, name in enumerate(layout.kinds):
        alpha = layout.opacity[kind] if layout.opacity else usual
        color = _COLORS[kind % len(_COLORS)]
        chosen = (layout.kind == kind) & ~cables.failed
        _add_lines(ax, layout, cables.ends, chosen, colors=color, linewidths=thin, alpha=alpha, zorder=1 + kind / 100)
        if (layout.kind == kind).any():
            handles.append(Line2D([], [], color=color, linewidth=1.5, label=name))
    if cables.failed.any():
        style: dict[str, Any] = {"colors": _FAILED, "linewidths": max(1.2, 1.4 * thin), "linestyles": "dashed"}
        _add_lines(ax, layout, cables.ends, cables.failed, zorder=2, **style)
        handles.append(Line2D([], [], color=_FAILED, linewidth=1.5, linestyle="--", label="failed link"))
    return handles


def _add_lines(ax: Any, layout: Layout, ends: Integers, chosen: Any, **style: Any) -> None:
    """Add one collection of the chosen straight cables, and one of the bent ones."""
    for bent in (False, True):
        own = chosen & ((np.abs(layout.bend) > 1e-9) == bent)
        if not own.any():
            continue
        curves = paths(layout, ends[own], layout.bend[own])
        ax.add_collection(LineCollection(list(curves if bent else curves[:, [0, -1]]), capstyle="round", **style))


def _terminals(layout: Layout, router: Integers) -> Floats:
    """The places of terminals, [terminals, 2], in a fan on the outward side of their router."""
    counts = np.bincount(router, minlength=len(layout.at))
    places = np.empty((len(router), 2))
    for own in np.unique(router):
        mine = np.flatnonzero(router == own)
        count = int(counts[own])
        spread = min(2.0, 0.55 * (count - 1))
        angle = math.atan2(layout.outward[own, 1], layout.outward[own, 0])
        fan = angle + (np.linspace(-spread / 2, spread / 2, count) if count > 1 else np.zeros(1))
        places[mine] = layout.at[own] + 0.46 * np.stack([np.cos(fan), np.sin(fan)], axis=1)
    return places


def _draw_terminals(ax: Any, layout: Layout, terminals: Floats, router: Integers, points: float) -> None:
    if not len(terminals):
        return
    stubs = np.stack([layout.at[router], terminals], axis=1)
    ax.add_collection(LineCollection(list(stubs), colors=_TERMINAL, linewidths=0.4, zorder=0.5, gid="terminals"))
    most = np.bincount(router).max()
    size = min(4.0, 0.13 * points, 0.9 * points / max(most, 1))
    ax.scatter(*terminals.T, s=size**2, color=_TERMINAL, linewidths=0, zorder=2.5)


def _draw_routers(ax: Any, layout: Layout, cables: Cables, points: float) -> None:
    size = min(15.0, 0.4 * points)
    alive, lost = layout.at[~cables.lost], layout.at[cables.lost]
    edge = min(1.0, size / 10)
    ax.scatter(*alive.T, s=size**2, facecolor="white", edgecolor=_INK, linewidths=edge, zorder=3)
    ax.scatter(*lost.T, s=size**2, facecolor="white", edgecolor=_FAILED, linewidths=edge, linestyle="--", zorder=3)
    if size >= 9:
        for number, (x, y) in enumerate(layout.at):
            ax.text(x, y, str(number), fontsize=size / 2.1, ha="center", va="center_baseline", color=_INK, zorder=4)
