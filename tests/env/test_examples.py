"""The example files run, in short form."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Run = Callable[..., str]


pytestmark = pytest.mark.deep


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a file like `python <file> <arguments>`, in this process, since its imports take longer than its work."""
    pytest.importorskip("torch")

    def in_this_process(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        monkeypatch.syspath_prepend(str(EXAMPLES))  # as for a script
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return in_this_process


def latency(printed: str, name: str) -> float:
    line = next(line for line in printed.splitlines() if line.startswith(name))
    return float(line.removeprefix(name).split()[0])


def test_packet_batch_ppo(run: Run, tmp_path: Path) -> None:
    # A short training; the full one, with 970 to 1,000 ns, takes half a minute.
    printed = run("packet_batch_ppo.py", "--decisions", "30000", "--save", str(tmp_path / "mine.safetensors"))
    assert printed.count(" decisions, ") == 2
    assert 1100 < latency(printed, "UGAL-L") < 1300
    assert latency(printed, "learned") > 600
    assert latency(printed, "in core") == latency(printed, "learned")
    assert float(printed.split("accepted load")[1].split()[0]) > 0.3  # minimal paths accept 0.13


@pytest.mark.parametrize(
    ("library", "command", "name"),
    [
        ("sb3_contrib", "sb3.py --decisions 2000 --networks 1", "dqn"),
        ("sb3_contrib", "sb3.py --agent maskable_ppo --decisions 1024 --steps 128 --networks 1", "maskable_ppo"),
        ("torch", "packet_batch_torch.py --policy transformer --decisions 4000 --networks 1", "learned"),
        ("torch", "packet_batch_torch.py --policy graph --decisions 4000 --networks 1", "learned"),
        ("torch", "recurrent_ppo.py --decisions 16000", "GRU"),
        ("gymnasium", "evolution.py --rounds 1 --networks 1 --save {folder}/mine.safetensors", "CEM"),
        ("torchrl", "torchrl_ppo.py --decisions 2048 --networks 1 --save {folder}/mine.safetensors", "PPO"),
    ],
)
def test_an_example(run: Run, tmp_path: Path, library: str, command: str, name: str) -> None:
    pytest.importorskip(library)
    printed = run(*command.format(folder=tmp_path).split())
    assert latency(printed, name) > 600
    assert "UGAL-L" not in printed or 1_000 < latency(printed, "UGAL-L") < 1_400


@pytest.mark.deep
def test_jobs_ppo(run: Run, tmp_path: Path) -> None:
    # A short training; docs/environments.md has the results of full ones.
    save = str(tmp_path / "mine.safetensors")
    printed = run("jobs_ppo.py", "--decisions", "2000", "--placements", "1", "--save", save)
    assert 2.5 < latency(printed, "Q-adaptive") < 3.0  # ms of lqcd
    assert 2.5 < latency(printed, "PPO") < 6.0


def test_injection_ppo(run: Run, tmp_path: Path) -> None:
    # A short training; with 20 rounds, the agent has 1.1 to 1.2.
    printed = run("injection_ppo.py", "--rounds", "1", "--save", str(tmp_path / "mine.safetensors"))
    slowdown = {line.split()[0]: float(line.split()[2].rstrip(",")) for line in printed.splitlines()[1:]}
    assert slowdown["none"] > slowdown["agent"] > 1 < slowdown["dctcp"] < 1.3


def test_torchrl_mappo(run: Run) -> None:
    pytest.importorskip("torchrl")
    printed = run("torchrl_mappo.py", "--iterations", "1")
    assert printed.count("packet-us") == 1
    assert -600 < float(printed.split()[-1]) < -200


def test_offline_d3rlpy(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("d3rlpy")
    minari = pytest.importorskip("minari")
    from flitgym.configs import compose
    from flitgym.experiments.recording.run import record

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = record(compose(["routing=par", "topology=dragonfly_72", "traffic=adversarial"]), {"decisions": 2000})
    data.save(tmp_path / "par.parquet")
    words = ("--steps", "5", "--minari", "flitgym/par-v0", "--packets", "30", "--networks", "1")
    printed = run("offline_d3rlpy.py", str(tmp_path / "par.parquet"), *words)
    assert latency(printed, "par") < latency(printed, "CQL")
    episode, rows = minari.load_dataset("flitgym/par-v0")[0], next(data.episodes())
    np.testing.assert_array_equal(episode.actions, data.rows["action"][rows])
    np.testing.assert_array_equal(episode.observations[:-1], data.rows["observation"][rows])
