"""Elastic contact as complementarity: iterations to an energy distance, Lemke's method under rounding.

Common parts of the studies of chapters 2 and 3 of the LMGC thesis on tensegrity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clapas.problems.lcp import LCP
from clapas.solvers.lcp import (
    LATIN,
    ConjugateProjectedGradient,
    GaussSeidel,
    LCPSolution,
    LCPSolver,
    Lemke,
    LemkeTableau,
    solve_lcp,
)
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, UNDETERMINED, Verdict
from clapas.typing import Array

SOURCE = "LMGC thesis on tensegrity"
GOAL = 1e-4  # energy distance to the reference
LONGEST = 20_000  # iterations
LATIN_DIRECTIONS = {f"LATIN, k = {k:g}": k for k in (0.09, 0.2, 0.3, 0.5, 0.7)}
SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)  # of the pivots of a path
SAME_ORDER = 100.0  # insignificant ratio of residuals at the level of rounding

COUNTS = """\
Iterations until the energy distance η to Lemke's answer is 1e-4, cold starts. "As printed" follows the tables
of the thesis to the letter: conjugate gradients without scaling, begun along the whole gradient (table 2.3);
LATIN from zero, its z that of the linear stage (table 2.2). "Library" is what the package runs, without
relaxation and without polishing: scaled conjugate gradients begun along the feasible part, and the admissible
ẑ of LATIN's local stage. Gauss-Seidel is the same in both. The directions k are multiples of the diagonal of
M (a direction in absolute units could not be near 0.2 for stiffnesses of 1e5)."""
ROUNDING = """\
Residual |min(w, λz)|/|q| of the answers, measured from the data. "Tableau" updates the whole tableau at
each pivot, in double and in single precision; "refactorised" computes the basis afresh every 100 pivots.
The printed residuals are |Mz + q − w|/|q| of the program of the time.

Rounding does add up in the tableau: its residual grows faster than that of the basis computed afresh. But
it grows by degrees, and in double precision it stays some ten orders below the printed loss. Single
precision is no explanation: it would have spoilt the smaller problems too, whose printed residuals are
those of double precision. Nor are units: M and q times a constant give the same pivots, and the same
residuals within rounding."""
CUT_SHORT = """\
The printed failures have min z = min w = 0 and zᵀw = 0 exactly beside a large residual. Every tableau shows
that, whatever it has lost, because its basis is complementary. What rounding does not do is jump: from one
size to the next our residuals grow two to nine times, in double as in single precision; the printed ones by
ten to twelve orders.

An unfinished path does jump. At every pivot each row of Mz + q − w is −z₀, until z₀ has left: the residual
is of the order of percents for most of the way, and nothing after the last pivot. Below, our path is cut
after a share of its pivots. On the rectangle the printed 0.026 is met in the middle of it, where max z is
0.98 of that of the solution; the printed max z is 0.984 of that of the smaller problem. On the punch the
printed largest force rises fivefold under refinement, though finer meshes share the load among more nodes;
its residuals are not on our path, whose mesh and load are not the printed ones.

A limit on the number of pivots in the program of the time, or a wrong pivot that ended the path, would thus
explain the tables whatever the conditioning. The thesis says "at most 2n pivots", which our paths keep, and
nothing of a limit: this stays a conjecture."""


class Counts(NamedTuple):
    """Energy distances after each iteration, of the methods of the package and of the thesis."""

    library: list[float]
    printed: list[float]


def methods() -> dict[str, LCPSolver]:
    """The methods of the tables, without relaxation and without polishing."""
    made: dict[str, LCPSolver] = {
        "Gauss-Seidel": GaussSeidel(polish=False),
        "conjugate gradient": ConjugateProjectedGradient(slack=np.inf, polish=False),
    }
    for name, k in LATIN_DIRECTIONS.items():
        made[name] = LATIN(k=k, relaxation=1.0, polish=False)
    return made


def distances(problem: LCP, solver: LCPSolver, reference: Array) -> list[float]:
    """Energy distance η to the reference after each iteration, until it is reached."""
    method = solver.start(problem, np.zeros(problem.size))
    history = [problem.energy_distance(method.unknowns(), reference)]
    while history[-1] > GOAL and len(history) <= LONGEST and np.isfinite(history[-1]):
        method.advance(1)
        history.append(problem.energy_distance(method.unknowns(), reference))
    return history


def compare(report: Report, label: str, problem: LCP, printed: dict[str, int]) -> dict[str, Counts]:
    """A table of iteration counts and a picture of the distances."""
    reference = solve_lcp(problem, Lemke(tol=1e-10)).z
    found = {}
    for name, solver in methods().items():
        library = distances(problem, solver, reference)
        found[name] = Counts(library, as_printed(problem, name, reference) or library)
    rows = [
        [name, counted(each.library), counted(each.printed), str(printed.get(name, "-"))]
        for name, each in found.items()
    ]
    report.table(["method", "library", "as printed", "thesis"], rows)
    with report.figure(label, f"Energy distance, {label}") as figure:
        axes = figure.subplots()
        for name, each in found.items():
            axes.semilogy(each.library, label=name)
        axes.set(xlabel="iterations", ylabel="energy distance η", title=label)
        axes.legend(fontsize="small")
    return found


def counted(found: list[float]) -> str:
    """The number of iterations as text, or that they were not enough."""
    return f"{len(found) - 1}" if found[-1] <= GOAL else f"not in {len(found) - 1}"


def as_printed(problem: LCP, name: str, reference: Array) -> list[float]:
    """Distances of the method exactly as printed in the thesis; empty where it is that of the package."""
    steps: Iterator[Array]
    if name in LATIN_DIRECTIONS:
        steps = _printed_latin(problem, LATIN_DIRECTIONS[name])
    elif name == "conjugate gradient":
        steps = _printed_gradient(problem)
    else:
        return []
    found = [problem.energy_distance(np.zeros(problem.size), reference)]
    while found[-1] > GOAL and len(found) <= LONGEST:
        found.append(problem.energy_distance(next(steps), reference))
    return found


def _printed_latin(problem: LCP, k: float) -> Iterator[Array]:
    """Table 2.2, from zero: z after each linear stage."""
    M, q = problem.dense, problem.q
    direction = k * np.diag(M)
    inverse = np.linalg.inv(M + np.diag(direction))
    z_hat, w_hat = np.zeros(problem.size), np.zeros(problem.size)
    while True:
        z = inverse @ (direction * z_hat + w_hat - q)
        yield z
        s = w_hat + direction * z_hat - 2.0 * direction * z
        w_hat, z_hat = np.maximum(s, 0.0), np.maximum(-s, 0.0) / direction


def _printed_gradient(problem: LCP) -> Iterator[Array]:
    """Table 2.3, from zero: the first direction is the whole gradient, the variables are not scaled."""
    M, q = problem.dense, problem.q
    z = np.zeros(problem.size)
    g = -q
    p = g
    while True:
        pushed = M @ p
        curvature = float(p @ pushed)
        z = np.maximum(z + float(g @ p) / curvature * p, 0.0)
        yield z
        g = -(M @ z + q)
        free, kept = (np.where(z > 0.0, each, np.maximum(each, 0.0)) for each in (g, p))
        p = free - float(free @ pushed) / curvature * kept


def rounding(
    report: Report, blocks: Iterator[ElasticBlock], printed: dict[int, float], source: str
) -> dict[int, LCPSolution]:
    """A table of the residuals of Lemke's method, plain and refactorised, against the contacts.

    Returns the solutions of the refactorised method, by contacts.
    """
    solvers: tuple[LCPSolver, ...] = (
        LemkeTableau(tol=1e-12, ties="first"),
        LemkeTableau(tol=1e-12, ties="first", precision="single"),
        Lemke(tol=1e-12),
    )
    rows, refactorised = [], {}
    for block in blocks:
        problem = block.frictionless()
        solutions = [solve_lcp(problem, solver, check=False) for solver in solvers]
        report.tell(f"{block.contacts} contacts: {', '.join(map(str, solutions))}")
        refactorised[block.contacts] = solutions[-1]
        loss = printed.get(block.contacts)
        if loss is not None:
            report.judge(_of_residual(source, block.contacts, loss, solutions[0].residual))
        rows.append(
            [
                f"{block.contacts}",
                f"{np.linalg.cond(problem.dense):.1e}",
                f"{solutions[0].iterations}",
                *(f"{solution.residual:.1e}" for solution in solutions),
                "-" if loss is None else f"{loss:.1e}",
            ]
        )
    head = ["contacts", "cond(M)", "pivots", "tableau", "in single", "refactorised", "printed"]
    report.table(head, rows)
    return refactorised


def _of_residual(source: str, contacts: int, printed: float, found: float) -> Verdict:
    """A printed residual of Lemke's method: rounding, or a failure that ours does not have."""
    is_rounding = max(printed / found, found / printed) < SAME_ORDER
    return Verdict(
        source=source,
        quantity=f"residual of Lemke's method, {contacts} contacts",
        printed=f"{printed:.4g}",
        found=f"{found:.1e}",
        grade=UNDETERMINED if is_rounding else NOT_REPRODUCED,
        why=(
            "rounding, of the same order; meshes differ"
            if is_rounding
            else "rounding adds up by degrees and does not jump; a path cut short shows such residuals"
        ),
    )


def cut_short(report: Report, block: ElasticBlock) -> None:
    """A table of the state of the tableau on a truncated path, against the share of its pivots."""
    problem = block.frictionless()
    states = list(path(problem))
    w_end, z_end, _ = states[-1]
    rows = []
    for share in SHARES:
        w, z, _ = states[max(0, round(share * len(states)) - 1)]
        rows.append(
            [
                f"{100 * share:g} %",
                f"{np.linalg.norm(problem.slack(z) - w) / np.linalg.norm(problem.q):.1e}",
                f"{z.min():.0e}",
                f"{w.min():.0e}",
                f"{z @ w:.0e}",
                f"{z.max() / z_end.max():.3f}",
                f"{w.max() / w_end.max():.3f}",
            ]
        )
    residual = "norm(Mz + q − w)/norm(q)"  # bars would end the cell
    report.table(["pivots done", residual, "min z", "min w", "zᵀw", "max z / end", "max w / end"], rows)


def path(problem: LCP) -> Iterator[tuple[Array, Array, float]]:
    """State of the tableau after each pivot, until z₀ has left the basis."""
    method = LemkeTableau(ties="first").start(problem, np.zeros(problem.size))
    artificial = np.inf
    while artificial > 0.0:
        method.advance(1)
        w, z, artificial = method.shown()
        yield w, z, artificial
