"""Results on disk. Files are written whole or not at all, and are found by the hash of their configuration.

Checksums detect a file that has changed since it was written. Such a file is never used as a result.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError
from ...simcore._files import atomic_path, open_plain, read_plain
from ...simcore._files import read_arrays as read_npz
from ...simcore.plugins import same as same_plugins

RESULT_FILE = "result.json"

# Errors of reading a file with unexpected content. PyArrow's own errors derive from these and from OSError.
_MISREAD = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(NotImplementedError, RecursionError, TypeError, ValueError),
)


class DamagedError(Exception):
    """A file of a run has changed since it was written, or cannot be read."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is damaged: {why}")
        self.path = path


@contextmanager
def read_with_care(path: Path) -> Iterator[None]:
    """Turn every error of a block that reads `path` into a `DamagedError` that names the file."""
    try:
        yield
    except ConfigError as error:
        raise DamagedError(path, str(error).removeprefix(f"{path}: ")) from error
    except OSError as error:
        raise DamagedError(path, error.strerror or str(error).strip().split("\n", 1)[0]) from error
    except _MISREAD as error:
        text = str(error).strip().split("\n", 1)[0]
        raise DamagedError(path, f"{type(error).__name__}: {text}" if text else type(error).__name__) from error


def require_writable(directory: Path) -> None:
    """Make a folder. An OSError before a simulation says that its result cannot be written there."""
    with atomic_path(directory / RESULT_FILE, keep=False):
        pass


@contextmanager
def remove_if_unused(directory: Path, parents: bool = True) -> Iterator[None]:
    """Remove a folder when a block raises, unless a file is in it.

    With `parents`, empty parents below the working directory go, too. Parallel runs share them.
    """
    try:
        yield
    except BaseException:
        inside = [parent for parent in directory.absolute().parents if parents and Path.cwd() in parent.parents]
        for folder in (directory, *inside):
            with suppress(OSError):  # it is not empty, or another block has removed it
                folder.rmdir()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write `data` to `path` in one step. JSON has no infinity and no NaN, so both become null."""
    write_text(path, json.dumps(_jsonable(data), indent=2, allow_nan=False) + "\n")


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write equally long one-dimensional arrays as a Parquet table, in one step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with atomic_path(path) as temporary:
        pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), temporary)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of any shape as a compressed npz, in one step."""
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def write_result(directory: Path, result: Mapping[str, Any]) -> None:
    """Write `result.json`, with checksums of itself and of the files that its `files` names."""
    plain: dict[str, Any] = _jsonable(result)
    plain["checksums"] = {name: _checksum((directory / name).read_bytes()) for name in plain["files"].values()}
    write_json(directory / RESULT_FILE, {**plain, "checksum": _own_checksum(plain)})


def read_result(directory: Path) -> dict[str, Any] | None:
    """The result in a run's directory; None if the file does not exist.

    Raises:
        DamagedError: the file cannot be read, does not match its checksum, or does not hold a mapping.
    """
    path = directory / RESULT_FILE
    with read_with_care(path):
        if not path.exists():
            return None
        result = json.loads(read_plain(path).decode("utf-8"))
    if not isinstance(result, dict):
        raise DamagedError(path, f"it holds a {type(result).__name__} and not a mapping")
    if result.get("checksum") != _own_checksum(result):
        raise DamagedError(path, "it does not match its checksum")
    return result


def read_columns(result: Mapping[str, Any], directory: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """The columns of the table that a result's `files` names under `key`; None if the file does not exist."""
    import pyarrow.parquet as pq

    if (path := check_table(result, directory, key)) is None:
        return None
    with read_with_care(path):
        with open_plain(path) as file:
            table = pq.read_table(file)
        return {column: table[column].to_numpy() for column in table.column_names}


def read_arrays(result: Mapping[str, Any], directory: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays of the npz file that a result's `files` names under `key`; None if the file does not exist."""
    if (path := check_table(result, directory, key)) is None:
        return None
    with read_with_care(path):
        return read_npz(path, "it holds no arrays")


def check_table(result: Mapping[str, Any], directory: Path, key: str) -> Path | None:
    """The file that a result's `files` names under `key`; None if it does not exist."""
    name = result.get("files", {}).get(key)
    if name is None or not (directory / name).exists():
        return None
    path = directory / str(name)
    with read_with_care(path):
        # A result that was not read from its file has no checksums.
        if "checksums" in result and _checksum(read_plain(path)) != result["checksums"].get(name):
            raise ValueError("it does not match its checksum")
    return path


def finished(directory: Path, config_hash: str, version: str, results_version: str = "") -> dict[str, Any] | None:
    """The result in `directory` if it can be reused; otherwise None.

    Its configuration must be the same, and its core must be this one or one with the same results. All jobs of a
    workload must have finished, and the plugins of the run must be installed and unchanged. A damaged result is
    reported on stderr and not reused.

    Cores with equal `results_version` (`simcore/CMakeLists.txt`) give equal results. If it is empty and so unknown,
    only results of the same `version` of the core are reused.
    """
    try:
        result = read_result(directory)
        if result is None or result.get("config_hash") != config_hash:
            return None
        same = results_version != "" and result.get("results_version") == results_version
        if (not same and result.get("version") != version) or not same_plugins(result.get("plugins", {})):
            return None
        for key, name in result["files"].items():
            if check_table(result, directory, key) is None:
                raise DamagedError(directory / name, "it is missing")
    except DamagedError as error:
        print(f"{error}; the run is repeated", file=sys.stderr, flush=True)
        return None
    return result if result.get("workload_finished", True) else None


def results_below(directory: Path) -> tuple[list[tuple[dict[str, Any], Path]], list[DamagedError]]:
    """Every result below a folder with the folder of its run, and the errors of damaged results."""
    found, damaged = [], []
    for path in sorted(directory.glob(f"**/{RESULT_FILE}")):
        try:
            result = read_result(path.parent)
            if result is not None:
                found.append((result, path.parent))
        except DamagedError as error:
            damaged.append(error)
    return found, damaged


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _own_checksum(result: Mapping[str, Any]) -> str:
    # The checksum covers the values and not the bytes, so the layout of the JSON does not matter.
    rest = {key: value for key, value in result.items() if key != "checksum"}
    return _checksum(json.dumps(rest, sort_keys=True).encode())
