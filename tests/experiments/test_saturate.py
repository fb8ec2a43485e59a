"""`flitgym saturate`: its bounds, its search against closed forms, the command, and its errors."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import compose
from flitgym.configs.composition import compose_root
from flitgym.experiments.evaluation.bounds import bound_of, limits_of
from flitgym.experiments.evaluation.cells import Cell, cells_of, tidy
from flitgym.experiments.evaluation.figure import draw
from flitgym.experiments.evaluation.study import Study, conduct
from flitgym.experiments.plotting.drawing import distinct_styles
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.running.one_run import prepare
from flitgym.experiments.saturation import search
from flitgym.experiments.saturation.search import bisect
from flitgym.experiments.saturation.study import Saturation, points_of, with_brackets
from flitgym.simcore import ChannelGraph
from omegaconf import OmegaConf

HYPERX = "topology=hyperx_64"
CUBE = ("topology=hyperx_4096", "topology.widths=[4,4,4]", "topology.terminals_per_router=4")
RING = ("topology=torus_512", "topology.sizes=[8]")
PATTERNS = (
    *("uniform", "adversarial", "urb_x", "urb_y", "bit_complement", "swap2"),
    *("tornado", "transpose", "dimension_complement_reverse"),
)


def plain(*words: str) -> dict[str, Any]:
    found: Any = OmegaConf.to_container(compose(words), resolve=True)
    return dict(found)


def study(tmp_path: Path, *words: str, router: str = "input_queued") -> dict[str, dict[str, Any]]:
    """The numbers of `saturation.csv` by metric, of a study with one policy and one seed."""
    config = compose_root("saturate", ["seeds=[1]", *words])
    common = [f"router={router}", *(word for word in words if word.startswith("topology."))]
    conduct(Saturation, config, Study(tmp_path, common, "flitgym saturate"))
    with (tmp_path / "saturation.csv").open(newline="") as file:
        return {line["metric"]: line for line in csv.DictReader(file)}


# --- Bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # A ring of 8 with tornado sends 3 hops in one direction.
        (("routing=dimension_order", "traffic=tornado", *RING), 1 / 3),
        # Half of the traffic of 4 terminals crosses the middle of the ring by 2 links.
        (("routing=dimension_order", "traffic=uniform", *RING), 1.0),
        # A group of 4 routers with 2 terminals has one link to the next group. Detours take two global links.
        (("routing=minimal", "traffic=adversarial", "topology=dragonfly_72"), 1 / 8),
        (("routing=par", "traffic=adversarial", "topology=dragonfly_72"), (1 + 1 / 8) / 2),
        (("routing=minimal", "traffic=adversarial", "traffic.shift=4", "topology=dragonfly_1056"), 1 / 32),
        # The 16 terminals of a plane send to the next plane. Each of its 4 routers has one link, or two, to it.
        (("routing=minimal", "traffic=adversarial", HYPERX), 1 / 4),
        (("routing=minimal", "traffic=adversarial", HYPERX, "topology.links=[1,2]"), 1 / 2),
        # With detours: 12 links leave the plane.
        (("routing=omni_war", "traffic=adversarial", HYPERX), 1 / 2),
        # In a ring of 16, a channel carries 2 flits at load 1; the next plane against the direction is a hop away.
        (("routing=dimension_order", "traffic=adversarial", "traffic.shift=3", "topology=torus_512",
          "topology.sizes=[16,4]"), 1 / 2),
        (("routing=up_down", "traffic=uniform", "topology=fat_tree_64"), 1.0),
        # 4 x 4 x 4 routers with 4 terminals: the table of SC'19 scaled from 8 to 4.
        (("routing=dimension_order", "traffic=bit_complement", *CUBE), 1 / 4),
        (("routing=dimension_order", "traffic=swap2", *CUBE), 1 / 2),
        (("routing=dimension_order", "traffic=dimension_complement_reverse", *CUBE), 1 / 16),
        (("routing=minimal_adaptive", "traffic=dimension_complement_reverse", *CUBE), 1 / 4),
        (("routing=omni_war", "traffic=urb_y", *CUBE), 1 / 2),
        (("routing=omni_war", "traffic=swap2", *CUBE), 1.0),
    ],
)  # fmt: skip
def test_bounds_match_closed_forms(words: tuple[str, ...], expected: float) -> None:
    assert bound_of(plain(*words)) == pytest.approx(expected)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_busiest_channel_of_a_simulation_has_the_load_of_the_bound(pattern: str) -> None:
    """An independent check of the matrices of the patterns and of the paths of dimension order."""
    config = compose([HYPERX, "router=input_queued", "routing=dimension_order", f"traffic={pattern}"])
    config.traffic.load = 0.2
    simulation = prepare(config)
    simulation.run(3000)
    simulation.begin_window()
    simulation.run(60_000)
    simulation.end_window()
    channels = simulation.channels()
    flits = channels["flits"][channels["terminal"] < 0].max() / 60_000
    assert bound_of(plain(HYPERX, "routing=dimension_order", f"traffic={pattern}")) == pytest.approx(
        0.2 / flits, rel=0.05
    )


@pytest.mark.parametrize(
    "words",
    [
        ("traffic=random_neighbors", HYPERX, "routing=ugal"),  # a random matrix
        ("failures.links=1", HYPERX, "routing=ugal"),
        ("router.link_bandwidth_gb_per_s_global=1", "topology=dragonfly_72", "routing=par"),
        ("traffic=hotspot", "topology=polarfly_q7"),
    ],
)
def test_other_cases_have_no_bound(words: tuple[str, ...]) -> None:
    assert bound_of(plain(*words)) is None


GRAPH = ("topology=random_regular", "topology.routers=16", "topology.degree=3", "topology.terminals_per_router=2",
         "topology.graph_seed=3")  # fmt: skip
OPEN = ("router=input_queued", "router.latency_from=generation", "router.source_backlog=kept", "routing=ugal")


@pytest.mark.parametrize("load", [0.2, 0.7])
@pytest.mark.parametrize("words", [(*GRAPH, "topology.terminals_per_router=1"), RING, (HYPERX,)])
def test_limits_are_close_to_the_optimum_of_linear_programs(words: tuple[str, ...], load: float) -> None:
    """Multi-commodity flows of the whole pattern with the least latency, and of as many flits as possible."""
    optimize, sparse = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.sparse")
    config = plain(*words, *OPEN, "traffic=bit_complement", f"traffic.load={load}")
    graph = ChannelGraph(config["topology"])
    arrays, n, m = graph.arrays(), graph.switches, graph.channels
    host = arrays["terminal_switch"].astype(int)
    demand = np.zeros((n, n))
    np.add.at(demand, (host[::-1], host), load)
    tail, head = (np.eye(n)[arrays[end]] for end in ("from", "to"))
    # Variables: flow of each destination over each channel, and flow of each pair. Other switches conserve flow.
    keep = [np.arange(n) != d for d in range(n)]
    flow = sparse.block_diag([(tail - head).T[rows] for rows in keep])
    pairs = sparse.block_diag([-np.eye(n)[rows] for rows in keep])
    equal = sparse.hstack([flow, pairs], format="csr")
    links = sparse.hstack([*[sparse.identity(m)] * n, sparse.csr_matrix((m, n * n))], format="csr")

    def solved(least: float, cost: float, gain: float) -> Any:
        bounds = [(0, None)] * (n * m) + [(least * rate, rate) for rate in demand.T.ravel()]
        objective = np.repeat([cost, -gain], [n * m, n * n])
        right = np.zeros(equal.shape[0])
        return optimize.linprog(objective, links, np.ones(m), equal, right, bounds, method="highs")

    limits = limits_of(config)
    assert limits is not None
    accepted = -solved(0, 0, 1).fun / len(host)
    assert accepted * (1 - 1e-9) <= limits[0] <= 1.05 * accepted
    whole = solved(1, 11, 0)  # a hop takes 11 ns
    if whole.status == 0:
        latency = 3 + whole.fun / demand.sum()
        assert 0.97 * latency <= limits[1] <= latency * (1 + 1e-9)


@pytest.mark.parametrize(
    ("words", "load"),
    [
        ((*RING, "traffic=tornado"), 0.6),  # 3 hops in one direction and 5 in the other: 8/15
        ((*GRAPH, "traffic=permutation"), 0.8),
        ((*GRAPH, "traffic=random_bisection"), 0.9),
        ((HYPERX, "traffic=urb_x"), 0.6),
        (("topology=dragonfly_72", "traffic=adversarial"), 0.7),
        (("topology=slim_fly", "topology.q=5", "traffic=adversarial"), 0.6),
        (("topology=polarfly_q7", "topology.q=5", "traffic=bit_complement"), 0.9),
        (("topology=fat_tree_64", "traffic=uniform"), 0.5),
    ],
)
def test_runs_stay_within_the_limits(words: tuple[str, ...], load: float) -> None:
    for at in (load, 0.1):
        config = compose([*words, *OPEN, f"traffic.load={at}"])
        limits = limits_of(plain(*words, *OPEN, f"traffic.load={at}"))
        assert limits is not None
        simulation = prepare(config)
        simulation.run(20_000)
        simulation.begin_window()
        simulation.run(20_000)
        simulation.end_window()
        found = simulation.statistics()
        assert found["accepted_load"] <= 1.02 * limits[0]  # the traffic is random
        assert found["packet_latency_mean_ns"] >= 0.995 * limits[1]


@pytest.mark.parametrize("traffic", ["uniform", "permutation"])
def test_the_wait_is_that_of_the_queue_of_a_destination(traffic: str) -> None:
    words = ("topology=fat_tree_64", f"traffic={traffic}", "traffic.load=0.7", "traffic.packet_bytes=1024", *OPEN)
    limits, without = limits_of(plain(*words)), limits_of(plain(*words, "router.latency_from=nic"))
    assert limits is not None
    assert without is not None
    service = 8  # flits of 128 bytes, and a cycle of 1 ns per flit
    senders = 63 if traffic == "uniform" else 1
    arrivals = np.random.default_rng(1).binomial(senders, 0.7 / service / senders, 2_000_000)
    work = waited = 0
    for number in arrivals.tolist():
        waited += number * work + service * number * (number - 1) // 2
        work = max(0, work + service * number - 1)
    assert limits[1] - without[1] == pytest.approx(waited / arrivals.sum(), rel=0.03)


# --- The search ------------------------------------------------------------------------------------------------------


def bisected(limit: float, accepted: Callable[[float], float]) -> tuple[float, float, list[float]]:
    """The bracket of a network that carries `limit`, and the loads of the search."""
    loads: list[float] = []

    def carried(load: float) -> bool:
        loads.append(load)
        return load <= limit

    return *bisect(carried, accepted, 1.0, 0.02), loads


@pytest.mark.parametrize("accepted", [0.0, 0.01, 0.3, 0.5, 1.0])  # at load 1: a good or a bad guess of the limit
@pytest.mark.parametrize("limit", [0.97, 0.9, 0.51, 1 / 3, 1 / 32, 0.01])
def test_a_bracket_holds_the_limit(limit: float, accepted: float) -> None:
    low, high, loads = bisected(limit, lambda load: accepted)
    assert low <= limit < high
    assert high - low <= 0.02 * high
    assert len(loads) == len(set(loads)) < 25


@pytest.mark.parametrize("limit", [0.97, 0.9, 0.51, 1 / 3, 1 / 32, 0.01])
def test_the_accepted_load_of_a_saturated_network_shortens_the_search(limit: float) -> None:
    assert len(bisected(limit, lambda load: min(load, limit))[2]) <= 3


def test_brackets_at_both_ends() -> None:
    assert bisect(lambda load: True, lambda load: load, 0.5, 0.02) == (0.5, 0.5)
    low, high = bisect(lambda load: False, lambda load: 0.9 * load, 1.0, 0.02)
    assert low == 0
    assert high <= 1e-3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("networks=[torus_512]", "topology.sizes=[8]", "routings=[dimension_order]", "patterns=[tornado]"), 1 / 3),
        # Tornado on a ring of 3 sends to the neighbour: every link carries the traffic of one terminal.
        (("networks=[torus_512]", "topology.sizes=[3]", "routings=[dimension_order]", "patterns=[tornado]"), 1.0),
        (("networks=[dragonfly_72]", "routings=[minimal]", "patterns=[adversarial]"), 1 / 8),
        (("networks=[fat_tree_64]", "routings=[up_down]", "patterns=[uniform]"), 1.0),
    ],
)
def test_saturation_is_close_to_the_closed_form(tmp_path: Path, words: tuple[str, ...], expected: float) -> None:
    # The router with buffers at its outputs has no head-of-line blocking, which limits the fat tree to half its load.
    found = study(tmp_path, *words, router="hpdc21" if expected == 1 else "input_queued")
    assert float(found["bound"]["mean"]) == pytest.approx(expected)
    low, load, high = (float(found["saturation_load"][key]) for key in ("low", "mean", "high"))
    assert 0.75 * expected < load <= expected * (1 + 1e-6)
    assert low <= load <= high
    assert float(found["saturation_accepted"]["mean"]) == pytest.approx(load, rel=0.03)


def test_without_a_bound_the_search_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = plain("topology=dragonfly_72", "router=input_queued", "routing=minimal", "traffic=adversarial")
    config["saturation"] = {"precision": 0.02, "confidence": 0.95, "max_ns": 100_000}
    found = []
    for name in ("bounded", "free"):
        search.SATURATIONS.do(config, tmp_path / name, lambda phase, part: None, ())
        result = search.SATURATIONS.read(tmp_path / name)
        assert result is not None
        found.append((result["saturation_load"], result["refused_load"]))
        monkeypatch.setattr(search, "bound_of", lambda config: None)
    (low, high), (free_low, free_high) = found
    # A bound that is too low would end the first search at a carried load below the second one.
    assert free_low <= high * 1.02
    assert low <= free_high


@pytest.mark.deep
def test_an_interrupted_search_keeps_its_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = plain("topology=dragonfly_72", "router=input_queued", "routing=par", "traffic=adversarial")
    config["saturation"] = {"precision": 0.25, "confidence": 0.95, "max_ns": 50_000}
    kind, probe, loads = search.SATURATIONS, search._probe, []

    def run(folder: str, most: int) -> dict[str, Any] | None:
        def counted(plain: Any, load: float, report: Callable[[str, float], None]) -> search.Probe:
            if len(loads) == most:
                raise KeyboardInterrupt
            loads.append(load)
            return probe(plain, load, report)

        monkeypatch.setattr(search, "_probe", counted)
        kind.do(config, tmp_path / folder, lambda phase, part: None, ())
        return kind.finished(config, tmp_path / folder)

    whole = run("whole", 99)
    assert whole is not None
    first, loads = loads, []
    with pytest.raises(KeyboardInterrupt):
        run("parts", 2)
    assert kind.finished(config, tmp_path / "parts") is None
    parts = run("parts", 99)
    assert parts is not None
    assert loads == first == parts["probe_load"]
    assert {key for key in whole if whole[key] != parts[key]} <= {"cpu_seconds", "checksum"}


# --- The command -----------------------------------------------------------------------------------------------------


def test_a_study(command: Command, tmp_path: Path) -> None:
    words = ("routing=minimal,dim_war", "traffic=uniform", "max_ns=50000", "precision=0.25", "seed=1,2")
    done = command("saturate", "topology=hyperx_64,dragonfly_72", *words)
    # dim_war does not know the Dragonfly. All other searches have results.
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "left out: dragonfly_72, dim_war, pattern uniform: " in done.stderr
    folder = tmp_path / "results" / "saturation"
    names = {"rows.parquet", "saturation.csv", "saturation.md", "saturation.png", "saturation.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    rows = read_rows(folder / "rows.parquet")
    assert len(rows) == 6
    with (folder / "saturation.csv").open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["metric"] == "saturation_load"]
    keys = [(line["network"], line["policy"], line["seeds"]) for line in lines]
    played = [("hyperx_64", "minimal", "2"), ("hyperx_64", "dim_war", "2"), ("dragonfly_72", "minimal", "2")]
    assert keys == [*played, ("dragonfly_72", "dim_war", "0")]
    for line in lines[:3]:
        own = [row for row in rows if (row["network"], row["policy"]) == (line["network"], line["policy"])]
        assert float(line["mean"]) == pytest.approx(sum(row["saturation_load"] for row in own) / 2)

    # The number of workers changes nothing. Finished searches are not repeated.
    before = (folder / "saturation.csv").read_bytes()
    again = command("saturate", "topology=hyperx_64", *words)
    assert again.returncode == 0, again.stderr
    assert "4 runs, 4 finished before" in again.stderr
    alone = command("saturate", "topology=hyperx_64,dragonfly_72", *words, "workers=1", "study=alone")
    assert "6 runs, 0 finished before, 1 at a time" in alone.stderr
    assert (tmp_path / "results/alone/saturation.csv").read_bytes() == before

    # The report of runs has no place for searches.
    report = command("report", "results/alone")
    assert report.returncode == 2
    assert "no run below results/alone" in report.stderr


def row(policy: str, carried: float, refused: float, bound: float | None = 0.5, seed: int = 1) -> dict[str, Any]:
    keys = {"network": "net", "scenario": "uniform", "policy": policy, "seed": seed}
    numbers = {"saturation_load": carried, "refused_load": refused, "saturation_accepted": carried or None}
    return {**keys, **numbers, "bound": bound}


def cells(rows: Sequence[dict[str, Any]]) -> list[Cell]:
    policies, seeds = (list(dict.fromkeys(one[key] for one in rows)) for key in ("policy", "seed"))
    return with_brackets(cells_of(rows, points_of, policies, seeds, policies[0], 0.95), rows, 0.95)


def loads(rows: Sequence[dict[str, Any]]) -> list[Cell]:
    return [cell for cell in cells(rows) if cell.metric == "saturation_load"]


def test_cells_and_figure() -> None:
    rows = [row("a", 0.4, 0.41), row("a", 0.42, 0.43, seed=2), row("b", 0.0, 0.001, None)]
    a, b = loads(rows)
    # The standard error of both means is 0.01, and the quantile of Student's t is 12.7062.
    assert a.mean == pytest.approx((0.41, 0.41 - 0.127062, 0.42 + 0.127062))
    assert (a.seeds, a.point) == (2, {"network": "net", "pattern": "uniform"})
    assert b.mean == (0.0, 0.0, 0.001)  # a single seed has its bracket
    assert b.ratio.value == 0  # of the seed that both have
    copies = [row("a", 0.4, 0.41, seed=k) | {"probe_latency_ns": [900.5, x]} for k, x in enumerate((30.1, 30.1, 31.2))]
    (alike,) = loads(copies)
    assert (alike.seeds, alike.mean) == (2, (0.4, 0.4, 0.41))  # two searches are copies, and the third has this bracket
    found = cells(rows)
    assert [line["mean"] for line in tidy(found) if line["metric"] == "saturation_accepted"] == [
        pytest.approx(0.41),
        None,
    ]
    figure = draw(found, Saturation.panels, distinct_styles({"a": "minimal", "b": "par"}), 0.95)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["a", "b", "95 % interval, 1 to 2 seeds", "analytic bound"]
