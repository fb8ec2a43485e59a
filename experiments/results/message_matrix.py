"""The matrices of `workload.message_matrix`: bytes and times by pairs of ranks, and their columns in a row."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # rows are read without the core
    from ...simcore import Simulation

MOST_RANKS = 64  # of a job whose pairs all have a value in a row
BLOCKS = 48  # of ranks, for the rows of larger jobs

# Name in the npz file, and memory of the core. Row: sending rank, column: receiving rank.
_KEPT = {
    "bytes": "message_bytes",
    "messages": "message_count",
    "time_ns": "message_time_ns",
    "busy_ns": "message_busy_ns",
}


def matrices(simulation: "Simulation", ranks: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """The matrices of every job after a run with `workload.message_matrix=true`, each [ranks, ranks].

    `ranks` has the number of ranks by job, in the order of the jobs. The matrices of a job are:

    * `<job>.bytes`, `<job>.messages`: those that have arrived;
    * `<job>.time_ns`: the sum of the messages' times, from the call of the send to the last byte;
    * `<job>.busy_ns`: the time in which at least one message of the pair was in flight.
    """
    arrays = {}
    for key, memory in _KEPT.items():
        whole = simulation.memory(memory)
        for job, (name, n) in enumerate(ranks.items()):
            # The core's memory has no dimensions for jobs of a single rank.
            arrays[f"{name}.{key}"] = np.atleast_2d(whole[job])[:n, :n]
    return arrays


def pair_columns(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The bandwidth of pairs of ranks as columns of a row, for every job of `matrices`.

    * `messages.<job>.gb_per_s`: [from][to] GB/s while a message was in flight; None without a message. A job of up to
      64 ranks has a value per pair, a larger one means over 48 x 48 blocks of neighbouring ranks.
    * `messages.<job>.mean_gb_per_s`: the mean over all pairs with a message.
    """
    columns: dict[str, Any] = {}
    for name in arrays:
        job, _, key = name.rpartition(".")
        if key != "bytes":
            continue
        size, busy = arrays[name], arrays[f"{job}.busy_ns"]
        rate = np.divide(size, busy, out=np.full(size.shape, np.nan), where=busy > 0)
        shown = rate if len(rate) <= MOST_RANKS else block_means(rate, BLOCKS)
        columns[f"messages.{job}.gb_per_s"] = [[x if np.isfinite(x) else None for x in row] for row in shown.tolist()]
        columns[f"messages.{job}.mean_gb_per_s"] = float(np.nanmean(rate)) if np.isfinite(rate).any() else None
    return columns


def block_means(values: NDArray[np.float64], blocks: int) -> NDArray[np.float64]:
    """[blocks, blocks] means over parts of a square matrix, whose sizes differ by at most one, without NaN."""
    part = np.arange(len(values)) * blocks // len(values)
    known = np.isfinite(values)
    total, count = np.zeros((blocks, blocks)), np.zeros((blocks, blocks))
    at = np.ix_(part, part)
    np.add.at(total, at, np.where(known, values, 0.0))
    np.add.at(count, at, known)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
