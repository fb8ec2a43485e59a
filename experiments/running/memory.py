"""The memory that runs will take, known before they start, so that no more of them go on at once than fit."""

from collections.abc import Sequence
from pathlib import Path

from ...simcore import ConfigError, CoreError, available_memory
from ..terminal.commandline import of_run
from .plan import PlannedRun, Survey

# A process with all imports took at most 0.165 GB. Packets in flight took up to twice the memory that the core claims
# at the beginning. The peaks of 2,800 runs, saturated ones and jobs included, on networks of 2 to 24,000 terminals are
# below this estimate.
_PROCESS_BYTES = 170e6
_GROWTH = 3.0
_PART_OF_FREE = 0.9


def needs_of(runs: Sequence[PlannedRun], check: bool) -> tuple[dict[Path, float], dict[Path, int]]:
    """The most bytes that each run will probably take, and the terminals of its network, by its directory.

    Only the costliest of the runs that are alike is built, and with `check` the cheapest, too.

    Args:
        runs: That are to be done.
        check: Whether a run that cannot be built is an error. Otherwise it counts as a process without a network, and
            says itself what is wrong with it.

    Raises:
        ConfigError: a run cannot be built.
    """
    alike: dict[str, list[PlannedRun]] = {}
    for run in runs:
        alike.setdefault(run.kind.alike(run.plain), []).append(run)
    needs: dict[Path, float] = {}
    terminals: dict[Path, int] = {}
    for group in alike.values():
        by_cost = sorted(group, key=lambda run: run.cost)
        found = _survey(by_cost[-1], check)
        if check and by_cost[0].cost < by_cost[-1].cost:
            _survey(by_cost[0], check)  # a window of no time costs nothing, and cannot run either
        needs |= {run.directory: _PROCESS_BYTES + _GROWTH * found.claimed_bytes for run in group}
        terminals |= {run.directory: found.terminals for run in group}
    return needs, terminals


def _survey(run: PlannedRun, check: bool) -> Survey:
    try:
        return run.kind.survey(run.plain)
    except (ConfigError, CoreError, OSError) as error:
        if check and not isinstance(error, CoreError):
            raise of_run(run.own or [run.directory.name], error) from error
        return Survey(0, 1)


def most_at_once(needs: Sequence[float], workers: int) -> int:
    """How many of these runs may go on at once here, whichever they are: `workers` of them or fewer, one at least."""
    free, sum_of_largest = _PART_OF_FREE * available_memory(), 0.0
    for count, need in enumerate(sorted(needs, reverse=True)[:workers]):
        sum_of_largest += need
        if sum_of_largest > free:
            return max(1, count)
    return workers
