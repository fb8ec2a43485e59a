"""Q-tables can be saved, loaded and frozen, and are refused by other networks."""

from pathlib import Path

import numpy as np
import pytest
from core_scenes import config, dragonfly, traffic
from flitgym.simcore import ConfigError, Simulation

BUSY = traffic("adversarial", 0.4)


def learned(**sections) -> Simulation:
    sim = Simulation(config("q_adaptive", BUSY, **sections))
    sim.run(6000)
    return sim


def test_save_and_load(tmp_path: Path) -> None:
    sim, path = learned(), tmp_path / "table.npz"
    sim.save_q_table(path)
    fresh = Simulation(config("q_adaptive", BUSY))
    assert (fresh.q_table != sim.q_table).any()
    fresh.load_q_table(path)
    np.testing.assert_array_equal(fresh.q_table, sim.q_table)
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]


@pytest.mark.parametrize(
    "topology", [dragonfly(2, 4, 2, 8), dragonfly(2, 4, 2, 9, arrangement="relative"), dragonfly(1, 4, 2, 9)]
)
def test_table_of_another_topology_is_refused(tmp_path: Path, topology: dict) -> None:
    learned().save_q_table(tmp_path / "table.npz")
    other = Simulation(config("q_adaptive", BUSY, topology=topology))
    before = other.q_table.copy()
    with pytest.raises(ConfigError, match=r"groups=9.*but this network is"):
        other.load_q_table(tmp_path / "table.npz")
    np.testing.assert_array_equal(other.q_table, before)


def test_table_of_another_routing_is_refused(tmp_path: Path) -> None:
    learned().save_q_table(tmp_path / "table.npz")
    with pytest.raises(ConfigError, match=r"q_adaptive.*q_routing"):
        Simulation(config("q_routing", BUSY)).load_q_table(tmp_path / "table.npz")
    with pytest.raises(ConfigError, match="Q-table"):
        Simulation(config("minimal", BUSY)).load_q_table(tmp_path / "table.npz")
    with pytest.raises(ConfigError, match="Q-table"):
        Simulation(config("minimal", BUSY)).save_q_table(tmp_path / "none.npz")
    assert Simulation(config("minimal")).q_table is None


def test_a_table_of_the_intact_network_outlives_failures(tmp_path: Path) -> None:
    """A loaded table is only updated by feedback when links fail and recover, and failed ports keep their entries."""
    path, torus = tmp_path / "table.npz", {"name": "torus", "sizes": [4.0, 4.0]}
    intact = Simulation(config("q_routing", traffic("uniform", 0.3), topology=torus))
    intact.run(3000)
    intact.save_q_table(path)
    events = {"events": "0-1@1000-9000", "seed": 7}
    sim = Simulation(config("q_routing", traffic("uniform", 0.3), topology=torus, failures=events))
    sim.load_q_table(path)
    np.testing.assert_array_equal(sim.q_table, intact.q_table)

    def changed_until(ns: float) -> np.ndarray:
        """[columns] whether an entry of router 0 has changed; column 0 is the port to router 1."""
        before = sim.q_table.copy()
        sim.run(sim.cycles(ns) - sim.now)
        return (sim.q_table != before)[0].any(axis=0)

    changed_until(999)
    assert not changed_until(1003).all(), "the table starts again when the link fails"
    changed_until(1600)  # the last packets on the link
    assert list(changed_until(8999)) == [False, True, True, True]
    assert not changed_until(9003).all(), "the table starts again when the link recovers"
    assert changed_until(16_000).all()
