"""The picture of a large network, in which a circle stands for many routers and a line for all cables between two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layout import Floats, Integers, Layout, components, ring

MOST_ROUTERS = 1200  # a larger network of a known topology is drawn by groups


@dataclass(frozen=True)
class Grouped:
    """A network of groups of routers."""

    of: Integers  # [routers] the group of each router
    layout: Layout  # of the groups
    ends: Integers  # [bundles, 2] pairs of groups that cables join
    words: str  # the number of groups


def grouped(topology: Mapping[str, Any], routers: int, cables: Integers, terminal_router: Integers) -> Grouped | None:
    """The groups of a large network; None for a small one and for topologies without a rule here.

    The groups of a Dragonfly are its own. In a fat tree with nodes, the leaves of a pod (or the hosts of a leaf) are a
    group. Switches above them that are connected without them form another group: a director, or a plane. Arguments as
    for `layout_of`.
    """
    if routers <= MOST_ROUTERS:
        return None
    name = topology["name"]
    if name == "dragonfly":
        return _dragonfly(int(topology["routers_per_group"]), routers, cables)
    if name == "rail_optimised":
        per_group, low, high = int(topology["rails"]) * int(topology["nodes_per_pod"]), "pod", "group of spines"
    elif name == "multi_plane_fat_tree":
        per_group = int(topology["accelerators"]) * int(topology["hosts_per_leaf"])
        low, high = "group of hosts", "plane"
    else:
        return None
    of = np.full(routers, -1, dtype=np.int64)
    of[terminal_router] = np.arange(len(terminal_router)) // per_group
    below = int(of.max()) + 1
    return _two_levels(components(of, cables, below), cables, below, low, high)


def _dragonfly(per_group: int, routers: int, cables: Integers) -> Grouped:
    of = np.arange(routers, dtype=np.int64) // per_group
    groups = int(of[-1]) + 1
    outward = ring(groups, 1.0)
    words = f"drawn as {groups} groups of {per_group} routers"
    return _drawn(of, outward * max(1.0, groups / (2 * math.pi)), outward, cables, "group", words)


def _two_levels(of: Integers, cables: Integers, below: int, low: str, high: str) -> Grouped:
    above = int(of.max()) + 1 - below
    columns = max(math.ceil(2 * math.sqrt(below)), above)
    row, column = np.divmod(np.arange(below), columns)
    lower = np.stack([column + 0.5, -row], axis=1)
    upper = np.stack([(np.arange(above) + 0.5) * columns / above, np.full(above, 0.3 * columns)], axis=1)
    at = np.concatenate([lower, upper])
    words = f"drawn as {_plural(below, low)} and {_plural(above, high)}"
    return _drawn(of, at, np.tile([0.0, -1.0], (len(at), 1)), cables, low, words)


def _plural(count: int, word: str) -> str:
    first, _, rest = word.partition(" ")
    return f"{count} {first}s {rest}".rstrip()


def _drawn(of: Integers, at: Floats, outward: Floats, cables: Integers, unit: str, words: str) -> Grouped:
    """A bundle for each pair of joined groups. Bundles of the first group stand out; the others cover each other."""
    joined = np.sort(of[cables], axis=1)
    ends, counts = np.unique(joined[joined[:, 0] != joined[:, 1]], axis=0, return_counts=True)
    least, most = int(counts.min()), int(counts.max())
    each = f"{least} link{'s' * (least > 1)}" if least == most else f"{least} to {most} links"
    kinds = (f"{each} between two circles", f"{each} from the first {unit}")
    kind = (ends[:, 0] == 0).astype(np.int64)
    opacity = (min(0.45, 200 / len(ends)), 0.9)
    return Grouped(of, Layout(at, outward, kind, kinds, np.zeros(len(ends)), opacity=opacity), ends, words)
