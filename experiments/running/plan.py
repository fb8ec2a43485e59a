"""The plan of a sweep: all its runs with their configurations and folders, complete before the first run starts."""

import functools
import itertools
import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...configs import config_hash, has_workload, run_id
from ...configs.composition import SIMULATION, Root
from ...configs.routes import TABLE, route_hash, route_id
from ...simcore import __version__, results_version
from ..results.files import finished, read_result
from ..terminal.progress import Report
from ..workload.run import bytes_of_jobs, require_finished
from .one_run import execute, prepare


class Kind(ABC):
    """A kind of run: its configuration, its folder, its result and its execution. Instances have no state."""

    root: ClassVar[Root]
    sections: ClassVar[tuple[str, ...]] = ()  # runs with equal ones take time and memory by their cost alone

    @abstractmethod
    def folder(self, plain: Mapping[str, Any]) -> str:
        """The name of the folder of a run with this resolved configuration."""

    @abstractmethod
    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        """The result in `directory`, if the run is finished there."""

    @abstractmethod
    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """Run in this process, and write the result into `directory`. `words` are the overrides that gave `plain`."""

    def read(self, directory: Path) -> dict[str, Any] | None:
        """The result in `directory`."""
        return read_result(directory)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """The work of a run in arbitrary units, for the order of the runs and their progress."""
        return 1.0

    def alike(self, plain: Mapping[str, Any]) -> str:
        """A text that is equal for runs whose time and memory depend only on their cost."""
        return json.dumps([plain.get(key) for key in self.sections], default=str)

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        """Build the network of a run, which checks its configuration.

        Returns:
            The bytes that the core allocates at the beginning, and the number of terminals.
        """
        return 0, 1


class SimulationKind(Kind):
    """A simulation: `flitgym simulate`, figures, studies, evaluations and benchmarks."""

    root = SIMULATION
    sections = ("topology", "router", "routing", "failures")

    def folder(self, plain: Mapping[str, Any]) -> str:
        return run_id(_root_=plain)

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        return finished(directory, config_hash(plain), __version__, results_version)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        require_finished(execute(plain, directory, report))

    def cost(self, plain: Mapping[str, Any]) -> float:
        """The bytes of the jobs; for traffic, the flits, which grow with load and time, and a small cost per cycle."""
        if has_workload(plain):
            return float(1 + sum(bytes_of_jobs(plain)))
        run = plain["run"]
        return float((run["warmup_ns"] + run["measure_ns"]) * (0.1 + plain["traffic"]["load"]))

    def alike(self, plain: Mapping[str, Any]) -> str:
        workload = plain["workload"]
        names = [plain["traffic"]["name"], *(workload.get(key) for key in ("name", "target", "background"))]
        return f"{super().alike(plain)} {names}"

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        facts = prepare(plain).facts()
        return int(facts["memory_estimate_bytes"]), int(facts["terminals"])


class TableKind(Kind):
    """A forwarding table: `flitgym route`."""

    root = TABLE
    sections = ("topology", "failures", "engine", "demand", "flows", "file")

    def folder(self, plain: Mapping[str, Any]) -> str:
        return route_id(_root_=plain)

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        return finished(directory, route_hash(plain), __version__)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`. If the engine refuses the network, the result says so: `routed` is false."""
        from ..table_quality.one_table import obtain

        obtain(plain, directory, report, keep_refusals=True)

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        from ..table_quality.one_table import channel_graph, files

        graph = channel_graph(plain)
        files(plain, graph)
        return 0, graph.terminals


SIMULATIONS, TABLES = SimulationKind(), TableKind()


@dataclass(frozen=True)
class PlannedRun:
    """A run of a sweep: its configuration, and the folder of its result."""

    plain: dict[str, Any]  # the resolved configuration; runs share equal sections
    directory: Path
    kind: Kind = SIMULATIONS
    words: tuple[str, ...] = ()  # all overrides of the command line for this run
    own: tuple[str, ...] = ()  # the overrides that distinguish it from the other runs of the sweep

    @functools.cached_property
    def cost(self) -> float:
        return self.kind.cost(self.plain)


def expand(common: Sequence[str], blocks: Iterable[Mapping[str, Any]], directory: Path) -> list[PlannedRun]:
    """Every run of a sweep.

    Args:
        common: Hydra overrides of every run.
        blocks: Each block has further `overrides`, and `sweep`, a mapping from a key to its values. Each combination of
            values is a run. Keys that change together are in `together`, a list of axes; a value of such an axis maps
            keys to their values. Blocks with `command: route` make forwarding tables and ignore `common`.
        directory: The parent of the folders of the runs.
    """
    return [run for block in blocks for run in _of_block(common, block, directory)]


def _of_block(common: Sequence[str], block: Mapping[str, Any], directory: Path) -> Iterator[PlannedRun]:
    kind: Kind = TABLES if block.get("command") == "route" else SIMULATIONS
    first = [*(() if kind is TABLES else common), *block.get("overrides", ())]
    sweep: Mapping[str, Sequence[Any]] = block.get("sweep", {})
    groups = kind.root.groups
    if kind is SIMULATIONS:  # groups vary before single keys
        sweep = {key: sweep[key] for key in sorted(sweep, key=lambda key: key not in groups)}
    for values, *joint in itertools.product(itertools.product(*sweep.values()), *block.get("together", ())):
        chosen = functools.reduce(operator.or_, joint, dict(zip(sweep, values, strict=True)))
        options = (f"{key}={value}" for key, value in chosen.items() if key in groups)
        own = {key: value for key, value in chosen.items() if key not in groups}
        plain = kind.root.resolved((*first, *options), own)
        yield PlannedRun(plain, directory / kind.folder(plain), kind)
