"""Distances of an iterate to a reference: largest displacement, modal errors, slack lengths."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.linalg.factor import factorise
from clapas.multiscale.laws import Springs
from clapas.multiscale.problem import LinkProblem
from clapas.typing import Array


def largest_error(U: Array, reference: Array) -> float:
    """Largest difference of a displacement, relative to the largest displacement.

    Examples
    --------
    >>> largest_error(np.array([1.0, 2.1]), np.array([1.0, 2.0]))
    0.05...
    """
    size = float(np.abs(reference).max(initial=0.0))
    return float(np.abs(U - reference).max(initial=0.0)) / (size or 1.0)


def stiffness(problem: LinkProblem) -> sparse.csr_array:
    """K = Bᵀ diag(k) B + M on the free components, all links at their largest stiffness."""
    B = problem.B[:, problem.free]
    K = B.T @ sparse.diags_array(problem.law.stiffness()) @ B
    if problem.M is not None:
        K = K + problem.M[problem.free][:, problem.free]
    return sparse.csr_array(K)


def softest_modes(problem: LinkProblem, count: int) -> tuple[Array, Array]:
    """The softest modes φ of K, φᵀKφ = 1: eigenvalues (N/m) and columns on the free components."""
    K = sparse.csc_array(stiffness(problem))
    start = np.random.default_rng(0).standard_normal(K.shape[0])
    values, vectors = sparse_linalg.eigsh(K, k=count, sigma=0.0, which="LM", v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order] / np.sqrt(values[order])


def modal_errors(problem: LinkProblem, modes: Array, U: Array, reference: Array) -> Array:
    """Energy error carried by each mode, relative to the energy of the reference.

        |φᵀK(U − U_ref)| / |U_ref|_K

    The first modes are long waves, which the coarse problem is meant to correct.
    """
    K, free = stiffness(problem), problem.free
    size = float(np.sqrt(reference[free] @ (K @ reference[free]))) or 1.0
    return np.asarray(np.abs(modes.T @ (K @ (U - reference)[free])) / size)


class SlackDistance:
    """η of section 5.2.1: energy distance between two sets of slack lengths.

        η² = (λ − λ_ref)ᵀ W (λ − λ_ref) / (λ + λ_ref)ᵀ W (λ + λ_ref),    W = k − k B K⁻¹ Bᵀ k on cables

    W is applied, never formed.
    """

    def __init__(self, problem: LinkProblem) -> None:
        law = problem.law
        assert isinstance(law, Springs)
        self._cables = np.flatnonzero(law.is_cable)
        self._law = law
        self._k = law.k[self._cables]
        self._B = problem.B[self._cables][:, problem.free].tocsr()
        self._factor = factorise(stiffness(problem))

    def slack(self, e: Array) -> Array:
        """Slack lengths λ = max(−e − t⁰/k, 0) of the cables at the elongations e of all links (m)."""
        return np.maximum(-(e + self._law.t0 / self._law.k), 0.0)[self._cables]

    def _square(self, slack: Array) -> float:
        force = self._k * slack
        nodal_force = self._B.T @ force
        return float(force @ slack - nodal_force @ self._factor.solve(nodal_force))

    def __call__(self, slack: Array, reference: Array) -> float:
        """η between slack lengths and reference; 0 where both vanish."""
        distance, size = self._square(slack - reference), self._square(slack + reference)
        return float(np.sqrt(max(distance, 0.0) / size)) if size > 0.0 else 0.0
