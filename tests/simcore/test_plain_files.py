"""Every reader refuses devices, pipes, folders and invalid names without waiting."""

import gzip
import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.agents.policy.file import load_policy
from flitgym.configs import compose, config_hash
from flitgym.configs.jobs import core_jobs, file_hash
from flitgym.experiments.results.files import DamagedError, read_result
from flitgym.experiments.results.rows import read_rows
from flitgym.simcore import (
    ChannelGraph,
    ConfigError,
    ForwardingTable,
    Simulation,
    read_demand,
    read_flows,
    read_matrix_market,
)
from flitgym.simcore._files import read_plain, read_unpacked
from flitgym.simcore.traces import find_reader

HYPERX: dict[str, Any] = {"name": "hyperx", "widths": [3, 3], "terminals_per_router": 1}
REFUSALS = (ConfigError, DamagedError)


def graph() -> ChannelGraph:
    return ChannelGraph(HYPERX)


def simulation(**sections: Any) -> Simulation:
    return Simulation({"topology": HYPERX, "routing": "minimal", "traffic": "uniform", **sections})


def workload(**job: str) -> Simulation:
    return Simulation({"topology": HYPERX, "routing": "minimal", "workload": {"jobs": [{"name": "a", **job}]}})


def demand(ending: str) -> Callable[[str], object]:
    return lambda path: read_demand(link(path, ending), graph())


def link(path: str, ending: str) -> str:
    """A link to the file whose name has this suffix, by which a reader chooses the format."""
    if "\0" in path:
        return path + ending
    other = f"{path}{ending}" if not path.startswith("/dev/") else f"{os.environ['PLAIN_FILES']}/device{ending}"
    if not Path(other).is_symlink():
        Path(other).symlink_to(path)
    return other


READERS: dict[str, Callable[[str], object]] = {
    "bytes": read_plain,
    "text": read_unpacked,
    "hash": lambda path: file_hash("key", path),
    "table": lambda path: ForwardingTable.load(path, graph()),
    "routing.file": lambda path: simulation(routing={"name": "table", "file": path}),
    "routing.demand": lambda path: simulation(routing={"name": "table", "demand": link(path, ".csv")}),
    "topology.file": lambda path: ChannelGraph({"name": "graph", "file": path}),
    "routing.path": lambda path: simulation(routing={"name": "policy", "path": path}),
    "policy": load_policy,
    "q_table": lambda path: simulation(routing={"name": "q_adaptive"}).load_q_table(path),
    "goal_file": lambda path: workload(goal_file=path),
    "workload.jobs.goal_file": lambda path: core_jobs({"name": "jobs", "jobs": [{"goal_file": path}]}, 9),
    "workload.jobs.matrix_file": lambda path: core_jobs({"name": "jobs", "jobs": [{"matrix_file": path}]}, 9),
    "matrix": read_matrix_market,
    "flows": lambda path: read_flows(path, graph()),
    **{f"demand{ending}": demand(ending) for ending in (".csv", ".npz", ".npy", ".mtx", ".goal", ".csv.gz")},
    "rows": lambda path: read_rows(Path(path)),
}


@pytest.fixture(autouse=True)
def in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Fails a reader that waits for a pipe."""

    def late(*_: object) -> None:
        raise TimeoutError("it waits")

    monkeypatch.setenv("PLAIN_FILES", str(tmp_path))
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 20)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("reader", READERS)
def test_a_device_pipe_or_folder_is_refused(reader: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "folder", tmp_path / "pipe", "/dev/null"):  # /dev/zero is refused by the same check
        with pytest.raises(REFUSALS, match="not a plain file"):
            READERS[reader](str(path))


@pytest.mark.parametrize("reader", READERS)
def test_an_impossible_file_name_is_refused(reader: str) -> None:
    for name in ("\0", "a\0b"):
        with pytest.raises(REFUSALS, match=r"zero byte|null byte|null character"):
            READERS[reader](name)


@pytest.mark.parametrize("read", [read_plain, read_unpacked, find_reader])
def test_a_file_that_would_block_is_refused(read: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    # Some files of the kernel, such as /proc/kmsg, are plain files whose read waits.
    end, other = os.pipe2(os.O_NONBLOCK)
    monkeypatch.setattr("flitgym.simcore._files.open_plain", lambda _: os.fdopen(os.dup(end), "rb"))
    with pytest.raises(ConfigError, match=r"not a plain file|no trace format recognises"):
        read("/proc/version")
    os.close(end)
    os.close(other)


def test_commands_name_the_key_of_an_unreadable_file() -> None:
    for words, key in (
        (["routing=table", "routing.file=/dev/zero"], "routing.file"),
        (["routing=policy", "routing.path=/dev/zero"], "routing.path"),
        (["routing=q_adaptive", "run.load_q_table=/dev/zero"], "run.load_q_table"),
        (["routing=minimal", "workload=goal", "workload.file=/dev/zero"], "workload.file"),
    ):
        with pytest.raises(ConfigError, match=rf"^{key}: /dev/zero: not a plain file$"):
            config_hash(compose(words))


def test_a_result_that_is_a_pipe_is_damaged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result.json")
    with pytest.raises(DamagedError, match=r"result\.json is damaged: not a plain file"):
        read_result(tmp_path)


def test_text_larger_than_the_memory_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "demand.csv.gz"
    path.write_bytes(gzip.compress(b"source,destination\n" + b"0,1\n" * 1_000_000))
    assert len(read_unpacked(path)) == 4_000_019
    monkeypatch.setattr("flitgym.simcore._files.available_memory", lambda: 1_000_000)
    with pytest.raises(ConfigError, match="more than 250,000 bytes"):
        read_demand(path, graph())
    path.write_bytes(bytes(1_000_001))
    with pytest.raises(ConfigError, match=r"1,000,001 bytes.* 1,000,000 bytes"):
        read_plain(path)


@pytest.mark.parametrize("what", ["table", "demand"])
def test_an_archive_of_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path, what: str) -> None:
    path = tmp_path / "bomb.npz"
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 30)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("port.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)
        member.write(bytes(1_000_000))
    with pytest.raises(ConfigError, match=r"bomb\.npz: .*damaged: port is an array of float64 \(1048576, "):
        ForwardingTable.load(path, graph()) if what == "table" else read_demand(path, graph())
