"""Serialised GOAL schedules, which LogGOPSim's txt2bin writes, and LogGOPSim, htsim and ATLAHS read."""

from __future__ import annotations

from pathlib import Path

from ..._program import Program
from ..reader import Reader, Trace, TraceOptions

# The first number of a file, and the number that a run of LogGOPSim with --save-mem leaves (spcl/LogGOPSim,
# Parser.hpp: MAGIC_COOKIE, MAGIC_COOKIE_INVALID). The core refuses the second with a reason.
_MARKS = tuple(number.to_bytes(8, "little") for number in (4223, 2342))


def _recognises(begin: bytes) -> bool:
    return begin.startswith(_MARKS)


def _read(path: Path, options: TraceOptions) -> Trace:
    return Trace(Program.goal_binary(path), "goal_binary")


READER = Reader("goal_binary", "a serialised GOAL schedule, as LogGOPSim's txt2bin writes it", _recognises, _read)
