"""A measuring window: the trend of the latency, and the warning of `play` about a network that still fills."""

import numpy as np
import pytest
from flitgym.env import play
from flitgym.simcore import Simulation
from flitgym.simcore._window import measure_window, trend_of


def seen(latencies: list[float], packets: int = 500) -> list[tuple[float, float]]:
    """Packets and the sum of their latencies at the end of each part of a window."""
    sums = np.cumsum([0, *latencies]) * packets
    return [(packets * k, total) for k, total in enumerate(sums)]


def test_halves_and_trend_of_a_window() -> None:
    found = trend_of(seen([100, 100, 100, 200]))
    # The covariance of (1, 1, 1, 2) and (0, 1, 2, 3) is 1.5, and the sums of squares are 0.75 and 5.
    assert list(found.values()) == [100, 150, pytest.approx(1.5 / (0.75 * 5) ** 0.5)]
    assert trend_of(seen([100, 100, 100, 100]))["packet_latency_trend"] == 0
    assert set(trend_of(seen([100, 100, 100, 200], 499)).values()) == {None}  # 998 packets in a half


def test_a_window_is_the_same_in_parts() -> None:
    sections = {"topology": "dragonfly_72", "router": "input_queued", "routing": "par"}
    network = {**sections, "traffic": {"name": "uniform", "load": 0.3}}
    whole, parts = Simulation(network), Simulation(network)
    whole.begin_window()
    whole.run(2003)
    found = measure_window(parts, 2003, parts.run)
    assert whole.state_hash() == parts.state_hash()
    assert whole.statistics() == parts.statistics()
    first, second = found["packet_latency_first_half_ns"], found["packet_latency_second_half_ns"]
    assert first is not None
    assert second is not None
    assert first < whole.statistics()["packet_latency_mean_ns"] < second  # the network fills from cycle 0 on


def test_play_warns_of_a_network_that_has_not_settled() -> None:
    """UGAL on a Slim Fly: 250 ns in this window, and 524 ns after 220 us."""
    slim_fly = {"name": "slim_fly", "q": 5, "terminals_per_router": 2}
    world = {"topology": slim_fly, "router": "input_queued", "traffic": {"name": "bit_complement", "load": 0.5}}
    with pytest.warns(
        UserWarning, match=r"play\(\): 1 of 1 runs, for example: .* filling; use a longer warm-up \(run\.warmup_ns\)"
    ):
        play("ugal", world=world, seeds=(101,))
