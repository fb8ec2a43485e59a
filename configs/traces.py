"""Jobs that play a recorded trace: `workload=trace`, and jobs with the key `trace_file`."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..simcore import ConfigError
from ..simcore._files import open_plain, read_plain
from ..simcore.traces import Trace, TraceOptions, find_reader, read_trace, trace_files

OPTIONS = tuple(each.name for each in fields(TraceOptions))
_TYPES = {"format": str, "collective": str, "replicate": int, "size_scale": int | float}


def file_hash(key: str, path: str | Path, content: Callable[[bytes], bytes] | None = None) -> str:
    """A hash of a file's content, or of the bytes that `content` returns."""
    try:
        if content:
            return hashlib.sha256(content(read_plain(str(path)))).hexdigest()
        with open_plain(str(path)) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ConfigError) as error:
        raise named(key, error, str(path)) from None


def trace_hash(key: str, path: str) -> str:
    """A hash of a trace's content. In a folder, the names of the files inside count, since they may name ranks."""
    place = Path(path)
    if not place.is_dir():
        return file_hash(key, path)
    try:
        files = trace_files(place)
    except (OSError, ConfigError) as error:
        raise named(key, error, path) from None
    content = "".join(f"{file.relative_to(place).as_posix()}\n{file_hash(key, file)}\n" for file in files)
    return hashlib.sha256(content.encode()).hexdigest()


def trace_of(given: Mapping[str, Any], where: str) -> Trace:
    """The trace of a job with the key `trace_file`; `where` is the place of its keys, for messages."""
    path = given["trace_file"]
    for key, kind in _TYPES.items():
        if key in given and (not isinstance(given[key], kind) or (key == "replicate" and given[key] < 0)):
            noun = "text" if kind is str else "number of ranks" if kind is int else "number"
            raise ConfigError(f"{where}.{key}: {given[key]!r} is not a {noun}")
    form, options = given.get("format", "auto"), TraceOptions(**{key: given[key] for key in OPTIONS if key in given})
    try:
        find_reader(path, form)  # a wrong path or format does not need the state of all files
        # Names, sizes and times of change of the files show whether a trace has changed.
        stats = [(file.absolute(), file.stat()) for file in trace_files(path)]
        return _read(path, form, options, tuple((str(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats))
    except (OSError, ConfigError) as error:
        raise named(where, error, path) from error


@lru_cache(maxsize=2)
def _read(path: str, form: str, options: TraceOptions, state: tuple[Any, ...]) -> Trace:
    # A run needs the program, the bytes of its jobs and the facts about the trace.
    return read_trace(path, format=form, options=options)


def named(key: str, error: OSError | ConfigError, path: str) -> OSError | ConfigError:
    """An error about a file, with the key of the configuration that names it."""
    if isinstance(error, OSError):
        return OSError(error.errno, f"{key}: {error.strerror}", str(error.filename or path))
    return ConfigError(f"{key}: {error}")
