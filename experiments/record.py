"""`flitgym record`: records the decisions of any routing as a dataset of transitions, for offline learning.

    flitgym record routing=par topology=dragonfly_72 traffic=adversarial traffic.load=0.3 record.decisions=100000

`docs/data.md` explains the file.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from ..configs import compose, run_id
from ..env.experience.dataset import describe
from ..simcore import __version__
from .recording.run import CORE, DECISIONS, OF_ROWS, identity, record
from .results.files import require_writable
from .terminal.commandline import CommandError, main_of
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
_KEYS = {**_OWN, **{key: (CORE[key]["default"], CORE[key]["doc"]) for key in OF_ROWS}}
_USAGE = f"""usage: {NAME} routing=NAME [KEY=VALUE ...] [record.KEY=VALUE ...]

Run a routing, and write its decisions after the warm-up to a Parquet file. The keys are those of flitgym simulate, and

{chr(10).join(f"  record.{key:12} {words} (default {value!r})" for key, (value, words) in _KEYS.items())}

A routing that decides by observations (dqn, policy) records the observation that it sees.
"""
_Record = make_dataclass("_Record", [(key, type(value), value) for key, (value, _) in _KEYS.items()])


def run(words: Sequence[str]) -> str:
    """Execute a command line, and return the line to print."""
    if flags := [word for word in words if word.startswith("-")]:
        raise CommandError(f"{flags[0]}: {NAME} takes only keys; for several records, start it once for each")
    given = keys_of([word.removeprefix("record.") for word in words if word.startswith("record.")])
    config = compose([word for word in words if not word.startswith("record.")])
    folder = Path(given.get("dir") or FOLDER / run_id(_root_=config))
    path = folder / FILE
    if path.exists() and not given.get("overwrite"):
        about = describe(path)
        if about["identity"] != identity(config, given) or about["version"] != __version__:
            raise CommandError(
                f"{path} holds another record ({about['command'] or about['routing']}; version {about['version']}); "
                "choose another record.dir, or replace it with record.overwrite=true"
            )
        return f"{path}: finished before"
    require_writable(folder)
    with RunBar() if sys.stderr.isatty() else nullcontext() as bar:
        dataset = record(config, given, bar.report if bar else no_report, f"{NAME} {shlex.join(words)}")
    dataset.save(path)
    packets, rows = sum(1 for _ in dataset.episodes()), dataset.rows
    return (
        f"{path}: {len(dataset):,} decisions of {packets:,} packets, mean reward {rows['reward'].mean():.3f}, "
        f"first candidate taken {np.mean(rows['action'] == 0):.0%}"
    )


def keys_of(words: Sequence[str]) -> dict[str, Any]:
    """The keys of `record` on a command line, with their values."""
    given = OmegaConf.from_dotlist(list(words))
    typed: Any = OmegaConf.merge(_Record, given)
    return {str(key): typed[key] for key in given}


main = main_of(NAME, _USAGE, run)
