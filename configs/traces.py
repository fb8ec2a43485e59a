"""Jobs that play a recorded trace: `workload=trace`, and jobs with the key `trace_file`."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..simcore import ConfigError
from ..simcore._files import open_plain
from ..simcore.traces import Trace, TraceOptions, find_reader, read_trace, trace_files
from .errors import unknown

# Keys of a job that plays a trace, apart from its name.
OPTIONS = tuple(each.name for each in fields(TraceOptions))
KEYS = {"name", "trace_file", "format", "terminals", "start_ns", *OPTIONS}

_MOST_RANKS = 1 << 24  # as for a motif


def trace_job(given: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """The core's job for a job with the key `trace_file`.

    Args:
        given: Keys of the job, a subset of `KEYS`.
        name: Name of the job.
        where: Place of its keys, for messages.

    Raises:
        ConfigError: a key or value is invalid, or the trace has an error; the message names file and place.
        OSError: a file cannot be read.
    """
    for key in given:
        if key not in KEYS:
            raise ConfigError(unknown(f"{where} (with a trace_file)", str(key), KEYS, "key"))
    job = {key: value for key, value in given.items() if key in ("terminals", "start_ns")}
    return {**job, "name": name, "program": _trace(given, where).program}


def trace_facts(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The facts for `result.json` about a job with the key `trace_file`: format, contents and assumptions."""
    trace = _trace(given, where)
    return {
        "format": trace.format,
        "ranks": trace.program.ranks,
        "counts": dict(trace.counts),
        "notes": list(trace.notes),
    }


def trace_hash(key: str, path: str) -> str:
    """A hash of a trace's content. In a folder, the names of the files inside count, since they may name ranks.

    Args:
        key: Of the configuration, for messages.
        path: Of a file or folder.

    Raises:
        ConfigError: a file is not a plain file; names the key.
        OSError: a file cannot be read; names the key.
    """
    place = Path(path)
    content = hashlib.sha256()
    try:
        single = not place.is_dir()
        for file in trace_files(place):
            with open_plain(file) as held:
                digest = hashlib.file_digest(held, "sha256")
            if single:
                return digest.hexdigest()
            content.update(f"{file.relative_to(place).as_posix()}\n{digest.hexdigest()}\n".encode())
    except OSError as error:
        raise OSError(error.errno, f"{key}: {error.strerror}", str(error.filename or path)) from None
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
    return content.hexdigest()


def _trace(given: Mapping[str, Any], where: str) -> Trace:
    path, form = given["trace_file"], given.get("format", "auto")
    for key, value in (("trace_file", path), ("format", form), ("collective", given.get("collective", "auto"))):
        if not isinstance(value, str):
            raise ConfigError(f"{where}.{key}: {value!r} is not a text")
    replicate = given.get("replicate", 0)
    if not isinstance(replicate, int) or isinstance(replicate, bool) or not 0 <= replicate <= _MOST_RANKS:
        raise ConfigError(f"{where}.replicate: {replicate!r} is not a number of ranks from 0 to {_MOST_RANKS}")
    size = given.get("size_scale", 1.0)
    if not isinstance(size, int | float) or isinstance(size, bool):
        raise ConfigError(f"{where}.size_scale: {size!r} is not a number")
    options = TraceOptions(**{key: given[key] for key in OPTIONS if key in given})
    try:
        find_reader(path, form)  # a wrong path or format does not need the state of all files
        return _read(path, form, options, _state(path))
    except OSError as error:
        raise OSError(error.errno, f"{where}: {error.strerror}", str(error.filename or path)) from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _state(path: str) -> tuple[Any, ...]:
    """Names, sizes and times of change of a trace's files."""
    stats = [(file.absolute(), file.stat()) for file in trace_files(path)]
    return tuple((str(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats)


@lru_cache(maxsize=2)
def _read(path: str, form: str, options: TraceOptions, state: tuple[Any, ...]) -> Trace:
    # A run needs the program, the bytes of its jobs and the facts about the trace.
    return read_trace(path, format=form, options=options)
