"""Plain text files of contact problems, as the Siconos platform prints them.

A file is a list of words; line breaks have no meaning::

    d  n  W  q  mu              local:   u = W r + q
    d  n  M  H  f  w  mu        global:  M v = H r + f,  u = Hᵀ v + w

with d = 2, 3, or 5 for contacts that resist rolling (normal, two tangents, two axes of rolling; coefficients
mu_r follow mu), and some end with a single 0 or 1, a flag of old versions, which is ignored. A matrix is its
storage kind, its rows and columns, and then

* 0, dense: rows and columns once more, the values by columns;
* 1, block sparse: number of blocks, of block rows and of block columns; the last row of each block
  row (cumulative sizes) and the last column of each block column; the lengths of two index arrays
  and the arrays (compressed rows of blocks); then each block's number and its values by columns;
* 2, sparse: the layout (1 triplets, 2 columns, 3 rows) and the output of CSparse, a few words and
  ``rows-by-columns, nzmax: … nnz: …`` followed by ``row column : value`` or, column by column, by
  ``col j : locations a to b`` and ``row : value``. It carries six digits only.

:func:`read_matrix` reads a single matrix, for other problems in this format.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.errors import FormatError
from clapas.io import convention
from clapas.io.record import Kind, ProblemFile
from clapas.io.tokens import Tokens
from clapas.problems.rolling import RollingProblem
from clapas.typing import Array, Indices

LONGEST_HEADER = 40  # words of CSparse's header
BY_ROWS = 3
ROLLING = 5  # components of a contact that resists rolling


def read(path: Path, *, kind: Kind = "auto", symmetrise: bool = False) -> ProblemFile:
    """Read a text file; see :func:`clapas.io.read`, which also reads FCLib files.

    Local and global files never have the same number of words, which ``kind="auto"`` uses; where a
    damaged file fits neither, a name beginning with GFC counts as global.
    """
    words = Tokens.of_file(path)
    if not words.remaining:
        raise FormatError(f"{path}: the file is empty")
    if words.peek() not in ("2", "3", "5"):
        words.fail("the dimension, 2 or 3, or 5 with rolling (a contact problem), at the start")
    d = words.integer("the dimension")
    n = words.integer("the number of contacts")
    first = read_matrix(words, "the first matrix")
    kind_read = _kind(words, first, n, d) if kind == "auto" else kind
    if d == ROLLING:
        rolling = _rolling(words, first, n, kind_read)
        return ProblemFile(problem=rolling, format="siconos", kind=kind_read, path=path)
    if kind_read == "local":
        q, mu = _local(words, first, n, d)
        problem, notes = convention.reduced_problem(
            path, W=first, q=q, mu=mu, law=convention.Law(d), symmetrise=symmetrise
        )
    else:
        H, f, w, mu = _global(words, first, n, d)
        problem, notes = convention.global_problem(
            path, M=first, H=H, f=f, w=w, mu=mu, law=convention.Law(d), symmetrise=symmetrise
        )
    return ProblemFile(problem=problem, format="siconos", kind=kind_read, path=path, notes=tuple(notes))


def _kind(words: Tokens, first: sparse.csr_array, n: int, d: int) -> Literal["local", "global"]:
    size = n * d
    coefficients = 2 * n if d == ROLLING else n
    if first.shape == (size, size) and words.remaining in (size + coefficients, size + coefficients + 1):
        return "local"
    second = (words.peek(0), words.peek(1), words.peek(2))
    is_matrix = second[0] in ("0", "1", "2") and second[1:] == (str(first.shape[0]), str(size))
    named_global = words.path.name.lower().startswith(("gfc", "grfc"))
    return "global" if is_matrix or named_global else "local"


def _local(words: Tokens, W: sparse.csr_array, n: int, d: int) -> tuple[Array, Array]:
    size = n * d
    if W.shape != (size, size):
        raise FormatError(
            f"{words.path}: W is {W.shape[0]}×{W.shape[1]}, but {n} contacts in {d}-D need {size}×{size}"
        )
    q, mu = words.numbers(size, "q"), words.numbers(n, "mu")
    _end(words)
    return q, mu


def _global(
    words: Tokens, M: sparse.csr_array, n: int, d: int
) -> tuple[sparse.csr_array, Array, Array, Array]:
    m, size = M.shape[0], n * d
    if M.shape[1] != m:
        raise FormatError(f"{words.path}: M is {m}×{M.shape[1]}, expected a square matrix")
    H = read_matrix(words, "H")
    if H.shape != (m, size):
        raise FormatError(
            f"{words.path}: H is {H.shape[0]}×{H.shape[1]}, but {n} contacts in {d}-D and M of size {m} "
            f"need {m}×{size}"
        )
    f, w, mu = words.numbers(m, "f"), words.numbers(size, "w"), words.numbers(n, "mu")
    _end(words)
    return H, f, w, mu


def _rolling(
    words: Tokens, first: sparse.csr_array, n: int, kind: Literal["local", "global"]
) -> RollingProblem:
    size, m = ROLLING * n, first.shape[0]
    if kind == "local":
        if first.shape != (size, size):
            raise FormatError(f"{words.path}: W is {m}×{first.shape[1]}, but {n} contacts need {size}×{size}")
        q = words.numbers(size, "q")
    else:
        H = read_matrix(words, "H")
        if first.shape[1] != m or H.shape != (m, size):
            raise FormatError(
                f"{words.path}: M is {m}×{first.shape[1]} and H {H.shape[0]}×{H.shape[1]}, but {n} contacts "
                f"with rolling need m×m and m×{size}"
            )
        f, w = words.numbers(m, "f"), words.numbers(size, "w")
    mu, rolling_mu = words.numbers(n, "mu"), words.numbers(n, "mu_r")
    _end(words)
    if kind == "local":
        return convention.reduced_rolling(words.path, W=first, q=q, mu=mu, rolling_mu=rolling_mu)
    return convention.global_rolling(words.path, M=first, H=H, f=f, w=w, mu=mu, rolling_mu=rolling_mu)


def _end(words: Tokens) -> None:
    if words.remaining == 1 and words.peek() in ("0", "1"):
        return
    if words.remaining:
        words.fail("the end of the file after mu, or a last 0 or 1")


# -------------------------------------------------------------------- matrices


def read_matrix(words: Tokens, name: str) -> sparse.csr_array:
    """Read a matrix of any storage kind from a text; ``name`` appears in errors.

    Examples
    --------
    >>> read_matrix(Tokens("0  2 2  2 2  1.0 2.0  3.0 4.0", Path("demo.dat")), "M").toarray()
    array([[1., 3.],
           [2., 4.]])
    """
    if words.peek() not in ("0", "1", "2"):
        words.fail(f"the storage kind of {name}: 0 dense, 1 block sparse or 2 sparse")
    storage = words.integer("the storage kind")
    rows, columns = words.integer(f"the rows of {name}"), words.integer(f"the columns of {name}")
    if max(rows, columns) > len(words.words):  # the file has a vector entry for each
        words.fail(
            f"at most {len(words.words)} rows and columns of {name}, as many as the file has words", ahead=-1
        )
    reader = (_dense, _block_sparse, _sparse)[storage]
    return reader(words, rows, columns, name)


def _dense(words: Tokens, rows: int, columns: int, name: str) -> sparse.csr_array:
    for size, label in ((rows, "rows"), (columns, "columns")):
        if words.peek() != str(size):
            words.fail(f"the {label} of {name} once more, {size}")
        words.integer(label)
    values = words.numbers(rows * columns, f"values of {name} ({rows}×{columns})")
    return sparse.csr_array(values.reshape(columns, rows).T)


def _block_sparse(words: Tokens, rows: int, columns: int, name: str) -> sparse.csr_array:
    n_blocks = words.integer(f"the number of blocks of {name}")
    if n_blocks == 0:
        return sparse.csr_array((rows, columns))
    n_block_rows = words.integer(f"the number of block rows of {name}")
    n_block_columns = words.integer(f"the number of block columns of {name}")
    row_edges = _edges(words, n_block_rows, rows, f"block rows of {name}")
    column_edges = _edges(words, n_block_columns, columns, f"block columns of {name}")
    block_row, block_column = _block_places(words, n_blocks, n_block_rows, n_block_columns, name)
    entries: list[tuple[Array, Indices, Indices]] = []
    for number, (i, j) in enumerate(zip(block_row, block_column, strict=True)):
        if words.peek() != str(number):
            words.fail(f"the number of block {number} of {name}")
        words.integer("the block number")
        height, width = row_edges[i + 1] - row_edges[i], column_edges[j + 1] - column_edges[j]
        values = words.numbers(height * width, f"values of block {number} of {name}")
        column, row = np.divmod(np.arange(height * width), max(height, 1))
        entries.append((values, row_edges[i] + row, column_edges[j] + column))
    values, row, column = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array(sparse.coo_array((values, (row, column)), shape=(rows, columns)))


def _edges(words: Tokens, count: int, size: int, label: str) -> Indices:
    """Read cumulative sizes; return the start of each block, and the end."""
    ends = words.integers(count, f"the cumulative sizes of the {label}")
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if count else 0) != size:
        words.fail(f"cumulative sizes of the {label} that increase to {size}", ahead=-1 if count else 0)
    return np.concatenate(([0], ends))


def _block_places(
    words: Tokens, n_blocks: int, n_rows: int, n_columns: int, name: str
) -> tuple[Indices, Indices]:
    """Read the two index arrays; return the block row and block column of each block."""
    n_pointers = words.integer(f"the number of row pointers of {name}")
    n_places = words.integer(f"the number of block places of {name}")
    if not 1 <= n_pointers <= n_rows + 1 or n_places != n_blocks:
        words.fail(f"at most {n_rows + 1} row pointers and {n_blocks} places for {name}", ahead=-1)
    # Pointers of trailing empty block rows may be left out.
    pointers = words.integers(n_pointers, f"the row pointers of {name}")
    if pointers[0] != 0 or (np.diff(pointers) < 0).any() or pointers[-1] != n_blocks:
        words.fail(f"row pointers of {name} that increase from 0 to {n_blocks}", ahead=-1)
    places = words.integers(n_places, f"the block columns of {name}")
    if places.max() >= n_columns:
        words.fail(f"block columns of {name} below {n_columns}", ahead=int(places.argmax()) - n_places)
    return np.repeat(np.arange(n_pointers - 1), np.diff(pointers)), places


def _sparse(words: Tokens, rows: int, columns: int, name: str) -> sparse.csr_array:
    layout = words.integer("the sparse layout") if words.peek().isdecimal() else 0
    triplets = _csparse_header(words, rows, columns, name)
    words.literal("nzmax:")
    words.integer("nzmax")
    words.literal("nnz:")
    count = words.integer(f"the number of entries of {name}")
    if triplets:
        row, column, values = words.table(count, "ii:x", f"entries of {name}")
    else:
        words.literal("1-norm:")
        words.word("the norm")
        lines = rows if layout == BY_ROWS else columns
        column, row, values = _lines(words, lines, count, name)
        if layout == BY_ROWS:
            row, column = column, row
    if np.max(row, initial=-1) >= rows or np.max(column, initial=-1) >= columns:
        raise FormatError(f"{words.path}: entries of {name} outside its {rows}×{columns}")
    places = row.astype(np.int64), column.astype(np.int64)
    return sparse.csr_array(sparse.coo_array((values, places), shape=(rows, columns)))


def _csparse_header(words: Tokens, rows: int, columns: int, name: str) -> bool:
    """Take 'CSparse Version … rows-by-columns,'; return whether triplets follow."""
    expected = f"a print of CSparse with {name}, '{rows}-by-{columns},'"
    triplets = False
    for _ in range(LONGEST_HEADER):
        if re.fullmatch(r".+-by-.+", words.peek()):
            break
        triplets = words.word(expected) == "triplet:"
    if words.peek().removesuffix(",") != f"{rows}-by-{columns}":
        words.fail(expected)
    words.word(expected)
    return triplets


def _lines(words: Tokens, n_lines: int, count: int, name: str) -> tuple[Array, Array, Array]:
    """Read the compressed lines 'col j : locations a to b' and their entries."""
    line, place, values = [np.empty(0)], [np.empty(0)], [np.empty(0)]
    passed = 0
    for j in range(n_lines):
        for literal in ("col", str(j), ":", "locations", str(passed), "to"):
            words.literal(literal)
        last = words.word(f"the last location of column {j} of {name}")
        size = int(last) + 1 - passed if last.removeprefix("-").isdecimal() else -1
        if size < 0 or passed + size > count:
            words.fail(f"the last location of column {j} of {name}, {passed - 1} to {count - 1}", ahead=-1)
        index, entries = words.table(size, "i:x", f"entries of column {j} of {name}")
        line.append(np.full(size, float(j)))
        place.append(index)
        values.append(entries)
        passed += size
    if passed != count:
        words.fail(f"{count} entries of {name}, as announced; its columns hold {passed}")
    return np.concatenate(line), np.concatenate(place), np.concatenate(values)
