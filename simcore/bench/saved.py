"""Files of results, with the machine and the commit of each measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from programs import RESULTS, BenchError, Row, machine, version


def save(name: str, measured: list[Row], folder: Path = RESULTS) -> Path:
    """Write `folder/NAME.json`. New results replace old ones, scene by scene.

    Raises:
        BenchError: The file is of another machine.
    """
    path, commit, here = folder / f"{name}.json", version(), machine()
    folder.mkdir(exist_ok=True)
    out: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"machine": here}
    if out["machine"] != here:
        raise BenchError(f"{path} is of another machine, {out['machine']}; save under another name")

    stamped = [{**row, "version": commit} for row in measured]
    out["scenes"] = list({row["scene"]: row for row in [*out.get("scenes", []), *stamped]}.values())
    path.write_text(json.dumps(out, indent=1) + "\n")
    return path
