"""A drifting latency is explained by what the window shows."""

from typing import Any

import pytest
from flitgym.configs import compose
from flitgym.experiments.cautions import cautions


@pytest.mark.parametrize(
    ("first", "second", "accepted", "words"),
    [
        (900.0, 800.0, 0.2, "still settling"),
        (8_000.0, 9_800.0, 0.12, "saturated (accepted 0.120 of 0.200)"),
        (800.0, 950.0, 0.2, "filling up"),
    ],
)
def test_why_a_latency_drifts(first: float, second: float, accepted: float, words: str) -> None:
    numbers: dict[str, Any] = {"accepted_load": accepted, "offered_load": 0.2}
    numbers |= {"packet_latency_first_half_ns": first, "packet_latency_second_half_ns": second}
    config = compose(["routing=minimal"])
    assert words in cautions(config, numbers)["drift"]
    assert "drift" not in cautions(config, numbers | {"packet_latency_second_half_ns": first * 1.05})
