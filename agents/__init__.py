"""Agents that make the routing decisions: one readable file per algorithm.

A file of this folder that has a dataclass `Config`, whose field `name` is the file's name, and a class `Agent` is a
choice of `flitgym train`. A plugin adds such files in its own folder `agents`.

    learning/    parts that algorithms share: rollouts, replay, advantages, bounds of hyperparameters, checkpoints
    networks/    the networks that learn
    policy/      files of policies, and policies whose weights are computed from given costs
    policies/    the policies that come with flitgym
    rllib/       PPO and DQN by RLlib; Ray is imported only when one of them is chosen
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..simcore import ConfigError
from ..simcore.plugins import Plugin, load, modules, refuse_taken


def trainable() -> dict[str, tuple[type[Any], type[Any]]]:
    """Hyperparameters and class of every agent that `flitgym train` can train, by name. Imports torch.

    Raises:
        ConfigError: torch is not installed; a plugin's agent cannot be imported, or has a name that is taken.
    """
    found: dict[str, tuple[type[Any], type[Any]]] = {}
    try:
        for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
            module = importlib.import_module(f".{path.stem}", __package__)
            if hasattr(module, "Config") and hasattr(module, "Agent"):
                found[module.Config().name] = (module.Config, module.Agent)
        found |= importlib.import_module(".rllib.agent", __package__).AGENTS
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"agents learn with {error.name}, which is not installed: pip install 'flitgym[learn]'"
        ) from error
    by: dict[str, Plugin] = {}
    for plugin, module_name in modules("agents"):
        module = load(plugin, module_name)
        if hasattr(module, "Config") and hasattr(module, "Agent"):
            name = module.Config().name
            if name in found:
                refuse_taken(plugin, f"agent '{name}' of {module_name}", by.get(name))
            found[name], by[name] = (module.Config, module.Agent), plugin
    return found


def plugin_of(agent: type[Any]) -> str:
    """The name of the plugin that an agent comes from, by its class; empty: flitgym's own."""
    return next((plugin.name for plugin, module in modules("agents") if module == agent.__module__), "")
