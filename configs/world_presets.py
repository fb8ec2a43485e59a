"""Presets of the group `worlds`: a mixture of worlds, and hyperparameters of the agent that trains on it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..simcore.plugins import files
from .source import offered

OWN = Path(__file__).parent.resolve() / "worlds"


def world_presets() -> dict[str, Path]:
    """The file of every preset, by name: first flitgym's presets, then those of plugins."""
    return {
        path.stem: path for path in [*sorted(OWN.glob("*.yaml")), *(p for _, p in files("configs", "worlds/*.yaml"))]
    }


def parents_of(preset: Path) -> list[Path]:
    """The presets of this group that a preset extends, from its list `defaults`."""
    known = world_presets()
    return [known[name] for name in _content(preset).get("defaults") or [] if isinstance(name, str) and name in known]


def keys_of_agent(preset: Path) -> list[str]:
    """The hyperparameters that a preset and its parents set."""
    section = _content(preset).get("agent")
    keys = [key for parent in parents_of(preset) for key in keys_of_agent(parent)]
    return list(dict.fromkeys([*keys, *(map(str, section) if isinstance(section, Mapping) else ())]))


def _content(preset: Path) -> Mapping[str, Any]:
    with preset.open(encoding="utf-8") as file:
        content = yaml.safe_load(file)
    return content if isinstance(content, Mapping) else {}


def agents_with(keys: Iterable[str]) -> list[str]:
    """The registered agents that have all of these hyperparameters."""
    wanted = set(keys)
    return sorted(name for name, make in offered("agent").items() if wanted <= set(map(str, make())))


def of_other_agent(preset: str, key: str) -> str | None:
    """The message for a preset that sets a hyperparameter of another agent.

    Args:
        preset: Name of the preset.
        key: The hyperparameter, without `agent.`.

    Returns:
        The message; None if there is no such preset, or if it does not set the key.
    """
    path = world_presets().get(preset)
    keys = keys_of_agent(path) if path is not None else []
    if key not in keys:
        return None
    fitting = agents_with(keys)
    what = f"worlds={preset} sets {', '.join(f'agent.{own}' for own in keys)}, and the chosen agent has no agent.{key}"
    if not fitting:
        return f"{what}; no agent has all of them"
    return f"{what}; it is for {' or '.join(f'agent={name}' for name in fitting)}"
