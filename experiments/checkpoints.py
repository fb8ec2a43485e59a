"""Checkpoints of a training: everything it needs to go on as if it had not been interrupted. They cannot run code."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from ..simcore import ConfigError
from .results import atomic_path

CHECKPOINT_FILE = "checkpoint.pt"


def save_checkpoint(path: Path, state: dict[str, Any], training: str) -> None:
    """Write a checkpoint, whole or not at all.

    Args:
        path: Of the file.
        state: Tensors, numbers, text, lists and mappings of them.
        training: Hash of the training's configuration.
    """
    with atomic_path(path) as temporary:
        torch.save({"format": 1, "training": training, "state": state}, temporary)


def load_checkpoint(path: Path, training: str) -> dict[str, Any]:
    """The state in a checkpoint.

    Raises:
        ConfigError: the file is damaged or of another training.
    """
    try:
        # Weights only: tensors and plain values, whoever wrote the file.
        data = torch.load(io.BytesIO(path.read_bytes()), map_location="cpu", weights_only=True)
        if data["format"] != 1:
            raise ValueError(f"format {data['format']}")
        state: dict[str, Any] = data["state"]
    except (
        RuntimeError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise ConfigError(
            f"{path} is no checkpoint, or a damaged one ({first}); remove it or start with overwrite=true"
        ) from error
    if data["training"] != training:
        raise ConfigError(f"{path} is of another training ({data['training']}, this one is {training})")
    return state
