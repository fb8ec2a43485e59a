"""Long operations can be interrupted with Ctrl-C, and memory is estimated before it is allocated."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from core_scenes import SMALL, config
from flitgym.simcore import CALC, ConfigError, Program, Simulation

HYPERCUBE = {"name": "hyperx", "terminals_per_router": 1}
LOGGOPS = {"host": "loggops", "network": "none"}
NOTHING_TAKES_SO_LONG = 15  # s, on a busy machine


@contextmanager
def ctrl_c(after: float = 0.3) -> Iterator[None]:
    """Sends Ctrl-C while the body runs. The body must end by it, and soon."""
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert time.monotonic() - begin < NOTHING_TAKES_SO_LONG


def jobs(*given: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return config(routing="minimal", workload={"jobs": list(given), **parameters}, traffic=None)


@pytest.mark.deep
@pytest.mark.parametrize(
    "sections",
    [
        {"topology": {"name": "dragonfly", "routers_per_group": 32, "global_ports": 32, "groups": 1025}},
        # Takes 1 s and 1.3 GB. The first write to new memory cannot be interrupted, and it may be slow:
        # a virtual machine that had to obtain memory took 13 s for 3 GB.
        {"topology": {**HYPERCUBE, "widths": [16, 16, 10]}, "routing": "agent"},
        {"topology": {**HYPERCUBE, "widths": [16, 16, 8]}, "routing": "q_routing"},
        # The first packet of a terminal comes after some 1e8 changes of the pattern.
        {"topology": dict(SMALL), "traffic": {"name": "moving_adversary", "load": 1e-8, "period_ns": 2}},
    ],
)
def test_a_build_is_interrupted(sections: dict[str, Any]) -> None:
    if sections["topology"]["name"] == "dragonfly":
        sections["topology"]["terminals_per_router"] = 1
    with ctrl_c(0.2):
        Simulation({"routing": "minimal", "traffic": "uniform", **sections})


@pytest.mark.deep
@pytest.mark.parametrize("host", [{}, LOGGOPS])
def test_operations_that_take_no_time_are_interrupted(host: dict[str, Any]) -> None:
    program = Program(1, op_rank=[0], op_kind=[CALC], op_size=[0], repeats={(0, 0): 2**32 - 1})
    simulation = Simulation(jobs({"name": "a", "program": program}, **host))
    for _ in range(2):  # and can continue
        done = simulation.workload_progress
        with ctrl_c():
            simulation.run_workload(1000)
        assert simulation.workload_progress > done


@pytest.mark.deep
@pytest.mark.parametrize(
    ("sections", "names"),
    [
        ({"routing": {"name": "agent", "record": 1 << 24}}, ["routing.agent.record", "16777216", "max_memory_gb"]),
        (
            {"topology": {**HYPERCUBE, "widths": [2] * 16}, "routing": "agent"},
            ["65536 routers", "275 GB", "max_memory"],
        ),
    ],
)
def test_a_configuration_above_the_memory_limit_is_refused(sections: dict[str, Any], names: list[str]) -> None:
    given = {**config(routing="minimal", traffic="uniform"), **sections, "max_memory_gb": 0.9}
    with pytest.raises(ConfigError) as refusal:
        Simulation(given)
    for name in [*names, "0.9 GB"]:
        assert name in str(refusal.value)


_MEASURE = """
import resource, sys
from flitgym.configs import compose, core_sections
from flitgym.simcore import Simulation
sections = core_sections(compose(sys.argv[1:]))
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
Simulation({**sections, "topology": {"name": "hyperx", "widths": [2, 2]}, "routing": "minimal_adaptive",
            "traffic": "uniform"}) if "workload" not in sections else None
before = resident()
simulation = Simulation(sections)
simulation.run(500) if "workload" not in sections else simulation.run_workload(500)
print(simulation.facts()["memory_estimate_bytes"] / (resident() - before))
"""


@pytest.mark.parametrize(
    "words",
    [
        ["topology=dragonfly_1056", "routing=q_adaptive", "router=sc22", "traffic.load=0.6"],
        ["topology=hyperx_4096", "routing=dim_war", "router=sc19", "traffic=uniform", "traffic.load=0.4"],
        ["topology=dragonfly_1056", "routing=dqn_dragonfly", "traffic.load=0.5"],
    ],
)
def test_the_estimate_fits_the_memory_of_the_process(words: list[str]) -> None:
    run = subprocess.run([sys.executable, "-c", _MEASURE, *words], capture_output=True, text=True, check=True)
    assert 1 / 1.6 < float(run.stdout) < 1.6, f"{words}: estimate / resident = {run.stdout}"
