"""`flitgym trace packet` and `timeline`: lives in ns, decisions with the weights that were compared, and timelines."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import executed
from flitgym.configs import compose
from flitgym.experiments import trace
from flitgym.experiments.traces.packet import Candidate, Life, follow, life_text, read_lives, reason
from flitgym.simcore import Simulation

DRAGONFLY = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.35"]
MANY = [f"{terminal}@{ns}" for terminal in range(0, 72, 3) for ns in (1500, 3000, 4500)]


def lives_of(words: list[str], packets: list[str]) -> tuple[list[Life], Simulation, dict[str, Any]]:
    config = compose([*DRAGONFLY, *words])
    lives, simulation = follow(config, packets, 1e6)
    return lives, simulation, simulation.configuration()["routing"]


@pytest.mark.parametrize("routing", ["ugal_l", "ugal_router", "par", "ugal_global"])
def test_ugal_takes_the_path_that_the_weights_give(routing: str) -> None:
    lives, _, keys = lives_of([f"routing={routing}"], MANY)
    taken = []
    for life in lives:
        for event in life.events:
            if not event.candidates:
                continue
            minimal, detour = event.candidates
            diverts = minimal.weight > int(keys["threshold"] * detour.weight) + keys["bias_flits"]
            assert detour.taken == diverts
            assert minimal.taken != detour.taken
            sign = ">" if diverts else "<="
            assert f"{minimal.weight:g} {sign} int(" in reason(event.candidates, keys)
            taken.append(diverts)
    assert 0.1 < np.mean(taken) < 0.9


def test_q_adaptive_takes_the_lowest_estimate_unless_the_gain_is_small() -> None:
    lives, _, keys = lives_of(["routing=q_adaptive", "routing.epsilon=0"], MANY)
    sources = [
        event.candidates for life in lives for event in life.events if event.candidates and "hops 0" in event.words
    ]
    small = 0
    for candidates in sources:
        weights = [candidate.weight for candidate in candidates]
        gain = (weights[0] - min(weights)) / weights[0]
        expected = 0 if gain < keys["q_thld1"] else int(np.argmin(weights))
        assert weights[[candidate.taken for candidate in candidates].index(True)] == weights[expected]
        small += gain < keys["q_thld1"]
    assert 0 < small < len(sources)


@pytest.mark.parametrize(
    ("network", "routing"),
    [
        *(("hyperx_64", routing) for routing in ("dim_war", "omni_war", "minimal_adaptive", "ugal", "q_adaptive")),
        *(("random_regular", routing) for routing in ("ugal", "q_adaptive", "polarized routing.allocation=greedy")),
        *(("dragonfly_72", routing) for routing in ("dqn_dragonfly", "biased")),
        ("dragonfly_72", "q_adaptive_corrected routing.candidates=0 routing.q_thld2=0"),
        ("dragonfly_72", "q_hierarchical routing.candidates=0 routing.q_thld2=0"),
    ],
)
def test_the_lightest_candidate_is_taken(network: str, routing: str) -> None:
    words = [f"topology={network}", *f"routing={routing}".split(), "traffic.load=0.5", "seed=2"]
    config = compose([*words, *(["routing.epsilon=0", "routing.q_thld1=0"] if routing.startswith("q_") else [])])
    lives, simulation = follow(config, [f"{terminal}@1500" for terminal in range(0, 64, 2)], 1e6)
    every = [event.candidates for life in lives for event in life.events if event.candidates]
    # Behind its source, a packet of UGAL has ports that take turns.
    decisions = [candidates for candidates in every if not all(math.isnan(one.weight) for one in candidates)]
    assert len(decisions) > 10
    for candidates in decisions:
        weights = [candidate.weight for candidate in candidates]
        assert [one.weight for one in candidates if one.taken] == pytest.approx([np.nanmin(weights)], rel=1e-6)
        assert re.search("lowest|highest", reason(candidates, simulation.configuration()["routing"]))
    assert len({candidate.weight for candidates in decisions for candidate in candidates}) > 3


def decisions_of(words: str) -> tuple[list[list[Candidate]], dict[str, Any]]:
    config = compose(["traffic=adversarial", "traffic.load=0.2", *words.split()])
    lives, simulation = follow(config, [f"{terminal}@{ns}" for terminal in range(0, 72, 6) for ns in (1500, 4500)], 1e6)
    every = [event.candidates for life in lives for event in life.events if event.candidates]
    return every, simulation.configuration()["routing"]


@pytest.mark.parametrize("routing", ["ugal_group", "ugal_router", "par", "fpar"])
def test_the_weights_on_a_dragonfly_plus_give_the_path(routing: str) -> None:
    decisions, keys = decisions_of(f"topology=dragonfly_plus_90 routing={routing}")
    diverted = []
    for candidates in decisions:
        known = [one for one in candidates if not math.isnan(one.weight)]
        shortest = candidates[0].path_ns
        minimal = [one.weight for one in known if one.path_ns <= shortest]
        detours = [one.weight for one in known if one.path_ns > shortest]
        if not minimal or not detours:
            continue
        direct, detour = min(minimal), min(detours)
        if routing == "fpar":
            diverts = direct > keys["threshold_flits"] >= detour
        else:
            diverts = direct > int(keys["threshold"] * detour) + keys["bias_flits"]
            assert f"{direct:g} {'>' if diverts else '<='} int(" in reason(candidates, keys)
        assert [one.weight for one in candidates if one.taken] == [detour if diverts else direct]
        diverted.append(diverts)
    assert 0 < np.mean(diverted) < 1


def test_a_source_draws_paths_of_short_estimated_delays() -> None:
    decisions, _ = decisions_of("topology=dragonfly_72 routing=source_paths routing.sharpness=64")
    ratios = []
    for candidates in decisions:
        assert all(one.path_ns <= one.weight for one in candidates)
        (taken,) = (one.weight for one in candidates if one.taken)
        ratios.append(max(one.weight for one in candidates) / taken)
        assert taken < 1.2 * min(one.weight for one in candidates)
    assert np.mean(ratios) > 1.3


def test_a_life_is_the_log_in_ns_and_following_changes_nothing() -> None:
    config = compose([*DRAGONFLY, "routing=ugal_l"])
    (life,), followed = follow(config, ["0/40"], 1e6)
    other = Simulation(
        {key: followed.configuration()[key] for key in ("topology", "router", "routing", "traffic", "seed")}
    )
    other.watch(0, 40)
    other.run(followed.now)
    assert other.statistics() == followed.statistics()
    (bare,) = read_lives(other.watch_log(), other.cycle_ns)
    assert [(event.ns, event.words) for event in life.events] == [(event.ns, event.words) for event in bare.events]
    cycles = [int(line.split()[0]) for line in other.watch_log().splitlines()]
    assert [event.ns for event in life.events] == pytest.approx(np.array(sorted(cycles)) * other.cycle_ns)
    assert life.delivered
    text = list(life_text(life, config.routing))
    assert text[0] == f"packet 0/40 from terminal 0 to terminal {life.destination}"
    assert text[-1].split()[0] == f"{life.events[-1].ns - life.events[0].ns:,.1f}"


def test_a_routing_without_weights_shows_queues() -> None:
    config = compose(["topology=fat_tree_64", "routing=up_down", "traffic.load=0.6"])
    (life,), _ = follow(config, ["5@2000"], 1e6)
    decisions = [event.candidates for event in life.events if event.candidates]
    assert decisions
    assert all(math.isnan(candidate.weight) for candidates in decisions for candidate in candidates)
    assert "up_down declares no weights" in "\n".join(life_text(life, config.routing))


def test_the_page_about_the_architecture_shows_what_the_command_prints() -> None:
    words = ["packet", "packet=0/4", "topology=dragonfly_1056", "router=input_queued", "routing=minimal"]
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    assert f"flitgym trace {' '.join(words)}\n```\n\n```text\n{trace.run(words)}\n```" in page


def test_timeline_of_a_packet(tmp_path: Path) -> None:
    text = trace.run(["packet", "packet=0@1us,9/3", *DRAGONFLY, "routing=ugal_l", f"out={tmp_path / 'life.json'}"])
    assert text.splitlines()[-1] == str(tmp_path / "life.json")
    events = json.loads((tmp_path / "life.json").read_text())["traceEvents"]
    lives, *_ = lives_of(["routing=ugal_l"], ["0@1000", "9/3"])
    for track, life in enumerate(lives, 1):
        own = [event for event in events if event["pid"] == track and event["ph"] == "X"]
        assert own[0]["ts"] == pytest.approx(life.events[0].ns / 1e3)
        assert sum(event["dur"] for event in own) == pytest.approx((life.events[-1].ns - life.events[0].ns) / 1e3)
        decisions = [event for event in events if event["pid"] == track and event["ph"] == "i"]
        assert len(decisions) == sum(bool(event.candidates) for event in life.events)
        assert all("reason" in event["args"] for event in decisions)


def test_timeline_of_a_run(tmp_path: Path) -> None:
    words = ["topology=dragonfly_72", "router=sc22", "routing=par", "workload=pair", "workload.target=halo3d"]
    sizes = ["workload.target_params={bytes: 2000, iterations: 2}", "workload.background_params.iterations=5"]
    result = executed(tmp_path, *words, *sizes, "workload.background=ur")
    events = json.loads(Path(trace.run(["timeline", str(tmp_path)])).read_text())["traceEvents"]
    jobs = {event["name"]: event for event in events if event["ph"] == "X"}
    assert set(jobs) == set(result["jobs"])
    for name, job in result["jobs"].items():
        assert jobs[name]["ts"] == pytest.approx(job["start_ns"] / 1e3)
        assert jobs[name]["dur"] == pytest.approx((job["finish_ns"] - job["start_ns"]) / 1e3)
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert len([name for name in counters if name.endswith(": utilisation")]) == 10
