"""Conversion from the notation of the files to ours: signs and transposes that change on reading.

FCLib and the text files write a global problem as

    M v = H r + f,    u = Hᵀ v + w          (H has a column per contact component)

where this package writes M v + f = Hᵀ r and u = H v + w. So H is transposed and f changes sign;
M, w, r, u, v and mu are the same. A reduced problem, u = W r + q, is the same in both, and so is
the order of components: normal first. Only the writer of FCLib files reverses this; the rest of
the package is not concerned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clapas.convex.section import Section
from clapas.errors import FormatError, ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.problems.validation import SYMMETRY
from clapas.typing import Array

SUFFIXES = {".dat", ".txt", ".hdf5", ".h5"}


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Context that converts a ProblemError into a FormatError naming the file."""
    try:
        yield
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


class Law(NamedTuple):
    """Contact law of a file.

    Parameters
    ----------
    d : int
        Components per contact.
    couples : bool
        Whether these include couples.
    section : Section, optional
        Friction sections that are not circular.
    """

    d: int
    couples: bool = False
    section: Section | None = None

    def make(self, **arguments: Any) -> ContactProblem:
        """Build the problem under this law."""
        if self.couples:
            return RollingProblem(d=self.d, section=self.section, **arguments)
        return ContactProblem(d=self.d, section=self.section, **arguments)


def reduced_problem(
    path: Path, *, W: Any, q: Array, mu: Array, law: Law, symmetrise: bool
) -> tuple[ContactProblem, list[str]]:
    """Build the problem of u = W r + q; the notes say where W is asymmetric."""
    with naming(path):
        problem = law.make(W=W, q=q, mu=mu, name=problem_name(path), symmetrise=symmetrise)
    return problem, _asymmetry_notes("W", W, symmetrise)


def global_problem(
    path: Path, *, M: Any, H: Any, f: Array, w: Array, mu: Array, law: Law, symmetrise: bool
) -> tuple[ContactProblem, list[str]]:
    """Build the problem of M v = H r + f, u = Hᵀ v + w (the letters of the file)."""
    M, notes = mass(path, M, symmetrise)
    with naming(path):
        problem = law.make(
            M=M, H=sparse.csr_array(H.T), f=change_sign(f), w=w, mu=mu, name=problem_name(path)
        )
    return problem, notes


def reduced_rolling(path: Path, *, W: Any, q: Array, mu: Array, rolling_mu: Array) -> RollingProblem:
    """Build the problem of u = W r + q with five rows a contact."""
    with naming(path):
        return RollingProblem.from_delassus(W=W, q=q, mu=mu, rolling_mu=rolling_mu, name=problem_name(path))


def global_rolling(
    path: Path, *, M: Any, H: Any, f: Array, w: Array, mu: Array, rolling_mu: Array
) -> RollingProblem:
    """Build the problem of M v = H r + f, u = Hᵀ v + w with five rows a contact (the letters of the file)."""
    with naming(path):
        return RollingProblem.from_matrices(
            M=M,
            H=sparse.csr_array(H.T),
            f=change_sign(f),
            w=w,
            mu=mu,
            rolling_mu=rolling_mu,
            name=problem_name(path),
        )


def mass(path: Path, M: Any, symmetrise: bool) -> tuple[Any, list[str]]:
    """Reject an asymmetric mass matrix, or symmetrise it on request."""
    notes = _asymmetry_notes("M", M, symmetrise)
    if notes and not symmetrise:
        raise FormatError(f"{path}: {notes[0]}, but a mass matrix must be; read it with symmetrise=True")
    return (sparse.csr_array((M + M.T) * 0.5) if notes else M), notes


def change_sign(f: Array) -> Array:
    """−f, for reading and for writing: exact, and its own inverse."""
    return -f


def problem_name(path: Path) -> str:
    """Name of a file without its known suffixes: 'Stack-32.hdf5.dat' is 'Stack-32'."""
    while path.suffix in SUFFIXES:
        path = path.with_suffix("")
    return path.name


def _asymmetry_notes(name: str, matrix: Any, symmetrised: bool) -> list[str]:
    matrix = sparse.csr_array(matrix)
    if matrix.shape[0] != matrix.shape[1] or matrix.nnz == 0:
        return []
    largest = float(np.max(np.abs(matrix.data), initial=0.0))
    asymmetry = float(abs(matrix - matrix.T).max())
    if asymmetry <= SYMMETRY * largest:
        return []
    remedy = f"; it was replaced by ½({name} + {name}ᵀ)" if symmetrised else ""
    return [f"{name} is not symmetric: |{name} - {name}ᵀ| is {asymmetry / largest:.1e} of |{name}|{remedy}"]
