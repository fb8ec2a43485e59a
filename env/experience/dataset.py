"""Datasets of transitions: a Parquet file with the decisions of any routing, for offline learning.

A row is a decision with its reward and the observation of the packet's next decision. The packets are the episodes of a
dataset, and most have one to three decisions. Formats with a folder or a group per episode, such as Minari's, take
about 10 KB and several ms for such an episode. So a dataset is one table, and `Dataset.episodes` gives the packets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import ConfigError
from ...simcore._files import atomic_path, open_plain
from .ring import Rows

FORMAT = "flitgym-transitions-1"
_KEY = b"flitgym"  # of the metadata in the file
# Columns of a row and their types. The lists have the width of an observation, or a value per slot.
_LISTS = {
    **{"observation": ("width", np.float32), "mask": ("slots", np.bool_)},
    **{"next_observation": ("width", np.float32), "next_mask": ("slots", np.bool_)},
}
_SCALARS: dict[str, type[np.generic]] = {
    **{"action": np.int64, "reward": np.float32, "done": np.bool_, "log_probability": np.float32},
    **{"decision": np.uint64, "next_decision": np.uint64, "router": np.uint32, "decided": np.uint32, "job": np.uint32},
}
COLUMNS = (*_LISTS, *_SCALARS)
_DAMAGED = (ValueError, OSError, KeyError, TypeError, RecursionError, NotImplementedError, MemoryError)


@dataclass(frozen=True)
class Dataset:
    """Transitions of one run.

    Attributes:
        rows: columns [n, ...] as in `Simulation.transitions()`, in the order of the decisions. The next observation is
            zeros in rows that are `done`.
        about: the run: `routing`, `relation`, `topology`, `seed`, `config` (sections as `Simulation` takes them),
            `command`, `version`; the observation: `observation`, `slots`, `slots_by`, `width`, `general` and `per_slot`
            (the names of the features); `reward`, `toll`, `cycle_ns`, and `identity`, a hash of all that determines the
            rows.
    """

    rows: Rows
    about: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.rows["reward"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dataset in one step."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        columns = {name: _arrow(self.rows[name]) for name in COLUMNS}
        # Rows without a next decision hold null instead of zeros. The type of these lists has no fixed length, because
        # pyarrow before version 26 cannot read null in a list of fixed length (Arrow's issue 35692).
        final = pa.array(~self.rows["next_mask"].any(axis=1))
        for name in ("next_observation", "next_mask"):
            columns[name] = pc.if_else(final, None, columns[name].cast(pa.list_(columns[name].type.value_type)))
        table = pa.table(columns)
        about = json.dumps({"format": FORMAT, **self.about}, sort_keys=True).encode()
        with atomic_path(path) as temporary:
            pq.write_table(
                table.replace_schema_metadata({_KEY: about}), temporary, compression="zstd", write_page_checksum=True
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Dataset:
        """Read a dataset."""
        import pyarrow.parquet as pq

        about = describe(path)
        try:
            with open_plain(path) as file:
                table = pq.read_table(file, page_checksum_verification=True)
            rows = {name: _numpy(table[name], name, about) for name in COLUMNS}
        except _DAMAGED as error:
            raise ConfigError(f"dataset {path} is damaged: {_first_line(error)}") from error
        return cls(rows, about)

    def episodes(self) -> Iterator[NDArray[np.intp]]:
        """The rows of each packet in the order of its decisions.

        The last row of a packet need not be `done`, because a dataset holds a number of decisions and not of packets.
        """
        decision, following = self.rows["decision"], self.rows["next_decision"]
        place = np.searchsorted(decision, following)
        linked = place < len(decision)
        linked[linked] = decision[place[linked]] == following[linked]
        first = np.ones(len(decision), np.bool_)
        first[place[linked]] = False
        for row in np.flatnonzero(first):
            chain = [row]
            while linked[chain[-1]]:
                chain.append(place[chain[-1]])
            yield np.array(chain, np.intp)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The `about` of a dataset, without its rows."""
    import pyarrow.parquet as pq

    try:
        with open_plain(path) as file:
            metadata = pq.read_schema(file).metadata or {}
        if _KEY not in metadata:
            raise ConfigError(f"dataset {path}: it is a Parquet file, but flitgym record did not write it")
        about = json.loads(metadata[_KEY])
        found = about.pop("format")
    except FileNotFoundError as error:
        raise ConfigError(f"dataset {path}: there is no such file; flitgym record writes one") from error
    except ConfigError:
        raise
    except _DAMAGED as error:
        raise ConfigError(
            f"dataset {path}: not a dataset of flitgym record, or damaged: {_first_line(error)}"
        ) from error
    if found != FORMAT:
        raise ConfigError(f"dataset {path}: its format is {found!r}, this version reads {FORMAT}")
    return dict(about)


def _arrow(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    flat = pa.array(values.reshape(-1))
    return flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _numpy(column: Any, name: str, about: Mapping[str, Any]) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if name in _SCALARS:
        values = column.to_numpy()
        if values.dtype != _SCALARS[name]:
            raise ValueError(f"column '{name}' holds {values.dtype}, not {np.dtype(_SCALARS[name])}")
        return np.array(values)
    size, kind = about[_LISTS[name][0]], _LISTS[name][1]
    lists = pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type)
    if not lists or not (pc.list_value_length(column).drop_null().to_numpy() == size).all():
        raise ValueError(f"column '{name}' holds {column.type}, not lists of {size}")
    whole = np.zeros((len(column), size), kind)
    known = column.is_valid().to_numpy()
    whole[known] = column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
    return whole


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
