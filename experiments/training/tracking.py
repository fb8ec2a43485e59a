"""Trackers of a training's metrics: always a file of JSON lines, and optionally W&B or TensorBoard."""

import json
import math
import os
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ...configs import unknown
from ...simcore import ConfigError, __version__
from ...simcore._files import atomic_path

PROGRESS_FILE = "progress.jsonl"
WANDB_ID_FILE = "wandb_id.txt"
CHOICES = ("wandb", "tensorboard", "none")
_TAGS = ("agent", "topology", "traffic", "workload")  # sections whose names are tags in W&B


class Tracker(Protocol):
    """Receives the metrics of each round."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Store the finite numbers of one round."""

    def keep(self, policy: Path) -> None:
        """Store the trained policy."""

    def close(self) -> None:
        """Write the remaining numbers."""


class JsonLines:
    """`progress.jsonl`: one round per line.

    Args:
        path: The path of the file, whose content is replaced. If the content does not fit the training, the file is
            kept under another name, which is printed on stderr.
        lines: The lines of the finished rounds, from the checkpoint.
    """

    def __init__(self, path: Path, lines: Sequence[str] = ()) -> None:
        self.lines = list(lines)
        path.parent.mkdir(parents=True, exist_ok=True)
        _set_aside_unless_part(path, self.lines)
        with atomic_path(path) as temporary:
            temporary.write_text("".join(line + "\n" for line in self.lines))
        self._path = path
        self._file = path.open("a", buffering=1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Append a line. Numbers that are not finite become null."""
        line = json.dumps({"round": step, **_finite(metrics)})
        self.lines.append(line)
        try:
            self._file.write(line + "\n")
        except OSError as error:
            error.filename = error.filename or str(self._path)
            raise

    def keep(self, policy: Path) -> None:
        """Do nothing; the policy is already in this folder."""

    def amend(self, comparison: Mapping[str, float]) -> None:
        """Replace the numbers of the last round's comparison, whose names contain `@`."""
        kept = {key: value for key, value in json.loads(self.lines[-1]).items() if "@" not in key}
        self.lines[-1] = json.dumps({**kept, **_finite(comparison)})
        self.close()
        with atomic_path(self._path) as temporary:
            temporary.write_text("".join(line + "\n" for line in self.lines))
        self._file = self._path.open("a", buffering=1)

    def close(self) -> None:
        """Close the file."""
        # After a failed write, the same bytes are still buffered and would fail again.
        with suppress(OSError):
            self._file.close()


def _finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in metrics.items()}


def _set_aside_unless_part(path: Path, lines: Sequence[str]) -> None:
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return
    # A crash may have truncated the last line.
    complete = found.split(b"\n")[:-1]
    known = [line.encode() for line in lines]
    same = all(line == own for line, own in zip(complete, known, strict=False))
    if same and len(parsed(complete[len(known) :], first=len(known) + 1)) == max(len(complete) - len(known), 0):
        return
    aside = path.with_name(f"{path.name}.damaged")
    path.replace(aside)
    where = "started again from the checkpoint" if lines else "started again"
    print(f"{path} is damaged: renamed to {aside.name} and {where}", file=sys.stderr, flush=True)


class _Wandb:
    """A run of W&B, in the group of its study.

    The server replaces a run by a later one of the same id, unless the later run asks it to continue. Only an online
    run can ask. So an offline training that continues after round n is another run, `<id>-<n>`, whose steps go on. If
    it is killed before its next checkpoint, the next attempt has the same id and replaces it.
    """

    def __init__(self, directory: Path, config: Mapping[str, Any], project: str, online: bool, done: int) -> None:
        import wandb

        self._wandb, self._id = wandb, _wandb_id(directory)
        arguments: dict[str, Any] = {
            "project": project,
            "group": config.get("study"),
            "tags": [name for name in (_name(config.get(key)) for key in _TAGS) if name],
            "dir": str(directory),
            "config": {**config, "flitgym_version": __version__},  # with the commit of the core
            "settings": wandb.Settings(silent=True),
        }
        part: dict[str, Any] = {"id": f"{self._id}-{done}", "name": f"{directory.name} after round {done}"}
        whole: dict[str, Any] = {"id": self._id, "name": directory.name}
        if online:
            all_online = not list((directory / "wandb").glob("offline-run-*"))
            own = {**whole, "resume": "allow"} if done and all_online else part if done else whole
            try:
                self._run = wandb.init(mode="online", **arguments, **own)
                return
            except (wandb.errors.UsageError, wandb.errors.CommError) as error:
                print(f"W&B: {error}; continuing offline, `wandb sync` sends the run later", file=sys.stderr)
        self._run = wandb.init(mode="offline", **arguments, **(part if done else whole))

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._run.log({key: value for key, value in metrics.items() if math.isfinite(value)}, step=step)

    def keep(self, policy: Path) -> None:
        artifact = self._wandb.Artifact(f"policy-{self._id}", "policy")
        artifact.add_file(str(policy), policy="immutable")  # no copy in the user's home
        self._run.log_artifact(artifact)

    def close(self) -> None:
        self._run.finish()


def _wandb_id(directory: Path) -> str:
    """The id of a folder's run in W&B. A training that starts again replaces the run of the first attempt."""
    path = directory / WANDB_ID_FILE
    known = path.read_text().strip() if path.exists() else ""
    if not known:
        known = secrets.token_hex(8)
        with atomic_path(path) as temporary:
            temporary.write_text(known)
    return known


def _name(section: Any) -> str | None:
    """The name of a section of the configuration, if it has one. W&B refuses tags of more than 64 characters."""
    name = section.get("name") if isinstance(section, Mapping) else section
    return name[:64] if isinstance(name, str) and name != "none" else None


class _TensorBoard:
    def __init__(self, directory: Path, rounds_done: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=rounds_done + 1)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for key, value in metrics.items():
            if math.isfinite(value):
                self._writer.add_scalar(key, value, step)

    def keep(self, policy: Path) -> None:
        """Do nothing; TensorBoard has no files of users."""

    def close(self) -> None:
        self._writer.close()


def trackers(
    directory: Path,
    to: str,
    config: Mapping[str, Any],
    lines: Sequence[str] = (),
    project: str = "flitgym",
    online: bool = False,
) -> list[Tracker]:
    """The trackers of a training whose finished rounds are in `lines`. The first is the `JsonLines`.

    A tracker that is not installed is reported on stderr and left out. `progress.jsonl` has all metrics anyway.

    Raises:
        ConfigError: `to` is not in `CHOICES`.
    """
    if to not in CHOICES:
        raise ConfigError(unknown("track.to", to, CHOICES))
    chosen: list[Tracker] = [JsonLines(directory / PROGRESS_FILE, lines)]
    try:
        if to == "wandb":
            os.environ.setdefault("WANDB_SILENT", "true")
            chosen.append(_Wandb(directory, config, project, online, len(lines)))
        elif to == "tensorboard":
            chosen.append(_TensorBoard(directory, len(lines)))
    except ModuleNotFoundError as error:
        extra = "wandb" if to == "wandb" else "learn"
        print(
            f"track.to={to}: {error.name} is not installed (pip install 'flitgym[{extra}]'); "
            f"metrics go only to {PROGRESS_FILE}",
            file=sys.stderr,
        )
    return chosen


def read_progress(path: Path) -> list[dict[str, Any]]:
    """The rounds of a `progress.jsonl`, up to the first invalid line. A crash may have truncated the last line."""
    return parsed(path.read_bytes().split(b"\n")) if path.exists() else []


def parsed(lines: Iterable[bytes], first: int = 1) -> list[dict[str, Any]]:
    """The rows of `progress.jsonl` in some lines, up to the first line that is invalid or not of the next round.

    Args:
        lines: The lines without their ends.
        first: The round of the first line.
    """
    rows: list[dict[str, Any]] = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deeply
            break
        if not isinstance(row, dict) or row.get("round") != first + len(rows) or not all(map(_is_metric, row.values())):
            break
        rows.append(row)
    return rows


def _is_metric(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
