"""Tables 5.3, 5.8 and 5.10 of Cadoux's thesis: contact problems of super-helices, from our simulations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from clapas.bodies.rods import Rods, Support
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.stepping import step
from clapas.dynamics.warm_start import followed
from clapas.errors import SettingsError
from clapas.problems import ContactProblem, reduce
from clapas.problems.existence import check
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.hair import strands, wound
from clapas.scenes.scene import Scene
from clapas.solvers import Auto, solve
from clapas.solvers.loop import Solver
from clapas.studies.race import Outcome, race, residual, thesis_measure
from clapas.studies.report import Report
from clapas.studies.thesis import GOAL, new_methods, thesis_methods
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict, of_counts
from clapas.typing import Array

STRICT = 1e-8
MU = 0.2  # of the thesis
ONE_ROPE, STRANDS = 7, 5
DOFS = 18  # of a rod of six helices
ROUNDING = 1e-12  # of the largest entry of W

# Table 5.3: rods, contacts; density and condition of W
SMALL = (
    (3, 4, 1.00, 3.3e9),
    (3, 5, 1.00, 1.6e9),
    (2, 3, 1.00, 5.7e5),
    (3, 9, 1.00, 2.4e17),
    (3, 9, 1.00, 6e17),
    (5, 8, 0.75, 1e9),
    (5, 13, 0.76, 2.8e11),
    (5, 13, 0.76, 1.3e11),
    (5, 12, 0.62, 1.1e9),
    (6, 17, 0.75, 3.8e18),
    (6, 18, 0.52, 2.6e19),
    (6, 16, 0.55, 9.7e11),
    (5, 20, 0.78, 1.5e19),
    (6, 15, 0.64, 5.2e17),
    (7, 22, 0.48, 3.5e18),
)
SMALL_COUNTS = {"AC": 6, "GS": 6, "H-pf": 15, "NA-Newton": 14, "NA-Broyden": 15, "NA-pf": 15}
# Table 5.10: rods, contacts
LARGE = (
    (6, 20),
    (20, 63),
    (22, 108),
    (15, 86),
    (8, 18),
    (7, 15),
    (15, 54),
    (21, 90),
    (15, 58),
    (5, 23),
    (20, 43),
    (7, 21),
    (20, 81),
    (21, 94),
    (20, 89),
)
LARGE_COUNTS = {"H-pf": 12, "NA-Broyden": 15, "NA-pf": 15}


class Units(NamedTuple):
    """Units of a problem: mass (kg) and velocity (m/s); that of impulses is their product."""

    mass: float
    velocity: float


CENTIMETRES = "g, cm"
WHERE_NEWTON_FAILS = "mg, mm"
UNITS = {
    "kg, m": Units(1.0, 1.0),
    "kg, mm": Units(1.0, 1e-3),
    CENTIMETRES: Units(1e-3, 1e-2),
    "g, mm": Units(1e-3, 1e-3),
    "mg, cm": Units(1e-6, 1e-2),
    WHERE_NEWTON_FAILS: Units(1e-6, 1e-3),
    "μg, cm": Units(1e-9, 1e-2),
}
BY_UNITS = "AC", "GS"

INTRODUCTION = """\
The thesis prints neither lengths, radii, moduli, natural curls, damping nor the time step of its rods, nor
the problems. These are problems of our own simulations, of the printed numbers of rods (six helices each, 18
degrees of freedom) and as near as they came to the printed numbers of contacts, mu = 0.2. As in the thesis,
methods start from the impulses of the step before, zero at new contacts. The small set of the thesis was kept
where its Newton solver had failed during a simulation: of the problems of one size that a simulation met, we
keep one where AC as printed fails within {probe:g} s in milligrams and millimetres, if there is one ("hard").

*Erratum.* The text of 5.3.2 speaks of a simulation of two rods, Table 5.3 of two to seven; we follow the
table. Tables 5.4 and 5.10 name different problems; the large set here has the sizes of Table 5.10."""

ON_UNITS = """\
AC and GS have ρ = 1 in the units of the problem, and the rule |f_AC(u, r)|²/(2nd) < 1e-6 has units too; the
thesis does not say which. The same problems in other units, {limit:g} s each:"""

RANGE = """\
With small units of mass ρ = 1 is too short a step for AC; in kilograms and metres even r = 0 nearly satisfies
the rule. By the choice of units AC solves {AC} of {all} problems and GS {GS}, from zero {AC from zero} and
{GS from zero}; printed are 6 and 6 of 15."""

WHY = """\
Rows of neighbouring contacts between wound strands make W as ill-conditioned as printed. Problems differ from
the printed ones, so counts are comparable in kind only. From eight rods on they hang as ropes of up to five
strands. Condition numbers beyond 1e16 are rounding, here as in print: W is singular. The last table, by the
residual of the package at 1e-8, has no units, and starts from zero."""

UNITS_MATTER = "ρ = 1 and the rule have units, which are not given: see the table by units"
OTHERS = "other problems, of our own rods"


class Found(NamedTuple):
    """A problem of a simulation, the impulses of the step before, and whether AC as printed fails."""

    name: str
    problem: ContactProblem
    start: Array
    is_hard: bool

    def measured_in(self, units: Units) -> tuple[ContactProblem, Array]:
        """The reduced problem and the start in other units."""
        reduced = reduce(self.problem)
        W, q = reduced.W * units.mass, reduced.q / units.velocity
        problem = ContactProblem(W=W, q=q, mu=reduced.mu, d=reduced.d)
        return problem, self.start / (units.mass * units.velocity)


@dataclass(frozen=True, kw_only=True)
class RodTables:
    """Problems of super-helices by the eight methods of the thesis and by ours.

    Parameters
    ----------
    limit : float
        Seconds allowed per run.
    sizes : int
        Number of rows of each table, of fifteen.
    steps : int
        Steps simulated per number of rods.
    """

    limit: float = 1.0
    sizes: int = 15
    steps: int = 400

    title: ClassVar[str] = "Contact problems of rods (Cadoux 2009, Tables 5.3, 5.4, 5.8 and 5.10)"
    quick: ClassVar[dict[str, int | float]] = {"limit": 0.2, "sizes": 1, "steps": 60}

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise SettingsError(f"limit must be positive, got {self.limit}")
        if self.sizes < 1 or self.steps < 1:
            raise SettingsError(f"sizes and steps must be at least 1, got {self.sizes} and {self.steps}")

    def run(self, report: Report) -> None:
        """Simulate, collect, solve, tabulate."""
        methods = thesis_methods()
        report.say(INTRODUCTION.format(probe=0.1 * self.limit))
        sizes = [row[:2] for row in SMALL[: self.sizes]]
        small = collect(sizes, self.steps, 0.1 * self.limit)
        report.say("## Small: strands that wrap around each other (Table 5.3)")
        header = "problem printed hard nd/m dens(W) printed cond(W) printed existence".split()
        numbers = [_numbers(f) for f in small]
        rows = zip(small, numbers, SMALL, strict=False)
        report.table(header, [_cells(f, its, row[1], row[2:]) for f, its, row in rows])
        self._judge_sizes(report, "table 5.3", small, sizes)
        conditions = [its.condition for its in numbers]
        report.judge(_of_conditions(conditions, [row[3] for row in SMALL[: self.sizes]]))
        self._race(report, small, methods, SMALL_COUNTS, "5.8")
        self._by_units(report, small, {name: methods[name] for name in BY_UNITS})
        large = collect(LARGE[: self.sizes], self.steps, 0.0)
        report.say("## Large: more strands, and several ropes of them (Tables 5.4 and 5.10)")
        sized = zip(large, map(_numbers, large), LARGE, strict=False)
        report.table(header, [_cells(f, its, n, None) for f, its, (_, n) in sized])
        self._judge_sizes(report, "table 5.10", large, LARGE[: self.sizes])
        self._race(report, large, {name: methods[name] for name in LARGE_COUNTS}, LARGE_COUNTS, "5.10")
        report.say("## By the residual of the package, 1e-8")
        table = []
        for name, solver in (methods | new_methods(STRICT)).items():
            outcomes = [race(f.problem, solver, residual, STRICT, self.limit) for f in [*small, *large]]
            report.tell(f"{name}: {sum(o.is_reached for o in outcomes)} of {len(outcomes)}")
            table.append([name, _count(outcomes[: len(small)]), _count(outcomes[len(small) :])])
        report.table(["method", "small", "large"], table)
        report.say(WHY)

    def _judge_sizes(
        self, report: Report, table: str, found: Sequence[Found], sizes: Sequence[tuple[int, ...]]
    ) -> None:
        away = [abs(f.problem.n_contacts - n) / n for f, (_, n) in zip(found, sizes, strict=True)]
        same = sum(share == 0.0 for share in away)
        grade = REPRODUCED if same == len(found) else f"{WITHIN} {100 * max(away):.0f} %"
        quantity, few = "contacts of the problems", f"{same} of {len(found)} equal"
        least, most = (str(pick(n for _, n in sizes)) for pick in (min, max))
        report.judge(
            Verdict(
                source=f"Cadoux 2009, {table}",
                quantity=quantity,
                printed=f"{least} to {most}",
                found=few,
                grade=grade,
                why="" if grade == REPRODUCED else OTHERS,
            )
        )

    def _race(
        self,
        report: Report,
        found: Sequence[Found],
        methods: Mapping[str, Solver],
        printed: Mapping[str, int],
        table: str,
    ) -> None:
        report.say(f"## The methods of the thesis, by its rule in grams and centimetres (Table {table})")
        rows = []
        for name, solver in methods.items():
            outcomes = self._outcomes(found, solver, CENTIMETRES, self.limit)
            solved = sum(outcome.is_reached for outcome in outcomes)
            report.tell(f"{name}: {solved} of {len(outcomes)}")
            rows.append([name, _count(outcomes), f"{printed[name]} of 15" if name in printed else "·"])
            if name in printed and name not in BY_UNITS:
                source, quantity = f"Cadoux 2009, table {table}", f"{name}: problems of rods solved"
                counts = (printed[name], 15), (solved, len(outcomes))
                report.judge(of_counts(source, quantity, *counts, why=OTHERS))
        report.table(["method", "solved here", "printed"], rows)

    def _outcomes(
        self, found: Sequence[Found], solver: Solver, units: str, limit: float, *, from_zero: bool = False
    ) -> list[Outcome]:
        outcomes = []
        for problem, start in (f.measured_in(UNITS[units]) for f in found):
            first = None if from_zero else start
            outcomes.append(race(problem, solver, thesis_measure, GOAL, limit, first))
        return outcomes

    def _by_units(self, report: Report, found: Sequence[Found], methods: Mapping[str, Solver]) -> None:
        report.say("## The same in other units")
        report.say(ON_UNITS.format(limit=0.3 * self.limit))
        runs = {name: (solver, False) for name, solver in methods.items()}
        runs |= {f"{name} from zero": (solver, True) for name, solver in methods.items()}
        rows, counts = [], []
        for units in UNITS:
            outcomes = [
                self._outcomes(found, solver, units, 0.3 * self.limit, from_zero=from_zero)
                for solver, from_zero in runs.values()
            ]
            rows.append([units, *map(_count, outcomes)])
            counts.append([sum(outcome.is_reached for outcome in each) for each in outcomes])
            report.tell(", ".join(rows[-1]))
        report.table(["units", *runs], rows)
        solved = dict(zip(runs, zip(*counts, strict=True), strict=True))
        ranges = {name: f"{min(own)} to {max(own)}" for name, own in solved.items()}
        report.say(RANGE.format(all=len(found), **ranges))
        for name in methods:
            both = solved[name] + solved[f"{name} from zero"]
            report.judge(_of_range(name, SMALL_COUNTS[name], min(both), max(both), len(found)))


def collect(sizes: Sequence[tuple[int, ...]], steps: int, probe: float) -> list[Found]:
    """A problem for each size (rods, contacts), from simulations: the nearest in contacts.

    With ``probe`` seconds for AC as printed, one that it does not solve, if there is one of that size.
    """
    newton, hostile = thesis_methods()["AC"], UNITS[WHERE_NEWTON_FAILS]
    simulated = {rods: list(problems(_scene(rods), steps)) for rods in {size[0] for size in sizes}}
    used: set[int] = set()
    selected = []
    for rods, n in sizes:
        unused = [pair for pair in simulated[rods] if id(pair[0]) not in used] or simulated[rods]
        if not unused:
            raise SettingsError(f"no contact in {steps} steps of {rods} rods: simulate more steps")
        nearest = min(abs(problem.n_contacts - n) for problem, _ in unused)
        alike = [pair for pair in unused if abs(pair[0].n_contacts - n) == nearest][::5][:8]
        name = f"hair-{DOFS * rods}-{alike[0][0].n_contacts}"
        choice = Found(name, *alike[0], False)
        for pair in alike if probe else ():
            each = Found(name, *pair, True)
            problem, start = each.measured_in(hostile)
            if not race(problem, newton, thesis_measure, GOAL, probe, start).is_reached:
                choice = each
                break
        used.add(id(choice.problem))
        selected.append(choice)
    return selected


def problems(scene: Scene, steps: int, tol: float = 1e-8) -> Iterator[tuple[ContactProblem, Array]]:
    """The contact problems of a simulation, each with the impulses of the step before."""
    model = compile_scene(scene)
    state, neighbours = initial_state(model), Neighbours(model)
    settings = {name: value for name, value in scene.run.scheme.items() if name != "name"}
    scheme, dt = MoreauJean(**settings), scene.run.dt
    assert dt is not None
    for _ in range(steps):
        done = step(model, state, dt, Auto(tol=tol), scheme, neighbours)
        if done.problem.problem.n_contacts:
            before = followed(model, state.impulses, done.problem.contacts)
            yield done.problem.problem, done.problem.guess(before)
        state = done.state


def _scene(rods: int) -> Scene:
    """One rope of wound strands, or several of up to five side by side: about four contacts per rod."""
    if rods <= ONE_ROPE:
        return strands(rods=rods, mu=MU)
    scene = strands(rods=min(rods, STRANDS), mu=MU)
    first = scene.systems[0].bodies
    assert isinstance(first, Rods)
    motion = first.rods[0].support.motion
    rng, made = np.random.default_rng(0), []
    for k, begin in enumerate(range(0, rods, STRANDS)):
        place = (0.02 * k, 0.0, 0.0)
        clamp = Support(motion=motion, position=place)
        made += wound(rng, min(STRANDS, rods - begin), 6, 0.06, 3.0, 2, clamp, place)
    ropes = Scene()
    ropes.law(mu=MU)
    ropes.add_rods(made)
    ropes.run = scene.run
    return ropes


class Numbers(NamedTuple):
    """nd/m, density and condition number of W, and whether a solution is known to exist."""

    ratio: float
    density: float
    condition: float
    exists: bool | None


def _numbers(found: Found) -> Numbers:
    problem = found.problem
    W = reduce(problem).W.toarray()
    density = float(np.mean(np.abs(W) > ROUNDING * np.abs(W).max()))
    ratio = problem.d * problem.n_contacts / problem.n_dof
    return Numbers(ratio, density, float(np.linalg.cond(W)), check(problem).exists)


def _cells(found: Found, its: Numbers, contacts: int, printed: tuple[float, ...] | None) -> list[str]:
    dens, cond = ("·", "·") if printed is None else (f"{printed[0]:.2f}", f"{printed[1]:.1e}")
    exists = {True: "yes", False: "no", None: "?"}[its.exists]
    name = f"hair-{found.problem.n_dof}-{contacts}"
    hard, ours = "yes" if found.is_hard else "no", (f"{its.ratio:.2f}", f"{its.density:.2f}")
    return [found.name, name, hard, *ours, dens, f"{its.condition:.1e}", cond, exists]


def _of_range(name: str, printed: int, least: int, most: int, count: int) -> Verdict:
    """The verdict on a count that depends on units and starts: whether the printed one is among ours."""
    inside = least / count <= printed / 15 <= most / count
    return Verdict(
        source="Cadoux 2009, table 5.8",
        quantity=f"{name}: problems of rods solved",
        printed=f"{printed} of 15",
        found=f"{least} to {most} of {count}, by units and start",
        grade=UNDETERMINED if inside else NOT_REPRODUCED,
        why=UNITS_MATTER if inside else f"{UNITS_MATTER}; {OTHERS}",
    )


def _of_conditions(found: Sequence[float], printed: Sequence[float]) -> Verdict:
    """Whether condition numbers span the decades that are printed."""
    least, most = min(found), max(found)
    return Verdict(
        source="Cadoux 2009, table 5.3",
        quantity="condition number of W, all sizes",
        printed=f"{min(printed):.0e} to {max(printed):.0e}",
        found=f"{least:.0e} to {most:.0e}",
        grade=UNDETERMINED,
        why="lengths, radii, moduli and time step of the rods are not given",
    )


def _count(outcomes: Sequence[Outcome]) -> str:
    solved = [outcome.seconds for outcome in outcomes if outcome.is_reached]
    seconds = f", {float(np.median(solved)):.2g} s" if solved else ""
    return f"{len(solved)} of {len(outcomes)}{seconds}"


def solved_by_auto(found: Sequence[Found], tol: float = STRICT) -> tuple[int, float]:
    """Number of problems solved by the default method, and its time (s)."""
    start = time.process_time()
    done = sum(solve(f.problem, Auto(tol=tol), check=False).residual <= tol for f in found)
    return done, time.process_time() - start
