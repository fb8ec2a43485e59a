"""`flitgym record`: its rows against a run by hand, the file, and its errors."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command
from flitgym.configs import compose, core_sections
from flitgym.env.experience.dataset import COLUMNS, Dataset
from flitgym.experiments.recording.run import record
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import NO_DECISION, Simulation

RUN = ["topology=dragonfly_72", "traffic=adversarial", "traffic.load=0.3", "run.warmup_ns=2000"]
KEYS = ["record.decisions=500", "record.dir=data"]


def dataset(routing: str = "par", **given: Any) -> Dataset:
    return record(compose([*RUN, f"routing={routing}"]), {"decisions": 500, **given})


@pytest.fixture(scope="module")
def of_par() -> Dataset:
    return dataset()


@pytest.mark.parametrize("routing", ["par", "dqn"])
def test_the_rows_are_those_of_a_run_in_one_piece(routing: str) -> None:
    """All decisions from the first one after the warm-up on, with the rewards that the run itself files."""
    data = dataset(routing)
    sections = core_sections(compose([*RUN, f"routing={routing}"]))
    if routing == "par":
        sections["record"] = {"capacity": 1 << 16}
    else:
        sections["routing"]["record"] = 1 << 16
    simulation = Simulation(sections)
    simulation.run_ns(2000)
    first = simulation.decision_count
    simulation.run_ns(20_000)
    rows = {name: column[: simulation.transition_count] for name, column in simulation.transitions().items()}
    order = np.argsort(rows["decision"])
    order = order[np.isin(rows["decision"][order], np.arange(first, first + 500))]
    assert len(order) == len(data) == 500
    for name in COLUMNS:
        np.testing.assert_array_equal(rows[name][order], data.rows[name], name)
    assert (data.rows["decision"] == np.arange(first, first + 500)).all()


def test_all_decisions_of_a_workload_can_be_recorded() -> None:
    """Also if the last one ends with the jobs."""
    words = ["topology=dragonfly_72", "routing=par", "workload=pair", "workload.target=stencil5d"]
    config = compose(
        [*words, "workload.target_params={ranks: 8, iterations: 1, bytes: 2000}", "workload.background=none"]
    )
    with pytest.raises(CommandError, match="decisions have a reward") as caught:
        record(config, {"decisions": 10_000_000})
    found = re.match(r"only ([\d,]+) of", str(caught.value))
    assert found
    count = int(found[1].replace(",", ""))
    assert count > 100
    assert len(record(config, {"decisions": count})) == count


def test_a_file_gives_back_the_rows(tmp_path: Path, of_par: Dataset) -> None:
    of_par.save(tmp_path / "a.parquet")
    of_par.save(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    again = Dataset.load(tmp_path / "a.parquet")
    assert again.about == of_par.about
    for name in COLUMNS:
        np.testing.assert_array_equal(again.rows[name], of_par.rows[name], name)
        assert again.rows[name].dtype == of_par.rows[name].dtype
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["next_observation"].null_count == of_par.rows["done"].sum() > 100
    # pyarrow before version 26 cannot read null in lists of fixed length.
    assert not any(pa.types.is_fixed_size_list(table[name].type) and table[name].null_count for name in COLUMNS)


def test_episodes_are_packets(of_par: Dataset) -> None:
    chains = list(of_par.episodes())
    rows = of_par.rows
    assert sorted(np.concatenate(chains)) == list(range(500))
    assert {len(chain) for chain in chains} == {1, 2}
    for chain in chains:
        assert (rows["next_decision"][chain[:-1]] == rows["decision"][chain[1:]]).all()
        np.testing.assert_array_equal(rows["next_observation"][chain[:-1]], rows["observation"][chain[1:]])
        if rows["done"][chain[-1]]:
            assert rows["next_decision"][chain[-1]] == NO_DECISION


def test_the_description(of_par: Dataset) -> None:
    about = of_par.about
    assert (about["routing"], about["relation"], about["topology"], about["seed"]) == ("par", "par", "dragonfly", 1)
    assert about["width"] == len(about["general"]) + 8 * len(about["per_slot"])
    assert Simulation(about["config"]).seam()["width"] == about["width"]
    assert dataset("dqn").about["relation"] == "widest"
    json.dumps(about)


def test_the_command(command: Command, tmp_path: Path) -> None:
    words = [*RUN, "routing=par", *KEYS]
    done = command("record", *words)
    path = tmp_path / "data" / "transitions.parquet"
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("data/transitions.parquet: 500 decisions of ")
    assert len(Dataset.load(path)) == 500
    bytes_before = path.read_bytes()
    assert command("record", *words).stdout == "data/transitions.parquet: finished before\n"
    other = command("record", *words, "record.decisions=400")
    assert other.returncode == 2
    assert "holds another record (flitgym record topology=dragonfly_72" in other.stderr
    assert "record.overwrite=true" in other.stderr
    assert path.read_bytes() == bytes_before
    assert command("record", *words, "record.decisions=400", "record.overwrite=true").returncode == 0
    assert len(Dataset.load(path)) == 400


def test_a_policy_records_the_observation_that_it_sees(command: Command, tmp_path: Path) -> None:
    done = command("record", *RUN, "routing=dqn", "record.decisions=50", "record.dir=seen")
    assert done.returncode == 0, done.stderr
    config = core_sections(compose([*RUN, "routing=dqn"]))
    about = Dataset.load(tmp_path / "seen" / "transitions.parquet").about
    assert about["observation"] == Simulation(config).seam()["observation"]
    assert "did you mean 'decisions'" in command("record", *RUN, "record.decision=50").stderr
