"""Results as rows: one flat row per run, and Parquet tables of many rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...simcore import ConfigError
from ...simcore._files import atomic_path, open_plain
from .files import RESULT_FILE, DamagedError, read_arrays, read_columns, read_with_care, results_below
from .message_matrix import pair_columns

# The import of PyArrow takes longer than a short run, so only the functions that need it import it.
if TYPE_CHECKING:
    import pyarrow as pa

ROWS_FILE = "rows.parquet"
# Version of the schema of `rows.parquet`, an integer in its metadata.
ROWS_VERSION = 1
# "gathered": the finished runs below a folder; rows that can be made again from the results.
# "labelled": rows with labels of a command, such as `policy` and `task`, from which it draws its figures.
Kind = Literal["gathered", "labelled"]

_VERSION_KEY, _KIND_KEY = b"flitgym.rows.version", b"flitgym.rows.kind"
# Parts of a result that become no columns: lists, free-form facts, and the core's copy of the configuration.
_NOT_COLUMNS = {"facts", "rounding", "files", "blame", "class_blame", "checksum", "checksums", "core_config"}
PORT_BUFFER = "port_input_buffer_flits"  # a column: flits of all input buffers of a port
_NOT_OF_RUN = "plot"  # the section of a configuration that does not affect the run


def row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One result as one flat row: its numbers, and its configuration as `traffic.load`, `routing.name` and so on.

    The numbers of a job become columns such as `jobs.<name>.comm_time_mean_ns`, those of a mapping columns such as
    `mapping.dilation`. A time series becomes columns of lists, such as `series.time_ns`, and so do the random
    bisections of a forwarding table. A matrix of messages becomes the columns of `pair_columns`. The column
    `port_input_buffer_flits` is derived from the number of VCs in `facts`.
    """
    with read_with_care(directory / RESULT_FILE):
        columns = flat(result)
        for key in ("series", "patterns"):
            table = read_columns(result, directory, key) or {}
            columns.update({f"{key}.{name}": values.tolist() for name, values in table.items()})
        columns.update(pair_columns(read_arrays(result, directory, "messages") or {}))
    return columns


def flat(result: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of `row` that come from `result.json` alone."""
    columns: dict[str, Any] = {"kind": "simulation"}  # tables, searches and regrets name their kind
    for key, value in result.items():
        if key == "config":
            columns.update(_flatten({name: part for name, part in value.items() if name != _NOT_OF_RUN}))
        elif key == "jobs":
            columns.update(_flatten(value, "jobs."))
        elif key in ("warnings", "mapping", "flows", "queue", "plugins"):
            columns.update(_flatten(value or {}, f"{key}."))
        elif key not in _NOT_COLUMNS:
            columns[key] = value
    if (vcs := (result.get("facts") or {}).get("vcs")) and "router.input_buffer_flits" in columns:
        depth, output = columns["router.input_buffer_flits"], columns["router.output_buffer_flits"]
        if total := columns.get("router.buffer_total"):  # which simcore/src/core/router_setup.cpp divides alike
            depth = total // vcs * depth // (depth + output)
        columns[PORT_BUFFER] = int(vcs * depth)
    return columns


def rows_below(
    directory: Path,
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], Path]], list[DamagedError]]:
    """The rows of every finished run below a folder, their results and folders, and the errors of damaged runs."""
    found, damaged = results_below(directory)
    rows, kept = [], []
    for result, where in found:
        try:
            rows.append(row(result, where))
            kept.append((result, where))
        except DamagedError as error:
            damaged.append(error)
    return rows, kept, damaged


def rows_in(directory: Path) -> tuple[list[dict[str, Any]], list[DamagedError]]:
    """The rows of a study, a figure or a single run, and the errors of damaged runs.

    A labelled table has precedence, because its labels are stored nowhere else. Otherwise the results below the folder
    give the rows. A gathered table is read if there are no results.
    """
    table = directory / ROWS_FILE
    if is_labelled(table):
        return read_rows(table), []
    rows, _, damaged = rows_below(directory)
    if not rows and not damaged and table.is_file():
        return read_rows(table), []
    return rows, damaged


def write_gathered(directory: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write `rows.parquet` of a study. Without any row, nothing is written.

    Raises:
        ConfigError: there is a labelled table, whose labels would be lost, or a table of a newer version.
        OSError: the table cannot be written, for example because a folder has its name.
    """
    if rows and is_labelled(directory / ROWS_FILE):
        raise ConfigError(
            f"{directory / ROWS_FILE} holds these runs already, with labels that the figures and redraw=true need; to "
            "make it again, remove it first"
        )
    if rows:
        write_rows(directory / ROWS_FILE, rows)


def is_labelled(path: Path) -> bool:
    """Whether a table has labels of a command. A missing or damaged table has none, and may be replaced."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path) if path.is_file() else None
    except (OSError, ValueError):  # PyArrow raises these for a damaged file
        return False
    return schema is not None and _checked_metadata(path, schema).get(_KIND_KEY) == b"labelled"


def _checked_metadata(path: Path, schema: "pa.Schema") -> Mapping[bytes, bytes]:
    metadata: Mapping[bytes, bytes] = schema.metadata or {}
    version = metadata.get(_VERSION_KEY, b"0").decode("ascii", "replace")
    if not version.isdecimal() or int(version) > ROWS_VERSION:
        raise ConfigError(
            f"{path}: its schema has version {version}, and this flitgym reads versions up to {ROWS_VERSION}; "
            "install the flitgym that wrote it, or move the file away and run the command that wrote it again"
        )
    return metadata


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], kind: Kind = "gathered") -> None:
    """Write rows as Parquet. Routings differ in their parameters; a missing value is null."""
    import pyarrow.parquet as pq

    table = table_of(rows).replace_schema_metadata({_VERSION_KEY: str(ROWS_VERSION), _KIND_KEY: kind})
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)


def table_of(rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Rows as an Arrow table. Columns have the order of their first appearance."""
    import pyarrow as pa

    names: dict[str, None] = {}
    for entry in rows:
        names.update(dict.fromkeys(entry))
    return pa.table({name: _column([entry.get(name) for entry in rows]) for name in names})


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet table, in their order."""
    import pyarrow.parquet as pq

    with read_with_care(path), open_plain(path) as file:
        table = pq.read_table(file)
    _checked_metadata(path, table.schema)
    with read_with_care(path):
        rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _column(values: list[Any]) -> "pa.Array":
    import pyarrow as pa

    # A mixture of integers and floats is a column of floats. A mixture of other types becomes text.
    present = [value for value in values if value is not None]
    if any(isinstance(value, float) for value in present) and all(map(is_number, present)):
        return pa.array(values, pa.float64())
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
        return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())


def is_number(value: Any) -> bool:
    """Whether a value is a number and not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _flatten(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            columns.update(_flatten(value, f"{prefix}{key}."))
        else:
            columns[prefix + key] = value
    return columns
