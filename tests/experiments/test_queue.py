"""`workload=queue`: a log of six jobs against schedules by hand, drawn jobs, and errors in logs."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import compose, core_sections
from flitgym.experiments.plotting.schedule import schedule_figure
from flitgym.experiments.results.rows import read_rows
from flitgym.simcore import ConfigError
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

SIX = Path(__file__).parents[1] / "data" / "queue" / "six.swf"
SMALL = ("topology=dragonfly_72", "router=sc22", "routing=par")
# A second of the log is 100 us. An iteration computes for 100 us and then needs a few us for a barrier.
QUEUE = (
    *("topology=dragonfly_72", "router=sc22", "routing=minimal", "workload=queue"),
    *(f"workload.file={SIX}", "workload.placement=linear"),
    *("workload.time_scale=100000", "workload.launch_ns=100000"),
    "workload.motifs=[{motif: collective, collective: barrier, compute_ns: 100000, bytes: 0}]",
)


def jobs_of(*words: str) -> list[dict[str, Any]]:
    return list(core_sections(compose(words))["workload"]["jobs"])


# The decisions are those of simcore/tests/workload/scheduler_test.cpp. Job 5 of the log never started.
@pytest.mark.parametrize(
    ("scheduler", "starts"),
    [("first_come", [1, 102, 102, 133, 153, 153]), ("backfilling", [1, 102, 3, 4, 153, 34])],
)
def test_schedules_of_a_log(command: Command, tmp_path: Path, scheduler: str, starts: list[int]) -> None:
    done = command("simulate", *QUEUE, f"workload.scheduler={scheduler}")
    assert done.returncode == 0, done.stderr
    assert "6 of 6 jobs finished" in done.stdout
    (path,) = tmp_path.glob("results/*/*/result.json")
    result, table = json.loads(path.read_text()), read_rows(path.parent / "queue.parquet")
    assert [row["job"] for row in table] == ["job1", "job2", "job3", "job4", "job6", "job7"]
    run = np.array([100, 50, 30, 200, 40, 40]) * 1e5
    start, submit = np.array(starts) * 1e5, np.array([0, 1, 2, 3, 4, 5]) * 1e5
    column = {key: np.array([row[key] for row in table]) for key in table[0]}
    assert column["run_ns"] == pytest.approx(run, rel=0.03)
    assert column["start_ns"] == pytest.approx(start, rel=0.03, abs=100)
    assert column["wait_ns"] == pytest.approx(column["start_ns"] - submit)
    assert column["slowdown"] == pytest.approx(np.ones(6), rel=0.02)
    bounded = np.maximum(1, (column["wait_ns"] + column["run_ns"]) / np.maximum(column["run_ns"], 10_000))
    assert column["bounded_slowdown"] == pytest.approx(bounded)
    queue, nodes = result["queue"], np.array([36, 54, 18, 18, 36, 18])
    assert queue["makespan_ns"] == pytest.approx(max(start + run), rel=0.03)
    assert queue["utilisation"] == pytest.approx((nodes * run).sum() / (72 * max(start + run)), rel=0.03)
    assert queue["bounded_slowdown_mean"] == pytest.approx(bounded.mean())
    assert [row["groups_least"] for row in table] == [5, 7, 3, 3, 5, 3]
    assert queue["fragmentation_mean"] == pytest.approx(np.mean(column["groups"] / column["groups_least"]))
    _check_picture(schedule_figure(result, path.parent), column, queue)


def _check_picture(figure: Figure, column: dict[str, NDArray[Any]], queue: dict[str, Any]) -> None:
    """Rectangles in ms and terminals, which do not overlap, and the areas of utilisation and waiting jobs."""
    jobs, used, waiting, _ = figure.axes
    (drawn,) = jobs.collections
    boxes = [path.get_extents() for path in drawn.get_paths()]
    for key, ends in (("start_ns", [box.x0 for box in boxes]), ("finish_ns", [box.x1 for box in boxes])):
        assert np.unique(np.round(ends, 6)) == pytest.approx(np.unique(column[key]) / 1e6)
    areas = sum(box.width * box.height for box in boxes)
    assert areas == pytest.approx((column["ranks"] * column["run_ns"]).sum() / 1e6)
    for one, other in itertools.combinations(boxes, 2):
        common = Bbox.intersection(one, other)
        assert common is None or common.width * common.height < 1e-6
    shades = {box.x0: sum(shade[:3]) for box, shade in zip(boxes, drawn.get_facecolor(), strict=True)}
    starts = column["start_ns"] / 1e6
    latest, earliest = (starts[find(column["wait_ns"])] for find in (np.argmax, np.argmin))
    assert shades[latest] == min(shades.values()) < shades[earliest] == max(shades.values())
    for ax, area in ((used, 100 * queue["utilisation"] * queue["makespan_ns"]), (waiting, column["wait_ns"].sum())):
        x, y = ax.collections[0].get_paths()[0].vertices.T
        assert abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2 == pytest.approx(area / 1e6)


def test_an_iteration_longer_than_the_run_times_is_said(command: Command) -> None:
    done = command("simulate", *QUEUE, "workload.time_scale=1000")
    assert "4 jobs take more than twice their run time of the log" in done.stderr


def test_a_part_of_a_log() -> None:
    jobs = jobs_of(*QUEUE, "workload.skip=1", "workload.count=2", "workload.ranks_per_processor=0.1")
    assert [(job["name"], job["ranks"], job["start_ns"]) for job in jobs] == [("job2", 6, 0), ("job3", 2, 100_000)]


def test_drawn_jobs_fill_their_run_times() -> None:
    words = (*SMALL, "workload=queue", "workload.count=30", "workload.motifs=[halo3d,dl]")
    jobs = jobs_of(*words)
    assert jobs == jobs_of(*words)
    assert jobs != jobs_of(*words, "seed=2")
    assert {job["ranks"] for job in jobs} <= {2, 4, 8, 16, 32}
    assert {job["motif"] for job in jobs} == {"halo3d", "dl"}
    gaps = np.diff([job["start_ns"] for job in jobs])
    assert 50e3 < gaps.mean() < 200e3
    assert 300e3 < np.mean([job["estimate_ns"] for job in jobs]) < 1200e3


def test_all_routings_and_classes_get_the_same_jobs() -> None:
    words = (*SMALL, "workload=queue", "workload.count=4", "workload.motifs=[ur]")
    classes = ("router.classes={z: {limit: 0.02}, a: {}}", "workload.classes={job1: z}", "workload.noise=exponential")
    assert jobs_of(*words, *classes, "routing=valiant") == jobs_of(*words, "routing=par")


@pytest.mark.parametrize(
    "wrong", ["time_scale=nan", "interarrival_ns=0", "count=-1", "motifs=[]", "motifs=[5]", "scheduler=none"]
)
def test_wrong_keys_are_named(wrong: str) -> None:
    with pytest.raises(ConfigError, match=f"workload.{wrong.partition('=')[0]}"):
        jobs_of(*SMALL, "workload=queue", f"workload.{wrong}")


LINE = "{} {} -1 10 {} -1 -1 4 10 -1 1 1 1 1 1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (LINE.format(1, 0, 80), ("log.swf:2: job job1 needs 80 ranks", "room for 72")),
        (LINE.format(1, 9, 4) + LINE.format(2, 8, 4), ("log.swf:3: the submit time 8 is before",)),
        (LINE.format(7, 0, 4) * 2, ("log.swf:3: the job number 7 is that of an earlier line",)),
        ("1 0 -1 10\n", ("log.swf:2: 4 numbers, but the Standard",)),
        (LINE.format("x", 0, 4), ("log.swf:2:", "not a number")),
        (LINE.format(1, 0, "nan"), ("log.swf:2:", "not a number")),
        (LINE.format(1, 0, 4).replace(" 10 ", " -1 "), ("log.swf", "has no job")),
    ],
)
def test_errors_in_a_log(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; a comment\n" + text)
    with pytest.raises(ConfigError) as error:
        jobs_of(*QUEUE, f"workload.file={path}")
    assert all(part in str(error.value) for part in parts), str(error.value)
