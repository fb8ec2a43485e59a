"""Words of command lines: folders, keys and a few options as in `flitgym plot results/first y=p99`, and overrides."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...configs import unknown
from ...simcore import ConfigError

_PLAIN = re.compile(r"(?!(true|false|null)$)[A-Za-z_/.][\w./-]*")


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


def hydra_text(value: Any) -> str:
    """A value in the grammar of Hydra's overrides."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{hydra_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple, range)):
        return f"[{','.join(map(hydra_text, value))}]"
    if isinstance(value, (str, Path)) and not _PLAIN.fullmatch(str(value)):
        return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)
