"""The example files run as they are given, in short form."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a file as `python <file> <arguments>` does, in this process: its imports take longer than it does itself."""
    pytest.importorskip("torch")

    def in_this_process(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return in_this_process


def latency(printed: str, name: str) -> float:
    line = next(line for line in printed.splitlines() if line.startswith(name))
    return float(line.removeprefix(name).split()[0])


def test_packet_batch_ppo(run: Run) -> None:
    # In short: what it learns in full, 970 to 1,000 ns, takes half a minute.
    printed = run("packet_batch_ppo.py", "--decisions", "30000")
    assert printed.count(" decisions, ") == 2
    assert 1100 < latency(printed, "UGAL-L") < 1300
    assert latency(printed, "learned") > 600
    assert float(printed.split("accepted load")[1].split()[0]) > 0.3  # by minimal ways 0.13


def test_sb3_dqn(run: Run) -> None:
    printed = run("sb3_dqn.py", "--decisions", "2000", "--networks", "1")
    assert 1_000 < latency(printed, "UGAL-L") < 1_400
    assert latency(printed, "DQN") > 600


def test_sb3_maskable_ppo(run: Run) -> None:
    pytest.importorskip("sb3_contrib")
    printed = run("sb3_maskable_ppo.py", "--decisions", "1024", "--steps", "128", "--networks", "1")
    assert latency(printed, "PPO") > 600


def test_single_file_ppo(run: Run) -> None:
    printed = run("single_file_ppo.py", "--decisions", "8192", "--networks", "1")
    assert printed.count("mean reward -") == 2
    assert latency(printed, "PPO") > 600
