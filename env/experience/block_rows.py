"""Rows of observations that join blocks of Python and blocks of the core, and may show queues late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError, Simulation, SimulationBatch
from .asked import Asked, Tables
from .blocks import Feature, ObservationBlock, Parts
from .bounds import finite_bounds
from .late import Late

_Floats = NDArray[np.float32]
_Runs = list[tuple[slice, slice]]
_VIEWS = ("_seen", "_mask", "_network", "_router", "_arrays", "_copies", "_written", "_halves", "observation")


class BlockRows:
    """Joins the core's features and Python's, for the decisions of several networks.

    Args:
        parts: the blocks.
        simulations: the networks.

    Attributes:
        observation: float32 [rows, width]; its memory stays the same until the next `look`.
    """

    observation: _Floats

    def __init__(self, parts: Parts, simulations: Sequence[Simulation]) -> None:
        self.parts = parts
        self._tables = [Tables(simulation) for simulation in simulations]
        self._own = [[block.setup and block.setup(tables) for block in parts.observations] for tables in self._tables]
        self._bounds = [(finite_bounds(block.general), finite_bounds(block.per_slot)) for block in parts.observations]
        self._late = [
            Late(parts.seam(one.seam()), parts.delay_ns, parts.noise, one.configuration()["seed"])
            for one in simulations
            if parts.delay_ns or parts.noise
        ]
        self._count = 0
        self._kept: _Floats | None = None  # rows of a copied or unpickled object, until `look` allocates its memory

    def look(self, batch: SimulationBatch) -> None:
        """Allocate the joined rows for the core's rows of `batch`."""
        self._seen, self._mask = batch.observation, batch.mask
        self._network, self._router = batch.network, batch.router
        core = self._tables[0].simulation.seam()
        whole = self.parts.seam(core)
        rows, slots = self._mask.shape
        self.observation = np.zeros((rows, whole["width"]), np.float32)
        self._halves = general, per_slot = _split(self.observation, len(whole["general"]), slots)
        core_general, core_per_slot = _split(self._seen, len(core["general"]), slots)
        # The columns of each block, in the joined rows and in the core's.
        runs: tuple[_Runs, _Runs] = ([], [])
        self._written: list[tuple[_Floats, _Floats]] = []
        python = {block.name for block in self.parts.observations}
        for name in self.parts.named:
            here, there = _places(whole, name), _places(core, name)
            if name in python:
                self._written.append((general[:, here[0]], per_slot[:, :, here[1]]))
                continue
            for pairs, to, source in zip(runs, here, there, strict=True):
                pairs += [(to, source)] if to.start < to.stop else []
        self._copies = [(general[:, to], core_general[:, source]) for to, source in runs[0]]
        self._copies += [(per_slot[:, :, to], core_per_slot[:, :, source]) for to, source in runs[1]]
        self._arrays = [tables.simulation.arrays() for tables in self._tables]
        if self._kept is not None:
            self.observation[: len(self._kept)] = self._kept
            self._kept = None

    def write(self, count: int) -> None:
        """Write one feature row for each waiting decision into the buffers.

        Args:
            count: the number of decisions.
        """
        self._count = 0
        if not count:
            return
        for target, source in self._copies:
            target[:count] = source[:count]
        views = [(general[:count], per_slot[:count]) for general, per_slot in self._written]
        for both in views:
            for values in both:
                if values.size:
                    values.fill(np.nan)
        ends = np.bincount(self._network[:count], minlength=len(self._tables)).cumsum().tolist()
        first = 0
        for k, last in enumerate(ends):
            if first < last:
                self._write_network(k, slice(first, last), views)
            first = last
        behind = ~self._mask[:count]
        for block, (general, per_slot), bounds in zip(self.parts.observations, views, self._bounds, strict=True):
            if block.per_slot:
                per_slot[behind] = 0
            for values, features, (low, high) in zip(
                (general, per_slot), (block.general, block.per_slot), bounds, strict=True
            ):
                # A comparison with NaN is false, so NaN fails this test.
                if features and not ((values >= low).all() and (values <= high).all()):
                    self._check(block, features, values, low, high)
        self._count = count

    def _write_network(self, k: int, rows: slice, views: list[tuple[_Floats, _Floats]]) -> None:
        asked = Asked(self._tables[k], self._arrays[k], self._router[rows], self._mask[rows], self._seen[rows])
        for block, own, (general, per_slot) in zip(self.parts.observations, self._own[k], views, strict=True):
            asked.own = own
            try:
                block.write(asked, general[rows], per_slot[rows])
            except Exception as error:
                error.add_note(
                    f"in the observation '{block.name}', of {len(asked)} decisions of network {k}: general "
                    f"{general[rows].shape}, per_slot {per_slot[rows].shape}"
                )
                raise
        if self._late:
            self._late[k].write(asked, self._halves[0][rows], self._halves[1][rows])

    def _check(
        self, block: ObservationBlock, features: Sequence[Feature], values: _Floats, low: _Floats, high: _Floats
    ) -> None:
        wrong = ~((values >= low) & (values <= high))
        if values.ndim == 3:
            wrong &= self._mask[: len(values), :, None]  # slots without a candidate are not checked
        for at in np.argwhere(wrong)[:1].tolist():
            feature, value = features[at[-1]], values[tuple(at)]
            row = f"row {at[0]} (network {self._network[at[0]]}, router {self._router[at[0]]})"
            where = f"slot {at[1]} of {row}" if len(at) == 3 else row
            hint = "; it was not written, or 0/0" if np.isnan(value) else ""
            raise ConfigError(
                f"observation '{block.name}': feature '{feature.name}' is {value:g} in {where}{hint}; its declared "
                f"bounds are {feature.low:g} .. {feature.high:g}"
            )

    # A copy creates its own views of the core's memory.
    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key not in _VIEWS}
        return {**state, "_kept": self.observation[: self._count].copy()}


def _split(rows: _Floats, general: int, slots: int) -> tuple[_Floats, NDArray[np.float32]]:
    """Views of the two parts, [rows, general] and [rows, slots, per_slot]."""
    behind = rows[:, general:]
    return rows[:, :general], behind.reshape(len(rows), slots, behind.shape[1] // slots)


def _places(seam: dict[str, Any], block: str) -> tuple[slice, slice]:
    """The columns of a block among the general features, and among those of a slot."""

    def place(features: Sequence[dict[str, Any]]) -> slice:
        own = [i for i, feature in enumerate(features) if feature["name"].startswith(f"{block}.")]
        return slice(own[0], own[-1] + 1) if own else slice(0, 0)

    return place(seam["general"]), place(seam["per_slot"])
