"""The figure of SC19's synthetic traffic: the coverage of its sweep, and numbers computed from its rows."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from flitgym.experiments.comparison.published import differences
from flitgym.experiments.figures.sc19_synthetic import plot
from flitgym.experiments.plotting.players import pattern_of
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.plan import PlannedRun
from flitgym.experiments.saturation.search import KIND, SATURATIONS
from plans import place_of, planned

FIGURE = "sc19_synthetic"
STATIC = {"dimension_order", "minimal_adaptive", "valiant", "ugal", "clos_ad", "dal", "dim_war", "omni_war"}


def runs(preset: str) -> Sequence[PlannedRun]:
    return planned(FIGURE, preset)


@cache
def ideal_rows() -> Sequence[dict[str, Any]]:
    """Rows of networks that reach their bound without queueing. Under URBy, only UGAL stays minimal."""
    return [ideal_row(run) for run in runs("quick")]


def ideal_row(run: PlannedRun) -> dict[str, Any]:
    config: Any = run.plain
    load, name = config["traffic"]["load"], config["routing"]["name"]
    bare = row({"config": config}, run.directory)
    limit = plot.bound(pattern_of(bare), name)
    if (pattern_of(bare), name) == ("uniform_random_bisection, dimension=y", "ugal"):
        limit = 0.125
    hops = 2.625 * (2 if name == "valiant" else 1)
    # 7.5 flits follow the head on average.
    latency = 10 + 56 * (hops + 1) + 50 * hops + 7.5
    if run.kind is not SATURATIONS:
        return {**bare, "accepted_load": min(load, limit), "packet_latency_mean_ns": latency, "hops_mean": hops}
    loads = [limit, limit * 1.02]
    probes = {"probe_load": loads, "probe_accepted": [limit, limit], "probe_latency_ns": [latency, 10 * latency]}
    searched = {"kind": KIND, plot.CARRIED: limit, plot.THROUGHPUT: limit, plot.REFUSED: loads[-1]}
    return {**bare, **probes, **searched}


@pytest.mark.deep
@pytest.mark.parametrize("preset", ["quick", "paper_coarse", "paper"])
def test_all_routings_have_the_same_loads_and_a_search_for_each_pattern(preset: str) -> None:
    loads: dict[str, dict[str, list[float]]] = {}
    searches: dict[str, set[str]] = {}
    for run in runs(preset):
        pattern = pattern_of(row({"config": run.plain}, run.directory))
        name = run.plain["routing"]["name"]
        if run.kind is SATURATIONS:
            searches.setdefault(pattern, set()).add(name)
        elif name in STATIC:
            loads.setdefault(pattern, {}).setdefault(name, []).append(run.plain["traffic"]["load"])
    assert set(loads) == set(searches) == set(plot.PATTERNS)
    for pattern, curves in loads.items():
        assert set(curves) == searches[pattern] - {"q_adaptive"} == STATIC
        (points,) = {tuple(sorted(points)) for points in curves.values()}
        # The loads begin at an idle network. A search has the bound, so no run does.
        assert points[0] <= 0.05
        assert points[-1] < plot.bound(pattern, "omni_war")


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_every_run_has_the_paper_s_system(preset: str) -> None:
    for run in runs(preset):
        topology, router, traffic = (run.plain[key] for key in ("topology", "router", "traffic"))
        assert (topology["widths"], topology["terminals_per_router"]) == ([8, 8, 8], 8)
        assert (router["vcs"], router["arbiter"], router["credit_latency"]) == (8, "age", "link")
        assert (traffic["packet_bytes"], traffic["packet_bytes_max"]) == (128, 2048)


def test_ideal_rows_meet_every_expected_number() -> None:
    expected = place_of(FIGURE).expected()["numbers"]
    measured = plot.measured(ideal_rows())
    assert {key: measured[key] for key in measured if "over_ugal" not in key} == pytest.approx(
        {entry["id"]: entry["value"] for entry in expected if "over_ugal" not in entry["id"]}
    )
    assert "**no**" not in differences(FIGURE, measured, expected)


def test_a_curve_above_its_bound_is_noticed() -> None:
    rows = [dict(entry) for entry in ideal_rows()]
    for entry in rows:
        which = (pattern_of(entry), entry["routing.name"])
        if "probe_load" in entry and which == ("dimension_complement_reverse", "dim_war"):
            entry["probe_accepted"] = [0.0625, 0.07]
    assert plot.measured(rows)["highest_part_of_the_bound"] == pytest.approx(0.07 * 16)


def test_a_latency_curve_ends_at_the_highest_carried_load() -> None:
    kept = plot.until_saturated(ideal_rows(), "swap2")
    loads: dict[str, list[float]] = {}
    for entry in kept:
        loads.setdefault(entry["routing.name"], []).append(entry["traffic.load"])
    assert loads["dimension_order"] == pytest.approx([0.05, 0.2, 0.25])
    assert loads["valiant"] == pytest.approx([0.05, 0.2, 0.5])
    assert loads["omni_war"] == pytest.approx([0.05, 0.2, 0.6, 1.0])
