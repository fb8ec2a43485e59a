"""Recorded results: a line per run, in a CSV file beside the suite that says of what code and configuration they are.

Baselines are measured once and recorded, so that a new agent is compared without running them again.
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
    """What a run of a task came to.

    Args:
        suite: Its id, with the version; suites may have tasks of one name with other windows.
        task: Its id, with the version.
        policy: The name under which it played.
        seed: The seed of the run.
        config_hash: The hash of the run's configuration; with another one it is another run.
        version: The version of the core that ran it.
        state_hash: The state hash of the network at the end, as text.
        measures: By name.
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
        """What there is one record of."""
        return self.suite, self.task, self.policy, self.seed


def read_records(path: Path) -> list[Record]:
    """The records of a file; none where there is no file.

    Raises:
        DamagedError: it is no such file; says which line.
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
    """Write records in one step, in the order in which they are given."""
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_ABOUT, *NAMES])
        for record in records:
            numbers = (repr(record.measures[name]) if name in record.measures else "" for name in NAMES)
            writer.writerow([*(getattr(record, key) for key in _ABOUT), *numbers])


def merged(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """Old and new records; of the same suite, task, policy and seed the new one, in the old one's place."""
    found = {record.key: record for record in [*old, *new]}
    return list(found.values())


def sources_of(version: str) -> str:
    """Of a version of the core (`0.1.0+<commit>.<sources>`) what depends on its sources alone, not on the commit."""
    return version.rpartition(".")[2]
