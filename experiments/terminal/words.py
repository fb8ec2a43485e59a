"""Command lines of folders, keys and a few options: `flitgym plot results/first y=p99`."""

from collections.abc import Collection, Sequence
from pathlib import Path

from ...configs import unknown
from ...simcore import ConfigError


def parse(
    words: Sequence[str], keys: Collection[str], options: Collection[str]
) -> tuple[list[Path], dict[str, str], set[str]]:
    """The folders, the keys with their values and the options of a command line.

    Args:
        words: The arguments of the command.
        keys: The valid keys, as in `y=p99`.
        options: The valid options without dashes, as in `--help`.

    Raises:
        ConfigError: a key or an option is unknown, or a key has no value.
    """
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
