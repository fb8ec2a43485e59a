"""Serialised GOAL schedules, which LogGOPSim's txt2bin writes, and LogGOPSim, htsim and ATLAHS read."""

from __future__ import annotations

from pathlib import Path

from ..._core import ConfigError
from ..._files import read_plain
from ..._program import Program
from ..reader import Reader, Trace, TraceOptions

# The first number of a file, and the number that a run of LogGOPSim with --save-mem leaves (spcl/LogGOPSim,
# Parser.hpp: MAGIC_COOKIE, MAGIC_COOKIE_INVALID). The core refuses the second with a reason.
_MARKS = {number.to_bytes(8, "little") for number in (4223, 2342)}


def _recognises(path: Path) -> bool:
    try:
        return read_plain(path, 8) in _MARKS
    except (ConfigError, OSError):
        return False


def _read(path: Path, options: TraceOptions) -> Trace:
    return Trace(Program.goal_binary(path), "goal_binary")


READER = Reader("goal_binary", "a serialised GOAL schedule, as LogGOPSim's txt2bin writes it", _recognises, _read)
