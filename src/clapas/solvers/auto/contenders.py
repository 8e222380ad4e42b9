"""The methods of the portfolio: what suits a problem, what an iteration costs, when to join.

Work is counted in products by W, which is what an iteration of the accelerated projection costs. The
numbers are measured averages over the gallery and published files, not readings of the clock: a sweep of
Gauss-Seidel takes between a tenth of a product (packings) and a whole one (walls), a step of the interior
point about a hundred whatever the size, a step of Cadoux's fixed point some thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.enumeration import LARGEST, Enumeration
from clapas.solvers.interior_point import InteriorPoint
from clapas.solvers.loop import Solver
from clapas.solvers.nsgs import NSGS

OPENING = 15.0  # work of Gauss-Seidel before others join
STEP, FIXED_POINT = 110.0, 2000.0
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
        Work after which it gives up.
    begins : "best" or "zero"
        Where it starts: at the best impulses so far, or at none.
    """

    name: str
    solver: Solver
    cost: float
    joins: float
    patience: float
    begins: Literal["best", "zero"] = "best"


def contenders(problem: ContactProblem, tol: float) -> list[Contender]:
    """Those that suit a connected problem, in the order in which they join."""
    field = [
        Contender("nsgs", _endless(NSGS, tol), _sweep(problem), joins=0.0, patience=30_000),
        Contender(
            "accelerated-projection",
            _endless(AcceleratedProjection, tol),
            1.0,
            joins=OPENING,
            patience=60_000,
        ),
    ]
    if problem.n_contacts <= LARGEST[problem.d]:
        field.append(Contender("enumeration", _endless(Enumeration, tol), 1.0, joins=2_000, patience=1.0))
    interior, fixed_point = _endless(InteriorPoint, tol), _endless(ConicFixedPoint, tol)
    return [
        *field,
        # From impulses that are not yet near, the interior point loses more by its start than it gains.
        Contender("interior-point", interior, STEP, joins=500, patience=50_000, begins="zero"),
        Contender("interior-point from the best", interior, STEP, joins=20_000, patience=50_000),
        Contender("conic-fixed-point", fixed_point, FIXED_POINT, joins=10_000, patience=100_000),
    ]


def _sweep(problem: ContactProblem) -> float:
    """Of Gauss-Seidel: cheap by body velocities, cheapest for spheres, solved in one step each."""
    if problem.form == "reduced":
        return 1.0
    blocks = problem.local_blocks
    diagonal = np.einsum("nii->ni", blocks)
    coupled = np.abs(blocks).sum() > (1.0 + 1e-9) * np.abs(diagonal).sum()
    return 0.5 if coupled or problem.blocks is None else 0.1


def _endless(method: Callable[..., Solver], tol: float) -> Solver:
    return method(tol=tol, max_iterations=UNLIMITED)
