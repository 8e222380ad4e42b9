"""Tables 5.7 and 5.9 of Cadoux's thesis on random problems of the same sizes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from clapas.convex import coulomb
from clapas.errors import SettingsError
from clapas.problems import ContactProblem, delassus_operator, gallery, reduce
from clapas.problems.spectrum import describe
from clapas.solvers import (
    NSGS,
    AcceleratedProjection,
    AlartCurnier,
    Auto,
    Broyden,
    ConicFixedPoint,
    DeSaxceFixedPoint,
    FischerBurmeister,
    Haslinger,
    InteriorPoint,
    ProjectedGradient,
    ProximalPoint,
    SemismoothNewton,
)
from clapas.solvers.fixed_point import Newton, Picard, Scheme
from clapas.solvers.loop import Solver
from clapas.solvers.newton import AlartCurnierMap, GoldsteinPrice
from clapas.solvers.steps import FixedStep
from clapas.studies import printed
from clapas.studies.as_printed import PrintedGaussSeidel, PrintedNewton
from clapas.studies.printed import Size
from clapas.studies.race import Measure, Outcome, race, residual, thesis_measure
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict, of_counts
from clapas.typing import Array

SEARCHED = "GS with search"
GOAL = 1e-6  # of the thesis
STRICT = 1e-8
MOST_COMPILATIONS = 5
NEVER = 1e-14  # tolerance of a solver that the race stops

TABLE = {"small": "Cadoux 2009, table 5.7", "large": "Cadoux 2009, table 5.9"}

INTRODUCTION = """\
Random problems of the family "alea" (systems of random inertia, random contacts), {seeds} draws of each
size, started from zero. The thesis publishes neither its data nor its seeds, so only the family is the same:
rows are comparable in kind, not one by one. Its rule stops a method when |f_AC(u, r)|²/(2nd) < 1e-6 with
ρ = 1; the times printed are those of Scilab on a processor of 2005 (limit {printed:g} s), ours have a limit
of {limit:g} s of process time. A cell is *solved of drawn, median seconds of the solved*, or the accuracy
reached."""

PROBLEMS_TEXT = """\
n d / m is that of the sizes. The density of W follows from how contacts choose their systems, the condition
number from the law of the random masses, which the thesis does not give: ours is one of many, and the
condition numbers scatter over decades from draw to draw."""

METHODS_TEXT = """\
AC is Newton's method on the thesis's own function (equation 1.24: the disc of friction follows r_N) with ρ =
1 in the units of the problem and Goldstein and Price's search (25 trials): table 5.6, nothing added. GS
solves each contact by at most 15 steps of the same Newton method, to 1e-8. The thesis does not say whether
these inner steps are searched;
*GS* takes full steps, *GS with search* searches, and the two bracket what is printed. DS has ρ = 1. FB, H-pf,
NA-Newton, NA-Broyden and NA-pf have the parameters of table 5.6 and work in variables scaled by the response
of each contact, which the thesis does not do."""

VARIANTS_TEXT = """\
*AC scaled*: Newton's method as the package runs it, on Alart and Curnier's function (the disc follows r_N − ρ
u_N), in scaled variables, ρ below Alart's bound (74), singular equations regularised, cycles answered. *GS
exact*: single contacts solved exactly, sweeps extrapolated (Anderson). What a contact is solved by moves the
count of GS more than anything else."""

WHY = {
    "AC": "",
    "DS": "",
    "GS": "the inner search is not given by the text: full steps here; see GS with search",
    "FB": "why is not known",
    "H-pf": "its thresholds cycle on some of our draws; same inner method, no other cause found",
    "NA-Newton": "the line search fails on some of our draws; no other cause found",
    "NA-Broyden": "",
    "NA-pf": "",
}


def thesis_methods() -> dict[str, Solver]:
    """The methods with the parameters of Table 5.6; GS in its two readings."""
    inner = ProjectedGradient(max_iterations=250)

    def fixed_point(scheme: Scheme) -> Solver:
        return ConicFixedPoint(tol=NEVER, inner=inner, scheme=scheme, accuracy=1e-10, max_iterations=10**6)

    return {
        "AC": PrintedNewton(tol=NEVER),
        "DS": DeSaxceFixedPoint(tol=NEVER, step=FixedStep(rho=1.0, relative=False)),
        "GS": PrintedGaussSeidel(tol=NEVER),
        SEARCHED: PrintedGaussSeidel(tol=NEVER, searches=True),
        "FB": FischerBurmeister(tol=NEVER, update="bfgs", line_search=12, max_iterations=10**6),
        "H-pf": Haslinger(tol=NEVER, inner=inner, accuracy=1e-10, max_iterations=10**6),
        "NA-Newton": fixed_point(Newton()),
        "NA-Broyden": fixed_point(Broyden()),
        "NA-pf": fixed_point(Picard()),
    }


def variants() -> dict[str, Solver]:
    """AC and GS as implemented in the package."""
    newton = GoldsteinPrice(max_trials=25)
    return {
        "AC scaled": SemismoothNewton(
            tol=NEVER, function=AlartCurnierMap(), line_search=newton, max_iterations=10**6
        ),
        "GS exact": NSGS(tol=NEVER, local=AlartCurnier(), max_iterations=10**7),
    }


def new_methods(tol: float) -> dict[str, Solver]:
    """Methods of this package with their defaults."""
    return {
        "Auto": Auto(tol=tol),
        "InteriorPoint": InteriorPoint(tol=tol),
        "ProximalPoint": ProximalPoint(tol=tol),
        "AcceleratedProjection": AcceleratedProjection(tol=tol),
        "ConicFixedPoint": ConicFixedPoint(tol=tol),
    }


@dataclass(frozen=True, kw_only=True)
class ThesisSmall:
    """Table 5.7: eight methods on small random problems, ours beside the printed numbers.

    Parameters
    ----------
    seeds : int
        Problems drawn of each size.
    limit : float
        Seconds allowed per run.
    sizes : int
        Number of sizes, of fifteen, the smallest first.
    """

    seeds: int = 3
    limit: float = 5.0
    sizes: int = 15

    title: ClassVar[str] = "Small random problems (Cadoux 2009, Tables 5.1 and 5.7)"
    quick: ClassVar[dict[str, int | float]] = {"seeds": 1, "limit": 1.0, "sizes": 3}

    def __post_init__(self) -> None:
        _check(self.seeds, self.limit)

    def run(self, report: Report) -> None:
        """Run every method on every problem."""
        comparison = Comparison(
            report,
            dict(list(printed.SMALL.items())[: self.sizes]),
            printed.SMALL_METHODS,
            source=TABLE["small"],
            seeds=self.seeds,
            limit=self.limit,
            printed_limit=30.0,
        )
        comparison.run(thesis_methods(), variants())


@dataclass(frozen=True, kw_only=True)
class ThesisLarge:
    """Table 5.9: three methods on large random problems, ours beside the printed numbers.

    Parameters
    ----------
    seeds, limit
        As for the small problems.
    sizes : int
        Number of sizes, of fifteen, in the order of the table.
    """

    seeds: int = 1
    limit: float = 10.0
    sizes: int = 15

    title: ClassVar[str] = "Large random problems (Cadoux 2009, Tables 5.2 and 5.9)"
    quick: ClassVar[dict[str, int | float]] = {"seeds": 1, "limit": 1.0, "sizes": 1}

    def __post_init__(self) -> None:
        _check(self.seeds, self.limit)

    def run(self, report: Report) -> None:
        """Run the three methods of the table and those of the package, and time W by products."""
        methods = {name: solver for name, solver in thesis_methods().items() if name in printed.LARGE_METHODS}
        comparison = Comparison(
            report,
            dict(list(printed.LARGE.items())[: self.sizes]),
            printed.LARGE_METHODS,
            source=TABLE["large"],
            seeds=self.seeds,
            limit=self.limit,
            printed_limit=60.0,
        )
        comparison.run(methods, {})
        time_products(report, list(printed.LARGE)[: self.sizes])


def _check(seeds: int, limit: float) -> None:
    if seeds < 1:
        raise SettingsError(f"seeds must be at least 1, got {seeds}")
    if not limit > 0:
        raise SettingsError(f"limit must be positive, got {limit}")


Table = dict[tuple[Size, str], list[Outcome]]


class Comparison:
    """Methods on random problems of the sizes of a table, compared with the printed results.

    Parameters
    ----------
    report : Report
        Report to write to.
    sizes : mapping
        Printed runs by size, in the order of ``columns``.
    columns : sequence of str
        Methods of the table.
    source : str
        The table.
    seeds, limit, printed_limit
        Draws per size, seconds allowed here and in the thesis.
    """

    def __init__(
        self,
        report: Report,
        sizes: Mapping[Size, Sequence[printed.Timed]],
        columns: Sequence[str],
        *,
        source: str,
        seeds: int,
        limit: float,
        printed_limit: float,
    ) -> None:
        self.report, self.sizes, self.columns = report, sizes, columns
        self.source, self.limit = source, limit
        report.say(INTRODUCTION.format(seeds=seeds, limit=limit, printed=printed_limit))
        self.draws = {size: [_draw(size, seed) for seed in range(seeds)] for size in sizes}

    def run(self, methods: Mapping[str, Solver], others: Mapping[str, Solver]) -> None:
        """Problems, then methods by the rule of the thesis, then by the residual of the package."""
        self._describe_problems()
        self.report.say("## The methods of the thesis, by its rule")
        self.report.say(METHODS_TEXT)
        loose = self._races(methods, thesis_measure, GOAL)
        self._cells(loose, list(methods))
        self.report.say("Printed: seconds, and the accuracy reached; *limit* where it is not that asked for.")
        self.report.table(
            ["problem", *self.columns],
            [[_name(size), *map(_printed, row)] for size, row in self.sizes.items()],
        )
        self._count(loose, list(methods))
        if others:
            self.report.say("## The same two methods as the package has them, by the rule of the thesis")
            self.report.say(VARIANTS_TEXT)
            better = self._races(others, thesis_measure, GOAL)
            self._cells(better, list(others))
            self._count(better, list(others))
        for goal, measure, rule in (
            (GOAL, thesis_measure, "the rule of the thesis"),
            (STRICT, residual, f"residual {STRICT:g}"),
        ):
            ours = self._races(new_methods(STRICT), measure, goal)
            self.report.say(f"## Other methods, {rule}")
            self._cells(ours, list(new_methods(STRICT)))
        strict = self._races(methods, residual, STRICT)
        self.report.say(f"## The methods of the thesis at residual {STRICT:g}")
        self._cells(strict, list(methods))
        _draw_bars(self.report, list(methods), loose, strict)

    def _describe_problems(self) -> None:
        """Tables 5.1 and 5.2: n d / m, density and condition number of W."""
        rows, distances = [], []
        for size, problems in self.draws.items():
            theirs = printed.PROBLEMS[size]
            ours = [describe(problem) for problem in problems]
            density = median(each.density or 0.0 for each in ours)
            conditions = sorted(each.condition or 0.0 for each in ours)
            distances.append(abs(density - theirs.density))
            ratio = f"{ours[0].ratio:.2f} ({theirs.ratio:.2f})"
            span = f"{conditions[0]:.0e} to {conditions[-1]:.0e}" if len(ours) > 1 else f"{conditions[0]:.0e}"
            row = [ratio, f"{density:.2f} ({theirs.density:.2f})", f"{span} ({theirs.condition:.1e})"]
            rows.append([_name(size), *row])
        self.report.say("## The problems (printed in brackets)")
        self.report.table(["problem", "n d / m", "density of W", "condition number of W"], rows)
        self.report.say(PROBLEMS_TEXT)
        self._judge_problems([printed.PROBLEMS[size] for size in self.sizes], max(distances))

    def _judge_problems(self, theirs: Sequence[printed.Described], distance: float) -> None:
        """Verdicts on the columns of tables 5.1 and 5.2."""
        place = "Cadoux 2009, table 5.1" if self.source == TABLE["small"] else "Cadoux 2009, table 5.2"
        ratios = [3 * n / (m_ss * n_ss) for m_ss, n_ss, n in self.sizes]
        equal = sum(abs(ours - each.ratio) <= 0.0051 for ours, each in zip(ratios, theirs, strict=True))
        self.report.judge(
            Verdict(
                source=place,
                quantity="n d / m, all sizes",
                printed=f"{theirs[0].ratio:.2f} to {max(each.ratio for each in theirs):.2f}",
                found=f"{equal} of {len(theirs)} equal",
                grade=REPRODUCED if equal == len(theirs) else NOT_REPRODUCED,
                why="" if equal == len(theirs) else "the sizes printed do not give the ratio printed",
            )
        )
        densities = [each.density for each in theirs]
        self.report.judge(
            Verdict(
                source=place,
                quantity="density of W, all sizes",
                printed=f"{min(densities):.2f} to {max(densities):.2f}",
                found=f"at most {distance:.2f} away",
                grade=f"{WITHIN} {distance:.2f}",
                why="other draws of the contacts",
            )
        )
        conditions = [each.condition for each in theirs]
        self.report.judge(
            Verdict(
                source=place,
                quantity="condition number of W, all sizes",
                printed=f"{min(conditions):.0e} to {max(conditions):.0e}",
                found="scattered over decades from draw to draw",
                grade=UNDETERMINED,
                why="the law of the random masses is not given",
            )
        )

    def _races(self, methods: Mapping[str, Solver], measure: Measure, goal: float) -> Table:
        table: Table = {}
        for name, solver in methods.items():
            _compile(next(iter(self.draws.values()))[0], solver, measure, goal, self.limit)
            for size, problems in self.draws.items():
                table[size, name] = [race(each, solver, measure, goal, self.limit) for each in problems]
                self.report.tell(f"{_name(size)}  {name}  {_cell(table[size, name])}")
        return table

    def _cells(self, table: Table, names: Sequence[str]) -> None:
        rows = [[_name(size), *(_cell(table[size, name]) for name in names)] for size in self.sizes]
        self.report.table(["problem", *names], rows)

    def _count(self, table: Table, names: Sequence[str]) -> None:
        """Solved in all, here and in print; a verdict on each printed count."""
        rows = []
        drawn = sum(len(problems) for problems in self.draws.values())
        for name in names:
            solved = sum(outcome.is_reached for size in self.sizes for outcome in table[size, name])
            place = self.columns.index(name) if name in self.columns else None
            theirs = "" if place is None else f"{self._printed_count(place)} of {len(self.sizes)}"
            rows.append([name, f"{solved} of {drawn}", theirs])
            if place is not None:
                published = (self._printed_count(place), len(self.sizes))
                quantity = f"{name}: problems solved"
                self.report.judge(of_counts(self.source, quantity, published, (solved, drawn), why=WHY[name]))
            elif name == SEARCHED:
                published = (self._printed_count(self.columns.index("GS")), len(self.sizes))
                quantity = "GS read with an inner search: problems solved"
                why = "the other reading of GS; the print lies between the two"
                self.report.judge(of_counts(self.source, quantity, published, (solved, drawn), why=why))
        self.report.say("Solved in all:")
        self.report.table(["method", "here", "printed"], rows)

    def _printed_count(self, column: int) -> int:
        return sum(row[column].is_solved for row in self.sizes.values())


def _compile(problem: ContactProblem, solver: Solver, measure: Measure, goal: float, limit: float) -> None:
    """Run until all kernels are compiled, which happens in several parts and would exceed the time limit."""
    for _ in range(MOST_COMPILATIONS):
        if race(problem, solver, measure, goal, limit).seconds <= 1.5 * limit:
            return


def _draw(size: Size, seed: int) -> ContactProblem:
    m_ss, n_ss, n = size
    return gallery.alea(m_ss, n_ss, n, seed=1000 * seed + n)


def time_products(report: Report, sizes: Sequence[Size]) -> None:
    """Section 5.3.7: a projected gradient with W as a matrix, and with W r = H M⁻¹ Hᵀ r."""
    report.say("## W as a matrix, or by products (section 5.3.7)")
    report.say(
        "One iteration of the projected gradient, r ← P_K(r − ρ (W r + q)), with W formed (sparse) and with "
        "W r = H (M⁻¹ (Hᵀ r)), M factorised once. Process time of a hundred iterations, the best of five."
    )
    rows, ratios = [], []
    for size in sizes:
        if size[2] not in (100, 500):
            continue
        problem = _draw(size, 0)
        explicit = reduce(problem).W
        by_products = delassus_operator(problem)
        seconds = [_iteration_time(problem, product) for product in (explicit.__matmul__, by_products.matvec)]
        ratios.append(seconds[1] / seconds[0])
        rows.append([_name(size), *(f"{1e6 * each:.0f} µs" for each in seconds), f"{ratios[-1]:.1f}"])
    report.table(["problem", "W formed", "by products", "ratio"], rows)
    low, high = min(ratios), max(ratios)
    inside = low >= 2.0 and high <= 5.0
    report.judge(
        Verdict(
            source="Cadoux 2009, section 5.3.7",
            quantity="iteration of projected gradient, by products / W formed",
            printed="2 to 5",
            found=f"{low:.1f} to {high:.1f}",
            grade=REPRODUCED if inside else f"{WITHIN} {max(2.0 / low, high / 5.0, 1.0):.1f} times",
            why="" if inside else "another machine and other sparse products; slower by products everywhere",
        )
    )


def _iteration_time(problem: ContactProblem, product: Callable[[Array], Array]) -> float:
    """Seconds of process time of one projected gradient step."""
    q, mu = problem.q, problem.mu
    rho = 1.0 / float(problem.response.max())
    best = math.inf
    for _ in range(5):
        r = np.zeros_like(q)
        start = time.process_time()
        for _ in range(100):
            r = coulomb.project(r - rho * (product(r.ravel()).reshape(q.shape) + q), mu)
        best = min(best, (time.process_time() - start) / 100)
    return best


def _draw_bars(report: Report, columns: Sequence[str], loose: Table, strict: Table) -> None:
    with report.figure("solved", "Fraction of the problems solved") as figure:
        axes = figure.subplots()
        places = np.arange(len(columns))
        bars = ((-0.2, loose, "rule of the thesis"), (0.2, strict, f"residual {STRICT:g}"))
        for shift, table, label in bars:
            axes.bar(places + shift, [_share(table, name) for name in columns], 0.4, label=label)
        axes.set_xticks(places, columns, rotation=30)
        axes.set(ylabel="fraction solved", ylim=(0, 1.05))
        axes.legend()


def _share(table: Table, method: str) -> float:
    outcomes = [outcome for (_, name), some in table.items() if name == method for outcome in some]
    return sum(outcome.is_reached for outcome in outcomes) / len(outcomes)


def _name(size: Size) -> str:
    m_ss, n_ss, n = size
    return f"alea-{m_ss * n_ss}-{n} ({m_ss} dof)"


def _cell(outcomes: Sequence[Outcome]) -> str:
    times = [outcome.seconds for outcome in outcomes if outcome.is_reached]
    count = f"{len(times)}/{len(outcomes)}"
    return f"{count} {median(times):.2g} s" if times else f"{count} ({_worst(outcomes)})"


def _worst(outcomes: Sequence[Outcome]) -> str:
    values = [outcome.value for outcome in outcomes]
    return "diverges" if not all(map(math.isfinite, values)) else f"{median(values):.0e}"


def _printed(run: printed.Timed) -> str:
    accuracy = f"{run.accuracy:.1e}" if math.isfinite(run.accuracy) else "overflow"
    return f"{run.seconds:g} s {accuracy}" if run.is_solved else f"limit {accuracy}"
