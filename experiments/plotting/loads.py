"""The load of the links of a finished run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...simcore.pictures.frames import KEYS
from ...simcore.pictures.loads import Loads, loads_of
from ..results.files import read_columns


def run_loads(result: Mapping[str, Any], directory: Path) -> Loads | None:
    """The loads of a run; None if it has no table of the links."""
    links = read_columns(result, directory, "links")
    if links is None or "router" not in links or not links["router"].size:
        return None
    none = dict.fromkeys((*KEYS, "source_group", "destination_group", "packets", "share"), np.empty(0, dtype=np.int64))
    flows, facts = read_columns(result, directory, "flows") or none, result["facts"]
    return loads_of(links, flows, result["core_config"]["topology"], facts["routers"], facts["failed_links"])
