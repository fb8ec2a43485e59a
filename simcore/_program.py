"""`Program`: the operations of the ranks of a job, from a motif, a GOAL schedule or NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._core import ConfigError
from ._mapping import rows_of

CALC, SEND, RECEIVE = 0, 1, 2


class Program(_core.Program):
    """A schedule for a job of a workload: `{"name": ..., "program": program}` in `workload["jobs"]`.

    Each rank executes its blocks in sequence. A block is a DAG of send, receive and compute operations. Without the
    arguments for blocks, each rank has one block that runs once.

    Args:
        ranks: Number of ranks.
        op_rank: [operations] Rank of each operation. Operations of a block are numbered 0, 1, ... in this order.
        op_kind: [operations] `CALC`, `SEND` or `RECEIVE`.
        op_size: [operations] Duration of a computation in ns, or size of a message in bytes.
        op_peer: [operations] The other rank of a message; -1 receives from any rank. Default 0.
        op_tag: [operations] Tag of a message; -1 receives any tag. Default 0.
        op_cpu: [operations] Processor of the rank. Default 0.
        op_block: [operations] Block of the rank. Default 0.
        before, after: [dependencies] Two operations of one block. `after` starts when `before` has finished.
        dependency_rank: [dependencies] Rank of both operations. Default 0.
        dependency_block: [dependencies] Block of both operations. Default 0.
        on_start: [dependencies] True: `after` starts when `before` has started.
        repeats: Mapping from (rank, block) to the number of times that the block runs. Default 1.

    Raises:
        ConfigError: An array is invalid; the message names the array and the index. Or an operation has no matching
            partner; the message names the operation.
    """

    def __init__(
        self,
        ranks: int,
        *,
        op_rank: ArrayLike,
        op_kind: ArrayLike,
        op_size: ArrayLike,
        op_peer: ArrayLike | None = None,
        op_tag: ArrayLike | None = None,
        op_cpu: ArrayLike | None = None,
        op_block: ArrayLike | None = None,
        before: ArrayLike = (),
        after: ArrayLike = (),
        dependency_rank: ArrayLike | None = None,
        dependency_block: ArrayLike | None = None,
        on_start: ArrayLike | None = None,
        repeats: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        operations, dependencies = np.size(op_rank), np.size(before)

        def filled(values: ArrayLike | None, count: int) -> Any:
            return np.zeros(count, np.int64) if values is None else np.array(values)

        again = repeats or {}
        self._hold(
            "arrays",
            {
                "ranks": ranks,
                "op_rank": np.array(op_rank),
                "op_kind": np.array(op_kind),
                "op_size": np.array(op_size),
                "op_peer": filled(op_peer, operations),
                "op_tag": filled(op_tag, operations),
                "op_cpu": filled(op_cpu, operations),
                "op_block": filled(op_block, operations),
                "dependency_before": np.array(before, np.int64),
                "dependency_after": np.array(after, np.int64),
                "dependency_rank": filled(dependency_rank, dependencies),
                "dependency_block": filled(dependency_block, dependencies),
                "dependency_on_start": filled(on_start, dependencies).astype(np.int64),
                "repeat_rank": np.array([rank for rank, _ in again], np.int64),
                "repeat_block": np.array([block for _, block in again], np.int64),
                "repeat_count": np.array(list(again.values()), np.int64),
            },
        )

    @staticmethod
    def motif(name: str, params: Mapping[str, Any] | None = None) -> Program:
        """Return the program of a motif.

        Args:
            name: One of `registered("motif")`.
            params: Parameters of the motif. A program belongs to no run, so its random choices have the default seed 0.

        Raises:
            ConfigError: The name or a parameter is unknown, or a parameter is out of range.
        """
        return _made("motif", name, dict(params or {}))

    @staticmethod
    def goal(text: str | bytes, name: str = "goal") -> Program:
        """Read a schedule in the GOAL language.

        Args:
            text: Text of the schedule.
            name: Name of the schedule in messages.

        Raises:
            ConfigError: The text is not valid. The message names line and column.
        """
        return _made("goal", text, name)

    @staticmethod
    def goal_binary(path: str | os.PathLike[str]) -> Program:
        """Read a schedule in the binary form of GOAL, which LogGOPSim's txt2bin writes.

        The file is mapped into memory, and each block is read from the mapping when a rank reaches it. Do not change
        the file while the program exists.

        Args:
            path: Path of the file.

        Raises:
            ConfigError: The file is not valid. The message names byte, rank and operation.
        """
        program = _made("goal_binary", os.fspath(path))
        program._recipe = ("goal_binary", str(Path(path).absolute()))  # another process may have another folder
        return program

    @staticmethod
    def exchange(matrix: Any, iterations: int = 1) -> Program:
        """Return a program that sends all messages of a communication matrix at once, in every iteration.

        Args:
            matrix: [ranks, ranks] bytes from the row's rank to the column's rank: an array or a SciPy sparse matrix.
                `exchange_of` computes one from the sparse matrix of an application.
            iterations: Number of iterations. A rank ends an iteration when it has received and sent all its messages.

        Raises:
            ConfigError: The matrix is not square, or an entry is not a valid size.
        """
        if iterations < 1:
            raise ConfigError(f"iterations: {iterations}; valid are numbers from 1")
        first, peer, size = rows_of(matrix)
        ranks = len(first) - 1
        sender = np.repeat(np.arange(ranks), np.diff(first).astype(np.int64))
        kept = (sender != peer) & (size > 0)
        sender, receiver, size = sender[kept], np.asarray(peer)[kept], np.rint(size[kept]).astype(np.int64)
        return Program(
            ranks,
            # Receives come first, so that every message finds a posted receive.
            op_rank=np.concatenate([receiver, sender]),
            op_kind=np.repeat([RECEIVE, SEND], len(size)),
            op_size=np.concatenate([size, size]),
            op_peer=np.concatenate([sender, receiver]),
            repeats={(int(r), 0): iterations for r in np.union1d(sender, receiver)} if iterations > 1 else {},
        )

    def __copy__(self) -> Program:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._recipe

    def _hold(self, kind: str, *given: Any) -> None:
        make = _core.Program if kind == "arrays" else getattr(_core.Program, kind)
        super().__init__(make(*given))
        self._recipe: tuple[Any, ...] = (kind, *given)  # content of a pickle


def _made(kind: str, *given: Any) -> Program:
    program = Program.__new__(Program)
    program._hold(kind, *given)
    return program
