"""Words of command lines: folders, keys and a few options, as in `flitgym plot results/first y=p99`."""

from collections.abc import Collection, Sequence
from pathlib import Path

from ...configs import unknown
from ...simcore import ConfigError


def parse(
    words: Sequence[str], keys: Collection[str], options: Collection[str]
) -> tuple[list[Path], dict[str, str], set[str]]:
    """Folders, keys with their values (`y=p99`) and options (`--help`, without dashes) of a command line."""
    folders: list[Path] = []
    given: dict[str, str] = {}
    chosen: set[str] = set()
    for word in words:
        key, equals, value = word.partition("=")
        if word.startswith("-"):
            if word.lstrip("-") not in options:
                raise ConfigError(unknown("command line", word, [f"--{one}" for one in options if one[1:]], "option"))
            chosen.add(word.lstrip("-"))
        elif not equals:
            folders.append(Path(word))
        elif key not in keys:
            raise ConfigError(unknown(word, key, keys, "key"))
        elif not value:
            raise ConfigError(f"{key}: a value is missing; write {key}=...")
        else:
            given[key] = value
    return folders, given, chosen
