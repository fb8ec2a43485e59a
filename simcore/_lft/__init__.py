"""Forwarding tables as text: dumps of linear forwarding tables, and comma-separated lists.

Three forms are read, also gzipped, told apart by their beginning:

* what OpenSM leaves in `opensm-lfts.dump`, and `ibroute`, `dump_lfts.sh` and `dump_fts` print: per switch a line
  `Unicast lids [0-13] of switch Lid 1 guid 0x0000000000010000 ('s0'):`, per LID a line
  `0x0006 001 # Channel Adapter portguid 0x0000000000200001: 'h0'`, and at the end how many lines there were;
* `opensm.fdbs` of OpenSM and ibdiagnet, which has GUIDs of switches and LIDs alone: `Switch 0x0000000000010000`, then
  `0x0006 : 001  : 01   : yes`;
* comma-separated `switch,host,port` with names.

`NAME.sl.csv` beside `NAME.lft.csv`, or beside a dump `NAME.dump`, holds the service levels, a row per source host and
in it one character per destination in base 16 (`-` for itself), and `NAME.sl2vl.csv` the lanes that they travel in,
`switch,input_port,output_port,lane_per_service_level`.

A switch is known by its name. Its GUID counts where that is its name (`S-ec0d9a0300ec8240`, as in `ibnetdiscover`), or
where it is the one that `write` gives. A host is known by its name, else as what hangs on the port to which its own
switch sends. Ports count from 1 in InfiniBand and from 0 here; in an edge list they may be either, and the hosts' own
ports say which.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .. import _core
from .._files import read_unpacked
from .dumps import FDB_SWITCH, arrays_of, read_dump, read_fdbs
from .lists import levels_beside, read_list


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of the forms that `read` knows.

    Raises:
        ConfigError: it is no plain file, or its compression is damaged.
        OSError: it cannot be read.
    """
    start = read_unpacked(path, most=2000).decode("utf-8", "replace")
    return "Unicast lids" in start or bool(FDB_SWITCH.search(start)) or start.lstrip().startswith("switch,host,port")


def read(path: str | os.PathLike[str], graph: _core.ChannelGraph) -> dict[str, Any]:
    """The arrays of `ForwardingTable` of a text file.

    Raises:
        ConfigError: it is none of the forms, cut short (naming switch and line), or of another network (naming nodes).
        OSError: it cannot be read.
    """
    path = Path(path)
    lines = read_unpacked(path).decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("switch,host,port"):
        return read_list(path, lines, graph)
    dump = read_fdbs(path, lines) if any(map(FDB_SWITCH.match, lines[:50])) else read_dump(path, lines)
    given, shift = arrays_of(dump, graph)
    return given | levels_beside(re.sub(r"\.[^.]+(\.gz)?$", "", str(path)), graph, shift, given["port"], given["lmc"])
