"""`flitgym compare`: pairs of runs, differences that exceed noise, and the printed text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import executed
from flitgym.experiments import compare as command
from flitgym.experiments.comparison.pairs import EQUAL, EXCEEDS, NO_SEED, NO_SPREAD, WITHIN, compare, difference, within
from flitgym.experiments.comparison.text import markdown, remarks, sentences
from flitgym.simcore import ConfigError
from sweep_rows import job_row, traffic_row

SEEDS = range(1, 7)
PLACEMENT = "workload.placement_seed"


def study(latency: float, **keys: Any) -> list[dict[str, Any]]:
    """Two routings at two loads with six seeds; latencies differ by a few ns from seed to seed."""
    return [
        traffic_row(routing, load, seed, latency + 100 * load + (seed * int(latency)) % 7, **keys)
        for routing in ("minimal", "par")
        for load in (0.1, 0.3)
        for seed in SEEDS
    ]


# --- Pairs ---------------------------------------------------------------------------------------------------------


def test_runs_are_paired_by_the_keys_in_common() -> None:
    found = compare(study(500.0), study(600.0, **{"router.vcs": 5}))
    assert [pair.common for pair in found.pairs] == [
        {"routing": routing, "traffic.load": load} for routing in ("minimal", "par") for load in (0.1, 0.3)
    ]
    assert found.settings == {"router.vcs": ("3", "5")}
    assert found.alone == ([], [])
    fewer = compare(study(500.0), [row for row in study(600.0) if row["traffic.load"] == 0.1])
    assert fewer.alone == (["minimal, load=0.3", "par, load=0.3"], [])
    for pair in found.pairs:
        assert not pair.identical
        told = {one.column: one for one in pair.differences}
        change = told["packet_latency_mean_ns"].change
        assert 90 < change.low < change.value < change.high < 110
        assert told["packet_latency_mean_ns"].verdict == EXCEEDS
        assert told["accepted_load"].verdict == EQUAL


def test_several_values_of_a_side_cannot_be_paired() -> None:
    second = [*study(600.0, **{"router.vcs": 5}), *study(700.0, **{"router.vcs": 6})]
    with pytest.raises(ConfigError, match=r"the two differ in router\.vcs, which has several values on one side"):
        compare(study(500.0), second)


def test_equal_bits_are_reported_as_identical() -> None:
    # threads change the hashes of the rows, not the results
    other = compare(study(500.0), study(500.0, **{"run.threads": 4}))
    assert not any(pair.identical for pair in other.pairs)
    same = compare(study(500.0), [row | {"run.threads": 4} for row in study(500.0)])
    assert all(pair.identical for pair in same.pairs)
    assert "4 identical, bit by bit" in markdown(same, ("a", "b"))
    assert same.settings == {}


def test_jobs_are_compared_by_their_times() -> None:
    first = [job_row("par", "ur", seed, lu=1000.0 + seed, ur=2000.0) for seed in SEEDS]
    second = [job_row("minimal", "ur", seed, lu=900.0 + 2 * seed, ur=None) for seed in SEEDS]
    (pair,) = compare(first, second).pairs
    (lu,) = pair.differences  # an unfinished job has no time
    assert (lu.column, lu.change.value, lu.verdict) == ("jobs.lu.comm_time_mean_ns", -96.5, EXCEEDS)


def test_copies_count_once() -> None:
    """The runs of both sides are equal for all seeds, so the difference of 0.6 % says nothing about noise."""
    sides = [
        [job_row("par", "ur", seed, lu=time) | {"state_hash": f"{time}"} for seed in SEEDS] for time in (299.5, 301.3)
    ]
    (pair,) = compare(*sides).pairs
    (lu,) = pair.differences
    assert pair.seeds == [(1, None)]
    assert lu.verdict == NO_SPREAD
    assert np.isnan(lu.change.low)
    # The other side differs from seed to seed: its variation counts.
    random = [job_row("minimal", "ur", seed, lu=310.0 + seed) for seed in SEEDS]
    (pair,) = compare(sides[0], random).pairs
    assert (len(pair.seeds), pair.differences[0].verdict) == (6, EXCEEDS)


def test_one_study_by_routing() -> None:
    """Runs of one study are paired by seed and placement."""
    rows = [
        job_row(name, "ur", seed, lu=100.0 * seed + 10 * placement + ahead + placement / 4)
        | {PLACEMENT: placement, "state_hash": f"{name} {seed} {placement}"}
        for name, ahead in (("minimal", 0.0), ("par", -7.0))
        for seed in (1, 2)
        for placement in ((1, 2) if name == "minimal" else (2, 1))
    ]
    rows[0] |= {"jobs.lu.comm_time_mean_ns": 111.0}  # the pairs differ by 7.75, 7, 7 and 7
    comparisons, refused = within(rows, "routing")
    ((names, found),) = comparisons.items()
    assert not refused
    assert names == ("minimal", "par")
    (pair,) = found.pairs
    (lu,) = pair.differences
    assert (len(pair.seeds), lu.change.value) == (4, pytest.approx(-7.1875))
    assert lu.test.freedom == 3
    (line,) = sentences(found, names)
    assert "with par" in line
    assert "95 % interval" in line
    assert "paired t(3) = -38.33, p < 0.001, 4 pairs of runs." in line
    with pytest.raises(ConfigError, match=r"by=topology.name: all runs have the value"):
        within(rows, "topology.name")
    with pytest.raises(ConfigError, match="did you mean 'par'"):
        within(rows, "routing", "pra")
    with pytest.raises(ConfigError, match="is no setting of a run"):
        within(rows, "seed")


def test_one_study_with_saturated_and_unpaired_runs() -> None:
    rows = [
        traffic_row(name, load, seed, latency=500.0 + seed * seed + 5 * seed * (name == "par"))
        | {"warnings.saturated": "saturated" if load == 0.5 else None, "topology": topology}
        for name, topology, load in (
            ("minimal", "a", 0.5),
            ("minimal", "a", 0.7),
            ("par", "a", 0.5),
            ("ugal_l", "b", 0.1),
            ("ugal_l", "c", 0.1),
        )
        for seed in (1, 2, 3)
    ]
    comparisons, refused = within(rows, "routing")
    ((names, found),) = comparisons.items()
    assert names == ("minimal", "par")
    notes = remarks(found, names)
    assert "One in twenty does so by chance" in notes[0]
    assert notes[1:] == [
        "Saturated in minimal or par, so that latencies depend on the window: load=0.5",
        "Only in minimal: load=0.7",
    ]
    (line,) = refused
    assert line.startswith("left out: minimal and ugal_l: the two differ in topology")
    assert "one value of topology" in line


# --- Noise ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({1: 500.0}, {1: 510.0}, NO_SPREAD),
        ({1: 500.0}, {2: 510.0}, NO_SEED),
        ({1: 500.0, 2: 510.0}, {1: 500.0, 2: 510.0}, EQUAL),
        ({1: 500.0, 2: 510.0}, {1: 501.0, 2: 515.0}, WITHIN),
        ({1: 500.0, 2: 510.0}, {1: 600.0, 2: 611.0}, EXCEEDS),
        ({1: 500.0, 2: 510.0}, {1: 520.0, 2: 505.0}, WITHIN),
    ],
)
def test_verdicts(first: dict[int, float], second: dict[int, float], verdict: str) -> None:
    found = difference("x", first, second)
    assert found.verdict == verdict
    assert np.isfinite(found.change.low) == (verdict not in (NO_SPREAD, NO_SEED))


# --- The command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two studies with two seeds each. `second` has other buffers."""
    folder = tmp_path_factory.mktemp("compared")
    for study, flits in (("first", 20), ("second", 40)):
        for seed in (1, 2):
            words = ("topology=dragonfly_72", "routing=minimal", "traffic=adversarial", "traffic.load=0.5")
            windows = ("run.warmup_ns=2000", "run.measure_ns=2000")
            own = (f"router.input_buffer_flits={flits}", f"seed={seed}")
            executed(folder / study / str(seed), *words, *windows, *own)
    return folder / "first", folder / "second"


def test_two_studies(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.command([*map(str, folders), f"out={tmp_path / 'compare.md'}"])
    text = capsys.readouterr().out
    assert "router.input_buffer_flits" in text
    assert "mean packet latency (ns)" in text
    assert text.count("first") >= 2
    page = (tmp_path / "compare.md").read_text()
    assert "| router.input_buffer_flits | 20 | 40 |" in page
    assert page.startswith("# first and second\n")
    command.command([*map(str, folders), "--markdown"])
    assert capsys.readouterr().out == page
