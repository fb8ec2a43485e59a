"""The places of routers in the picture of a network, and the shapes of the cables between them.

The distance between a router and its nearest neighbour is about one unit. A topology without a layout here, such as one
from a plugin, is laid out by the distances in its graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ARC = 0.42  # height of the highest arc over a row of routers, below the next row
_PARALLEL = 0.14  # distance between parallel cables
_ON_ARC = 33  # points along a bent cable
_BY_DISTANCE = 1200  # most switches of the layout by distances, which needs a square matrix of them


@dataclass(frozen=True)
class Layout:
    """Places of routers and shapes of cables."""

    at: Floats  # [routers, 2]
    outward: Floats  # [routers, 2] unit vectors towards a router's terminals
    kind: Integers  # [cables] index into `kinds`
    kinds: tuple[str, ...]  # names
    bend: Floats  # [cables] height of a cable's arc to the left of its direction; 0 = straight
    areas: Sequence[tuple[float, float, float]] = ()  # (x, y, radius) of circles behind groups of routers
    opacity: Sequence[float] = ()  # of the cables of each kind; empty = by the number of cables


def layout_of(topology: Mapping[str, Any], routers: int, cables: Integers, terminal_router: Integers) -> Layout:
    """The layout of a network, from the section `topology` of a configuration, with all its keys.

    Cables are [cables, 2], the routers at both ends; `terminal_router` is [terminals].
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
    elif name == "dragonfly_plus":
        leaves, spines = int(topology["leaves_per_group"]), int(topology["spines_per_group"])
        layout = _dragonfly_plus(leaves, spines, routers, cables)
    elif name == "polarfly":
        layout = _polarfly(int(topology["q"]), routers, cables)
    elif name == "polarstar":
        supernodes = int(topology["q"]) ** 2 + int(topology["q"]) + 1
        kinds = ("link within a supernode", "link between supernodes")
        layout = _dragonfly(routers // supernodes, routers, cables, kinds)
    elif name == "hammingmesh":
        layout = _hammingmesh(topology, routers, cables)
    elif name == "random_regular" or routers > _BY_DISTANCE:
        layout = _circle(routers, cables)
    else:
        layout = _by_distance(routers, cables)
    return replace(layout, bend=layout.bend + _apart(cables, layout.at))


def space(at: Floats) -> float:
    """The size of the space around a router: 1.9 times the least distance between two routers, at most 1."""
    order = np.argsort(at[:, 0], kind="stable")
    places, least = at[order], math.inf
    for step in range(1, len(at)):
        gap = places[step:] - places[:-step]
        if (gap[:, 0] >= least).all():
            break
        least = min(least, float(np.linalg.norm(gap, axis=1).min()))
    return min(1.0, 1.9 * least)


def paths(layout: Layout, ends: Integers, bend: Floats) -> Floats:
    """[cables, points, 2] quadratic Bezier curves between routers."""
    begin, end = layout.at[ends[:, 0]], layout.at[ends[:, 1]]
    along = end - begin
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    left = np.stack([-along[:, 1], along[:, 0]], axis=1) / length
    middle = (begin + end) / 2 + 2 * bend[:, None] * left
    t = np.linspace(0, 1, _ON_ARC)[None, :, None]
    curves: Floats = (1 - t) ** 2 * begin[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None]
    return curves


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


def ring(places: int, radius: float, turn: float = 0.0) -> Floats:
    """Places on a circle, clockwise from the top."""
    angle = math.pi / 2 - turn - 2 * math.pi * np.arange(places) / max(places, 1)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _middles(groups: int, half: float, few: float) -> Floats:
    """The middles of groups on a circle, which need a radius of `half` each; `few` is the circle's radius for two."""
    return ring(groups, half / math.sin(math.pi / groups) if groups > 2 else few)


def _circle(routers: int, cables: Integers) -> Layout:
    outward = ring(routers, 1.0)
    return Layout(
        outward * max(1.0, routers / (2 * math.pi)),
        outward,
        np.zeros(len(cables), dtype=np.int64),
        ("link",),
        np.zeros(len(cables)),
    )


_OF_GROUPS = ("local link, within a group", "global link, between groups")


def _dragonfly(per_group: int, routers: int, cables: Integers, kinds: tuple[str, ...] = _OF_GROUPS) -> Layout:
    groups = routers // per_group
    inner = max(0.55, per_group / (2 * math.pi)) if per_group > 1 else 0.0
    middles = _middles(groups, inner + 0.95, inner + 1.5)
    at, outward = np.empty((routers, 2)), np.empty((routers, 2))
    for group in range(groups):
        own = slice(group * per_group, (group + 1) * per_group)
        # The polygon of a group turns with its place on the circle. The spoke to it passes between two routers.
        side = ring(per_group, 1.0, 2 * math.pi * group / groups + math.pi / per_group)
        at[own] = middles[group] + inner * side
        outward[own] = side
    group_of = cables // per_group
    kind = (group_of[:, 0] != group_of[:, 1]).astype(np.int64)
    areas = [(x, y, inner + 0.42) for x, y in middles]
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
    outward = ring(places, 1.0)[np.arange(routers) + group]
    kind = (group[cables[:, 0]] != group[cables[:, 1]]).astype(np.int64)
    bend = np.where(kind == 0, 0.25, 0.0)
    return Layout(outward * places / (2 * math.pi), outward, kind, ("link within a group", "link between groups"), bend)


def _dragonfly_plus(leaves: int, spines: int, routers: int, cables: Integers) -> Layout:
    # A group is a row of leaves on the outside and a row of spines on the inside.
    size, widest = leaves + spines, max(leaves, spines)
    groups = routers // size
    gap = max(0.9, 0.3 * widest)  # half the distance between the rows
    reach = math.hypot((widest - 1) / 2, gap)
    side, middles = ring(groups, 1.0), _middles(groups, reach + 0.6, reach + 1.2)
    places = np.concatenate([np.arange(count) - (count - 1) / 2 for count in (leaves, spines)])
    offset = np.where(np.arange(size) < leaves, gap, -gap)
    along = np.stack([side[:, 1], -side[:, 0]], axis=1)
    at = middles[:, None] + offset[:, None] * side[:, None] + places[:, None] * along[:, None]
    outward = np.repeat(side, size, axis=0)
    kind = (cables[:, 0] // size != cables[:, 1] // size).astype(np.int64)
    areas = [(x, y, reach + 0.45) for x, y in middles]
    at = at.reshape(-1, 2)
    return Layout(at, outward, kind, _OF_GROUPS, np.where(kind == 1, _inwards(cables, at), 0.0), areas)


def _polarfly(q: int, routers: int, cables: Integers) -> Layout:
    # The racks lie on a circle, each with its centre and a ring of its other routers. For odd q, the quadrics form a
    # ring in the middle. For even q, their common neighbour is in the middle.
    odd = q % 2 == 1
    clusters, first = (q, q + 1) if odd else (q + 1, 0)
    inner = max(0.8, (q - 1) / (2 * math.pi))
    away, middles = ring(clusters, 1.0), _middles(clusters, inner + 0.7, inner + 1.5)
    at, outward = np.zeros((routers, 2)), np.zeros((routers, 2))
    rack = np.zeros(routers, dtype=np.int64)
    if odd:
        outward[: q + 1] = ring(q + 1, 1.0)
        at[: q + 1] = min(0.45 * middles[0, 1], (q + 1) / (2 * math.pi) + 0.4) * outward[: q + 1]
    for cluster in range(clusters):
        begin = first + cluster * q + (not odd and cluster > 0)  # without the router in the middle
        side = ring(q - 1, 1.0, 2 * math.pi * cluster / clusters)
        at[begin : begin + q] = middles[cluster]
        at[begin + 1 : begin + q] += inner * side
        outward[begin], outward[begin + 1 : begin + q] = away[cluster], side
        rack[begin : begin + q] = cluster + 1
    areas = [(x, y, inner + 0.42) for x, y in middles]
    kind = (rack[cables[:, 0]] != rack[cables[:, 1]]).astype(np.int64)
    kinds = ("link within a rack", "link between racks")
    return Layout(at, outward, kind, kinds, np.zeros(len(cables)), areas)


def _hammingmesh(topology: Mapping[str, Any], routers: int, cables: Integers) -> Layout:
    # Boards form a grid with gaps. The switches of a row are to its right, those of a column above it.
    width, height = int(topology["board_width"]), int(topology["board_height"])
    boards = int(topology["boards_x"]), int(topology["boards_y"])
    columns, rows = width * boards[0], height * boards[1]
    board, place = np.divmod(np.arange(columns * rows), width * height)
    x, y = board % boards[0] * width + place % width, board // boards[0] * height + place // width
    gap = 0.7
    accelerators = np.stack([x + gap * (x // width), y + gap * (y // height)], axis=1)
    edge = accelerators.max(axis=0) + 1.3
    # The tree of a line is connected without the accelerators. Trees of rows have the first numbers.
    trees = components(np.where(np.arange(routers) < len(board), 0, -1), cables, 1)[len(board) :]
    in_row = int((trees == 1).sum()) if boards[0] > 1 else 0
    in_column = (len(trees) - rows * in_row) // columns
    line, number = np.divmod(np.arange(rows * in_row), max(in_row, 1))
    of_rows = np.stack([edge[0] + number, line + gap * (line // height)], axis=1)
    line, number = np.divmod(np.arange(columns * in_column), max(in_column, 1))
    of_columns = np.stack([line + gap * (line // width), edge[1] + number], axis=1)
    at = np.concatenate([accelerators, of_rows, of_columns])
    last = cables.max(axis=1)
    kind = (last >= len(accelerators)).astype(np.int64) + (last >= len(accelerators) + len(of_rows))
    # Cables to a switch are arcs above the row, or to the right of the column. Longer cables have higher arcs.
    along = at[cables[:, 1]] - at[cables[:, 0]]
    length = np.abs(along).max(axis=1)
    height_of_arc = 0.1 + 0.85 * _ARC * np.sqrt(length / max(length.max(initial=1.0), 1.0))
    bend = np.where(kind == 0, 0.0, height_of_arc * np.where(kind == 1, np.sign(along[:, 0]), -np.sign(along[:, 1])))
    outward = np.tile([-math.sqrt(0.5), -math.sqrt(0.5)], (routers, 1))
    kinds = ("link on a board", "link of a row's tree", "link of a column's tree")
    return Layout(at, outward, kind, kinds, bend)


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
    at += 1e-2 * ring(routers, 1.0)
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
    return replace(_circle(routers, cables), at=at * 1.6, outward=outward)


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


def components(of: Integers, cables: Integers, first: int) -> Integers:
    """Number the connected parts of the routers without a group (-1), from `first` on."""
    inner = cables[(of[cables] < 0).all(axis=1)]
    part = np.arange(len(of))
    while True:
        least = np.minimum(part[inner[:, 0]], part[inner[:, 1]])
        before = part.copy()
        np.minimum.at(part, inner[:, 0], least)
        np.minimum.at(part, inner[:, 1], least)
        if (part == before).all():
            break
    numbered = of.copy()
    free = of < 0
    numbered[free] = first + np.unique(part[free], return_inverse=True)[1]
    return numbered
