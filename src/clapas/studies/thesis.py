"""Tables 5.7 and 5.9 of Cadoux's thesis on random problems of the same sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from clapas.errors import SettingsError
from clapas.problems import ContactProblem, gallery
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
from clapas.solvers.fixed_point import Newton, Picard
from clapas.solvers.loop import Solver
from clapas.solvers.newton import AlartCurnierMap, GoldsteinPrice
from clapas.solvers.steps import FixedStep
from clapas.studies import printed
from clapas.studies.race import Measure, Outcome, race, residual, thesis_measure
from clapas.studies.report import Report

GOAL = 1e-6  # of the thesis
STRICT = 1e-8
NEVER = 1e-14  # tolerance of a solver that the race stops

INTRODUCTION = """\
Random problems of the family "alea" (systems of random inertia, random contacts), {seeds} draws of each
size, started from zero. The thesis publishes neither its data nor its seeds, so only the family is the same:
rows are comparable in kind, not one by one. Its rule stops a method when |f_AC(u, r)|²/(2nd) < 1e-6 with
ρ = 1; the times printed are those of Scilab on a processor of 2005 (limit {printed:g} s), ours have a limit
of {limit:g} s. A cell is *solved of drawn, median seconds of the solved*."""


WHY = """\
Counts differ from the printed ones for reasons we know in part. The draws are others, and one hard draw moves
a count by one. Our methods work in scaled variables, which spares Newton's method and BFGS the bad scales of
the raw problem (the thesis takes ρ = 1 in its units); DS is run with its raw ρ = 1 and diverges as printed.
The one-contact problems of GS are solved exactly, not by at most 15 Newton steps. And the machine is some
hundred times faster, so that a limit of seconds allows far more iterations than 30 s did: this turns most
failures of GS into successes. FB stays as impractical as printed. H-pf, whose thresholds may cycle where
contacts slide, and NA-Newton do somewhat worse here than printed; the inner solver is the same, and we found
no other explanation than the draws."""


def thesis_methods() -> dict[str, Solver]:
    """The eight methods with the parameters of Table 5.6."""
    inner = ProjectedGradient(max_iterations=250)
    newton = GoldsteinPrice(max_trials=25)
    return {
        "AC": SemismoothNewton(
            tol=NEVER, function=AlartCurnierMap(), line_search=newton, max_iterations=10**6
        ),
        "DS": DeSaxceFixedPoint(tol=NEVER, step=FixedStep(rho=1.0, relative=False)),
        "GS": NSGS(tol=NEVER, local=AlartCurnier(), max_iterations=10**7),
        "FB": FischerBurmeister(tol=NEVER, update="bfgs", line_search=12, max_iterations=10**6),
        "H-pf": Haslinger(tol=NEVER, inner=inner, accuracy=1e-10, max_iterations=10**6),
        "NA-Newton": ConicFixedPoint(
            tol=NEVER, inner=inner, scheme=Newton(), accuracy=1e-10, max_iterations=10**6
        ),
        "NA-Broyden": ConicFixedPoint(
            tol=NEVER, inner=inner, scheme=Broyden(), accuracy=1e-10, max_iterations=10**6
        ),
        "NA-pf": ConicFixedPoint(
            tol=NEVER, inner=inner, scheme=Picard(), accuracy=1e-10, max_iterations=10**6
        ),
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
        How many of the fifteen sizes, the smallest first.
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
        sizes = {(6, n_ss, n): row for (n_ss, n), row in list(printed.SMALL.items())[: self.sizes]}
        _compare(
            report,
            sizes,
            printed.SMALL_METHODS,
            thesis_methods(),
            seeds=self.seeds,
            limit=self.limit,
            printed_limit=30.0,
        )


@dataclass(frozen=True, kw_only=True)
class ThesisLarge:
    """Table 5.9: three methods on large random problems, ours beside the printed numbers.

    Parameters
    ----------
    seeds, limit
        As for the small problems.
    sizes : int
        How many of the fifteen sizes, in the order of the table.
    """

    seeds: int = 1
    limit: float = 10.0
    sizes: int = 15

    title: ClassVar[str] = "Large random problems (Cadoux 2009, Tables 5.2 and 5.9)"
    quick: ClassVar[dict[str, int | float]] = {"seeds": 1, "limit": 1.0, "sizes": 1}

    def __post_init__(self) -> None:
        _check(self.seeds, self.limit)

    def run(self, report: Report) -> None:
        """Run the three methods of the table and those of the package."""
        methods = {name: solver for name, solver in thesis_methods().items() if name in printed.LARGE_METHODS}
        _compare(
            report,
            dict(list(printed.LARGE.items())[: self.sizes]),
            printed.LARGE_METHODS,
            methods,
            seeds=self.seeds,
            limit=self.limit,
            printed_limit=60.0,
        )


def _check(seeds: int, limit: float) -> None:
    if seeds < 1:
        raise SettingsError(f"seeds must be at least 1, got {seeds}")
    if not limit > 0:
        raise SettingsError(f"limit must be positive, got {limit}")


Size = tuple[int, int, int]  # degrees of freedom per system, systems, contacts
Table = dict[tuple[Size, str], list[Outcome]]


def _compare(
    report: Report,
    sizes: Mapping[Size, Sequence[float]],
    columns: Sequence[str],
    methods: Mapping[str, Solver],
    *,
    seeds: int,
    limit: float,
    printed_limit: float,
) -> None:
    report.say(INTRODUCTION.format(seeds=seeds, limit=limit, printed=printed_limit))
    draws = {size: [_draw(size, seed) for seed in range(seeds)] for size in sizes}
    loose = _races(report, draws, methods, thesis_measure, GOAL, limit)
    report.say("## The methods of the thesis, by its rule")
    report.table(
        ["problem", *columns, *(f"{name} printed" for name in columns)],
        [
            [_name(size), *(_cell(loose[size, name]) for name in columns), *map(_printed, sizes[size])]
            for size in sizes
        ],
    )
    _counts(report, sizes, columns, loose, seeds)
    for goal, measure, rule in (
        (GOAL, thesis_measure, "the rule of the thesis"),
        (STRICT, residual, f"residual {STRICT:g}"),
    ):
        ours = _races(report, draws, new_methods(STRICT), measure, goal, limit)
        names = list(new_methods(STRICT))
        report.say(f"## Other methods, {rule}")
        rows = [[_name(size), *(_cell(ours[size, name]) for name in names)] for size in sizes]
        report.table(["problem", *names], rows)
    strict = _races(report, draws, methods, residual, STRICT, limit)
    report.say(f"## The methods of the thesis at residual {STRICT:g}")
    rows = [[_name(size), *(_cell(strict[size, name]) for name in columns)] for size in sizes]
    report.table(["problem", *columns], rows)
    _draw_bars(report, columns, loose, strict)


def _draw(size: Size, seed: int) -> ContactProblem:
    m_ss, n_ss, n = size
    return gallery.alea(m_ss, n_ss, n, seed=1000 * seed + n)


def _races(
    report: Report,
    draws: Mapping[Size, Sequence[ContactProblem]],
    methods: Mapping[str, Solver],
    measure: Measure,
    goal: float,
    limit: float,
) -> Table:
    table: Table = {}
    for name, solver in methods.items():
        race(next(iter(draws.values()))[0], solver, measure, goal, min(limit, 1.0))  # compile
        for size, problems in draws.items():
            table[size, name] = [race(problem, solver, measure, goal, limit) for problem in problems]
            report.tell(f"{_name(size)}  {name}  {_cell(table[size, name])}")
    return table


def _counts(
    report: Report, sizes: Mapping[Size, Sequence[float]], columns: Sequence[str], table: Table, seeds: int
) -> None:
    rows = []
    for k, name in enumerate(columns):
        solved = sum(outcome.is_reached for size in sizes for outcome in table[size, name])
        published = sum(row[k] > 0 for row in sizes.values())
        rows.append([name, f"{solved} of {len(sizes) * seeds}", f"{published} of {len(sizes)}"])
    report.say("Solved in all:")
    report.table(["method", "here", "printed"], rows)
    report.say(WHY)


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


def _printed(seconds: float) -> str:
    return f"{seconds:g} s" if seconds > 0 else "–"
