"""What makes two runs the same run: their resolved configuration, and nothing else."""

import hashlib
import json
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

# Keys that say where or whether a run is stored, not what it computes.
_NOT_IDENTITY = {"overwrite"}
_SECTIONS = ("topology", "router", "routing", "traffic", "seed")


def core_sections(config: DictConfig) -> dict[str, Any]:
    """The part of the resolved configuration that the core takes: component sections and the seed."""
    return {key: _plain(config[key]) for key in _SECTIONS}


def config_hash(config: DictConfig) -> str:
    """Hash of everything that decides a run's numbers, 12 hexadecimal digits.

    A Q-table counts by its content: the same path with another table is another run.

    Raises:
        OSError: the Q-table file of `run.load_q_table` cannot be read.
    """
    run = {key: value for key, value in _plain(config.run).items() if key not in _NOT_IDENTITY}
    if run["load_q_table"] is not None:
        run["load_q_table"] = hashlib.sha256(Path(run["load_q_table"]).read_bytes()).hexdigest()
    identity = {**core_sections(config), "run": run}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def run_id(*, _root_: DictConfig) -> str:
    """The name of a run's directory: readable, stable, and different for different configurations."""
    topology, routing, traffic = (_root_[kind].name for kind in ("topology", "routing", "traffic"))
    return f"{topology}_{routing}_{traffic}_load{_root_.traffic.load:g}_seed{_root_.seed}_{config_hash(_root_)}"


def _plain(node: Any) -> Any:
    return OmegaConf.to_container(node, resolve=True, throw_on_missing=True) if OmegaConf.is_config(node) else node
