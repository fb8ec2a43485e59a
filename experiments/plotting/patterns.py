"""The names of traffic patterns in figures. They come from the registered summaries, so a new pattern needs no entry.

A summary may end with the pattern's abbreviation in the papers, `(BC)`. In the abbreviation a parameter may stand for
its value, `(ADV+shift)`, or all forms may be listed, `(URBx, URBy, URBz)`. Each value of this parameter is a pattern.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...simcore import registered

_ABBREVIATION = re.compile(r"\(([A-Z][\w+-]*(?:, [A-Z][\w+-]*)*)\)$")


def pattern_of(row: Mapping[str, Any]) -> str:
    """The name of a row's traffic pattern: `uniform`, `adversarial1`, `hotspot, fraction=0.2`.

    It includes the parameter in the abbreviation, and parameters that differ from their defaults. Seeds of random
    patterns, such as `permutation_seed`, are left out.
    """
    name = str(row["traffic.name"])
    varied, words = _varied(name), name
    for key, default in _parameters(name).items():
        value = row.get(f"traffic.{key}")
        if value is None:
            value = default
        if key == varied:
            words = f"{name}{value}" if isinstance(value, int) else f"{name}_{value}"
        elif value != default and not key.endswith("_seed"):
            words += f", {key}={value}"
    return words


def title_of(pattern: str) -> str:
    """The title of a pattern from `pattern_of`: its abbreviation, or its name in words."""
    head, comma, rest = pattern.partition(",")
    name = max((known for known in registered("traffic") if head.startswith(known)), key=len, default=head)
    value, varied, forms = head[len(name) :].removeprefix("_"), _varied(name), _forms(name)
    if varied and value:
        forms = [form.replace(varied, value) for form in forms if varied in form or form.endswith(value)]
    elif varied or value:
        forms = []
    return (forms[0] if forms else head.replace("_", " ")) + comma + rest


@cache
def _parameters(name: str) -> dict[str, Any]:
    """The parameters that not all patterns have, with their defaults."""
    every = registered("traffic")
    if name not in every:  # the row comes from a core with another plugin
        return {}
    common = set.intersection(*(set(one["params"]) for one in every.values()))
    return {key: spec["default"] for key, spec in every[name]["params"].items() if key not in common}


@cache
def _forms(name: str) -> list[str]:
    found = _ABBREVIATION.search(registered("traffic").get(name, {"summary": ""})["summary"])
    return found[1].split(", ") if found else []


@cache
def _varied(name: str) -> str | None:
    """The parameter in the abbreviation, or the one whose values end its forms."""
    forms = _forms(name)
    for key, default in _parameters(name).items():
        if any(key in form for form in forms) or (
            len(forms) > 1 and any(form.endswith(str(default)) for form in forms)
        ):
            return key
    return None
