"""`play`: measures rules, routings, policy files and jobs, and refuses unclear policies."""

from pathlib import Path

import numpy as np
import pytest
from env_scenes import JOBS, TRIANGLE
from flitgym.configs.policies import shipped_policy
from flitgym.env import World, play
from flitgym.env.experience.seeds import episode_seed
from flitgym.simcore import ConfigError, CoreError
from numpy.typing import NDArray

WINDOW = {"world": TRIANGLE, "seeds": [1], "warmup_ns": 500, "measure_ns": 1_000}
# Both jobs use the link between routers 0 and 1.
JAM = World(
    {
        "topology": {"name": "hyperx", "widths": [2], "terminals_per_router": 4},
        "workload": {
            "jobs": [
                {"name": name, "motif": "ur", "ranks": 4, "iterations": 4, "bytes": 40_000, "terminals": terminals}
                for name, terminals in (("even", [0, 2, 4, 6]), ("odd", [1, 3, 5, 7]))
            ],
        },
    }
)


def minimal(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.zeros(len(mask), np.int64)


def test_a_policy_file_plays_by_its_path() -> None:
    path = shipped_policy("dqn")
    assert play(path, **WINDOW) == play(Path(path), **WINDOW) == play("dqn", **WINDOW)


def test_a_policy_of_another_topology_gives_a_note() -> None:
    with pytest.warns(
        UserWarning, match=r"dqn_dragonfly\.safetensors was trained on the topology dragonfly, .* hyperx"
    ):
        play("dqn_dragonfly", **WINDOW)


def test_jobs_are_measured_by_their_communication_time() -> None:
    by_core = play("minimal", world=JOBS, seeds=(1,))
    assert play(minimal, world=JOBS, seeds=(1,)) == by_core
    simulation = JOBS.simulation("minimal", episode_seed(1, 0))
    while not simulation.workload_finished:
        simulation.run(10)
    for job in simulation.jobs():
        assert by_core[f"comm_time_ns@{job['name']}"] == job["rank_comm_time_ns"].mean()
        assert by_core[f"slowdown@{job['name']}"] == pytest.approx(1, abs=0.05)  # few bytes, far apart
    assert "accepted_load" not in by_core


def test_slowdown_is_the_time_together_over_the_time_alone() -> None:
    together = play("minimal", world=JAM, seeds=(1,))
    jobs = JAM.sections["workload"]["jobs"]
    for job in jobs:
        sections = {**JAM.sections, "workload": {**JAM.sections["workload"], "jobs": [job]}}
        alone = play("minimal", world=World(sections), seeds=(1,))
        assert alone[f"slowdown@{job['name']}"] == 1
        slower = together[f"comm_time_ns@{job['name']}"] / alone[f"comm_time_ns@{job['name']}"]
        assert together[f"slowdown@{job['name']}"] == pytest.approx(slower)
        assert slower > 1.05
    assert play("minimal", world=JAM, seeds=(1,), alone=False) == {
        key: value for key, value in together.items() if not key.startswith("slowdown")
    }


def test_jobs_have_no_window_and_must_end() -> None:
    with pytest.raises(ConfigError, match="a workload has no window"):
        play("minimal", world=JOBS, warmup_ns=100)
    with pytest.raises(CoreError, match="not done after max_ns=100"):
        play("minimal", world=JOBS, max_ns=100)
