"""Problems whose velocities are too large or too small to be squared, in another unit of velocity.

Coulomb's law is homogeneous: if r solves a problem, then c r solves the one whose free velocities are c times
as large. Factors are powers of two, so that nothing is rounded.
"""

from __future__ import annotations

import math
from typing import Any

from clapas.convex.threshold import Thresholds
from clapas.linalg.norms import SAFE
from clapas.problems.contact import ContactProblem

LARGEST_EXPONENT = 1000  # of a factor: the inverse of a larger one is subnormal


def factor(problem: ContactProblem) -> float:
    """The factor of the velocities that makes |q| about one where it cannot be squared; elsewhere 1.

    Friction with thresholds has an impulse of its own and is not homogeneous: 1, as for contacts with
    couples.
    """
    size = problem.free_speed
    if SAFE < size < 1.0 / SAFE or size == 0.0 or not math.isfinite(size):
        return 1.0
    if type(problem) is not ContactProblem or isinstance(problem.section, Thresholds):
        return 1.0
    exponent = math.frexp(size)[1]
    return math.ldexp(1.0, max(-LARGEST_EXPONENT, min(-exponent, LARGEST_EXPONENT)))


def scaled(problem: ContactProblem, factor: float) -> ContactProblem:
    """The problem with all imposed velocities and momenta multiplied by a factor.

    >>> problem = ContactProblem(W=[[1.0, 0.0], [0.0, 1.0]], q=[[-4.0, 2.0]], mu=0.5)
    >>> scaled(problem, 0.5).q
    array([[-2.,  1.]])
    """
    law: dict[str, Any] = {"mu": problem.mu, "section": problem.section, "d": problem.d, "name": problem.name}
    if problem.form == "reduced":
        return ContactProblem(W=problem.W, q=factor * problem.q, **law)
    return ContactProblem(
        M=problem.M,
        H=problem.H,
        f=factor * problem.f,
        w=factor * problem.w,
        J=problem.J,
        b=None if problem.b is None else factor * problem.b,
        compliance=problem.compliance,
        **law,
    )
