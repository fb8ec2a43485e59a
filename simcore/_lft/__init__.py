"""Forwarding tables as text: dumps of linear forwarding tables, and comma-separated lists.

Three formats are read, also gzipped. The start of the file distinguishes them:

* The dump of OpenSM (`opensm-lfts.dump`), `ibroute`, `dump_lfts.sh` and `dump_fts`. Each switch has a line
  `Unicast lids [0-13] of switch Lid 1 guid 0x0000000000010000 ('s0'):`, a line per LID such as
  `0x0006 001 # Channel Adapter portguid 0x0000000000200001: 'h0'`, and at the end the number of these lines.
* `opensm.fdbs` of OpenSM and ibdiagnet, which only has GUIDs of switches and LIDs: `Switch 0x0000000000010000`, then
  `0x0006 : 001  : 01   : yes`.
* Comma-separated `switch,host,port` with names.

`NAME.sl.csv`, in the folder of `NAME.lft.csv` or `NAME.dump`, holds the service levels. It has a row per source host,
and in it a hexadecimal digit per destination (`-` for the host itself). `NAME.sl2vl.csv` holds the lanes of the service
levels: `switch,input_port,output_port,lane_per_service_level`.

A switch is identified by its name. A GUID identifies it if the name contains it (`S-ec0d9a0300ec8240`, as in
`ibnetdiscover`), or if `write` assigned it. A host is identified by its name, otherwise by the port to which its own
switch sends. Ports count from 1 in InfiniBand and from 0 here. An edge list may use either; the ports of the hosts show
which.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .. import _core
from .._files import read_unpacked
from .dumps import read_dump
from .lists import levels_beside, read_list

_TEXT = re.compile(r"Unicast lids|dump_ucast_routes: Switch 0x|^\s*switch,host,port")


def read(path: str | os.PathLike[str], graph: _core.ChannelGraph) -> dict[str, Any] | None:
    """Read the arrays of `ForwardingTable` from a text file; None: the file has none of the formats."""
    if not _TEXT.search(read_unpacked(path, most=2000).decode("utf-8", "replace")):
        return None
    lines = read_unpacked(path).decode("utf-8", "replace").splitlines()
    stem = re.sub(r"(\.lft(?=\.csv))?\.[^./]+(\.gz)?$", "", str(path))
    if next(filter(str.strip, lines)).lstrip().startswith("switch,host,port"):
        given, shift = read_list(lines, graph)
        if not re.search(r"\.lft\.csv(\.gz)?$", str(path)):
            return given
    else:
        given, shift = read_dump(lines, graph)
    return given | levels_beside(stem, graph, shift, given["port"], given["lmc"])
