"""Elastic contact as complementarity: the comparisons of the thesis on tensegrity and granular solvers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.io.lcp import read_lcp
from clapas.problems.friction_lcp import velocity_lcp
from clapas.problems.gallery import elastic_rectangle
from clapas.problems.lcp import LCP
from clapas.solvers import NSGS, solve
from clapas.solvers import latin as contact_latin
from clapas.solvers.lcp import (
    LATIN,
    ConjugateProjectedGradient,
    GaussSeidel,
    InteriorPoint,
    LCPSolver,
    Lemke,
    LemkeTableau,
    solve_lcp,
)
from clapas.status import Status
from clapas.studies.elastic_block import ElasticBlock
from clapas.studies.report import Report
from clapas.typing import Array

GOAL = 1e-4  # energy distance to the reference
LONGEST = 20_000  # iterations
PRINTED_COUNTS = {
    "Gauss-Seidel": 182,
    "conjugate gradient": 41,
    "LATIN, k = 0.09": 50,
    "LATIN, k = 0.2": 36,
    "LATIN, k = 0.3": 59,
    "LATIN, k = 0.5": 91,
    "LATIN, k = 0.7": 127,
}
LATIN_DIRECTIONS = {f"LATIN, k = {k:g}": k for k in (0.09, 0.2, 0.3, 0.5, 0.7)}
PRESSURES = (30e6, 300e6, 3000e6)  # Pa
PRINTED_RECTANGLE = {201: 1.8928e-14, 301: 0.0263}  # residual of Lemke's method, by contacts
SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)  # of the pivots of a path
PRINTED_PUNCH = {51: 4.5924e-14, 76: 8.0112e-04, 101: 0.0822}

COUNTS = """\
Iterations until the energy distance η to Lemke's answer is 1e-4: cold starts, methods without relaxation
and without polishing. The directions k are multiples of the diagonal of M (a direction in absolute units
could not be near 0.2 for stiffnesses of 1e5). The thesis very probably measured the z of LATIN's linear
stage, from a zero start: on the original matrix that gives 51/35/54/92/129 against the printed
50/36/59/91/127, while the admissible ẑ of the local stage, which the library returns, needs 67 at k =
0.09."""
CURVED = """\
The thesis wants "a case where the number of active contacts evolves with the load", and its largest z, 0.12
m, is far above elastic displacements: z is very probably the initial gap of a curved foot. Here a block of 1
× 0.4 m, guided, pressed all along its upper side, with the gap 0.12 x² (m). A flat foot with no gap has the
same contacts under every load, and its forces are proportional to it."""
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
    found = [problem.energy_distance(method.unknowns(), reference)]
    while found[-1] > GOAL and len(found) <= LONGEST and np.isfinite(found[-1]):
        method.advance(1)
        found.append(problem.energy_distance(method.unknowns(), reference))
    return found


def compare(report: Report, label: str, problem: LCP, printed: dict[str, int]) -> None:
    """A table of iteration counts and a picture of the distances."""
    reference = solve_lcp(problem, Lemke(tol=1e-10)).z
    histories = {name: distances(problem, solver, reference) for name, solver in methods().items()}
    rows = []
    for name, found in histories.items():
        stage = (
            _linear_stage(problem, LATIN_DIRECTIONS[name], reference) if name in LATIN_DIRECTIONS else None
        )
        rows.append(
            [name, _count(found), "-" if stage is None else _count(stage), str(printed.get(name, "-"))]
        )
    report.table(["method", "iterations", "z of the linear stage", "printed"], rows)
    with report.figure(label, f"Energy distance, {label}") as figure:
        axes = figure.subplots()
        for name, found in histories.items():
            axes.semilogy(found, label=name)
        axes.set(xlabel="iterations", ylabel="energy distance η", title=label)
        axes.legend(fontsize="small")


def _count(found: list[float]) -> str:
    return f"{len(found) - 1}" if found[-1] <= GOAL else f"not in {len(found) - 1}"


def _linear_stage(problem: LCP, k: float, reference: Array) -> list[float]:
    """Distances of LATIN exactly as printed (table 2.2): from zero, z measured after the linear stage.

    The library measures the other stage, whose ẑ is admissible.
    """
    M, q = problem.dense, problem.q
    direction = k * np.diag(M)
    inverse = np.linalg.inv(M + np.diag(direction))
    z_hat, w_hat = np.zeros(problem.size), np.zeros(problem.size)
    found = [problem.energy_distance(z_hat, reference)]
    while found[-1] > GOAL and len(found) <= LONGEST:
        z = inverse @ (direction * z_hat + w_hat - q)
        found.append(problem.energy_distance(z, reference))
        s = w_hat + direction * z_hat - 2.0 * direction * z
        w_hat, z_hat = np.maximum(s, 0.0), np.maximum(-s, 0.0) / direction
    return found


def rounding(report: Report, blocks: Iterator[ElasticBlock], printed: dict[int, float]) -> None:
    """A table of the residuals of Lemke's method, plain and refactorised, against the contacts."""
    solvers: tuple[LCPSolver, ...] = (
        LemkeTableau(tol=1e-12, ties="first"),
        LemkeTableau(tol=1e-12, ties="first", precision="single"),
        Lemke(tol=1e-12),
    )
    rows = []
    for block in blocks:
        problem = block.frictionless()
        found = [solve_lcp(problem, solver, check=False) for solver in solvers]
        report.tell(f"{block.contacts} contacts: {', '.join(map(str, found))}")
        loss = printed.get(block.contacts)
        rows.append(
            [
                f"{block.contacts}",
                f"{np.linalg.cond(problem.dense):.1e}",
                f"{found[0].iterations}",
                *(f"{solution.residual:.1e}" for solution in found),
                "-" if loss is None else f"{loss:.1e}",
            ]
        )
    head = ["contacts", "cond(M)", "pivots", "tableau", "in single", "refactorised", "printed"]
    report.table(head, rows)


def cut_short(report: Report, block: ElasticBlock) -> None:
    """A table of what the tableau shows when the path is cut, against the share of its pivots."""
    problem = block.frictionless()
    states = list(_path(problem))
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


def _path(problem: LCP) -> Iterator[tuple[Array, Array, float]]:
    """What the tableau shows after each pivot, until z₀ has left."""
    method = LemkeTableau(ties="first").start(problem, np.zeros(problem.size))
    artificial = np.inf
    while artificial > 0.0:
        method.advance(1)
        w, z, artificial = method.shown()
        yield w, z, artificial


@dataclass(frozen=True, kw_only=True)
class LCPRectangle:
    """A clamped elastic rectangle bent onto an obstacle: iteration counts, and Lemke's rounding.

    Parameters
    ----------
    contacts : int
        Contact nodes of the iteration counts.
    largest : int
        Contact nodes of the largest problem given to Lemke's method.
    matrix : str
        A file with another matrix to count on first; by default that of the original rectangle (26 contacts,
        "mmc" among the problems that come with Siconos), which is shipped.
    """

    contacts: int = 26
    largest: int = 801
    matrix: str = ""

    title: ClassVar[str] = "Contact of an elastic rectangle as an LCP (Tables 2.4 and 2.5)"
    quick: ClassVar[dict[str, int]] = {"contacts": 10, "largest": 26}

    def __post_init__(self) -> None:
        if self.matrix and not Path(self.matrix).is_file():
            raise SettingsError(f"matrix: there is no file '{self.matrix}'")

    def run(self, report: Report) -> None:
        """Count, then refine."""
        report.say(COUNTS)
        report.say(
            "## The original matrix" if not self.matrix else f"## The matrix of {Path(self.matrix).name}"
        )
        original = read_lcp(self.matrix).problem if self.matrix else elastic_rectangle()
        compare(report, "original", original, PRINTED_COUNTS)
        block = ElasticBlock(contacts=self.contacts)
        report.say(
            f"## Our rectangle: {block.contacts} contacts, {block.n_dof} displacements\n\nThe thesis gives "
            "the length, the gap and the load, not the height nor the loaded part: comparable in kind only."
        )
        compare(report, "rectangle", block.frictionless(), PRINTED_COUNTS)
        report.say("## Lemke's method under refinement (200 MPa)\n\n" + ROUNDING)
        sizes = [n for n in (26, 51, 101, 201, 301, 401, 601, 801) if n <= self.largest]
        rounding(report, (ElasticBlock(contacts=n, pressure=200e6) for n in sizes), PRINTED_RECTANGLE)
        last = min(301, sizes[-1])
        report.say(f"## A path cut short, {last} contacts\n\n" + CUT_SHORT)
        cut_short(report, ElasticBlock(contacts=last, pressure=200e6))


@dataclass(frozen=True, kw_only=True)
class LCPPunch:
    """A block with a curved foot pressed on a plane, free to move as a whole: a singular matrix.

    Parameters
    ----------
    contacts : int
        Contact nodes of the iteration counts.
    largest : int
        Contact nodes of the largest problem given to Lemke's method.
    """

    contacts: int = 51
    largest: int = 601

    title: ClassVar[str] = "A punch as an LCP with a singular matrix (Table 2.6)"
    quick: ClassVar[dict[str, int]] = {"contacts": 10, "largest": 51}

    def run(self, report: Report) -> None:
        """Count, then refine."""
        report.say("## Contacts against the load\n\n" + CURVED)
        rows = []
        for pressure in PRESSURES:
            block = _punch(self.contacts, pressure)
            found = solve_lcp(block.frictionless(), Lemke(tol=1e-9))
            active = int((found.w > 1e-6 * found.w.max()).sum())
            error = abs(float(found.w.sum()) / pressure - 1.0)
            rows.append([f"{pressure / 1e6:g}", f"{active}", f"{found.z.max():.4f}", f"{error:.0e}"])
        report.table(
            ["pressure (MPa)", f"active contacts of {self.contacts}", "largest z (m)", "load not carried"],
            rows,
        )
        report.say("Printed: largest z 0.1200 m at 51 contacts and 30 MPa.\n\n" + COUNTS)
        report.say(f"## {self.contacts} contacts, 3000 MPa")
        compare(report, "punch", _punch(self.contacts, 3000e6).frictionless(), {})
        report.say("## Lemke's method under refinement\n\n" + ROUNDING)
        sizes = [n for n in (51, 76, 101, 201, 301, 401, 601) if n <= self.largest]
        rounding(report, (_punch(n) for n in sizes), PRINTED_PUNCH)
        last = min(101, sizes[-1])
        report.say(f"## A path cut short, {last} contacts\n\n" + CUT_SHORT)
        cut_short(report, _punch(last))


def _punch(contacts: int, pressure: float = 30e6) -> ElasticBlock:
    return ElasticBlock(
        contacts=contacts,
        held="guided",
        gap=0.0,
        curvature=0.12,
        pressure=pressure,
        loaded=(0.0, 1.0),
        height=0.4,
    )


@dataclass(frozen=True, kw_only=True)
class LCPFriction:
    """The rectangle with friction: the LCP in displacements against the methods made for friction.

    Parameters
    ----------
    contacts : int
        Contact nodes.
    mu : float
        Coefficient of friction.
    limit : float
        Seconds per method.
    """

    contacts: int = 26
    mu: float = 0.5
    limit: float = 20.0

    title: ClassVar[str] = "Contact with friction as an LCP (section 3.1.5)"
    quick: ClassVar[dict[str, int | float]] = {"contacts": 8, "limit": 2.0}

    def run(self, report: Report) -> None:
        """Solve the LCP by four methods and the contact problem by two, one residual for all."""
        problem = ElasticBlock(contacts=self.contacts).with_friction(self.mu)
        friction = velocity_lcp(problem)
        report.say(
            f"{self.contacts} contacts, mu = {self.mu:g}: an LCP of {friction.lcp.size} unknowns. Its "
            "residuals are those of Coulomb's law. The thesis prints no numbers, only that more iterations "
            "are needed than without friction, and that LATIN, its direction tuned, is ahead of "
            "Gauss-Seidel."
        )
        rows = []
        through: dict[str, LCPSolver] = {
            "Lemke": Lemke(time_limit=self.limit),
            "interior point": InteriorPoint(time_limit=self.limit),
            "Gauss-Seidel on the LCP": GaussSeidel(tol=1e-6, time_limit=self.limit, polish=False),
            "LATIN on the LCP": LATIN(tol=1e-6, time_limit=self.limit, polish=False),
        }
        for name, solver in through.items():
            found = solve_lcp(friction.lcp, solver, check=False)
            rows.append(_row(name, found.iterations, friction.residual(found.z), found.status))
        direct = {f"LATIN, k = {k:g}": contact_latin.LATIN(tol=1e-6, k=k) for k in (0.5, 1.0, 2.0, 5.0, 10.0)}
        for label, method in (direct | {"Gauss-Seidel by contacts": NSGS(tol=1e-6)}).items():
            answer = solve(problem, method, check=False)
            rows.append(_row(label, answer.iterations, answer.residual, answer.status))
        report.table(["method", "iterations", "residual", "status"], rows)


def _row(name: str, iterations: int, residual: float, status: Status) -> list[str]:
    return [name, f"{iterations}", f"{residual:.1e}", status.name.lower()]
