"""Recorded traces: schedules and executions that other tools wrote, read as programs.

`read_trace(path)` recognises the format by the content. Every module in `readers` adds a format.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from dataclasses import fields
from functools import cache
from pathlib import Path

from .._core import ConfigError
from .._words import refuse_unknown
from . import readers as _readers
from .files import begin_of, trace_files
from .reader import Reader, Trace, TraceOptions

_LOOKED_AT = 64  # files of a folder that are looked at for this

__all__ = ["Reader", "Trace", "TraceOptions", "find_reader", "read_trace", "readers", "trace_files"]


@cache
def readers() -> dict[str, Reader]:
    """All formats by name, in alphabetical order."""
    found = {}
    for module in pkgutil.iter_modules(_readers.__path__):
        if not module.name.startswith("_"):
            reader: Reader = importlib.import_module(f"{_readers.__name__}.{module.name}").READER
            found[reader.name] = reader
    return dict(sorted(found.items()))


def find_reader(path: str | os.PathLike[str], format: str = "auto") -> Reader:  # noqa: A002
    """Return the reader of a file or folder.

    Args:
        path: Path of the file or folder.
        format: Name of the format, or `auto`.

    Raises:
        ConfigError: The format does not exist, or none or several recognise the content.
        OSError: There is no such file.
    """
    known = readers()
    if format != "auto":
        refuse_unknown(str(path), [format], ["auto", *known], "trace format")
        return known[format]
    place = Path(path)
    outer = sorted(trace_files(place), key=lambda file: len(file.parts))  # a folder may have many files within folders
    begins = [begin_of(file) for file in outer[:_LOOKED_AT]]
    usable = [reader for reader in known.values() if reader.folders or not place.is_dir()]
    fitting = [reader for reader in usable if any(map(reader.recognises, begins))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(reader.name for reader in fitting)
        raise ConfigError(f"{path}: the content fits the trace formats {names}; set the format to one of them")
    lines = "".join(f"\n  {reader.name}: {reader.summary}" for reader in known.values())
    kind = "folder" if place.is_dir() else "file"
    raise ConfigError(f"{path}: no trace format recognises this {kind}. The formats are:{lines}")


def read_trace(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002
    options: TraceOptions | None = None,
) -> Trace:
    """Read a trace.

    Args:
        path: Path of a file, or of a folder that holds one file per rank.
        format: Name of the format; `auto` recognises it by the content.
        options: How the trace becomes a program; None: the defaults.

    Raises:
        ConfigError: The format is unknown, an option has no effect in this format, or the content is not valid. The
            message names file and place.
        OSError: A file cannot be read.
    """
    chosen = options or TraceOptions()
    reader = find_reader(path, format)
    for option in fields(chosen):
        name = option.name
        if name not in reader.options and getattr(chosen, name) != option.default:
            able = ", ".join(other.name for other in readers().values() if name in other.options) or "none"
            raise ConfigError(
                f"{path}: the option '{name}' has no effect on the trace format {reader.name}; leave it out. "
                f"Formats with this option: {able}"
            )
    try:
        return reader.read(Path(path), chosen)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # ConfigError is a ValueError
        if str(error).startswith(str(path)):
            raise
        text = error if isinstance(error, ConfigError) else f"damaged, or not of format {reader.name}: {error!r}"
        raise ConfigError(f"{path}: {text}") from error
