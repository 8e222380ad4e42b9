"""Linear complementarity problems in files.

=============  =============================================================================================
HDF5           datasets ``q``, ``M`` (full) or a group ``M`` with ``data``, ``indices``, ``indptr`` (sparse
               rows) and the attribute ``shape``; perhaps a solution ``z``; attribute ``name``
NPZ            arrays ``q``, ``M`` or ``M_data``, ``M_indices``, ``M_indptr``, ``M_shape``; perhaps ``z``
Matrix Market  one matrix of n rows and n + 1 columns, [M q]
text           as the Siconos platform prints it: n, the matrix (see :mod:`clapas.io.siconos`), q; what
               follows is a comment
=============  =============================================================================================

HDF5 and NPZ may hold a mixed problem, with the array ``is_equation``, or a relay, with the arrays ``lower``
and ``upper`` and the word ``kind`` ("primal" unless given), and a text may hold a mixed problem
(:mod:`clapas.io.mixed`): they are read as the LCP that stands for them, with the way back.

A format is recognised by the content when reading and by the ending (``.hdf5``, ``.h5``, ``.npz``, ``.mtx``,
``.dat``) when writing. Numbers are written with all their digits; the text is always written with M full.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import numpy.typing as npt
from scipy import io as scipy_io
from scipy import sparse

from clapas.errors import FormatError
from clapas.io.mixed import read_mixed
from clapas.io.siconos import read_matrix
from clapas.io.tokens import Tokens
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.relay import Kind, Relay
from clapas.typing import Array

DENSE_STORAGE = "0"
EXTRAS = ("z", "is_equation", "lower", "upper", "kind")  # beside M and q


@dataclass(frozen=True, eq=False)
class LCPFile:
    """An LCP and what its file says beside it.

    Parameters
    ----------
    problem : LCP
        Named after the file unless the file names it.
    format : str
        "hdf5", "npz", "matrix-market" or "text".
    z : array (n,) or None
        A solution stored in the file; measure it with ``problem.residual(z)``.
    comment : str
        Words behind the data of a text.
    whole : MixedLCP or Relay, optional
        What the file holds, where it is not an LCP; ``problem`` then stands for it.
    back : callable, optional
        The unknowns of the whole from those of the LCP.
    """

    problem: LCP
    format: str
    z: Array | None = None
    comment: str = ""
    whole: MixedLCP | Relay | None = None
    back: Callable[[Array], Array] | None = None


def read_lcp(path: str | os.PathLike[str]) -> LCPFile:
    """Read an LCP, whatever the format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lcp(Path(folder) / "two.npz", LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    ...     read_lcp(Path(folder) / "two.npz").problem
    LCP('two', 2 unknowns, dense)
    """
    path = Path(path)
    with path.open("rb") as file:
        head = file.read(16)
    if h5py.is_hdf5(path):
        return _read_hdf5(path)
    if head.startswith(b"PK"):
        return _read_npz(path)
    return _read_matrix_market(path) if head.startswith(b"%%MatrixMarket") else _read_text(path)


def write_lcp(path: str | os.PathLike[str], problem: LCP, z: npt.ArrayLike | None = None) -> None:
    """Write an LCP, and a solution where the format has a place for it; the ending tells the format."""
    path = Path(path)
    writers: dict[str, Callable[[LCP, Array | None], bytes]] = {
        ".hdf5": _hdf5,
        ".h5": _hdf5,
        ".npz": _npz,
        ".mtx": _matrix_market,
        ".dat": _text,
    }
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise FormatError(f"{path}: cannot tell the format; the name must end in {', '.join(writers)}")
    path.write_bytes(writer(problem, None if z is None else problem.unknowns(z)))


# -------------------------------------------------------------------- HDF5


def _read_hdf5(path: Path) -> LCPFile:
    with h5py.File(path, "r") as file:
        stored = _require(path, file, "M")
        if isinstance(stored, h5py.Group):
            parts = tuple(np.asarray(_require(path, stored, name)) for name in ("data", "indices", "indptr"))
            M: Any = sparse.csr_array(parts, shape=tuple(stored.attrs["shape"]))
        else:
            M = np.asarray(stored)
        q = np.asarray(_require(path, file, "q"))
        extras = {key: file[key][()] for key in EXTRAS if key in file}
        name = str(file.attrs.get("name", "")) or path.stem
    return _file(M, q, extras, name, "hdf5")


def _file(M: Any, q: Any, extras: dict[str, Any], name: str, form: str) -> LCPFile:
    """The LCP of the arrays, or the one that stands for a mixed problem or a relay."""
    z = extras.get("z")
    whole: MixedLCP | Relay
    if "is_equation" in extras:
        whole = MixedLCP(M, q, extras["is_equation"])
    elif "lower" in extras and "upper" in extras:
        kind = np.asarray(extras.get("kind", "primal")).item()
        word = kind.decode() if isinstance(kind, bytes) else str(kind)
        whole = Relay(M, q, extras["lower"], extras["upper"], cast(Kind, word))
    else:
        return LCPFile(LCP(M, q, name=name), form, None if z is None else np.asarray(z))
    lcp, back = whole.as_lcp()
    return LCPFile(LCP(lcp.M, lcp.q, name=name), form, whole=whole, back=back)


def _require(path: Path, group: Any, name: str) -> Any:
    if name not in group:
        raise FormatError(f"{path}: no '{name}' in it; an LCP has M and q (a contact problem: clapas solve)")
    return group[name]


def _hdf5(problem: LCP, z: Array | None) -> bytes:
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file.attrs["name"] = problem.name
        if isinstance(problem.M, sparse.csr_array):
            group = file.create_group("M")
            group.attrs["shape"] = problem.M.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(problem.M, part)
        else:
            file["M"] = problem.M
        file["q"] = problem.q
        if z is not None:
            file["z"] = z
    return memory.getvalue()


# -------------------------------------------------------------------- NPZ


def _read_npz(path: Path) -> LCPFile:
    with np.load(path, allow_pickle=False) as file:
        q = _require(path, file, "q")
        if "M" in file:
            M: Any = file["M"]
        else:
            data, indices, indptr, shape = (
                _require(path, file, f"M_{part}") for part in ("data", "indices", "indptr", "shape")
            )
            M = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
        extras = {key: file[key] for key in EXTRAS if key in file}
    return _file(M, q, extras, path.stem, "npz")


def _npz(problem: LCP, z: Array | None) -> bytes:
    memory = io.BytesIO()
    arrays = {"q": problem.q} | ({} if z is None else {"z": z})
    if isinstance(problem.M, sparse.csr_array):
        arrays |= {f"M_{part}": getattr(problem.M, part) for part in ("data", "indices", "indptr", "shape")}
    else:
        arrays["M"] = problem.M
    np.savez(memory, allow_pickle=False, **arrays)
    return memory.getvalue()


# -------------------------------------------------------------------- Matrix Market


def _read_matrix_market(path: Path) -> LCPFile:
    try:
        rows, columns = scipy_io.mminfo(path)[:2]
        # SciPy's reader divides by the number of rows of a full matrix.
        whole = scipy_io.mmread(path) if rows else np.zeros((0, columns))
    except ValueError as error:
        raise FormatError(f"{path}: not a Matrix Market file after all: {error}") from None
    if columns != rows + 1:
        raise FormatError(f"{path}: a matrix of {rows}×{columns}; an LCP is [M q], n rows and n + 1 columns")
    if not sparse.issparse(whole):
        return LCPFile(LCP(whole[:, :-1], whole[:, -1], name=path.stem), "matrix-market")
    whole = sparse.csr_array(whole)
    q = whole[:, [rows]].toarray().ravel()
    return LCPFile(LCP(whole[:, :rows], q, name=path.stem), "matrix-market")


def _matrix_market(problem: LCP, z: Array | None) -> bytes:
    memory = io.BytesIO()
    q = problem.q[:, None]
    whole = sparse.hstack((problem.M, q)) if problem.is_sparse else np.hstack((problem.dense, q))
    scipy_io.mmwrite(memory, whole, comment=f"[M q] of {problem!r}", precision=17, symmetry="general")
    return memory.getvalue()


# -------------------------------------------------------------------- text


def _read_text(path: Path) -> LCPFile:
    words = Tokens.of_file(path)
    if not words.remaining:
        raise FormatError(f"{path}: the file is empty")
    mixed = read_mixed(words)
    if mixed is not None:
        lcp, back = mixed.as_lcp()
        comment = " ".join(words.words[words.position :])
        return LCPFile(LCP(lcp.M, lcp.q, name=path.stem), "text", comment=comment, whole=mixed, back=back)
    n = words.integer("the number of unknowns")
    is_dense = words.peek() == DENSE_STORAGE
    M = read_matrix(words, "M")
    if M.shape != (n, n):
        raise FormatError(f"{path}: M is {M.shape[0]}×{M.shape[1]}, but {n} unknowns need {n}×{n}")
    q = words.numbers(n, "q")
    problem = LCP(M.toarray() if is_dense else M, q, name=path.stem)
    return LCPFile(problem, "text", comment=" ".join(words.words[words.position :]))


def _text(problem: LCP, z: Array | None) -> bytes:
    n = problem.size
    numbers = [" ".join(f"{x:.17g}" for x in row) for row in (*problem.dense.T, problem.q)]
    return "\n".join([f"{n}", DENSE_STORAGE, f"{n}", f"{n}", f"{n} {n}", *numbers, ""]).encode()
