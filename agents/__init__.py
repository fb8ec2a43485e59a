"""Agents that decide in the place of routers: one readable file per algorithm.

A file with a dataclass `Config`, whose field `name` is the file's name, and a class `Agent` is a choice of
`flitgym-train`. Those of RLlib are listed in rllib.py, so that Ray is imported only when one is chosen.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..simcore import ConfigError


def trainable() -> dict[str, tuple[type[Any], type[Any]]]:
    """Hyperparameters and class of every agent that `flitgym-train` can train, by name. Imports torch.

    Raises:
        ConfigError: torch is not installed.
    """
    found: dict[str, tuple[type[Any], type[Any]]] = {}
    try:
        for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
            if path.stem.startswith("rllib_"):
                continue
            module = importlib.import_module(f".{path.stem}", __package__)
            if hasattr(module, "Config") and hasattr(module, "Agent"):
                found[module.Config().name] = (module.Config, module.Agent)
            found |= getattr(module, "AGENTS", {})
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"agents learn with {error.name}, which is not installed: pip install 'flitgym[learn]'"
        ) from error
    return found
