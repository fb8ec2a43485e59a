"""Keys that have new names. An override with an old name still works, and stderr shows the new name."""

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from .source import offered

# By primary configuration: old name -> new name.
RENAMED: dict[str, dict[str, str]] = {
    "train": {
        "agent.begin": "agent.learning_starts",  # rllib_dqn
        "agent.epsilon_part": "agent.epsilon_fraction",  # dqn
        "agent.harm": "agent.harm_weight",  # policy_search
        "agent.least_spread": "agent.min_spread",  # policy_search
        "agent.others": "agent.other_packets",  # marginal_cost
        "agent.part": "agent.sample_fraction",  # marginal_cost
    },
    "regret": {"others": "other_packets", "part": "sample_fraction"},
}
_DEFAULT_AGENT = "dqn"  # of train.yaml

_OLD_OF_AGENT = {new.removeprefix("agent."): old.removeprefix("agent.") for old, new in RENAMED["train"].items()}


def with_new_keys(root: str, words: Iterable[str]) -> list[str]:
    """Overrides with the new names of their keys.

    Args:
        root: Name of the primary configuration.
        words: Overrides as they were typed.
    """
    given = list(words)
    new = new_keys(root, (_key(word) for word in given), given)
    return [word.replace(_key(word), new[_key(word)], 1) for word in given]


def new_keys(root: str, keys: Iterable[str], words: Iterable[str]) -> dict[str, str]:
    """The new name of each key. A key that was not renamed maps to itself.

    Args:
        root: Name of the primary configuration.
        keys: The keys.
        words: Overrides, which may choose an agent. A plugin's agent may have its own key with an old name.
    """
    names = {key: RENAMED.get(root, {}).get(key, key) for key in keys}
    for old, new in names.items():
        if old == new:
            continue
        if old.startswith("agent.") and old.removeprefix("agent.") in _keys_of_agents(words):
            names[old] = old
        else:
            _warn(old, new)
    return names


def with_old_keys(agent: Mapping[str, Any]) -> dict[str, Any]:
    """An agent's section with the old names of keys, for the hash of a training.

    So finished trainings keep their hash.
    """
    return {_OLD_OF_AGENT.get(key, key): value for key, value in agent.items()}


def _key(word: str) -> str:
    return word.lstrip("+~").partition("=")[0]


def _keys_of_agents(words: Iterable[str]) -> set[str]:
    chosen = [word.partition("=")[2] for word in words if _key(word) == "agent"] or [_DEFAULT_AGENT]
    makers = offered("agent")
    return {str(key) for name in chosen[-1].split(",") if name in makers for key in makers[name]()}


@cache  # once for each key
def _warn(old: str, new: str) -> None:
    print(f"{old} is now {new}; the old key still works", file=sys.stderr)
