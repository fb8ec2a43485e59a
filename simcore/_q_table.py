"""Q-table files: `.npz` archives of a table, its layout and the topology it was learned on."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import atomic_path
from ._npz import Archive, open_archive

_MEMBERS = ("table", "layout", "topology")
_MOST_TEXT = 1 << 16  # bytes; limit for `layout` and `topology`


def write(path: str | os.PathLike[str], table: NDArray[np.float32], layout: str, topology: str) -> None:
    """Write the file. A failed write leaves no partial file.

    Raises:
        OSError: The file cannot be written.
    """
    with atomic_path(path, parents=False) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, table=table, layout=np.array(layout), topology=np.array(topology))


def read(path: str | os.PathLike[str], shape: tuple[int, ...], layout: str, topology: str) -> NDArray[np.float32]:
    """Read the table of a file, which must have this shape, layout and topology.

    These three are compared before the table is unpacked, because a small archive can unpack to gigabytes.

    Raises:
        ConfigError: The file is not a Q-table, or is for another network or routing; the message names both.
        OSError: The file cannot be read.
    """
    where = f"load_q_table(): {path}"
    table: NDArray[Any] | None = None
    with open_archive(path, f"{where} is not a Q-table file, or is damaged") as archive:
        missing = [name for name in _MEMBERS if name not in archive.names]
        if missing:
            raise ValueError(f"it lacks {', '.join(missing)}")
        own_layout, own_topology = _text(archive, "layout"), _text(archive, "topology")
        own_shape, dtype = archive.header("table")
        if (own_layout, own_topology, own_shape) == (layout, topology, shape):
            if dtype.kind not in "fiu":
                raise ValueError(f"its table is of type {dtype}")
            table = archive.array("table", math.prod(shape) * dtype.itemsize)
    if own_layout != layout:
        raise ConfigError(f"{where} holds {own_layout[:200]!r}, but this routing needs '{layout}'")
    if table is None:
        raise ConfigError(
            f"{where} was learned on {own_topology[:200]!r} {own_shape}, but this network is '{topology}' {shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # values beyond 32 bits become infinite; the core refuses them
        return np.ascontiguousarray(table, np.float32)


def _text(archive: Archive, name: str) -> str:
    array = archive.array(name, _MOST_TEXT)
    if array.dtype.kind != "U" or array.shape != ():
        raise ValueError(f"{name} is not text")
    return str(array)
