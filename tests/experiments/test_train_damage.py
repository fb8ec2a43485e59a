"""Trainings with damaged or foreign files in the folder, with a second process, or on a full disk."""

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from flitgym.experiments.running.locks import LOCK_FILE, sole_owner
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.experiments.training.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from flitgym.experiments.training.tracking import JsonLines, read_progress
from flitgym.simcore import ConfigError
from training_scenes import OWN, SMALL, quick

# --- Checkpoints -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["dqn", "ppo"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A training of six rounds, interrupted after its fifth round, with a checkpoint of the fourth."""
    directory: Path = tmp_path_factory.mktemp("trained")

    def interrupt(done: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(directory, "rounds=6", "checkpoint_every=4", agent=request.param, after_round=interrupt)
    return request.param, directory


NAN = float("nan")


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "pickle"])
def test_a_damaged_checkpoint_is_refused_and_kept(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, Checkpoint({"weights": torch.arange(1000)}, 1, 1.0, ""), "abc")
    whole = path.read_bytes()
    if damage == "pickle":

        class Evil:
            def __reduce__(self) -> Any:
                return (Path.touch, (tmp_path / "owned",))

        torch.save({"format": 2, "training": "abc", "state": Evil()}, path)
    else:
        path.write_bytes({"cut": whole[: len(whole) // 2], "garbage": os.urandom(500), "empty": b""}[damage])
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="damaged"):
        load_checkpoint(path, "abc", 1)
    assert path.read_bytes() == before
    assert not (tmp_path / "owned").exists()


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c.pt", Checkpoint({"x": 1}, 1, 0.5, "{}"), "abc")
    assert load_checkpoint(tmp_path / "c.pt", "abc", 4) == Checkpoint({"x": 1}, 1, 0.5, "{}")
    with pytest.raises(ConfigError, match="another training"):
        load_checkpoint(tmp_path / "c.pt", "abd", 4)


# --- progress.jsonl --------------------------------------------------------------------------------------------------

ROUNDS = [b'{"round": %d}\n' % number for number in (1, 2, 3)]


@pytest.mark.parametrize("rows", [b"", ROUNDS[0], ROUNDS[0] + b'{"ro', b"".join(ROUNDS)])
def test_progress_is_aligned_with_the_checkpoint(tmp_path: Path, capsys: Any, rows: bytes) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_bytes(rows)
    log = JsonLines(path, ['{"round": 1}', '{"round": 2}'])
    log.log({"loss": 0.5, "reward": NAN}, 3)
    log.close()
    assert read_progress(path) == [{"round": 1}, {"round": 2}, {"round": 3, "loss": 0.5, "reward": None}]
    assert log.lines[-1] == '{"round": 3, "loss": 0.5, "reward": null}'
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "progress.jsonl.damaged").exists()


def test_truncated_progress_is_repaired(tmp_path: Path) -> None:
    first = quick(tmp_path, "rounds=4")
    path = tmp_path / "progress.jsonl"
    whole = path.read_bytes()
    for cut in (whole[: len(whole) // 2], b"", b"\xff\n"):
        path.write_bytes(cut)
        assert quick(tmp_path, "rounds=4") == first
        assert path.read_bytes() == whole


def test_a_finished_training_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = quick(tmp_path, "rounds=2")
    monkeypatch.setattr("flitgym.experiments.training.run.load_checkpoint", lambda *_: pytest.fail("it went on"))
    stamps = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert quick(tmp_path, "rounds=2") == first
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stamps


# --- Two processes ---------------------------------------------------------------------------------------------------


def _hold(directory: Path, held: Any) -> None:
    with sole_owner(directory):
        held.set()
        time.sleep(100)


@contextmanager
def another_owner(directory: Path) -> Iterator[Any]:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=_hold, args=(directory, held))
    process.start()
    try:
        assert held.wait(60)
        yield process
    finally:
        process.kill()
        process.join()


@pytest.mark.deep
def test_a_second_process_is_refused_with_the_owner_named(tmp_path: Path) -> None:
    with another_owner(tmp_path) as process:
        with pytest.raises(CommandError, match=rf"process {process.pid} on .* since .*; wait for its end"):
            quick(tmp_path, "rounds=2")
        assert not (tmp_path / "progress.jsonl").exists()
        # The operating system releases the lock when its process ends. The remaining file has no effect.
        process.kill()
        process.join()
        assert (tmp_path / LOCK_FILE).exists()
        assert quick(tmp_path, "rounds=2")["rounds"] == 2
    assert not (tmp_path / LOCK_FILE).exists()


# --- A full disk -----------------------------------------------------------------------------------------------------


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))


@pytest.mark.deep
def test_a_full_disk_is_reported_in_one_line_and_the_training_resumes(tmp_path: Path) -> None:
    words = [*SMALL, *OWN["dqn"], "rounds=4", "checkpoint_every=2"]
    command = [sys.executable, "-m", "flitgym", "train", *words]
    full = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=_small_files, check=False)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "flitgym train: File too large" in full.stderr
    assert "checkpoint.pt" in full.stderr
    (run,) = (tmp_path / "results" / "training").iterdir()
    assert not list(run.glob("*.pt"))
    assert not list(run.glob(".*"))
    quick(run, "rounds=4", "checkpoint_every=2")
    assert len(read_progress(run / "progress.jsonl")) == 4
