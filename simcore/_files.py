"""Files that a user names: read if they are plain ones, written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ._core import ConfigError, available_memory

_PIECE = 1 << 20  # bytes
_MOST_OF_MEMORY = 4  # text may take a quarter of the memory that is free, for its lines take several times as much


def open_plain(path: str | os.PathLike[str]) -> BufferedReader:
    """A plain file, opened to read its bytes.

    Raises:
        ConfigError: it is a folder, a device or a pipe, which may never end; or no file can have this name.
        OSError: it cannot be read.
    """
    try:
        # Without O_NONBLOCK, a pipe is opened when another process writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError as error:  # a zero byte, or half a character
        raise ConfigError(f"{os.fspath(path)!r}: no file can have this name: {error}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ConfigError(f"{path}: it is no plain file")
    return os.fdopen(handle, "rb")


def read_plain(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The bytes of a plain file.

    Args:
        path: Of the file.
        most: Bytes to read; None: all.

    Raises:
        ConfigError: as `open_plain`, or it is larger than the memory that is free.
        OSError: it cannot be read.
    """
    with open_plain(path) as file:
        if most is not None:
            return file.read(most)
        size, free = os.fstat(file.fileno()).st_size, available_memory()
        if size > free:
            raise ConfigError(f"{path}: it has {size:,} bytes; the machine has {free:,} bytes of memory free")
        return file.read()


def read_unpacked(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The bytes of a plain file, unpacked where it is gzipped.

    Args:
        path: Of the file.
        most: Bytes to read; None: all.

    Raises:
        ConfigError: as `read_plain`, or the compressed file is cut short or damaged.
        OSError: it cannot be read.
    """
    with open_plain(path) as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        return read_plain(path, most)
    limit = available_memory() // _MOST_OF_MEMORY if most is None else most
    content = bytearray()
    with open_plain(path) as file, gzip.GzipFile(fileobj=file) as unpacked:
        try:
            # A read of all that may come would allocate it at once.
            while len(content) <= limit and (piece := unpacked.read(_PIECE)):
                content += piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ConfigError(f"{path}: the compressed file is cut short or damaged: {error}") from error
    if most is None and len(content) > limit:
        raise ConfigError(f"{path}: its text has more than {limit:,} bytes, a quarter of the memory that is free")
    return bytes(content[:limit])


@contextmanager
def atomic_path(path: str | os.PathLike[str], keep: bool = True, parents: bool = True) -> Iterator[Path]:
    """A temporary path in the same folder. It replaces `path` when the block ends, and vanishes when the block fails.

    A crash at any moment leaves the old file or the new one, and nothing else under its name.

    Args:
        path: The file to be.
        keep: Whether it comes to be; otherwise this only finds out if it could.
        parents: Whether folders on the way are made; otherwise they must be there, as for `open()`.

    Raises:
        OSError: the folder cannot be written, the disk is full, or `path` is a folder. `path` is then as it was before.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: NumPy and matplotlib choose the format by it.
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
        error.filename = error.filename or str(path)  # a full disk says nothing of where
        raise
    finally:
        temporary.unlink(missing_ok=True)
