"""Files of results, with the machine and the commit of each measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from programs import RESULTS, BenchError, Row, machine, version

Results = dict[str, Any]


def merged(old: Results, new: Results) -> Results:
    """Replace old results by new results, scene by scene and series by series.

    Raises:
        BenchError: The results are from different machines.
    """
    if old and old.get("machine") != new["machine"]:
        raise BenchError(f"the saved results are of another machine, {old.get('machine')}; save under another name")
    out = {**old, "machine": new["machine"]}
    for part in ("scenes", "instructions"):
        if part in new:
            rows = {row["scene"]: row for row in old.get(part, [])}
            out[part] = list({**rows, **{row["scene"]: row for row in new[part]}}.values())
    if "series" in new:
        out["series"] = {**old.get("series", {}), **new["series"]}
    return out


def save(name: str, measured: Results, folder: Path = RESULTS) -> Path:
    """Write `folder/NAME.json`, merged with the file if it exists. Every row has the commit of its measurement.

    Raises:
        BenchError: The file is of another machine.
    """
    commit = version()

    def stamped(rows: list[Row]) -> list[Row]:
        return [{**row, "version": commit} for row in rows]

    new: Results = {"machine": machine()}
    for part in ("scenes", "instructions"):
        if measured.get(part):
            new[part] = stamped(measured[part])
    if measured.get("series"):
        new["series"] = {key: stamped(rows) for key, rows in measured["series"].items()}
    path = folder / f"{name}.json"
    folder.mkdir(exist_ok=True)
    old: Results = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(merged(old, new), indent=1) + "\n")
    return path
