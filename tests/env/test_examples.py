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
    printed = run("packet_batch_ppo.py", "--decisions", "30000")
    assert printed.count("decisions,") >= 3
    assert latency(printed, "learned") < latency(printed, "UGAL-L")
