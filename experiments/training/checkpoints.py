"""Checkpoints of a training: everything it needs to go on as if it had not been interrupted. They cannot run code."""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...agents import stored
from ...simcore import ConfigError
from ...simcore._files import atomic_path

CHECKPOINT_FILE = "checkpoint.pt"
_FORMAT = 2


@dataclass
class Checkpoint:
    """What a training needs to go on.

    Args:
        agent: `Agent.state()`: tensors, numbers, text, lists and mappings of them.
        rounds: done.
        seconds: they took.
        progress: lines of `progress.jsonl` of these rounds.
    """

    agent: Any
    rounds: int
    seconds: float
    progress: str


def save_checkpoint(path: Path, checkpoint: Checkpoint, training: str) -> None:
    """Write a checkpoint, whole or not at all.

    Args:
        path: The path of the file.
        checkpoint: What it holds.
        training: Hash of the training's configuration.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    memory = io.BytesIO()  # torch reports a full disk as an error of its own
    torch.save({"format": _FORMAT, "training": training, "state": vars(checkpoint)}, memory)
    with atomic_path(path) as temporary:
        temporary.write_bytes(memory.getbuffer())


def load_checkpoint(path: Path, training: str, rounds: int) -> Checkpoint:
    """The checkpoint in a file.

    Args:
        path: The path of the file.
        training: Hash of the configuration of the training that goes on.
        rounds: It has in all.

    Raises:
        ConfigError: the file is damaged or of another training. The agent's part is the agent's to check.
    """
    try:
        state = _read(path, training)
        given = stored.entries(state, "the checkpoint", ("agent", "rounds", "seconds", "progress"))
        progress = given["progress"]
        if not isinstance(progress, str):
            raise ConfigError("progress is no text")
        return Checkpoint(
            given["agent"],
            stored.whole(given["rounds"], "rounds", 1, rounds),
            stored.number(given["seconds"], "seconds"),
            progress,
        )
    except _OtherTrainingError as error:
        raise ConfigError(str(error)) from None
    except ConfigError as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, why: str) -> ConfigError:
    """The error for a file that no training can go on from."""
    return ConfigError(f"{path} is no checkpoint, or a damaged one ({why}); remove it or start with overwrite=true")


class _OtherTrainingError(ConfigError):
    pass


def _read(path: Path, training: str) -> Any:
    data = path.read_bytes()
    try:
        # torch does not look at the check sums of its own files, and would unpack whatever size they claim.
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
            broken = packed[0] if packed else archive.testzip()
        if broken is not None:
            raise ConfigError(f"its part {broken} is damaged")
        # Weights only: tensors and plain values, whoever wrote the file.
        whole = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except ConfigError:
        raise
    except Exception as error:  # of many kinds, as many as there are ways to damage a file
        first = (str(error).strip().splitlines() or [""])[0]
        raise ConfigError(f"{type(error).__name__}: {first}" if first else type(error).__name__) from error
    if isinstance(whole, dict) and whole.get("format") != _FORMAT:
        raise ConfigError(f"its format is {whole.get('format')!r:.80}, this version reads {_FORMAT}")
    found = stored.entries(whole, "the file", ("format", "training", "state"))
    if found["training"] != training:
        raise _OtherTrainingError(f"{path} is of another training ({found['training']!s:.80}, this one is {training})")
    return found["state"]
