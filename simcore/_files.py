"""Files written whole or not at all: the one way in which flitgym writes a file that somebody else reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str], keep: bool = True, parents: bool = True) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it when the block ends, and vanishes when the block fails.

    A crash at any moment leaves the old file or the new one, and nothing else under its name.

    Args:
        path: The file to be.
        keep: Whether it comes to be; otherwise this only finds out if it could.
        parents: Whether folders on the way are made; otherwise they must be there, as for `open()`.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is then as it was before.
    """
    path = Path(path)
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
