"""Reusable worker processes: they answer, serve the next call, and end alone or with their command."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest
from flitgym.agents.learning.divergence import DivergedError
from flitgym.experiments.running.executor import WorkerDiedError
from flitgym.experiments.running.local import LocalExecutor
from flitgym.experiments.running.sweep import RunFailedError
from flitgym.simcore import ConfigError

Tell = Callable[[float], object]


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as made:
        yield made


# Calls for the workers.


def process(tell: Tell) -> int:
    return os.getpid()


def folder(tell: Tell) -> str:
    return str(Path.cwd())


def refuse(key: str, tell: Tell) -> None:
    raise ConfigError(f"{key}: refused")


def unpicklable(tell: Tell) -> object:
    return lambda: None


def die(tell: Tell) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def tell_and_wait(tell: Tell) -> None:
    for _ in range(600):
        tell(0.25)
        time.sleep(0.1)


class TwoWordsError(Exception):
    """An error that pickle cannot rebuild from its text alone."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def raise_two_words(tell: Tell) -> None:
    raise TwoWordsError("both", "words")


def test_a_worker_stays_for_the_next_call_in_the_folder_of_the_command(
    executor: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (executor.submit(process).result(timeout=60) for _ in range(2))
    assert first == second != os.getpid()
    monkeypatch.chdir(tmp_path)
    assert executor.submit(folder).result(timeout=60) == str(tmp_path)


def test_errors_keep_their_type_or_become_text(executor: LocalExecutor) -> None:
    with pytest.raises(ConfigError, match="a key: refused") as refused:
        executor.submit(refuse, "a key").result(timeout=60)
    assert "in refuse" in "".join(refused.value.__notes__)  # the notes hold the traceback of the worker
    with pytest.raises((AttributeError, pickle.PicklingError), match="unpicklable"):
        executor.submit(unpicklable).result(timeout=60)
    with pytest.raises(RuntimeError, match="TwoWordsError: both words") as raised:
        executor.submit(raise_two_words).result(timeout=60)
    assert "raise TwoWordsError" in str(raised.value)


@pytest.mark.deep
def test_a_worker_that_dies_fails_only_its_own_call_and_is_replaced(executor: LocalExecutor) -> None:
    dead, alive = executor.submit(die), executor.submit(process)
    with pytest.raises(WorkerDiedError, match=r"killed \(signal 9\)"):
        dead.result(timeout=60)
    idle = alive.result(timeout=60)
    os.kill(idle, signal.SIGKILL)
    os.waitid(os.P_PID, idle, os.WEXITED | os.WNOWAIT)
    assert executor.submit(process).result(timeout=60) != idle


@pytest.mark.deep
def test_progress_arrives_while_a_call_runs_and_a_shutdown_interrupts_it(executor: LocalExecutor) -> None:
    future = executor.submit(tell_and_wait)
    deadline = time.monotonic() + 60
    while executor.parts() != {future: 0.25} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert executor.parts() == {future: 0.25}
    executor.shutdown(cancel_futures=True)
    assert wait([future], timeout=10).done == {future}


def test_errors_of_sweeps_and_trainings_can_be_pickled() -> None:
    failed = RunFailedError({Path("a"): ConfigError("x")})
    again = pickle.loads(pickle.dumps(failed))
    assert (str(again), again.status) == (str(failed), 2)
    diverged = DivergedError("the loss")
    assert str(pickle.loads(pickle.dumps(diverged))) == str(diverged)


# A program without `if __name__ == "__main__"` that prints the worker's process id. The test then kills it.
PROGRAM = """
import os, signal
from flitgym.experiments.running.local import LocalExecutor
from test_executor import process, tell_and_wait
executor = LocalExecutor(1)
print(executor.submit(process).result(), flush=True)
executor.submit(tell_and_wait)
signal.pause()
"""


@pytest.mark.deep
def test_a_worker_ends_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                          text=True) as command:  # fmt: skip
        assert command.stdout is not None
        worker = int(command.stdout.readline())
        time.sleep(0.2)
        command.kill()
        command.wait()
    deadline = time.monotonic() + 5
    while lives(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(worker)


def lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
