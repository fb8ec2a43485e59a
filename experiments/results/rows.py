"""Results as rows: one flat row per run, many of them in one Parquet table."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...simcore import ConfigError
from ...simcore._files import atomic_path, open_plain
from .files import RESULT_FILE, DamagedError, read_arrays, read_columns, read_with_care, results_below
from .message_matrix import pair_columns

# PyArrow takes longer to import than a short run to run, so that only functions that need it do.
if TYPE_CHECKING:
    import pyarrow as pa

ROWS_FILE = "rows.parquet"

# Parts of a result that are no columns: lists and free-form facts. They stay in result.json.
_NOT_COLUMNS = {"facts", "rounding", "files", "blame", "checksum", "checksums"}


def row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One result as one flat row: its numbers, and its configuration as `traffic.load`, `routing.name` and so on.

    What is told of a job becomes columns `jobs.<name>.comm_time_mean_ns` and so on, of a mapping `mapping.dilation`. A
    time series becomes columns of lists, `series.time_ns`, `series.latency_mean_ns` and so on; so do the random
    bisections of a forwarding table. A matrix of messages becomes the columns of `pair_columns`.

    Args:
        result: What `result.json` holds.
        directory: Where it lies, for the files beside it.

    Raises:
        DamagedError: the result or its series is not what was written.
    """
    flat: dict[str, Any] = {}
    with read_with_care(directory / RESULT_FILE):
        for key, value in result.items():
            if key == "config":
                flat.update(_flatten(value))
            elif key == "jobs":
                flat.update(_flatten(value, "jobs."))
            elif key in ("warnings", "mapping", "flows", "plugins"):
                flat.update(_flatten(value or {}, f"{key}."))
            elif key not in _NOT_COLUMNS:
                flat[key] = value
        for key in ("series", "patterns"):
            columns = read_columns(result, directory, key) or {}
            flat.update({f"{key}.{name}": values.tolist() for name, values in columns.items()})
        flat.update(pair_columns(read_arrays(result, directory, "messages") or {}))
    return flat


def gather(directory: Path) -> tuple[int, list[DamagedError]]:
    """Put every finished run below `directory` into one Parquet table, `rows.parquet`.

    Returns:
        The number of rows, and the runs that are left out because they are damaged. Without any finished run nothing
        is written.

    Raises:
        ConfigError: there is a table from which figures were drawn; a plain one would lack what they need.
        OSError: the table cannot be written, for example because a folder has its name.
    """
    found, damaged = results_below(directory)
    rows = []
    for result, where in found:
        try:
            rows.append(row(result, where))
        except DamagedError as error:
            damaged.append(error)
    if rows and _drawn_from(directory / ROWS_FILE):
        raise ConfigError(
            f"{directory / ROWS_FILE} holds these runs already, as its figures were drawn from them (redraw=true needs "
            "that); to gather them anew remove it first"
        )
    if rows:
        write_rows(directory / ROWS_FILE, rows)
    return len(rows), damaged


def _drawn_from(path: Path) -> bool:
    """Whether a table was written for figures: those say who plays (`policy`) and hold more than a plain one."""
    import pyarrow.parquet as pq

    try:
        return path.is_file() and "policy" in pq.read_schema(path).names
    except (OSError, ValueError):  # pyarrow raises these on a damaged file, which may be written anew
        return False


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet. Runs of different routings have different parameters: what a row lacks is null.

    Raises:
        OSError: the table cannot be written, for example because a folder has its name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names: dict[str, None] = {}
    for entry in rows:
        names.update(dict.fromkeys(entry))
    columns = {name: _column([entry.get(name) for entry in rows]) for name in names}
    with atomic_path(path) as temporary:
        pq.write_table(pa.table(columns), temporary)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet table, in the order they were written.

    Raises:
        DamagedError: it cannot be read.
    """
    import pyarrow.parquet as pq

    with read_with_care(path), open_plain(path) as file:
        rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return rows


def _column(values: list[Any]) -> "pa.Array":
    import pyarrow as pa

    # 1 in one run and 0.5 in the next is one column of numbers; a mixture of kinds is text.
    present = [value for value in values if value is not None]
    if any(isinstance(value, float) for value in present) and all(_is_number(value) for value in present):
        return pa.array(values, pa.float64())
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
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
