"""The figure of policies for jobs, drawn from rows with known ratios."""

import math
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs import CONFIG_DIR, core_sections
from flitgym.experiments.comparison.places import plan
from flitgym.experiments.evaluation.plan import policies_of
from flitgym.experiments.figures.job_policies import plot
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.plan import PlannedRun
from omegaconf import OmegaConf
from plans import place_of, planned

# Times relative to Q-adaptive's in all cases, and further factors next to Halo3D.
FACTORS = {"search_jobs": 0.9, "search_jobs_seed2": 0.8, "dqn": 1.1}
NEXT_TO_HALO3D = {"search_jobs": 0.5}


def synthetic_row(run: PlannedRun, name: str) -> dict[str, Any]:
    """A row of a job whose time doubles with a second job and scales with the placement's seed."""
    workload: Any = run.plain["workload"]
    jobs = [job["name"] for job in core_sections(run.plain)["workload"]["jobs"]]
    ms = FACTORS.get(name, 1.0) * workload["placement_seed"] * (1.0 if len(jobs) == 1 else 2.0)
    if workload.get("background") == "halo3d":
        ms *= NEXT_TO_HALO3D.get(name, 1.0)
    job = {"comm_time_mean_ns": ms * 1e6}
    throughput = 4.0 if name == "search_jobs" else 2.0
    result = {"jobs": dict.fromkeys(jobs, job), "system_throughput_gb_per_ms": throughput, "cpu_seconds": 1.0}
    return {**row({**result, "config": run.plain}, run.directory), "policy": name}


@cache
def rows() -> Sequence[dict[str, Any]]:
    own = planned("job_policies", "quick")
    (further,) = policies_of([{"name": "search_jobs_seed2", "routing": "search_jobs"}])
    added = plan(place_of("job_policies"), "quick", Path("results"), further)
    return [
        *(synthetic_row(run, run.plain["routing"]["name"]) for run in own if run.plain["routing"]["name"] != "policy"),
        *(synthetic_row(run, Path(run.plain["routing"]["path"]).stem) for run in own if "path" in run.plain["routing"]),
        *(synthetic_row(run, "search_jobs_seed2") for run in added),
    ]


def test_the_pairs_searched_are_those_of_the_worlds() -> None:
    worlds = OmegaConf.load(CONFIG_DIR / "worlds" / "interference.yaml").worlds
    found = {
        (words["workload.target"], words["workload.background"])
        for world in worlds.values()
        if "workload.target" in (words := dict(word.split("=", 1) for word in shlex.split(world.overrides)))
    }
    assert found == plot.SEARCHED


@pytest.mark.deep
def test_times_are_geometric_means_over_cases_and_trainings() -> None:
    study = plot.Study(rows())
    alone = study.time_of("search_jobs", plot.ALONE)
    assert alone.value == pytest.approx((0.9 * 0.8) ** 0.5)
    # The standard error of two logarithms is half their difference, and the quantile of Student's t is 12.7062.
    half = 12.7062 * math.log(0.9 / 0.8) / 2
    assert math.log(alone.high / alone.value) == pytest.approx(half, rel=1e-5)
    assert study.time_of("search_jobs", "halo3d").value == pytest.approx((0.45 * 0.8) ** 0.5)
    # 30 pairs and six jobs of the mix. Six of the pairs run next to Halo3D.
    every = study.time_of("search_jobs", plot.ALL)
    assert every.value == pytest.approx((0.45**6 * 0.9**30 * 0.8**36) ** (1 / 72))
    assert tuple(study.time_of("dqn", plot.ALL)) == pytest.approx((1.1, 1.1, 1.1))  # equal on every placement


def test_slowdown_throughput_and_worst_case() -> None:
    study = plot.Study(rows())
    assert study.slowdowns("dqn") == pytest.approx(np.full((1, 3), 2.0))
    assert study.throughput_of("search_jobs").value == pytest.approx(2**0.5)
    case, ratio = study.worst_case("dqn")
    assert (case.split()[1], ratio) == ("with", pytest.approx(1.1))
    made = [dict(one) for one in rows()]
    for one in made:
        if one["policy"] == "dqn" and one["workload.name"] == "mixed":
            one["jobs.lqcd.comm_time_mean_ns"] *= 3
    assert plot.Study(made).worst_case("dqn") == ("lqcd mixed", pytest.approx(3.3))
