"""Values of overrides: with a unit, such as `3m`, `2us` `200Gb/s` and `2KiB`, in the grammar of Hydra, and formats."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..simcore import ConfigError
from ..simcore._words import refuse_unknown

TIMES = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
LENGTHS = {"m": 5.0, "cm": 0.05}  # ns; a signal in a cable takes 5 ns per metre
RATES = {"Gb/s": 1 / 8, "Tb/s": 125.0, "GB/s": 1.0, "TB/s": 1e3}
SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 2.0**10, "MiB": 2.0**20}
PLOT_FORMATS = ("png", "svg", "pdf")  # of a picture
_PLAIN = re.compile(r"(?!(true|false|null)$)[A-Za-z_/.][\w./-]*")


def in_numbers(words: Iterable[str]) -> list[str]:
    """Overrides whose values are in the unit of their key, also in lists and sweeps.

    Args:
        words: Overrides. Keys with `_ns` take times. Those of a latency also take lengths. Keys with `_gb_per_s` take
            rates, and those with `_bytes` take sizes.
    """
    parts = (word.partition("=") for word in words)
    return [f"{key}{equals}{in_number(key, value)}" for key, equals, value in parts]


def in_number(key: str, value: Any) -> Any:
    """A value in the unit of its key; a value without a unit stays as it is."""
    units = units_of(key)
    if not isinstance(value, str) or not units:
        return value
    pattern = rf"(?<![\w.+-])(\d+\.?\d*(?:[eE][-+]?\d+)?)({'|'.join(units)})(?![\w/])"
    return re.sub(pattern, lambda found: f"{float(found[1]) * units[found[2]]:.12g}", value)


def units_of(key: str) -> Mapping[str, float]:
    """The units that values of a key may have, as factors; empty for a key without units."""
    last = key.rpartition(".")[2].partition("[")[0]
    if "gb_per_s" in last:
        return RATES
    if re.search(r"_bytes(_|$)", last):
        return SIZES
    if not re.search(r"_ns(_|$)", last):
        return {}
    return {**TIMES, **LENGTHS} if "latency_ns" in last else TIMES


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


def plot_formats(given: Any, key: str = "plot.format") -> tuple[str, ...]:
    """The formats in words joined by commas or in a list, each once; empty for `[]`, `none` or null."""
    words = given.split(",") if isinstance(given, str) else given
    if words is None or words == ["none"]:
        return ()
    if not isinstance(words, Sequence):
        raise ConfigError(f"{key}: {given!r} is not a list of formats; valid formats: {', '.join(PLOT_FORMATS)}")
    refuse_unknown(key, words, PLOT_FORMATS, "format")
    return tuple(dict.fromkeys(words))
