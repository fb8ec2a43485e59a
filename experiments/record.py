"""`flitgym record`: records the decisions of any routing as a dataset of transitions, for offline learning.

    flitgym record routing=par topology=dragonfly_72 traffic=adversarial traffic.load=0.3 record.decisions=100000

`docs/data.md` explains the file.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..configs import compose, run_id, unknown
from ..env.experience.dataset import Dataset, describe
from ..simcore import ConfigError, __version__
from .recording.run import CORE, DECISIONS, OF_ROWS, identity, record
from .results.files import require_writable
from .terminal.commandline import CommandError, run_command
from .terminal.progress import RunBar, no_report

NAME = "flitgym record"
FOLDER = Path("results/records")
FILE = "transitions.parquet"
# Keys of the command besides those of the core, with their defaults and descriptions.
_OWN: dict[str, tuple[Any, str]] = {
    "decisions": (DECISIONS, "decisions to record"),
    "dir": ("", f"folder of the file {FILE}; default: {FOLDER}/<run>"),
    "overwrite": (False, "replace a dataset of another run"),
}
_KEYS = [
    *(f"{key:12} {words}{'' if value == '' else f' (default {value})'}" for key, (value, words) in _OWN.items()),
    *(f"{key:12} {CORE[key]['doc']} (default {CORE[key]['default']})" for key in OF_ROWS),
]
_USAGE = f"""usage: {NAME} routing=NAME [KEY=VALUE ...] [record.KEY=VALUE ...]

Run a routing, and write its decisions after the warm-up to a Parquet file. The keys are those of flitgym simulate, and

{chr(10).join(f"  record.{line}" for line in _KEYS)}

A routing that decides by observations (dqn_priced, policy) records the observation that it sees.
"""


def run(words: Sequence[str]) -> str:
    """Execute a command line, and return the line to print.

    Raises:
        CommandError: the folder holds another dataset, or the routing makes too few decisions.
        ConfigError, HydraException: a key is unknown, or the configuration cannot run.
        OSError: the file cannot be written.
    """
    flags = [word for word in words if word.startswith("-")]
    if flags:
        raise CommandError(f"{flags[0]}: {NAME} takes only keys; for several records, start it once for each")
    given = keys_of([word.removeprefix("record.") for word in words if word.startswith("record.")])
    config = compose([word for word in words if not word.startswith("record.")])
    folder = Path(given["dir"]) if given.get("dir") else FOLDER / run_id(_root_=config)
    path = folder / FILE
    if path.exists() and not given.get("overwrite"):
        _require_same(path, identity(config, given))
        return f"{path}: finished before"
    require_writable(folder)
    command = f"{NAME} {shlex.join(words)}"
    with RunBar() if sys.stderr.isatty() else nullcontext() as bar:
        dataset = record(config, given, bar.report if bar else no_report, command)
    dataset.save(path)
    return f"{path}: {_summary(dataset)}"


def _require_same(path: Path, own: str) -> None:
    about = describe(path)
    if about["identity"] != own or about["version"] != __version__:
        raise CommandError(
            f"{path} holds another record ({about['command'] or about['routing']}; version {about['version']}); choose "
            "another record.dir, or replace it with record.overwrite=true"
        )


def _summary(dataset: Dataset) -> str:
    rows = dataset.rows
    packets = sum(1 for _ in dataset.episodes())
    return (
        f"{len(dataset):,} decisions of {packets:,} packets, mean reward {rows['reward'].mean():.3f}, "
        f"first candidate taken {np.mean(rows['action'] == 0):.0%}"
    )


def keys_of(words: Sequence[str]) -> dict[str, Any]:
    """The keys of `record` on a command line, as numbers, truth values and text.

    Raises:
        ConfigError: a key is unknown, or its value has another type.
    """
    kinds = {key: type(value) for key, (value, _) in _OWN.items()}
    kinds |= {key: type(CORE[key]["default"]) for key in OF_ROWS}
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in kinds:
            raise ConfigError(unknown("record", key, kinds, "key"))
        if not equals or not value:
            raise ConfigError(f"record.{key}: a value is missing; write record.{key}=...")
        try:
            found[key] = {"true": True, "false": False}[value] if kinds[key] is bool else kinds[key](value)
        except (KeyError, ValueError):
            named = {bool: "true or false", int: "a whole number", float: "a number"}[kinds[key]]
            raise ConfigError(f"record.{key}: '{value}' is not {named}") from None
    return found


def main() -> None:
    """Entry point of the command."""
    words = sys.argv[1:]
    if not words or {"-h", "--help"} & set(words):
        print(_USAGE, end="")
        sys.exit(0 if words else 2)
    sys.exit(run_command(NAME, lambda: print(run(words))))
