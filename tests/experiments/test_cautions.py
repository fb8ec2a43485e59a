"""A warning about a drifting latency gives a reason, based on the window."""

from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments.results.cautions import cautions, say_cautions
from flitgym.experiments.results.copies import distinct
from flitgym.experiments.running import executor
from flitgym.simcore import Simulation
from flitgym.simcore._window import is_saturated

SETTLED: dict[str, Any] = {"accepted_load": 0.2, "offered_load": 0.2} | dict.fromkeys(
    ("packet_latency_first_half_ns", "packet_latency_second_half_ns"), 800.0
)


def window(first: float, second: float, trend: float = 0.0, accepted: float = 0.2) -> dict[str, Any]:
    return {
        "accepted_load": accepted,
        "offered_load": 0.2,
        "packet_latency_first_half_ns": first,
        "packet_latency_second_half_ns": second,
        "packet_latency_trend": trend,
    }


@pytest.mark.parametrize(
    ("numbers", "kind", "words"),
    [
        (window(900, 800), "drift", "has not settled"),
        (window(800, 950), "drift", "still filling"),
        (window(800, 832, trend=0.9), "drift", "still filling"),  # 4 % with a trend
        (window(800, 832, trend=0.5), None, ""),
        (window(800, 808, trend=1), None, ""),
        (window(8000, 9800, accepted=0.12), "saturated", "accepted 0.120 of 0.200"),
        (window(15374, 15374, accepted=0.12), "saturated", "use a lower load, or"),  # a full network is constant
    ],
)
def test_one_judgement_of_a_window(numbers: dict[str, Any], kind: str | None, words: str) -> None:
    config = compose(["routing=minimal"])
    found = cautions(config, numbers)
    assert list(found) == [kind] * (kind is not None)
    assert words in found.get(str(kind), "")
    assert cautions(config, numbers | {"changes_ns": [20000.0]}) == {}
    # A run that shows how a network settles has not settled.
    assert "drift" not in cautions(compose(["routing=minimal", "run=convergence"]), numbers)


def test_expected_warnings_are_silent(capsys: pytest.CaptureFixture[str]) -> None:
    results = [{"warnings": {"saturated": "full", "drift": "drifting"}}]
    say_cautions("x", results, silent=["saturated"])
    assert capsys.readouterr().err == "x: warning: drifting\n"


def test_copies_are_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    def run(seed: int, state: int, load: float = 0.1, placement: int = 1) -> dict[str, Any]:
        config = {"seed": seed, "traffic": {"load": load}, "workload": {"placement_seed": placement}}
        return {"config": config, "state_hash": state}

    # Seeds 1 and 2 at load 0.1, and 1 and 3 at 0.3. An equal state at another load is no copy.
    results = [run(1, 7), run(2, 7, placement=2), run(3, 8), run(1, 9, 0.3), run(2, 7, 0.3), run(3, 9, 0.3)]
    say_cautions("x", results)
    assert capsys.readouterr().err.startswith("x: warning: 2 of 6 runs repeat a run with another seed bit by bit")
    assert [one["config"]["seed"] for one in distinct(results[:3])] == [1, 3]
    assert len(distinct([{"state_hash": None}, {"state_hash": None}])) == 2  # unknown
    say_cautions("x", [*results[2:4], run(3, 8)])  # the same run in two folders
    assert capsys.readouterr().err == ""


def test_jobs_that_hardly_overlap_trigger_a_warning() -> None:
    config = compose(["topology=dragonfly_72", "routing=minimal", "workload=pair"])
    for finish_ns, words in ((500.0, None), (499.0, "halo3d runs for 40% of the time of fft3d"), (None, None)):
        jobs = {
            "fft3d": {"start_ns": 0.0, "finish_ns": 1000.0},
            "halo3d": {"start_ns": 100.0 if words else 0.0, "finish_ns": finish_ns},
        }
        assert str(words or None) in str(cautions(config, {"jobs": jobs, "simulated_ns": 2000.0}).get("overlap"))


def test_idle_threads_trigger_a_warning() -> None:
    def said(threads: int, partitions: int, wanted: int = 0) -> str | None:
        config = compose(["routing=minimal", f"run.threads={threads}", f"run.partitions={wanted}"])
        numbers = {"facts": {"partitions": partitions, "routing_replaced": False}}
        return cautions(config, {**SETTLED, **numbers}).get("threads")

    assert said(4, 4) is None
    assert said(0, 1) is None  # 0 means one thread per core where partitions allow it
    assert "only 4 partitions" in str(said(8, 4))
    assert "is one partition" in str(said(2, 1))
    assert said(4, 2, wanted=2) == "run.threads: 4, but run.partitions=2"


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
        ("null", []),
    ],
)
def test_a_failure_after_the_end_triggers_a_warning(events: str, late: list[str]) -> None:
    config = compose(["routing=minimal", f"failures.events={events}"])
    said = cautions(config, {**SETTLED, "simulated_ns": 2000.0}).get("late_events", "")
    assert bool(said) == bool(late)
    assert not late or said.startswith(f"failures.events: {', '.join(late)}: the run ended after 2,000 ns")


def test_runs_side_by_side_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "CORES", 8)
    shares = []
    for runs in (1, 3, 8, 20):
        monkeypatch.setenv(executor.RUNS_AT_ONCE, str(runs))
        shares.append(executor.cores_of_a_run())
    assert shares == [8, 2, 1, 1]


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
