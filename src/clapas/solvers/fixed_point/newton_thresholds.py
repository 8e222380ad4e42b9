"""Newton's step on Haslinger's map: the response of normal impulses to friction thresholds.

The minimiser r of ½ rᵀW r + qᵀr on {r_N ≥ 0, |r_T| ≤ g} is the point r = P(r − u/λ; g). With D the derivative
of this projection in its first argument and G = ∂P/∂g, which is the unit direction of z_T where z = r − u/λ
leaves the disc and zero elsewhere,

    (I − D + D W/λ) dr = G dg,        dg = mu r_N − g + mu dr_N,

the second line being Newton's equation for g = mu r_N(g). Eliminating dg leaves one system for dr, singular
where the impulses are not unique: least squares. At sticking contacts the threshold does not matter (G =
0).

Reference: Cadoux 2009, 5.2.1 (tried, not tabulated); the derivation is ours.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.sparse import linalg as sparse_linalg

from clapas.convex.tresca import TrescaSet
from clapas.problems.contact import ContactProblem
from clapas.solvers.fixed_point.base import Evaluation
from clapas.typing import Array

ACCURACY = 1e-12  # of the iterative least squares, relative


def threshold_step(problem: ContactProblem, point: Evaluation, speed: float, W: Array | None) -> Array:
    """Newton's change of s = λ g / speed, (n,); by products with W where it is not assembled."""
    n, d = point.r.shape
    response, mu = problem.response, problem.mu
    g = point.s * speed / response
    z = point.r - point.u / response[:, None]
    D = TrescaSet(np.maximum(g, 0.0)).jacobian(z)
    length = np.linalg.norm(z[:, 1:], axis=1)
    slides = length > g
    G = np.zeros((n, d))
    G[slides, 1:] = z[slides, 1:] / length[slides, None]
    gap = mu * point.r[:, 0] - g
    right = (G * gap[:, None]).ravel()
    if W is not None:
        rows = (W / np.repeat(response, d)[:, None]).reshape(n, d, n * d)
        matrix = np.einsum("nij,njk->nik", D, rows).reshape(n, d, n, d)
        contacts = np.arange(n)
        matrix[contacts, :, contacts, :] += np.eye(d) - D
        matrix[contacts, :, contacts, 0] -= G * mu[:, None]
        dr = linalg.lstsq(matrix.reshape(n * d, n * d), right, lapack_driver="gelsy")[0].reshape(n, d)
    else:
        dr = _by_products(problem, D, G, right)
    change: Array = (gap + mu * dr[:, 0]) * response / speed
    return change


def _by_products(problem: ContactProblem, D: Array, G: Array, right: Array) -> Array:
    """The same system by an iterative method; W is taken as symmetric."""
    shape, response = G.shape, problem.response[:, None]
    mu = problem.mu

    def product(x: Array) -> Array:
        dr = x.reshape(shape)
        du = problem.apply_delassus(dr) / response
        result = dr - np.einsum("nij,nj->ni", D, dr - du) - G * (mu * dr[:, 0])[:, None]
        return np.asarray(result.ravel())

    def transposed(y: Array) -> Array:
        back = np.einsum("nji,nj->ni", D, y.reshape(shape))
        result = y.reshape(shape) - back + problem.apply_delassus(back / response)
        result[:, 0] -= mu * np.sum(G * y.reshape(shape), axis=1)
        return np.asarray(result.ravel())

    size = right.size
    operator = sparse_linalg.LinearOperator((size, size), matvec=product, rmatvec=transposed, dtype=float)
    result = sparse_linalg.lsmr(operator, right, atol=ACCURACY, btol=ACCURACY, conlim=0.0, maxiter=10 * size)
    return np.asarray(result[0]).reshape(shape)
