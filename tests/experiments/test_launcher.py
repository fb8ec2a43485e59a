"""Every command accepts the arguments that choose where the runs of a sweep execute."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flitgym.experiments.running.launcher import HERE, launcher_of


@pytest.fixture
def here() -> Iterator[Path]:
    before = Path.cwd()
    yield before
    os.chdir(before)


def test_arguments_of_the_launcher_are_separated() -> None:
    assert launcher_of(["study=interference", "workers=3"]) == (HERE, ["study=interference", "workers=3"])
    words = ["suite=quick", "hydra/launcher=ray", "hydra.launcher.address=a:1", "hydra.launcher.cpus_per_run=2"]
    launcher, rest = launcher_of(words)
    assert rest == ["suite=quick"]
    assert launcher.kind == "ray"
    assert launcher.settings == {"address": "a:1", "cpus_per_run": 2.0, "memory_gb_per_run": None}


@pytest.mark.parametrize("name", ["local", "basic", "joblib"])
def test_hydra_s_own_launchers_use_local_processes(name: str) -> None:
    launcher, rest = launcher_of([f"hydra/launcher={name}"])
    assert (launcher.kind, rest) == ("", [])
    assert launcher.workers == (1 if name == "basic" else None)


def test_a_node_without_access_to_the_results_is_reported(tmp_path: Path, here: Path) -> None:
    pytest.importorskip("ray")
    from flitgym.experiments.running.ray_executor import _run

    unseen = f"the machine {socket.gethostname()} does not see {tmp_path / 'results'}, which all nodes must share"
    for folder, mark in ((here, tmp_path / "results" / ".shared-1"), (tmp_path / "gone", tmp_path / "results" / "x")):
        error, value = _run(pow, (2, 3), str(folder), str(mark), 1.0, None, 0)
        assert (str(error), value) == (unseen, None)


@pytest.mark.deep
def test_a_sweep_needs_no_other_plugin_of_hydra(tmp_path: Path) -> None:
    words = ["-m", "topology=dragonfly_72", "routing=minimal,par", "run.warmup_ns=200", "run.measure_ns=300"]
    program = f"""
import sys
sys.modules["hydra_plugins"] = None  # an import of it fails, as if no plugin were installed
sys.argv = ["flitgym", "simulate", *{words}]
from flitgym.experiments.entry import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/default/*/result.json"))) == 2
