"""`flitgym-benchmark`: suites and versions, closed forms of scores, recorded results, a benchmark as users call it."""

import csv
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import config_hash, explain
from flitgym.experiments.benchmark import Options, benchmark, standing_of
from flitgym.experiments.benchmarks.figure import draw
from flitgym.experiments.benchmarks.measures import SCORED, check_windows, measures, recovery
from flitgym.experiments.benchmarks.records import Record, merged, read_records, sources_of, write_records
from flitgym.experiments.benchmarks.scoring import (
    LEAST_AHEAD,
    MOST_AHEAD,
    Bootstrap,
    Cell,
    advantage,
    cells_of,
    profile,
    score,
    summarise,
)
from flitgym.experiments.benchmarks.suite import SUITES, Task, available, chosen, load_suite
from flitgym.experiments.benchmarks.text import standing
from flitgym.experiments.evaluation.plan import plan, refused
from flitgym.experiments.results.files import DamagedError
from flitgym.experiments.results.rows import read_rows, row
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.running.sweep import Assemblies
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ConfigError, __version__

BOOTSTRAP = Bootstrap(0.95, 200)
SEEDS = (1, 2)
TINY = """
version: 3
about: Milliseconds.
seeds: [1, 2]
overrides: [router=input_queued, run.warmup_ns=200, run.measure_ns=800]
networks:
  small: {overrides: [topology=dragonfly_72], reference: ugal_l, baselines: [minimal]}
tasks:
  - {network: small, set: train, pattern: uniform, below: [0.2], above: [0.9]}
  - {network: small, set: held_out, pattern: adversarial, cold_start: [0.3],
     overrides: [run.warmup_ns=0, run.series_interval_ns=100]}
  - {network: small, set: held_out, pattern: uniform, version: 2, recovery: [0.2], reference: ugal,
     overrides: [run.series_interval_ns=100, "failures.events=[0-1@200]"]}
  - {network: small, set: held_out, workload: pair, name: lu,
     params: {target: lu, background: none, scale: 0.01, size_scale: 0.1}}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def task(name: str = "a", kind: str = "below", which: str = "held_out", network: str = "n") -> Task:
    return Task(f"{network}/{name}", 1, kind, which, network, 0.3)  # type: ignore[arg-type]


def found(values: Mapping[tuple[str, str], Sequence[float]], measure: str = "latency_mean_ns") -> dict[Any, Any]:
    """Measures by task, policy and seed; a NaN is a run that is missing."""
    return {
        (f"n/{name}-v1", policy, seed): {measure: value}
        for (name, policy), own in values.items()
        for seed, value in zip(SEEDS, own, strict=True)
        if not math.isnan(value)
    }


def cells(values: Mapping[tuple[str, str], Sequence[float]], known: Sequence[str], tasks: Sequence[Task]) -> list[Cell]:
    every = found(values)
    policies = list(dict.fromkeys(policy for _, policy in values))
    scale = {key: numbers for key, numbers in every.items() if key[1] in known}
    return cells_of(tasks, every, policies, {t.id: "reference" for t in tasks}, scale, SEEDS)


# --- Scores ----------------------------------------------------------------------------------------------------------


def test_the_reference_is_0_and_the_best_known_is_1() -> None:
    values = {
        "reference": np.array([400.0, 800.0]),
        "best": np.array([100.0, 200.0]),
        "middle": np.array([200.0, 400.0]),
    }
    scored = score(values, ["reference", "best"], "reference", False)
    assert [own[0].tolist() for own in scored.values()] == [[0, 0], [1, 1], pytest.approx([0.5, 0.5])]
    # As a policy that is twice as far ahead of the reference as the best known.
    ahead = score(values | {"new": np.array([25.0, 50.0])}, ["reference", "best"], "reference", False)
    assert ahead["new"][0] == pytest.approx([2, 2])
    assert np.exp(ahead["new"][1]) == pytest.approx([0.25, 0.25])
    # Twice the reference's is as far below it as half of it is above.
    worse = score(values | {"new": np.array([800.0, 1600.0])}, ["reference", "best"], "reference", False)
    assert worse["new"][0] == pytest.approx([-0.5, -0.5])


def test_more_accepted_load_is_better() -> None:
    values = {"reference": np.array([0.2]), "best": np.array([0.8]), "other": np.array([0.1])}
    scored = score(values, ["reference", "best"], "reference", True)
    assert [float(own[0][0]) for own in scored.values()] == pytest.approx([0, 1, -0.5])


def test_where_nobody_is_ahead_a_score_of_1_is_a_tenth_better() -> None:
    values = {"reference": np.array([100.0]), "worse": np.array([110.0]), "new": np.array([100.0 / (1 + LEAST_AHEAD)])}
    scored = score(values, ["reference", "worse"], "reference", False)
    assert float(scored["reference"][0][0]) == 0
    assert float(scored["new"][0][0]) == pytest.approx(1)
    assert float(scored["worse"][0][0]) == pytest.approx(-math.log(1.1) / math.log1p(LEAST_AHEAD))
    # The best known is the reference itself.
    assert float(scored["new"][1][0]) == pytest.approx(-math.log1p(LEAST_AHEAD))


def test_a_policy_that_was_asked_for_does_not_move_the_scale() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "best"): [50.0, 50.0], ("a", "new"): [25.0, 25.0]}
    by_policy = {cell.policy: cell for cell in cells(values, ["reference", "best"], [task("a")])}
    assert by_policy["best"].scores == pytest.approx([1, 1])
    assert by_policy["new"].scores == pytest.approx([2, 2])


def test_without_a_reference_there_is_no_score() -> None:
    values = {("a", "best"): [50.0, 50.0]}
    (cell,) = cells(values, ["best"], [task("a")])
    assert np.isnan(cell.scores).all()
    (summary,) = summarise([cell], [task("a")], {"best": True}, BOOTSTRAP)
    assert (summary.played, summary.unscored, summary.worst) == (1, 1, None)
    assert np.isnan(summary.by_set["held_out"].value)


def test_a_task_is_scored_by_the_seeds_that_the_reference_has() -> None:
    # The best known has no value where the reference has none, either.
    values = {("a", "reference"): [100.0, math.nan], ("a", "best"): [50.0, math.nan], ("a", "new"): [25.0, 25.0]}
    made = cells(values, ["reference", "best"], [task("a")])
    by_policy = {cell.policy: cell for cell in made}
    assert by_policy["new"].scores == pytest.approx([2, math.nan], nan_ok=True)
    assert [by_policy[name].unscored for name in ("reference", "best", "new")] == [0, 0, 1]
    names = {"reference": True, "best": True, "new": False}
    summaries = summarise(made, [task("a")], names, BOOTSTRAP)
    assert {s.policy: (s.played, s.unscored) for s in summaries} == {"reference": (0, 0), "best": (0, 0), "new": (1, 1)}
    text = standing(summaries)
    assert "| 1 of 1, 1‡ |" in text
    assert "‡ tasks in which runs have no score" in text
    whole = cells({("a", "reference"): [100.0, 100.0]}, ["reference"], [task("a")])
    assert "‡" not in standing(summarise(whole, [task("a")], {"reference": True}, BOOTSTRAP))


def test_what_accepts_nothing_is_far_behind() -> None:
    nothing, some = np.array([0.0, 0.0]), np.array([0.2, 0.2])
    assert advantage(nothing, some, True) == pytest.approx([-math.log(MOST_AHEAD)] * 2)
    assert advantage(some, nothing, True) == pytest.approx([math.log(MOST_AHEAD)] * 2)
    assert advantage(nothing, nothing, True).tolist() == [0, 0]
    assert np.isnan(advantage(np.array([math.nan]), np.array([0.2]), True)).all()
    # Such a run pulls the mean down; it does not drop out of it.
    tasks = [task(name, "above") for name in "ab"]
    of = {
        ("a", "reference"): [0.2, 0.2],
        ("b", "reference"): [0.2, 0.2],
        ("a", "new"): [0.0, 0.2],
        ("b", "new"): [0.2] * 2,
    }
    every = found(of, "accepted_load")
    scale = {key: numbers for key, numbers in every.items() if key[1] == "reference"}
    made = cells_of(tasks, every, ["new"], {t.id: "reference" for t in tasks}, scale, SEEDS)
    (summary,) = summarise(made, tasks, {"new": False}, BOOTSTRAP)
    assert summary.worst is not None
    assert summary.worst[1] == pytest.approx(-math.log(MOST_AHEAD) / math.log1p(LEAST_AHEAD) / 2)


def test_summaries() -> None:
    tasks = [task("a"), task("b"), task("c", which="train"), task("d", "above")]
    times = {"reference": 100.0, "best": 50.0, "new": 200.0}
    values: dict[tuple[str, str], list[float]] = {
        (name, policy): [time, time] for policy, time in times.items() for name in "abc"
    }
    every = found(values) | found({("d", "reference"): [0.2, 0.2], ("d", "new"): [0.4, 0.4]}, "accepted_load")
    scale = {key: numbers for key, numbers in every.items() if key[1] != "new"}
    made = cells_of(tasks, every, list(times), {t.id: "reference" for t in tasks}, scale, SEEDS)
    summaries = {s.policy: s for s in summarise(made, tasks, dict.fromkeys(times, False), BOOTSTRAP)}
    # What has not played every task stands behind, whatever its score.
    assert list(summaries) == ["new", "reference", "best"]
    assert (summaries["best"].played, summaries["best"].of, summaries["best"].complete) == (3, 4, False)
    new = summaries["new"]
    # Twice the latency in a and b; twice the load where 10 % would be 1.
    assert new.by_set["train"].value == pytest.approx(-1)
    d = math.log(2) / math.log1p(LEAST_AHEAD)
    assert new.by_kind["above"].value == pytest.approx(d)
    assert new.by_kind["below"].value == pytest.approx(-1)
    assert new.by_set["held_out"].value == pytest.approx((3 * -1 + d) / 4)  # of six runs the first and the last are cut
    assert new.worst is not None
    assert new.worst[1] == pytest.approx(-1)
    assert new.latency_to_reference == pytest.approx(2)
    assert new.latency_to_best == pytest.approx(4)
    assert new.worst_to_best is not None
    assert new.worst_to_best[1] == pytest.approx(4)


def test_a_missing_run_is_counted() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [50.0, math.nan]}
    made = cells(values, ["reference"], [task("a")])
    by_policy = {cell.policy: cell for cell in made}
    assert (by_policy["reference"].missing, by_policy["new"].missing) == (0, 1)
    summaries = {s.policy: s for s in summarise(made, [task("a")], {"reference": True, "new": False}, BOOTSTRAP)}
    assert (summaries["new"].played, summaries["new"].complete) == (0, False)
    assert list(summaries) == ["reference", "new"]


def test_profiles_are_parts_of_all_runs() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [100.0, 50.0], ("a", "best"): [50.0, 50.0]}
    own = [cell for cell in cells(values, ["reference", "best"], [task("a")]) if cell.policy == "new"]
    at = np.array([-0.5, 0.5, 0.99, 1.01])
    assert profile(own, at).tolist() == pytest.approx([1, 1 / 2, 0.5, 0])


def test_the_figure_draws_those_that_have_scores() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [1000.0, 990.0]}
    made = cells(values, ["reference"], [task("a")])
    summaries = summarise(made, [task("a")], {"reference": True, "new": False, "none": False}, BOOTSTRAP)
    figure = draw(made, summaries, 0.95)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["reference", "new"]
    # Beyond the edge a score is told in words.
    assert any(text.get_text().startswith("-2") for text in figure.axes[0].texts)


# --- Measures --------------------------------------------------------------------------------------------------------


def test_recovery_counts_from_the_event_to_the_interval_from_which_on_latency_stays() -> None:
    time = np.arange(1.0, 41.0) * 10
    latency = np.full(40, 100.0)
    latency[20:25] = [900, 700, 500, 300, 200]  # after 200 ns
    latency[25:] = 120  # the new level
    # The median of three neighbours is in the band from the interval that ends at 260 on.
    assert recovery(time, latency, 200.0) == 60
    # One interval that is out of the band is no relapse; two are.
    latency[30] = 900
    assert recovery(time, latency, 200.0) == 60
    latency[31] = 900
    assert recovery(time, latency, 200.0) == 130
    # What never settles has all of the time.
    assert recovery(time, np.tile(np.repeat([100.0, 900.0], 4), 5), 200.0) == 200
    assert recovery(time, np.full(40, 100.0), 200.0) == 10


def test_jobs_count_alike_however_long_they_are() -> None:
    jobs = {"jobs.a.comm_time_mean_ns": 100.0, "jobs.b.comm_time_mean_ns": 400.0, "jobs.a.finish_ns": 900.0}
    done = measures("jobs", jobs | {"jobs.b.finish_ns": 500.0, "packet_latency_mean_ns": None})
    assert done == {"comm_time_ns": pytest.approx(200), "finish_ns": 900}
    assert "comm_time_ns" not in measures("jobs", jobs | {"jobs.b.comm_time_mean_ns": None})


def test_every_kind_is_scored_by_a_measure_of_its_runs() -> None:
    series = {"time_ns": [1.0, 2.0, 3.0, 4.0], "latency_mean_ns": [0.0, 5.0, 5.0, 5.0], "packets": [0, 1, 1, 1]}
    base = {"packet_latency_mean_ns": 7.0, "accepted_load": 0.2, "jobs.a.comm_time_mean_ns": 3.0, "run.warmup_ns": 1.0}
    for kind, (measure, _) in SCORED.items():
        assert measure in measures(kind, {**base, **{f"series.{key}": own for key, own in series.items()}})


# --- Suites ----------------------------------------------------------------------------------------------------------


def test_a_suite_is_data(tiny: Path) -> None:
    suite = load_suite(str(tiny))
    assert suite.id == "tiny-v3"
    assert [t.id for t in suite.tasks] == [
        *("small/uniform/0.2-v1", "small/uniform/0.9-v1", "small/adversarial/0.3/cold_start-v1"),
        *("small/uniform/0.2/recovery-v2", "small/lu-v1"),
    ]
    assert [t.kind for t in suite.tasks] == ["below", "above", "cold_start", "recovery", "jobs"]
    assert [place.reference for place in suite.places] == ["ugal_l", "ugal_l", "ugal", "ugal_l"]
    assert suite.places[0].overrides[0] == "router=input_queued"
    some = chosen(suite, ["small/uniform/*"])
    assert [t.name for t in some.tasks] == [t.name for t in suite.tasks if "uniform" in t.name]
    assert chosen(suite, None) == suite


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["small/unifrom/0.9"], ["did you mean 'small/uniform/0.9'?"]),
        (["small/uniform/0.2-v2"], ["unknown version 'small/uniform/0.2-v2'", "small/uniform/0.2-v1"]),
        (["small/uniform/0.2/recovery-v1"], ["unknown version", "small/uniform/0.2/recovery-v2"]),
        ([], ["tasks", "at least one"]),
    ],
)
def test_a_task_that_does_not_exist(tiny: Path, words: list[str], parts: list[str]) -> None:
    with pytest.raises(ConfigError) as failure:
        chosen(load_suite(str(tiny)), words)
    for part in parts:
        assert part in str(failure.value)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("version: 3", "version: new", ["tiny.yaml: version", "'new'"]),
        ("seeds: [1, 2]", "seeds: [1, 1]", ["seeds", "twice"]),
        ("seeds: [1, 2]", "", ["lacks 'seeds'"]),
        ("about:", "abut:", ["did you mean 'about'?"]),
        ("below: [0.2]", "belo: [0.2]", ["tasks[0]", "did you mean 'below'?"]),
        ("below: [0.2]", "below: [2]", ["tasks[0].below", "2", "between 0 and 1"]),
        ("below: [0.2]", "below: 0.2", ["tasks[0].below", "a list"]),
        ("above: [0.9]", "cold_start: [0.9]", ["tasks[0]", "do not go together"]),
        ("above: [0.9]", "above: [0.2]", ["tasks[0]", "0.2 is there twice"]),
        ("set: train", "set: trian", ["tasks[0].set", "did you mean 'train'?"]),
        ("- {network: small, set: train", "- {network: smal, set: train", ["did you mean 'small'?"]),
        ("workload: pair", "workload: pair, below: [0.1]", ["tasks[3].below", "jobs have no load"]),
        ("pattern: adversarial, ", "", ["tasks[1]", "pattern and workload"]),
        ("baselines: [minimal]", "baselines: [minimal, minimal]", ["minimal", "twice"]),
        ("seeds: [1, 2]", "- what", ["tiny.yaml"]),
    ],
)
def test_a_file_that_is_no_suite(tiny: Path, old: str, new: str, parts: list[str]) -> None:
    assert old in TINY
    tiny.write_text(TINY.replace(old, new, 1))
    with pytest.raises(Exception, match="tiny") as failure:
        load_suite(str(tiny))
    for part in parts:
        assert part in explain(failure.value)


def test_versions_of_suites() -> None:
    quick = load_suite("quick")
    assert load_suite(quick.id) == quick
    with pytest.raises(ConfigError, match=f"unknown version 'quick-v99'; this flitgym has {quick.id}"):
        load_suite("quick-v99")
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        load_suite("quik")


@pytest.mark.parametrize("name", list(available()))
def test_every_suite_that_comes_with_flitgym_can_be_planned(name: str, tmp_path: Path) -> None:
    suite = load_suite(name)
    assert {t.set for t in suite.tasks} == {"train", "held_out"}
    assert {t.kind for t in suite.tasks} == set(SCORED)
    assert {r.suite for r in read_records(suite.results)} <= {suite.id}
    records = {(r.task, r.policy): r for r in read_records(suite.results) if r.seed == suite.seeds[0]}
    assert {t for t, _ in records} <= {t.id for t in suite.tasks}
    assemblies = Assemblies()
    for place in suite.places:
        loads = [load for load in place.tasks if load is not None]
        trials = plan(place.baselines, [place.scenario], place.overrides, loads, suite.seeds[:1], tmp_path, assemblies)
        # What is recorded is of these very configurations: who changes a task records it anew and raises its version.
        for trial in trials:
            load = None if place.scenario.kind == "workload" else trial.run.config.traffic.load
            check_windows(place.tasks[load].kind, trial.run.plain)
            record = records.get((place.tasks[load].id, trial.policy.name))
            if record is not None:
                assert record.config_hash == config_hash(trial.run.plain)


def test_every_baseline_of_quick_can_play_its_tasks(tmp_path: Path) -> None:
    assemblies = Assemblies()
    trials = []
    for place in load_suite("quick").places:
        loads = [load for load in place.tasks if load is not None][:1]
        trials += plan(place.baselines, [place.scenario], place.overrides, loads, [1], tmp_path, assemblies)
    assert refused(trials) == {}


@pytest.mark.parametrize("name", list(available()))
def test_a_baseline_is_recorded_in_whole_or_not_at_all(name: str) -> None:
    suite = load_suite(name)
    there = {(r.task, r.policy, r.seed) for r in read_records(suite.results)}
    wanted: dict[str, set[tuple[str, str, int]]] = {}
    for place in suite.places:
        for policy, only, seed in itertools.product(place.baselines, place.tasks.values(), suite.seeds):
            wanted.setdefault(policy.name, set()).add((only.id, policy.name, seed))
    # One that is new among them has no results before they are recorded; without references there are no scores at all.
    recorded = {policy for _, policy, _ in there}
    for policy_name in recorded & set(wanted) | ({place.reference for place in suite.places} if there else set()):
        assert wanted[policy_name] <= there, policy_name


def test_a_task_is_of_the_same_set_in_every_suite() -> None:
    sets: dict[tuple[str, str], set[str]] = {}
    for name in available():
        for only in load_suite(name).tasks:
            stem = only.name if only.load is None else only.name.replace(f"/{only.load:g}", "")
            sets.setdefault((only.network, stem), set()).add(only.set)
    assert {key: own for key, own in sets.items() if len(own) > 1} == {}


@pytest.mark.parametrize("name", list(available()))
def test_recorded_loads_are_below_and_above_saturation_as_their_tasks_say(name: str) -> None:
    suite = load_suite(name)
    accepted: dict[tuple[str, str], list[float]] = {}
    for record in read_records(suite.results):
        if "accepted_load" in record.measures:
            accepted.setdefault((record.task, record.policy), []).append(record.measures["accepted_load"])
    for place in suite.places:
        for only in place.tasks.values():
            parts = [np.mean(own) / (only.load or 1) for (of, _), own in accepted.items() if of == only.id]
            if only.kind == "below" and parts:
                assert max(parts) >= 0.97, only.id
            if only.kind == "above" and (only.id, place.reference) in accepted:
                assert np.mean(accepted[only.id, place.reference]) < 0.97 * (only.load or 1), only.id


@pytest.mark.parametrize(
    ("name", "policy"),
    [("dragonfly_72/uniform/0.4", "minimal"), ("torus_4x4x4/bit_complement/0.3", "q_adaptive")],
)
def test_the_core_still_does_what_was_recorded(tmp_path: Path, name: str, policy: str) -> None:
    """Short runs of `quick` to the bit; when the core's numbers change, its results are to be recorded anew."""
    suite = load_suite("quick")
    (place,) = chosen(suite, [name]).places
    (only,) = place.tasks.values()
    chosen_policy = [baseline for baseline in place.baselines if baseline.name == policy]
    (trial,) = plan(chosen_policy, [place.scenario], place.overrides, [only.load], suite.seeds[:1], tmp_path)
    result = execute(trial.run.config, tmp_path / "run", lambda *_: None)
    (record,) = (
        r for r in read_records(suite.results) if (r.task, r.policy, r.seed) == (only.id, policy, suite.seeds[0])
    )
    assert measures(only.kind, row(result, tmp_path / "run")) == record.measures


def test_the_table_of_the_documentation_is_that_of_the_recorded_results() -> None:
    page = Path(__file__).parents[2] / "docs" / "benchmark.md"
    assert standing(standing_of(load_suite("quick"), Bootstrap(0.95, 2000))) in page.read_text()


# --- Recorded results ------------------------------------------------------------------------------------------------


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    numbers = {"latency_mean_ns": 1 / 3, "accepted_load": 0.1 + 0.2}
    record = Record("own-v1", "n/a-v1", "eager, or so", 7, "0123", "0.1.0+a.b", "99", numbers)
    write_records(path, [record])
    assert read_records(path) == [record]
    assert read_records(tmp_path / "none.csv") == []
    newer = replace(record, version="new")
    others = [replace(record, seed=8), replace(record, suite="own-v2")]
    assert merged([record, *others], [newer]) == [newer, *others]
    assert sources_of("0.1.0+8cf1c2c.c358162b") == sources_of("0.1.0+v2-3-g00.c358162b") == "c358162b"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("task,", "tusk,", "columns"),
        ("suite,", "", "columns"),
        ("7", "seven", "line 2"),
        ("0.5", "half", "line 2"),
        ("0.5", "0.5,1", "line 2"),
    ],
)
def test_a_file_that_holds_no_records(tmp_path: Path, old: str, new: str, part: str) -> None:
    path = tmp_path / "r.csv"
    write_records(path, [Record("own-v1", "n/a-v1", "p", 7, "h", "v", "s", {"latency_mean_ns": 0.5})])
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DamagedError, match=part):
        read_records(path)


# --- As users call it ------------------------------------------------------------------------------------------------


def lines_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "benchmark.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_benchmark(command: Command, tmp_path: Path, tiny: Path) -> None:
    words = [
        "suite=tiny.yaml",
        "policies=[dim_war,{name: eager,routing: par,params: {threshold: 0.5}}]",
        "resamples=100",
    ]
    # dim_war is not made for a Dragonfly, par not for failures.
    done = command("benchmark", *words, "baselines=run", "record=tiny.csv")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "left out: dim_war, pattern uniform on small" in done.stderr
    folder = tmp_path / "results" / "benchmark_tiny"
    names = {"rows.parquet", "benchmark.csv", "benchmark.md", "benchmark.png", "benchmark.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    text = (folder / "benchmark.md").read_text()
    assert "dim_war, pattern uniform on small" in text
    assert "eager†" in text
    lines = lines_of(folder)
    played = {line["policy"]: line["value"] for line in lines if line["metric"] == "tasks_played"}
    assert played == {"ugal_l": "4", "minimal": "5", "ugal": "1", "eager": "4", "dim_war": "0"}
    for line in lines:
        if line["metric"] == "score" and line["policy"] in ("ugal_l", "ugal"):
            assert float(line["value"]) == 0
    rows = read_rows(folder / "rows.parquet")
    assert {r["task"] for r in rows} == {t.id for t in load_suite(str(tiny)).tasks}
    latency = [
        r["packet_latency_mean_ns"] for r in rows if (r["policy"], r["task"]) == ("eager", "small/uniform/0.2-v1")
    ]
    (line,) = (
        entry
        for entry in lines
        if (entry["policy"], entry["task"], entry["metric"]) == ("eager", "small/uniform/0.2-v1", "latency_mean_ns")
    )
    assert float(line["value"]) == pytest.approx(np.mean(latency))
    assert line["scored"] == "True"

    # Beside what is recorded the same policy has the same scores, and nothing is run again.
    again = command("benchmark", "suite=tiny.yaml", words[1].replace("dim_war,", ""), "resamples=100")
    assert again.returncode == 1, again.stderr
    assert "8 runs, 8 finished before" in again.stderr
    assert "stale" not in again.stderr
    first, second = (
        {(x["task"], x["metric"]): x["value"] for x in some if x["policy"] == "eager"}
        for some in (lines, lines_of(folder))
    )
    assert first == second

    # A task that was changed without another version: what is recorded of it is found to be of something else.
    tiny.write_text(TINY.replace("run.measure_ns=800", "run.measure_ns=900"))
    stale = command("benchmark", "suite=tiny.yaml", "resamples=100")
    assert stale.returncode == 0, stale.stderr
    assert "recorded results are stale" in stale.stderr
    assert "baselines=run" in stale.stderr
    assert "stale" in (folder / "benchmark.md").read_text()


def test_results_of_another_core_are_named(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(suite=str(tiny), tasks=["small/uniform/0.2"], results=str(tmp_path / "r"), resamples=50)
    table = str(tiny.with_suffix(".csv"))
    benchmark(replace(options, baselines="run", record=table, workers=1), "x")
    benchmark(options, "x")
    assert "another core" not in capsys.readouterr().err
    records = [replace(record, version="0.1.0+old.00000000") for record in read_records(Path(table))]
    write_records(Path(table), records)
    benchmark(options, "x")
    said = capsys.readouterr().err
    assert f"another core (0.1.0+old.00000000) than this one ({__version__})" in said
    write_records(Path(table), records[:2])
    benchmark(options, "x")
    assert "no results are recorded" in capsys.readouterr().err


def test_a_file_of_records_keeps_the_lines_of_other_suites(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(TINY.replace("run.measure_ns=800", "run.measure_ns=900"))
    table = tmp_path / "mine.csv"
    options = Options(baselines="run", record=str(table), results=str(tmp_path / "r"), resamples=50, workers=1)
    benchmark(replace(options, suite=str(tiny), tasks=["small/uniform/0.2"]), "x")
    first = read_records(table)
    # Of a suite with a task of the same name, and of a task that no suite has any more.
    gone = replace(first[0], task="small/gone/0.1-v1")
    write_records(table, [gone, *first])
    benchmark(replace(options, suite=str(other), tasks=["small/uniform/0.2"]), "x")
    second = read_records(table)
    assert {r.suite for r in second[:4]} == {"other-v3"}
    assert second[4:] == [gone, *first]
    # Beside a suite results of another one are no results of it.
    write_records(tiny.with_suffix(".csv"), second)
    benchmark(Options(suite=str(tiny), tasks=["small/uniform/0.2"], results=str(tmp_path / "r"), resamples=50), "x")
    said = capsys.readouterr().err
    assert "4 recorded results are of another suite than tiny-v3 and left out (other-v3)" in said
    assert "stale" not in said


def test_without_policies_it_shows_what_is_recorded(command: Command, tmp_path: Path) -> None:
    done = command("benchmark", "suite=quick", "resamples=50")
    assert done.returncode == 0, done.stderr
    assert "q_adaptive" in done.stdout
    assert "runs" not in done.stderr
    assert (tmp_path / "results" / "benchmark_quick" / "benchmark.md").stat().st_size > 5_000


def test_help_lists_the_suites(command: Command) -> None:
    for words in ([], ["--help"]):
        done = command("benchmark", *words)
        assert done.returncode == 0
        for path in SUITES.glob("*.yaml"):
            assert load_suite(path.stem).id in done.stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["suit=quick"], ["did you mean 'suite'?"]),
        (["quick"], ["'quick' is not of the form key=value"]),
        (["policies=[minimal]"], ["name a suite", "quick"]),
        (["suite=quick", "policies=minimal"], ["policies=[minimal]"]),
        (["suite=quick", "tasks=[*/uniform]"], ["tasks=[*/uniform]", "in quotes"]),
    ],
)
def test_a_wrong_word(command: Command, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    done = command("benchmark", *arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr
    assert not list(tmp_path.glob("results/*"))


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"suite": "quick-v99"}, ["unknown version 'quick-v99'"]),
        ({"suite": "gone.yaml"}, ["gone.yaml", "no such file"]),
        ({"tasks": ["small/unifrom/0.2"]}, ["did you mean 'small/uniform/0.2'?"]),
        ({"policies": ["minimall"]}, ["did you mean 'minimal'?"]),
        ({"policies": ["gone/policy.safetensors"]}, ["gone/policy.safetensors", "no such file"]),
        ({"policies": [{"routing": "par", "params": {"treshold": 1}}]}, ["did you mean 'threshold'?"]),
        ({"policies": ["par", "par"]}, ["'par' is there twice"]),
        ({"policies": [{"name": "minimal", "routing": "par"}]}, ["'minimal' is a baseline of tiny-v3", "another name"]),
        ({}, ["tiny-v3", "nothing is recorded", "baselines=run"]),
        ({"baselines": "rnu"}, ["baselines", "did you mean 'run'?"]),
        ({"workers": 0}, ["workers"]),
        ({"confidence": 95.0}, ["confidence", "95"]),
        ({"resamples": 0}, ["resamples"]),
        ({"record": "tiny.yaml"}, ["tiny.yaml", "columns"]),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], parts: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ConfigError, CommandError, DamagedError)) as failure:
        benchmark(Options(**{"suite": "tiny.yaml", **given}), "flitgym-benchmark")
    for part in parts:
        assert part in str(failure.value)
    assert not list(tmp_path.glob("results/*"))


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (
            "run.warmup_ns=0, run.series_interval_ns=100",
            "run.warmup_ns=0",
            ["cold_start-v1", "run.series_interval_ns: 0"],
        ),
        ('[run.series_interval_ns=100, "f', '["f', ["recovery-v2", "run.series_interval_ns: 0", "up to 800 ns"]),
        (
            '[run.series_interval_ns=100, "f',
            '[run.series_interval_ns=900, "f',
            ["run.series_interval_ns: 900", "up to 800"],
        ),
        (', "failures.events=[0-1@200]"', "", ["failures.events: nothing fails", "failures.events=[<link>@200]"]),
        ("0-1@200", "0-1@300-400,0-2@250", ["failures.events", "fails at 250 ns", "run.warmup_ns on (200 ns)"]),
    ],
)
def test_windows_that_a_task_cannot_be_measured_by_are_refused_before_anything_runs(
    tiny: Path, tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    assert old in TINY
    tiny.write_text(TINY.replace(old, new, 1))
    with pytest.raises(ConfigError) as failure:
        benchmark(Options(suite=str(tiny), baselines="run", results=str(tmp_path / "r"), workers=1), "x")
    for part in ["tiny.yaml", *parts]:
        assert part in str(failure.value)
    assert not (tmp_path / "r").exists()


def test_a_file_that_is_no_policy_is_named_for_every_task(tiny: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"no policy")
    options = Options(suite=str(tiny), policies=[str(wrong)], results=str(tmp_path / "r"), workers=1)
    with pytest.raises(
        CommandError, match=r"no run ended well:\nwrong, pattern uniform on small: .*wrong\.safetensors"
    ):
        benchmark(options, "x")
