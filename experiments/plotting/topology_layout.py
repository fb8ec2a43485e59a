"""The places of routers in the picture of a network, and the shapes of the cables between them.

The distance between a router and its nearest neighbour is about one unit. A topology without a layout here, such as one
from a plugin, is laid out by the distances in its graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ARC = 0.42  # height of the highest arc over a row of routers, below the next row
_PARALLEL = 0.14  # distance between parallel cables
_BY_DISTANCE = 1200  # most switches of the layout by distances, which needs a square matrix of them


@dataclass(frozen=True)
class Layout:
    """Places of routers and shapes of cables.

    Args:
        at: [routers, 2] places.
        outward: [routers, 2] unit vectors towards a router's terminals.
        kind: [cables] the kind of each cable, an index into `kinds`.
        kinds: The names of the kinds.
        bend: [cables] height of a cable's arc to the left of its direction; 0 = straight.
        areas: (x, y, radius) of circles behind groups of routers.
        opacity: The opacity of the cables of each kind; empty = by the number of cables.
    """

    at: Floats
    outward: Floats
    kind: Integers
    kinds: tuple[str, ...]
    bend: Floats
    areas: Sequence[tuple[float, float, float]] = field(default_factory=tuple)
    opacity: Sequence[float] = field(default_factory=tuple)


def layout_of(topology: Mapping[str, Any], routers: int, cables: Integers, terminal_router: Integers) -> Layout:
    """The layout of a network.

    Args:
        topology: The section `topology` of a configuration, with all its keys.
        routers: The number of routers.
        cables: [cables, 2] the routers at both ends.
        terminal_router: [terminals] the router of each terminal.
    """
    name = topology["name"]
    if name == "dragonfly":
        layout = _dragonfly(int(topology["routers_per_group"]), routers, cables)
    elif name in ("hyperx", "torus", "mesh"):
        sizes = [int(size) for size in topology["widths" if name == "hyperx" else "sizes"]]
        layout = _grid(sizes, cables) if len(sizes) > 1 else _circle(routers, cables)
    elif name in ("fat_tree", "rail_optimised"):
        layout = _levels(routers, cables, terminal_router)
    elif name == "multi_plane_fat_tree":
        layout = _planes(int(topology["planes"]), routers, cables, terminal_router)
    elif name == "slim_fly":
        layout = _slim_fly(int(topology["q"]), routers, cables)
    elif name == "random_regular" or routers > _BY_DISTANCE:
        layout = _circle(routers, cables)
    else:
        layout = _by_distance(routers, cables)
    return Layout(
        layout.at, layout.outward, layout.kind, layout.kinds, layout.bend + _apart(cables, layout.at), layout.areas
    )


def _apart(cables: Integers, at: Floats) -> Floats:
    """Bends that separate parallel cables."""
    low, high = cables.min(axis=1), cables.max(axis=1)
    _, index, counts = np.unique(low * (len(at) + 1) + high, return_inverse=True, return_counts=True)
    order = np.argsort(index, kind="stable")
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(cables), dtype=np.int64)
    rank[order] = np.arange(len(cables)) - np.repeat(begins, counts)
    sign = np.where(cables[:, 0] <= cables[:, 1], 1.0, -1.0)
    bends: Floats = sign * _PARALLEL * (rank - (counts[index] - 1) / 2)
    return bends


def _ring(places: int, radius: float, turn: float = 0.0) -> Floats:
    """Places on a circle, clockwise from the top."""
    angle = math.pi / 2 - turn - 2 * math.pi * np.arange(places) / max(places, 1)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _straight(cables: Integers) -> tuple[Integers, Floats]:
    return np.zeros(len(cables), dtype=np.int64), np.zeros(len(cables))


def _circle(routers: int, cables: Integers) -> Layout:
    outward = _ring(routers, 1.0)
    kind, bend = _straight(cables)
    return Layout(outward * max(1.0, routers / (2 * math.pi)), outward, kind, ("link",), bend)


def _dragonfly(per_group: int, routers: int, cables: Integers) -> Layout:
    groups = routers // per_group
    inner = max(0.55, per_group / (2 * math.pi)) if per_group > 1 else 0.0
    ring = _ring(groups, 1.0)
    radius = (inner + 0.95) / math.sin(math.pi / groups) if groups > 2 else inner + 1.5
    at, outward = np.empty((routers, 2)), np.empty((routers, 2))
    for group in range(groups):
        own = slice(group * per_group, (group + 1) * per_group)
        # The polygon of a group turns with its place on the circle. The spoke to it passes between two routers.
        side = _ring(per_group, 1.0, 2 * math.pi * group / groups + math.pi / per_group)
        at[own] = radius * ring[group] + inner * side
        outward[own] = side
    group_of = cables // per_group
    kind = (group_of[:, 0] != group_of[:, 1]).astype(np.int64)
    areas = [(radius * x, radius * y, inner + 0.42) for x, y in ring]
    kinds = ("local link, within a group", "global link, between groups")
    return Layout(at, outward, kind, kinds, np.where(kind == 1, _inwards(cables, at), 0.0), areas)


def _inwards(cables: Integers, at: Floats) -> Floats:
    """Bends towards the middle of the picture, so that long cables do not cross other groups."""
    begin, end = at[cables[:, 0]], at[cables[:, 1]]
    along, middle = end - begin, (begin + end) / 2
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-9)
    aside: Floats = (middle[:, 0] * along[:, 1] - middle[:, 1] * along[:, 0]) / length
    return 0.2 * aside


def _slim_fly(q: int, routers: int, cables: Integers) -> Layout:
    # Groups of q routers lie on the circle with a gap of one place between them.
    group = np.arange(routers) // q
    places = routers + routers // q
    outward = _ring(places, 1.0)[np.arange(routers) + group]
    kind = (group[cables[:, 0]] != group[cables[:, 1]]).astype(np.int64)
    bend = np.where(kind == 0, 0.25, 0.0)
    return Layout(outward * places / (2 * math.pi), outward, kind, ("link within a group", "link between groups"), bend)


def _grid(sizes: Sequence[int], cables: Integers) -> Layout:
    routers, dimensions = math.prod(sizes), len(sizes)
    coordinates = np.stack(np.unravel_index(np.arange(routers), sizes, order="F"), axis=1)
    if dimensions == 3:
        # An oblique projection, whose third axis is chosen so that no router hides another.
        axes = np.array([[1.0, 0.0], [0.0, 1.0], [0.38, 0.27]])
    else:
        # Nested panels: even dimensions run to the right, odd ones upwards.
        axes, step = np.zeros((dimensions, 2)), [1.0, 1.0]
        for dimension, size in enumerate(sizes):
            axes[dimension, dimension % 2] = step[dimension % 2]
            step[dimension % 2] *= size + 0.35
    at = coordinates @ axes
    ends = coordinates[cables]
    # The ends of a cable in a grid differ in one dimension.
    kind = np.argmax(ends[:, 0] != ends[:, 1], axis=1)
    steps = np.abs(ends[:, 0] - ends[:, 1]).max(axis=1)
    most = np.maximum(np.array(sizes)[kind] - 2, 1)
    bend = _ARC * np.sqrt((steps - 1) / most)
    bend[(kind >= 2) & (dimensions > 3)] = _ARC
    # Arcs lie above rows and to the right of columns.
    along = at[cables[:, 1]] - at[cables[:, 0]]
    bend *= np.where(np.abs(along[:, 0]) >= np.abs(along[:, 1]), np.sign(along[:, 0]), -np.sign(along[:, 1]))
    outward = np.tile([-math.sqrt(0.5), -math.sqrt(0.5)], (routers, 1))
    names = "xyzw" if dimensions <= 4 else [str(k + 1) for k in range(dimensions)]
    return Layout(at, outward, kind, tuple(f"dimension {name}" for name in names[:dimensions]), bend)


def _planes(planes: int, routers: int, cables: Integers, terminal_router: Integers) -> Layout:
    """Levels whose switches are ordered by plane. A plane has a colour."""
    level = _hops(routers, cables, np.unique(terminal_router))
    number = np.arange(routers) - np.searchsorted(level, level)  # within its level; routers are numbered by level
    plane = np.where(level > 0, number % planes, -1)
    levels = _levels(routers, cables, terminal_router, plane)
    return replace(levels, kind=plane[cables].max(axis=1), kinds=tuple(f"plane {k}" for k in range(planes)))


def _levels(routers: int, cables: Integers, terminal_router: Integers, order: Integers | None = None) -> Layout:
    level = _hops(routers, cables, np.unique(terminal_router))
    levels = int(level.max(initial=0)) + 1
    width = max(int(np.bincount(level).max()), 2)
    at = np.empty((routers, 2))
    for own in range(levels):
        members = np.flatnonzero(level == own)
        if order is not None:
            members = members[np.argsort(order[members], kind="stable")]
        at[members, 0] = (np.arange(len(members)) + 0.5) * width / len(members)
        at[members, 1] = own * max(2.0, 0.24 * width)
    lower = level[cables].min(axis=1)
    names = tuple(f"level {k + 1} to level {k + 2}" for k in range(max(levels - 1, 1)))
    kind = np.minimum(lower, len(names) - 1)
    return Layout(at, np.tile([0.0, -1.0], (routers, 1)), kind, names, np.zeros(len(cables)))


def _by_distance(routers: int, cables: Integers) -> Layout:
    """A layout whose distances approximate those in the graph, by classical scaling and stress majorisation.

    Gansner, Koren and North, "Graph Drawing by Stress Majorization" (GD 2004), with weights 1 / distance^2.
    """
    distance = np.stack([_hops(routers, cables, np.array([k])) for k in range(routers)]).astype(float)
    if routers < 3:
        return _circle(routers, cables)
    centred = np.eye(routers) - 1 / routers
    values, vectors = np.linalg.eigh(-0.5 * centred @ distance**2 @ centred)
    at = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))
    # In a graph with many symmetries, routers may share a place. A fixed offset separates them.
    at += 1e-2 * _ring(routers, 1.0)
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(100):
        gaps = np.linalg.norm(at[:, None] - at[None], axis=2)
        pull = -weight * distance / np.maximum(gaps, 1e-6)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        at = inverse @ (pull @ at)
    away = at - at.mean(axis=0)
    outward = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
    kind, bend = _straight(cables)
    return Layout(at * 1.6, outward, kind, ("link",), bend)


def _hops(routers: int, cables: Integers, begin: Integers) -> Integers:
    """Hops from the nearest router of `begin` to every router. Unreachable routers count one hop more than the rest."""
    hops = np.full(routers, -1, dtype=np.int64)
    hops[begin] = 0
    front = np.zeros(routers, dtype=bool)
    front[begin] = True
    step = 0
    while front.any():
        step += 1
        reached = np.concatenate([cables[front[cables[:, 0]], 1], cables[front[cables[:, 1]], 0]])
        front[:] = False
        front[reached[hops[reached] < 0]] = True
        hops[front] = step
    hops[hops < 0] = step
    return hops
