"""Results on disk: written whole or not at all, found again by the hash of their configuration, gathered into rows."""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULT_FILE = "result.json"
ROWS_FILE = "rows.parquet"

# Parts of a result that are no columns: lists and free-form facts. They stay in result.json.
_NOT_COLUMNS = {"facts", "rounding", "files", "blame"}


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it when the block ends, and vanishes when the block fails.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is then as it was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: NumPy and matplotlib choose the format by it.
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk says nothing of where
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write `data` to `path` in one step. A number that is not finite becomes null, as JSON has no other word."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(_jsonable(data), indent=2, allow_nan=False) + "\n")


def write_table(path: Path, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write equally long one-dimensional arrays as a Parquet table, in one step."""
    with atomic_path(path) as temporary:
        pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), temporary)


def read_result(directory: Path) -> dict[str, Any] | None:
    """The result in a run's directory, or None if there is none that can be read."""
    try:
        result = json.loads((directory / RESULT_FILE).read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    return result if isinstance(result, dict) else None


def finished(directory: Path, config_hash: str, version: str) -> dict[str, Any] | None:
    """The result in `directory` if it is of this very configuration, made by this version of the core.

    That of a workload counts only if all its jobs were done.
    """
    result = read_result(directory)
    if result is None or result.get("config_hash") != config_hash or result.get("version") != version:
        return None
    return result if result.get("workload_finished", True) else None


def row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One result as one flat row: its numbers, and its configuration as `traffic.load`, `routing.name` and so on.

    What is told of a job becomes columns `jobs.<name>.comm_time_mean_ns` and so on. A time series becomes columns of
    lists, `series.time_ns`, `series.latency_mean_ns` and so on.

    Args:
        result: What `result.json` holds.
        directory: Where it lies, for the files beside it.
    """
    flat: dict[str, Any] = {}
    for key, value in result.items():
        if key == "config":
            flat.update(_flatten(value))
        elif key == "jobs":
            flat.update(_flatten(value, "jobs."))
        elif key not in _NOT_COLUMNS:
            flat[key] = value
    if "series" in result.get("files", {}):
        series = pq.read_table(directory / result["files"]["series"])
        flat.update({f"series.{name}": series[name].to_pylist() for name in series.column_names})
    return flat


def gather(directory: Path) -> int:
    """Put every finished run below `directory` into one Parquet table, `rows.parquet`.

    Returns:
        The number of rows. Without any finished run nothing is written.
    """
    directories = [path.parent for path in sorted(directory.glob(f"**/{RESULT_FILE}"))]
    rows = [row(result, where) for where in directories if (result := read_result(where)) is not None]
    if rows:
        write_rows(directory / ROWS_FILE, rows)
    return len(rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet. Runs of different routings have different parameters: what a row lacks is null."""
    names: dict[str, None] = {}
    for entry in rows:
        names.update(dict.fromkeys(entry))
    columns = {name: _column([entry.get(name) for entry in rows]) for name in names}
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns), temporary)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet table, in the order they were written."""
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def _column(values: list[Any]) -> pa.Array:
    # 1 in one run and 0.5 in the next is one column of numbers; a mixture of kinds is text.
    present = [value for value in values if value is not None]
    if any(isinstance(value, float) for value in present) and all(_is_number(value) for value in present):
        return pa.array(values, pa.float64())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _flatten(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
