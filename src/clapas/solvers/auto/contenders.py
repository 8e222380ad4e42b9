"""The methods of the portfolio: what suits a problem, what an iteration costs, when to join.

Work is counted in products by W, which is what an iteration of the accelerated projection costs. The
numbers are measured averages over the gallery and published files, not readings of the clock: a sweep of
Gauss-Seidel takes between a tenth of a product (packings) and a whole one (walls), a step of the interior
point some hundreds, a step of Cadoux's fixed point some thousands.

Small problems are a matter of microseconds: there a compiled round of sweeps and Newton steps on a dense W
comes first. In time steps, whose problems are given by blocks, it comes second: from the impulses of the last
step a sweep or two, which need no W, are mostly enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clapas.convex import CoulombCone
from clapas.convex.section import Polygons
from clapas.problems.contact import ContactProblem
from clapas.problems.sphere_blocks import SphereBlocks
from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.admm import ADMM
from clapas.solvers.branch_and_bound import BranchAndBound
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.dense import DenseNewton
from clapas.solvers.interior_point import InteriorPoint
from clapas.solvers.least_impulses import LeastImpulses, can_rest
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs import NSGS

OPENING = 15.0  # work of Gauss-Seidel before others join
STEP, STEP_PER_CONTACT, LARGEST_STEP = 100.0, 0.05, 400.0  # half the truth: where it is needed it is best
FIXED_POINT = 5000.0
AT_REST = 50.0  # of a step to the least impulses
NODE = 100.0  # of branch and bound
SEARCHED = {2: 40, 3: 6}  # contacts, by dimension, that branch and bound may master
FEW = 100  # contacts
SMALL = 300  # rows of W up to which it is written in full ...
ROUND_PER_ROW = 0.03  # ... and the cost, per row, of a sweep or a Newton step on it, on the mean
UNLIMITED = 10**9


@dataclass(frozen=True)
class Contender:
    """A method in a race.

    Parameters
    ----------
    name : str
        For the notes.
    solver : Solver
        With its settings.
    cost : float
        Work of one iteration.
    joins : float
        Work that those ahead of it in the list must have done before it starts.
    patience : float
        Work after which it gives up, unless its residual still falls.
    begins : "guess" or "best"
        Where it starts: at the guess the portfolio was given, or at the best impulses so far.
    """

    name: str
    solver: Solver
    cost: float
    joins: float
    patience: float
    begins: Literal["guess", "best"] = "guess"


def opening(problem: ContactProblem, tol: float) -> Contender:
    """The one that begins."""
    if not isinstance(problem.cone, NSGS.cones) or not isinstance(problem.section, Polygons | None):
        projection = _endless(AcceleratedProjection, tol)
        return Contender("accelerated-projection", projection, 1.0, joins=0.0, patience=20_000)
    if not isinstance(problem.cone, CoulombCone):
        return Contender("nsgs", _endless(NSGS, tol), 0.1, joins=0.0, patience=3_000)
    if _is_small(problem) and not problem._given_by_blocks:
        return Contender("dense-newton", _endless(DenseNewton, tol), _round(problem), joins=0.0, patience=500)
    return Contender("nsgs", _endless(NSGS, tol), _sweep(problem), joins=0.0, patience=30_000)


def contenders(problem: ContactProblem, tol: float) -> list[Contender]:
    """Those that suit a connected problem, in the order in which they join."""
    if not isinstance(problem.cone, CoulombCone):
        first, projection = opening(problem, tol), _endless(AcceleratedProjection, tol)
        second = Contender("accelerated-projection", projection, 1.0, 50.0, 10_000)
        last = Contender("admm", _endless(ADMM, tol), 10.0, joins=1_000, patience=20_000)
        return [first, last] if first.name == second.name else [first, second, last]
    field = [opening(problem, tol)]
    if _is_small(problem):
        sweeps, newton = _endless(NSGS, tol), _endless(DenseNewton, tol)
        field.append(
            Contender("nsgs", sweeps, _sweep(problem), joins=OPENING, patience=30_000)
            if field[0].name == "dense-newton"
            else Contender(
                "dense-newton", newton, _round(problem), joins=OPENING, patience=500, begins="best"
            )
        )
    projection = _endless(AcceleratedProjection, tol)
    field.append(Contender("accelerated-projection", projection, 1.0, joins=OPENING, patience=60_000))
    if problem.n_contacts > FEW and can_rest(problem):
        at_rest = _endless(LeastImpulses, tol)
        field.append(Contender("least-impulses", at_rest, AT_REST, joins=2 * AT_REST, patience=8 * AT_REST))
    if problem.n_contacts <= SEARCHED[problem.d]:
        search = BranchAndBound(tol=tol, max_iterations=UNLIMITED, heuristics=(), restarts=0)
        field.append(Contender("branch-and-bound", search, NODE, joins=1_000, patience=100_000))
    step = min(STEP + STEP_PER_CONTACT * problem.n_contacts, LARGEST_STEP)
    interior, fixed_point = _endless(InteriorPoint, tol), _endless(ConicFixedPoint, tol)
    return [
        *field,
        # From rough impulses, as a few sweeps leave them, most methods take longer than from none.
        Contender("interior-point", interior, step, joins=500, patience=50_000),
        Contender(
            "interior-point from the best", interior, step, joins=40_000, patience=50_000, begins="best"
        ),
        Contender(
            "conic-fixed-point", fixed_point, FIXED_POINT, joins=50_000, patience=100_000, begins="best"
        ),
    ]


def _is_small(problem: ContactProblem) -> bool:
    return problem.d * problem.n_contacts <= SMALL


def _round(problem: ContactProblem) -> float:
    """Of a step of the dense method: a product for a sweep, some tens for a factorisation."""
    return 1.0 + ROUND_PER_ROW * problem.d * problem.n_contacts


def _sweep(problem: ContactProblem) -> float:
    """Of Gauss-Seidel: cheap by body velocities, cheapest for spheres, solved in one step each."""
    if problem.form == "reduced":
        return 1.0
    if problem.n_contacts < FEW or isinstance(problem.blocks, SphereBlocks):
        return 0.1
    blocks = problem.local_blocks
    diagonal = np.einsum("nii->ni", blocks)
    coupled = np.abs(blocks).sum() > (1.0 + 1e-9) * np.abs(diagonal).sum()
    return 0.5 if coupled or problem.blocks is None else 0.1


def _endless(method: Callable[..., Solver], tol: float) -> Solver:
    return method(tol=tol, max_iterations=UNLIMITED)
