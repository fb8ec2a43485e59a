"""The time that the packets of a single flow wait at their source, compared with the closed form."""

import pytest
from core_scenes import Section, config, measure, router, traffic
from flitgym.simcore import Simulation

# Both terminals are at router 0. A flit takes 1 ns on a channel, which is two cycles.
PAIR: Section = {"name": "hyperx", "widths": [2], "terminals_per_router": 2}
TWO_CYCLES: Section = {"cycle_ns": 0.5, "output_buffer_flits": 64, "crossbar_bandwidth_gb_per_s": 256, "vcs": 1}


def latency(load: float, flits: int, injection: str, measure_ns: float) -> float:
    pattern = traffic("flows", load, sources=[0], destinations=[1], packet_bytes=128 * flits, injection=injection)
    changes = router("input_queued", **TWO_CYCLES)
    sim = Simulation(config("dimension_order", pattern, topology=PAIR, router=changes))
    return measure(sim, 2000, measure_ns)["packet_latency_mean_ns"]


@pytest.mark.parametrize("flits", [1, 4])
@pytest.mark.parametrize(("injection", "trials"), [("bernoulli", 2), ("bernoulli_flit", 1)])
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.9, 0.95])
def test_wait(load: float, injection: str, trials: int, flits: int) -> None:
    """A queue in discrete time with geometric arrivals and constant service (Meisling 1958).

    With n trials per flit time, packets of F flits wait load (n F - 1) / (2 n (1 - load)) flit times on average.
    """
    waits = latency(load, flits, injection, 500_000) - latency(0.5, flits, "fixed_interval", 2000)
    wanted = load * (trials * flits - 1) / (2 * trials * (1 - load))
    # Waits are correlated over about F / (1 - load)^2 flit times, so the mean is known worse at high loads.
    assert waits == pytest.approx(wanted, rel=0.02 + 0.005 / (1 - load), abs=1e-9)
