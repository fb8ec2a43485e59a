"""What each scene has to reach, and whether it does.

A goal is a number times something: the yardstick (yardstick.cpp, run in the same minute), what the scene itself
reached before the present round of work (results/before.json), or another scene of the same run. All are compared as
ratios to the yardstick, so that they mean something on any machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from programs import RESULTS

YARDSTICK = "yardstick"
BEFORE = "before"


@dataclass(frozen=True)
class Goal:
    """At least `times` what `of` reaches: YARDSTICK, BEFORE, or the name of a scene."""

    times: float
    of: str = YARDSTICK

    def needs(self) -> str | None:
        """The other scene that has to be measured for it."""
        return None if self.of in (YARDSTICK, BEFORE) else self.of

    def ratio(self, scene: str, before: Mapping[str, float], now: Mapping[str, float]) -> float | None:
        """The ratio to the yardstick that is wanted; None: what it is measured by is not known.

        Args:
            scene: That has this goal.
            before: Ratio to the yardstick of every scene that was measured then.
            now: The same of this run.
        """
        if self.of == YARDSTICK:
            return self.times
        known = before.get(scene) if self.of == BEFORE else now.get(self.of)
        return None if known is None else self.times * known

    def __str__(self) -> str:
        return f"{self.times:g} x {self.of}"


GOALS = {
    "input_queued_minimal_uniform_0.6": Goal(1.5),
    "hpdc21_q_adaptive_uniform_0.6": Goal(0.8),
    "hpdc21_par_adversarial_0.4": Goal(2, BEFORE),
    "sc22_par_fft3d_and_halo3d": Goal(3, BEFORE),
    "hyperx_4096_sc19_omni_war_uniform_0.6": Goal(3, BEFORE),
    "hyperx_4096_sc19_omni_war_bit_complement_0.45": Goal(3, BEFORE),
    "hyperx_4096_sc19_dim_war_bit_complement_0.45_packets_1_to_16": Goal(3, BEFORE),
    "hyperx_4096_input_queued_dimension_order_uniform_0.6": Goal(1.0),
    # A flit-hop of the largest network takes at most twice the time of one of 1,056 terminals.
    "input_queued_minimal_uniform_0.3_100352_terminals": Goal(0.5, "input_queued_minimal_uniform_0.3"),
}

# Two threads in one run: this times one thread, or else this part of what two independent runs side by side reach.
THREADS_SPEEDUP = 1.7
THREADS_OF_SIDE_BY_SIDE = 0.9

# Where threads have to pay: 1,056 terminals and more, load 0.3 and above.
THREADED = (
    "input_queued_minimal_uniform_0.3",
    "input_queued_minimal_uniform_0.6",
    "hpdc21_q_adaptive_uniform_0.6",
    "hyperx_4096_input_queued_dimension_order_uniform_0.6",
    "hyperx_4096_sc19_omni_war_uniform_0.6",
    "sc22_par_fft3d_and_halo3d",
    "input_queued_minimal_uniform_0.3_100352_terminals",
)


def before() -> dict[str, float]:
    """Ratio to the yardstick of every scene as recorded in results/before.json."""
    path = RESULTS / "before.json"
    if not path.exists():
        return {}
    return {row["scene"]: row["ratio_to_yardstick"] for row in json.loads(path.read_text())["scenes"]}


def with_needed(scenes: Sequence[str]) -> list[str]:
    """The scenes, and those before them that their goals are measured by."""
    order: list[str] = []
    for scene in scenes:
        needed = GOALS[scene].needs() if scene in GOALS else None
        order += [name for name in (needed, scene) if name and name not in order]
    return order


def verdict(ratio: float, wanted: float | None) -> str:
    """In a word: met, or by which factor it was missed."""
    if wanted is None:
        return "not known"
    return "met" if ratio >= wanted else f"missed by {wanted / ratio:.2f} x"


def threads_verdict(threads: int, speedup: float, side_by_side: float) -> str:
    """Of more than one thread in a run, beside as many independent runs; a goal is set for two."""
    if threads != 2:
        return ""
    met = speedup >= THREADS_SPEEDUP or speedup >= THREADS_OF_SIDE_BY_SIDE * side_by_side
    return "met" if met else "missed"
