"""The files of a trace: a file, or a folder with one file per rank."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from .._core import ConfigError
from .._files import read_unpacked

_BEGIN = 1 << 16  # bytes by which a format is recognised
_RANK = re.compile(r"(\d{1,9})\D*$")


def trace_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files of a trace: the file itself, or all files below a folder in the order of their names.

    Hidden files are left out.
    """
    place = Path(path)
    place.stat()
    if not place.is_dir():
        return [place]
    inside = (found.relative_to(place) for found in place.rglob("*") if not found.is_dir())
    return [place / found for found in sorted(inside) if not any(part.startswith(".") for part in found.parts)]


def begin_of(path: Path) -> bytes:
    """The first bytes of a file, decompressed; empty if it cannot be read."""
    try:
        return read_unpacked(path, _BEGIN)
    except (ConfigError, OSError):
        return b""


def rank_of(path: Path) -> int:
    """The last number in the name of a file, which is its rank; 0 without a number."""
    found = _RANK.search(path.name)
    return int(found[1]) if found else 0


def rank_files(path: Path, recognises: Callable[[bytes], bool]) -> list[Path]:
    """The file itself, or the files of the ranks 0, 1, ... in a folder, which may hold other files, too."""
    if not path.is_dir():
        return [path]
    found: dict[int, Path] = {}
    for each in sorted(path.iterdir()):
        if each.is_file() and not each.name.startswith(".") and recognises(begin_of(each)):
            rank = rank_of(each)
            if rank in found:
                raise ConfigError(f"{found[rank].name} and {each.name} are both for rank {rank}; keep one of them")
            found[rank] = each
    if not found:
        inside = ", ".join(sorted(each.name for each in path.iterdir() if each.is_dir())[:6])
        hint = f"; it has the folders {inside}, name one of them" if inside else ""
        raise ConfigError(f"this folder has no file of a rank, such as name.0.et or name-0.txt{hint}")
    missing = next((rank for rank in range(len(found)) if rank not in found), None)
    if missing is not None:
        raise ConfigError(f"there is no file for rank {missing}, but one for rank {max(found)}; ranks start at 0")
    return [found[rank] for rank in range(len(found))]
