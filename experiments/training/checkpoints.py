"""Checkpoints of a training, from which it continues as if it had not been interrupted. They cannot execute code."""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...simcore import ConfigError
from ...simcore._files import atomic_path

CHECKPOINT_FILE = "checkpoint.pt"
_FORMAT = 2


@dataclass
class Checkpoint:
    """The state of a training after a round."""

    agent: Any  # the result of `Agent.state()`: tensors, numbers, text, and lists and mappings of them
    rounds: int  # finished ones
    seconds: float  # duration of these rounds
    progress: str  # their lines of `progress.jsonl`


def save_checkpoint(path: Path, checkpoint: Checkpoint, training: str) -> None:
    """Write a checkpoint of the training with this identity. A file that cannot be written keeps its content."""
    memory = io.BytesIO()  # torch would report a full disk by an error that is not an OSError
    torch.save({"format": _FORMAT, "training": training, "state": vars(checkpoint)}, memory)
    with atomic_path(path) as temporary:
        temporary.write_bytes(memory.getbuffer())


def load_checkpoint(path: Path, training: str) -> Checkpoint:
    """The checkpoint in a file, of the training with this identity.

    Raises:
        ConfigError: the file is damaged or belongs to another training.
    """
    data = path.read_bytes()
    try:
        # torch does not verify the checksums of its files.
        if (part := zipfile.ZipFile(io.BytesIO(data)).testzip()) is not None:
            raise ValueError(f"the part {part} does not match its checksum")
        # Only tensors and plain values are loaded, so that a file of any origin cannot execute code.
        found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']}, this version reads {_FORMAT}")
        own, state = found["training"], Checkpoint(**found["state"])
    except Exception as error:  # a damaged file raises errors of many types
        raise damaged(path, error) from error
    if own != training:
        raise ConfigError(
            f"{path} belongs to another training ({own}, this one is {training}); remove it or start with "
            "overwrite=true"
        )
    return state


def damaged(path: Path, error: Exception) -> ConfigError:
    """The error for a file from which no training can continue."""
    why = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ConfigError(f"{path} is not a checkpoint, or is damaged ({why}); remove it or start with overwrite=true")
