"""Traffic classes in the commands: keys, results by class, the report, and files of flows."""

from pathlib import Path

import numpy as np
import pytest
from core_scenes import config
from flitgym.configs import compose, config_hash
from flitgym.experiments.report.over_time import by_class, delays
from flitgym.experiments.running.one_run import simulated
from flitgym.experiments.simulate import summary
from flitgym.experiments.terminal.progress import no_report
from flitgym.simcore import ConfigError, Simulation, registered

NETWORK = ["topology=dragonfly_72", "routing=par", "router=sc22"]
CLASSES = "router.classes={high: {priority: 1}, bulk: {share: 0.2, limit: 0.9}}"
PAIR = [*NETWORK, CLASSES, "workload=pair", "workload.scale=0.01", "workload.size_scale=0.1"]


def test_results_and_report_are_split_by_class(tmp_path: Path) -> None:
    config = compose([*PAIR, "workload.classes={control: high, fft3d: high, halo3d: bulk}"])
    result, _, simulation = simulated(config, no_report)
    classes, jobs = result["classes"], result["jobs"]
    assert sum(own["packets"] for own in classes.values()) == sum(job["packets"] for job in jobs.values())
    assert sum(own["accepted_load"] for own in classes.values()) == pytest.approx(result["accepted_load"])
    assert classes["high"]["packets"] > jobs["fft3d"]["packets"]  # also the control messages of halo3d
    # The accounts of the jobs and of the classes are sums of the same accounts.
    of_jobs, of_classes = simulation.blame(), simulation.blame(by_class=True)
    for key in ("flits", "wait_packet_ns", "stall_packet_ns"):
        axes = tuple(range(1, of_jobs[key].ndim))
        assert np.allclose(of_jobs[key].sum(axis=axes), of_classes[key].sum(axis=axes))
    assert result["class_blame"]["jobs"] == ["high", "bulk"]
    found = delays(by_class(result))
    assert found is not None
    assert found["jobs"] == ["high", "bulk"]
    assert "class bulk" in summary(result, tmp_path, True)
    again = Simulation(simulation.configuration())
    assert again.configuration() == simulation.configuration()


def test_classes_of_terminals() -> None:
    words = ["topology=dragonfly_72", "router=hpdc21", "routing=minimal", "traffic.load=0.3", "run.warmup_ns=2000"]
    high = "router.classes={high: {sources: 0.4}, bulk: {}}"
    result, _, _ = simulated(compose([*words, high, "run.measure_ns=20000"]), no_report)
    loads = [own["accepted_load"] for own in result["classes"].values()]
    assert sum(loads) == pytest.approx(result["accepted_load"])
    assert 0.2 < loads[0] / sum(loads) < 0.6


def test_classes_of_a_file_of_flows(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("time_ns,source,destination,bytes,class\n0,1,50,1280,0\n0,2,51,2560,1\n")
    words = ["topology=dragonfly_72", "routing=minimal", "traffic=flows", f"traffic.file={tmp_path / 'flows.csv'}"]
    result, _, _ = simulated(compose([*words, "router.classes={a: {}, b: {}}"]), no_report)
    assert [own["flits"] for own in result["classes"].values()] == [10, 20]
    (tmp_path / "flows.csv").write_text("time_ns,source,destination,bytes\n0,1,50,1280\n")
    result, _, _ = simulated(compose([*words, "router.classes={a: {}, b: {}}"]), no_report)
    assert [own["flits"] for own in result["classes"].values()] == [0, 10]
    (tmp_path / "flows.csv").write_text("time_ns,source,destination,bytes,class\n0,1,50,1280,0\n0,2,51,2560,1\n")
    with pytest.raises(ConfigError, match=r"flows\.csv, line 3: class '1' is not one of the 1 traffic classes"):
        simulated(compose([*words, "router.classes={a: {}}"]), no_report)


def test_a_share_holds_after_the_class_used_an_idle_link(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("time_ns,source,destination,bytes,class\n0,2,71,100000000,1\n20000,0,70,60000000,0\n")
    model = {"classes": {"high": {"priority": 1}, "bulk": {"share": 0.3}}}
    simulation = Simulation(config(traffic={"name": "flows", "file": str(path)}, router=model))
    simulation.run_workload(22_000)
    simulation.begin_window()
    simulation.run_workload(10_000)
    high, bulk = (own["flits"] for own in simulation.classes())
    assert bulk / (high + bulk) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["router.classes={a: 3}"], r"router\.classes\.a: 3 is not a mapping"),
        ([CLASSES, "router.vcs=4"], r"router\.vcs: 4 VCs are too few for routing\.par"),
    ],
)
def test_wrong_classes_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        simulated(compose([*NETWORK, *words]), no_report)


def test_classes_are_part_of_the_identity() -> None:
    plain, classes = compose(PAIR[4:]), compose([*PAIR[4:], CLASSES])
    assert config_hash(plain) != config_hash(classes)
    # The last class is the default, and the first rule that fits counts.
    turned = compose([*PAIR[4:], "router.classes={bulk: {share: 0.2, limit: 0.9}, high: {priority: 1}}"])
    assert config_hash(turned) != config_hash(classes)
    assert "classes" not in Simulation({"topology": "dragonfly_72", "routing": "minimal"}).configuration()["router"]
    assert set(registered("traffic_class")["traffic_class"]["params"]) == {"priority", "share", "limit", "sources"}
