"""Agents that decide in the place of routers: one readable file per algorithm.

A file with a dataclass `Config`, whose field `name` is the file's name, and a class `Agent` is a choice of
`flitgym-train`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from ..simcore import ConfigError


def trainable() -> dict[str, ModuleType]:
    """Every agent that `flitgym-train` can train, by name. Imports torch.

    Raises:
        ConfigError: torch is not installed.
    """
    try:
        modules = [
            importlib.import_module(f".{path.stem}", __package__)
            for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
        ]
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"agents learn with {error.name}, which is not installed: pip install 'flitgym[learn]'"
        ) from error
    return {
        module.Config().name: module for module in modules if hasattr(module, "Config") and hasattr(module, "Agent")
    }
