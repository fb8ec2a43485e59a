"""`flitgym list cost`: its counts against closed forms, and the recorded numbers of the documentation."""

import json
from pathlib import Path
from typing import Any

from conftest import Command
from flitgym.configs import compose, core_sections
from flitgym.experiments.evaluation.plan import policies_of
from flitgym.experiments.hardware.measure import cost_of, message_bytes, rows_of
from flitgym.simcore import Simulation

ROOT = Path(__file__).parents[2]
RUN = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.2", "run.warmup_ns=2000"]


def measured(entry: Any) -> dict[str, Any]:
    (policy,) = policies_of([entry])
    return cost_of(policy, RUN, 400)


def test_counts_of_par() -> None:
    """Every packet crosses groups. It decides at the source, and again after a minimal local hop.

    The minimal path to the next group begins at one of four routers, so a packet takes that hop with chance 3/4, less
    the packets that have taken the detour.
    """
    found = measured("par")
    assert found["candidates"] == 2
    assert 1 <= found["decisions_per_packet"] <= 1.8
    assert 2 < found["hops_per_packet"] < 6
    assert found["packet_bytes"] == 128
    rows = dict(rows_of([found]))
    assert rows["multiplications per decision"] == ["1"]
    assert rows["feedback per packet, bytes"] == ["0.0"]
    assert rows["inputs per decision"] == ["-"]


def test_minimal_routing_decides_nothing() -> None:
    rows = dict(rows_of([measured("minimal")]))
    assert rows["candidates per decision"] == ["-"]
    assert rows["decisions per packet"] == ["0.00"]
    assert rows["multiplications per decision"] == ["0"]


def test_feedback_of_q_adaptive() -> None:
    found = measured("q_adaptive")
    assert found["candidates"] > 2
    assert message_bytes(found["declared"]) == 5  # 4 bits of 16 rows, and a value of 32 bits
    assert dict(rows_of([found]))["feedback per packet, bytes"] == [f"{5 * found['hops_per_packet']:.1f}"]


def test_the_numbers_of_the_documentation_are_those_of_this_core() -> None:
    costs = json.loads((ROOT / "docs" / "hardware_cost.json").read_text())
    assert {"par", "q_adaptive", "flitgym_marginal"} <= {entry["policy"] for entry in costs}
    for entry in costs:
        simulation = Simulation(core_sections(compose(entry["words"])))
        assert simulation.hardware_cost(entry["candidates"]) == entry["declared"], entry["policy"]


def test_the_command(command: Command, tmp_path: Path) -> None:
    words = ["routing=[par,{name: eight, routing: dqn, params: {weights: 8bit}}]", "decisions=200"]
    done = command("list", "cost", *words, *RUN, "out=costs.json")
    assert done.returncode == 0, done.stderr
    assert "multiplications per decision" in done.stdout
    par, eight = json.loads((tmp_path / "costs.json").read_text())
    assert (par["policy"], eight["policy"]) == ("par", "eight")
    declared = eight["declared"]
    assert declared["weight_bytes"] == declared["weights"] + 5 * declared["biases"]
