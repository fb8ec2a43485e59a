"""The cores of a run, if several runs share those of the process."""

import os

from ...simcore._cores import CORES

_RUNS_AT_ONCE = "FLITGYM_RUNS_AT_ONCE"  # environment variable of the processes of a sweep


def environment_of(runs: int) -> dict[str, str]:
    """The environment of a process that shares the cores with `runs - 1` others."""
    return {**os.environ, _RUNS_AT_ONCE: str(max(1, runs))}


def share_cores_by(cpus: float) -> None:
    """Give every run a number of cores from now on, in this process and in the processes that it starts."""
    os.environ[_RUNS_AT_ONCE] = str(max(1, int(CORES // max(1.0, cpus))))


def cores_of_a_run() -> int:
    """The cores of each parallel run, which are its threads with `run.threads=0`."""
    return max(1, CORES // int(os.environ.get(_RUNS_AT_ONCE, 1)))
