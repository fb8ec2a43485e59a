"""The figure of a sweep: the swept keys are recognised, and the drawn points are the numbers of the rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.experiments.metrics import mean_interval
from flitgym.experiments.plotting.drawing import STYLES, save_figure
from flitgym.experiments.plotting.sweeps import curves, sweep_figure
from flitgym.experiments.plotting.swept import column_of, named, swept
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sweep_rows import DRAGONFLIES, job_row, traffic_row

LOADS, SEEDS = (0.1, 0.3, 0.5), (1, 2, 3)
GRID = [
    traffic_row(routing, load, seed, latency=base * (1 + load) + seed)
    for routing, base in (("par", 800.0), ("minimal", 500.0))
    for load in LOADS
    for seed in SEEDS
]


def drawn(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of every line by label, without the line of offered loads."""
    lines = {str(line.get_label()): line.get_xydata() for line in ax.get_lines()}
    return {label: [(x, y) for x, y in np.asarray(data)] for label, data in lines.items() if label != "_offered"}


def bars(ax: Axes) -> list[tuple[float, float, float]]:
    """The position and the two ends of every vertical bar."""
    found = [path.vertices for collection in ax.collections for path in collection.get_paths()]
    return [(a[0][0], a[0][1], a[1][1]) for a in found if len(a) == 2]  # type: ignore[index]


def by_label(figure: Figure, part: str) -> Axes:
    (found,) = (ax for ax in figure.axes if part in ax.get_ylabel())
    return found


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


# --- Which keys were swept -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        (GRID, ["routing", "traffic.load"]),
        ([traffic_row("par", 0.1, seed) for seed in SEEDS], []),
        ([traffic_row("par", 0.1, **{"router.vcs": vcs}) for vcs in (3, 4)], ["router.vcs"]),
        ([traffic_row("par", 0.1, **{"run.threads": n}) for n in (1, 2)], []),  # threads do not change results
        # follows from the routing
        ([traffic_row("par", 0.1), traffic_row("minimal", 0.1, **{"run.warmup_ns": 5e5})], ["routing"]),
        ([traffic_row("par", 0.1, **keys) for keys in DRAGONFLIES.values()], ["topology"]),
        ([traffic_row("par", 0.1, **{"topology.groups": n}) for n in (5, 9)], ["topology.groups"]),
        ([traffic_row("dqn", 0.1), traffic_row("flitgym_marginal", 0.1)], ["routing"]),
        ([traffic_row("ugal_l", 0.1), traffic_row("ugal_group", 0.1)], ["routing"]),
        ([traffic_row("par", 0.1, **{"routing.threshold": t}) for t in (1.0, 2.0)], ["routing.threshold"]),
        ([traffic_row("par", 0.1, **{"failures.links": n}) for n in (None, 0.1)], ["failures.links"]),
        ([job_row("par", "none", lu=1.0), job_row("par", "ur", lu=1.0, ur=2.0)], ["workload.background"]),
    ],
)
def test_the_keys_that_were_swept(rows: list[dict[str, Any]], keys: list[str]) -> None:
    assert swept(named(rows)) == keys


@pytest.mark.parametrize(
    ("word", "column"),
    [
        ("load", "traffic.load"),
        ("traffic.load", "traffic.load"),
        ("routing", "routing"),
        ("p99", "packet_latency_p99_ns"),
        ("vcs", "router.vcs"),
        ("hops", "hops_mean"),
    ],
)
def test_short_words_name_columns(word: str, column: str) -> None:
    assert column_of(named(GRID), word, "x") == column


# --- The drawing -----------------------------------------------------------------------------------------------------


def test_a_curve_is_the_mean_of_the_seeds_with_its_interval() -> None:
    ax = curves(GRID, "traffic.load", "latency", "routing", Figure().subplots())
    expected = {
        label: [(load, base * (1 + load) + 2) for load in LOADS] for label, base in (("minimal", 500.0), ("par", 800.0))
    }
    assert drawn(ax) == {label: pytest.approx(np.array(points)) for label, points in expected.items()}
    intervals = [
        (load, *mean_interval([base * (1 + load) + seed for seed in SEEDS])[1:])
        for base in (500.0, 800.0)
        for load in LOADS
    ]
    assert sorted(bars(ax)) == [pytest.approx(interval) for interval in sorted(intervals)]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["minimal", "par", f"95 % interval, {len(SEEDS)} seeds"]
    assert ax.get_xlabel() == "offered load (flits per terminal per flit time)"
    assert ax.get_ylabel() == "mean packet latency (ns)"
    # The runs of minimal are copies.
    copies = [row | {"state_hash": row["traffic.load"]} if row["routing.name"] == "minimal" else row for row in GRID]
    assert legend_of(sweep_figure(copies))[2] == "95 % interval, 1 to 3 seeds"


def test_a_seed_that_ran_twice_counts_once() -> None:
    rows = [traffic_row("par", 0.1, 1, 100.0), traffic_row("par", 0.1, 2, 200.0)]
    twice = [*rows, traffic_row("par", 0.1, 2, 200.0, **{"run.threads": 4})]
    ax = curves(twice, "load", "latency", None, Figure().subplots())
    assert drawn(ax) == {"_mean": [(0.1, 150.0)]}


def test_runs_of_different_things_are_different_lines() -> None:
    rows = [*GRID, *(row | {"router.vcs": 5, "packet_latency_mean_ns": 1.0} for row in GRID)]
    ax = curves(rows, "load", "latency", "routing", Figure().subplots())
    assert sorted(drawn(ax)) == ["minimal, vcs=3", "minimal, vcs=5", "par, vcs=3", "par, vcs=5"]
    assert drawn(ax)["par, vcs=5"] == [(load, 1.0) for load in LOADS]
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len(looks) == 4


def test_a_saturated_point_is_hollow_and_a_missing_point_is_a_gap() -> None:
    rows = [traffic_row("par", load, accepted_load=min(load, 0.3)) for load in LOADS]
    rows.append(traffic_row("par", 0.7, accepted_load=0.0, packet_latency_mean_ns=None))
    figure = sweep_figure(rows)
    ax = by_label(figure, "mean packet latency")
    assert [at for at, _ in drawn(ax)["_mean"]] == list(LOADS)
    white = [collection for collection in ax.collections if collection.get_facecolor().tolist() == [[1.0] * 4]]
    assert [np.asarray(collection.get_offsets())[:, 0].tolist() for collection in white] == [[0.5]]
    assert "hollow: saturated" in legend_of(figure)
    assert "hollow: saturated" not in legend_of(sweep_figure(GRID))


def test_the_figure_of_loads() -> None:
    figure = sweep_figure(GRID)
    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == [
        "mean packet latency (ns)",
        "p99 packet latency (ns)",
        "accepted load",
        "mean hops per packet",
    ]
    assert {ax.get_xlabel() for ax in figure.axes} == {"offered load (flits per terminal per flit time)"}
    assert drawn(by_label(figure, "accepted"))["par"] == [(load, pytest.approx(load)) for load in LOADS]
    assert drawn(by_label(figure, "p99"))["minimal"] == [(load, pytest.approx(1000 * (1 + load) + 4)) for load in LOADS]
    assert legend_of(figure)[:2] == ["minimal", "par"]
    colours = {line.get_label(): line.get_color() for line in figure.axes[0].get_lines()}
    assert colours == {name: STYLES[name].color for name in ("minimal", "par")}


def test_further_keys_are_rows_of_panels() -> None:
    rows = [
        traffic_row(routing, load, latency=base + load, **keys)
        for routing in ("par", "minimal")
        for load in LOADS
        for base, keys in zip((100.0, 200.0), DRAGONFLIES.values(), strict=True)
    ]
    figure = sweep_figure(rows)
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles == ["dragonfly_72", "dragonfly_342"]
    for part, base in zip(figure.subfigs, (100.0, 200.0), strict=True):
        assert drawn(part.axes[0])["par"] == [(load, base + load) for load in LOADS]


def test_the_figure_of_jobs() -> None:
    rows = [
        job_row(routing, background, seed, lu=1000.0 * seed, **({} if background == "none" else {"ur": 5e6}))
        for routing in ("par", "minimal")
        for background in ("none", "ur")
        for seed in (1, 2)
    ]
    figure = sweep_figure(rows)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "lu: mean communication time (ns)",
        "ur: mean communication time (ms)",
    ]
    lu, ur = map(drawn, figure.axes)
    assert [y for _, y in lu["par"]] == [1500.0, 1500.0]
    assert [y for _, y in ur["minimal"]] == [5e6]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["none", "ur"]
    assert not [text for text in legend_of(figure) if "saturated" in text]  # jobs have no offered load


def test_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    first, second = (save_figure(sweep_figure(GRID), tmp_path / name, "salt", ("svg",))[0] for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
