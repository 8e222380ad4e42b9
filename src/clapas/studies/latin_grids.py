"""Tensegrity grids in substructures, as the study of the micro-macro LATIN runs and counts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clapas.bodies.trusses import Truss
from clapas.linalg.factor import factorise
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.measures import stiffness
from clapas.multiscale.substructured import History, Substructured
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks
from clapas.studies.report import Report
from clapas.studies.verdicts import of_number
from clapas.typing import Array

DIRECTION = 3.92e6  # d of the thesis, N/m: "automatic, not optimal"
PLAIN: dict[str, Any] = {"direction": DIRECTION, "relaxation": 1.0}  # the method as printed
GOAL = 0.01


@dataclass
class Verdicts:
    """Expected and computed numbers, with verdicts.

    Few of the numbers are printed: those enter the verdicts of the report, too. The others are those of an
    independent code of the same method.
    """

    report: Report
    rows: list[list[str]] = field(default_factory=list)

    def add(
        self, what: str, expected: float, found: float | None, *, printed: str = "", why: str = ""
    ) -> None:
        """Compare one number; ``printed`` has the digits of the thesis."""
        source = "printed" if printed else "independent code"
        if printed and found is not None:
            place = "LMGC thesis on tensegrity, 5.3"
            self.report.judge(of_number(place, what, printed, found, within=0.03, why=why))
        if found is None:
            said = "not reproduced"
        elif found == expected:
            said = "reproduced"
        else:
            off = abs(found - expected) / abs(expected)
            said = f"within {100 * off:.1f} %" if off < 0.15 else "not reproduced"
        shown = "not reached" if found is None else f"{found:.4g}"
        self.rows.append([what, f"{expected:.4g}", source, shown, said])


def cut(truss: Truss, *, n: int = 16, parts: int = 4, linear: bool = False, **settings: Any) -> Substructured:
    """A grid of n × n modules in parts × parts substructures, under its load downward."""
    problem = link_problem(truss, "down", linear=linear)
    return MicroMacroLATIN(**settings).prepare(problem, module_blocks(truss, n, parts))


def exact_displacements(truss: Truss, factor: float = 1.0) -> Array:
    """Displacements under a part of the load, by Newton's method."""
    return SmallDisplacements().solve(truss, "down", factor=factor).displacements.ravel()


def linear_displacements(truss: Truss) -> Array:
    """Displacements with all links linear."""
    problem = link_problem(truss, "down", linear=True)
    U = np.zeros(len(problem.F))
    U[problem.free] = factorise(stiffness(problem)).solve(problem.F[problem.free])
    return U


def run(whole: Substructured, reference: Array, factor: float = 1.0, iterations: int = 100) -> History:
    """Iterations from rest under a part of the load."""
    whole.reset()
    whole.load(factor * whole.problem.F)
    return whole.run(iterations, reference=reference)


def iterations(whole: Substructured, reference: Array, most: int = 150) -> int | None:
    """Iterations until the error is below 1 %; None if there are more than ``most``."""
    return whole.run(most, reference=reference, goal=GOAL).iterations_to(GOAL)


def shown(count: int | None) -> str:
    """A count as text, or that it was not reached."""
    return "not reached" if count is None else str(count)
