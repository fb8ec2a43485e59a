"""The presets in `configs/<group>/*.yaml`, read without Hydra: the values of each preset and its first comment."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..simcore import _presets, registered

preset_files = cache(_presets.preset_files)


def comment_of(path: Path) -> str:
    """The comment at the top of a preset as one line; empty without a comment."""
    words = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words.append(line.lstrip("# ").strip())
    return " ".join(words)


@cache
def values_of(group: str, preset: str) -> dict[str, Any]:
    """The keys that a preset and the presets below it set, with the registered `name` of the component.

    A registered component without a file is a preset that sets only its name.
    """
    path = preset_files(group).get(preset)
    if path is None:
        return {"name": preset}
    content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    values: dict[str, Any] = {"name": preset}
    for base in content.pop("defaults", []):
        if isinstance(base, str) and base != "_self_":
            values |= values_of(group, base)
    return values | content


def preset_of(group: str, section: dict[str, Any]) -> str:
    """The preset that a resolved section of a configuration was made from; the component's name if none fits.

    A preset fits if the section has every value that the preset sets, and a network has the defaults of its other keys.
    The fitting preset with the most values wins.
    """
    fitting = {str(section["name"]): 1}
    own = registered(group).get(section["name"], {"params": {}})["params"] if group == "topology" else {}
    defaults = {key: spec["default"] for key, spec in own.items()}
    chosen = {**defaults, **section}
    for preset in preset_files(group):
        values = {**defaults, **values_of(group, preset)}
        # A resolver such as ${shipped_policy:dqn} cannot be compared with a value.
        if all("${" not in str(value) and chosen.get(key) == value for key, value in values.items()):
            fitting[preset] = len(values)
    return max(fitting, key=lambda preset: fitting[preset])
