"""Scores and measures of a benchmark: closed forms, missing runs, intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from flitgym.experiments.benchmarks.figure import draw
from flitgym.experiments.benchmarks.measures import SCORED, measures, recovery
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
from flitgym.experiments.benchmarks.suite import Task
from flitgym.experiments.benchmarks.text import standing

BOOTSTRAP = Bootstrap(0.95, 200)
SEEDS = (1, 2)


def task(name: str = "a", kind: str = "below", which: str = "held_out", network: str = "n") -> Task:
    return Task(f"{network}/{name}", 1, kind, which, network, 0.3)  # type: ignore[arg-type]


def found(values: Mapping[tuple[str, str], Sequence[float]], measure: str = "latency_mean_ns") -> dict[Any, Any]:
    """Measures by task, policy and seed. NaN marks a missing run."""
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
    return cells_of(tasks, every, policies, {t.id: "reference" for t in tasks}, scale, SEEDS, {})


# --- Scores ----------------------------------------------------------------------------------------------------------


def test_the_reference_is_0_and_the_best_known_is_1() -> None:
    values = {
        "reference": np.array([400.0, 800.0]),
        "best": np.array([100.0, 200.0]),
        "middle": np.array([200.0, 400.0]),
    }
    scored = score(values, ["reference", "best"], "reference", False)
    assert [own[0].tolist() for own in scored.values()] == [[0, 0], [1, 1], pytest.approx([0.5, 0.5])]
    # The new policy is twice as far ahead of the reference as the best known policy is, on a log scale.
    ahead = score(values | {"new": np.array([25.0, 50.0])}, ["reference", "best"], "reference", False)
    assert ahead["new"][0] == pytest.approx([2, 2])
    assert np.exp(ahead["new"][1]) == pytest.approx([0.25, 0.25])
    # Scores are logarithmic: double the latency scores minus the gain of half the latency.
    worse = score(values | {"new": np.array([800.0, 1600.0])}, ["reference", "best"], "reference", False)
    assert worse["new"][0] == pytest.approx([-0.5, -0.5])


def test_more_accepted_load_is_better() -> None:
    values = {"reference": np.array([0.2]), "best": np.array([0.8]), "other": np.array([0.1])}
    scored = score(values, ["reference", "best"], "reference", True)
    assert [float(own[0][0]) for own in scored.values()] == pytest.approx([0, 1, -0.5])


def test_without_a_better_baseline_a_score_of_1_is_a_tenth_better() -> None:
    values = {"reference": np.array([100.0]), "worse": np.array([110.0]), "new": np.array([100.0 / (1 + LEAST_AHEAD)])}
    scored = score(values, ["reference", "worse"], "reference", False)
    assert float(scored["reference"][0][0]) == 0
    assert float(scored["new"][0][0]) == pytest.approx(1)
    assert float(scored["worse"][0][0]) == pytest.approx(-math.log(1.1) / math.log1p(LEAST_AHEAD))
    # The best known policy is the reference itself.
    assert float(scored["new"][1][0]) == pytest.approx(-math.log1p(LEAST_AHEAD))


def test_an_evaluated_policy_does_not_change_the_scale() -> None:
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


def test_a_task_is_scored_with_the_seeds_of_the_reference() -> None:
    # The best known policy lacks the same seed as the reference.
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


def test_copies_count_once() -> None:
    """The reference and `best` repeat seed 1 bit by bit. `random` differs, so its pairs with the reference do, too."""
    values = {"reference": [400.0, 400.0], "best": [100.0, 100.0], "random": [200.0, 100.0]}
    every = found({("a", policy): own for policy, own in values.items()})
    states = {key: f"{key[1]} {numbers['latency_mean_ns']}" for key, numbers in every.items()}
    made = cells_of([task()], every, list(values), {task().id: "reference"}, every, SEEDS, states)
    scores = {cell.policy: cell.scores for cell in made}
    assert np.isnan(scores["best"]).tolist() == [False, True]
    assert scores["random"] == pytest.approx([0.5, 1])
    assert [(cell.copies, cell.missing, cell.unscored) for cell in made] == [(1, 0, 0), (1, 0, 0), (0, 0, 0)]
    best, random = (
        summarise([cell], [task()], {cell.policy: True}, BOOTSTRAP)[0].by_set["held_out"] for cell in made[1:]
    )
    assert best.value == 1
    assert np.isnan(best.low)
    assert random.low < random.value == 0.75 < random.high


def test_a_policy_that_accepts_nothing_gets_the_lowest_score() -> None:
    nothing, some = np.array([0.0, 0.0]), np.array([0.2, 0.2])
    assert advantage(nothing, some, True) == pytest.approx([-math.log(MOST_AHEAD)] * 2)
    assert advantage(some, nothing, True) == pytest.approx([math.log(MOST_AHEAD)] * 2)
    assert advantage(nothing, nothing, True).tolist() == [0, 0]
    assert np.isnan(advantage(np.array([math.nan]), np.array([0.2]), True)).all()
    # The run without accepted load lowers the mean.
    tasks = [task(name, "above") for name in "ab"]
    of = {
        ("a", "reference"): [0.2, 0.2],
        ("b", "reference"): [0.2, 0.2],
        ("a", "new"): [0.0, 0.2],
        ("b", "new"): [0.2] * 2,
    }
    every = found(of, "accepted_load")
    scale = {key: numbers for key, numbers in every.items() if key[1] == "reference"}
    made = cells_of(tasks, every, ["new"], {t.id: "reference" for t in tasks}, scale, SEEDS, {})
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
    made = cells_of(tasks, every, list(times), {t.id: "reference" for t in tasks}, scale, SEEDS, {})
    summaries = {s.policy: s for s in summarise(made, tasks, dict.fromkeys(times, False), BOOTSTRAP)}
    # A policy that lacks tasks comes last, whatever its score.
    assert list(summaries) == ["new", "reference", "best"]
    assert (summaries["best"].played, summaries["best"].of, summaries["best"].complete) == (3, 4, False)
    new = summaries["new"]
    # The latency doubles in a and b. The load doubles where a gain of 10 % would score 1.
    assert new.by_set["train"].value == pytest.approx(-1)
    d = math.log(2) / math.log1p(LEAST_AHEAD)
    assert new.by_kind["above"].value == pytest.approx(d)
    assert new.by_kind["below"].value == pytest.approx(-1)
    # the mean drops the first and the last of six runs
    assert new.by_set["held_out"].value == pytest.approx((3 * -1 + d) / 4)
    assert new.worst is not None
    assert new.worst[1] == pytest.approx(-1)
    assert new.latency_to_reference == pytest.approx(2)
    assert new.latency_to_best == pytest.approx(4)
    assert new.worst_to_best is not None
    assert new.worst_to_best[1] == pytest.approx(4)
    assert new.latency_to_others == pytest.approx(4)
    assert summaries["best"].latency_to_others == pytest.approx(0.5)  # the best of the other policies is the reference
    assert summaries["reference"].latency_to_others == pytest.approx(2)


def test_a_missing_run_is_counted() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [50.0, math.nan]}
    made = cells(values, ["reference"], [task("a")])
    by_policy = {cell.policy: cell for cell in made}
    assert (by_policy["reference"].missing, by_policy["new"].missing) == (0, 1)
    summaries = {s.policy: s for s in summarise(made, [task("a")], {"reference": True, "new": False}, BOOTSTRAP)}
    assert (summaries["new"].played, summaries["new"].complete) == (0, False)
    assert list(summaries) == ["reference", "new"]


def test_profiles_are_fractions_of_all_runs() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [100.0, 50.0], ("a", "best"): [50.0, 50.0]}
    own = [cell for cell in cells(values, ["reference", "best"], [task("a")]) if cell.policy == "new"]
    at = np.array([-0.5, 0.5, 0.99, 1.01])
    assert profile(own, at).tolist() == pytest.approx([1, 1 / 2, 0.5, 0])


def test_the_figure_draws_only_policies_with_scores() -> None:
    values = {("a", "reference"): [100.0, 100.0], ("a", "new"): [1000.0, 990.0]}
    made = cells(values, ["reference"], [task("a")])
    summaries = summarise(made, [task("a")], {"reference": True, "new": False, "none": False}, BOOTSTRAP)
    figure = draw(made, summaries, 0.95)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["reference", "new"]
    # A score outside the axis is written as a number.
    assert any(text.get_text().startswith("-2") for text in figure.axes[0].texts)


# --- Measures --------------------------------------------------------------------------------------------------------


def test_recovery_is_the_time_until_latency_stays_settled() -> None:
    time = np.arange(1.0, 41.0) * 10
    latency = np.full(40, 100.0)
    latency[20:25] = [900, 700, 500, 300, 200]  # after 200 ns
    latency[25:] = 120  # the new level
    # The median of three intervals is inside the band from the interval that ends at 260 ns.
    assert recovery(time, latency, 200.0) == 60
    # One interval outside the band is ignored; two intervals are not.
    latency[30] = 900
    assert recovery(time, latency, 200.0) == 60
    latency[31] = 900
    assert recovery(time, latency, 200.0) == 130
    # A latency that never settles takes all of the remaining time.
    assert recovery(time, np.tile(np.repeat([100.0, 900.0], 4), 5), 200.0) == 200
    assert recovery(time, np.full(40, 100.0), 200.0) == 10


def test_long_and_short_jobs_count_equally() -> None:
    jobs = {"jobs.a.comm_time_mean_ns": 100.0, "jobs.b.comm_time_mean_ns": 400.0, "jobs.a.finish_ns": 900.0}
    done = measures("jobs", jobs | {"jobs.b.finish_ns": 500.0, "packet_latency_mean_ns": None})
    assert done == {"comm_time_ns": pytest.approx(200), "finish_ns": 900}
    assert "comm_time_ns" not in measures("jobs", jobs | {"jobs.b.comm_time_mean_ns": None})


def test_every_kind_is_scored_by_a_measure_of_its_runs() -> None:
    series = {"time_ns": [1.0, 2.0, 3.0, 4.0], "latency_mean_ns": [0.0, 5.0, 5.0, 5.0], "packets": [0, 1, 1, 1]}
    base = {"packet_latency_mean_ns": 7.0, "accepted_load": 0.2, "jobs.a.comm_time_mean_ns": 3.0, "run.warmup_ns": 1.0}
    base["changes_ns"] = [2.0]
    for kind, (measure, _) in SCORED.items():
        assert measure in measures(kind, {**base, **{f"series.{key}": own for key, own in series.items()}})


def test_a_run_that_ends_with_its_target_is_measured_by_the_target() -> None:
    times = {"jobs.a.comm_time_mean_ns": 4.0, "jobs.b.comm_time_mean_ns": None, "jobs.a.finish_ns": 9.0}
    row = {"packet_latency_mean_ns": 7.0, **times, "jobs.b.finish_ns": None}
    assert "comm_time_ns" not in measures("jobs", row)  # job b is not done
    ended = measures("jobs", {**row, "workload.ends_with": "target", "workload.target": "a"})
    assert (ended["comm_time_ns"], ended["finish_ns"]) == (pytest.approx(4.0), 9.0)
