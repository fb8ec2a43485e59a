"""Paths of policies: the policies that come with flitgym by name, others by path."""

from pathlib import Path

from ..simcore import ConfigError
from .errors import unknown

_SHIPPED = Path(__file__).resolve().parent.parent / "agents" / "policies"


def shipped_policy(name: str) -> str:
    """The path of a shipped policy."""
    return str(_SHIPPED / f"{name}.safetensors")


def policy_path(key: str, given: str) -> str:
    """The path of a policy's file.

    Args:
        key: Of the configuration, for messages.
        given: The name of a shipped policy, or a path.

    Raises:
        ConfigError: there is no such policy, and no such file.
    """
    names = sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))
    if given in names:
        return shipped_policy(given)
    if Path(given).is_file():
        return given
    if Path(given).suffix or Path(given).name != given:
        raise ConfigError(f"{key}: there is no file {given}; policies that come with flitgym: {', '.join(names)}")
    raise ConfigError(unknown(key, given, names, "policy"))
