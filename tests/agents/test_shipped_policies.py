"""The policies that come with flitgym do what the README says of them."""

from typing import Any

import pytest
from flitgym.agents.policy_file import load_policy
from flitgym.configs import compose, core_sections
from flitgym.configs.schema import shipped_policy
from flitgym.simcore import Simulation


def measured(routing: str, *overrides: str, warmup_ns: float, seed: int = 21) -> dict[str, Any]:
    sections = core_sections(compose([f"routing={routing}", *overrides, f"seed={seed}"]))
    simulation = Simulation(sections)
    simulation.run_ns(warmup_ns)
    simulation.begin_window()
    simulation.run_ns(20_000)
    return simulation.statistics()


@pytest.mark.parametrize("seed", [21, 22])
def test_beats_the_better_of_ugal_and_q_adaptive_where_it_was_trained(seed: int):
    mixed = ("topology=dragonfly_72", "traffic=mixed", "traffic.load=0.465")
    own = measured("dqn_dragonfly", *mixed, warmup_ns=30_000, seed=seed)
    ugal = measured("ugal_l", *mixed, warmup_ns=30_000, seed=seed)
    q_adaptive = measured("q_adaptive", *mixed, warmup_ns=300_000, seed=seed)
    best = min(x["packet_latency_mean_ns"] for x in (ugal, q_adaptive))
    assert own["packet_latency_mean_ns"] < 0.95 * best
    assert own["accepted_load"] > 0.98 * max(x["accepted_load"] for x in (ugal, q_adaptive))


def test_carries_adversarial_traffic_from_the_first_50_us_on_a_network_it_never_saw():
    sections = core_sections(compose(
        ["routing=dqn_dragonfly", "topology=dragonfly_1056", "traffic=adversarial", "traffic.load=0.3"]
    ))  # fmt: skip
    simulation = Simulation(sections)
    simulation.set_series_interval(simulation.cycles(10_000))
    simulation.run_ns(50_000)
    series = simulation.series()
    assert (series["latency_mean_ns"][:5] < 1100).all()
    accepted = series["flits"][1:5] * 32 / 10_000 / 1056  # flits of 32 ns each
    assert (accepted > 0.29).all()


def test_is_a_policy_for_any_dragonfly():
    _, metadata = load_policy(shipped_policy("dqn_dragonfly"))
    assert metadata["topology"] == "dragonfly"
    for topology in ("dragonfly_72", "dragonfly_342"):
        statistics = measured("dqn_dragonfly", f"topology={topology}", "traffic.load=0.2", warmup_ns=3_000)
        assert statistics["accepted_load"] == pytest.approx(0.2, abs=0.02)
