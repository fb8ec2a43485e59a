"""Array files (`.npz`, `.npy`) from untrusted sources: damaged, or made to exhaust memory.

The sizes in an archive's headers are checked before an array is unpacked, because a small file can unpack to gigabytes.
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
    """An open archive. On damaged files its methods raise many types of errors; `open_archive` converts them."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        entries = {info.filename: info for info in file.infolist()}
        self._entries = {name.removesuffix(".npy"): info for name, info in entries.items()}
        self.names = tuple(self._entries)

    def header(self, name: str) -> Header:
        """Return the shape and type of an array without reading its data."""
        with self._open(name) as file:
            return _header(file)

    def array(self, name: str, most: int) -> NDArray[Any]:
        """Read an array of at most `most` bytes."""
        _check(name, *self.header(name), most)
        with self._open(name) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            file.read(1)  # reaching the end compares the checksum
        return array

    def _open(self, name: str) -> IO[bytes]:
        info = self._entries[name]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may need unbounded memory
            raise ValueError(f"{name} is compressed with a method that NumPy does not use")
        return self._file.open(info)


@contextmanager
def open_archive(path: str | os.PathLike[str], refusal: str) -> Iterator[Archive]:
    """Open an archive for reading.

    Args:
        path: Path of the file.
        refusal: Start of the message if the file is not an archive or is damaged.

    Raises:
        ConfigError: The block raised an error, or the path is not a plain file. The message is `refusal` and a reason.
        OSError: The file cannot be opened.
    """
    with open_plain(path) as file, _refusing(refusal), zipfile.ZipFile(file) as archive:
        yield Archive(archive)


def read_arrays(path: str | os.PathLike[str], refusal: str) -> dict[str, NDArray[Any]]:
    """Read all arrays of an archive, by name. The array of an `.npy` file has the name ''.

    Raises:
        ConfigError: As `open_archive`, or the arrays need more memory than is free.
        OSError: The file cannot be opened.
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
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen types on damaged data
        raise ConfigError(f"{refusal}: {str(error)[:200] or type(error).__name__}") from error


def _header(file: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version} of the .npy format is not supported")
    shape, _, dtype = readers[version](file)
    return shape, dtype


def _check(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], most: int) -> None:
    if dtype.hasobject or any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize > most:
        raise ValueError(f"{name} is an array of {dtype} {shape}, not of numbers with at most {most} bytes")
