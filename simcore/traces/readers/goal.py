"""GOAL schedules as text, the schedule language of LogGOPSim (Hoefler, Siebert, Lumsdaine, ICPP 2009)."""

from __future__ import annotations

import re
from pathlib import Path

from ..._core import ConfigError
from ..._files import read_plain
from ..._program import Program
from ..reader import Reader, Trace, TraceOptions

_MARK = b"\xef\xbb\xbf"  # some editors begin a file with a UTF-8 mark
_BEGIN = 65536  # bytes; comments may precede the first word
_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _recognises(path: Path) -> bool:
    try:
        begin = read_plain(path, _BEGIN).removeprefix(_MARK)
    except (ConfigError, OSError):
        return False
    return re.match(rb"\s*num_ranks\s", _COMMENTS.sub(b" ", begin)) is not None


def _read(path: Path, options: TraceOptions) -> Trace:
    # As bytes, so that the parser reports line and column.
    return Trace(Program.goal(read_plain(path).removeprefix(_MARK), str(path)), "goal")


READER = Reader("goal", "a GOAL schedule as text, with num_ranks at its begin", _recognises, _read)
