"""Proximal problems: a safeguard of methods that need a regular matrix.

The proximal problem of a centre c,

    0 ≤ (M + ε I) z + q − ε c ⟂ z ≥ 0,

has a P-matrix as soon as ε > 0 and M is positive semidefinite, however singular. With its solution as the
next centre, the centres tend to a solution of the LCP (Rockafellar 1976); where there is none, their
differences tend to a proof of it (Pazy 1971).

For symmetric M the solutions are the stationary points of f(z) = ½ zᵀM z + qᵀz. Once ε exceeds the most
negative eigenvalue, the step to z lowers f by ½ ε |z − c|² at least; steps that do not lower it by a fraction
of that are rejected, and ε is raised. So the centres tend to a solution wherever f has a minimum. The price
of a large ε is short steps: it is lowered again after each step taken, since the fewer unknowns are positive,
the smaller it may be.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.gauss_seidel import is_symmetric
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import PROOF, identity
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array

FIRST, FACTOR, LAST = 1e-4, 10.0, 1e3  # shifts ε of a matrix with a unit diagonal
RELIEF = 3.0  # by which ε is divided after a step that lowers f
DESCENT = 0.1  # fraction of ε |z − c|² by which a step must lower f
ROUNDING = 1e-12  # of f along a step, relative to the step and to z
STUCK = 1e-14  # a step below this, relative to the centre, counts as zero


class Proximal:
    """The problem itself, or one of its proximal problems.

    Parameters
    ----------
    problem : LCP
        Scaled; it is used unchanged until the shift is raised for the first time.
    start : array (n,)
        The first centre.
    """

    def __init__(self, problem: LCP, start: Array) -> None:
        self.original = self.problem = problem
        self.shift = 0.0
        self.centre = np.maximum(start, 0.0)
        self.is_symmetric = is_symmetric(problem)

    @property
    def is_exhausted(self) -> bool:
        """Whether no larger shift is left to try."""
        return self.shift >= LAST

    def raise_shift(self) -> None:
        """Change to a more regular problem, with the same centre."""
        self.shift = self.shift * FACTOR or FIRST
        self._centre_at(self.centre)

    def descends(self, z: Array) -> bool:
        """Whether the step from the centre to z lowers f as it should; true where M is not symmetric."""
        if not self.is_symmetric or self.shift == 0.0:
            return True
        step = z - self.centre
        length = float(np.linalg.norm(step))
        change = float(step @ (self.original.slack(self.centre) + 0.5 * (self.original.M @ step)))
        rounding = ROUNDING * length * (1.0 + float(np.linalg.norm(z)))
        return change <= rounding - DESCENT * self.shift * length**2

    def recentre(self, z: Array) -> bool:
        """Continue from the solution z of the proximal problem; False when it is its own centre."""
        step = np.abs(z - self.centre).max(initial=0.0)
        if self.shift == 0.0 or step <= STUCK * (1.0 + np.abs(z).max(initial=0.0)):
            return False
        if self.is_symmetric:
            self.shift = max(self.shift / RELIEF, FIRST)
        self._centre_at(z)
        return True

    def infeasibility(self, z: Array) -> Infeasibility | None:
        """The proof that no solution exists, where the step from the centre to z is one."""
        if self.shift == 0.0:
            return None
        return Infeasibility(np.maximum(z - self.centre, 0.0)).established(self.original, PROOF)

    def _centre_at(self, z: Array) -> None:
        self.centre = np.maximum(z, 0.0)
        q = self.original.q - self.shift * self.centre
        if not np.isfinite(q).all():
            raise Halt(Status.NUMERICAL_ERROR)  # the iterates diverge and overflow
        self.problem = LCP(self.original.M + self.shift * identity(self.original, self.original.size), q)


class ProximalMethod(LCPMethod):
    """A method that changes to proximal problems where the given one is not regular.

    Parameters
    ----------
    scaled : Scaled
        The given problem, scaled.
    z : array (n,)
        The current iterate, scaled.
    proximal : Proximal
        The current problem.
    """

    scaled: Scaled
    z: Array
    proximal: Proximal

    @abstractmethod
    def _regularise(self) -> None:
        """Change to a proximal problem whose matrix is more regular."""

    @abstractmethod
    def _resume(self) -> None:
        """Continue from the current iterate on a proximal problem of another centre."""

    def _accept(self) -> None:
        """Accept the solution of the current problem: take the next one, or halt if there is none."""
        proof = self.proximal.infeasibility(self.z)
        if proof is not None:
            self.infeasibility = self.scaled.proof(proof)
            raise Halt(Status.NO_SOLUTION)
        if not self.proximal.descends(self.z):
            self._regularise()
            return
        if not self.proximal.recentre(self.z):
            raise Halt(Status.STALLED)
        self._resume()
