"""The files of a trace with one file per rank."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from .._core import ConfigError

_RANK = re.compile(r"(\d{1,9})\D*$")


def rank_of(path: Path) -> int:
    """The last number in the name of a file, which is its rank; 0 without a number."""
    found = _RANK.search(path.name)
    return int(found[1]) if found else 0


def by_rank(files: Iterable[Path]) -> list[Path]:
    """The files of the ranks 0, 1, ...

    Raises:
        ConfigError: Two files are for the same rank, or a rank has no file.
    """
    found: dict[int, Path] = {}
    for each in files:
        rank = rank_of(each)
        if rank in found:
            raise ConfigError(f"{found[rank].name} and {each.name} are both for rank {rank}; keep one of them")
        found[rank] = each
    missing = next((rank for rank in range(len(found)) if rank not in found), None)
    if missing is not None:
        raise ConfigError(f"there is no file for rank {missing}, but one for rank {max(found)}; ranks start at 0")
    return [found[rank] for rank in range(len(found))]
