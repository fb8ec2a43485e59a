"""The settings of runs: which runs are comparable, and labels for their differences."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from ...configs import core_failures, workload_label
from ..plotting.swept import NEUTRAL_RUN, NEUTRAL_WORKLOAD, RUN_OF_WORKLOAD

Section = Mapping[str, Any]
# Per section: the group within which it is compared, its path in the configuration, and its keys.
_Sections = list[tuple[tuple[str, ...], str, Section]]

# Keys of a pair's workload that identify its two jobs.
_PAIR = ("target", "target_params", "background", "background_params")

# Descriptions of topologies. The label of another topology has its name and the keys that differ.
_SIZES = {
    "dragonfly": "{groups} groups of {routers_per_group} routers, {terminals_per_router} terminals each",
    "hyperx": "{widths}, {terminals_per_router} terminals each",
    "torus": "{sizes}, {terminals_per_router} terminals each",
    "mesh": "{sizes}, {terminals_per_router} terminals each",
    "fat_tree": "children {children}, parents {parents}",
    "rail_optimised": "{pods} pods of {nodes_per_pod} nodes, {rails} rails",
    "multi_plane_fat_tree": "{planes} planes, {hosts_per_leaf} hosts per leaf, {accelerators} accelerators each",
    "slim_fly": "q = {q}",
    "dragonfly_plus": "{groups} groups of {leaves_per_group} leaves and {spines_per_group} spines, "
    "{terminals_per_leaf} terminals per leaf",
    "polarfly": "q = {q}",
    "polarstar": "q = {q}, {supernode} of degree {supernode_degree}",
    "hammingmesh": "{boards_x} x {boards_y} boards of {board_width} x {board_height} accelerators",
    "random_regular": "{routers} routers of {degree} links, {terminals_per_router} terminals each",
}
_IN_SIZE = {f"topology.{field}" for words in _SIZES.values() for _, field, *_ in Formatter().parse(words) if field}
_ALWAYS_SHOWN = ("workload.scale", "workload.size_scale", "workload.placement")


def what_ran(config: Section) -> str:
    """The workload or the traffic pattern of a run in a few words."""
    workload, traffic = config["workload"], config["traffic"]
    if workload["name"] == "none":
        return f"{traffic['name']}, load {traffic['load']:g}"
    if workload["name"] == "pair":
        other = "alone" if workload["background"] == "none" else f"with {workload['background']}"
        return f"{workload['target']} {other}"
    label: str = workload_label(workload)
    return label.replace("-", " ")


def setting_key(config: Section) -> str:
    """A hash that is equal for runs in the same setting. It leaves out the seed and the two jobs of a pair."""
    return _hash(_common(config))


def alone_key(config: Section) -> str:
    """A hash that is equal for a run of a pair and the run of its target alone. It leaves out the background."""
    return _hash([*_common(config), *_pair(config)[:1], (("seed",), "seed", {"seed": config["seed"]})])


class Settings:
    """Labels for the configurations of a study: the network, and the keys that differ among its runs.

    Keys are compared among runs of the same component: keys of a routing among runs with this routing, parameters of a
    target among runs with this target.
    """

    def __init__(self, configs: Sequence[Section]) -> None:
        self._runs: dict[tuple[str, ...], int] = {}
        self._values: dict[tuple[tuple[str, ...], str], list[str]] = {}
        self._networks = {_network(config) for config in configs}
        for config in configs:
            for group, path, section in [*_common(config), *_pair(config)]:
                self._runs[group] = self._runs.get(group, 0) + 1
                for key, value in _leaves(path, section).items():
                    self._values.setdefault((group, key), []).append(value)

    def text(self, config: Section) -> str:
        """The setting of a run: its network, the scale of its jobs, and the keys that differ."""
        return ", ".join([_network(config), *self._differing(_common(config))])

    def full_text(self, config: Section) -> str:
        """The keys that differ, including those of a pair's jobs, and the network if the runs have several."""
        network = [_network(config)] if len(self._networks) > 1 else []
        return ", ".join([*network, *self._differing(_common(config)), *self._differing(_pair(config))])

    def target(self, config: Section) -> str:
        """The target of a pair, and its parameters that differ."""
        return " ".join([config["workload"]["target"], *self._differing(_pair(config)[:1], short=True)])

    def background(self, config: Section) -> str:
        """The background of a pair, and its parameters that differ."""
        return " ".join([config["workload"]["background"], *self._differing(_pair(config)[1:], short=True)])

    def _differing(self, sections: _Sections, short: bool = False) -> list[str]:
        words = []
        for group, path, section in sections:
            own = _leaves(path, section)
            for known_group, key in self._values:
                shown = key in _ALWAYS_SHOWN or (key in _IN_SIZE and group[-1] in _SIZES)
                if known_group == group and not shown and self._differs(group, key):
                    name = key.removeprefix(f"{path}.") if short else key
                    words.append(f"{name}={own.get(key, 'default')}")
        return words

    def _differs(self, group: tuple[str, ...], key: str) -> bool:
        values = self._values[group, key]
        return len(set(values)) > 1 or len(values) < self._runs[group]


def _common(config: Section) -> _Sections:
    workload = config["workload"]
    has_jobs = workload["name"] != "none"
    kind = "jobs" if has_jobs else "traffic"
    sections: _Sections = [
        ((kind, part, str(config[part]["name"])), part, config[part]) for part in ("topology", "router", "routing")
    ]
    # The names of topology and routing appear elsewhere in a label.
    sections.append(((kind, "names"), "router", {"name": config["router"]["name"]}))
    if has_jobs:
        is_pair = workload["name"] == "pair"
        group = (kind, "workload", "pair" if is_pair else what_ran(config))
        left_out = (*NEUTRAL_WORKLOAD, *_PAIR * is_pair)
        kept = {key: value for key, value in workload.items() if key not in left_out}
        run = {key: value for key, value in config["run"].items() if key in RUN_OF_WORKLOAD}
        sections.append((group, "workload", kept))
    else:
        run = {key: value for key, value in config["run"].items() if key not in NEUTRAL_RUN}
        sections.append(((kind, "traffic", what_ran(config)), "traffic", config["traffic"]))
    sections.append(((kind, "failures"), "failures", core_failures(config)))
    return [*sections, ((kind, "run"), "run", run)]


def _pair(config: Section) -> _Sections:
    """The target and, if there is one, the background."""
    workload = config["workload"]
    sections: _Sections = []
    if workload["name"] == "pair":
        for side in ("target", "background"):
            if workload[side] != "none":
                path = f"workload.{side}_params"
                sections.append(((side, str(workload[side])), path, workload[f"{side}_params"]))
    return sections


def _leaves(path: str, section: Section) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            found |= _leaves(f"{path}.{key}", value)
        else:
            found[f"{path}.{key}"] = value if isinstance(value, str) else json.dumps(value, default=str)
    return found


def _hash(sections: _Sections) -> str:
    text = json.dumps(sections, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _network(config: Section) -> str:
    topology, workload = dict(config["topology"]), config["workload"]
    size = _SIZES.get(topology["name"], "")
    words = [f"{topology['name']} ({size.format(**topology)})" if size else str(topology["name"])]
    words += [f"{key} {workload[key]:g}" for key in ("scale", "size_scale") if workload.get(key, 1) != 1]
    if workload.get("placement"):
        words.append(f"placement {workload['placement']}")
    return ", ".join(words)
