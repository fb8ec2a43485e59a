"""Files of Q-tables: an `.npz` archive of the table, its layout and the topology it was learned on."""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import atomic_path

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

    What the archive says about itself is looked at before anything is unpacked: a few bytes can stand for gigabytes.

    Raises:
        ConfigError: the file is no Q-table, or another one; names both.
        OSError: the file cannot be read.
    """
    where = f"load_q_table(): {path}"
    table: NDArray[Any] | None = None
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                held = {info.filename: info for info in archive.infolist()}
                missing = [name for name in _MEMBERS if f"{name}.npy" not in held]
                if missing:
                    raise ValueError(f"it lacks {', '.join(missing)}")
                own_layout = _text(archive, held["layout.npy"])
                own_topology = _text(archive, held["topology.npy"])
                with _opened(archive, held["table.npy"]) as member:
                    own_shape, _, dtype = _header(member)
                if (own_layout, own_topology, own_shape) == (layout, topology, shape):
                    if dtype.kind not in "fiu":
                        raise ValueError(f"its table is of type {dtype}")
                    table = _member(archive, held["table.npy"], math.prod(shape) * dtype.itemsize)
        except Exception as error:  # zipfile and NumPy raise a dozen kinds on bytes that are not theirs
            raise ConfigError(f"{where} is no Q-table file ({str(error)[:200] or type(error).__name__})") from error
    if own_layout != layout:
        raise ConfigError(f"{where} holds {own_layout[:200]!r}, but this routing needs '{layout}'")
    if table is None:
        raise ConfigError(
            f"{where} was learned on {own_topology[:200]!r} {own_shape}, but this network is '{topology}' {shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit 32 bits becomes infinite, and is refused
        return np.ascontiguousarray(table, np.float32)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"arrays of version {version}")


def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may need any amount of memory
        raise ValueError(f"{info.filename} is compressed as no Q-table is")
    return archive.open(info)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> NDArray[Any]:
    """An array of at most so many bytes."""
    with _opened(archive, info) as file:
        shape, _, dtype = _header(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > most:
        raise ValueError(f"{info.filename} is an array of {dtype} {shape}")
    with _opened(archive, info) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    array = _member(archive, info, _MOST_TEXT)
    if array.dtype.kind != "U" or array.shape != ():
        raise ValueError(f"{info.filename} is no text")
    return str(array)
