"""The folders of figures and studies, and the plans of their runs."""

import importlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ...simcore.plugins import Plugin, entries, load
from ..evaluation.plan import Policy
from ..running.plan import PlannedRun, expand
from ..saturation.search import SATURATIONS

_HOME = Path(__file__).parent.parent
FIGURES, STUDIES = _HOME / "figures", _HOME / "studies"


@dataclass(frozen=True)
class Place:
    """The place of a figure or a study: a folder with a `config.yaml`."""

    folder: Path
    package: str  # of its script
    plugin: Plugin | None = None  # that has it; None: flitgym itself

    @property
    def script(self) -> Any:
        """Its script `plot.py`."""
        module = f"{self.package}.plot"
        return importlib.import_module(module) if self.plugin is None else load(self.plugin, module)

    def load(self, file: str = "config.yaml") -> DictConfig:
        """Read one of its files."""
        config = OmegaConf.load(self.folder / file)
        assert isinstance(config, DictConfig), f"{self.folder / file} is not a mapping"
        return config

    def expected(self) -> dict[str, Any]:
        """The content of `expected.yaml`, with an entry of `numbers` for each number.

        An entry with `values`, numbers by their ids or mappings with further keys, stands for several. `within` is a
        range around the value.
        """
        content: Any = OmegaConf.to_container(self.load("expected.yaml"))
        numbers = []
        for entry in content["numbers"]:
            several = []
            for name, own in entry.get("values", {}).items():
                keys = own if isinstance(own, Mapping) else {"value": own, "what": f"{entry['what']}: {name}"}
                several.append(entry | keys | {"id": name})
            numbers += [one | {"band": _band(one)} for one in several or [entry]]
        return {**content, "numbers": numbers}


def _band(entry: Mapping[str, Any]) -> Any:
    if "within" not in entry:
        return entry["band"]

    def around(ends: Any) -> Any:
        if isinstance(ends, Mapping):
            return {preset: around(own) for preset, own in ends.items()}
        return [None if end is None else entry["value"] * (1 + end) for end in ends]

    return around(entry["within"])


def places(folder: Path = FIGURES) -> dict[str, Place]:
    """Every figure (or study) by name; those of plugins come last."""
    own = {path.parent.name: path.parent for path in sorted(folder.glob("*/config.yaml"))}
    package = f"{__package__.rpartition('.')[0]}.{folder.name}"
    found = {name: Place(path, f"{package}.{name}") for name, path in own.items()}
    for name, (plugin, path) in entries(folder.name, "*/config.yaml", own).items():
        found[name] = Place(path, f"{plugin.package}.{folder.name}.{name}", plugin)
    return found


def available(folder: Path = FIGURES) -> dict[str, list[str]]:
    """Every figure (or study) with its presets."""
    return {name: list(map(str, place.load().presets)) for name, place in places(folder).items()}


def plan(place: Place, preset: str, directory: Path, policy: Policy | None = None) -> list[PlannedRun]:
    """The runs of a preset in folders below `directory`. A policy takes the place of the routings."""
    config = place.load()
    config.preset = config.presets[preset]
    sweep: Any = OmegaConf.to_container(config, resolve=True)
    blocks = sweep["runs"]
    if policy is not None:
        blocks = [
            {
                **block,
                "sweep": {**block["sweep"], "routing": [policy.routing]},
                "together": [*block.get("together", ()), [dict(policy.settings)]],
            }
            for block in blocks
            if "routing" in block.get("sweep", ())
        ]
    common = [*sweep["common"], *sweep["preset"].get("overrides", ())]
    return [  # a block with `command: saturate` has searches as in `search`
        SATURATIONS.planned(run, block["search"]) if block.get("command") == "saturate" else run
        for block in blocks
        for run in expand(common, [block], directory)
    ]


def _figure_file(word: str) -> str:
    figure, _, file = word.partition("/")
    return str(places()[figure].folder / file)


def _of_study(study: str, key: str) -> Any:
    return OmegaConf.select(places(STUDIES)[study].load(), key)


def _grid_sizes(dimensions: int, least: int, most: int, nodes: int) -> list[list[int]]:
    every = itertools.product(range(least, most + 1), repeat=dimensions)
    return [list(sizes) for sizes in every if math.prod(sizes) <= nodes]


# Resolvers: a file in the folder of a figure, a value of a study's `config.yaml`, and all sizes of grids with up to a
# number of nodes: ${figure_file:effective_bisection/moench.csv}, ${of_study:interference,presets.quick.targets} and
# ${grid_sizes:3,2,8,392} for 2 to 8 nodes in each of three dimensions.
OmegaConf.register_new_resolver("figure_file", _figure_file, replace=True)
OmegaConf.register_new_resolver("of_study", _of_study, replace=True)
OmegaConf.register_new_resolver("grid_sizes", _grid_sizes, replace=True)
