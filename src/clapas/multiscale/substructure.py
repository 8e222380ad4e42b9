"""One substructure: its matrices, its links, and the vectors it exchanges with its neighbours.

Interface vectors are measured in units of the search direction d: displacements as √d U, forces as F/√d, so
that work is unchanged and every direction is 1. With C the trace on the interfaces (thus scaled), R the macro
basis (RᵀR = 1) and x_m = x − RRᵀx the micro part, the linear stage of a substructure is

    t = a + l e,  a = t̂ − l ê;      F_m = h − U_m,  h = F̂_m + Û_m                 search directions
    K U = F − Bᵀa + Cᵀh + CᵀR u*,    K = M + BᵀlB + CᵀC,  u* = RᵀCU + f             equilibrium

K* u* = f + g with K* = 1 − RᵀCK⁻¹CᵀR and g = RᵀCK⁻¹(F − Bᵀa + Cᵀh): the homogenised substructure, all that
the coarse problem needs. K* is singular for the rigid motions of an unsupported substructure.

The local stage of a perfect interface, U₁ = U₂ and F₁ + F₂ = 0 with the opposite directions, gives
Û = ½(s₁ + s₂), F̂₁ = ½(s₂ − s₁) with s = U_m − F_m = 2U_m − h: the new h of a side is the s of the other.
A substructure sends one vector per interface and iteration, and receives one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from clapas.errors import ProblemError
from clapas.linalg.factor import DenseFactor, Factor, factorise
from clapas.multiscale.kernels import (
    interior_load,
    link_forces,
    local_stage_interfaces,
    local_stage_springs,
    macro_correction,
    split_trace,
)
from clapas.multiscale.laws import Law, Springs
from clapas.multiscale.stages import Stages
from clapas.typing import Array, Indices

SMALL = 300  # components up to which K⁻¹ is stored: one product is faster than two triangular solves
REGULARISATION = 1e-9  # relative to the stiffness, added to K against mechanisms that would leave it singular
KERNEL = 1e-9  # eigenvalues of K*, relative to the largest, that count as zero

LinkSolver = Callable[[Array, Array], Array]  # slack lengths z of w = W z + q, 0 ≤ z ⟂ w ≥ 0


@dataclass(frozen=True, eq=False)
class Trace:
    """One interface seen from one of its sides.

    Parameters
    ----------
    interface : int
        Its number.
    sign : float
        +1 on the first side, −1 on the second: macro forces are sign·f.
    dofs : array (components,)
        Components of the substructure on the interface.
    scale : array (components,)
        √d of each.
    basis : array (components × vectors)
        Macro basis R in scaled components.
    """

    interface: int
    sign: float
    dofs: Indices
    scale: Array
    basis: Array


class Substructure(Stages):
    """A part of a structure, coupled to its neighbours by interface vectors.

    Parameters
    ----------
    name : str
        Name in messages.
    B : sparse (rows × dofs)
        Elongations of its links from its free components.
    law : Law
        Law of its links.
    direction : array (rows,)
        Search direction l of each row.
    F : array (dofs,)
        Its share of the loads.
    M : sparse (dofs × dofs), optional
        Its share of M.
    traces : list of Trace
        Its interfaces.
    """

    def __init__(
        self,
        name: str,
        B: sparse.csr_array,
        law: Law,
        direction: Array,
        F: Array,
        M: sparse.csr_array | None,
        traces: list[Trace],
    ) -> None:
        self.name, self.B, self.law, self.l, self.F, self.M = name, B, law, direction, F, M
        self.transposed = B.T.tocsr()
        self.traces = traces
        ends = np.cumsum([0] + [len(trace.dofs) for trace in traces])
        macro = np.cumsum([0] + [trace.basis.shape[1] for trace in traces])
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.macro_parts = [slice(a, b) for a, b in pairwise(macro)]
        self.dofs = np.concatenate([np.zeros(0, dtype=np.int64), *(trace.dofs for trace in traces)])
        self.scale = _joined([trace.scale for trace in traces])
        self.signs = np.repeat([t.sign for t in traces], [t.basis.shape[1] for t in traces]).astype(float)
        self.R = np.ascontiguousarray(
            linalg.block_diag(*(t.basis for t in traces)) if traces else np.zeros((0, 0))
        )
        self._together: tuple[Array, Array, Array] | None = None
        self.inverse: Array | None = None  # K⁻¹ of small ones
        self.reset()
        self.factorise()

    def reset(self) -> None:
        """Start from the law at rest and from zero interface vectors."""
        self.t_hat, self.e_hat = self.law.start()
        self.e_before = self.e_hat
        self.rest = self.t_hat
        self.a = self.t_hat - self.l * self.e_hat
        self.h = np.zeros(len(self.dofs))
        self.sent = np.zeros(len(self.dofs))

    def __getstate__(self) -> dict[str, Any]:
        """All but the factor, which another process recomputes from the same numbers."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_solve", "inverse")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._solve = self._factor()

    def _factor(self) -> Callable[[Array], Array]:
        """Factorise K; returns the function that solves with it."""
        K = self.transposed @ sparse.diags_array(self.l) @ self.B
        if self.M is not None:
            K = K + self.M
        interface_stiffness = np.bincount(self.dofs, weights=self.scale**2, minlength=K.shape[0]).astype(
            float
        )
        K = K + sparse.diags_array(interface_stiffness)
        K = sparse.csr_array(
            0.5 * (K + K.T)
        )  # exactly symmetric: orders of elimination depend on its pattern
        try:
            factor: Factor = DenseFactor(K.toarray()) if K.shape[0] <= SMALL else factorise(K)
        except ProblemError as error:
            raise ProblemError(
                f"{self.name} is a mechanism that its interfaces do not hold ({error}): make substructures "
                "larger, or keep weak interfaces (weak='macro')"
            ) from None
        self.inverse = None
        if K.shape[0] > SMALL:
            return factor.solve
        inverse = factor.solve(np.eye(K.shape[0]))
        self.inverse = np.ascontiguousarray(0.5 * (inverse + inverse.T))
        return self._by_inverse

    def _by_inverse(self, right: Array) -> Array:
        assert self.inverse is not None
        return np.asarray(self.inverse.dot(right))

    def factorise(self) -> None:
        """Factorise K and homogenise."""
        self._solve = self._factor()
        self._lift = np.zeros((len(self.F), self.n_macro))  # CᵀR
        np.add.at(self._lift, self.dofs, self.scale[:, None] * self.R)
        self._spread = np.ascontiguousarray(self._solve(self._lift) if self.n_macro else self._lift)
        star = np.eye(self.n_macro) - self._lift.T @ self._spread
        values, vectors = np.linalg.eigh(0.5 * (star + star.T)) if self.n_macro else (np.zeros(0), star)
        soft = values < KERNEL * max(values.max(initial=0.0), KERNEL)
        self.rigid = np.ascontiguousarray(vectors[:, soft])
        self.flexibility = np.ascontiguousarray((vectors[:, ~soft] / values[~soft]) @ vectors[:, ~soft].T)
        self._to_coarse = np.ascontiguousarray(
            np.concatenate((self.signs[:, None] * self.flexibility, self.rigid.T))
        )

    @property
    def n_macro(self) -> int:
        """Macro components on all its interfaces."""
        return int(self.R.shape[1])

    @property
    def homogenised(self) -> Array:
        """L = K*⁺ − 1: macro displacements per macro forces, up to rigid motions."""
        return np.asarray(self.flexibility - np.eye(self.n_macro))

    # ------------------------------------------------------------------ linear stage

    def predict(self) -> Array:
        """First half of the linear stage: displacements without macro forces.

        Returns the values for the coarse problem, concatenated: signed macro displacements, and loads
        along rigid motions.
        """
        load = np.empty(len(self.F))
        Bt = self.transposed
        interior_load(self.F, Bt.indptr, Bt.indices, Bt.data, self.a, self.dofs, self.scale, self.h, load)
        self._U0 = self._solve(load)
        self._g = self._lift.T @ self._U0
        return np.asarray(self._to_coarse @ self._g)

    def correct(self, coarse_values: Array) -> Array:
        """Second half: displacements under the macro forces f of its interfaces and the rigid parts α.

        Returns the signed macro displacements.
        """
        forces, alpha = coarse_values[: self.n_macro], coarse_values[self.n_macro :]
        self.f_macro = self.signs * forces
        self.U, B = np.empty(len(self.F)), self.B
        coarse = self.flexibility, self.rigid, self._spread
        macro_correction(forces, alpha, self.signs, self._g, self._U0, *coarse, self.U)
        self.e, self.t = np.empty(len(self.l)), np.empty(len(self.l))
        link_forces(B.indptr, B.indices, B.data, self.U, self.a, self.l, self.e, self.t)
        m, n = len(self.dofs), self.n_macro
        self.u_macro, self.U_micro, self.F_micro = np.empty(n), np.empty(m), np.empty(m)
        micro = self.u_macro, self.U_micro, self.F_micro
        split_trace(self.U, self.dofs, self.scale, self.R, self.h, *micro)
        return np.asarray(self.signs * self.u_macro)

    # ------------------------------------------------------------------ local stage

    def local(self, relaxation: float, together: LinkSolver | None) -> Array:
        """Local stage of the links; returns the vectors sent across the interfaces, s = U_m − F_m."""
        if together is None:
            self.links(relaxation)
        else:
            self.links_together(together, relaxation)
        return np.asarray(self.U_micro - self.F_micro)

    def links(self, relaxation: float) -> None:
        """Local stage of each link separately."""
        law = self.law
        if isinstance(law, Springs):
            self.e_before, self.a = self.e_hat, self.a.copy()
            self.t_hat, self.e_hat = np.empty(len(self.l)), np.empty(len(self.l))
            arguments = law.k, law.t0, law.is_cable, self.t, self.e, self.l
            local_stage_springs(*arguments, relaxation, self.t_hat, self.e_hat, self.a)
            return
        s = self.t + self.l * self.e
        self.e_before = self.e_hat
        self.t_hat = self.law.meet(s, self.l)
        self.e_hat = (s - self.t_hat) / self.l
        self.a = self.a + relaxation * (2.0 * self.t_hat - s - self.a)

    def links_together(self, solve: LinkSolver, relaxation: float) -> None:
        """Local stage of all links at once, along a direction imposed on compatible elongations only.

        With ê = B Û the direction is imposed at the nodes, Bᵀ(t̂ − t) + BᵀlB(Û − U) = 0. For springs with l =
        k and slack lengths λ it is one complementarity problem per substructure,

            t̂_c = W λ + q,  0 ≤ λ ⟂ t̂_c ≥ 0,    W = k_c − k_c B_c (2K)⁻¹ B_cᵀ k_c,    K = BᵀkB

        with t̂ = t⁰ + kB Û + kλ. K is regularised against mechanisms, which do not stretch links.
        """
        law = self.law
        assert isinstance(law, Springs)
        k, cables = law.k, np.flatnonzero(law.is_cable)
        if self._together is None:
            B = self.B.toarray()
            K = B.T @ (k[:, None] * B)
            K[np.diag_indices_from(K)] += REGULARISATION * float(k.max())
            lift = linalg.solve(2.0 * K, B.T, assume_a="pos")  # (2K)⁻¹Bᵀ
            kB = k[cables, None] * B[cables]
            W = np.diag(k[cables]) - kB @ (lift[:, cables] * k[cables])
            self._together = (B, lift, 0.5 * (W + W.T))
        B, lift, W = self._together
        force = self.t + k * self.e - law.t0
        e_free = B @ (lift @ force)
        slack = np.zeros(len(k))
        slack[cables] = solve(W, law.t0[cables] + k[cables] * e_free[cables])
        self.e_before = self.e_hat
        self.e_hat = e_free - B @ (lift @ (k * slack))
        self.t_hat = law.t0 + k * (self.e_hat + slack)
        self.a = self.a + relaxation * (self.t_hat - self.l * self.e_hat - self.a)

    def receive(self, message: Array, relaxation: float) -> None:
        """Local stage of the interfaces, from the vectors received, in the order of the traces."""
        self.sent, self.h = np.empty(len(self.h)), self.h.copy()
        local_stage_interfaces(message, relaxation, self.U_micro, self.F_micro, self.sent, self.h)

    # ------------------------------------------------------------------ two calls in one

    def respond(self, coarse_values: Array, relaxation: float, together: LinkSolver | None) -> Array:
        """End of the linear stage and local stage of the links; returns the vectors sent."""
        self.correct(coarse_values)
        return self.local(relaxation, together)

    def proceed(self, message: Array, relaxation: float) -> Array:
        """Local stage of the interfaces and first half of the next linear stage."""
        self.receive(message, relaxation)
        return self.predict()

    def redirect(self, direction: Array, factor: float) -> None:
        """Change search directions after a linear stage and keep its values: l of links, d by a factor."""
        root = np.sqrt(factor)
        self.l = direction
        self.a = self.t - direction * self.e
        U_hat, F_hat = 0.5 * (self.sent + self.h) * root, 0.5 * (self.h - self.sent) / root
        self.h, self.sent = F_hat + U_hat, U_hat - F_hat
        self.scale = self.scale * root
        self.U_micro, self.F_micro = self.U_micro * root, self.F_micro / root
        self.u_macro, self.f_macro = self.u_macro * root, self.f_macro / root
        self.factorise()


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)
