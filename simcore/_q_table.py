"""Q-table files: `.npz` archives of a table, its layout and the topology it was learned on."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import atomic_path, read_arrays


def write(path: str | os.PathLike[str], table: NDArray[np.float32], layout: str, topology: str) -> None:
    """Write the file. A failed write leaves no partial file."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, table=table, layout=np.array(layout), topology=np.array(topology))


def read(path: str | os.PathLike[str], shape: tuple[int, ...], layout: str, topology: str) -> NDArray[np.float32]:
    """Read the table of a file, which must have this shape, layout and topology."""
    where = f"load_q_table(): {path}"
    refusal = f"{where} is not a Q-table file, or is damaged"
    arrays = read_arrays(path, refusal)
    missing = [name for name in ("table", "layout", "topology") if name not in arrays]
    if missing:
        raise ConfigError(f"{refusal}: it lacks {', '.join(missing)}")
    table, own_layout, own_topology = arrays["table"], str(arrays["layout"]), str(arrays["topology"])
    if own_layout != layout:
        raise ConfigError(f"{where} holds '{own_layout}', but this routing needs '{layout}'")
    if (own_topology, table.shape) != (topology, shape):
        raise ConfigError(
            f"{where} was learned on '{own_topology}' {table.shape}, but this network is '{topology}' {shape}"
        )
    return np.ascontiguousarray(table, np.float32)
