"""Files that a user names: only plain files are read, and a failed write leaves no partial file."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError


def open_plain(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a plain file for reading bytes."""
    if Path(path).exists() and not Path(path).is_file():
        raise ConfigError(f"{path}: not a plain file")
    return Path(path).open("rb")


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a plain file."""
    with open_plain(path) as file:
        return file.read()


@contextmanager
def open_unpacked(path: str | os.PathLike[str]) -> Iterator[BufferedIOBase]:
    """Open a plain file for reading bytes, decompressed if it is gzipped."""
    with open_plain(path) as file:
        try:
            yield gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ConfigError(f"{path}: the compressed file is cut short or damaged: {error}") from error


def read_unpacked(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Read at most `most` bytes (-1: all) of a plain file, decompressed if it is gzipped."""
    with open_unpacked(path) as file:
        return file.read(most)


def read_arrays(path: str | os.PathLike[str], refusal: str) -> dict[str, NDArray[np.generic]]:
    """Read all arrays of an archive, by name. The array of an `.npy` file has the name ''.

    `refusal` begins the message if the file holds no arrays or is damaged.
    """
    with open_plain(path) as file:
        try:
            held = np.load(file, allow_pickle=False)
            if isinstance(held, np.ndarray):
                return {"": held}
            if wrong := held.zip.testzip():  # NumPy does not always read to the end, where the checksum is
                raise ValueError(f"the checksum of {wrong} differs")
            return dict(held)
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types on damaged data
            raise ConfigError(f"{refusal}: {str(error)[:200] or type(error).__name__}") from error


@contextmanager
def atomic_path(path: str | os.PathLike[str], keep: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces `path` if the block succeeds and is deleted if not.

    Missing parent folders are created. A crash at any moment leaves the old file or the new one under `path`, never a
    partial file. With keep=False, the block only tests whether the file could be written.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept, because NumPy and matplotlib derive the format from it.
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if keep:
            temporary.chmod(0o644)
            temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a full disk names no file
        raise
    finally:
        temporary.unlink(missing_ok=True)
