"""Gauss-Seidel for friction sections known only by their projections.

Contacts that share no body do not depend on each other: they get one colour and are visited together, so that
a section projects the points of a whole colour in one call. A visit alternates, on the contact's own block of
W, between

    r_N ← max(0, r_N − u_N / W_NN),        r_T ← P_{mu r_N S} (r_T − u_T / λ_T),

λ_T the largest eigenvalue of the tangential block. At a fixed point r_N and u_N are complementary and r_T
maximises dissipation over mu r_N S, which is the law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.convex.section import Section
from clapas.convex.threshold import Thresholds
from clapas.problems.contact import ContactProblem
from clapas.solvers.nsgs.sweeps import Sweeps
from clapas.typing import Array, Indices

REPEATS = 6


class _Colour(NamedTuple):
    """Contacts that share no body: their rows of W, sections and mu, own blocks of W, and λ_T."""

    contacts: Indices
    rows: sparse.csr_array
    section: Section
    mu: Array
    local: Array
    tangential: Array


class SectionSweeps(Sweeps):
    """Sweeps on the blocks of W, colour after colour.

    Parameters
    ----------
    problem : ContactProblem
        Its reduced form.
    relaxation : float
        Factor on each change of impulse.
    guess : array (n, d)
        Impulses to begin with.
    """

    form = "blocks of W, by projections on sections"

    def __init__(self, problem: ContactProblem, relaxation: float, guess: Array) -> None:
        assert problem.section is not None
        assert not isinstance(problem.section, Thresholds)  # these have compiled visits
        self._relaxation, self._q = relaxation, problem.q
        W = problem.W.tocsr()
        local, n, d = problem.local_blocks, problem.n_contacts, problem.d
        symmetric = 0.5 * (local + local.transpose(0, 2, 1))
        tangential = np.asarray(np.linalg.eigvalsh(symmetric[:, 1:, 1:])[:, -1], dtype=float)
        self._colours: list[_Colour] = []
        for contacts in coloured(problem.W):
            rows = (d * contacts[:, None] + np.arange(d)).ravel()
            data = problem.section.take(contacts), problem.mu[contacts], local[contacts], tangential[contacts]
            self._colours.append(_Colour(contacts, W[rows], *data))
        self.r, self.y = guess.copy().reshape(n, d), np.empty(0)

    def impulses(self) -> Array:
        """The current impulses."""
        return self.r

    def refresh(self) -> None:
        """Nothing to compute ahead."""

    def sweep(self, count: int) -> None:
        """Do ``count`` sweeps."""
        for _ in range(count):
            for colour in self._colours:
                r, q = self.r[colour.contacts], self._q[colour.contacts]
                u = q + np.asarray(colour.rows @ self.r.ravel()).reshape(q.shape)
                self.r[colour.contacts] = visited(colour, self._relaxation, r, u)


def visited(colour: _Colour, relaxation: float, r: Array, u: Array) -> Array:
    """New impulses (n, d) of the contacts of a colour, from their impulses and velocities."""
    _, _, section, mu, local, tangential = colour
    new, u = r.copy(), u.copy()
    safe = np.where(tangential > 0.0, tangential, 1.0)[:, None]
    for _ in range(REPEATS):
        normal = np.maximum(new[:, 0] - u[:, 0] / local[:, 0, 0], 0.0)
        u += local[:, :, 0] * (normal - new[:, 0])[:, None]
        new[:, 0] = normal
        tangent = section.project(new[:, 1:] - u[:, 1:] / safe, mu * normal)
        u += np.einsum("nij,nj->ni", local[:, :, 1:], tangent - new[:, 1:])
        new[:, 1:] = tangent
    if relaxation != 1.0:
        new = r + relaxation * (new - r)
        new[:, 0] = np.maximum(new[:, 0], 0.0)
        new[:, 1:] = section.project(new[:, 1:], mu * new[:, 0])
    return new


def coloured(W: sparse.bsr_array) -> list[Indices]:
    """Contacts of each colour, not coupled in W. Greedy: each contact takes the first free colour."""
    n = len(W.indptr) - 1
    colour = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        taken = set(colour[W.indices[W.indptr[i] : W.indptr[i + 1]]].tolist())
        colour[i] = next(c for c in range(n) if c not in taken)
    return [np.flatnonzero(colour == c) for c in range(int(colour.max(initial=-1)) + 1)]
