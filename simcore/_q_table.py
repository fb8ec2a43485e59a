"""Files of Q-tables: an `.npz` archive of the table, its layout and the topology it was learned on."""

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
_MOST_TEXT = 1 << 16  # bytes of `layout` and of `topology`


def write(path: str | os.PathLike[str], table: NDArray[np.float32], layout: str, topology: str) -> None:
    """Write the file whole or not at all.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    with atomic_path(path, parents=False) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, table=table, layout=np.array(layout), topology=np.array(topology))


def read(path: str | os.PathLike[str], shape: tuple[int, ...], layout: str, topology: str) -> NDArray[np.float32]:
    """The table of a file, which must be one of this shape, layout and topology.

    Layout, topology and shape are compared before the table is unpacked: a few bytes can stand for gigabytes.

    Raises:
        ConfigError: the file is no Q-table, or another one; names both.
        OSError: the file cannot be read.
    """
    where = f"load_q_table(): {path}"
    table: NDArray[Any] | None = None
    with open_archive(path, f"{where} is no Q-table file, or damaged") as archive:
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
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit 32 bits becomes infinite, and is refused
        return np.ascontiguousarray(table, np.float32)


def _text(archive: Archive, name: str) -> str:
    array = archive.array(name, _MOST_TEXT)
    if array.dtype.kind != "U" or array.shape != ():
        raise ValueError(f"{name} is no text")
    return str(array)
