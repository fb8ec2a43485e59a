"""Archives of arrays (`.npz`) and single arrays (`.npy`) that may be damaged, or made to do harm.

An archive says how large its arrays are before one of them is unpacked: a few bytes can stand for gigabytes.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError, available_memory
from ._files import open_plain

Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""


class Archive:
    """An open archive. Its methods raise errors of many types where it is damaged; `open_archive` makes them one."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        entries = {info.filename: info for info in file.infolist()}
        self._entries = {name.removesuffix(".npy"): info for name, info in entries.items()}
        self.names = tuple(self._entries)

    def header(self, name: str) -> Header:
        """Shape and type of an array that is not read."""
        with self._open(name) as file:
            return _header(file)

    def array(self, name: str, most: int) -> NDArray[Any]:
        """An array of at most so many bytes."""
        _check(name, *self.header(name), most)
        with self._open(name) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            file.read(1)  # the end, where the checksum is compared
        return array

    def _open(self, name: str) -> IO[bytes]:
        info = self._entries[name]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may need any amount of memory
            raise ValueError(f"{name} is compressed by a method that NumPy does not use")
        return self._file.open(info)


@contextmanager
def open_archive(path: str | os.PathLike[str], refusal: str) -> Iterator[Archive]:
    """An archive to read from.

    Args:
        path: Of the file.
        refusal: Begins the message where the file is none, or damaged.

    Raises:
        ConfigError: `refusal` and the reason, for whatever the block raises; or it is no plain file.
        OSError: it cannot be opened.
    """
    with open_plain(path) as file, _refusing(refusal), zipfile.ZipFile(file) as archive:
        yield Archive(archive)


def read_arrays(path: str | os.PathLike[str], refusal: str) -> dict[str, NDArray[Any]]:
    """All arrays of an archive, by name; a single array (`.npy`) has the name ''.

    Raises:
        ConfigError: as `open_archive`, or they take more than the memory that is free.
        OSError: it cannot be opened.
    """
    free = available_memory()
    with open_plain(path) as file:
        single = file.read(6) == b"\x93NUMPY"
        if single:
            with _refusing(refusal):
                file.seek(0)
                _check("its array", *_header(file), min(free, os.fstat(file.fileno()).st_size))
                file.seek(0)
                return {"": np.lib.format.read_array(file, allow_pickle=False)}
    with open_archive(path, refusal) as archive:
        arrays = {}
        for name in archive.names:
            arrays[name] = archive.array(name, free)
            free -= arrays[name].nbytes
        return arrays


@contextmanager
def _refusing(refusal: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on bytes that are not theirs
        raise ConfigError(f"{refusal}: {str(error)[:200] or type(error).__name__}") from error


def _header(file: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"arrays of version {version}")
    shape, _, dtype = readers[version](file)
    return shape, dtype


def _check(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], most: int) -> None:
    if dtype.hasobject or any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize > most:
        raise ValueError(f"{name} is an array of {dtype} {shape}, and at most {most} bytes are read")
