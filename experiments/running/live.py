"""The state of a running simulation for the progress bar: load, latency, jobs and the busiest links."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation
from ..terminal.progress import Report

_EVERY_SECONDS = 1.0
_COST = 0.005  # at most this part of the time
_BUSIEST = 3


class Live:
    """A `Report` that adds lines about a simulation to the phase, with numbers since the previous lines.

    `job_bytes` are the bytes that the jobs will send.
    """

    def __init__(self, simulation: Simulation, report: Report, job_bytes: Sequence[int] = ()) -> None:
        self._simulation, self._report, self._job_bytes = simulation, report, job_bytes
        channels = simulation.channels()
        first = simulation.routers()["first_port"].astype(np.int64)
        self._ends = np.stack([channels["router"], channels["peer_router"]], axis=1).astype(np.int64)
        self._port = first[channels["router"]] + channels["port"]
        self._cycles = channels["flit_time_ns"] / simulation.cycle_ns
        self._text, self._next, self._now = "", time.monotonic() + _EVERY_SECONDS, simulation.now
        self._flits = self._sent()

    def __call__(self, phase: str, part: float) -> None:
        """Report the phase, with the state of the simulation on further lines."""
        if (began := time.monotonic()) >= self._next:
            self._text = "".join(f"\n{line}" for line in self.lines())
            ended = time.monotonic()
            self._next = ended + max(_EVERY_SECONDS, (ended - began) / _COST)
        self._report(phase + self._text, part)

    def lines(self) -> list[str]:
        """The state since the previous call."""
        simulation, flits, numbers = self._simulation, self._sent(), self._simulation.statistics()
        sent, span = flits - self._flits, max(simulation.now - self._now, 1)
        if 0 < numbers["window_cycles"] <= span:  # a measuring window has begun, which resets the counters
            sent, span = flits, int(numbers["window_cycles"])
        self._flits, self._now = flits, simulation.now
        use = np.clip(sent * self._cycles / span, 0, 1)
        load = float(use[self._ends[:, 1] < 0].mean())
        words = [f"load {load:.3f}"]
        if numbers["packets_delivered"]:
            words.append(f"mean latency {numbers['packet_latency_mean_ns']:,.0f} ns")
        words.append(f"{simulation.packets_in_network:,} packets in the network")
        found = [", ".join(words)]
        if self._job_bytes:
            jobs = zip(simulation.jobs(), self._job_bytes, strict=True)
            found.append(
                "jobs: " + ", ".join(f"{job['name']} {job['bytes_received'] / max(n, 1):.0%}" for job, n in jobs)
            )
        busiest = np.argsort(-use, kind="stable")[:_BUSIEST]
        links = zip(*self._ends[busiest].T, use[busiest], strict=True)
        names = (f"router {own} to {'terminals' if peer < 0 else peer} {part:.0%}" for own, peer, part in links)
        return [*found, f"busiest links: {', '.join(names)}"]

    def _sent(self) -> NDArray[np.int64]:
        flits: NDArray[np.int64] = self._simulation.arrays()["ports"]["flits"][self._port].astype(np.int64)
        return flits
