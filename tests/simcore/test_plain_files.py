"""Every reader refuses devices, pipes, folders and invalid names without waiting."""

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.simcore import (
    ChannelGraph,
    ConfigError,
    ForwardingTable,
    Simulation,
    read_demand,
)
from flitgym.simcore._files import read_plain, read_unpacked

HYPERX: dict[str, Any] = {"name": "hyperx", "widths": [3, 3], "terminals_per_router": 1}


def graph() -> ChannelGraph:
    return ChannelGraph(HYPERX)


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
