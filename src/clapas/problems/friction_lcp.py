"""Coulomb friction written as a linear complementarity problem.

In the plane the friction cone has two edges and Coulomb's law is linear complementarity, exactly: in unknown
impulses (:func:`reaction_lcp`) or in unknown velocities (:func:`velocity_lcp`). In space the cone is replaced
by a pyramid of k edges (:func:`polyhedral_lcp`), and the solution obeys the law of the pyramid: sliding is
opposed along an edge, not along the velocity. :meth:`FrictionLCP.residual` measures it against the true cone.

All LCPs here are dimensionless: velocities are in units of V = |q|∞ and impulses of V / λ, λ being the mean
response of the contacts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.problems.lcp import LCP
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class FrictionLCP:
    """A contact problem written as an LCP, with the map back to impulses.

    Parameters
    ----------
    contacts : ContactProblem
        The contact problem.
    lcp : LCP
        Dimensionless.
    back : callable
        Impulses (n, d) from the unknowns of the LCP.
    """

    contacts: ContactProblem
    lcp: LCP
    back: Callable[[Array], Array]

    def impulses(self, z: npt.ArrayLike) -> Array:
        """Impulses r (n, d) from the unknowns of the LCP."""
        return self.back(self.lcp.unknowns(z))

    def residual(self, z: npt.ArrayLike) -> float:
        """``contacts.residual`` of these impulses: Coulomb's law with the round cone."""
        return self.contacts.residual(self.impulses(z))


def reaction_lcp(problem: ContactProblem) -> FrictionLCP:
    """Friction in the plane, unknown impulses: 3 n unknowns x = (r_N, λ⁺, η⁻), slacks y = (u_N, η⁺, λ⁻).

    With r_T = λ⁺ − λ⁻, mu r_N = λ⁺ + λ⁻ and u_T = η⁺ − η⁻,

            ⎡W_NN − W_NT mu   2 W_NT   0⎤        ⎡q_N⎤
        y = ⎢W_TN − W_TT mu   2 W_TT   I⎥ x  +   ⎢q_T⎥,      0 ≤ x ⟂ y ≥ 0.
            ⎣      mu           −I     0⎦        ⎣ 0 ⎦

    Any W is allowed, singular or not. The matrix is not semidefinite: Lemke's method applies, but a ray
    termination proves nothing.

    References
    ----------
    Cadoux 2009, (1.30) and (4.2)-(4.5), with the first two rows exchanged, as its (1.30) asks for.

    Examples
    --------
    >>> particle = ContactProblem(W=np.eye(2), q=[[-1.0, 3.0]], mu=0.5)
    >>> friction = reaction_lcp(particle)
    >>> friction.impulses([1 / 3, 0.0, 0.0])
    array([[ 1. , -0.5]])
    """
    W_NN, W_NT, W_TN, W_TT, q_N, q_T, unit = _plane_parts(problem, "the LCP in impulses")
    n = problem.n_contacts
    mu, one = sparse.diags_array(problem.mu), sparse.eye_array(n)
    M = _blocks(
        [
            [W_NN - W_NT @ mu, 2.0 * W_NT, None],
            [W_TN - W_TT @ mu, 2.0 * W_TT, one],
            [mu, -one, None],
        ],
        3 * n,
    )

    def back(x: Array) -> Array:
        normal, plus, _ = x.reshape(3, n)
        return unit * np.column_stack((normal, 2.0 * plus - problem.mu * normal))

    return FrictionLCP(problem, LCP(M, np.concatenate((q_N, q_T, np.zeros(n)))), back)


def velocity_lcp(problem: ContactProblem) -> FrictionLCP:
    """Friction in the plane, unknown velocities: 3 n unknowns z = (u_N, b₁, b₂), slacks w = (r_N, a₁, a₂).

    With A = W⁻¹, f = W⁻¹q, u_T = b₂ − b₁, a₁ = mu r_N − r_T and a₂ = mu r_N + r_T,

            ⎡  A_NN           −A_NT             A_NT          ⎤        ⎡     −f_N       ⎤
        w = ⎢mu A_NN − A_TN   A_TT − mu A_NT   mu A_NT − A_TT⎥ z  +   ⎢ f_T − mu f_N   ⎥,   0 ≤ z ⟂ w ≥ 0.
            ⎣mu A_NN + A_TN  −A_TT − mu A_NT   mu A_NT + A_TT⎦        ⎣−f_T − mu f_N   ⎦

    The form of statics, where A is a condensed stiffness. W must be invertible.

    Examples
    --------
    >>> particle = ContactProblem(W=np.eye(2), q=[[-1.0, 3.0]], mu=0.5)
    >>> velocity_lcp(particle).impulses([0.0, 0.0, 2.5 / 3])
    array([[ 1. , -0.5]])
    """
    W_NN, W_NT, W_TN, W_TT, q_N, q_T, unit = _plane_parts(problem, "the LCP in velocities")
    n = problem.n_contacts
    W = sparse.block_array([[W_NN, W_NT], [W_TN, W_TT]]).toarray() if n else np.empty((0, 0))
    q = np.concatenate((q_N, q_T))
    A, f = _inverse(W), np.linalg.solve(W, q)
    N, T = A[:n], A[n:]
    rows_N, rows_T = (np.hstack((part[:, :n], -part[:, n:], part[:, n:])) for part in (N, T))
    mu = problem.mu[:, None]
    M = np.vstack((rows_N, mu * rows_N - rows_T, mu * rows_N + rows_T))
    f_N, f_T = f[:n], f[n:]
    constant = np.concatenate((-f_N, f_T - problem.mu * f_N, -f_T - problem.mu * f_N))

    def back(z: Array) -> Array:
        normal, minus, plus = z.reshape(3, n)
        r = A @ np.concatenate((normal, plus - minus)) - f
        return unit * np.column_stack((r[:n], r[n:]))

    return FrictionLCP(problem, LCP(M, constant), back)


def polyhedral_lcp(problem: ContactProblem, facets: int = 8, *, around: bool = False) -> FrictionLCP:
    """Friction on a pyramid of k edges: n (k + 2) unknowns z = (r_N, β, s).

    The friction is a combination of unit vectors d_j, r_T = Σ β_j d_j, and s is the sliding speed:

        0 ≤ u_N               ⟂ r_N ≥ 0
        0 ≤ d_j·u_T + s       ⟂ β_j ≥ 0
        0 ≤ mu r_N − Σ β_j    ⟂ s   ≥ 0

    The matrix is copositive: Lemke's method finds a solution if the walls are at rest (Stewart and
    Trinkle, Anitescu and Potra). In the plane the two edges are exact.

    Parameters
    ----------
    problem : ContactProblem
        In the plane or in space.
    facets : int
        Number of edges in space, at least 3. The error of the direction of sliding is at most π/k.
    around : bool
        A pyramid around the cone (mu/cos(π/k) along the edges) rather than inside.

    References
    ----------
    Stewart, Trinkle 1996; Anitescu, Potra 1997.

    Examples
    --------
    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=0.5)
    >>> friction = polyhedral_lcp(particle, facets=4)
    >>> friction.lcp
    LCP(6 unknowns, sparse)
    >>> z = [1 / 3, 0.0, 0.0, 0.5 / 3, 0.0, 2.5 / 3]
    >>> friction.lcp.residual(z) < 1e-15, friction.residual(z) < 1e-15
    (True, True)
    """
    n, d = problem.n_contacts, problem.d
    edges = _edges(facets, d)
    k = len(edges)
    slope = problem.mu / (np.cos(np.pi / k) if around and d == 3 else 1.0)
    W, q, unit = _without_unit(problem)
    normals = sparse.kron(sparse.eye_array(n), np.eye(1, d), format="csr")
    tangents = sparse.kron(sparse.eye_array(n), np.column_stack((np.zeros(k), edges)), format="csr")
    G = sparse.vstack((normals, tangents), format="csr")  # (r_N, β) ↦ r is Gᵀ
    each = sparse.kron(sparse.eye_array(n), np.ones((k, 1)), format="csr")
    shared = sparse.vstack((sparse.csr_array((n, n)), each), format="csr")
    limit = sparse.hstack((sparse.diags_array(slope), -each.T), format="csr")
    M = _blocks([[G @ W @ G.T, shared], [limit, None]], n * (k + 2))

    def back(z: Array) -> Array:
        return unit * np.asarray(G.T @ z[: n * (k + 1)]).reshape(n, d)

    return FrictionLCP(problem, LCP(M, np.concatenate((G @ q.ravel(), np.zeros(n)))), back)


# -------------------------------------------------------------------- parts


def _edges(facets: int, d: int) -> Array:
    """Unit vectors d_j in the tangent plane, (k, d − 1)."""
    if d == 2:
        return np.array([[1.0], [-1.0]])
    if facets < 3:
        raise ProblemError(f"a pyramid needs at least 3 facets, got {facets}")
    angles = 2.0 * np.pi * np.arange(facets) / facets
    return np.column_stack((np.cos(angles), np.sin(angles)))


def _without_unit(problem: ContactProblem) -> tuple[sparse.csr_array, Array, float]:
    """W/λ, q/V and the unit V/λ of impulses."""
    reduced = reduce(problem)
    response = float(reduced.response.mean()) if problem.n_contacts else 1.0
    speed = float(np.abs(reduced.q).max(initial=0.0)) or 1.0
    return sparse.csr_array(reduced.W) / response, reduced.q / speed, speed / response


def _plane_parts(
    problem: ContactProblem, what: str
) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array, sparse.csr_array, Array, Array, float]:
    if problem.d != 2:
        raise ProblemError(f"{what} needs a problem in the plane, got one in 3-D: take polyhedral_lcp")
    W, q, unit = _without_unit(problem)
    N, T = slice(0, None, 2), slice(1, None, 2)
    return W[N, N], W[N, T], W[T, N], W[T, T], q[:, 0], q[:, 1], unit


def _blocks(parts: list[list[sparse.sparray | None]], size: int) -> sparse.csr_array:
    return sparse.block_array(parts, format="csr") if size else sparse.csr_array((0, 0))


def _inverse(W: Array) -> Array:
    if len(W) and not 1.0 / np.linalg.cond(W) > 1e-14:
        raise ProblemError(
            "the LCP in velocities needs an invertible W, got a singular one: take reaction_lcp"
        )
    return np.asarray(np.linalg.inv(W))
