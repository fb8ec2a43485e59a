"""Paths of policies: the policies that come with flitgym by name, others by path."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..simcore import ConfigError
from ..simcore._policy_file import load_policy
from ..simcore._words import unknown

POLICY_SUFFIX = ".safetensors"
_SHIPPED = Path(__file__).resolve().parent.parent / "agents" / "policies"


def shipped_policy(name: str) -> str:
    """The path of a shipped policy."""
    return str(_SHIPPED / f"{name}{POLICY_SUFFIX}")


def shipped_policies() -> list[str]:
    """The names of the shipped policies."""
    return sorted(path.stem for path in _SHIPPED.glob(f"*{POLICY_SUFFIX}"))


def policy_path(key: str, given: str) -> str:
    """The path of a policy's file, from the name of a shipped policy or a path; `key` is for messages."""
    names = shipped_policies()
    if given in names:
        return shipped_policy(given)
    if Path(given).is_file():
        return given
    if Path(given).suffix or Path(given).name != given:
        raise ConfigError(f"{key}: there is no file {given}; policies that come with flitgym: {', '.join(names)}")
    raise ConfigError(unknown(key, given, names, "policy"))


def routing_of(key: str, word: str) -> tuple[str, dict[str, Any]]:
    """The routing that a word names, and the keys that it sets. The routing `policy` plays a file."""
    if not word.endswith(POLICY_SUFFIX):
        if "/" in word:
            raise ConfigError(f"{key}: '{word}' is neither a routing nor a *{POLICY_SUFFIX} file")
        return word, {}
    path = Path(word)
    if not path.is_file():
        near = [str(other) for other in path.parent.glob(f"*{POLICY_SUFFIX}")]
        raise ConfigError(unknown(key, word, near, "file") if near else f"{key}: {word}: no such file")
    return "policy", {"routing.path": str(path.resolve())}


def with_files(words: Iterable[str]) -> list[str]:
    """Overrides in which `routing=<file>.safetensors` is the routing `policy` with this existing file."""
    found: list[str] = []
    for word in words:
        found.append(word)
        value = word.removeprefix("routing=")
        if value != word and value.endswith(POLICY_SUFFIX) and "," not in value:
            option, settings = routing_of("routing", value)
            found[-1:] = [f"routing={option}", *(f"{name}={path}" for name, path in settings.items())]
    return found


def foreign_policy(routing: Mapping[Any, Any], topology: str) -> str | None:
    """A note that the policy file of a section `routing` was trained on another topology; None if it was not."""
    if routing["name"] != "policy" or not routing.get("path"):
        return None
    trained_on = load_policy(routing["path"])[1]["topology"]
    if trained_on in ("any", topology):
        return None
    name = Path(routing["path"]).name
    return f"the policy {name} was trained on the topology {trained_on}, and this network is a {topology}"


def require_policy_file(routing: Mapping[Any, Any]) -> None:
    """Refuse the routing `policy` without a file, whose weights would be zeros."""
    if routing["name"] == "policy" and not routing["path"]:
        raise ConfigError("routing.path: name a policy file of flitgym train, or use routing=dqn_dragonfly")
