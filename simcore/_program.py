"""`Program`: what the ranks of a job do, from a motif, a GOAL text or NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._core import ConfigError
from ._mapping import exchange_arrays

CALC, SEND, RECEIVE = 0, 1, 2


class Program(_core.Program):
    """A schedule that a job of a workload runs: `{"name": ..., "program": program}` among `workload["jobs"]`.

    Per rank there are blocks, one after the other; a block is a DAG of send, receive and compute operations. Without
    arguments for it, everything is one block that runs once.

    Args:
        ranks: Number of ranks.
        op_rank: [operations] Rank of each operation. Within a block they are numbered 0, 1, ... in this order.
        op_kind: [operations] `CALC`, `SEND` or `RECEIVE`.
        op_size: [operations] ns of a computation, bytes of a message.
        op_peer: [operations] The other rank of a message; -1 receives from any. Default 0.
        op_tag: [operations] Its tag; -1 receives any. Default 0.
        op_cpu: [operations] Which of the rank's processors. Default 0.
        op_block: [operations] Which block of its rank. Default 0.
        before, after: [dependencies] Numbers of two operations of one block: `after` starts when `before` has finished.
        dependency_rank: [dependencies] Whose; default the rank 0.
        dependency_block: [dependencies] In which block; default 0.
        on_start: [dependencies] True: when `before` has started.
        repeats: Mapping from (rank, block) to how often the block runs before the next.

    Raises:
        ConfigError: names the array and the index, or the operation that no other takes.
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
        """What the ranks of a motif do.

        Args:
            name: one of `registered("motif")`.
            params: those of the motif.

        Raises:
            ConfigError: unknown name, or a parameter that is none or out of range.
        """
        return _made("motif", name, dict(params or {}))

    @staticmethod
    def goal(text: str | bytes, name: str = "goal") -> Program:
        """A schedule in the GOAL language.

        Args:
            text: of the schedule.
            name: by which errors call it.

        Raises:
            ConfigError: naming line and column.
        """
        return _made("goal", text, name)

    @staticmethod
    def exchange(matrix: Any, iterations: int = 1) -> Program:
        """All messages of a communication matrix at once, again and again.

        Args:
            matrix: [ranks, ranks] bytes from the rank of the row to that of the column, SciPy sparse or an array; of a
                sparse matrix of an application, `exchange_of` makes one.
            iterations: Each ends for a rank when it has received and sent all of its messages.

        Raises:
            ConfigError: the matrix is not square, or holds what is no size.
        """
        if iterations < 1:
            raise ConfigError(f"iterations: {iterations}; valid are numbers from 1 on")
        return Program(**exchange_arrays(matrix, iterations))

    def __copy__(self) -> Program:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._recipe

    def _hold(self, kind: str, *given: Any) -> None:
        makers: dict[str, Callable[..., _core.Program]]
        makers = {"arrays": _core.Program, "motif": _core.Program.motif, "goal": _core.Program.goal}
        super().__init__(makers[kind](*given))
        self._recipe = (kind, *given)  # what a pickle holds


def _made(kind: str, *given: Any) -> Program:
    program = Program.__new__(Program)
    program._hold(kind, *given)
    return program
