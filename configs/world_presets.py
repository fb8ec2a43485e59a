"""Presets of the group `worlds`: a mixture of worlds, and what it sets of the agent that is trained on it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..simcore.plugins import files
from .source import offered

OWN = Path(__file__).parent.resolve() / "worlds"


def world_presets() -> dict[str, Path]:
    """The file of every preset by name, those of plugins behind flitgym's own."""
    return {
        path.stem: path for path in [*sorted(OWN.glob("*.yaml")), *(p for _, p in files("configs", "worlds/*.yaml"))]
    }


def parents_of(preset: Path) -> list[Path]:
    """The presets of this group that one adds to, by its list `defaults`; whatever else stands there is Hydra's."""
    known = world_presets()
    return [known[name] for name in _content(preset).get("defaults") or [] if isinstance(name, str) and name in known]


def keys_of_agent(preset: Path) -> list[str]:
    """What a preset sets of `agent`, and those that it adds to."""
    section = _content(preset).get("agent")
    keys = [key for parent in parents_of(preset) for key in keys_of_agent(parent)]
    return list(dict.fromkeys([*keys, *(map(str, section) if isinstance(section, Mapping) else ())]))


def _content(preset: Path) -> Mapping[str, Any]:
    with preset.open(encoding="utf-8") as file:
        content = yaml.safe_load(file)
    return content if isinstance(content, Mapping) else {}


def agents_with(keys: Iterable[str]) -> list[str]:
    """The agents that have all of these hyperparameters, of those that `register_training` was told of."""
    wanted = set(keys)
    return sorted(name for name, make in offered("agent").items() if wanted <= set(map(str, make())))


def of_other_agent(preset: str, key: str) -> str | None:
    """What is wrong where a preset sets a hyperparameter that the chosen agent has not.

    Args:
        preset: Name of the preset.
        key: The hyperparameter, without `agent.`.

    Returns:
        The message; None where there is no such preset, or it does not set the key.
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
