"""Equal configurations have equal hashes, and every change of a number gives another hash."""

from pathlib import Path

import pytest
from flitgym.configs import compose, config_hash, run_id


def test_equal_configurations_have_equal_hashes() -> None:
    assert config_hash(compose(["traffic.load=0.3"])) == config_hash(compose(["traffic.load=0.30"]))


@pytest.mark.parametrize(
    "override", ["seed=2", "traffic.load=0.31", "routing.epsilon=0.01", "run.measure_ns=1", "router=sc22"]
)
def test_keys_that_change_results_change_the_hash(override: str) -> None:
    assert config_hash(compose([override])) != config_hash(compose())


@pytest.mark.parametrize("override", ["run.overwrite=true", "study=other"])
def test_keys_of_output_do_not_change_the_hash(override: str) -> None:
    assert config_hash(compose([override])) == config_hash(compose())


def test_a_q_table_is_identified_by_its_content(tmp_path: Path) -> None:
    table = tmp_path / "table"
    hashes = set()
    for content in (b"one", b"two"):
        table.write_bytes(content)
        hashes.add(config_hash(compose([f"run.load_q_table={table}"])))
    assert len(hashes) == 2


def test_run_id_is_readable() -> None:
    config = compose(["routing=par", "traffic=adversarial", "traffic.load=0.4", "seed=7"])
    assert run_id(_root_=config).startswith("dragonfly_par_adversarial_load0.4_seed7_")
