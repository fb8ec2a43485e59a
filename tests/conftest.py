"""Shared by all tests: a configuration that runs in milliseconds, and the commands as a user calls them."""

import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

os.environ["FLITGYM_PLUGINS"] = "none"  # the tests use flitgym alone, without installed plugins

# The smallest preset and short windows.
SMALL = ("topology=dragonfly_72", "router=input_queued", "routing=minimal", "run.warmup_ns=500", "run.measure_ns=1000")

# The runs of a study in less than a second.
TINY = ("topology=dragonfly_72", "run.warmup_ns=200", "run.measure_ns=500")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small() -> Sequence[str]:
    """Overrides of a run that takes milliseconds."""
    return SMALL


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Call a command in an empty folder within this process: `command("simulate", "routing=minimal")`."""

    def call(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return call_command(tmp_path, name, *arguments)

    return call


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two routings at two loads."""
    folder = tmp_path_factory.mktemp("runs")
    for routing in ("minimal", "par"):
        for load in (0.1, 0.4):
            executed(folder / f"{routing}_{load}", *TINY, f"routing={routing}", f"traffic.load={load}")
    return folder


@pytest.fixture
def study(tiny_runs: Path, tmp_path: Path) -> Path:
    """A copy of these runs."""
    return Path(shutil.copytree(tiny_runs, tmp_path / "study"))


def executed(folder: Path, *words: str) -> dict[str, Any]:
    """The result of a run with these overrides, whose files are in a folder."""
    from flitgym.configs import compose
    from flitgym.experiments.running.one_run import execute
    from flitgym.experiments.terminal.progress import no_report

    return execute(compose(words), folder, no_report)


def call_command(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Call `flitgym <words>` in a folder within this process."""
    from flitgym.experiments import entry

    out, errors = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        _as_before(),
        patch.object(sys, "argv", ["flitgym", *words]),
        Path(os.devnull).open() as nothing,
        patch.object(sys, "stdin", nothing),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        for name in ("HYDRA_FULL_ERROR", "PYTEST_CURRENT_TEST"):  # a sweep keeps its workers while no variable changes
            os.environ.pop(name, None)
        try:
            entry.main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            traceback.print_exc()
            status = 1
    return subprocess.CompletedProcess(words, status, out.getvalue(), errors.getvalue())


def results(folder: Path) -> list[dict[str, Any]]:
    """The results of the runs of commands that were called in a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("results/*/*/result.json"))]


@contextmanager
def _as_before() -> Iterator[None]:
    """Restore the state of the process that a command changes: environment, signals, logging and Hydra."""
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig

    root = logging.getLogger()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    logs = patch.multiple(root, handlers=list(root.handlers), level=root.level)
    with patch.dict(os.environ), logs:
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            GlobalHydra.instance().clear()
            HydraConfig.instance().cfg = None
