"""Recorded results: one line per run in a CSV file next to the suite, with the version and the configuration's hash.

Baselines are measured once and recorded. A new agent is compared with them without running them again.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..results.files import DamagedError, read_with_care
from ..terminal.tables import write_csv
from .measures import NAMES

_ABOUT = ("suite", "task", "policy", "seed", "config_hash", "version", "state_hash")


@dataclass(frozen=True)
class Record:
    """The measures of one run of a task."""

    suite: str  # id with the version; suites may have tasks of the same name with different windows
    task: str  # id with the version
    policy: str
    seed: int
    config_hash: str  # identifies the run
    version: str  # of the core
    state_hash: str  # of the final state
    measures: Mapping[str, float]  # by name

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The fields that identify a record within a file."""
        return self.suite, self.task, self.policy, self.seed


def read_records(path: Path) -> list[Record]:
    """The records of a file; an empty list if the file does not exist."""
    if not path.exists():
        return []
    with read_with_care(path), path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != (*_ABOUT, *NAMES):
            raise DamagedError(path, f"its columns are not {','.join((*_ABOUT, *NAMES))}")
        return [
            Record(
                **{key: line[key] for key in _ABOUT} | {"seed": int(line["seed"])},  # type: ignore[arg-type]
                measures={name: float(line[name]) for name in NAMES if line[name]},
            )
            for line in reader
        ]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records in one step, in the given order."""
    lines = [{key: getattr(record, key) for key in _ABOUT} | dict(record.measures) for record in records]
    write_csv(path, lines, (*_ABOUT, *NAMES))


def merged(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """Old and new records. A new record replaces the old one with the same key."""
    return list({record.key: record for record in [*old, *new]}.values())


def sources_of(version: str) -> str:
    """The part of a core's version (`0.1.0+<commit>.<sources>`) that depends on its sources and not on the commit."""
    return version.rpartition(".")[2]
