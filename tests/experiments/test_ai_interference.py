"""The study of training steps that share a network: its plan, and its figures from rows alone."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from flitgym.configs import core_sections
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.sweep import PlannedRun
from flitgym.experiments.studies.ai_interference import plot
from plans import planned

# Synthetic times of an iteration alone, in ns. A background multiplies them by 1.5.
ALONE_NS = 2e5


def synthetic_row(run: PlannedRun) -> dict[str, Any]:
    """A row in the form of a run's."""
    jobs = [job["name"] for job in core_sections(run.plain)["workload"]["jobs"]]
    finish_ns = ALONE_NS * (1 if len(jobs) == 1 else 1.5)
    job = {"start_ns": 0.0, "finish_ns": finish_ns, "comm_time_mean_ns": finish_ns / 2}
    result: Any = {"jobs": dict.fromkeys(jobs, job), "cpu_seconds": 1.0, "config": run.plain}
    delays = {
        f"blame.{kind}_ns_per_packet": np.full((len(jobs), len(jobs)), 20.0).tolist() for kind in ("wait", "stall")
    }
    return {**row(result, run.directory), "blame.jobs": jobs, **delays}


@cache
def quick() -> Sequence[dict[str, Any]]:
    return [synthetic_row(run) for run in planned("ai_interference", "quick")]


def test_slowdowns_are_relative_to_the_target_alone() -> None:
    rows = quick()
    assert plot.Study(rows).slowdown("dragonfly", ("dense", "moe"), "par", "linear") == pytest.approx(1.5)
    numbers = plot.measured(rows)
    assert numbers["least_slowdown"] == pytest.approx(1.5)
    assert numbers["q_adaptive_against_minimal"] == pytest.approx(1.0)


@pytest.mark.deep
def test_every_figure_is_drawn_from_rows() -> None:
    figures = plot.draw(quick(), {})
    assert set(figures) == {"iteration_times", "slowdowns", "blame", "placements"}
    assert all(ax.has_data() for figure in figures.values() for ax in figure.axes)
    text = plot.summary(quick())
    study = plot.Study(quick())
    for network in study.networks:
        assert {"q_adaptive", "dqn_priced"} <= set(study.routings(network))
    assert text.count("| GPT-13B | alone |") == 4
