"""The configuration of `flitgym train`: its types, the draws of each episode, and the identity of a training."""

import shlex
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..simcore import ConfigError, Simulation
from ..simcore._policy_file import without_provenance
from .identity import core_sections, digest, plain_of, with_hashed_files, without_empty
from .jobs import file_word, has_workload, workload_identity
from .policies import policy_path
from .schema import node_of, offer_root
from .source import offer
from .traces import file_hash

# Keys that do not change the policy.
_NOT_IDENTITY = {"overwrite", "track", "study", "hydra", "checkpoint_every", "evaluation"}


def register_training(agents: Mapping[str, tuple[type[Any], type[Any]]]) -> None:
    """Offer the root and every agent's hyperparameters to Hydra; safe to repeat."""
    offer_root("training", "train")
    for name, (hyperparameters, _) in agents.items():
        offer(f"agent/{name}", partial(node_of, hyperparameters))


def world_sections(config: DictConfig) -> dict[str, Any]:
    """The sections of a `World`: topology, router, failures if there are any, and traffic or workload."""
    sections = core_sections({"routing": {"name": "policy"}, **plain_of(config)})  # which the agent's routing replaces
    return {key: sections[key] for key in ("topology", "router", "failures", "traffic", "workload") if key in sections}


def variation(config: DictConfig) -> dict[str, Any]:
    """The draws of each episode: `vary`, or by default loads and mixtures."""
    if config.vary is not None:
        return _mapping(config, "vary", "vary={traffic.load: {low: 0.1, high: 0.5}}")
    if has_workload(config):
        return {}
    drawn: dict[str, Any] = {"traffic.load": {"low": 0.1, "high": 0.8}}
    if config.traffic.name == "mixed":
        drawn["traffic.adversarial_part"] = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0]
        # Only the core knows the groups of a topology, e.g. the groups of a Dragonfly or the planes of a HyperX.
        facts = Simulation({**world_sections(config), "routing": "minimal", "traffic": "uniform"}).facts()
        drawn["traffic.shift"] = list(range(1, min(4, int(facts["groups"]) - 1) + 1))
    return drawn


def mixture(config: DictConfig) -> dict[str, Any] | None:
    """The worlds of a training by name, as `Mixture.composed` takes them; None = the world of the configuration."""
    if config.worlds is None:
        return None
    if config.vary is not None:
        raise ConfigError("vary: each world has its own; set worlds.<name>.vary")
    worlds = _mapping(config, "worlds", "worlds=universal, or worlds={a: {overrides: topology=torus_512}}")
    for world in worlds.values():
        if isinstance(world.get("overrides"), str):  # as on the command line
            world["overrides"] = shlex.split(world["overrides"])
    return {name: world for name, world in worlds.items() if world.get("share") != 0}


def _mapping(config: DictConfig, key: str, example: str) -> dict[str, Any]:
    given: Any = plain_of(config[key])
    if not isinstance(given, dict):
        raise ConfigError(f"{key}: {config[key]!r} is not a mapping; e.g. {example}")
    return given


def training_hash(config: DictConfig) -> str:
    """Hash of everything that determines the policy, 12 hexadecimal digits."""
    identity = {key: value for key, value in plain_of(config).items() if key not in _NOT_IDENTITY}
    identity["worlds"] = mixture(config)
    identity["router"] = without_empty(identity["router"])
    agent = identity["agent"]
    agent.pop("address", None)  # of the cluster
    if agent.get("base"):  # of policy_search
        agent["base"] = file_hash("agent.base", policy_path("agent.base", agent["base"]), without_provenance)
    if agent.get("dataset"):
        agent["dataset"] = file_hash("agent.dataset", agent["dataset"])
    for section in ("topology", "traffic"):
        identity[section] = with_hashed_files(section, identity[section])
    if has_workload(config):
        identity["workload"] = workload_identity(identity["workload"])
    return digest(identity)


def training_command(words: Iterable[str]) -> str:
    """The command that trains the same policy.

    Args:
        words: Overrides as they were typed; those that do not change the policy are left out.
    """
    keys = {word: word.lstrip("+~").partition("=")[0] for word in words}
    kept = [word for word, key in keys.items() if key.partition(".")[0] not in _NOT_IDENTITY and key != "agent.address"]
    return shlex.join(["flitgym", "train", *sorted(kept, key=lambda word: keys[word])])


def train_id(*, _root_: DictConfig) -> str:
    """The name of a training's directory."""
    plain = {key: _root_[key] for key in _root_ if key != "hydra"}
    where = f"{_root_.topology.name}_{_root_.workload.name if has_workload(_root_) else _root_.traffic.name}"
    if _root_.worlds is not None:
        where = f"{len(mixture(_root_) or ())}_worlds"
    what, identity = file_word(f"{_root_.agent.name}_{where}", 120), training_hash(OmegaConf.create(plain))
    return f"{what}_seed{_root_.seed}_{identity}"


# On import, since a sweep's worker processes only import this module.
OmegaConf.register_new_resolver("train_id", train_id, replace=True)
