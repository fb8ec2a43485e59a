"""Recorded results: one line per run in a CSV file next to the suite, with the version and the configuration's hash.

Baselines are measured once and recorded. A new agent is compared with them without running them again.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...simcore._files import atomic_path
from ..results.files import DamagedError, read_with_care
from .measures import NAMES, Measures

_ABOUT = ("suite", "task", "policy", "seed", "config_hash", "version", "state_hash")


@dataclass(frozen=True)
class Record:
    """The measures of one run of a task.

    Args:
        suite: Id of the suite with its version. Suites may have tasks of the same name with different windows.
        task: Id of the task with its version.
        policy: The name of the policy.
        seed: The seed of the run.
        config_hash: The hash of the run's configuration, which identifies the run.
        version: The version of the core.
        state_hash: Hash of the final state, as text.
        measures: Values by name.
    """

    suite: str
    task: str
    policy: str
    seed: int
    config_hash: str
    version: str
    state_hash: str
    measures: Mapping[str, float]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The fields that identify a record within a file."""
        return self.suite, self.task, self.policy, self.seed


def read_records(path: Path) -> list[Record]:
    """The records of a file; an empty list if the file does not exist.

    Raises:
        DamagedError: the file has other columns, or a line cannot be read. The message names the line.
    """
    if not path.exists():
        return []
    with read_with_care(path), path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != (*_ABOUT, *NAMES):
            raise DamagedError(path, f"its columns are not {','.join((*_ABOUT, *NAMES))}")
        records = []
        for line in reader:
            try:
                if None in line or None in line.values():
                    raise ValueError("it has too many or too few fields")
                numbers: Measures = {name: float(line[name]) for name in NAMES if line[name]}
                suite, task, policy, seed, *rest = (line[key] for key in _ABOUT)
                config, version, state = rest
                records.append(Record(suite, task, policy, int(seed), config, version, state, numbers))
            except ValueError as error:
                raise DamagedError(path, f"line {reader.line_num}: {error}") from None
    return records


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records in one step, in the given order."""
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_ABOUT, *NAMES])
        for record in records:
            numbers = (repr(record.measures[name]) if name in record.measures else "" for name in NAMES)
            writer.writerow([*(getattr(record, key) for key in _ABOUT), *numbers])


def merged(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """Old and new records. A new record replaces the old one with the same key."""
    found = {record.key: record for record in [*old, *new]}
    return list(found.values())


def sources_of(version: str) -> str:
    """The part of a core's version (`0.1.0+<commit>.<sources>`) that depends on its sources and not on the commit."""
    return version.rpartition(".")[2]
