import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flitgym.agents import trainable
from flitgym.configs import compose, config_hash
from flitgym.configs.composition import compose_root
from flitgym.configs.policies import shipped_policy
from flitgym.configs.training import register_training, training_command, training_hash
from flitgym.experiments.training.result import trained_on
from flitgym.simcore import ConfigError, Simulation
from flitgym.simcore._policy_file import load_policy, save_policy, without_provenance
from omegaconf import OmegaConf

KIND = {"network": "slots", "slots": 4, "observation": "progress+path", "topology": "dragonfly"}


def saved(path: Path, weight: float = 1.0, **provenance: str) -> str:
    layers = [(np.full((1, 9), weight, np.float32), np.zeros(1, np.float32))]
    save_policy(path, layers, **KIND, provenance=provenance)
    return str(path)


def test_what_trained_a_policy_is_in_its_file_and_no_part_of_what_it_plays(tmp_path: Path) -> None:
    plain = saved(tmp_path / "plain.safetensors")
    told = saved(tmp_path / "told.safetensors", trained_by="flitgym train 'vary={a: \"é\\\\\"}'\n", version="0.1.0+x")
    other = saved(tmp_path / "other.safetensors", 2.0, version="0.1.0+x")
    _, metadata = load_policy(told)
    assert metadata["version"] == "0.1.0+x"
    assert metadata["trained_by"].encode().decode("unicode_escape") == "flitgym train 'vary={a: \"é\\\\\"}'\n"
    assert without_provenance(Path(told).read_bytes()) == Path(plain).read_bytes()
    # The core reads it, and the run is the same as without provenance.
    configs = [
        compose(["topology=dragonfly_72", "routing=policy", f"routing.path={path}"]) for path in (plain, told, other)
    ]
    assert config_hash(configs[0]) == config_hash(configs[1]) != config_hash(configs[2])
    hashes = set()
    for path in (plain, told):
        routing = {"name": "policy", "path": path}
        simulation = Simulation({"topology": "dragonfly", "routing": routing, "traffic": "uniform", "seed": 1})
        simulation.run(500)
        hashes.add(simulation.state_hash())
    assert len(hashes) == 1


@pytest.mark.parametrize("name", ["dqn_dragonfly", "search_jobs", "dqn", "dqn_source", "flitgym", "flitgym_marginal"])
def test_policies_that_come_with_flitgym_say_what_trained_them(name: str) -> None:
    register_training(trainable())
    _, metadata = load_policy(shipped_policy(name))
    program, verb, *words = shlex.split(metadata["trained_by"])
    assert (program, verb) == ("flitgym", "train")
    assert training_command(words) == metadata["trained_by"]  # without keys that do not count
    config = compose_root("train", words)  # every key and value exists
    hyperparameters, agent = trainable()[config.agent.name]
    settings: Any = OmegaConf.to_container(config.agent, resolve=True)
    # The named training makes policies of this kind, on these networks, and has the recorded hash if there is one.
    made = {
        "relation": "widest",
        "slots_by": "random",
        "allocation": "greedy",
        "decisions": "router",
        **agent.routing(hyperparameters(**settings)),
    }
    for key in ("network", "slots", "observation", "relation", "slots_by", "allocation", "decisions"):
        assert metadata[key] == str(made[key]), key
    assert metadata["topology"] == trained_on(config)
    assert metadata.get("training_hash", training_hash(config)) == training_hash(config)


def test_a_base_of_a_search_counts_by_what_it_does(tmp_path: Path) -> None:
    register_training(trainable())
    (tmp_path / "moved").mkdir()
    paths = [
        saved(tmp_path / "a.safetensors"),
        saved(tmp_path / "moved" / "a.safetensors", trained_by="flitgym train"),
        saved(tmp_path / "b.safetensors", 2.0),
    ]
    search = ["agent=policy_search"]
    one, same, other = (training_hash(compose_root("train", [*search, f"agent.base={path}"])) for path in paths)
    assert one == same != other
    alone = training_hash(compose_root("train", search))
    assert alone not in (one, other)
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(Path(shipped_policy("dqn")).read_bytes())
    shipped, copied = (training_hash(compose_root("train", [*search, f"agent.base={base}"])) for base in ("dqn", copy))
    assert shipped == copied
    assert shipped not in (one, other, alone)
    with pytest.raises(ConfigError, match=r"agent\.base: unknown policy 'dqnn'; did you mean 'dqn'"):
        training_hash(compose_root("train", [*search, "agent.base=dqnn"]))
