"""Shared by all tests: a configuration that runs in milliseconds, and the commands as a user calls them."""

import io
import logging
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

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
    """Call a command in an empty folder within this process: `command("simulate", "routing=minimal")`."""

    def call(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return call_command(tmp_path, name, *arguments)

    return call


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
