"""Metrics of a training: always a file of JSON lines, and optionally W&B or TensorBoard."""

import json
import math
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...simcore import __version__
from ..results.files import write_text

PROGRESS_FILE = "progress.jsonl"
WANDB_ID_FILE = "wandb_id.txt"
CHOICES = ("wandb", "tensorboard", "none")
_TAGS = ("agent", "topology", "traffic", "workload")  # sections whose names are tags in W&B


class JsonLines:
    """`progress.jsonl`: one round per line. The lines of the finished rounds replace its content."""

    def __init__(self, path: Path, lines: Sequence[str] = ()) -> None:
        self.lines, self._path = list(lines), path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._begin()

    def _begin(self) -> None:
        write_text(self._path, "".join(line + "\n" for line in self.lines))
        self._file = self._path.open("a", buffering=1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Append a line. Numbers that are not finite become null."""
        self.lines.append(json.dumps({"round": step, **_finite(metrics)}))
        self._file.write(self.lines[-1] + "\n")

    def amend(self, comparison: Mapping[str, float]) -> None:
        """Replace the numbers of the last round's comparison, whose names contain `@`."""
        kept = {key: value for key, value in json.loads(self.lines[-1]).items() if "@" not in key}
        self.lines[-1] = json.dumps({**kept, **_finite(comparison)})
        self.close()
        self._begin()

    def close(self) -> None:
        """Close the file."""
        # After a failed write, the same bytes are still buffered and would fail again.
        with suppress(OSError):
            self._file.close()


def _finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in metrics.items()}


class Tracker:
    """Receives the metrics of each round. This one ignores them."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Store the numbers of one round; they are finite."""

    def keep(self, policy: Path) -> None:
        """Store the trained policy."""

    def close(self) -> None:
        """Write the remaining numbers."""


class _Wandb(Tracker):
    """A run of W&B, in the group of its study.

    The server replaces a run by a later one of the same id, unless the later run asks it to continue. Only an online
    run can ask. So an offline training that continues after round n is another run, `<id>-<n>`, whose steps go on. If
    it is killed before its next checkpoint, the next attempt has the same id and replaces it.
    """

    def __init__(self, directory: Path, config: Mapping[str, Any], project: str, online: bool, done: int) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")
        import wandb

        path = directory / WANDB_ID_FILE
        if not path.exists():
            write_text(path, secrets.token_hex(8))
        self._wandb, self._id = wandb, path.read_text().strip()
        arguments: dict[str, Any] = {
            "project": project,
            "group": config["study"],
            # W&B refuses tags of more than 64 characters.
            "tags": [name[:64] for key in _TAGS if (name := config[key]["name"]) != "none"],
            "dir": str(directory),
            "config": {**config, "flitgym_version": __version__},  # with the commit of the core
            "settings": wandb.Settings(silent=True),
        }
        whole: dict[str, Any] = {"id": self._id, "name": directory.name}
        part = {"id": f"{self._id}-{done}", "name": f"{directory.name} after round {done}"} if done else whole
        if online:
            all_online = not list((directory / "wandb").glob("offline-run-*"))
            own = {**whole, "resume": "allow"} if done and all_online else part
            try:
                self._run = wandb.init(mode="online", **arguments, **own)
                return
            except (wandb.errors.UsageError, wandb.errors.CommError) as error:
                print(f"W&B: {error}; continuing offline, `wandb sync` sends the run later", file=sys.stderr)
        self._run = wandb.init(mode="offline", **arguments, **part)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._run.log(dict(metrics), step=step)

    def keep(self, policy: Path) -> None:
        artifact = self._wandb.Artifact(f"policy-{self._id}", "policy")
        artifact.add_file(str(policy), policy="immutable")  # no copy in the user's home
        self._run.log_artifact(artifact)

    def close(self) -> None:
        self._run.finish()


class _TensorBoard(Tracker):
    def __init__(self, directory: Path, done: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=done + 1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for key, value in metrics.items():
            self._writer.add_scalar(key, value, step)

    def close(self) -> None:
        self._writer.close()


def tracker(
    directory: Path, to: str, config: Mapping[str, Any], done: int = 0, project: str = "flitgym", online: bool = False
) -> Tracker:
    """The tracker `to`, of `CHOICES`, of a training with `done` finished rounds.

    A tracker that is not installed is reported on stderr. `progress.jsonl` has all metrics anyway.
    """
    try:
        if to == "wandb":
            return _Wandb(directory, config, project, online, done)
        if to == "tensorboard":
            return _TensorBoard(directory, done)
    except ModuleNotFoundError as error:
        extra = "wandb" if to == "wandb" else "learn"
        print(
            f"track.to={to}: {error.name} is not installed (pip install 'flitgym[{extra}]'); "
            f"metrics go only to {PROGRESS_FILE}",
            file=sys.stderr,
        )
    return Tracker()


def read_progress(path: Path) -> list[dict[str, Any]]:
    """The rounds of a `progress.jsonl`. A crash may have truncated the last line, which is then left out."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]
