"""What memory runs will take, known before they start, so that no more of them go on at once than fit."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...simcore import ConfigError, CoreError, available_memory
from .one_run import prepare

if TYPE_CHECKING:
    from .sweep import PlannedRun

# A process with all it imports took 0.165 GB at most, and packets in flight up to twice what the core claims at first:
# the peaks of 2,800 runs on networks of 2 to 24,000 terminals, saturated ones and jobs among them, are below this.
_PROCESS_BYTES = 170e6
_GROWTH = 3.0
_PART_OF_FREE = 0.9


def bytes_of(runs: Sequence["PlannedRun"]) -> dict[Path, float]:
    """The most that each run will probably take, by its directory; of alike ones the costliest is built and asked.

    What cannot be built counts as a process and no more: it will say so itself.
    """
    alike: dict[str, list[PlannedRun]] = {}
    for run in runs:
        alike.setdefault(_kind(run), []).append(run)
    found: dict[Path, float] = {}
    for group in alike.values():
        claimed = 0
        costliest = max(group, key=lambda run: run.cost)
        if "routing" in costliest.plain:  # the others make forwarding tables
            with suppress(ConfigError, CoreError, OSError):
                claimed = int(prepare(costliest.config).facts()["memory_estimate_bytes"])
        found |= dict.fromkeys((run.directory for run in group), _PROCESS_BYTES + _GROWTH * claimed)
    return found


def that_fit(needs: Sequence[float], workers: int) -> int:
    """How many of these runs may go on at once here, whichever they are: `workers` of them or fewer, one at least."""
    free, sum_of_largest = _PART_OF_FREE * available_memory(), 0.0
    for count, need in enumerate(sorted(needs, reverse=True)[:workers]):
        sum_of_largest += need
        if sum_of_largest > free:
            return max(1, count)
    return workers


def _kind(run: "PlannedRun") -> str:
    plain = run.plain
    parts = [plain.get(section) for section in ("topology", "router", "routing", "engine")]
    return json.dumps([*parts, plain.get("workload", {}).get("name")], default=str)
