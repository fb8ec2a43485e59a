"""Stores matrices of traffic as files in the folder of results. A hash of the content is the name."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ...simcore._files import atomic_path


def is_matrix(value: Any) -> bool:
    """Whether a value is an array of two dimensions or a SciPy sparse matrix."""
    return hasattr(value, "tocsr") or (isinstance(value, np.ndarray) and value.ndim == 2)


def stored(matrix: Any, folder: Path) -> Path:
    """The `.npz` file of a matrix, which is written unless it exists.

    Raises:
        OSError: the file cannot be written.
    """
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr()
        rows.sum_duplicates()
        # The layout of scipy.sparse.save_npz.
        arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays |= {"shape": np.asarray(rows.shape), "format": np.asarray(b"csr")}
    else:
        arrays = {"matrix": np.ascontiguousarray(matrix)}
    content = b"".join(
        f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes() for name, array in arrays.items()
    )
    path = folder / f"{hashlib.sha256(content).hexdigest()[:12]}.npz"
    if not path.exists():
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
    return path
