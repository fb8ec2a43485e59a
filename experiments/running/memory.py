"""The memory of runs, estimated before they start. It limits the number of parallel runs."""

from collections.abc import Sequence
from pathlib import Path

from ...simcore import ConfigError, CoreError, available_memory
from ..terminal.commandline import of_run
from .plan import PlannedRun

# Measured: a process with all imports took at most 0.165 GB, and packets in flight took up to twice the memory that the
# core claims at the beginning. The peaks of 2,800 runs, including saturated ones and jobs, on networks of 2 to 24,000
# terminals are below this estimate.
_PROCESS_BYTES = 170e6
_GROWTH = 3.0
_PART_OF_FREE = 0.9


def needs_of(runs: Sequence[PlannedRun], check: bool) -> tuple[dict[Path, float], dict[Path, int]]:
    """The peak memory that each run will probably need, and the terminals of its network, by the run's directory.

    Among similar runs (`Kind.alike`), only the network of the run with the highest cost is built. With `check`, the
    network of the run with the lowest cost is built, too, and a run that cannot be built is an error. Otherwise its
    estimate is a process without a network, and the run reports its error later.
    """
    alike: dict[str, list[PlannedRun]] = {}
    for run in runs:
        alike.setdefault(run.kind.alike(run.plain), []).append(run)
    needs: dict[Path, float] = {}
    terminals: dict[Path, int] = {}
    for group in alike.values():
        least, *_, most = sorted([group[0], *group], key=lambda run: run.cost)
        claimed, number = _survey(most, check)
        if check and least.cost < most.cost:
            _survey(least, check)  # a window of 0 ns has the lowest cost and cannot run
        needs |= {run.directory: _PROCESS_BYTES + _GROWTH * claimed for run in group}
        terminals |= {run.directory: number for run in group}
    return needs, terminals


def _survey(run: PlannedRun, check: bool) -> tuple[int, int]:
    try:
        return run.kind.survey(run.plain)
    except (ConfigError, CoreError, OSError) as error:
        if check and not isinstance(error, CoreError):
            raise of_run(run.own or [run.directory.name], error) from error
        return 0, 1


def most_at_once(needs: Sequence[float], workers: int) -> int:
    """The number of parallel runs, from 1 to `workers`, for which memory is sufficient in any combination."""
    free, sum_of_largest = _PART_OF_FREE * available_memory(), 0.0
    for count, need in enumerate(sorted(needs, reverse=True)[:workers]):
        sum_of_largest += need
        if sum_of_largest > free:
            return max(1, count)
    return workers
