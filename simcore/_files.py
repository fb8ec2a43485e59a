"""Files that a user names: only plain files are read, and a failed write leaves no partial file."""

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
_MOST_OF_MEMORY = 4  # text may take 1/4 of the free memory, because its parsed lines take several times as much


def open_plain(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a plain file for reading bytes.

    Raises:
        ConfigError: The path is a folder, a device or a pipe (which may never end), or is not a valid name.
        OSError: The file cannot be read.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError as error:  # a zero byte or a lone surrogate
        raise ConfigError(f"{os.fspath(path)!r}: no file can have this name: {error}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ConfigError(f"{path}: not a plain file")
    return os.fdopen(handle, "rb")


def read_plain(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read the bytes of a plain file.

    Args:
        path: Path of the file.
        most: Largest number of bytes to read. None: all.

    Raises:
        ConfigError: As `open_plain`, or the file is larger than the free memory.
        OSError: The file cannot be read.
    """
    with open_plain(path) as file:
        size, free = os.fstat(file.fileno()).st_size, available_memory()
        if most is None and size > free:
            raise ConfigError(f"{path}: the file has {size:,} bytes, but only {free:,} bytes of memory are free")
        content = file.read(-1 if most is None else most)
        if content is None:  # a file of the kernel, such as /proc/kmsg, that would block
            raise ConfigError(f"{path}: not a plain file")
        return content


def read_unpacked(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read the bytes of a plain file, decompressed if it is gzipped.

    Args:
        path: Path of the file.
        most: Largest number of bytes to return. None: all.

    Raises:
        ConfigError: As `read_plain`, or the compressed data are cut short or damaged.
        OSError: The file cannot be read.
    """
    with open_plain(path) as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        return read_plain(path, most)
    limit = available_memory() // _MOST_OF_MEMORY if most is None else most
    content = bytearray()
    with open_plain(path) as file, gzip.GzipFile(fileobj=file) as unpacked:
        try:
            # A single read of the whole limit would allocate it at once.
            while len(content) <= limit and (piece := unpacked.read(_PIECE)):
                content += piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ConfigError(f"{path}: the compressed file is cut short or damaged: {error}") from error
    if most is None and len(content) > limit:
        raise ConfigError(f"{path}: its text has more than {limit:,} bytes, a quarter of the memory that is free")
    return bytes(content[:limit])


@contextmanager
def atomic_path(path: str | os.PathLike[str], keep: bool = True, parents: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces `path` if the block succeeds and is deleted if not.

    A crash at any moment leaves the old file or the new one under `path`, never a partial file.

    Args:
        path: Path of the final file.
        keep: Whether to create the file; False only tests whether it could be written.
        parents: Whether to create missing parent folders. False: they must exist, as for `open()`.

    Raises:
        OSError: The folder is not writable, the disk is full, or `path` is a folder. `path` is then unchanged.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if parents:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent)) from None
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
