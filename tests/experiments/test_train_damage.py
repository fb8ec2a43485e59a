"""Trainings with damaged or foreign files in the folder, with a second process, or on a full disk."""

import fcntl
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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


def rewritten(directory: Path, to: Path, change: Callable[[Any], Any]) -> Path:
    """A copy of the training in `to`, with a valid but modified checkpoint."""
    to.mkdir(exist_ok=True)
    for name in ("checkpoint.pt", "progress.jsonl"):
        (to / name).write_bytes((directory / name).read_bytes())
    whole = torch.load(to / "checkpoint.pt", weights_only=True)
    change(whole)
    torch.save(whole, to / "checkpoint.pt")
    return to


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(whole: Any) -> None:
        at = whole
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


NAN = float("nan")
DAMAGES: list[tuple[Callable[[Any], None], str]] = [
    (put("state", value=torch.zeros(3)), "the checkpoint holds Tensor"),
    (put("state", "agent", value=torch.zeros(3)), "agent holds Tensor"),
    (put("state", "rounds", value=None), "rounds is nothing"),
    (put("state", "rounds", value=[4]), "rounds is a list"),
    (put("state", "rounds", value={}), "rounds is a dict"),
    (put("state", "rounds", value=10**9), "outside 1 .. 6"),
    (put("state", "rounds", value=True), "rounds is a bool"),
    (put("state", "rounds", value=5), "not those of 5 rounds"),
    (put("state", "seconds", value=NAN), "seconds is nan"),
    (put("state", "progress", value=7), "progress is a int instead of text"),
    (put("state", "progress", value='{"round": 1}\n[2]'), "not those of 4 rounds"),
    (put("state", "agent", "round", value=None), "agent.round is nothing"),
    (put("state", "agent", "round", value=10**9), "agent.round is 1e+09"),
    (put("state", "agent", "round", value=3), "its agent is at round 3"),
    (put("state", "agent", "optimiser", value=torch.zeros(3)), "agent.optimiser holds Tensor"),
    (put("state", "agent", "optimiser", "state", 0, "exp_avg", value=torch.zeros(3)), "optimiser.state.0.exp_avg is"),
    (put("state", "agent", "optimiser", "param_groups", value=None), "agent.optimiser.param_groups is nothing"),
    (put("state", "agent", "generator", value=torch.zeros(9)), "agent.generator"),
    (put("state", "agent", "generator", value=torch.full((5056,), 255, dtype=torch.uint8)), "mt19937"),
    (put("state", "agent", "rollouts", value=[]), "agent.rollouts holds list"),
    (put("state", "agent", "rollouts", "seeds", value=[1]), "agent.rollouts.seeds has 1 entries instead of 2"),
    (put("state", "agent", "rollouts", "seeds", 0, value=-1), "agent.rollouts.seeds.0 is -1"),
    (put("state", "agent", "rollouts", "ends_ns", 0, value=NAN), "agent.rollouts.ends_ns.0"),
    (put("state", "agent", "rollouts", "read", 0, value=10**6), "agent.rollouts.read.0"),
    (put("state", "agent", "rollouts", "next_seed", value="2"), "agent.rollouts.next_seed is text"),
    (put("state", "agent", "rollouts", "snapshots", 0, value=torch.zeros(8, dtype=torch.uint8)), "snapshot"),
    # A small file that declares a tensor of a terabyte.
    (put("state", "agent", "rollouts", "snapshots", 0, value=torch.zeros(1, dtype=torch.uint8).expand(2**40)),
     "agent.rollouts.snapshots.0 is torch.uint8"),
    (put("format", value=9), "its format is 9"),
    (put("format", value=None), "its format is None"),
]  # fmt: skip


def test_a_modified_checkpoint_is_refused_by_name(trained: tuple[str, Path], tmp_path: Path) -> None:
    agent, directory = trained
    weights = {"dqn": "online", "ppo": "actor"}[agent]
    own: list[tuple[Callable[[Any], None], str]] = [
        (lambda whole: whole["state"]["agent"][weights].clear(), f"agent.{weights} holds nothing"),
        (lambda whole: next(iter(whole["state"]["agent"][weights].values())).fill_(NAN), "had diverged"),
        (lambda whole: whole["state"]["agent"].pop(weights), "agent holds"),
    ]
    # Damage that is common to both agents is tried with one agent only.
    for change, said in [*(DAMAGES if agent == "dqn" else ()), *own]:
        changed = rewritten(directory, tmp_path / "changed", change)
        before = (changed / "checkpoint.pt").read_bytes()
        rounds: list[int] = []
        with pytest.raises(ConfigError) as caught:
            quick(changed, "rounds=6", "checkpoint_every=4", agent=agent, after_round=rounds.append)
        text = str(caught.value)
        assert said in text, text
        assert "checkpoint.pt" in text
        assert "overwrite=true" in text
        assert rounds == []
        assert (changed / "checkpoint.pt").read_bytes() == before
    # An unchanged copy resumes.
    assert quick(rewritten(directory, tmp_path / "same", lambda whole: None), "rounds=6", agent=agent)["rounds"] == 6


def test_a_flipped_bit_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    good = Checkpoint({"weights": torch.arange(1000.0)}, 3, 1.0, "")
    save_checkpoint(path, good, "abc")
    whole = path.read_bytes()
    at = whole.index(torch.arange(1000.0).numpy().tobytes())
    for byte in (at, at + 1999, at + 3999):
        damaged = bytearray(whole)
        damaged[byte] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="damaged"):
            load_checkpoint(path, "abc", 3)
    path.write_bytes(whole)
    assert torch.equal(load_checkpoint(path, "abc", 3).agent["weights"], good.agent["weights"])


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

DEEP = b"[" * 100_000 + b"\n"


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfe\x00\n", b"7\n", b"[1]\n", b'{"loss": 1}\n', b'{"round": [1]}\n', b'{"round": 1, "loss": "x"}\n', DEEP,
     b'{"round": 1, "loss": 9.0}\n'],
    ids=["bytes", "number", "list", "no round", "round of a list", "text", "deep", "another's"],
)  # fmt: skip
def test_invalid_progress_is_set_aside_by_name(tmp_path: Path, capsys: Any, text: bytes) -> None:
    path, lines = tmp_path / "progress.jsonl", ['{"round": 1, "loss": 0.5}', '{"round": 2, "loss": 0.25}']
    path.write_bytes(text)
    JsonLines(path, lines).close()
    assert "progress.jsonl is damaged: renamed to progress.jsonl.damaged" in capsys.readouterr().err
    assert (tmp_path / "progress.jsonl.damaged").read_bytes() == text
    assert [row["loss"] for row in read_progress(path)] == [0.5, 0.25]


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


@pytest.mark.parametrize("text", [b"\xff", b"7", b"{}", b'{"asked": 1, "baselines": [1]}', b"[" * 100_000])
def test_damaged_baselines_are_measured_again(tmp_path: Path, text: bytes) -> None:
    words = ["rounds=2", "evaluation.every=2", "evaluation.loads=[0.2]", "evaluation.seeds=[1]",
             "evaluation.warmup_ns=500", "evaluation.baseline_warmup_ns=500", "evaluation.measure_ns=1000",
             "evaluation.baselines=[minimal]"]  # fmt: skip
    (tmp_path / "baselines.json").write_bytes(text)
    assert quick(tmp_path, *words)["baselines"]["minimal"]["latency_ns@0.2"] > 0
    assert json.loads((tmp_path / "baselines.json").read_bytes())["baselines"]


def test_a_baseline_that_delivers_nothing_breaks_no_resume(tmp_path: Path) -> None:
    words = ["rounds=4", "checkpoint_every=2", "evaluation.every=2", "evaluation.baselines=[minimal]",
             "evaluation.measure_ns=2", "evaluation.warmup_ns=0", "evaluation.baseline_warmup_ns=0"]  # fmt: skip

    def interrupt(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path, *words, after_round=interrupt)
    assert '"latency_ns@0.3": null' in (tmp_path / "baselines.json").read_text()
    assert quick(tmp_path, *words)["rounds"] == 4
    assert (tmp_path / "training.png").exists()
    assert quick(tmp_path, *words)["baselines"]["minimal"]["latency_ns@0.3"] is None


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


def test_an_empty_lock_file_is_a_lock(tmp_path: Path) -> None:
    with (tmp_path / LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="another process uses this folder"), sole_owner(tmp_path):
            pass


# --- A full disk -----------------------------------------------------------------------------------------------------


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))


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
