"""Serialised GOAL schedules, which LogGOPSim's txt2bin writes, and LogGOPSim, htsim and ATLAHS read."""

from __future__ import annotations

from pathlib import Path

from ..._program import Program
from ..reader import Reader, Trace, TraceOptions

_MARK = (4223).to_bytes(8, "little")  # MAGIC_COOKIE in spcl/LogGOPSim, Parser.hpp


def _recognises(begin: bytes) -> bool:
    return begin.startswith(_MARK)


def _read(path: Path, options: TraceOptions) -> Trace:
    return Trace(Program.goal_binary(path), "goal_binary")


READER = Reader("goal_binary", "a serialised GOAL schedule, as LogGOPSim's txt2bin writes it", _recognises, _read)
