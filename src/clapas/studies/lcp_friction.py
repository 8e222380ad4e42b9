"""The rectangle with friction of the LMGC thesis on tensegrity: section 3.1.5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clapas.problems import ContactProblem
from clapas.problems.conversions import reduce
from clapas.problems.friction_lcp import velocity_lcp
from clapas.solvers import NSGS
from clapas.solvers.latin import LATIN
from clapas.solvers.lcp import GaussSeidel, Lemke, solve_lcp
from clapas.solvers.loop import Iteration
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.lcp_contact import GOAL, LONGEST, SOURCE, counted, distances
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, Verdict
from clapas.typing import Array

DIRECTIONS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ON_LCP = "Gauss-Seidel on the LCP"
BY_CONTACTS = "Gauss-Seidel by contacts"
TEXT = """\
{contacts} contacts: with friction an LCP of {size} unknowns, which Lemke's method solves in {pivots} pivots
(residual of Coulomb's law {residual:.0e}); its forces are the reference. Iterations until the energy distance
η = √((r − r*)·W(r − r*) / r*·W r*) is 1e-4, cold starts, beside the same without friction. Gauss-Seidel on
the LCP is the method of the thesis, unknown by unknown (without friction: that of table 2.4). LATIN is the
one made for friction (table 3.1, k relative to the responses of the contacts, no relaxation). The last row
visits whole contacts and solves each exactly, which the thesis has only for rigid bodies.

The thesis prints no numbers here (its curves are lost): friction takes more iterations, LATIN is ahead of
Gauss-Seidel, and its direction matters."""


@dataclass(frozen=True, kw_only=True)
class LCPFriction:
    """The rectangle with friction: the LCP in displacements against the methods made for friction.

    Parameters
    ----------
    contacts : int
        Contact nodes.
    mu : float
        Coefficient of friction.
    """

    contacts: int = 26
    mu: float = 0.5

    title: ClassVar[str] = "Contact with friction as an LCP (section 3.1.5)"
    quick: ClassVar[dict[str, int | float]] = {"contacts": 8}

    def run(self, report: Report) -> None:
        """Count with and without friction, one measure for all methods."""
        block = ElasticBlock(contacts=self.contacts)
        rough, smooth = (reduce(block.with_friction(mu)) for mu in (self.mu, 0.0))
        friction = velocity_lcp(rough)
        pivots = solve_lcp(friction.lcp, Lemke(tol=1e-12))
        report.say(
            TEXT.format(
                contacts=self.contacts,
                size=friction.lcp.size,
                pivots=pivots.iterations,
                residual=friction.residual(pivots.z),
            )
        )
        found = _histories(rough, friction.impulses(pivots.z))
        normal = block.frictionless()
        answer = solve_lcp(normal, Lemke(tol=1e-12))
        without = _histories(smooth, np.column_stack((answer.w, np.zeros(self.contacts))))
        # Without friction the method of the thesis has one unknown a contact, the separation.
        without[ON_LCP] = distances(normal, GaussSeidel(polish=False), answer.z)
        rows = [[name, counted(each), counted(without[name])] for name, each in found.items()]
        report.table(["method", f"mu = {self.mu:g}", "mu = 0"], rows)
        with report.figure("friction", f"Energy distance, mu = {self.mu:g}") as figure:
            axes = figure.subplots()
            for name, each in found.items():
                axes.semilogy(each, label=name)
            axes.set(xlabel="iterations", ylabel="energy distance η", xscale="symlog")
            axes.legend(fontsize="small")
        _judge(report, found, without)


def _histories(problem: ContactProblem, reference: Array) -> dict[str, list[float]]:
    """Energy distances of the forces of each method to the reference, until they are small."""
    nothing = np.zeros((problem.n_contacts, problem.d))
    lcp = velocity_lcp(problem)
    sweeps = GaussSeidel(polish=False).start(lcp.lcp, np.zeros(lcp.lcp.size))
    found = {ON_LCP: _history(problem, reference, sweeps.advance, lambda: lcp.back(sweeps.unknowns()))}
    methods: Mapping[str, Iteration] = {
        **{f"LATIN, k = {k:g}": LATIN(k=k, relaxation=1.0).start(problem, nothing) for k in DIRECTIONS},
        BY_CONTACTS: NSGS(acceleration=0).start(problem, nothing),
    }
    for name, method in methods.items():
        found[name] = _history(problem, reference, method.advance, method.impulses)
    return found


def _history(
    problem: ContactProblem,
    reference: Array,
    advance: Callable[[int], int | None],
    forces: Callable[[], Array],
) -> list[float]:
    def distance(r: Array) -> float:
        away = (r - reference).ravel()
        scale = float(reference.ravel() @ (problem.W @ reference.ravel()))
        return float(np.sqrt(max(away @ (problem.W @ away), 0.0) / scale))

    found = [distance(np.zeros(reference.shape))]
    while found[-1] > GOAL and len(found) <= LONGEST:
        advance(1)
        found.append(distance(forces()))
    return found


def _judge(report: Report, found: dict[str, list[float]], without: dict[str, list[float]]) -> None:
    """The three statements of the section."""
    latin = [name for name in found if name.startswith("LATIN")]
    best, worst = (pick(latin, key=lambda name: len(found[name])) for pick in (min, max))
    smooth = min(latin, key=lambda name: len(without[name]))
    more = {
        "Gauss-Seidel on the LCP": (without[ON_LCP], found[ON_LCP]),
        "LATIN, best direction of each": (without[smooth], found[best]),
    }
    statements = (
        *(
            (
                f"iterations with friction: {name}",
                "more than without",
                f"{len(after) - 1} against {len(before) - 1}",
                len(after) > len(before),
            )
            for name, (before, after) in more.items()
        ),
        (
            "LATIN at its best direction against Gauss-Seidel on the LCP",
            "LATIN is faster",
            f"{len(found[best]) - 1} ({best}) against {len(found[ON_LCP]) - 1}",
            len(found[best]) < len(found[ON_LCP]),
        ),
        (
            "influence of the direction",
            "k matters",
            f"{len(found[best]) - 1} to {len(found[worst]) - 1} iterations over k = {DIRECTIONS[0]:g} to "
            f"{DIRECTIONS[-1]:g}",
            len(found[worst]) > 2 * len(found[best]),
        ),
    )
    for quantity, printed, ours, holds in statements:
        report.judge(
            Verdict(
                source=f"{SOURCE}, 3.1.5",
                quantity=quantity,
                printed=printed,
                found=ours,
                grade=REPRODUCED if holds else NOT_REPRODUCED,
                why="height, mesh and loaded part are ours",
            )
        )
