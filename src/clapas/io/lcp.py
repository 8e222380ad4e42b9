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
(:mod:`clapas.io.mixed`): they are read as an equivalent LCP, with the map back to their unknowns.

A format is recognised by the content when reading and by the suffix (``.hdf5``, ``.h5``, ``.npz``, ``.mtx``,
``.dat``) when writing. Numbers are written with all their digits; the text is always written with M full.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import numpy.typing as npt
from scipy import io as scipy_io
from scipy import sparse

from clapas.errors import Error, FormatError
from clapas.io import convention
from clapas.io.hdf5 import DAMAGE, dataset, first_line, reading, require_regular
from clapas.io.heaps import check_heaps
from clapas.io.mixed import read_mixed
from clapas.io.siconos import read_matrix
from clapas.io.texts import attribute, text
from clapas.io.tokens import Tokens
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.relay import Kind, Relay
from clapas.typing import Array

DENSE_STORAGE = "0"
NUMBERS = re.compile(
    rb"(?:\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)(?=\s|$))*\s*", re.IGNORECASE
)
EMPTY_ROWS = 10**6  # allowed in a sparse matrix: empty rows take no bytes in the file
EXTRAS = ("z", "is_equation", "lower", "upper", "kind")  # beside M and q


@dataclass(frozen=True, eq=False)
class LCPFile:
    """An LCP and the other contents of its file.

    Parameters
    ----------
    problem : LCP
        Named after the file unless the file names it.
    format : str
        "hdf5", "npz", "matrix-market" or "text".
    z : array (n,) or None
        A solution stored in the file; measure it with ``problem.residual(z)``.
    comment : str
        Text after the data of a text file.
    whole : MixedLCP or Relay, optional
        The stored problem, if it is not an LCP; ``problem`` is then its equivalent.
    back : callable, optional
        Map from the unknowns of the LCP to those of ``whole``.
    """

    problem: LCP
    format: str
    z: Array | None = None
    comment: str = ""
    whole: MixedLCP | Relay | None = None
    back: Callable[[Array], Array] | None = None


def read_lcp(path: str | os.PathLike[str]) -> LCPFile:
    """Read an LCP in any of the formats.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lcp(Path(folder) / "two.npz", LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    ...     read_lcp(Path(folder) / "two.npz").problem
    LCP('two', 2 unknowns, dense)
    """
    path = Path(path)
    require_regular(path)
    with path.open("rb") as file:
        head = file.read(16)
    is_hdf5 = h5py.is_hdf5(path)
    reader = _read_hdf5 if is_hdf5 else _read_npz if head.startswith(b"PK") else _read_text
    if head.startswith(b"%%MatrixMarket"):
        reader = _read_matrix_market
    with convention.naming(path):
        return reader(path)


def write_lcp(path: str | os.PathLike[str], problem: LCP, z: npt.ArrayLike | None = None) -> None:
    """Write an LCP, and a solution where the format stores one; the suffix sets the format."""
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
    where = str(path)
    check_heaps(path)
    with reading(where), h5py.File(path, "r") as file:
        stored, _ = _require(path, file, "M"), _require(path, file, "q")
        q = _array(file, "q", where)
        if isinstance(stored, h5py.Group):
            data, indices, indptr = (
                _array(stored, name, f"{where}: M") for name in ("data", "indices", "indptr")
            )
            shape = attribute(stored, "shape", f"{where}: M")
            M: Any = _compressed(path, data, indices, indptr, shape, np.size(q))
        else:
            M = _array(file, "M", where)
        extras = {
            key: text(file, key, where) if key == "kind" else _array(file, key, where)
            for key in EXTRAS
            if key in file
        }
        name = str(attribute(file, "name", where) or path.stem)
    return _file(path, M, q, extras, name, "hdf5")


def _array(group: Any, name: str, where: str) -> Any:
    """A data set of numbers."""
    data = dataset(group, name, where)
    if data.dtype.kind not in "iufb":
        raise FormatError(f"{where}: '{name}' must be an array of numbers, got {data.dtype}")
    return data[()]


def _compressed(path: Path, data: Any, indices: Any, indptr: Any, shape: Any, rows: int) -> sparse.csr_array:
    """CSR matrix from its three arrays, checked for consistency: kernels do not check their indices."""
    if shape is None:
        raise FormatError(f"{path}: M has no attribute 'shape'")
    size = tuple(int(n) for n in np.ravel(shape))
    indices, indptr = (np.asarray(part) for part in (indices, indptr))
    if size != (rows, rows):
        raise FormatError(f"{path}: M is declared as {size}, but q has {rows} values")
    if not all(part.ndim == 1 and part.dtype.kind in "iu" for part in (indices, indptr)):
        raise FormatError(f"{path}: 'indices' and 'indptr' of M must be lists of whole numbers")
    if len(indptr) != rows + 1 or indptr[0] != 0 or (np.diff(indptr.astype(np.int64)) < 0).any():
        raise FormatError(f"{path}: 'indptr' of M must hold {rows + 1} increasing pointers from 0")
    if not len(indices) == np.size(data) == int(indptr[-1]):
        raise FormatError(
            f"{path}: M announces {indptr[-1]} entries, but 'indices' has {len(indices)} and 'data' "
            f"{np.size(data)}"
        )
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < rows:
        raise FormatError(f"{path}: 'indices' of M must be from 0 to {rows - 1}")
    return sparse.csr_array((data, indices, indptr), shape=size)


def _numeric(path: Path, name: str, value: Any) -> Array:
    """An array of numbers, as doubles."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise FormatError(f"{path}: '{name}' must be an array of numbers, got {array.dtype}")
    return array.astype(np.float64)


def _file(path: Path, M: Any, q: Any, extras: dict[str, Any], name: str, form: str) -> LCPFile:
    """The LCP of the arrays, or the LCP equivalent to a mixed problem or a relay."""
    q = _numeric(path, "q", q)
    M = M.astype(np.float64) if sparse.issparse(M) else _numeric(path, "M", M)
    extras = {key: value if key == "kind" else _numeric(path, key, value) for key, value in extras.items()}
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
    # Headers of this version have checksums; without them one wrong bit in a text can crash the library.
    with h5py.File(memory, "w", libver=("v110", "v110")) as file:
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
    with reading(str(path)), np.load(path, allow_pickle=False) as file:
        q = _require(path, file, "q")
        if "M" in file:
            M: Any = file["M"]
        else:
            data, indices, indptr, shape = (
                _require(path, file, f"M_{part}") for part in ("data", "indices", "indptr", "shape")
            )
            M = _compressed(path, data, indices, indptr, shape, np.size(q))
        extras = {key: file[key] for key in EXTRAS if key in file}
    return _file(path, M, q, extras, path.stem, "npz")


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
    content = path.read_bytes()
    _check_words(path, content)
    # SciPy's reader crashes if the last line is not a number and has no newline.
    text = io.BytesIO(content + b"\n")
    try:
        rows, columns, entries = scipy_io.mminfo(text)[:3]
        if columns != rows + 1:
            raise FormatError(
                f"{path}: a matrix of {rows}×{columns}; an LCP is [M q], n rows and n + 1 columns"
            )
        size = len(content)
        if entries > size or rows > max(size, EMPTY_ROWS):
            raise FormatError(
                f"{path}: {rows} rows and {entries} entries are declared, but the file has {size} bytes"
            )
        # SciPy's reader divides by the number of rows of a full matrix.
        text.seek(0)
        whole = scipy_io.mmread(text) if rows else np.zeros((0, columns))
    except Error:
        raise
    except DAMAGE as error:
        raise FormatError(f"{path}: not a Matrix Market file after all: {first_line(error)}") from None
    whole = whole.astype(np.float64) if whole.dtype.kind in "iufb" else _numeric(path, "[M q]", whole)
    if not sparse.issparse(whole):
        return LCPFile(LCP(whole[:, :-1], whole[:, -1], name=path.stem), "matrix-market")
    whole = sparse.csr_array(whole)
    q = whole[:, [rows]].toarray().ravel()
    return LCPFile(LCP(whole[:, :rows], q, name=path.stem), "matrix-market")


def _check_words(path: Path, content: bytes) -> None:
    """Reject words that are not numbers: SciPy reads them partially, and crashes on a zero byte."""
    for number, line in enumerate(content.splitlines(), 1):
        if b"\0" in line or not (line.startswith(b"%") or NUMBERS.fullmatch(line)):
            raise FormatError(
                f"{path}, line {number}: not a number: {line[:40].decode('ascii', 'replace')!r}"
            )


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
