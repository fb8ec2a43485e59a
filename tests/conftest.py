"""Shared by all tests: a configuration that runs in milliseconds, and the commands as a user calls them."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

os.environ["FLITGYM_PLUGINS"] = "none"  # the tests use flitgym alone, without installed plugins

# The smallest preset and short windows.
SMALL = ("topology=dragonfly_72", "router=input_queued", "routing=minimal", "run.warmup_ns=500", "run.measure_ns=1000")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small() -> Sequence[str]:
    """Overrides of a run that takes milliseconds."""
    return SMALL


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Call a command in an empty folder: `command("simulate", "routing=minimal")`."""
    environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}

    def call(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        program = [sys.executable, "-m", "flitgym", name, *arguments]
        return subprocess.run(
            program,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return call
