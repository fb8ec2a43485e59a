"""One network of an environment with one decision per step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simcore import Simulation, SimulationBatch
from ..simcore.pictures.live import LivePicture
from .experience.block_rows import BlockRows
from .experience.seeds import Episodes
from .experience.world import episode_cycles
from .packet_options import PacketOptions


class PacketNetwork:
    """A network that runs from one cycle with decisions to the next.

    Args:
        options: see `PacketOptions`.
        usual_ns: the length of an episode of traffic without `episode_ns`.

    Attributes:
        episodes: the seeds of the networks.
        simulation: the present network, from the first `draw` on.
        batch: the decisions of the present cycle.
        observation: float32 [rows, width], one row per decision, with the blocks from Python.
        mask: bool [rows, slots]
        actions: the slots chosen in the present cycle, int64 [rows].
        count: the number of decisions that `collect` found and `apply` has not made.
        end: the cycle in which the episode of the network ends.
    """

    simulation: Simulation
    batch: SimulationBatch
    observation: NDArray[np.float32]
    mask: NDArray[np.bool_]
    _picture: LivePicture | None = None

    def __init__(self, options: PacketOptions, usual_ns: float) -> None:
        self.options, self.usual_ns = options, usual_ns
        self.episodes = Episodes()

    def draw(self, seed: int) -> Simulation:
        """Replace the network with that of the episode with this seed, at the end of its warm-up."""
        options = self.options
        self.random = np.random.default_rng([seed, 1])
        self.simulation = options.simulation(seed)
        self._blocks = BlockRows(options.parts, [self.simulation]) if options.parts.in_python else None
        self._look()
        self.actions = np.zeros(len(self.mask), np.int64)
        warmup = options.start_cycles(self.simulation, seed)
        self.end = warmup + episode_cycles(self.simulation, options.episode_ns, self.usual_ns)
        while self.collect(warmup):
            self.follow_background()
            self.apply()
        return self.simulation

    def picture(self) -> NDArray[np.uint8]:
        """The utilisation of the links since the previous picture of this network, [height, width, 3]."""
        if self._picture is None or self._picture.simulation is not self.simulation:
            self._picture = LivePicture(self.simulation)
        return self._picture.draw()

    def collect(self, end: float) -> int:
        """Run to the next decisions before cycle `end`, or until the workload is done; returns their number."""
        self.count = self.batch.collect_before(end)
        self.write_blocks()
        return self.count

    def write_blocks(self) -> None:
        """Complete the rows of the present decisions with the blocks from Python."""
        if self._blocks is not None:
            self._blocks.write(self.batch.count)

    def apply(self) -> None:
        """Make the present decisions with `actions`."""
        self.batch.apply(self.actions[: self.count])
        self.count = 0

    def follow_background(self) -> None:
        """Choose the actions of all present decisions by the rule of the background."""
        n, rule = self.count, self.options.background
        actions, mask = self.actions[:n], self.mask[:n]
        if rule == "minimal":
            actions[:] = 0
        elif self.options.acting:
            actions[:] = -1  # the routing that listed the candidates decides
        elif rule == "random":
            actions[:] = self.random.random(n) * mask.sum(axis=1)
        elif callable(rule):
            actions[:] = rule(self.observation[:n], mask)

    def _look(self) -> None:
        self.batch = SimulationBatch([self.simulation])
        self.observation, self.mask = self.batch.observation, self.batch.mask
        if self._blocks is not None:
            self._blocks.look(self.batch)
            self.observation = self._blocks.observation

    # A copy creates its own views of the core's memory.
    def __getstate__(self) -> dict[str, Any]:
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("batch", "observation", "mask", "_picture")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "simulation" in state:
            self._look()
