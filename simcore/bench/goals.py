"""The speed goals of scenes.

A goal is a factor times a reference. The reference is the yardstick (yardstick.cpp, run in the same minute) or another
scene of the same run. All speeds are ratios to the yardstick, so that they are comparable between machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """At least `times` the speed of the yardstick, or of the scene `of`."""

    times: float
    of: str | None = None

    def ratio(self, now: Mapping[str, float]) -> float | None:
        """The required ratio to the yardstick. None: `now`, the ratios of this run by scene, lacks the scene `of`."""
        if self.of is None:
            return self.times
        return self.times * now[self.of] if self.of in now else None


GOALS = {
    "input_queued_minimal_uniform_0.6": Goal(1.5),
    "hpdc21_q_adaptive_uniform_0.6": Goal(0.8),
    "hpdc21_par_adversarial_0.4": Goal(0.8),
    "sc22_par_fft3d_and_halo3d": Goal(1.0),
    "hyperx_4096_sc19_omni_war_uniform_0.6": Goal(0.5),
    "hyperx_4096_sc19_omni_war_bit_complement_0.45": Goal(0.18),
    "hyperx_4096_sc19_dim_war_bit_complement_0.45_packets_1_to_16": Goal(0.8),
    "hyperx_4096_input_queued_dimension_order_uniform_0.6": Goal(1.2),
    # Learned policies take at most 2.5 times the time of UGAL.
    "hpdc21_dqn_uniform_0.45": Goal(0.4, "hpdc21_ugal_group_uniform_0.45"),
    "hpdc21_flitgym_uniform_0.45": Goal(0.4, "hpdc21_ugal_group_uniform_0.45"),
    # On the largest network, the time of a flit-hop is at most 1.5 times that on 1,056 terminals.
    "input_queued_minimal_uniform_0.3_100352_terminals": Goal(0.667, "input_queued_minimal_uniform_0.3"),
}


def with_needed(scenes: Sequence[str]) -> list[str]:
    """The scenes, each after the scene that its goal refers to."""
    order: list[str] = []
    for scene in scenes:
        needed = GOALS[scene].of if scene in GOALS else None
        order += [name for name in (needed, scene) if name and name not in order]
    return order


def verdict(ratio: float, wanted: float | None) -> str:
    """Whether a goal is met, or the factor by which it is missed."""
    if wanted is None:
        return "not known"
    return "met" if ratio >= wanted else f"missed by {wanted / ratio:.2f} x"
