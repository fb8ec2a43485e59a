"""The sanity worlds: the claims about rules are measured, and a standard library learns the first world."""

import numpy as np
import pytest
from flitgym.env import SANITY, sanity

# Mean latency in ns, seed 1.
MEASURED = {
    "two_paths": {"minimal": 3965.1, "detour": 93.4, "shortest_queue": 93.5, "at_random": 843.1},
    "delayed_congestion": {"minimal": 4526.7, "detour": 53.9, "shortest_queue": 2046.0, "at_random": 1309.8},
    "long_wire": {"minimal": 319.2, "detour": 621.2, "shortest_queue": 474.4, "at_random": 478.7},
}
SOLVED_BY = {"two_paths": {"detour", "shortest_queue"}, "delayed_congestion": {"detour"}, "long_wire": {"minimal"}}


@pytest.mark.parametrize("name", SANITY)
def test_rules_do_what_is_said_of_them(name: str) -> None:
    world = SANITY[name]
    rules = {
        "minimal": sanity.minimal,
        "detour": sanity.detour,
        "shortest_queue": sanity.shortest_queue,
        "at_random": sanity.at_random(),
    }
    for rule, choose in rules.items():
        ns = world.evaluate(choose)
        assert ns == pytest.approx(MEASURED[name][rule], abs=0.1), rule
        if rule in SOLVED_BY[name]:
            assert ns < world.solved_below_ns
        else:
            assert ns > 1.3 * world.solved_below_ns, rule
    assert world.evaluate(world.best) == pytest.approx(world.best_ns, abs=0.1)
    for seed in (2, 3):
        assert world.evaluate(world.best, seed) < world.solved_below_ns


def test_rules_in_the_core_measure_the_same() -> None:
    for world in SANITY.values():
        inside = world.evaluate_routing({"name": "policy"})  # zero weights choose the first slot
        assert inside == pytest.approx(world.evaluate(sanity.minimal), rel=0.01)
    assert SANITY["delayed_congestion"].evaluate_routing("random") > SANITY["delayed_congestion"].solved_below_ns


def test_feedback_shows_the_congestion_out_of_sight() -> None:
    world = SANITY["delayed_congestion"]

    def heed_news(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        slots = observation[:, 8:].reshape(-1, 8, 7)
        return np.where(mask, slots[:, :, 2] + slots[:, :, 6], np.inf).argmin(axis=1)  # path.more_time + q_values.lost

    assert world.evaluate(heed_news) < 0.5 * world.evaluate(sanity.shortest_queue)
