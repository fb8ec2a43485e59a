"""The frame of all trace readers: the options of a trace, the trace that was read, and the reader of a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._program import Program


@dataclass(frozen=True)
class TraceOptions:
    """How a trace becomes a program. `Reader.options` lists the fields that a format uses.

    Args:
        replicate: Number of ranks of a symmetric job whose ranks all play the file of one rank. 0: every rank has its
            own operations in the trace.
        collective: Algorithm of the collectives, or `auto`: a table by message size chooses it.
        size_scale: Factor of the bytes of every message, rounded to at least one byte. The algorithms are chosen
            before.
    """

    replicate: int = 0
    collective: str = "auto"
    size_scale: float = 1.0


@dataclass(frozen=True)
class Trace:
    """A trace that was read.

    Args:
        program: Operations of all ranks, with the collectives expanded.
        format: Name of the reader.
        counts: Contents of the file before the expansion, for example `{"collectives": {"all_reduce": 3}, "bytes":
            {"all_reduce": 3072}}`: from names to numbers, or to another such mapping. JSON can represent it.
        notes: Assumptions of the reader that `result.json` states, each a sentence.
    """

    program: Program
    format: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A trace format. A module in `simcore/traces/readers` defines one as `READER`.

    Args:
        name: Value of `workload.format`, in lower case.
        summary: One line for messages and documentation.
        recognises: Whether a file has this format, judged by its first 65,536 bytes, decompressed.
        read: Reads a file or folder. It raises `ConfigError` with the place if the content is not valid.
        options: Fields of `TraceOptions` that the format uses. `read_trace` refuses all others.
        folders: Whether a trace may be a folder, of which the format recognises a file.
    """

    name: str
    summary: str
    recognises: Callable[[bytes], bool]
    read: Callable[[Path, TraceOptions], Trace]
    options: tuple[str, ...] = ()
    folders: bool = False
