"""Columns that an agent stores with its decisions. They join the transitions that the core records later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import NO_DECISION, ConfigError
from .chains import find, keys_of
from .ring import Rows

_FIRST_ROOM = 1024
_NOT_YET = np.iinfo(np.int64).max // 2


class OwnColumns:
    """The agent's arrays, indexed by network and number of the decision.

    The transition of decision k of a packet names decision k+1 as its next. It may arrive after the transition of k+1
    itself. So a decision is kept after its transition, for the longest time of feedback.

    Args:
        horizons: [networks] the longest time of feedback, in cycles.
        reserved: names that no column may have.
    """

    def __init__(self, horizons: NDArray[np.int64], reserved: tuple[str, ...]) -> None:
        self._horizons, self._reserved = horizons, reserved
        self._count = 0
        self._network = np.empty(0, np.uint32)
        self._decision = np.empty(0, np.uint64)
        self._filed = np.empty(0, np.int64)  # cycle at which the transition was read
        self._columns: Rows = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the first `add`."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._count

    def has_room(self, rows: int) -> bool:
        """Whether `rows` more rows fit into the allocated memory."""
        return self._count + rows <= len(self._decision)

    def add(self, network: NDArray[np.uint32], decision: NDArray[np.uint64], given: Mapping[str, Any]) -> None:
        """Store a value per decision; columns [n, ...]."""
        n = len(decision)
        values = {name: np.asarray(column) for name, column in given.items()}
        if not self._columns:
            self._begin(n, values)
        self._check(n, values)
        if not self.has_room(n):
            self._resize(max(2 * len(self._decision), self._count + n, _FIRST_ROOM))
        rows = slice(self._count, self._count + n)
        self._network[rows] = network
        self._decision[rows] = decision
        self._filed[rows] = _NOT_YET
        for name, column in values.items():
            self._columns[name][rows] = column
        self._count += n

    def drop(self, rows: int) -> None:
        """Forget the last `rows` decisions, which the core refused."""
        self._count -= rows
        if not self._count:
            self._columns = {}
            self._resize(0)

    def join(self, rows: Rows, now: NDArray[np.int64]) -> Rows:
        """The columns of these transitions, and the columns of the packets' next decisions under `next_...`.

        Args:
            rows: transitions with their `network`.
            now: [networks] the present cycle of each network.

        Returns:
            [n, ...] each. A decision without a kept value has NaN, or 0 in a column of integers. Without a next
            decision `next_...` is 0.
        """
        # A stable sort suffices, since decisions of a network were added in the order of their numbers.
        order = np.argsort(self._network[: self._count].astype(np.min_scalar_type(len(now))), kind="stable")
        keys = keys_of(self._network[order], self._decision[order])
        own = find(keys_of(rows["network"], rows["decision"]), keys, order)
        following = find(keys_of(rows["network"], rows["next_decision"]), keys, order)
        known, follows, linked = own >= 0, following >= 0, rows["next_decision"] != NO_DECISION

        joined: Rows = {}
        for name, column in self._columns.items():
            joined[name] = np.full((len(own), *column.shape[1:]), _nothing(column.dtype), column.dtype)
            joined[name][known] = column[own[known]]
            after = np.zeros_like(joined[name])
            after[linked] = _nothing(column.dtype)
            after[follows] = column[following[follows]]
            joined[f"next_{name}"] = after
        self._filed[own[known]] = now[rows["network"][known]]
        self._forget(now)
        return joined

    def _forget(self, now: NDArray[np.int64]) -> None:
        filed = self._filed[: self._count]
        gone = filed + self._horizons[self._network[: self._count]] <= now[self._network[: self._count]]
        kept = np.flatnonzero(~gone)
        arrays: list[NDArray[Any]] = [self._network, self._decision, self._filed, *self._columns.values()]
        for array in arrays:
            array[: len(kept)] = array[kept]
        self._count = len(kept)

    def _begin(self, n: int, values: Rows) -> None:
        for name, column in values.items():
            if name in self._reserved or name.startswith("next_"):
                raise ConfigError(
                    f"apply(): '{name}' is reserved for a column of the core; reserved names: "
                    f"{', '.join(self._reserved)}, next_..."
                )
            if column.dtype.kind not in "fiub" or column.shape[:1] != (n,):
                raise ConfigError(f"apply(): {name} is {column.dtype} {column.shape}; {n} decisions need ({n}, ...)")
        self._columns = {name: np.empty((0, *column.shape[1:]), column.dtype) for name, column in values.items()}

    def _check(self, n: int, values: Rows) -> None:
        if values.keys() != self._columns.keys():
            raise ConfigError(
                f"apply(): columns {', '.join(values) or 'none'} instead of {', '.join(self._columns)}; "
                "give the same columns with every decision until reset()"
            )
        for name, column in values.items():
            kept = self._columns[name]
            wanted = (n, *kept.shape[1:])
            if column.shape != wanted or not np.can_cast(column.dtype, kept.dtype, "same_kind"):
                raise ConfigError(
                    f"apply(): {name} is {column.dtype} {column.shape}; it must be {kept.dtype} {wanted}, as in the "
                    "first call"
                )

    def _resize(self, room: int) -> None:
        def larger(array: NDArray[Any]) -> NDArray[Any]:
            new = np.empty((room, *array.shape[1:]), array.dtype)
            new[: self._count] = array[: self._count]
            return new

        self._network, self._decision = larger(self._network), larger(self._decision)
        self._filed = larger(self._filed)
        self._columns = {name: larger(column) for name, column in self._columns.items()}


def _nothing(dtype: np.dtype[Any]) -> float:
    return float("nan") if dtype.kind == "f" else 0
