"""The lines of a liballprof trace: `MPI_Send:start:arguments...:end`, times in microseconds.

The arguments have the order of the C binding. A data type is `number,size,extent`, a communicator is
`handle,rank,size`, and an array of counts has two fields, its address and its values (liballprof's `gencode.py` in
github.com/spcl/LogGOPSim).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..._core import ConfigError
from ..._files import open_unpacked

_FIRST_CALL = re.compile(rb"(\s|#[^\n]*\n)*MPI_\w+:")
_NAME = re.compile(r"MPI_\w+", re.ASCII)
_TIME = re.compile(r"(\d{1,18})(?:\.(\d*))?")


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Communicator:
    """The argument of a call: handle, the caller's rank, and the number of ranks."""

    handle: str
    rank: int
    size: int


@dataclass(slots=True)
class Call:
    """A call. `start` and `end` are in ns, or None."""

    path: Path
    line: int
    name: str
    start: int | None
    end: int | None
    arguments: list[str]

    def error(self, text: str) -> ConfigError:
        """Return an error that names the place."""
        return ConfigError(f"{self.path}: line {self.line}: {self.name}: {text}")

    def _read(self, at: int, parse: Callable[[str], _T], what: str) -> _T:
        try:
            return parse(self.arguments[at])
        except (IndexError, ValueError):
            raise self.error(f"argument {at} is not {what}; is the line truncated?") from None

    def integer(self, at: int) -> int:
        """Return an argument that is an integer."""
        return self._read(at, int, "an integer")

    def count(self, at: int) -> int:
        """Return an argument that is a number of elements."""
        return self._read(at, _count, "a number of elements")

    def type_size(self, at: int) -> int:
        """Return the bytes of a data type."""
        return self._read(at, lambda text: _count(text.split(",")[-2]), "a data type (number,size,extent)")

    def bytes(self, count: int, kind: int) -> int:
        """Return the size of `count` elements of a data type; both are positions of arguments."""
        return self.count(count) * self.type_size(kind)

    def counts(self, at: int, number: int) -> list[int]:
        """Return an array of counts."""
        counts = self._read(at, lambda text: [_count(word) for word in text.split(",")], "an array of counts")
        if len(counts) != number:
            raise self.error(f"argument {at} has {len(counts)} counts for {number} ranks")
        return counts

    def communicator(self, at: int) -> Communicator:
        """Return a communicator."""
        return self._read(at, _communicator, "a communicator (handle,rank,size)")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _communicator(text: str) -> Communicator:
    handle, rank, size = text.split(",")
    found = Communicator(handle, int(rank), int(size))
    if not 0 <= found.rank < found.size:
        raise ValueError(text)
    return found


def looks_like_trace(begin: bytes) -> bool:
    """Whether the first line of a file, apart from comments, is a call."""
    return _FIRST_CALL.match(begin) is not None


def _time(text: str) -> int | None:
    """Nanoseconds, or None for `-`. The text is in microseconds, and a float would lose digits."""
    found = _TIME.fullmatch(text)
    if not found:
        return None
    return int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0")[:3])


def read_calls(path: Path) -> Iterator[Call]:
    """Yield the calls of a file."""
    with open_unpacked(path) as file:
        for number, line in enumerate(file, 1):
            text = line.decode("ascii", "replace").split("  # backtrace", 1)[0].strip()
            if not text or text.startswith("#"):
                continue
            name, *rest = text.split(":")
            if not _NAME.fullmatch(name) or len(rest) < 2:
                raise ConfigError(
                    f"{path}: line {number}: {text[:40]!r} is not a call of liballprof (MPI_Name:start:arguments:end)"
                )
            start, end = _time(rest[0]), _time(rest[-1])
            call = Call(path, number, name, start, end, rest[1:-1])
            for given, value in ((rest[0], start), (rest[-1], end)):
                if value is None and given != "-":
                    raise call.error(f"the time {given[:40]!r} is not valid; truncated?")
            if start is not None and end is not None and end < start:
                raise call.error("the call ends before it starts")
            yield call
