"""The picture of a network that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import Simulation
from .frames import LinkFrames
from .loads import draw_loads, loads_of

_NEVER = 1 << 62  # cycles; only a picture ends a frame


class LivePicture:
    """Pictures of the links of a simulation, each with their utilisation since the previous one.

    The first picture shows it since the cycle `since`, at which the counters were 0.
    """

    def __init__(self, simulation: Simulation, since: int = 0) -> None:
        self.simulation = simulation
        self._frames = LinkFrames(simulation, _NEVER, since)

    def draw(self) -> NDArray[np.uint8]:
        """The picture of the present state, [height, width, 3]."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        simulation, facts = self.simulation, self.simulation.facts()
        topology = simulation.configuration()["topology"]
        frames = self._frames
        loads = loads_of(frames.table(), frames.flows(), topology, facts["routers"], facts["failed_links"])
        figure = draw_loads(loads, time_ns=simulation.time_ns, title=facts["topology"])
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
