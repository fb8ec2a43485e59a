"""Scores and measures of a benchmark: closed forms, missing runs, intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flitgym.experiments.benchmarks.figure import draw
from flitgym.experiments.benchmarks.measures import SCORED, measures, recovery
from flitgym.experiments.benchmarks.records import Record
from flitgym.experiments.benchmarks.scoring import (
    LEAST_AHEAD,
    MOST_AHEAD,
    Played,
    advantage,
    played_of,
    profile,
    summarise,
)
from flitgym.experiments.benchmarks.suite import Suite, Task
from flitgym.experiments.benchmarks.text import footnotes, overview
from flitgym.experiments.evaluation.plan import Policy, Scenario

SEEDS = (1, 2)
Values = Mapping[tuple[str, str], Sequence[float]]  # by task and policy; NaN marks a missing run


def task(name: str = "a", kind: str = "below", which: str = "held_out", network: str = "n") -> Task:
    of_run = (Scenario("", "pattern", "", {}), (), (Policy("reference", "minimal", {}),))
    return Task(f"{network}/{name}", 1, kind, which, network, 0.3, *of_run)  # type: ignore[arg-type]


def records(values: Values, measure: str = "latency_mean_ns") -> list[Record]:
    return [
        Record("s-v1", f"n/{name}-v1", policy, seed, "", "", "", {measure: value})
        for (name, policy), own in values.items()
        for seed, value in zip(SEEDS, own, strict=True)
        if not math.isnan(value)
    ]


def played(shown: Sequence[Record], known: Sequence[str], tasks: Sequence[Task]) -> list[Played]:
    """The numbers of all policies on a scale of the baselines `known`, with the policy `reference`."""
    suite = Suite("s", 1, "", SEEDS, tuple(tasks), Path())
    names = list(dict.fromkeys(record.policy for record in shown))
    return played_of(suite, names, shown, [record for record in shown if record.policy in known])


def of_one_task(values: Mapping[str, Sequence[float]], known: Sequence[str], kind: str = "below") -> dict[str, Played]:
    measure = SCORED[kind][0]  # type: ignore[index]
    own = records({("a", policy): numbers for policy, numbers in values.items()}, measure)
    return {one.policy: one for one in played(own, known, [task("a", kind)])}


# --- Scores ----------------------------------------------------------------------------------------------------------


def test_the_reference_is_0_and_the_best_known_is_1() -> None:
    values = {"reference": [400.0, 800.0], "best": [100.0, 200.0], "middle": [200.0, 400.0]}
    # The new policy is twice as far ahead of the reference as the best known policy is, on a log scale. Double the
    # latency scores minus the gain of half the latency. A policy that is not known does not change the scale.
    values |= {"new": [25.0, 50.0], "worse": [800.0, 1600.0]}
    made = of_one_task(values, ["reference", "best", "middle"])
    expected = {"reference": 0, "best": 1, "middle": 0.5, "new": 2, "worse": -0.5}
    assert {name: one.scores.tolist() for name, one in made.items()} == {
        name: pytest.approx([score, score]) for name, score in expected.items()
    }
    assert np.exp(made["new"].best - made["new"].ahead) == pytest.approx([0.25, 0.25])


def test_the_gap_to_an_oracle_is_that_of_the_scored_measure() -> None:
    values = {"reference": [0.2, 0.2], "best": [0.4, 0.4], "file": [0.6, 0.6], "new#1": [0.5, 0.5], "new#2": [0.4, 0.8]}
    shown = records({("a", name): own for name, own in {**values, "oracle": [0.8, 0.8]}.items()}, "accepted_load")
    suite = Suite("s", 1, "", SEEDS, (task("a", "above"),), Path())
    known = [record for record in shown if record.policy in ("reference", "best", "file")]
    names = [*values, "oracle"]
    made = played_of(suite, names, shown, known, ["reference", "best"])
    gaps = {one.policy: one.measures["gap_closed"] for one in made if "gap_closed" in one.measures}
    assert gaps["new"] == pytest.approx([math.log2(1.25)] * 2 + [0, 1])
    assert gaps["oracle"] == pytest.approx([1, 1])
    assert set(gaps) == {"file", "new", "oracle"}
    summary = next(one for one in summarise(made, [task("a", "above")], names) if one.policy == "oracle")
    assert summary.gap.value == pytest.approx(1)
    figure = draw(made, summarise(made, [task("a", "above")], names), 0.95)
    assert figure.axes[-1].get_title(loc="left") == "gap closed by task"


def test_more_accepted_load_is_better() -> None:
    values = {"reference": [0.2, 0.2], "best": [0.8, 0.8], "other": [0.1, 0.1]}
    made = of_one_task(values, ["reference", "best"], "above")
    assert [one.scores[0] for one in made.values()] == pytest.approx([0, 1, -0.5])


def test_without_a_better_baseline_a_score_of_1_is_a_tenth_better() -> None:
    values = {"reference": [100.0] * 2, "worse": [110.0] * 2, "new": [100.0 / (1 + LEAST_AHEAD)] * 2}
    made = of_one_task(values, ["reference", "worse"])
    scores = [one.scores[0] for one in made.values()]
    assert scores == pytest.approx([0, -math.log(1.1) / math.log1p(LEAST_AHEAD), 1])
    assert made["new"].best == 0  # the best known policy is the reference itself


def test_without_a_reference_there_is_no_score() -> None:
    made = of_one_task({"best": [50.0, 50.0]}, ["best"])
    assert np.isnan(made["best"].scores).all()
    (summary,) = summarise(list(made.values()), [task()], ["best"])
    assert (summary.played, summary.unscored, summary.worst) == (1, 1, None)
    assert np.isnan(summary.by["set"]["held_out"].value)


def test_a_task_is_scored_with_the_seeds_of_the_reference() -> None:
    # The best known policy lacks the same seed as the reference.
    values = {"reference": [100.0, math.nan], "best": [50.0, math.nan], "new": [25.0, 25.0]}
    made = of_one_task(values, ["reference", "best"])
    assert made["new"].scores == pytest.approx([2, math.nan], nan_ok=True)
    assert [one.unscored for one in made.values()] == [0, 0, 1]
    summaries = summarise(list(made.values()), [task()], list(made))
    assert {s.policy: (s.played, s.unscored) for s in summaries} == {"reference": (0, 0), "best": (0, 0), "new": (1, 1)}
    assert "1 of 1, 1‡" in overview(summaries).lines[0]
    assert len(footnotes(summaries)) == 2


def test_copies_count_once() -> None:
    """The reference and `best` repeat seed 1 bit by bit. `random` differs, so its pairs with the reference do, too."""
    values = {("a", "reference"): [400.0, 400.0], ("a", "best"): [100.0, 100.0], ("a", "random"): [200.0, 100.0]}
    own = [replace(one, state_hash=str(one.measures)) for one in records(values)]
    made = played(own, ["reference", "best", "random"], [task()])
    scores = {one.policy: one.scores for one in made}
    assert np.isnan(scores["best"]).tolist() == [False, True]
    assert scores["random"] == pytest.approx([0.5, 1])
    assert [(one.copies, one.missing, one.unscored) for one in made] == [(1, 0, 0), (1, 0, 0), (0, 0, 0)]
    best, random = (summarise([one], [task()], [one.policy])[0].by["set"]["held_out"] for one in made[1:])
    assert best.value == 1
    assert np.isnan(best.low)
    assert random.low < random.value == 0.75 < random.high


def test_a_policy_that_accepts_nothing_gets_the_lowest_score() -> None:
    nothing, some = np.array([0.0, 0.0]), np.array([0.2, 0.2])
    assert advantage(nothing, some, True) == pytest.approx([-math.log(MOST_AHEAD)] * 2)
    assert advantage(some, nothing, True) == pytest.approx([math.log(MOST_AHEAD)] * 2)
    assert advantage(nothing, nothing, True).tolist() == [0, 0]
    assert np.isnan(advantage(np.array([math.nan]), np.array([0.2]), True)).all()


def test_summaries() -> None:
    tasks = [task("a"), task("b"), task("c", which="train"), task("d", "above")]
    times = {"reference": 100.0, "best": 50.0, "new": 200.0}
    every = records({(name, policy): [time, time] for policy, time in times.items() for name in "abc"})
    every += records({("d", "reference"): [0.2, 0.2], ("d", "new"): [0.4, 0.4]}, "accepted_load")
    made = played(every, ["reference", "best"], tasks)
    summaries = {s.policy: s for s in summarise(made, tasks, list(times))}
    # A policy that lacks tasks comes last, whatever its score.
    assert list(summaries) == ["new", "reference", "best"]
    assert (summaries["best"].played, summaries["best"].of, summaries["best"].complete) == (3, 4, False)
    new = summaries["new"]
    # The latency doubles in a and b. The load doubles where a gain of 10 % would score 1.
    assert new.by["set"]["train"].value == pytest.approx(-1)
    d = math.log(2) / math.log1p(LEAST_AHEAD)
    assert new.by["kind"]["above"].value == pytest.approx(d)
    assert new.by["kind"]["below"].value == pytest.approx(-1)
    # the mean drops the first and the last of six runs
    assert new.by["set"]["held_out"].value == pytest.approx((3 * -1 + d) / 4)
    assert new.latency_to_best == pytest.approx(4)
    assert new.worst is not None
    assert new.worst[1] == pytest.approx(4)
    # the best of the other policies is the reference
    assert summaries["best"].worst == (tasks[0], pytest.approx(0.5))


def test_trainings_of_a_policy_are_one_policy() -> None:
    tasks = [task("a"), task("b", which="train")]
    times = {"reference": 100.0, "best": 50.0, "mine#1": 51.5, "mine#2": 25.0}
    every = records({(name, policy): [time, time] for policy, time in times.items() for name in "ab"})
    made = played(every, list(times)[:2], tasks)
    summaries = {one.policy: one for one in summarise(made, tasks, list(times))}
    mine = summaries["mine"]
    assert (mine.played, mine.of, mine.complete) == (2, 2, True)
    scores = [math.log(100 / time) / math.log(2) for time in (51.5, 25.0)]
    assert mine.trainings == pytest.approx(scores)
    assert mine.by["set"]["held_out"].value == pytest.approx(np.mean(scores))
    assert (mine.within, summaries["reference"].within) == ((1.0, 1.0), (0.0, 0.0))
    assert overview([mine]).lines[0][5] == "2: 0.96 to 2.00"


def test_shares_close_to_the_best_other_policy() -> None:
    tasks = [task("a"), task("b"), task("c", which="train")]
    every = records({(name, policy): [time] * 2 for policy, times in
                     {"reference": "100 100 100", "new": "101 104 999"}.items()
                     for name, time in zip("abc", map(float, times.split()), strict=True)})  # fmt: skip
    (_, new) = sorted(
        summarise(played(every, ["reference"], tasks), tasks, ["reference", "new"]), key=lambda one: one.policy == "new"
    )
    assert new.within == (0.5, 1.0)
    assert new.worst == (tasks[1], pytest.approx(1.04))  # c is not held out


def test_a_missing_run_is_counted() -> None:
    made = of_one_task({"reference": [100.0, 100.0], "new": [50.0, math.nan]}, ["reference"])
    assert [one.missing for one in made.values()] == [0, 1]
    summaries = summarise(list(made.values()), [task()], list(made))
    assert [(s.policy, s.played, s.complete) for s in summaries] == [("reference", 1, True), ("new", 0, False)]


def test_profiles_are_fractions_of_all_runs() -> None:
    made = of_one_task({"reference": [100.0, 100.0], "new": [100.0, 50.0], "best": [50.0, 50.0]}, ["reference", "best"])
    at = np.array([-0.5, 0.5, 0.99, 1.01])
    assert profile([made["new"]], at).tolist() == pytest.approx([1, 1 / 2, 0.5, 0])


def test_the_figure_draws_only_policies_with_scores() -> None:
    made = list(of_one_task({"reference": [100.0, 100.0], "new": [1000.0, 990.0]}, ["reference"]).values())
    figure = draw(made, summarise(made, [task()], ["reference", "new", "none"]), 0.95)
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
