"""Micro-macro LATIN of the LMGC thesis: substructures of tensegrity grids, and where the method was to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clapas.bodies.trusses.generators import grid
from clapas.studies import latin_outlook, latin_rates, latin_sweeps
from clapas.studies.latin_grids import Verdicts, exact_displacements
from clapas.studies.report import Report

INTRODUCTION = """\
Section 5.3 of the thesis: 16 × 16 modules in 4 × 4 substructures of 16 modules, lower nodes of two opposite
edges held, α × 40 N downward on every other node. The thesis prints few numbers (its curves did not survive):
24 strong interfaces, a coarse problem of 216 unknowns, d = 3.92e6 N/m, "a ratio of about 3" to one domain,
and a cost model. The other numbers to meet are those of an independent code of the same method. *Error* is e,
the energy distance of the elongations to the exact solution; iterations are counted to e < 1 %."""


@dataclass(frozen=True, kw_only=True)
class Latin:
    """Micro-macro LATIN: interfaces, rates, directions, scalability, rivals; contacts and dynamics.

    Parameters
    ----------
    largest : int
        Modules along a side of the largest grid of the scalability table: 16, 32 or 64.
    contacts : int
        Contacts of the largest wall and packing.
    steps : int
        Time steps of the dynamic run.
    limit : float
        Seconds per solver and contact problem.
    sweeps : bool
        Also vary directions, partitions, weak interfaces and macro bases.
    """

    largest: int = 64
    contacts: int = 5000
    steps: int = 120
    limit: float = 10.0
    sweeps: bool = True

    title: ClassVar[str] = "Micro-macro LATIN (chapters 5 and 6.3)"
    quick: ClassVar[dict[str, Any]] = {
        "largest": 8,
        "contacts": 100,
        "steps": 4,
        "limit": 1.0,
        "sweeps": False,
    }

    def run(self, report: Report) -> None:
        """Count, sweep, compare."""
        verdicts = Verdicts(report)
        report.say(INTRODUCTION)
        truss = grid(16)
        exact = exact_displacements(truss)
        latin_rates.rates(report, verdicts, truss)
        latin_rates.cost(report, verdicts, truss)
        if self.sweeps:
            latin_sweeps.directions(report, verdicts, truss, exact)
            latin_sweeps.parts(report, verdicts, truss, exact)
            latin_sweeps.cuts(report, truss, exact)
            latin_sweeps.interfaces(report, verdicts, truss, exact)
            latin_sweeps.coarse_problem(report, verdicts, truss, exact)
        latin_sweeps.modified(report, verdicts)
        latin_rates.measures(report, truss, exact)
        latin_sweeps.scale(report, verdicts, self.largest)
        latin_outlook.motion(report, verdicts, self.steps)
        latin_outlook.contacts(report, self.contacts, self.limit)
        latin_outlook.rivals(report, self.largest)
        report.say("## Number by number")
        report.table(["number", "expected", "source", "here", "verdict"], verdicts.rows)
