"""The command `flitgym route`: its files, comparisons, and the reuse of tables."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command, results
from flitgym.configs.routes import TABLE, route_hash, route_id
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.running.plan import expand
from flitgym.experiments.running.sweep import run_all
from flitgym.experiments.table_quality.one_table import obtain
from flitgym.experiments.table_quality.sweep import compare
from flitgym.experiments.table_quality.text import remarks
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore import ChannelGraph, ConfigError, ForwardingTable

FIELDS = (
    *("edge_forwarding_index", "load_mean", "load_deviation", "hops_mean", "hops_max", "minimal", "layers", "acyclic"),
    *("ebb_mean", "ebb_standard_error", "route_cpu_seconds", "cycle", "load_mean_minimal", "channels_unused", "files"),
)
HYPERX = ("topology=hyperx", "topology.widths=[4,3]", "topology.terminals_per_router=2")
SMALL = (*HYPERX, "engine=min_hop", "patterns=50")
# Two hosts at each of three switches in a row. Ports count from 1.
CHAIN = """a,a_port,b,b_port,a_type,b_type
h0,1,s0,1,host,switch
h1,1,s0,2,host,switch
h2,1,s1,1,host,switch
h3,1,s1,2,host,switch
h4,1,s2,1,host,switch
h5,1,s2,2,host,switch
s0,3,s1,3,switch,switch
s1,4,s2,3,switch,switch
"""


@pytest.fixture
def chain(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "chain.csv").write_text(CHAIN)
    return "topology=graph", f"topology.file={tmp_path / 'chain.csv'}"


def make(folder: Path, *words: str, refusals: bool = False) -> tuple[dict[str, Any], bool]:
    """The result of the command in `folder`."""
    return obtain(TABLE.resolved(words), folder, no_report, keep_refusals=refusals)


def test_one_table(command: Command, tmp_path: Path) -> None:
    done = command("route", *SMALL)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    (result,) = results(tmp_path)
    assert set(FIELDS) <= set(result)
    graph = ChannelGraph({"name": "hyperx", "widths": [4, 3], "terminals_per_router": 2})
    table = ForwardingTable.route(graph, "min_hop")
    quality, bisection = table.quality(), table.effective_bisection(50, 1)
    assert result["edge_forwarding_index"] == quality.edge_forwarding_index
    assert result["load_deviation"] == pytest.approx(quality.load_deviation)
    assert result["ebb_mean"] == pytest.approx(bisection.mean)
    assert result["ebb_standard_error"] == pytest.approx(bisection.standard_error)
    assert result["route_cpu_seconds"] > 0
    assert result["acyclic"] == (result["cycle"] == "")
    (folder,) = tmp_path.glob("results/routes/*")
    assert set(result["files"].values()) | {"result.json"} == {path.name for path in folder.iterdir()}
    np.testing.assert_array_equal(ForwardingTable.load(folder / "table.npz", graph).port, table.port)
    np.testing.assert_array_equal(ForwardingTable.load(folder / "lfts.dump", graph).port, table.port)
    loads = read_rows(folder / "loads.parquet")
    assert [row["load"] for row in loads if row["kind"] == "channel"] == quality.loads["channel"].tolist()
    assert [row["bandwidth"] for row in read_rows(folder / "patterns.parquet")] == bisection.values.tolist()
    assert f"{quality.edge_forwarding_index:g}" in done.stdout
    assert (folder / "loads.png").stat().st_size > 10_000
    # The same command only reads the table, unless the table is damaged.
    assert make(folder, *SMALL) == (result, False)
    (folder / "table.npz").write_bytes(b"")
    again, made_now = make(folder, *SMALL)
    assert made_now
    assert again["edge_forwarding_index"] == result["edge_forwarding_index"]
    # A table from a file has the same quality.
    for name in ("table.npz", "lfts.dump"):
        other, _ = make(tmp_path / name, *HYPERX, f"file={folder / name}", "patterns=50")
        assert other["route_cpu_seconds"] is None
        for key in ("edge_forwarding_index", "load_deviation", "ebb_mean", "cycle", "layers"):
            assert other[key] == result[key]
    with pytest.raises(ConfigError, match="another network"):
        make(tmp_path / "other", "topology=hyperx_64", f"file={folder / 'table.npz'}")
    assert not (tmp_path / "other").exists()


def test_the_numbers_of_a_chain_match_hand_computed_values(chain: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("source,destination,weight\nh0,h2,1\nh1,h4,2\nh2,h4,1\nh5,h4,1\n")
    result, _ = make(tmp_path / "run", *chain, "engine=min_hop", f"flows={tmp_path / 'flows.csv'}", "patterns=20")
    # Each of the four channels separates two hosts from four.
    assert result["edge_forwarding_index"] == 8
    assert (result["load_mean"], result["load_deviation"], result["channels_unused"]) == (8, 0, 0)
    assert result["hops_mean"] == pytest.approx(32 / 30)
    assert (result["hops_max"], result["minimal"], result["acyclic"], result["layers"]) == (2, True, True, 1)
    flows = result["flows"]
    assert (flows["count"], flows["congestion_max"], flows["endpoint_congestion_max"]) == (4, 3, 4)
    # Weights divide the bandwidth: 1/3, 2/3 and 1/3 on the shared cables. The flow from h5 stays at its switch.
    assert flows["bandwidth_mean"] == pytest.approx((1 / 3 * 1 + 2 / 3 * 2 + 1 / 3 * 1 + 1 * 1) / 5)
    assert "4 flows: congestion" in "\n".join(remarks(result))
    # No patterns, and a demand with only one pair.
    (tmp_path / "demand.csv").write_text("source,destination\nh0,h5\n")
    words = (*chain, "engine=min_hop", f"demand={tmp_path / 'demand.csv'}", "patterns=0", "dump=never")
    alone, _ = make(tmp_path / "alone", *words)
    under = alone["under_demand"]
    assert (under["edge_forwarding_index"], under["hops_mean"], under["channels_unused"]) == (1, 2, 2)
    assert alone["routes"] == 6 * 5  # the other numbers cover all pairs, as without a demand
    assert (alone["ebb_mean"], alone["ebb_patterns"]) == (None, 0)
    assert "dump" not in alone["files"]
    # An engine that balances takes the demand into account.
    (tmp_path / "square.csv").write_text("a,b,a_type\ng,s,host\nh,t,host\ns,x,\ns,y,\nx,t,\ny,t,\ni,t,host\n")
    square = ("topology=graph", f"topology.file={tmp_path / 'square.csv'}", "engine=sssp", "patterns=0")
    (tmp_path / "two.csv").write_text("source,destination\ng,h\ng,i\n")
    balanced, _ = make(tmp_path / "balanced", *square, f"demand={tmp_path / 'two.csv'}")
    assert balanced["under_demand"]["edge_forwarding_index"] == 1


def test_sweep_compares_engines(command: Command, chain: tuple[str, ...], tmp_path: Path) -> None:
    done = command("route", *chain, "engine=min_hop,up_down,ftree", "patterns=20", "-m")
    assert done.returncode == 0, done.stderr
    assert len(results(tmp_path)) == 3
    rows = read_rows(tmp_path / "results" / "routes" / "rows.parquet")
    assert [row["edge_forwarding_index"] for row in rows if row["routed"]] == [8, 8]
    assert all(len(row["patterns.bandwidth"]) == 20 for row in rows if row["routed"])
    # Each table has a row; the note explains why the other engine makes no table.
    assert done.stdout.count("6 terminals, 3 switches, 4 channels") == 1
    (refused,) = (row for row in rows if not row["routed"])
    assert done.stdout.count(refused["note"]) == 2
    assert (tmp_path / "results" / "routes" / "loads.png").exists()


def test_a_sweep_shows_only_its_own_tables(
    tmp_path: Path, chain: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in {"one": (*chain, "failures.routers=[s2]"), "two": chain, "three": HYPERX}.items():
        make(tmp_path / name, *words, "engine=min_hop", "patterns=20", refusals=True)
    assert compare(tmp_path, [tmp_path / "two", tmp_path / "one", tmp_path / "nowhere"])
    shown = capsys.readouterr().out
    assert shown.index("6 terminals, 3 switches, 4 channels") < shown.index("4 terminals, 3 switches, 2 channels")
    assert "24 terminals" not in shown
    assert len(read_rows(tmp_path / "rows.parquet")) == 3
    assert not compare(tmp_path, [])


def test_identity_follows_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.csv", CHAIN), ("b.csv", CHAIN), ("c.csv", CHAIN.replace("h5", "h6"))):
        (tmp_path / name).write_text(text)

    def identity(*words: str) -> str:
        return route_hash(TABLE.compose(["topology=graph", "engine=min_hop", *words]))

    assert identity("topology.file=a.csv") == identity("topology.file=b.csv", "overwrite=true", "study=other")
    assert identity("topology.file=a.csv") != identity("topology.file=c.csv")
    assert identity("topology.file=a.csv") != identity("topology.file=a.csv", "patterns=7")
    assert re.fullmatch(
        r"a_min_hop_[0-9a-f]{12}",
        route_id(_root_=TABLE.compose(["topology=graph", "engine=min_hop", "topology.file=a.csv"])),
    )


@pytest.mark.deep
def test_figures_may_have_tables_among_their_runs(tmp_path: Path) -> None:
    block = {
        "command": "route",
        "overrides": [*HYPERX, "patterns=20"],
        "sweep": {"engine": ["min_hop"], "seed": [1, 2]},
    }
    runs = expand(["router=sc22"], [block], tmp_path)
    made = run_all(runs, "tables", workers=1)
    assert [result["ebb_patterns"] for result in made] == [20, 20]
    assert made[0]["edge_forwarding_index"] == made[1]["edge_forwarding_index"]
    assert made[0]["ebb_mean"] != made[1]["ebb_mean"]
    stamps = [(run.directory / "result.json").stat().st_mtime_ns for run in runs]
    run_all(runs, "tables", workers=1)
    assert [(run.directory / "result.json").stat().st_mtime_ns for run in runs] == stamps
