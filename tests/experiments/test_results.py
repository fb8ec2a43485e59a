"""Results are written completely or not at all, found again, and gathered."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flitgym.experiments.results.files import finished, write_json, write_result, write_table
from flitgym.experiments.results.rows import ROWS_FILE, read_rows, rows_below, rows_in, write_gathered, write_rows
from flitgym.simcore import ConfigError

RESULT: dict[str, Any] = {"config": {"seed": 1}, "facts": {}, "files": {}, "jobs": {}}


def test_numbers_become_json(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"a": np.float32(0.5), "b": math.nan, "c": np.arange(2), "d": (1, "x"), "e": {"f": math.inf}})
    assert json.loads(path.read_text()) == {"a": 0.5, "b": None, "c": [0, 1], "d": [1, "x"], "e": {"f": None}}


@pytest.mark.parametrize("content", [None, "", "[]", '{"config_hash": "h", "version": "1", "files": {}}'])
def test_missing_and_damaged_results_do_not_count(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    assert finished(tmp_path, "h", "1") is None


@pytest.mark.parametrize(
    ("wrote", "asks", "counts"),
    [("1.ab", "1.ab", True), ("1.ab", "2.ab", False), ("", "", False), ("1.ab", "", False)],
)
def test_a_result_of_another_core_counts_with_the_same_results_version(
    tmp_path: Path, wrote: str, asks: str, counts: bool
) -> None:
    write_result(tmp_path, {"config_hash": "h", "version": "1", "results_version": wrote, "files": {}})
    assert (finished(tmp_path, "h", "2", asks) is not None) == counts
    assert finished(tmp_path, "h", "1", asks) is not None  # the same core
    assert finished(tmp_path, "other", "1", asks) is None


def test_rows_of_finished_runs(tmp_path: Path) -> None:
    # Two routings with different parameters, an integer and a fraction, one run with a series, one unfinished run.
    configs = [{"routing": {"name": "minimal"}, "seed": 1}, {"routing": {"name": "par", "threshold": 2}, "seed": 2}]
    for k, config in enumerate(configs):
        files = {"series": "series.parquet"} if k == 0 else {}
        for name in files.values():
            write_table(tmp_path / f"run{k}" / name, {"time_ns": np.array([5.0, 10.0])})
        write_result(tmp_path / f"run{k}", {**RESULT, "hops_mean": [2, 2.5][k], "config": config, "files": files})
    (tmp_path / "unfinished").mkdir()
    write_gathered(tmp_path, rows_below(tmp_path)[0])
    rows = read_rows(tmp_path / "rows.parquet")
    assert [row["routing.name"] for row in rows] == ["minimal", "par"]
    assert [row["hops_mean"] for row in rows] == [2.0, 2.5]
    assert [row["routing.threshold"] for row in rows] == [None, 2]
    assert [row["series.time_ns"] for row in rows] == [[5.0, 10.0], None]
    assert "facts" not in rows[0]


@pytest.mark.parametrize("labelled", [False, True])
def test_the_kind_of_a_table(tmp_path: Path, labelled: bool) -> None:
    write_result(tmp_path / "run", RESULT)
    rows = [{"seed": 2, "policy": "par"} if labelled else {"seed": 2}]
    table = tmp_path / ROWS_FILE
    write_rows(table, rows, "labelled" if labelled else "gathered")
    assert pq.read_schema(table).metadata[b"flitgym.rows.version"] == b"1"
    assert read_rows(table) == rows
    found, damaged = rows_in(tmp_path)
    assert not damaged
    assert [row["seed"] for row in found] == [2 if labelled else 1]  # the row of the table, or of the run
    if labelled:
        with pytest.raises(ConfigError, match="figures"):
            write_gathered(tmp_path, found)


def test_a_table_of_a_newer_version_is_refused_with_advice(tmp_path: Path) -> None:
    table = tmp_path / ROWS_FILE
    pq.write_table(pa.table({"seed": [1]}).replace_schema_metadata({"flitgym.rows.version": "2"}), table)
    before = table.read_bytes()
    for read in (lambda: read_rows(table), lambda: rows_in(tmp_path), lambda: write_gathered(tmp_path, [{"seed": 1}])):
        with pytest.raises(ConfigError, match=f"{ROWS_FILE}: its schema has version 2.*up to 1; install the flitgym"):
            read()
    assert table.read_bytes() == before
