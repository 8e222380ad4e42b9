"""Mixed complementarity problems in text, as the Siconos platform prints them.

Two forms, both of equations for u beside complementarity conditions for v::

    A u + C v + a = 0,    0 ≤ D u + B v + b ⟂ v ≥ 0        u (n), v (m)

    1 s n m  block ends  block kinds  M  q  [A B C D a b]    kind 0: equations, 1: conditions; M as in siconos
    0 1 n m  A B C D a b                                     by rows
    n m n+m  A B C D a b                                     by rows; old files

A text that begins with "1 0 …" may also be an LCP with one unknown: the numbers that follow decide.
"""

from __future__ import annotations

import numpy as np

from clapas.errors import FormatError
from clapas.io.siconos import read_matrix
from clapas.io.tokens import Tokens
from clapas.problems.mixed_lcp import MixedLCP
from clapas.typing import Array


def read_mixed(words: Tokens) -> MixedLCP | None:
    """Read a mixed problem from the start of a text; return None and consume nothing if it is not one."""
    head = [words.peek(k) for k in range(5)]
    if not all(word.isdecimal() for word in head[:3]):
        return None
    first, second, third = (int(word) for word in head[:3])
    fourth = int(head[3]) if head[3].isdecimal() else 0
    # One unknown by blocks without a block, "1 1 1 1 0 q", is an LCP; a mixed problem has a matrix too.
    if first == 1 and second in (0, 1) and head[4] == "0" and words.remaining > 6:
        return _by_blocks(words)
    if (first, second) == (0, 1) and third + fourth > 0:
        words.integers(2, "the storage kinds")
        return _by_four_matrices(words, words.integer("n"), words.integer("m"))
    if second > 0 and third == first + second and words.remaining >= 3 + _numbers(first, second):
        n, m = words.integer("n"), words.integer("m")
        words.integer("the number of rows")
        return _by_four_matrices(words, n, m)
    if second > 2:
        raise FormatError(
            f"{words.path}: neither an LCP (n, then a matrix) nor a mixed problem of {first} equations and "
            f"{second} conditions: {third} rows and {words.remaining} words do not fit. Only square mixed "
            "problems are read"
        )
    return None


def _numbers(n: int, m: int) -> int:
    return (n + m) * (n + m + 1)


def _by_blocks(words: Tokens) -> MixedLCP:
    words.integers(2, "the storage kinds")
    n, m = words.integer("the number of equations"), words.integer("the number of conditions")
    ends = [words.integer("the first row of the blocks")]
    while ends[-1] < n + m:
        ends.append(words.integer("the end of a block"))
        if ends[-1] <= ends[-2]:
            words.fail("ends of blocks that increase", ahead=-1)
    kinds = words.integers(len(ends) - 1, "the kinds of the blocks, 0 for equations and 1 for conditions")
    is_equation = np.repeat(kinds == 0, np.diff(ends))
    if ends[-1] != n + m or kinds.max(initial=0) > 1 or int(is_equation.sum()) != n:
        raise FormatError(f"{words.path}: the blocks do not make {n} equations and {m} conditions")
    M = read_matrix(words, "M")
    if M.shape != (n + m, n + m):
        raise FormatError(
            f"{words.path}: M is {M.shape[0]}×{M.shape[1]}, but {n} equations and {m} conditions need "
            f"{n + m}×{n + m}; only square mixed problems are read"
        )
    return MixedLCP(M.toarray(), words.numbers(n + m, "q"), is_equation)


def _by_four_matrices(words: Tokens, n: int, m: int) -> MixedLCP:
    def matrix(name: str, rows: int, columns: int) -> Array:
        return words.numbers(rows * columns, f"values of {name} ({rows}×{columns})").reshape(rows, columns)

    A, B, C, D = matrix("A", n, n), matrix("B", m, m), matrix("C", n, m), matrix("D", m, n)
    q = np.concatenate((words.numbers(n, "a"), words.numbers(m, "b")))
    return MixedLCP(np.block([[A, C], [D, B]]), q, np.arange(n + m) < n)
