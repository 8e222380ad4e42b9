"""Contact problems with resistance to rolling and spinning, besides sliding."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.convex import rolling
from clapas.convex.base import FrictionCone
from clapas.errors import ProblemError
from clapas.linalg.factor import BlockDiagonalFactor, factorise
from clapas.linalg.norms import norm
from clapas.problems import validation
from clapas.problems.blocks import BodyBlocks, recognise
from clapas.problems.contact import MANY, ROUNDING, ContactProblem
from clapas.problems.conversions import delassus_matrix
from clapas.problems.judge import couples_violation_norm
from clapas.problems.report import Report, measure
from clapas.typing import Array, Indices, MatrixLike


class RollingProblem(ContactProblem):
    """Find impulses and couples at contacts that resist sliding, rolling and spinning.

    At a contact the bodies have the relative rotation ω: spin ω_S about the normal, rolling ω_R about
    the tangents. The couple resists both, by at most ℓ_S r_N and ℓ_R r_N (lengths in m), against the
    rotation, as friction resists sliding. Rotations and couples are measured at the ends of these lengths,

        u_S = ℓ_S ω_S,   u_R = ℓ_R ω_R   (m/s),        r_S, r_R = couples / lengths   (N·s),

    so that the law is one law of all components, of which Coulomb's is the part without couples:

        K = {|r_T| ≤ mu r_N, |r_S| ≤ r_N, |r_R| ≤ r_N}
        K* ∋ ũ ⟂ r ∈ K,    ũ = u + (mu |u_T| + |u_S| + |u_R|) e_N.

    The same shift as De Saxcé's makes the law exact: a rolling body does not lift. Nothing is frozen or
    lagged; the residual is that of Coulomb's law with a slider for each part of the couple, and a solution
    that passes obeys the coupled law.

    Components are (N, T, R) in the plane and (N, T_1, T_2, S, R_1, R_2) in space: ``d`` is 3 or 6. All forms
    of :class:`ContactProblem` apply, with that many rows per contact, joints and compliance included;
    :meth:`from_matrices` and :meth:`from_delassus` take the five rows used in files. A length of zero gives a
    row of zeros: there the couple has no effect, whatever r is.

    Solved by NSGS, projection methods and Auto. Moreau 2003, section 3.3, mentions couples as an extension.
    """

    has_couples: ClassVar[bool] = True
    widths: ClassVar[tuple[int, ...]] = (3, 6)

    @classmethod
    def from_matrices(
        cls,
        *,
        mu: npt.ArrayLike,
        rolling_mu: npt.ArrayLike,
        H: MatrixLike,
        f: npt.ArrayLike,
        w: npt.ArrayLike,
        M: MatrixLike,
        name: str = "",
    ) -> Self:
        """Make a problem in space from matrices with five rows per contact: N, T_1, T_2, R_1, R_2.

        The law there is |r_T| ≤ mu r_N and |couple| ≤ mu_r r_N with the couple itself; here couples are
        divided by their length, so the two last rows of H and w are multiplied by ℓ_R = mu_r, and a row of
        zeros stands for the spin, which is not resisted.

        Parameters
        ----------
        mu, rolling_mu : arrays (n,)
            Coefficients of friction (no unit) and of rolling (m).
        M, H, f, w
            As in :class:`ContactProblem`, with H (5·n × m).
        name : str
            Name of the problem in reports.

        Examples
        --------
        A ball that rolls at 1 m/s over its contact, pressed by 1 N·s, is slowed by a couple of mu_r = 0.1:

        >>> H = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
        >>> problem = RollingProblem.from_matrices(
        ...     M=np.eye(3), H=H, f=[1.0, 0.0, 0.0], w=[0.0] * 5, mu=[0.5], rolling_mu=[0.1])
        >>> problem.d, problem.n_contacts
        (6, 1)
        """
        friction, lengths = np.atleast_1d(np.asarray(mu, float)), np.atleast_1d(np.asarray(rolling_mu, float))
        n = len(friction)
        if lengths.shape != (n,) or not np.isfinite(lengths).all() or (lengths < 0.0).any():
            raise ProblemError(f"rolling_mu must be {n} finite numbers ≥ 0, one per contact, got {lengths}")
        m = validation.square("M", M)
        jacobian = validation.matrix("H", H, columns=m)
        if jacobian.shape[0] != 5 * n:
            raise ProblemError(f"H has {jacobian.shape[0]} rows, expected {5 * n}: five for each mu")
        place, weight = _five_in_six(lengths)
        spread = sparse.csr_array((weight, (place, np.arange(5 * n))), shape=(6 * n, 5 * n))
        whole = sparse.csr_array(spread @ jacobian)
        factor, load = factorise(validation.mass(M)), validation.vector("f", f, m)
        blocks = None
        if isinstance(factor, BlockDiagonalFactor):
            blocks = recognise(whole, load, factor, 6)
        if blocks is None:
            blocks = _one_body(whole, load, validation.mass(M).toarray())
        imposed = (spread @ validation.vector("w", w, 5 * n)).reshape(n, 6)
        return cls.from_blocks(blocks, mu=friction, w=imposed, name=name)

    @classmethod
    def from_delassus(
        cls,
        *,
        W: MatrixLike,
        q: npt.ArrayLike,
        mu: npt.ArrayLike,
        rolling_mu: npt.ArrayLike,
        name: str = "",
    ) -> Self:
        """Make a problem in space from u = W r + q with five rows a contact, as in :meth:`from_matrices`.

        W = G Gᵀ is factorised by its eigenvectors: G is the Jacobian of one body with unit masses, whose
        velocities have no physical meaning. For a few hundred contacts at most.
        """
        delassus = validation.matrix("W", W)
        dense = delassus.toarray()
        size = float(np.abs(dense).max(initial=0.0))
        if np.abs(dense - dense.T).max(initial=0.0) > validation.SYMMETRY * size:
            raise ProblemError("W must be symmetric: a contact that resists rolling is solved on its bodies")
        values, vectors = np.linalg.eigh(0.5 * (dense + dense.T)) if len(dense) else (np.ones(0), dense)
        if values.min(initial=0.0) < -1e-10 * size * max(1, len(dense)):
            raise ProblemError(
                f"W must be positive semidefinite, but it has the eigenvalue {values.min():.3g}"
            )
        kept = values > 1e-15 * values.max(initial=0.0)
        root = vectors[:, kept] * np.sqrt(values[kept])
        m = max(1, root.shape[1])
        root = root if root.shape[1] else np.zeros((len(dense), 1))
        return cls.from_matrices(
            M=np.eye(m), H=root, f=np.zeros(m), w=q, mu=mu, rolling_mu=rolling_mu, name=name
        )

    def five_rows(self, x: npt.ArrayLike, lengths: Array) -> Array:
        """Impulses (n, 6) of this problem from five rows per contact: couples divided by their lengths."""
        values = np.asarray(x, dtype=float).reshape(self.n_contacts, 5)
        result = np.zeros((self.n_contacts, 6))
        result[:, :3] = values[:, :3]
        result[:, 4:] = values[:, 3:] / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        return result

    @cached_property
    def response(self) -> Array:
        """Mean diagonal of the normal and tangential part of W_ii, (n,)."""
        sliding = rolling.DISCS[self.d][0].stop
        return np.asarray(self._diagonals[:, :sliding].mean(axis=1))

    def violation(self, r: npt.ArrayLike, u: Array | None = None) -> Array:
        """Velocity by which each part of the law is violated: one slider per part of the couple.

        The same λ of the contact is used for all components: the couples are scaled by their lengths, short
        compared with the bodies, so that their response is smaller.
        """
        r = self.impulse(r)
        u = self.velocity(r) if u is None else u
        moves = self._diagonals > 0.0  # False for a length of zero
        return np.asarray(moves * self.cone.violation(u, moves * self.response[:, None] * r))

    @cached_property
    def cone(self) -> FrictionCone:
        """The cone K of the law."""
        return rolling.RollingCone(self.mu, self.d)

    def sliding_part(self, r: npt.ArrayLike) -> tuple[ContactProblem, Array]:
        """The problem in the impulses alone, with the couples of r as given loads, and its unknowns."""
        r, d = self.impulse(r), rolling.DISCS[self.d][0].stop
        couples = r.copy()
        couples[:, :d] = 0.0
        impulses = np.ascontiguousarray(r[:, :d])
        if self.blocks is None:
            W = sparse.bsr_array(delassus_matrix(self), blocksize=(self.d, self.d))
            size = d * self.n_contacts
            inner = sparse.bsr_array((W.data[:, :d, :d], W.indices, W.indptr), shape=(size, size))
            q = self.velocity(couples)[:, :d]
            return ContactProblem(W=inner, q=q, mu=self.mu, d=d, name=self.name, symmetrise=True), impulses
        blocks = self.blocks
        loaded = BodyBlocks(
            np.ascontiguousarray(blocks.G[:, :, :d]), blocks.bodies, blocks.motion(couples), blocks.root
        )
        return ContactProblem.from_blocks(loaded, mu=self.mu, w=self.w[:, :d], name=self.name), impulses

    def report(self, r: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Report:
        """The residual of the whole law; other measures are of the impulses, with the couples as loads."""
        return replace(measure(*self.sliding_part(r)), residual=self.residual(r, v))

    @cached_property
    def _diagonals(self) -> Array:
        return np.diagonal(self.local_blocks, axis1=1, axis2=2)

    def _violation_norm(self, r: Array) -> float:
        if self.n_contacts >= MANY:  # the same formula, compiled
            arguments = self.velocity(r), r, self.mu, self.response, np.ascontiguousarray(self._diagonals)
            return float(couples_violation_norm(*arguments, rolling.DISCS[self.d][0].stop))
        hidden = ROUNDING * norm(self.response[:, None] * r)
        return max(norm(self.violation(r)), hidden)


def _five_in_six(lengths: Array) -> tuple[Indices, Array]:
    """Indices of the five rows per contact (N, T_1, T_2, R_1, R_2) among six, and their factors."""
    n = len(lengths)
    place = (6 * np.arange(n)[:, None] + np.array([0, 1, 2, 4, 5])).ravel()
    weight = np.ones((n, 5))
    weight[:, 3:] = lengths[:, None]
    return place, weight.ravel()


def _one_body(H: sparse.csr_array, f: Array, M: Array) -> BodyBlocks:
    """All velocities as those of one body, for masses or contacts without a two-body structure."""
    m = len(f)
    try:
        root = np.linalg.inv(np.linalg.cholesky(M)).T
    except np.linalg.LinAlgError:
        raise ProblemError("M must be symmetric positive definite") from None
    n = H.shape[0] // 6
    G = np.zeros((n, 2, 6, m))
    G[:, 0] = np.asarray(H @ root).reshape(n, 6, m)
    bodies = np.tile(np.array([0, 1]), (n, 1))
    y_free = np.vstack((-(root.T @ f), np.zeros(m)))
    return BodyBlocks(G, bodies, y_free, root[None])
