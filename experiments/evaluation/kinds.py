"""Runs that are more than one simulation: searches and runs with forks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ...configs import config_hash, run_id
from ...configs.identity import digest
from ...simcore import Simulation, __version__, results_version
from ...simcore.plugins import versions
from ..results.files import finished, write_result
from ..running.plan import PlannedRun, SimulationKind


class ExtendedKind(SimulationKind):
    """A kind of run whose configuration is that of a simulation, and a section with further settings."""

    section: ClassVar[str]  # also the `kind` of its result
    no_identity: ClassVar[tuple[str, ...]] = ()  # settings that change no number

    def planned(self, run: PlannedRun, settings: Mapping[str, Any]) -> PlannedRun:
        """The run in place of a simulation."""
        plain = {**run.plain, self.section: dict(settings)}
        return PlannedRun(plain, run.directory.parent / self.folder(plain), self)

    def identity(self, plain: Mapping[str, Any]) -> str:
        """A hash that is equal for equal runs, 12 hexadecimal digits."""
        settings = {key: value for key, value in plain[self.section].items() if key not in self.no_identity}
        return digest([config_hash(plain), settings])

    def folder(self, plain: Mapping[str, Any]) -> str:
        return f"{run_id(_root_=plain).rpartition('_')[0]}_{self.identity(plain)}"

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        return finished(directory, self.identity(plain), __version__, results_version)

    def write(self, plain: Mapping[str, Any], directory: Path, simulation: Simulation, numbers: dict[str, Any]) -> None:
        """Write `result.json` with the numbers of a run, and the facts about its network."""
        common = {
            "kind": self.section,
            "jobs": {},
            "version": __version__,
            "results_version": results_version,
            "plugins": versions(simulation.facts()["plugins"]),
            "files": {},
            "facts": simulation.facts(),
            "config_hash": self.identity(plain),
            "config": plain,
            "core_config": simulation.configuration(),
            "warnings": {},
        }
        write_result(directory, common | numbers)
