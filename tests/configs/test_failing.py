"""The section `failures`: its keys are the core's, and it changes a run's identity only with failures."""

from typing import Any

from flitgym.agents import trainable
from flitgym.configs import CONFIG_DIR, compose, config_hash, core_failures, core_sections
from flitgym.configs.composition import compose_root
from flitgym.configs.training import register_training, training_hash, variation, world_sections
from flitgym.simcore import Simulation, registered
from omegaconf import DictConfig, OmegaConf

SMALL = ("topology=dragonfly_72", "routing=minimal")


def training(*words: str) -> DictConfig:
    register_training(trainable())
    return compose_root("train", words)


def test_keys_are_the_core_s() -> None:
    core = registered("failures")["failures"]["params"]
    assert list(OmegaConf.load(CONFIG_DIR / "config.yaml").failures) == list(core)


def test_where_nothing_fails_a_run_is_the_one_it_was() -> None:
    config = compose(SMALL)
    assert "failures" not in core_sections(config)
    # A seed alone draws no failures.
    assert config_hash(compose([*SMALL, "failures.seed=7", "failures.links=[]"])) == config_hash(config)


def test_what_fails_makes_another_run() -> None:
    config = compose(SMALL)
    hashes = {config_hash(config)}
    forms: list[dict[str, Any]] = [
        {"links": 0.05},
        {"links": 0.05, "seed": 2},
        {"links": 3},
        {"links": ["0-1", "0-2"]},
        {"links": "0-1"},
        {"events": ["0.05@20000-60000"]},
        {"routers": 2},
        {"terminals": [0, 5]},
        {"terminals": 2},
    ]
    for failures in forms:
        config.failures.update({**dict.fromkeys(config.failures), **failures})
        hashes.add(config_hash(config))
        Simulation(core_sections(config))
    assert len(hashes) == len(forms) + 1
    train = training()
    other = train.copy()
    other.failures.links = 0.05
    drawn = train.copy()
    drawn.failures.seed = 3  # counts, since `vary` may draw failures
    assert len({training_hash(one) for one in (train, other, drawn)}) == 3


def test_what_the_core_takes() -> None:
    words = ["failures.links=[0-1,1-2,'2-3#1']", "failures.seed=4", "failures.events=[0.05@20000-60000]"]
    config = compose([*SMALL, *words])
    failures = {"links": ["0-1", "1-2", "2-3#1"], "seed": 4, "events": ["0.05@20000-60000"]}
    assert core_failures(config) == failures == core_sections(config)["failures"]
    gone = Simulation(core_sections(compose([*SMALL, "failures.terminals=[0,5]"])))
    assert gone.facts()["terminals"] == 70
    assert gone.terminals()["name"][:5] == ["1", "2", "3", "4", "6"]


def test_a_training_has_them_in_its_world() -> None:
    config = training("failures.links=2")
    assert world_sections(config)["failures"] == {"links": 2}
    assert "failures" not in world_sections(training())
    # Draws of `vary`.
    assert world_sections(training("failures.seed=3"))["failures"] == {"seed": 3}
    # The core knows the groups for the shifts of mixed traffic, on every topology.
    assert variation(training())["traffic.shift"] == [1, 2, 3, 4]
    triangle = ("topology=hyperx", "topology.widths=[4,3]", "topology.terminals_per_router=1")
    assert variation(training(*triangle))["traffic.shift"] == [1, 2]
