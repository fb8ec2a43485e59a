"""Damaged files of a study are named and skipped, or their run is repeated. They never affect other runs."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flitgym.configs import compose, config_hash
from flitgym.experiments.report.page import can_be_shown, write_report
from flitgym.experiments.results.files import RESULT_FILE, DamagedError, finished, read_result, results_below
from flitgym.experiments.results.rows import gather, read_rows
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.progress import no_report
from flitgym.experiments.workload.rows import workload_row
from flitgym.simcore import __version__
from mutations import fuzz

pytestmark = pytest.mark.deep

NETWORK = ("topology=dragonfly_72", "router=sc22", "routing=par")
WINDOWS = ("run.warmup_ns=100", "run.measure_ns=200", "run.series_interval_ns=50", "run.channels=true")
PAIR = ("workload=pair", "workload.target=halo3d", "workload.target_params={bytes: 500, iterations: 1}")
JOBS = (*PAIR, "workload.background=ur", "workload.background_params={iterations: 2, bytes: 500}")
RUNS = {"traffic": (*NETWORK, *WINDOWS), "whole": (*NETWORK, *WINDOWS, "seed=2"), "jobs": (*NETWORK, *JOBS)}
PAGE_EVERY = 5  # a page is written for every fifth damage; the others read only the damaged run
WORDS = [
    *(b"null", b"true", b"-1", b"1e999", b"NaN", b"{}", b"[]", b'""', b'"\\ud800"', b'"x"', b"9" * 400, b"[" * 2000),
    *(b'"config"', b'"jobs"', b'"files"', b'"name"', b'"../result.json"', b'"seed"', b'"blame"', b"PAR1", b"\0"),
]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    for name, words in RUNS.items():
        execute(compose(words), folder / name, no_report)
    return folder


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(study, tmp_path / "copy"))


@cache
def hash_of(name: str) -> str:
    return config_hash(compose(RUNS[name]))


def without_checksums(folder: Path) -> None:
    """Remove the checksums, as in results of an earlier version."""
    for path in folder.glob(f"*/{RESULT_FILE}"):
        result = json.loads(path.read_text())
        del result["checksum"], result["checksums"]
        path.write_text(json.dumps(result))


def reader(folder: Path, path: Path, checked: bool) -> Callable[[bytes], None]:
    """All readers of a study, run with one of its files replaced by these bytes."""
    run, original = path.parent, read_result(path.parent)
    names = sorted(RUNS)
    reads = 0

    def read(data: bytes) -> None:
        path.write_bytes(data)
        known = finished(run, hash_of(run.name), __version__)
        if checked:
            # The result is complete or absent.
            assert known is None or known == original
        count, damaged = gather(folder)
        left = {error.path.parent.name for error in damaged}
        assert left <= {run.name}
        assert count == len(names) - len(left)
        nonlocal reads
        reads += 1
        found, broken = results_below(folder)
        shown: list[tuple[dict[str, Any], Path]] = []
        for one in found if reads % PAGE_EVERY == 1 else [one for one in found if one[1] == run]:
            try:
                can_be_shown(one)
                if one[0]["jobs"]:
                    workload_row(*one)
                shown.append(one)
            except DamagedError as error:
                broken.append(error)
        assert {error.path.parent.name for error in broken} <= {run.name}
        if reads % PAGE_EVERY == 1:
            assert len(shown) >= len(names) - 1
            write_report(folder, "study", shown, [])

    return read


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("file", "runs"),
    [
        *(("traffic/result.json", 16), ("jobs/result.json", 16), ("traffic/series.parquet", 12)),
        *(("jobs/job_series.parquet", 6), ("jobs/links.parquet", 6), ("jobs/channels.parquet", 6)),
    ],
)
def test_a_damaged_file(copy: Path, file: str, runs: int, checked: bool) -> None:
    if not checked:
        without_checksums(copy)
    path = copy / file
    whole = path.read_bytes()
    fuzz([whole], WORDS, runs, reader(copy, path, checked), ())


def test_a_damaged_table_of_rows(copy: Path) -> None:
    assert gather(copy) == (3, [])
    path = copy / "rows.parquet"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_rows(path)

    fuzz([path.read_bytes()], WORDS, 100, read, (DamagedError,))


def test_a_missing_or_changed_file_of_a_result_is_detected(copy: Path) -> None:
    run, hash_ = copy / "traffic", hash_of("traffic")
    whole = (run / "channels.parquet").read_bytes()
    (run / "channels.parquet").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert finished(run, hash_, __version__) is None
    (run / "channels.parquet").unlink()
    assert finished(run, hash_, __version__) is None
    assert gather(copy) == (3, [])  # gather does not read this file
    (run / "channels.parquet").write_bytes(whole)
    assert finished(run, hash_, __version__) is not None
