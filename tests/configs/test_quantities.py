"""Values with units: 5 ns per metre of cable, and 8 bits per byte."""

import pytest
from flitgym.configs import compose
from flitgym.configs.composition import SIMULATION
from flitgym.configs.quantities import in_numbers


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("router.link_latency_ns_global=30m", "150"),
        ("router.link_latency_ns_host=50cm,2.5m,7ns,3", "2.5,12.5,7,3"),
        ("router.link_bandwidth_gb_per_s_local=200Gb/s", "25"),
        ("router.crossbar_bandwidth_gb_per_s=1.6Tb/s,25GB/s", "200,25"),
        ("traffic.load_step_times_ns=[1us,2.5us]", "[1000,2500]"),
        ("run.warmup_ns=1e-3s", "1000000"),
        ("traffic.packet_bytes=512B,4KiB,1.5kB", "512,4096,1500"),
    ],
)
def test_a_value_gets_the_unit_of_its_key(word: str, number: str) -> None:
    assert in_numbers([word]) == [word.partition("=")[0] + "=" + number]


def test_units_are_read_by_hydra_and_by_sweeps() -> None:
    words = ["router=slingshot", "router.link_latency_ns_host=2m"]
    assert compose(words).router.link_latency_ns_host == 10
    assert compose(["traffic.packet_bytes=2KiB"]).traffic.packet_bytes == 2048
    assert SIMULATION.resolved(words, {"run.warmup_ns": "3us"})["run"]["warmup_ns"] == 3000
