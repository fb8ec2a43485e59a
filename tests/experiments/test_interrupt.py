"""Ctrl-C on a terminal during each long command: one line, no process left, and the command can resume."""

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

SHORT = ["topology=dragonfly_72", "run.warmup_ns=500"]
ENDLESS = [*SHORT, "run.measure_ns=1e9"]
LISTS = ["routing=par", "patterns=[uniform]", "loads=[0.3]"]
# Arguments, and the text on the terminal that shows that the work has started.
COMMANDS = {
    "simulate": (ENDLESS, "warm-up|measure"),
    "simulate -m": (["-m", *ENDLESS, "seed=1,2,3"], r"0/3"),
    "reproduce": (["figure=hpdc21_load_latency"], r"hpdc21_load_latency \d+/"),
    "train": (["topology=dragonfly_72", "track.to=none"], "comparing|reward"),
    "evaluate": ([*LISTS, *ENDLESS], r"evaluation \d+/"),
    "saturate": (["routing=par", "traffic=uniform", "max_ns=1e8"], r"saturation \d+/"),
    "record": (["routing=par", "topology=dragonfly_72", "run.warmup_ns=500", "record.decisions=5000000"], "record"),
    "route": (["topology=dragonfly_72", "patterns=100000000"], "patterns"),
}
SECONDS = 120


def on_a_terminal(words: list[str], cwd: Path, mark: str) -> tuple[int, int]:
    """Start a command on a new terminal. Return the process id and the other end of the terminal."""
    number, terminal = pty.fork()
    if number == 0:
        os.chdir(cwd)
        os.execve(words[0], words, {**os.environ, "FLITGYM_TEST_MARK": mark, "COLUMNS": "120"})
    return number, terminal


def heard(terminal: int, until: str | None, seconds: float) -> str:
    """The text on the terminal until a pattern appears or the command ends."""
    text = ""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the command has ended
            return text
        if not piece:
            return text
        text += piece.decode(errors="replace")
        if until is not None and re.search(until, text):
            return text
    pytest.fail(f"{until!r} did not appear within {seconds} s: {text}")


def marked(mark: str) -> list[str]:
    """The live processes of the command with this mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"FLITGYM_TEST_MARK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_in_the_middle(name: str, tmp_path: Path) -> None:
    arguments, under_way = COMMANDS[name]
    words = [sys.executable, "-m", "flitgym", name.split()[0], *arguments]
    number, terminal = on_a_terminal(words, tmp_path, str(tmp_path))
    heard(terminal, under_way, SECONDS)
    os.write(terminal, b"\x03")
    text = heard(terminal, None, SECONDS)
    _, status = os.waitpid(number, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, text
    assert "Traceback" not in text
    lines = [
        line for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r", "\n").split("\n") if line.strip()
    ]
    assert sum("interrupted" in line for line in lines) == 1
    assert re.match(rf"(\^C)?flitgym {name.split()[0]}: interrupted; ", lines[-1]), lines
    deadline = time.monotonic() + 5
    while (left := marked(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def test_the_same_command_resumes(tmp_path: Path) -> None:
    """A run that ended before Ctrl-C is not repeated, and the interrupted run is."""
    words = [sys.executable, "-m", "flitgym", "simulate", "-m", *SHORT, "hydra.launcher.n_jobs=2"]
    for finished in (0, 1):
        number, terminal = on_a_terminal([*words, "run.measure_ns=1000,1e9"], tmp_path, str(tmp_path))
        text = heard(terminal, "1/2" if finished == 0 else "0/1", SECONDS)
        assert f"2 runs, {finished} finished before" in text
        os.write(terminal, b"\x03")
        heard(terminal, None, SECONDS)
        assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 130
        os.close(terminal)
    assert len(list(tmp_path.glob("results/default/*/result.json"))) == 1


def test_an_interrupted_evaluation_writes_the_tables_of_its_finished_runs(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "flitgym", "evaluate", *SHORT, *LISTS[:2], "workers=1"]
    number, terminal = on_a_terminal([*words, "loads=[0.3]", "run.measure_ns=500"], tmp_path, str(tmp_path))
    heard(terminal, None, SECONDS)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
    os.close(terminal)
    table = tmp_path / "results/evaluation/evaluation.csv"
    table.unlink()
    # The run of the first command is finished, and a second seed is interrupted.
    number, terminal = on_a_terminal(
        [*words, "loads=[0.3]", "run.measure_ns=500", "seeds=[1,2,3,4,5,6,7,8,9]"], tmp_path, ""
    )
    heard(terminal, r"evaluation \d/", SECONDS)
    os.write(terminal, b"\x03")
    text = heard(terminal, None, SECONDS)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 130
    assert "finished runs of 9, start again to continue" in text
    assert table.is_file()
    assert "was interrupted after" in (tmp_path / "results/evaluation/evaluation.md").read_text()
