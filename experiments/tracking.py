"""Where the metrics of a training go: always a file of JSON lines, and W&B or TensorBoard if asked."""

import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ..configs import unknown
from ..simcore import ConfigError

PROGRESS_FILE = "progress.jsonl"
CHOICES = ("wandb", "tensorboard", "none")


class Tracker(Protocol):
    """Takes the metrics of a round."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Keep the finite numbers of one round."""

    def close(self) -> None:
        """Write what is left."""


class JsonLines:
    """`progress.jsonl`: one round per line. What lies behind the round that a training goes on from is cut off."""

    def __init__(self, path: Path, rounds_done: int) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [row for row in read_progress(path) if row["round"] <= rounds_done]
        temporary = path.with_suffix(".part")
        temporary.write_text("".join(json.dumps(row) + "\n" for row in kept))
        temporary.replace(path)
        self._file = path.open("a", buffering=1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Append a line; what is not finite becomes null."""
        row = {key: value if math.isfinite(value) else None for key, value in metrics.items()}
        self._file.write(json.dumps({"round": step, **row}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Wandb:
    def __init__(self, directory: Path, config: Mapping[str, Any], project: str, online: bool) -> None:
        import wandb

        settings = wandb.Settings(silent=True)
        arguments: dict[str, Any] = {
            "project": project,
            "name": directory.name,
            "dir": str(directory),
            # A training that goes on is the same run.
            "id": directory.name[-64:],
            "resume": "allow",
            "config": dict(config),
            "settings": settings,
        }
        if online:
            try:
                self._run = wandb.init(mode="online", **arguments)
                return
            except (wandb.errors.UsageError, wandb.errors.CommError) as error:
                print(f"W&B: {error}; going on offline, `wandb sync` sends it later", file=sys.stderr)
        self._run = wandb.init(mode="offline", **arguments)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._run.log({key: value for key, value in metrics.items() if math.isfinite(value)}, step=step)

    def close(self) -> None:
        self._run.finish()


class _TensorBoard:
    def __init__(self, directory: Path, rounds_done: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=rounds_done + 1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for key, value in metrics.items():
            if math.isfinite(value):
                self._writer.add_scalar(key, value, step)

    def close(self) -> None:
        self._writer.close()


def trackers(
    directory: Path,
    to: str,
    config: Mapping[str, Any],
    rounds_done: int,
    project: str = "flitgym",
    online: bool = False,
) -> list[Tracker]:
    """The trackers of a training that has done `rounds_done` rounds already.

    A tracker that is not installed is named on stderr and left out: nothing is lost, `progress.jsonl` has it all.

    Raises:
        ConfigError: `to` is none of `CHOICES`.
    """
    if to not in CHOICES:
        raise ConfigError(unknown("track.to", to, CHOICES))
    chosen: list[Tracker] = [JsonLines(directory / PROGRESS_FILE, rounds_done)]
    try:
        if to == "wandb":
            os.environ.setdefault("WANDB_SILENT", "true")
            chosen.append(_Wandb(directory, config, project, online))
        elif to == "tensorboard":
            chosen.append(_TensorBoard(directory, rounds_done))
    except ModuleNotFoundError as error:
        extra = "wandb" if to == "wandb" else "learn"
        print(
            f"track.to={to}: {error.name} is not installed (pip install 'flitgym[{extra}]'); "
            f"metrics go to {PROGRESS_FILE} alone",
            file=sys.stderr,
        )
    return chosen


def read_progress(path: Path) -> list[dict[str, Any]]:
    """The rounds of a `progress.jsonl`; a last line that was cut short by a crash is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows
