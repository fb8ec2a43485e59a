"""Checkpoints of a training, from which it continues as if it had not been interrupted. They cannot execute code."""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...agents.learning import stored
from ...simcore import ConfigError
from ...simcore._files import atomic_path

CHECKPOINT_FILE = "checkpoint.pt"
_FORMAT = 2


@dataclass
class Checkpoint:
    """The state of a training after a round.

    Args:
        agent: The result of `Agent.state()`: tensors, numbers, text, and lists and mappings of them.
        rounds: Number of finished rounds.
        seconds: Duration of these rounds.
        progress: Their lines of `progress.jsonl`.
    """

    agent: Any
    rounds: int
    seconds: float
    progress: str


def save_checkpoint(path: Path, checkpoint: Checkpoint, training: str) -> None:
    """Write a checkpoint, whole or not at all.

    Args:
        path: The path of the file.
        checkpoint: Its content.
        training: Hash of the training's configuration.

    Raises:
        OSError: the file cannot be written, and keeps its previous content.
    """
    memory = io.BytesIO()  # torch would report a full disk by an error that is not an OSError
    torch.save({"format": _FORMAT, "training": training, "state": vars(checkpoint)}, memory)
    with atomic_path(path) as temporary:
        temporary.write_bytes(memory.getbuffer())


def load_checkpoint(path: Path, training: str, rounds: int) -> Checkpoint:
    """The checkpoint in a file.

    Args:
        path: The path of the file.
        training: Hash of the configuration of this training.
        rounds: Number of all its rounds.

    Raises:
        ConfigError: the file is damaged or belongs to another training. The agent itself checks its state.
    """
    try:
        state = _read(path, training)
        own = {"agent": ..., "rounds": 0, "seconds": 0.0, "progress": ""}
        given = stored.checked(state, "the checkpoint", own)
        stored.whole(given["rounds"], "rounds", 1, rounds)
        return Checkpoint(**given)
    except _OtherTrainingError as error:
        raise ConfigError(str(error)) from None
    except ConfigError as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, why: str) -> ConfigError:
    """The error for a file from which no training can continue."""
    return ConfigError(f"{path} is not a checkpoint, or is damaged ({why}); remove it or start with overwrite=true")


class _OtherTrainingError(ConfigError):
    pass


def _read(path: Path, training: str) -> Any:
    data = path.read_bytes()
    try:
        # torch does not verify the checksums of its files, and would unpack any size that they claim.
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            packed = [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
            broken = packed[0] if packed else archive.testzip()
        if broken is not None:
            raise ConfigError(f"its part {broken} is damaged")
        # Only tensors and plain values are loaded, so that a file of any origin cannot execute code.
        whole = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except ConfigError:
        raise
    except Exception as error:  # a damaged file raises errors of many types
        first = (str(error).strip().splitlines() or [""])[0]
        raise ConfigError(f"{type(error).__name__}: {first}" if first else type(error).__name__) from error
    if isinstance(whole, dict) and whole.get("format") != _FORMAT:
        raise ConfigError(f"its format is {whole.get('format')!r:.80}, this version reads {_FORMAT}")
    found = stored.checked(whole, "the file", {"format": _FORMAT, "training": ..., "state": ...})
    if found["training"] != training:
        raise _OtherTrainingError(
            f"{path} belongs to another training ({found['training']!s:.80}, this one is {training}); remove it or "
            "start with overwrite=true"
        )
    return found["state"]
