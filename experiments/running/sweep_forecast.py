"""How long a sweep (`-m`) will take, told while its runs end in processes that know nothing of each other.

What they share is the folder of the results, and the environment: the command leaves there when it began and how many
runs there are.
"""

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from ..results.files import RESULT_FILE
from ..terminal.times import duration_text
from .cores import share_cores

_RUNS, _BEGAN, _WORKERS = "FLITGYM_SWEEP_RUNS", "FLITGYM_SWEEP_BEGAN", "FLITGYM_SWEEP_WORKERS"
_LINES = 20  # in a sweep of any length
_LONG_SECONDS = 60.0  # what takes longer is announced


def runs_of(words: Sequence[str]) -> int:
    """How many runs a sweep over these overrides has; 0 where a sweeper picks its values itself.

    Raises:
        hydra.errors.HydraException: the overrides cannot be read.
    """
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    swept = [override for override in parser.parse_overrides(list(words)) if override.is_sweep_override()]
    if any(override.is_interval_sweep() for override in swept):
        return 0
    return math.prod(len(list(override.sweep_string_iterator())) for override in swept)


def announce(runs: int, workers: int) -> None:
    """Leave for the processes of a sweep how many runs it has, and how many at a time."""
    os.environ[_RUNS], os.environ[_BEGAN], os.environ[_WORKERS] = str(runs), repr(time.time()), str(workers)
    share_cores(min(workers, runs) if runs else workers)


def size() -> tuple[int, int]:
    """The runs of this process's sweep, and how many of them run at a time; 0 and 1 where nothing was announced."""
    return int(os.environ.get(_RUNS, 0)), int(os.environ.get(_WORKERS, 1))


def after_run(number: int, directory: Path) -> str | None:
    """What is left of the sweep after its run of that number, if it is a minute or more and not said too often.

    Args:
        number: Of the run, from 0 on.
        directory: Of the sweep, with a folder per run.
    """
    runs, _ = size()
    if not runs or (number + 1) % max(1, runs // _LINES):
        return None
    began = float(os.environ[_BEGAN])
    # Runs that were finished before took no time; later ones may be among those, too, so that this is the most.
    ended = sum(path.stat().st_mtime >= began for path in directory.glob(f"*/{RESULT_FILE}"))
    left = (time.time() - began) / max(ended, 1) * (runs - number - 1)
    return f"{number + 1} of {runs} runs, about {duration_text(left)} left" if left >= _LONG_SECONDS else None
