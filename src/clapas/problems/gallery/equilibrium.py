"""Structures at rest: every balanced distribution of contact forces is a solution.

Why the whole set is known
--------------------------
Take a problem with w = 0 whose weight f can be carried by normal forces alone: f = Hᵀ r⁰ with
r⁰ ≥ 0 along the normals. Let (v, u, r) be any solution. The law gives r·u = −Σ mu r_N |u_T| ≤ 0, so

    v·M v = −f·v + r·u ≤ −f·v = −r⁰·u = −Σ r⁰_N u_N ≤ 0,

hence v = 0: nothing moves. Conversely any r in the friction cones with Hᵀ r = f gives v = 0 and u = 0,
a sticking solution. The solutions are therefore exactly

    { r ∈ K : Hᵀ r = f },

a convex set; its dimension is the degree of hyperstaticity.
"""

from __future__ import annotations

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import Continuum, Known, in_cones
from clapas.typing import Array


def at_rest(problem: ContactProblem, *samples: Array, precision: float = 1e-12) -> Known:
    """Known solutions of a structure at rest: all balanced impulses.

    Parameters
    ----------
    problem : ContactProblem
        Global form with w = 0 and no initial velocity.
    samples : arrays (n, d)
        Balanced impulses; when the first has no friction, the set is complete (see the head of this file).
    precision : float
        Largest residual of the samples in double precision.
    """

    def contains(r: Array, slack: float) -> bool:
        imbalance = problem.H.T @ r.ravel() - problem.f
        return in_cones(r, problem.mu, slack) and float(np.max(np.abs(imbalance), initial=0.0)) <= slack

    continuum = Continuum(
        description="every r in the friction cones with Hᵀ r = f", samples=samples, contains=contains
    )
    frictionless = bool(np.all(samples[0][:, 1:] == 0.0))
    return Known(exists=True, continuum=continuum, complete=frictionless, precision=precision)
