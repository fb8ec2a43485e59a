"""Mapping of ranks to terminals: library functions that the core calls, and communication matrices."""

from __future__ import annotations

import importlib
import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import ConfigError
from ._files import read_unpacked

Graph = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Sparse rows: `first` [rows + 1] offsets, and per entry its column `peer` and its `bytes` (or weight)."""

_LARGEST_WEIGHT = 2**30  # sum over all edges; METIS adds weights in 32 bits


def load(mapper: str) -> None:
    """Import the library that a mapper of the core needs."""
    if mapper == "rcm":
        scipy_sparse("workload.mapping: rcm")
        importlib.import_module("scipy.sparse.csgraph")
    elif mapper == "multicore":
        try:
            importlib.import_module("pymetis")
        except ImportError:
            raise ConfigError(
                "workload.mapping: multicore needs METIS, and its package pymetis is not installed; install "
                "flitgym[mapping], or use greedy or recursive"
            ) from None


def reverse_cuthill_mckee(first: NDArray[Any], peer: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
    """Order the vertices of an undirected graph by reverse Cuthill-McKee (SciPy). Weights are ignored."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee as order

    vertices = len(first) - 1
    matrix = sparse.csr_matrix(
        (np.ones(len(peer), np.int8), peer.astype(np.int32), first.astype(np.int32)), shape=(vertices, vertices)
    )
    return np.asarray(order(matrix, symmetric_mode=True))


def partition(
    first: NDArray[Any], peer: NDArray[Any], weight: NDArray[Any], sizes: NDArray[Any], seed: int
) -> NDArray[Any]:
    """Cut a graph into parts of about the given sizes with little weight between parts (METIS, k-way).

    Args:
        first: [vertices + 1] index of the first edge of each vertex.
        peer: [2 edges] the other vertex. Each edge is listed with both of its vertices.
        weight: [2 edges] positive weights.
        sizes: [parts] vertices wanted in each part.
        seed: Seed of METIS.

    Returns:
        [vertices] part of each vertex.
    """
    import pymetis

    if len(sizes) == 1:
        return np.zeros(len(first) - 1, np.int64)
    whole = np.maximum(1, np.rint(weight * (_LARGEST_WEIGHT / max(float(weight.sum()), 1e-300)))).astype(np.int64)
    found = pymetis.part_graph(
        len(sizes),
        pymetis.CSRAdjacency(first.astype(np.int64).tolist(), peer.astype(np.int64).tolist()),
        eweights=whole.tolist(),
        tpwgts=(sizes / sizes.sum()).tolist(),
        options=pymetis.Options(seed=int(seed % 2**31)),
    )
    return np.asarray(found.vertex_part)


def rows_of(matrix: Any) -> Graph:
    """Convert a communication matrix, [ranks, ranks] bytes from row to column, to the sparse rows of the core.

    Args:
        matrix: A `Program`, a SciPy sparse matrix, or anything that NumPy converts to an array.
    """
    if hasattr(matrix, "communication"):
        communication: Graph = matrix.communication()
        return communication
    given = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.dtype.kind not in "biuf":
        shape = tuple(given.shape)
        raise ConfigError(f"matrix: an array of {given.dtype} and shape {shape}; valid are numbers, [ranks, ranks]")
    if isinstance(given, np.ndarray):
        rows, columns = np.nonzero(given)
        return np.searchsorted(rows, np.arange(len(given) + 1)), columns, given[rows, columns].astype(float)
    given.sum_duplicates()
    return given.indptr, given.indices, given.data.astype(float)


def exchange_of(matrix: Any, ranks: int = 0, bytes_per_value: int = 8) -> Any:
    """Return the traffic between ranks before a multiplication of a sparse matrix with a vector.

    Each rank holds contiguous rows of the matrix and the same part of the vector. A rank receives each value of the
    vector that its rows have entries for, once, from the rank that holds it.

    Args:
        matrix: A square SciPy sparse matrix, from an application or a graph.
        ranks: Number of ranks; the rows are divided as evenly as possible. 0: one rank per row.
        bytes_per_value: Size of a vector entry.

    Returns:
        A SciPy sparse matrix [ranks, ranks]: bytes from the row's rank to the column's rank.
    """
    sparse = scipy_sparse("a communication matrix")
    rows = matrix.shape[0]
    if matrix.ndim != 2 or matrix.shape[1] != rows:
        raise ConfigError(f"matrix: its shape is {tuple(matrix.shape)}; a square matrix is needed")
    ranks = ranks or rows
    if ranks > rows:
        raise ConfigError(f"ranks: {ranks}; the matrix has only {rows} rows")
    entries = matrix.tocoo()
    each, more = divmod(rows, ranks)
    begin = np.arange(ranks + 1) * each + np.minimum(np.arange(ranks + 1), more)
    receiver = np.searchsorted(begin, entries.row, side="right") - 1
    needed = np.unique(receiver.astype(np.int64) * rows + entries.col)
    receiver, column = needed // rows, needed % rows
    sender = np.searchsorted(begin, column, side="right") - 1
    others = sender != receiver
    values = np.full(int(others.sum()), float(bytes_per_value))
    # tocsr() adds entries with the same indices.
    return sparse.coo_array((values, (sender[others], receiver[others])), shape=(ranks, ranks)).tocsr()


def read_matrix_market(path: str | os.PathLike[str]) -> Any:
    """Read the sparse matrix of a Matrix Market file (`.mtx` or `.mtx.gz`).

    A symmetric matrix is returned with both triangles.
    """
    sparse = scipy_sparse(str(path))
    from scipy.io import mmread

    text = read_unpacked(path)
    if b"\0" in text:  # which ends SciPy's reader (1.17) and the process
        raise ConfigError(f"{path}: not a Matrix Market file, or damaged: it has zero bytes")
    try:
        matrix = mmread(io.BytesIO(text + b"\n"))
    except Exception as error:  # SciPy's reader raises many types
        raise ConfigError(f"{path}: not a Matrix Market file, or damaged: {error}") from error
    if not sparse.issparse(matrix):
        raise ConfigError(f"{path}: the matrix is dense; only sparse (coordinate) files are read")
    return matrix


def scipy_sparse(what: str) -> Any:
    try:
        from scipy import sparse
    except ImportError:
        raise ConfigError(f"{what}: SciPy is needed but not installed; install flitgym[mapping]") from None
    return sparse
