"""Fixed windows with the interface of `measure_steady`."""

from dataclasses import dataclass

import numpy as np

from ...simcore import Simulation
from ..terminal.progress import Report, no_report


@dataclass(frozen=True)
class SteadyResult:
    """As `running.steady.SteadyResult`."""

    steady: bool
    reason: str
    saturated: bool
    latency_interval: tuple[float, float] | None
    accepted_interval: tuple[float, float] | None
    warmup_end_ns: float
    effective_samples: float | None


def measure_steady(
    simulation: Simulation,
    precision: float = 0.02,
    confidence: float = 0.95,
    max_ns: float = 2_000_000.0,
    *,
    saturated_after_ns: float = 0.0,
    report: Report = no_report,
) -> SteadyResult:
    """Warm up for 20 us, and measure 20 us."""
    simulation.run_ns(20_000)
    simulation.begin_window()
    loads = []
    for k in range(10):
        before = simulation.statistics()["flits_delivered"]
        simulation.run_ns(2_000)
        report("measure", (k + 1) / 10)
        loads.append(simulation.statistics()["flits_delivered"] - before)
    simulation.end_window()
    numbers = simulation.statistics()
    scale = numbers["accepted_load"] / max(1.0, float(np.sum(loads)))
    half = 2.3 * float(np.std(loads, ddof=1)) * scale * 10**0.5
    accepted = numbers["accepted_load"]
    saturated = accepted + half < numbers["offered_load"] * (1 - precision)
    return SteadyResult(True, "", saturated, None, (accepted - half, accepted + half), 20_000.0, None)
