"""Flows: closed forms of completion times, the order of packets, files, and results of a run."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core_scenes import config, router, traffic
from flitgym.configs import compose
from flitgym.experiments.plotting.lines import blocks_of
from flitgym.experiments.results.rows import rows_below
from flitgym.experiments.running.one_run import simulated
from flitgym.experiments.simulate import summary
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore import ConfigError, Simulation

HEADER = "time_ns,source,destination,bytes"


def simulate(*words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The result of a run on 72 terminals, and its table of flows."""
    plain = ["topology=dragonfly_72", "routing=minimal", "traffic=flows", *words]
    result, tables, _ = simulated(compose(plain), no_report)
    return result, tables["flow_times"]


def listed(path: Path, *lines: str) -> str:
    path.write_text("\n".join([HEADER, *lines]))
    return f"traffic.file={path}"


def drawn(load: float, **more: Any) -> Simulation:
    """A simulation of drawn flows between the two terminals of each router, so no flow meets another in the network."""
    pairs = {"sources": list(range(0, 72, 2)), "destinations": list(range(1, 72, 2))}
    flows = traffic("flows", load, sizes="points", **pairs, **more)
    return Simulation(config(traffic=flows, router=router("input_queued")))


def test_a_single_flow_takes_the_time_of_its_path_and_of_its_flits(tmp_path: Path) -> None:
    """zero_load_test.cpp: local, global, local takes 391 cycles of 1.6 ns, a router alone 66, and a flit 20."""
    lines = [f"{16 * k},{s},{d},{size}" for k, (s, d, size) in enumerate([(2, 10, 1), (40, 41, 128)])]
    result, table = simulate(listed(tmp_path / "flows.csv", *lines, "8000,2,10,1000", "16000,2,10,129"))
    assert table["completion_ns"].tolist() == pytest.approx([625.6, 105.6, (391 + 7 * 20) * 1.6, (391 + 20) * 1.6])
    assert table["completion_ns"].tolist() == pytest.approx(table["ideal_ns"].tolist())
    assert table["packets"].tolist() == [1, 1, 8, 2]
    assert result["flows"]["slowdown_p99"] == pytest.approx(1.0)
    assert (result["flows"]["measured"], result["flows"]["unfinished"], result["offered_load"]) == (4, 0, None)


def test_queueing_of_flows_is_that_of_m_g_1() -> None:
    """First come, first served: Pollaczek and Khinchine. In turn: every flow is slowed down by 1 / (1 - load)."""
    sizes = {"point_bytes": [12_800.0, 12_800.1, 128_000.0], "point_shares": [0.8, 0.8, 1.0], "size_scale": 1.0}
    load, cycles = 0.6, 300_000
    # An atom of 100 flits (0.8), and 101 to 1,000 flits uniformly (0.2); a flit takes a cycle.
    mean, square = 0.8 * 100 + 0.2 * 550, 0.8 * 100**2 + 0.2 * (550**2 + 900**2 / 12)
    for order in ("message", "packet"):
        simulation = drawn(load, nic_order=order, **sizes)
        simulation.begin_window()
        simulation.run(cycles)
        table = simulation.flows()
        begun = (table["time_ns"] > 20_000) & (table["time_ns"] < cycles - 30_000)
        time, ideal = table["completion_ns"][begun], table["ideal_ns"][begun]
        if order == "message":
            assert (time - ideal).mean() == pytest.approx(load * square / mean / (2 * (1 - load)), rel=0.06)
        else:
            for few in (True, False):
                own = (table["bytes"][begun] <= 12_900) == few
                assert (time / ideal)[own].mean() == pytest.approx(1 / (1 - load), rel=0.06)
        # Terminals with odd numbers are silent. The packets of the window are as many as their deliveries.
        numbers = simulation.statistics()
        assert numbers["accepted_load"] == pytest.approx(load / 2, rel=0.02)
        assert numbers["packets_generated"] == pytest.approx(numbers["packets_delivered"], rel=0.02)


def test_drawn_flows_offer_the_load(tmp_path: Path) -> None:
    words = ("router=input_queued", "traffic.sizes=websearch", "traffic.load=0.4", "run.warmup_ns=5000")
    result, table = simulate(*words)
    flows = result["flows"]
    assert flows["measured"] == len(table["bytes"]) > 2000
    assert flows["unfinished"] == 0
    assert (result["offered_load"], result["warnings"]) == (0.4, {})
    assert result["accepted_load"] == pytest.approx(0.4, abs=3 * 0.4 / flows["equal_flows"] ** 0.5)
    assert flows["bytes_mean"] == pytest.approx(1711.25, rel=3 / flows["equal_flows"] ** 0.5)
    assert flows["late_share"] == flows["receiver_buffer_bytes_max"] == 0
    assert (table["completion_ns"] >= table["ideal_ns"] - 0.01).all()
    assert sum(flows["bin_flows"]) == flows["measured"]
    text = summary(result, tmp_path, True)
    assert "flows" in text
    assert f"{flows['bin_slowdown_p99'][0]:.2f}" in text
    # Little's law: the mean of the bytes in flight, whose increase over the run is what has not yet arrived.
    assert 0 < flows["bytes_in_flight_mean"] < flows["bytes_in_flight_max"]


@pytest.mark.parametrize("pattern", ["permutation", "incast senders=12"])
def test_patterns_of_flows(pattern: str) -> None:
    sizes = {"sizes": "points", "point_bytes": [2000.0], "point_shares": [1.0]}
    simulation = Simulation(config(traffic=traffic("flows", 0.3, pattern=pattern, **sizes)))
    simulation.run(100_000)
    table = simulation.flows()
    assert (table["bytes"] == 2000).all()
    assert (table["source"] != table["destination"]).all()
    if pattern == "permutation":
        assert len({*zip(table["source"], table["destination"], strict=True)}) == 72
    else:  # 12 senders begin together and have one receiver
        early = table["time_ns"] < 80_000
        events, count = np.unique(table["time_ns"][early], return_counts=True)
        assert (count == 12).all()
        assert len(events) > 30
        assert len({*zip(table["time_ns"][early], table["destination"][early], strict=True)}) == len(events)
        offered = 16 * 20 * early.sum() / 72 / (80_000 / 1.6)  # 16 flits of 20 cycles
        assert offered == pytest.approx(0.3, rel=3 / len(events) ** 0.5)


def test_packets_are_late_only_on_several_paths(tmp_path: Path) -> None:
    """A recorded file with classes gives the same flows as CSV and as Parquet, and spraying changes their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [(100 * k, k % 72, (k * 7 + 1) % 72, 4000, k % 2) for k in range(60)]
    (tmp_path / "a.csv").write_text("\n".join([f"{HEADER},class", *(",".join(map(str, row)) for row in rows)]))
    columns = zip([*HEADER.split(","), "class"], zip(*rows, strict=True), strict=True)
    pq.write_table(pa.table({name: list(own) for name, own in columns}), tmp_path / "b.parquet")
    (plain, table), (other, same) = (simulate(f"traffic.file={tmp_path / name}") for name in ("a.csv", "b.parquet"))
    assert plain["state_hash"] == other["state_hash"]
    assert all((table[key] == same[key]).all() for key in table)
    assert sorted(table["class"]) == [0] * 30 + [1] * 30
    assert table["late_packets"].sum() == 0
    sprayed, table = simulate(f"traffic.file={tmp_path / 'a.csv'}", "routing=valiant_router")
    assert sprayed["flows"]["late_share"] > 0.1
    assert (table["reorder_distance"] < table["packets"]).all()
    assert sprayed["flows"]["receiver_buffer_bytes_max"] == 128 * table["held_packets"].max() > 0


def test_agents_accrue_the_delay_of_flows(tmp_path: Path) -> None:
    """By Little's law it is the sum of all completion times, in packets of 128 bytes. A pickle holds the flows."""
    listed(tmp_path / "flows.csv", *(f"{300 * k},{k},{71 - k},{1000 * k + 5}" for k in range(30)))
    flows = {"name": "flows", "file": str(tmp_path / "flows.csv")}
    simulation = Simulation(config(routing="random", traffic=flows))
    simulation.run(4000)
    again = pickle.loads(pickle.dumps(simulation))
    for one in (simulation, again):
        while not one.workload_finished:
            one.run(1024)
    table = simulation.flows()
    assert simulation.accrued_delay_us() == pytest.approx(table["bytes"] / 128 @ table["completion_ns"] / 1000)
    assert len(table["bytes"]) == 30
    assert again.state_hash() == simulation.state_hash()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,1,72,8"], "line 2: there is no terminal '72'; terminals are numbered 0 to 71"),
        (["0,1,2,8", "5,2,3,-1"], "line 3: bytes '-1' is not a number of bytes from 1"),
        (["5,1,2,8", "4,2,3,8"], "line 3: the time 4 ns is before that of the flow above, 5 ns"),
        (["0,1,2,1.5"], "line 2: bytes '1.5' is not a whole number"),
        (["x,1,2,8"], "line 2: time_ns 'x' is not a time"),
        (["0,1,1,8"], "line 2: terminal '1' sends to itself"),
        (["0,1,2"], "line 2: 3 columns; the header has 4"),
        (["", "0,1,2,8", "  ", "0,1,99999999999999999999,8"], "line 5: there is no terminal '99999999999999999999'"),
        ([], "the file lists no flow"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "flows.csv"
    listed(path, *lines)
    with pytest.raises(ConfigError, match=f"{path}.*{message}"):
        Simulation(config(traffic={"name": "flows", "file": str(path)}))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["traffic.sizes=websearch", "run.drain=true"], "run.drain"),
        (["traffic.sizes=websearch", "run=steady"], "no steady state"),
        (["traffic.sizes=websearch", "traffic.injection=fixed_interval"], "injection: it has no effect on flows"),
        (["traffic.sizes=websearch", "traffic.pattern=incast senders=72"], "senders"),
        (["traffic.sizes=points", "traffic.point_bytes=[5,4]", "traffic.point_shares=[0.5,1]"], "point 2 is not above"),
        (["traffic.sizes=points"], "each size needs a share"),
    ],
)
def test_keys_without_an_effect_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        simulate(*[word if " " not in word else word.replace("=", "='", 1) + "'" for word in words])


def test_a_sweep_compares_the_slowdown_by_size(tmp_path: Path) -> None:
    from flitgym import sweep

    fixed = ["topology=dragonfly_72", "traffic=flows", "traffic.sizes=storage", "traffic.load=0.3"]
    sweep(fixed, routing=["minimal", "ugal_l"], results=tmp_path, study="flows", progress=False)
    rows, _, _ = rows_below(tmp_path / "flows")
    loads, sizes = blocks_of(rows)
    assert ("routing", "flows.slowdown_p99") in loads.panels
    assert sizes.panels == [("flow size (bytes)", "slowdown p50"), ("flow size (bytes)", "slowdown p99")]
    assert [line.style.label for line in sizes.lines] == ["minimal", "ugal_l"]
