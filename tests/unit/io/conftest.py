"""Fixtures of the file tests: the published problems, and a printer of the text format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from clapas.problems import ContactProblem

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"the published problems are not here: no folder {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def print_matrix() -> Callable[..., str]:
    return matrix_text


@pytest.fixture(scope="session")
def print_problem() -> Callable[..., str]:
    return problem_text


def matrix_text(A: np.ndarray, storage: str, block: tuple[int, int] = (1, 1)) -> str:
    """A matrix in one of the text storages: dense, blocks, triplets, columns, rows."""
    A = np.asarray(A, dtype=float)
    m, n = A.shape
    if storage == "dense":
        return f"0\n{m}\n{n}\n{m}\t{n}\n" + "".join(_line(column) for column in A.T)
    if storage == "blocks":
        return f"1\n{m}\n{n}\n" + _blocks(A, block)
    greeting = "CSparse, as printed\n"
    if storage == "triplets":
        entries = [f"    {i} {j} : {float(A[i, j])!r}\n" for i, j in np.argwhere(A)]
        return (
            f"2\n{m}\n{n}\n1\n{greeting}triplet: {m}-by-{n}, nzmax: {len(entries)} nnz: {len(entries)}\n"
            + "".join(entries)
        )
    layout, lines = {"columns": (2, A.T), "rows": (3, A)}[storage]
    count = np.count_nonzero(A)
    text = f"2\n{m}\n{n}\n{layout}\n{greeting}{m}-by-{n}, nzmax: {count} nnz: {count}, 1-norm: 1.5\n"
    passed = 0
    for j, line in enumerate(lines):
        places = np.flatnonzero(line)
        text += f"    col {j} : locations {passed} to {passed + places.size - 1}\n"
        text += "".join(f"      {i} : {float(line[i])!r}\n" for i in places)
        passed += places.size
    return text


def _blocks(A: np.ndarray, block: tuple[int, int]) -> str:
    rows, columns = (range(0, size, step) for size, step in zip(A.shape, block, strict=True))
    pointers, places, bodies = [0], [], ""
    for i in rows:
        for number, j in enumerate(columns):
            values = A[i : i + block[0], j : j + block[1]]
            if values.any():
                bodies += f"{len(places)}\n" + "".join(f"{float(x)!r}\n" for x in values.T.ravel())
                places.append(number)
        pointers.append(len(places))
    if not places:
        return "0\n"
    ends = [
        [min(i + step, size) for i in range(0, size, step)] for size, step in zip(A.shape, block, strict=True)
    ]
    return (
        f"{len(places)}\n{len(rows)}\n{len(columns)}\n{_line(ends[0])}{_line(ends[1])}"
        f"{len(pointers)}\n{len(places)}\n{_line(pointers)}{_line(places)}{bodies}"
    )


def _line(values: object) -> str:
    return " ".join(repr(value) for value in np.asarray(values).tolist()) + "\n"


def problem_text(problem: ContactProblem, *storages: str) -> str:
    """A problem as text; H transposed and f changed in sign, as the files have them."""
    d, n = problem.d, problem.n_contacts
    text = f"{d}\n{n}\n"
    if problem.form == "reduced":
        text += matrix_text(problem.W.toarray(), storages[0], (d, d))
        return text + _line(problem.q.ravel()) + _line(problem.mu)
    text += matrix_text(problem.M.toarray(), storages[0], (3, 3))
    text += matrix_text(sparse.csr_array(problem.H.T).toarray(), storages[-1], (3, d))
    return text + _line(-problem.f) + _line(problem.w.ravel()) + _line(problem.mu)
