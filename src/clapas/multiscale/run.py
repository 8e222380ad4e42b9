"""A run of substructures, iterated by one compiled call for each half of an iteration.

Called one by one, each substructure costs the interpreter a dozen operations on some hundred numbers, as long
as the work itself, and threads take turns at the interpreter. Here the arrays of neighbours stand one after
another and a compiled loop goes through them, so that a thread asks the interpreter for nothing until its
half is done. The operations on each are those of :class:`~clapas.multiscale.substructure.Substructure`.

The time of an iteration is that of reading the matrices. Substructures that are alike have the same ones to
the last bit (a grid of equal modules has nine different substructures, by where the rim is): each is kept
once, on a shelf that all runs share, and stays in the caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.multiscale.kernels import (
    corrected,
    interior_load,
    meet_interfaces,
    meet_springs,
    split_trace,
    stretched,
)
from clapas.multiscale.laws import Springs
from clapas.multiscale.stages import Stages
from clapas.multiscale.substructure import Substructure
from clapas.typing import Array, Indices

# Columns of the table of places: where the numbers of each substructure begin in the arrays of the run.
# Those of the matrices may coincide.
DOF, ROW, TRACE, MACRO, COARSE, INVERSE, LIFT, SPREAD, FLEXIBILITY, RIGID, ANSWER, BASIS = range(12)
VALUES = {  # of the stages
    **dict.fromkeys(("l", "a", "e", "t", "t_hat", "e_hat", "e_before"), ROW),
    **dict.fromkeys(("U_micro", "F_micro", "h", "sent"), TRACE),
    **dict.fromkeys(("u_macro", "f_macro"), MACRO),
    "U": DOF,
}
MATRICES = {
    "inverse": INVERSE,
    "_lift": LIFT,
    "_spread": SPREAD,
    "flexibility": FLEXIBILITY,
    "rigid": RIGID,
    "_answer": ANSWER,
    "R": BASIS,
}


class Shelf:
    """The matrices of all substructures, each that differs once; threads that share them share caches.

    Parameters
    ----------
    parts : sequence of Substructure
        Their matrices become views of those on the shelf.
    """

    def __init__(self, parts: Sequence[Substructure]) -> None:
        self.matrices: dict[str, Array] = {}
        self.starts: dict[str, list[int]] = {}
        for name in MATRICES:
            whole, starts = _distinct([getattr(part, name) for part in parts])
            for part, start in zip(parts, starts, strict=True):
                own = getattr(part, name)
                setattr(part, name, whole[start : start + own.size].reshape(own.shape))
            self.matrices[name], self.starts[name] = whole, starts


class Run(Stages):
    """Neighbouring substructures with their arrays one after another.

    Parameters
    ----------
    parts : sequence of Substructure
        Of springs, each with its inverse.
    shelf : Shelf
        Their matrices, and those of other runs.
    first : int
        Number of the first of them on the shelf.
    """

    def __init__(self, parts: Sequence[Substructure], shelf: Shelf, first: int = 0) -> None:
        self.parts, self.first = parts, first
        self.renew(shelf)

    def renew(self, shelf: Shelf) -> None:
        """Take the matrices of the substructures, at first and after they were factorised again."""
        parts = self.parts
        self.at = _places(parts)
        self.matrices = shelf.matrices
        for name, column in MATRICES.items():
            self.at[:-1, column] = shelf.starts[name][self.first : self.first + len(parts)]
        self.B = _joined_rows([part.B for part in parts])
        self.Bt = _joined_rows([part.transposed for part in parts])
        self.dofs = np.concatenate([part.dofs for part in parts])
        self.scale, self.signs = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("scale", "signs")
        )
        ends = self.at[-1]
        self.load, self.U0, self.g = np.empty(ends[DOF]), np.empty(ends[DOF]), np.empty(ends[MACRO])
        for name, column in VALUES.items():
            setattr(self, name, np.zeros(ends[column]))

    @staticmethod
    def takes(part: Substructure) -> bool:
        """Whether a substructure may stand in a run."""
        return isinstance(part.law, Springs) and part.inverse is not None

    def join(self) -> None:
        """Take laws, loads, directions and values from the substructures, and share the values with them.

        From then on the values of a substructure are views of those of the run, until it makes its own.
        """
        laws = [_springs(part) for part in self.parts]
        self.k, self.t0 = (np.concatenate([getattr(law, name) for law in laws]) for name in ("k", "t0"))
        self.is_cable = np.concatenate([law.is_cable for law in laws])
        self.F = np.concatenate([part.F for part in self.parts])
        self.rest = np.concatenate([part.rest for part in self.parts])
        for name, column in VALUES.items():
            if all(hasattr(part, name) for part in self.parts):  # all but at the first linear stage
                np.concatenate([getattr(part, name) for part in self.parts], out=getattr(self, name))
            for part, own in zip(self.parts, self._slices(column), strict=True):
                setattr(part, name, getattr(self, name)[own])

    def _slices(self, column: int) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.at[:-1, column], self.at[1:, column], strict=True)]

    def of_links(self, values: Array) -> Array:
        """Sum of a value of the links, of each substructure."""
        return np.array([values[own].sum() for own in self._slices(ROW)])

    def of_interfaces(self, values: Array) -> Array:
        """Sum of a value of the interfaces, of each substructure."""
        return np.array([values[own].sum() for own in self._slices(TRACE)])

    # ------------------------------------------------------------------ the halves of an iteration

    def predict(self) -> Array:
        """First half of a linear stage; what the coarse problem needs, one substructure after the other."""
        answers = np.empty(self.at[-1, COARSE])
        given = (self.F, *self.Bt, self.a, self.dofs, self.scale, self.h)
        inverse, lift, answer = (self.matrices[name] for name in ("inverse", "_lift", "_answer"))
        predict_all(self.at, *given, inverse, lift, answer, self.load, self.U0, self.g, answers)
        return answers

    def correct(self, coarse_values: Array) -> Array:
        """Second half, under macro forces and rigid parts; returns the signed macro displacements."""
        give, motions, shapes = (self.matrices[name] for name in ("flexibility", "rigid", "_spread"))
        interfaces = (self.matrices["R"], self.dofs, self.scale, self.h)
        links = (*self.B, self.a, self.l)
        traces = (self.u_macro, self.f_macro, self.U_micro, self.F_micro)
        correct_all(
            self.at, coarse_values, self.signs, self.g, self.U0, give, motions, shapes, *links, *interfaces,
            self.U, self.e, self.t, *traces,
        )  # fmt: skip
        return np.asarray(self.signs * self.u_macro)

    def local(self, relaxation: float, together: None) -> Array:
        """Local stage of the links; returns what the neighbours across the interfaces need."""
        self.e_before[:] = self.e_hat
        laws = (self.k, self.t0, self.is_cable)
        meet_springs(*laws, self.t, self.e, self.l, relaxation, self.t_hat, self.e_hat, self.a)
        return np.asarray(self.U_micro - self.F_micro)

    def respond(self, coarse_values: Array, relaxation: float, together: None) -> Array:
        """End of the linear stage and local stage of the links; returns what the neighbours need."""
        self.correct(coarse_values)
        return self.local(relaxation, together)

    def receive(self, message: Array, relaxation: float) -> None:
        """Local stage of the interfaces, from what the neighbours sent."""
        meet_interfaces(message, relaxation, self.U_micro, self.F_micro, self.sent, self.h)

    def proceed(self, message: Array, relaxation: float) -> Array:
        """Local stage of the interfaces and first half of the next linear stage."""
        self.receive(message, relaxation)
        return self.predict()


def _places(parts: Sequence[Substructure]) -> Indices:
    """The table of places (substructures + 1 × columns); those of matrices are still to be found."""
    sizes = []
    for part in parts:
        n, g, r, m = len(part.F), part.n_macro, part.rigid.shape[1], len(part.dofs)
        sizes.append([n, len(part.l), m, g, g + r])
    at = np.zeros((len(parts) + 1, BASIS + 1), dtype=np.int64)
    at[1:, : COARSE + 1] = np.cumsum(sizes, axis=0)
    return at


def _distinct(matrices: Sequence[Array]) -> tuple[Array, list[int]]:
    """The matrices that differ, one after another, and where each of the given ones begins among them."""
    found: dict[bytes, int] = {}
    kept, starts, end = [], [], 0
    for matrix in matrices:
        key = hashlib.blake2b(np.ascontiguousarray(matrix).data).digest() + bytes(str(matrix.shape), "ascii")
        if key not in found:
            found[key] = end
            kept.append(matrix.ravel())
            end += matrix.size
        starts.append(found[key])
    return np.concatenate(kept), starts


def _joined_rows(matrices: Sequence[Any]) -> tuple[Indices, Indices, Array]:
    """Sparse rows one matrix after the other; columns are those of each."""
    ends = np.cumsum([0] + [matrix.nnz for matrix in matrices])
    starts = [matrix.indptr[:-1] + end for matrix, end in zip(matrices, ends[:-1], strict=True)]
    column = np.concatenate([matrix.indices for matrix in matrices])
    start = np.concatenate([*starts, ends[-1:]]).astype(column.dtype)
    return start, column, np.concatenate([matrix.data for matrix in matrices])


def _springs(part: Substructure) -> Springs:
    assert isinstance(part.law, Springs)
    return part.law


@kernel
def predict_all(
    at: Indices,
    F: Array,
    start: Indices,
    column: Indices,
    value: Array,
    a: Array,
    dofs: Indices,
    scale: Array,
    h: Array,
    inverse: Array,
    lift: Array,
    answer: Array,
    load: Array,
    U0: Array,
    g: Array,
    answers: Array,
) -> None:
    """U⁰ = K⁻¹(F − Bᵀa + Cᵀh), g = RᵀCU⁰ and what the coarse problem needs, of each substructure."""
    for i in range(len(at) - 1):
        here, end = at[i], at[i + 1]
        n, m = end[DOF] - here[DOF], end[MACRO] - here[MACRO]
        d = slice(here[DOF], end[DOF])
        on = slice(here[TRACE], end[TRACE])
        rows, links = start[here[DOF] : end[DOF] + 1], a[here[ROW] : end[ROW]]
        interior_load(F[d], rows, column, value, links, dofs[on], scale[on], h[on], load[d])
        np.dot(inverse[here[INVERSE] : here[INVERSE] + n * n].reshape((n, n)), load[d], U0[d])
        if m == 0:
            continue
        macro = slice(here[MACRO], end[MACRO])
        np.dot(lift[here[LIFT] : here[LIFT] + n * m].reshape((n, m)).T, U0[d], g[macro])
        own = end[COARSE] - here[COARSE]
        told = answer[here[ANSWER] : here[ANSWER] + own * m].reshape((own, m))
        np.dot(told, g[macro], answers[here[COARSE] : end[COARSE]])


@kernel
def correct_all(
    at: Indices,
    told: Array,
    signs: Array,
    g: Array,
    U0: Array,
    flexibility: Array,
    rigid: Array,
    spread: Array,
    start: Indices,
    column: Indices,
    value: Array,
    a: Array,
    l: Array,
    R: Array,
    dofs: Indices,
    scale: Array,
    h: Array,
    U: Array,
    e: Array,
    t: Array,
    u_macro: Array,
    f_macro: Array,
    U_micro: Array,
    F_micro: Array,
) -> None:
    """Displacements under the macro forces, elongations and forces of the links, and traces, of each."""
    for i in range(len(at) - 1):
        here, end = at[i], at[i + 1]
        n, m, c = end[DOF] - here[DOF], end[MACRO] - here[MACRO], end[TRACE] - here[TRACE]
        d, on = slice(here[DOF], end[DOF]), slice(here[TRACE], end[TRACE])
        links, macro = slice(here[ROW], end[ROW]), slice(here[MACRO], end[MACRO])
        f = told[here[COARSE] : here[COARSE] + m]
        alpha = told[here[COARSE] + m : end[COARSE]]
        for j in range(m):
            f_macro[here[MACRO] + j] = signs[here[MACRO] + j] * f[j]
        motions = rigid[here[RIGID] : here[RIGID] + m * len(alpha)].reshape((m, len(alpha)))
        give = flexibility[here[FLEXIBILITY] : here[FLEXIBILITY] + m * m].reshape((m, m))
        shapes = spread[here[SPREAD] : here[SPREAD] + n * m].reshape((n, m))
        corrected(f, alpha, signs[macro], g[macro], U0[d], give, motions, shapes, U[d])
        rows = start[here[ROW] : end[ROW] + 1]
        stretched(rows, column, value, U[d], a[links], l[links], e[links], t[links])
        basis = R[here[BASIS] : here[BASIS] + c * m].reshape((c, m))
        split_trace(U[d], dofs[on], scale[on], basis, h[on], u_macro[macro], U_micro[on], F_micro[on])
