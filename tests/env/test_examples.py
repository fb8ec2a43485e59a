"""The example files run as they are given, in short form."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def run(name: str, *arguments: str) -> str:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def latency(printed: str, name: str) -> float:
    line = next(line for line in printed.splitlines() if line.startswith(name))
    return float(line.removeprefix(name).split()[0])


def test_packet_batch_ppo() -> None:
    # In short: what it learns in full, 970 to 1,000 ns, takes half a minute.
    printed = run("packet_batch_ppo.py", "--decisions", "30000")
    assert printed.count(" decisions, ") == 2
    assert 1100 < latency(printed, "UGAL-L") < 1300
    assert latency(printed, "learned") > 600
    assert float(printed.split("accepted load")[1].split()[0]) > 0.3  # by minimal ways 0.13


def test_sb3_dqn() -> None:
    printed = run("sb3_dqn.py", "--decisions", "2000", "--networks", "1")
    assert 1_000 < latency(printed, "UGAL-L") < 1_400
    assert latency(printed, "DQN") > 600


def test_sb3_maskable_ppo() -> None:
    pytest.importorskip("sb3_contrib")
    printed = run("sb3_maskable_ppo.py", "--decisions", "1024", "--steps", "128", "--networks", "1")
    assert latency(printed, "PPO") > 600


def test_single_file_ppo() -> None:
    printed = run("single_file_ppo.py", "--decisions", "8192", "--networks", "1")
    assert printed.count("mean reward -") == 2
    assert latency(printed, "PPO") > 600
