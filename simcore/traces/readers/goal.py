"""GOAL schedules as text, the schedule language of LogGOPSim (Hoefler, Siebert, Lumsdaine, ICPP 2009)."""

from __future__ import annotations

import re
from pathlib import Path

from ..._files import read_unpacked
from ..._program import Program
from ..reader import Reader, Trace, TraceOptions

_MARK = b"\xef\xbb\xbf"  # some editors begin a file with a UTF-8 mark
_BEGIN = re.compile(rb"(\s|//[^\n]*|/\*.*?\*/)*num_ranks\s", re.DOTALL)


def _recognises(begin: bytes) -> bool:
    return _BEGIN.match(begin.removeprefix(_MARK)) is not None


def _read(path: Path, options: TraceOptions) -> Trace:
    # As bytes, so that the parser reports line and column.
    return Trace(Program.goal(read_unpacked(path).removeprefix(_MARK), str(path)), "goal")


READER = Reader("goal", "a GOAL schedule as text, with num_ranks at its begin", _recognises, _read)
