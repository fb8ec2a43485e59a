"""Times in tables and on the terminal."""

import pytest
from flitgym.experiments.terminal.times import time_text


@pytest.mark.parametrize(
    ("ns", "deviation", "text"),
    [
        (0, None, "0 us"),
        (12.34, None, "0.0123 us"),
        (1234, 56.7, "1.23 ± 0.0567 us"),
        (123_456, 0, "123 ± 0 us"),
        (1_234_567, 400, "1.235 ± 0.000 ms"),
        (1.5e9, None, "1,500.000 ms"),
    ],
)
def test_a_time(ns: float, deviation: float | None, text: str) -> None:
    assert time_text(ns, deviation) == text
