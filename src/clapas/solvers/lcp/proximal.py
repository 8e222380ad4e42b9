"""A safeguard of methods that need a regular matrix: solve nearby regular problems, one after another.

The proximal problem of a centre c,

    0 ≤ (M + ε I) z + q − ε c ⟂ z ≥ 0,

has a P-matrix as soon as ε > 0 and M is positive semidefinite, however singular. With its solution as the
next centre, the centres tend to a solution of the LCP (Rockafellar 1976); where there is none, their
differences tend to a proof of it (Pazy 1971). For symmetric M each step lowers ½ zᵀM z + qᵀz once ε exceeds
the most negative eigenvalue, and the centres tend to a stationary point of it, that is to a solution.
"""

from __future__ import annotations

import numpy as np

from clapas.problems.lcp import LCP, Infeasibility
from clapas.solvers.lcp.loop import LCPMethod
from clapas.solvers.lcp.polishing import PROOF, identity
from clapas.solvers.lcp.scaling import Scaled
from clapas.solvers.loop import Halt
from clapas.status import Status
from clapas.typing import Array

FIRST, FACTOR, LAST = 1e-4, 10.0, 1e3  # shifts ε of a matrix with a unit diagonal
STUCK = 1e-14  # a step this short, relative to the centre, is none


class Proximal:
    """The problem itself, or one of its proximal problems.

    Parameters
    ----------
    given : LCP
        Scaled; it is the problem until the shift is raised for the first time.
    start : array (n,)
        The first centre.
    """

    def __init__(self, given: LCP, start: Array) -> None:
        self.given = self.problem = given
        self.shift = 0.0
        self.centre = np.maximum(start, 0.0)

    @property
    def is_exhausted(self) -> bool:
        """Whether no larger shift is left to try."""
        return self.shift >= LAST

    def raise_shift(self) -> None:
        """Take a more regular problem, with the same centre."""
        self.shift = self.shift * FACTOR or FIRST
        self._centre_at(self.centre)

    def recentre(self, z: Array) -> bool:
        """Go on from the solution z of the proximal problem; False when it is its own centre."""
        step = np.abs(z - self.centre).max(initial=0.0)
        if self.shift == 0.0 or step <= STUCK * (1.0 + np.abs(z).max(initial=0.0)):
            return False
        self._centre_at(z)
        return True

    def infeasibility(self, z: Array) -> Infeasibility | None:
        """The proof that no solution exists, where the step from the centre to z is one."""
        if self.shift == 0.0:
            return None
        proof = Infeasibility(np.maximum(z - self.centre, 0.0))
        return proof if proof.proves(self.given, PROOF) else None

    def _centre_at(self, z: Array) -> None:
        self.centre = np.maximum(z, 0.0)
        M = self.given.M + self.shift * identity(self.given, self.given.size)
        self.problem = LCP(M, self.given.q - self.shift * self.centre)


class ProximalMethod(LCPMethod):
    """A method that turns to proximal problems where the given one is not regular.

    Parameters
    ----------
    scaled : Scaled
        The given problem, scaled.
    z : array (n,)
        The current iterate, scaled.
    proximal : Proximal
        The problem under way.
    """

    scaled: Scaled
    z: Array
    proximal: Proximal

    def _move_on(self) -> None:
        """The present problem is solved: take the next proximal one, or halt if there is none."""
        proof = self.proximal.infeasibility(self.z)
        if proof is not None:
            self.infeasibility = self.scaled.proof(proof)
            raise Halt(Status.NO_SOLUTION)
        if not self.proximal.recentre(self.z):
            raise Halt(Status.STALLED)
