"""Array files (`.npz`, `.npy`)."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import open_plain


def read_arrays(path: str | os.PathLike[str], refusal: str) -> dict[str, NDArray[np.generic]]:
    """Read all arrays of an archive, by name. The array of an `.npy` file has the name ''.

    Args:
        path: Path of the file.
        refusal: Start of the message if the file holds no arrays or is damaged.

    Raises:
        ConfigError: The file holds no arrays, or its checksums are wrong. The message is `refusal` and a reason.
        OSError: The file cannot be opened.
    """
    with open_plain(path) as file:
        try:
            held = np.load(file, allow_pickle=False)
            if isinstance(held, np.ndarray):
                return {"": held}
            if wrong := held.zip.testzip():  # NumPy does not always read to the end, where the checksum is
                raise ValueError(f"the checksum of {wrong} differs")
            return dict(held)
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types on damaged data
            raise ConfigError(f"{refusal}: {str(error)[:200] or type(error).__name__}") from error
