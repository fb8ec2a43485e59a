"""A file that cannot be written completely leaves the previous file unchanged."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.experiments.results.files import write_json
from flitgym.simcore import ChannelGraph, ForwardingTable, Simulation
from flitgym.simcore._policy_file import save_policy

RING = {"name": "torus", "sizes": [4], "terminals_per_router": 1}


def q_table(path: Path) -> None:
    Simulation({"topology": "dragonfly", "routing": "q_routing", "traffic": "uniform"}).save_q_table(path)


def table(path: Path) -> None:
    ForwardingTable.route(ChannelGraph(RING), "min_hop").save(path)


def policy(path: Path) -> None:
    layers = [(np.ones((2, 3), np.float32), np.zeros(2, np.float32)), (np.ones((1, 2), np.float32), np.zeros(1))]
    save_policy(path, layers, network="flat", slots=2, observation="progress", topology="ring")


def numbers(path: Path) -> None:
    write_json(path, {"a": 1})


@pytest.mark.parametrize("write", [q_table, table, policy, numbers])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.npz"
    write(path)
    before = path.read_bytes()

    def full_disk(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match=r"No space left.*file\.npz"):
        write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644  # default permissions, not only those of the owner
