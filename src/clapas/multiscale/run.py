"""A run of consecutive substructures, iterated by one compiled call for each half of an iteration.

Called one by one, each substructure costs a dozen interpreted operations on some hundred numbers, as long
as the work itself, and threads compete for the interpreter. Here the arrays of neighbours are stored one
after another and a compiled loop goes through them, so that a thread does not need the interpreter until its
half is done. The operations are those of :class:`~clapas.multiscale.substructure.Substructure`.

The cost of an iteration is that of reading the matrices. Identical substructures have the same ones to
the last bit (a grid of equal modules has nine different substructures, by their position at the rim): each is
stored once, in a store that all runs share, and stays in the caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from clapas.compiled import kernel
from clapas.multiscale.kernels import (
    interior_load,
    link_forces,
    local_stage_interfaces,
    local_stage_springs,
    macro_correction,
    split_trace,
)
from clapas.multiscale.laws import Springs
from clapas.multiscale.stages import Stages
from clapas.multiscale.substructure import Substructure
from clapas.typing import Array, Indices

# Columns of the offset table: where the numbers of each substructure begin in the arrays of the run.
# Those of the matrices may coincide.
DOF, ROW, TRACE, MACRO, COARSE, INVERSE, LIFT, SPREAD, FLEXIBILITY, RIGID, TO_COARSE, BASIS = range(12)
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
    "_to_coarse": TO_COARSE,
    "R": BASIS,
}


class MatrixStore:
    """The distinct matrices of all substructures; threads that share them share caches.

    Parameters
    ----------
    parts : sequence of Substructure
        Their matrices become views of those in the store.
    """

    def __init__(self, parts: Sequence[Substructure]) -> None:
        self.matrices: dict[str, Array] = {}
        self.starts: dict[str, list[int]] = {}
        for name in MATRICES:
            stored, starts = _distinct([getattr(part, name) for part in parts])
            for part, start in zip(parts, starts, strict=True):
                matrix = getattr(part, name)
                setattr(part, name, stored[start : start + matrix.size].reshape(matrix.shape))
            self.matrices[name], self.starts[name] = stored, starts


class Run(Stages):
    """Consecutive substructures with their arrays stored one after another.

    Parameters
    ----------
    parts : sequence of Substructure
        Of springs, each with its inverse.
    store : MatrixStore
        Their matrices, and those of other runs.
    first : int
        Number of the first of them in the store.
    """

    def __init__(self, parts: Sequence[Substructure], store: MatrixStore, first: int = 0) -> None:
        self.parts, self.first = parts, first
        self.renew(store)

    def renew(self, store: MatrixStore) -> None:
        """Take the matrices of the substructures, initially and after each new factorisation."""
        parts = self.parts
        self.at = _offsets(parts)
        self.matrices = store.matrices
        for name, column in MATRICES.items():
            self.at[:-1, column] = store.starts[name][self.first : self.first + len(parts)]
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
        """Whether a substructure may be part of a run."""
        return isinstance(part.law, Springs) and part.inverse is not None

    def join(self) -> None:
        """Take laws, loads, directions and values from the substructures, and share the values with them.

        From then on the values of a substructure are views of those of the run, until it allocates its own.
        """
        laws = [_springs(part) for part in self.parts]
        self.k, self.t0 = (np.concatenate([getattr(law, name) for law in laws]) for name in ("k", "t0"))
        self.is_cable = np.concatenate([law.is_cable for law in laws])
        self.F = np.concatenate([part.F for part in self.parts])
        self.rest = np.concatenate([part.rest for part in self.parts])
        for name, column in VALUES.items():
            if all(hasattr(part, name) for part in self.parts):  # except at the first linear stage
                np.concatenate([getattr(part, name) for part in self.parts], out=getattr(self, name))
            for part, part_slice in zip(self.parts, self._slices(column), strict=True):
                setattr(part, name, getattr(self, name)[part_slice])

    def _slices(self, column: int) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.at[:-1, column], self.at[1:, column], strict=True)]

    def of_links(self, values: Array) -> Array:
        """Sum of a value of the links, of each substructure."""
        return np.array([values[part_slice].sum() for part_slice in self._slices(ROW)])

    def of_interfaces(self, values: Array) -> Array:
        """Sum of a value of the interfaces, of each substructure."""
        return np.array([values[part_slice].sum() for part_slice in self._slices(TRACE)])

    # ------------------------------------------------------------------ the halves of an iteration

    def predict(self) -> Array:
        """First half of a linear stage; returns the values for the coarse problem by substructure."""
        to_coarse = np.empty(self.at[-1, COARSE])
        arguments = (self.F, *self.Bt, self.a, self.dofs, self.scale, self.h)
        inverse, lift, matrix = (self.matrices[name] for name in ("inverse", "_lift", "_to_coarse"))
        predict_all(self.at, *arguments, inverse, lift, matrix, self.load, self.U0, self.g, to_coarse)
        return to_coarse

    def correct(self, coarse_values: Array) -> Array:
        """Second half, with macro forces and rigid parts; returns the signed macro displacements."""
        soft, motions, shapes = (self.matrices[name] for name in ("flexibility", "rigid", "_spread"))
        interfaces = (self.matrices["R"], self.dofs, self.scale, self.h)
        links = (*self.B, self.a, self.l)
        traces = (self.u_macro, self.f_macro, self.U_micro, self.F_micro)
        correct_all(
            self.at, coarse_values, self.signs, self.g, self.U0, soft, motions, shapes, *links, *interfaces,
            self.U, self.e, self.t, *traces,
        )  # fmt: skip
        return np.asarray(self.signs * self.u_macro)

    def local(self, relaxation: float, together: None) -> Array:
        """Local stage of the links; returns the vectors sent across the interfaces."""
        self.e_before[:] = self.e_hat
        laws = (self.k, self.t0, self.is_cable)
        local_stage_springs(*laws, self.t, self.e, self.l, relaxation, self.t_hat, self.e_hat, self.a)
        return np.asarray(self.U_micro - self.F_micro)

    def respond(self, coarse_values: Array, relaxation: float, together: None) -> Array:
        """End of the linear stage and local stage of the links; returns the vectors sent."""
        self.correct(coarse_values)
        return self.local(relaxation, together)

    def receive(self, message: Array, relaxation: float) -> None:
        """Local stage of the interfaces, from the vectors received."""
        local_stage_interfaces(message, relaxation, self.U_micro, self.F_micro, self.sent, self.h)

    def proceed(self, message: Array, relaxation: float) -> Array:
        """Local stage of the interfaces and first half of the next linear stage."""
        self.receive(message, relaxation)
        return self.predict()


def _offsets(parts: Sequence[Substructure]) -> Indices:
    """The offset table (substructures + 1 × columns), without the columns of matrices."""
    sizes = []
    for part in parts:
        n, g, r, m = len(part.F), part.n_macro, part.rigid.shape[1], len(part.dofs)
        sizes.append([n, len(part.l), m, g, g + r])
    at = np.zeros((len(parts) + 1, BASIS + 1), dtype=np.int64)
    at[1:, : COARSE + 1] = np.cumsum(sizes, axis=0)
    return at


def _distinct(matrices: Sequence[Array]) -> tuple[Array, list[int]]:
    """The distinct matrices, one after another, and the start of each given matrix among them."""
    start_of: dict[bytes, int] = {}
    kept, starts, end = [], [], 0
    for matrix in matrices:
        key = hashlib.blake2b(np.ascontiguousarray(matrix).data).digest() + bytes(str(matrix.shape), "ascii")
        if key not in start_of:
            start_of[key] = end
            kept.append(matrix.ravel())
            end += matrix.size
        starts.append(start_of[key])
    return np.concatenate(kept), starts


def _joined_rows(matrices: Sequence[Any]) -> tuple[Indices, Indices, Array]:
    """Sparse rows of all matrices concatenated; columns are numbered within each matrix."""
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
    to_coarse: Array,
    load: Array,
    U0: Array,
    g: Array,
    coarse_values: Array,
) -> None:
    """U⁰ = K⁻¹(F − Bᵀa + Cᵀh), g = RᵀCU⁰ and the values for the coarse problem, for each substructure."""
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        n, m = end[DOF] - begin[DOF], end[MACRO] - begin[MACRO]
        d = slice(begin[DOF], end[DOF])
        trace = slice(begin[TRACE], end[TRACE])
        rows, links = start[begin[DOF] : end[DOF] + 1], a[begin[ROW] : end[ROW]]
        interior_load(F[d], rows, column, value, links, dofs[trace], scale[trace], h[trace], load[d])
        np.dot(inverse[begin[INVERSE] : begin[INVERSE] + n * n].reshape((n, n)), load[d], U0[d])
        if m == 0:
            continue
        macro = slice(begin[MACRO], end[MACRO])
        np.dot(lift[begin[LIFT] : begin[LIFT] + n * m].reshape((n, m)).T, U0[d], g[macro])
        size = end[COARSE] - begin[COARSE]
        matrix = to_coarse[begin[TO_COARSE] : begin[TO_COARSE] + size * m].reshape((size, m))
        np.dot(matrix, g[macro], coarse_values[begin[COARSE] : end[COARSE]])


@kernel
def correct_all(
    at: Indices,
    coarse_values: Array,
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
    """Displacements under the macro forces, elongations and forces of links, and traces, for each part."""
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        n, m, c = end[DOF] - begin[DOF], end[MACRO] - begin[MACRO], end[TRACE] - begin[TRACE]
        d, trace = slice(begin[DOF], end[DOF]), slice(begin[TRACE], end[TRACE])
        links, macro = slice(begin[ROW], end[ROW]), slice(begin[MACRO], end[MACRO])
        f = coarse_values[begin[COARSE] : begin[COARSE] + m]
        alpha = coarse_values[begin[COARSE] + m : end[COARSE]]
        for j in range(m):
            f_macro[begin[MACRO] + j] = signs[begin[MACRO] + j] * f[j]
        motions = rigid[begin[RIGID] : begin[RIGID] + m * len(alpha)].reshape((m, len(alpha)))
        compliance = flexibility[begin[FLEXIBILITY] : begin[FLEXIBILITY] + m * m].reshape((m, m))
        shapes = spread[begin[SPREAD] : begin[SPREAD] + n * m].reshape((n, m))
        macro_correction(f, alpha, signs[macro], g[macro], U0[d], compliance, motions, shapes, U[d])
        rows = start[begin[ROW] : end[ROW] + 1]
        link_forces(rows, column, value, U[d], a[links], l[links], e[links], t[links])
        basis = R[begin[BASIS] : begin[BASIS] + c * m].reshape((c, m))
        split_trace(
            U[d], dofs[trace], scale[trace], basis, h[trace], u_macro[macro], U_micro[trace], F_micro[trace]
        )
