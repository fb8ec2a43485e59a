"""Nodes with several accelerators from the command line: every workload, results, and identities of earlier runs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.configs import compose, core_sections
from flitgym.experiments.results.rows import read_rows
from flitgym.simcore import ConfigError, Program, Simulation

GOAL = Path(__file__).parents[1] / "data" / "goal" / "tree.goal"
NODES = ("topology=dragonfly_72", "router=sc22", "workload.ranks_per_node=8", "workload.nics_per_node=2")
SMALL = ("workload.scale=0.01", "workload.size_scale=0.01")
WORKLOADS: dict[str, tuple[str, ...]] = {
    "pair": ("workload.target=halo3d", "workload.background=ur", *SMALL),
    "mixed": SMALL,
    "stencil27": ("workload.scale=0.01", "workload.phase=collective"),
    "goal": (f"workload.file={GOAL}",),
    "jobs": (
        "workload.jobs=[{motif: halo3d, ranks: 60, iterations: 1, bytes: 500},{motif: dl, ranks: 20, scale: 0.01}]",
    ),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_takes_nodes(name: str) -> None:
    config = compose([*NODES, f"workload={name}", *WORKLOADS[name]])
    sections = core_sections(config)
    assert sections["workload"]["ranks_per_node"] == 8
    simulation = Simulation(sections)
    whole: set[int] = set()
    for job in simulation.jobs():
        nodes, terminals = job["rank_node"], job["rank_terminal"]
        # Consecutive ranks fill a node, and four of them share a NIC.
        assert (nodes == np.repeat(nodes[::8], 8)[: job["ranks"]]).all()
        assert (terminals == 2 * nodes + np.arange(job["ranks"]) % 8 // 4).all()
        assert not whole & set(nodes)
        whole |= set(nodes.tolist())
    assert whole <= set(range(36))


def test_jobs_fill_nodes_not_terminals() -> None:
    # 72 terminals are 36 nodes with 288 ranks. Each half has 18 nodes with 144 ranks.
    jobs = core_sections(compose([*NODES, "workload=pair", "workload.target=ur", "workload.background=dl"]))
    assert [job["ranks"] for job in jobs["workload"]["jobs"]] == [144, 144]
    (job,) = core_sections(compose([*NODES, "workload=stencil27"]))["workload"]["jobs"]
    assert job["ranks"] > 72
    with pytest.raises(ConfigError, match=r"nics_per_node.*3 does not divide"):
        core_sections(compose([*NODES[:-1], "workload.nics_per_node=3", "workload=pair"]))


def test_results_count_bytes_within_and_between_nodes(command: Any, tmp_path: Path) -> None:
    done = command("simulate", *NODES, "workload=pair", "workload.placement=linear", *WORKLOADS["pair"])
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("results/*/*/result.json")
    result, ranks = json.loads(path.read_text()), read_rows(path.parent / "ranks.parquet")
    for number, (name, job) in enumerate(result["jobs"].items()):
        assert job["bytes_within_nodes"] + job["bytes_between_nodes"] == job["bytes"] == job["bytes_received"]
        assert job["bytes_within_nodes"] > 0
        # The flits carry the bytes between nodes, and headers.
        assert job["flits"] * 128 >= job["bytes_between_nodes"]
        own = [row for row in ranks if row["job"] == name]
        assert [row["node"] for row in own[:9]] == [18 * number] * 8 + [18 * number + 1]
        assert [row["terminal"] - 36 * number for row in own[:9]] == [0, 0, 0, 0, 1, 1, 1, 1, 2]


def test_a_ring_within_nodes_crosses_each_nic_once() -> None:
    ranks = np.arange(32)
    ring = Program.exchange(10_000 * np.roll(np.eye(32), 1, axis=1))
    sections = core_sections(compose([*NODES[:2], "routing=minimal"]))
    del sections["traffic"]
    workload = {"jobs": [{"name": "ring", "program": ring}], "ranks_per_node": 8, "nics_per_node": 2}
    simulation = Simulation({**sections, "workload": workload | {"placement": "random"}})
    simulation.begin_window()
    assert simulation.run_workload(1_000_000), simulation.waiting()
    (job,) = simulation.jobs()
    assert job["bytes_between_nodes"] == 4 * 10_000  # one of eight messages leaves its node
    assert job["bytes_within_nodes"] == 28 * 10_000
    ports = simulation.arrays()["node_ports"]
    assert (ports["bytes_sent"] == np.where(ranks % 8 == 7, 0, 10_000)).all()
    assert (ports["bytes_received"] == np.where(ranks % 8 == 0, 0, 10_000)).all()
