"""What traffic patterns are called: by the words with which each is registered, so that a new one needs none here.

A pattern's summary may end with its abbreviation in the papers, `(BC)`. In it a parameter may stand for its value,
`(ADV+shift)`, or every form be listed, `(URBx, URBy, URBz)`; such a parameter makes several patterns of one name.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...simcore import registered

_ABBREVIATION = re.compile(r"\(([A-Z][\w+-]*(?:, [A-Z][\w+-]*)*)\)$")


def pattern_of(row: Mapping[str, Any]) -> str:
    """The traffic pattern of a row as the figures name it: `uniform`, `adversarial1`, `hotspot, fraction=0.2`.

    Besides the parameter that its abbreviation has, those that differ from their defaults; which of several random
    patterns it was (`permutation_seed`) does not count.
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
    """What a figure or table calls a pattern, as `pattern_of` names it: by its abbreviation, else in words."""
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
    """The parameters that a pattern has and others have not, with their defaults."""
    every = registered("traffic")
    if name not in every:  # of a core that had another extension
        return {}
    common = set.intersection(*(set(one["params"]) for one in every.values()))
    return {key: spec["default"] for key, spec in every[name]["params"].items() if key not in common}


@cache
def _forms(name: str) -> list[str]:
    found = _ABBREVIATION.search(registered("traffic").get(name, {"summary": ""})["summary"])
    return found[1].split(", ") if found else []


@cache
def _varied(name: str) -> str | None:
    """The parameter that stands in the abbreviation, or whose values its forms end with."""
    forms = _forms(name)
    for key, default in _parameters(name).items():
        if any(key in form for form in forms) or (
            len(forms) > 1 and any(form.endswith(str(default)) for form in forms)
        ):
            return key
    return None
