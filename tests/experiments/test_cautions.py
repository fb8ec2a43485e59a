"""A warning about a drifting latency gives a reason, based on the window."""

from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments.results.cautions import cautions, is_saturated
from flitgym.experiments.running import cores
from flitgym.simcore import Simulation

SETTLED: dict[str, Any] = {"accepted_load": 0.2, "offered_load": 0.2} | dict.fromkeys(
    ("packet_latency_first_half_ns", "packet_latency_second_half_ns"), 800.0
)


@pytest.mark.parametrize(
    ("first", "second", "accepted", "words"),
    [
        (900.0, 800.0, 0.2, "has not settled"),
        (8_000.0, 9_800.0, 0.12, "saturated (accepted 0.120 of 0.200)"),
        (800.0, 950.0, 0.2, "still filling"),
    ],
)
def test_the_reason_for_a_drift_is_given(first: float, second: float, accepted: float, words: str) -> None:
    numbers: dict[str, Any] = {"accepted_load": accepted, "offered_load": 0.2}
    numbers |= {"packet_latency_first_half_ns": first, "packet_latency_second_half_ns": second}
    config = compose(["routing=minimal"])
    assert words in cautions(config, numbers)["drift"]
    assert "drift" not in cautions(config, numbers | {"packet_latency_second_half_ns": first * 1.05})
    assert "drift" not in cautions(config, numbers | {"changes_ns": [20000.0]})


def test_idle_threads_trigger_a_warning() -> None:
    def said(threads: int, partitions: int, wanted: int = 0) -> str | None:
        config = compose(["routing=minimal", f"run.threads={threads}", f"run.partitions={wanted}"])
        numbers = {"facts": {"partitions": partitions, "routing_replaced": False}}
        return cautions(config, {**SETTLED, **numbers}).get("threads")

    assert said(1, 1) is None
    assert said(4, 4) is None
    assert said(0, 1) is None  # 0 means one thread per core where partitions allow it
    assert "only 4 partitions" in str(said(8, 4))
    assert "is one partition" in str(said(2, 1))
    assert "see run.partitions" in str(said(2, 1))
    assert said(2, 2, wanted=2) is None
    assert said(4, 2, wanted=2) == "run.threads: 4, but run.partitions=2"
    assert said(1, 3, wanted=8) == "run.partitions: 8, but this network has only 3 partitions"
    assert "run.partitions: 4, but this network is one partition" in str(said(1, 1, wanted=4))


def test_a_rounded_latency_is_named() -> None:
    router = {"name": "slingshot", "link_latency_ns_host": 10}  # a cycle of 1.28 ns
    sim = Simulation({"topology": "dragonfly_72", "router": router, "routing": "minimal", "traffic": "uniform"})
    assert cautions(compose(["routing=minimal"]), {**SETTLED, "facts": sim.facts()})["rounding"] == (
        "router.cycle_ns: credit on a host link (credit_latency=link) = 10 ns becomes 10.24 ns, the nearest cycle"
    )


@pytest.mark.parametrize(
    ("events", "late"),
    [
        ("[0-1@500,0-2@1e9]", ["0-2@1e9"]),
        ("[0.05@2000.5-3000,s-1@1999]", ["0.05@2000.5-3000"]),
        ("[0-1@2000]", ["0-1@2000"]),
        ("[0-1@500-600]", []),
        ("null", []),
    ],
)
def test_a_failure_after_the_end_triggers_a_warning(events: str, late: list[str]) -> None:
    config = compose(["routing=minimal", f"failures.events={events}"])
    said = cautions(config, {**SETTLED, "simulated_ns": 2000.0}).get("late_events", "")
    assert bool(said) == bool(late)
    assert not late or said.startswith(f"failures.events: {', '.join(late)}: the run ended after 2,000 ns")


def test_runs_side_by_side_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "CORES", 8)
    shares = []
    for runs in (0, 1, 3, 8, 20):
        monkeypatch.setenv("FLITGYM_RUNS_AT_ONCE", cores.environment_of(runs)["FLITGYM_RUNS_AT_ONCE"])
        shares.append(cores.cores_of_a_run())
    assert shares == [8, 8, 2, 1, 1]


@pytest.mark.parametrize(
    ("accepted", "packets", "saturated"), [(0.095, 400, False), (0.095, 40_000, True), (0.0985, 40_000, False)]
)
def test_few_packets_do_not_mean_saturation(accepted: float, packets: int, saturated: bool) -> None:
    run = {"accepted_load": accepted, "offered_load": 0.1, "packets_delivered": packets}
    assert is_saturated([run]) is saturated
    assert is_saturated([{"accepted_load": None, "offered_load": None, "packets_delivered": packets}]) is False


def test_a_policy_of_another_topology_is_named() -> None:
    for routing, foreign in (("dqn_dragonfly", True), ("dqn", False), ("minimal", False)):
        config = compose([f"routing={routing}", "topology=hyperx_64"])
        said = cautions(config, SETTLED).get("foreign_policy", "")
        assert said == (
            "the policy dqn_dragonfly.safetensors was trained on the topology dragonfly, and this network is a hyperx"
            if foreign
            else ""
        )


@pytest.mark.parametrize(
    ("scale", "said"), [(0.02, "halo3d keeps 1 of 10 iterations (scale=0.02)"), (0.1, ""), (1, "")]
)
def test_a_job_that_is_longer_than_its_scale_is_named(scale: float, said: str) -> None:
    jobs = [{"name": "halo3d", "iterations": 10, "scale": scale}, {"name": "traced", "start_ns": 0.0}]
    numbers = {**SETTLED, "core_config": {"workload": {"jobs": jobs}}}
    assert cautions(compose(["routing=minimal"]), numbers).get("scale", "").startswith(said)
    assert bool(said) == ("scale" in cautions(compose(["routing=minimal"]), numbers))
