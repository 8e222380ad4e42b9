"""The convex problem at frozen friction, written as a conic program for a general solver.

All programs have the shape  min { ½ yᵀP y + cᵀy : A y + z = h, z ∈ C }  with C a product of zeros, rays and
Lorentz cones {z_0 ≥ |z_1..|}, and are dimensionless, x = √λ r / |q| (:mod:`clapas.solvers.products`).

========== ==================================================== ================== =====================
name       unknowns and objective                               constraint         impulses
========== ==================================================== ================== =====================
impulses   x; ½ xᵀW̃x + b̃ᵀx                                      x ∈ K or T(s)      x itself; ũ multiplier
velocities v of unit mass; ½|v|² + f̃ᵀv                          G̃v + w̃ + Ẽs ∈ K*   multiplier
norm       v and t ≥ |v + f̃|; t                                 G̃v + w̃ + Ẽs ∈ K*   t · multiplier
linear     x and t ≥ |G̃ᵀx|²; ½ t + b̃ᵀx                          x ∈ K or T(s)      x itself
========== ==================================================== ================== =====================

With G the square root of W (W = G Gᵀ) they are the pair (3.13), (3.11) of Cadoux 2009 and its purely linear
forms (4.19) and (4.18). What each returns is the content of his Lemmas 4.24 (the multiplier of r ∈ K is ũ)
and 4.25 (the multiplier of ũ ∈ K* is r, up to the factor |v + f̃| when the objective is a norm, not its half
square).

A Coulomb cone becomes a Lorentz cone by a change of scale on one component, K: (mu r_N, r_T), and K*:
(ũ_N, mu ũ_T), divided by max(1, mu) so that a huge mu is harmless. A contact with mu = 0 is a ray.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.convex import CoulombCone
from clapas.errors import ProblemError
from clapas.linalg.factor import BlockDiagonalFactor
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.convex.base import ConvexProblem, require_conic
from clapas.solvers.products import ScaledDelassus
from clapas.typing import Array, Mask

Form = Literal["impulses", "velocities", "norm", "linear"]


@dataclass(frozen=True)
class Cones:
    """Rows of the program: first zeros, then rays, then ``lorentz`` cones of ``dimension`` rows each."""

    zeros: int
    rays: int
    lorentz: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Data of min {½ yᵀP y + cᵀy : A y + z = h, z ∈ C}; P is the upper triangle."""

    P: sparse.csc_matrix
    c: Array
    A: sparse.csc_matrix
    h: Array
    cones: Cones


class Formulation(ABC):
    """A formulation of the convex problems of a contact problem."""

    def __init__(self, contacts: ContactProblem) -> None:
        self.contacts = contacts
        self.scaled = ScaledDelassus(contacts)

    @abstractmethod
    def program(self, frozen: ConvexProblem) -> Program:
        """The conic program of a frozen problem."""

    @abstractmethod
    def impulses(self, y: Array, multiplier: Array) -> Array:
        """The impulses r (n, d) from the unknowns and the multiplier of z ∈ C."""


def formulation(contacts: ContactProblem, form: Form) -> Formulation:
    """The formulation of that name."""
    if form == "impulses":
        return Impulses(contacts)
    if form == "linear":
        return LinearImpulses(contacts)
    return Velocities(contacts, as_norm=form == "norm")


class Impulses(Formulation):
    """Unknowns x: min ½ xᵀW̃x + b̃ᵀx over K or T(s). W is formed, sparse."""

    def __init__(self, contacts: ContactProblem) -> None:
        super().__init__(contacts)
        D = sparse.diags_array(np.repeat(1.0 / self.scaled.root.ravel(), contacts.d))
        W = D @ reduce(contacts).W.tocsr() @ D
        self._upper = sparse.csc_matrix(sparse.triu(W))

    def program(self, frozen: ConvexProblem) -> Program:
        """Rows −S x + z = h that put x in K or in T(s)."""
        c = self.scaled.from_velocities(frozen.b).ravel()
        if isinstance(frozen.admissible, CoulombCone):
            rows, h, cones = _cone_rows(frozen.admissible.mu, frozen.contacts.d)
        else:
            s = frozen.admissible.s * (self.scaled.root.ravel() / self.scaled.speed)
            rows, h, cones = _tresca_rows(s, frozen.contacts.d)
        return Program(self._upper, c, sparse.csc_matrix(-rows), h, cones)

    def impulses(self, y: Array, multiplier: Array) -> Array:
        """The unknowns themselves."""
        return self.scaled.to_impulses(y.reshape(self.scaled.shape))


class LinearImpulses(Impulses):
    """Unknowns (x, t): min ½ t + b̃ᵀx with |G̃ᵀx|² ≤ t, x in K or T(s), a pure second-order cone program.

    The square is a Lorentz cone: t ≥ |g|² is (t + 1)/2 ≥ |(g, (t − 1)/2)|. For engines that accept no
    quadratic objective; otherwise "impulses" needs one large cone less.
    """

    def __init__(self, contacts: ContactProblem) -> None:
        super().__init__(contacts)
        self._root = _square_root(contacts, self.scaled)

    def program(self, frozen: ConvexProblem) -> Program:
        """The rows of the quadratic form, and one cone for its objective, placed last."""
        plain = super().program(frozen)
        size, m = self._root.shape
        A = sparse.hstack((plain.A, sparse.csr_array((plain.A.shape[0], 1))))
        # −(t/2, G̃ᵀx, t/2) + z = (½, 0, −½)
        half = sparse.csr_array(np.array([[0.5]]))
        none = sparse.csr_array((1, size))
        square = sparse.block_array([[none, half], [self._root.T, None], [none, half]])
        return Program(
            sparse.csc_matrix((size + 1, size + 1)),
            np.append(plain.c, 0.5),
            sparse.csc_matrix(sparse.vstack((A, -square))),
            np.concatenate((plain.h, [0.5], np.zeros(m), [-0.5])),
            Cones(plain.cones.zeros, plain.cones.rays, (*plain.cones.lorentz, m + 2)),
        )

    def impulses(self, y: Array, multiplier: Array) -> Array:
        """The unknowns except the last."""
        return super().impulses(y[:-1], multiplier)


def _square_root(contacts: ContactProblem, scaled: ScaledDelassus) -> sparse.csr_array:
    """G̃ with W̃ = G̃ G̃ᵀ: from the bodies, or from the eigenvectors of W where only W is known."""
    D = sparse.diags_array(np.repeat(1.0 / scaled.root.ravel(), contacts.d))
    if contacts.form == "global" and isinstance(contacts.mass, BlockDiagonalFactor):
        return sparse.csr_array(D @ contacts.H @ contacts.mass.inverse_root)
    values, vectors = np.linalg.eigh((D @ reduce(contacts).W @ D).toarray())
    return sparse.csr_array(vectors * np.sqrt(np.maximum(values, 0.0)))


class Velocities(Formulation):
    """Unknowns v in units of unit mass: min ½|v|² + f̃ᵀv with G̃v + w̃ + Ẽs in K*.

    ``as_norm`` replaces the objective by t with |v + f̃| ≤ t: linear, as a pure second-order cone program
    needs.
    """

    def __init__(self, contacts: ContactProblem, as_norm: bool) -> None:
        super().__init__(contacts)
        if contacts.form != "global" or not isinstance(contacts.mass, BlockDiagonalFactor):
            raise ProblemError(
                "posing the convex problem on velocities needs the global form with M block diagonal, got "
                f"{contacts!r}: use form='impulses'"
            )
        root = contacts.mass.inverse_root
        D = sparse.diags_array(np.repeat(1.0 / self.scaled.root.ravel(), contacts.d))
        self._G = (D @ contacts.H @ root).tocsr()
        self._f = (root.T @ contacts.f) / self.scaled.speed
        self._as_norm = as_norm

    def program(self, frozen: ConvexProblem) -> Program:
        """Rows −S G̃ v + z = S (w̃ + Ẽs) that put ũ in K*."""
        require_conic(frozen, "a conic program on velocities")
        # b = q + E s + lag and q = w − G f: adding G f back gives w + E s + lag.
        imposed = self.scaled.from_velocities(frozen.b).ravel() + self._G @ self._f
        rows, cones = _dual_rows(frozen.contacts.mu, frozen.contacts.d)
        A, h = -rows @ self._G, rows @ imposed
        size = self._G.shape[1]
        if not self._as_norm:
            identity = sparse.csc_matrix(sparse.eye_array(size))
            return Program(identity, self._f, sparse.csc_matrix(A), h, cones)
        # Unknowns (v, t); one more Lorentz cone (t, v + f̃), placed last.
        top, bottom = [sparse.csr_array((1, size)), np.ones((1, 1))], [sparse.eye_array(size), None]
        norm_rows = -sparse.block_array([top, bottom])
        A = sparse.vstack((sparse.hstack((A, sparse.csr_array((A.shape[0], 1)))), norm_rows))
        return Program(
            sparse.csc_matrix((size + 1, size + 1)),
            np.append(np.zeros(size), 1.0),
            sparse.csc_matrix(A),
            np.concatenate((h, [0.0], self._f)),
            Cones(cones.zeros, cones.rays, (*cones.lorentz, size + 1)),
        )

    def impulses(self, y: Array, multiplier: Array) -> Array:
        """The multiplier of ũ ∈ K*, times t = |v + f̃| in the linear form."""
        rows, _ = _dual_rows(self.contacts.mu, self.contacts.d)
        factor = y[-1] if self._as_norm else 1.0
        x = factor * (rows.T @ multiplier[: rows.shape[0]])
        return self.scaled.to_impulses(x.reshape(self.scaled.shape))


def _cone_rows(mu: Array, d: int) -> tuple[sparse.csr_array, Array, Cones]:
    """Rows S with S x ∈ C for x ∈ K: (mu x_N, x_T)/max(1, mu) in a Lorentz cone; mu = 0: x_T = 0, x_N ≥ 0."""
    weights = np.ones((len(mu), d))
    weights[:, 0] = mu
    weights /= np.maximum(1.0, mu)[:, None]
    weights[mu == 0.0] = 1.0
    rows, cones = _ordered(weights, mu == 0.0, keep_tangents=True)
    return rows, np.zeros(rows.shape[0]), cones


def _dual_rows(mu: Array, d: int) -> tuple[sparse.csr_array, Cones]:
    """Rows S with S x ∈ C for x ∈ K*: (x_N, mu x_T)/max(1, mu) in a Lorentz cone; mu = 0: x_N ≥ 0."""
    weights = np.repeat(mu[:, None], d, axis=1)
    weights[:, 0] = 1.0
    weights /= np.maximum(1.0, mu)[:, None]
    return _ordered(weights, mu == 0.0, keep_tangents=False)


def _tresca_rows(s: Array, d: int) -> tuple[sparse.csr_array, Array, Cones]:
    """Rows S and h with S x + h ∈ C for x ∈ T(s): x_N ≥ 0 and (s, x_T) in a Lorentz cone; s = 0: x_T = 0."""
    n, moving = len(s), np.flatnonzero(s > 0.0)
    column = np.arange(n * d).reshape(n, d)
    zeros, rays = column[s <= 0.0, 1:].ravel(), column[:, 0]
    # The first row of a Lorentz cone is the constant s: an empty row of S.
    lorentz = np.hstack((np.full((len(moving), 1), -1), column[moving, 1:])).ravel()
    selected = np.concatenate((zeros, rays, lorentz))
    h = np.zeros(len(selected))
    h[len(zeros) + n :: d] = s[moving]
    nonconstant = np.flatnonzero(selected >= 0)
    entries = np.ones(len(nonconstant)), (nonconstant, selected[nonconstant])
    rows = sparse.csr_array(sparse.coo_array(entries, shape=(len(selected), n * d)))
    return rows, h, Cones(len(zeros), n, (d,) * len(moving))


def _ordered(weights: Array, smooth: Mask, keep_tangents: bool) -> tuple[sparse.csr_array, Cones]:
    """A diagonal of weights (n, d), its rows sorted: tangents of smooth contacts, their normals, cones."""
    n, d = weights.shape
    column = np.arange(n * d).reshape(n, d)
    tangents = column[smooth, 1:].ravel() if keep_tangents else column[:0].ravel()
    selected = np.concatenate((tangents, column[smooth, 0], column[~smooth].ravel()))
    entries = weights.ravel()[selected], (np.arange(len(selected)), selected)
    rows = sparse.csr_array(sparse.coo_array(entries, shape=(len(selected), n * d)))
    rough = n - int(smooth.sum())
    return rows, Cones(len(tangents), int(smooth.sum()), (d,) * rough)
