"""A sparse matrix as an HDF5 group, in the three conventions of CSparse.

The group holds m, n (rows, columns), nzmax, nz, p, i, x:

    nz ≥ 0     triplets: row i[k], column p[k], value x[k], for k < nz
    nz = -1    compressed columns: column j holds rows i[p[j]:p[j+1]]
    nz = -2    compressed rows: row j holds columns i[p[j]:p[j+1]]

A comment in FCLib's header exchanges p and i for triplets; the published files follow CSparse, as
above. A matrix whose indices are valid only with p and i exchanged is read so.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from clapas.errors import FormatError
from clapas.io.hdf5 import dataset, reading
from clapas.typing import Array, Indices

LAYOUTS = {"columns": -1, "rows": -2}
LARGEST = np.iinfo(np.int32).max


def read_matrix(group: Any, where: str) -> sparse.csr_array:
    """Read a matrix group; ``where`` names it in errors.

    Compare :func:`declared_shape` with the vectors of the file first: a damaged file may declare any shape,
    and even empty rows take memory.
    """
    (m, n), nz = declared_shape(group, where), integer(group, "nz", where)
    if nz < -2:
        raise FormatError(f"{where}: m = {m}, n = {n}, nz = {nz}; expected m, n ≥ 0 and nz ≥ -2")
    p, i = (_indices(group, name, where) for name in ("p", "i"))
    x = numbers(group, "x", where).astype(np.float64)
    refuse_nonfinite(x, "x", where)
    if nz >= 0:
        return _triplets(m, n, nz, p, i, x, where)
    return _compressed(m, n, nz, p, i, x, where)


def declared_shape(group: Any, where: str) -> tuple[int, int]:
    """Rows and columns of a matrix group."""
    m, n = (integer(group, name, where) for name in ("m", "n"))
    if min(m, n) < 0:
        raise FormatError(f"{where}: m = {m}, n = {n}; expected both ≥ 0")
    return m, n


def write_matrix(group: Any, matrix: Any, layout: Literal["columns", "rows"]) -> None:
    """Write a sparse matrix, explicit zeros included."""
    stored = sparse.csc_array(matrix) if layout == "columns" else sparse.csr_array(matrix)
    write_compressed(group, stored.shape, stored, layout)


def write_compressed(
    group: Any, shape: tuple[int, int], stored: Any, layout: Literal["columns", "rows"]
) -> None:
    """Write the three arrays of a compressed matrix unchanged, with the stated shape and layout."""
    if max(stored.nnz, *shape) > LARGEST:
        raise FormatError(
            f"{group.name}: {shape[0]}×{shape[1]} with {stored.nnz} entries does not fit the 32-bit integers"
            " of the FCLib format"
        )
    sizes = {"nzmax": stored.nnz, "m": shape[0], "n": shape[1], "nz": LAYOUTS[layout]}
    for name, value in sizes.items():
        group.create_dataset(name, data=np.array([value], dtype=np.int32))
    group.create_dataset("p", data=stored.indptr.astype(np.int32))
    group.create_dataset("i", data=stored.indices.astype(np.int32))
    group.create_dataset("x", data=stored.data.astype(np.float64))


def integer(group: Any, name: str, where: str) -> int:
    """Read a dataset of one integer."""
    value = numbers(group, name, where)
    if value.size != 1:
        raise FormatError(f"{where}: '{name}' has {value.size} values, expected one integer")
    if not np.isfinite(value[0]) or value[0] != int(value[0]):
        raise FormatError(f"{where}: '{name}' is {value[0]}, expected an integer")
    return int(value[0])


def numbers(group: Any, name: str, where: str) -> Any:
    """Read a dataset as a flat array of numbers."""
    data = dataset(group, name, where)
    with reading(f"{where}: '{name}'"):
        if data.dtype.kind not in "iuf":
            raise FormatError(f"{where}: '{name}' must be an array of numbers")
        return np.ravel(data[()])


def refuse_nonfinite(values: Array, name: str, where: str) -> None:
    """Reject NaN and infinities, naming the first."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise FormatError(f"{where}: '{name}' must be finite, got {values[bad[0]]} at entry {bad[0]}")


def _indices(group: Any, name: str, where: str) -> Indices:
    """Read integers, whatever their stored type."""
    values = numbers(group, name, where)
    whole = values.astype(np.int64) if np.isfinite(values).all() else np.empty(0, dtype=np.int64)
    if whole.shape != values.shape or (whole != values).any():
        raise FormatError(f"{where}: '{name}' must hold whole numbers")
    return whole


def _triplets(m: int, n: int, nz: int, p: Indices, i: Indices, x: Array, where: str) -> sparse.csr_array:
    if min(p.size, i.size, x.size) < nz:
        raise FormatError(
            f"{where}: {nz} triplets announced, but p, i, x have {p.size}, {i.size}, {x.size} values"
        )
    p, i, x = p[:nz], i[:nz], x[:nz]
    for row, column in ((i, p), (p, i)):
        if _within(row, m) and _within(column, n):
            return sparse.csr_array(sparse.coo_array((x, (row, column)), shape=(m, n)))
    raise FormatError(f"{where}: indices of triplets outside {m}×{n}; expected rows in i and columns in p")


def _compressed(m: int, n: int, nz: int, p: Indices, i: Indices, x: Array, where: str) -> sparse.csr_array:
    lines, length = (n, m) if nz == -1 else (m, n)
    if p.size != lines + 1 or p[0] != 0 or (np.diff(p) < 0).any():
        raise FormatError(
            f"{where}: 'p' must hold {lines + 1} increasing pointers from 0 (nz = {nz}), got {p.size} values"
        )
    count = int(p[-1])
    if min(i.size, x.size) < count:
        raise FormatError(f"{where}: {count} entries announced, but i, x have {i.size}, {x.size} values")
    if not _within(i[:count], length):
        raise FormatError(f"{where}: indices outside 0..{length - 1} in 'i' (nz = {nz})")
    layout = sparse.csc_array if nz == -1 else sparse.csr_array
    return sparse.csr_array(layout((x[:count], i[:count], p), shape=(m, n)))


def _within(indices: Indices, size: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < size)
