"""The picture of a large network, in which a circle stands for many routers and a line for all cables between two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .topology_layout import Floats, Integers, Layout

MOST_ROUTERS = 1200  # a larger network of a known topology is drawn by groups


@dataclass(frozen=True)
class Grouped:
    """A network of groups of routers.

    Args:
        of: [routers] the group of each router.
        layout: The places of the groups.
        ends: [bundles, 2] pairs of groups that cables join.
        words: The number of groups in words.
    """

    of: Integers
    layout: Layout
    ends: Integers
    words: str


def grouped(topology: Mapping[str, Any], routers: int, cables: Integers, terminal_router: Integers) -> Grouped | None:
    """The groups of a large network; None for a small one and for topologies without a rule here.

    The groups of a Dragonfly are its own. In a fat tree with nodes, the leaves of a pod (or the hosts of a leaf) are a
    group. Switches above them that are connected without them form another group: a director, or a plane.

    Args:
        topology: The section `topology` of a configuration, with all its keys.
        routers: The number of routers.
        cables: [cables, 2] the routers at both ends.
        terminal_router: [terminals] the router of each terminal.
    """
    if routers <= MOST_ROUTERS:
        return None
    name = topology["name"]
    if name == "dragonfly":
        return _dragonfly(int(topology["routers_per_group"]), routers, cables)
    if name == "rail_optimised":
        per_group, low, high = int(topology["rails"]) * int(topology["nodes_per_pod"]), "pods", "groups of spines"
    elif name == "multi_plane_fat_tree":
        per_group, low, high = int(topology["accelerators"]) * int(topology["hosts_per_leaf"]), "host groups", "planes"
    else:
        return None
    of = np.full(routers, -1, dtype=np.int64)
    of[terminal_router] = np.arange(len(terminal_router)) // per_group
    below = int(of.max()) + 1
    return _two_rows(_with_components(of, cables, below), cables, below, low, high)


def _bundles(of: Integers, cables: Integers) -> tuple[Integers, str]:
    """The pairs of groups, and the cables between two of them in words."""
    ends = np.sort(of[cables], axis=1)
    pairs, counts = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0, return_counts=True)
    least, most = int(counts.min()), int(counts.max())
    return pairs, f"{least} link{'s' * (most > 1)}" if least == most else f"{least} to {most} links"


def _dragonfly(per_group: int, routers: int, cables: Integers) -> Grouped:
    of = np.arange(routers, dtype=np.int64) // per_group
    groups = int(of[-1]) + 1
    ends, words = _bundles(of, cables)
    angle = math.pi / 2 - 2 * math.pi * np.arange(groups) / groups
    outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    layout = _layout(outward * max(1.0, groups / (2 * math.pi)), outward, ends, f"{words} between two groups")
    return Grouped(of, layout, ends, f"drawn as {groups} groups of {per_group} routers")


def _two_rows(of: Integers, cables: Integers, below: int, low: str, high: str) -> Grouped:
    ends, words = _bundles(of, cables)
    above = int(of.max()) + 1 - below
    width = float(max(below, above))
    at = np.empty((below + above, 2))
    for first, count, height in ((0, below, 0.0), (below, above, 0.3 * width)):
        at[first : first + count, 0] = (np.arange(count) + 0.5) * width / count
        at[first : first + count, 1] = height
    layout = _layout(at, np.tile([0.0, -1.0], (len(at), 1)), ends, f"{words} between two circles")
    return Grouped(of, layout, ends, f"drawn as {below} {low} and {above} {high}")


def _layout(at: Floats, outward: Floats, ends: Integers, kind: str) -> Layout:
    return Layout(at, outward, np.zeros(len(ends), dtype=np.int64), (kind,), np.zeros(len(ends)))


def _with_components(of: Integers, cables: Integers, first: int) -> Integers:
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
