"""Runs of flows: the rest of the flows of a window, or all flows of a file, and their results."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...simcore import Simulation
from ..results.flow_times import flow_numbers
from ..results.names import Columns
from ..terminal.progress import Report

_LOOK = 1024  # cycles from the window to the first look at the flows; a look reads all of them


class FlowWindow:
    """The flows that begin in a measuring window."""

    def __init__(self, simulation: Simulation, config: Mapping[str, Any]) -> None:
        self._simulation, self._from, self._before = simulation, 0, 0
        self._packet = config["traffic"]["packet_bytes"] or config["router"]["flit_bytes"]

    def open(self) -> None:
        """The window opens now."""
        self._from, self._before = self._simulation.now, self._job["messages"]

    def replay(self, report: Report) -> tuple[dict[str, Any], Columns]:
        """Run until all flows of a file are complete, in a window without a warm-up. Returns as `result`."""
        simulation = self._simulation
        simulation.begin_window()
        while not simulation.workload_finished:
            report(f"{simulation.time_ns / 1e3:,.0f} us simulated", 0.0)
            simulation.run(_LOOK)
        simulation.end_window()
        numbers, table = self.result(0, report)
        return {"offered_load": None, **numbers}, table

    def result(self, most_cycles: int, report: Report) -> tuple[dict[str, Any], Columns]:
        """Run until the flows of the window, which ends now, are complete, for `most_cycles` at most.

        Returns the field `flows` of the result, and the table of these flows.
        """
        simulation, end = self._simulation, self._simulation.now
        job, cycle_ps = self._job, round(simulation.cycle_ns * 1000)
        begun, peak = job["messages"] - self._before, job["peak_ingress_bytes"]
        while True:
            table = simulation.flows()
            # A flow begins in the first cycle whose time is not before its own.
            cycle = np.ceil(np.rint(table["time_ns"] * 1000) / cycle_ps)
            own = (cycle >= self._from) & (cycle < end)
            left = end + most_cycles - simulation.now
            if int(own.sum()) == begun or left <= 0:
                break
            report("last flows", float(own.sum() / begun))
            simulation.run(min(max(_LOOK, (simulation.now - end) // 4), left))
        outside = table["source"] == table["destination"]  # these take no time
        table = {key: values[own & ~outside] for key, values in table.items()}
        window_ns = (end - self._from) * simulation.cycle_ns
        begun -= int((own & outside).sum())
        return {"flows": flow_numbers(table, begun, window_ns, self._packet, peak)}, table

    @property
    def _job(self) -> dict[str, Any]:
        job: dict[str, Any] = self._simulation.jobs()[0]
        return job
