"""Tables 5.3, 5.8 and 5.10 of Cadoux's thesis: contact problems of super-helices, from our simulations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from clapas.bodies.rods import Rods, Support
from clapas.dynamics.births import initial_state
from clapas.dynamics.stepping import MoreauJean, step
from clapas.dynamics.surroundings import Surroundings
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

STRICT = 1e-8
MU = 0.2  # of the thesis
ONE_ROPE, STRANDS = 8, 5
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

INTRODUCTION = """\
The thesis prints neither lengths, radii, moduli, natural curls, damping nor the time step of its rods, nor
the problems. These are problems of our own simulations, of the printed numbers of rods (six helices each, 18
degrees of freedom) and as near as they came to the printed numbers of contacts, mu = 0.2. The small set of
the thesis was kept where its Newton solver had failed during a simulation: of the problems of one size that a
simulation met, we keep one where AC as printed fails within {probe:g} s, if there is one ("hard").

*Erratum.* The text of 5.3.2 speaks of a simulation of two rods, Table 5.3 of two to seven; we follow the
table."""

WHY = """\
Rows of neighbouring contacts between wound strands make W as ill-conditioned as printed. Problems differ from
the printed ones, so counts are comparable in kind only. The rule of the thesis, |f_AC(u, r)|²/(2nd) < 1e-6
with ρ = 1, has units, and the thesis does not say which: in metres and kilograms every method satisfies it
nearly at r = 0; we take centimetres and grams. The last table, by the residual of the package at 1e-8, has no
units. From 15 rods on they hang as ropes of five strands, which have about as many contacts as printed; hair
on a shaking head meets fewer. Verdicts are up to one problem of fifteen."""


class Found(NamedTuple):
    """A problem met in a simulation; the same in centimetres and grams; whether AC as printed fails on it."""

    name: str
    problem: ContactProblem
    in_centimetres: ContactProblem
    is_hard: bool


@dataclass(frozen=True, kw_only=True)
class RodTables:
    """Problems of super-helices by the eight methods of the thesis and by ours.

    Parameters
    ----------
    limit : float
        Seconds allowed per run.
    sizes : int
        How many of the fifteen rows of each table.
    steps : int
        Steps simulated per number of rods.
    """

    limit: float = 2.0
    sizes: int = 15
    steps: int = 600

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
        small = collect([row[:2] for row in SMALL[: self.sizes]], self.steps, 0.1 * self.limit)
        report.say("## Small: strands that wrap around each other (Table 5.3)")
        header = "problem hard nd/m dens(W) printed cond(W) printed existence".split()
        report.table(header, [_numbers(f, row[2:]) for f, row in zip(small, SMALL, strict=False)])
        self._race(
            report, small, methods, SMALL_COUNTS, "## The methods of the thesis, by its rule (Table 5.8)"
        )
        large = collect(LARGE[: self.sizes], self.steps, 0.0)
        report.say("## Large: more strands, and several ropes of them (Tables 5.4 and 5.10)")
        report.table(header, [_numbers(f, None) for f in large])
        three = {name: methods[name] for name in LARGE_COUNTS}
        self._race(
            report, large, three, LARGE_COUNTS, "## The methods of the thesis, by its rule (Table 5.10)"
        )
        report.say("## By the residual of the package, 1e-8")
        rows = []
        for name, solver in (methods | new_methods(STRICT)).items():
            outcomes = [race(f.problem, solver, residual, STRICT, self.limit) for f in [*small, *large]]
            report.tell(f"{name}: {sum(o.is_reached for o in outcomes)} of {len(outcomes)}")
            rows.append([name, _count(outcomes[: len(small)]), _count(outcomes[len(small) :])])
        report.table(["method", "small", "large"], rows)
        report.say(WHY)

    def _race(
        self,
        report: Report,
        found: Sequence[Found],
        methods: Mapping[str, Solver],
        printed: Mapping[str, int],
        title: str,
    ) -> None:
        report.say(title)
        rows = []
        for name, solver in methods.items():
            outcomes = [race(f.in_centimetres, solver, thesis_measure, GOAL, self.limit) for f in found]
            report.tell(f"{name}: {sum(o.is_reached for o in outcomes)} of {len(outcomes)}")
            count = f"{printed[name]} of 15" if name in printed else "·"
            rows.append([name, _count(outcomes), count, verdict(outcomes, printed.get(name))])
        report.table(["method", "solved here", "printed", "verdict"], rows)


def collect(sizes: Sequence[tuple[int, ...]], steps: int, probe: float) -> list[Found]:
    """A problem for each size (rods, contacts), from simulations: the nearest in contacts that were met.

    With ``probe`` seconds for AC as printed, one that it does not solve, if there is one of that size.
    """
    newton = thesis_methods()["AC"]
    met = {rods: list(problems(_scene(rods), steps)) for rods in {size[0] for size in sizes}}
    used: set[int] = set()
    found = []
    for rods, n in sizes:
        left = [p for p in met[rods] if id(p) not in used] or met[rods]
        if not left:
            raise SettingsError(f"no contact in {steps} steps of {rods} rods: simulate more steps")
        nearest = min(abs(p.n_contacts - n) for p in left)
        alike = [p for p in left if abs(p.n_contacts - n) == nearest][::5][:8]
        hard = []
        if probe:
            tried = [(p, race(in_centimetres(p), newton, thesis_measure, GOAL, probe)) for p in alike]
            hard = [p for p, outcome in tried if not outcome.is_reached]
        kept = (hard or alike)[0]
        used.add(id(kept))
        name = f"hair-{DOFS * rods}-{kept.n_contacts}"
        found.append(Found(name, kept, in_centimetres(kept), bool(hard)))
    return found


def in_centimetres(problem: ContactProblem) -> ContactProblem:
    """The problem with velocities in cm/s and impulses in g·cm/s."""
    reduced = reduce(problem)
    return ContactProblem(W=reduced.W * 1e-3, q=reduced.q * 1e2, mu=reduced.mu, d=reduced.d)


def problems(scene: Scene, steps: int, tol: float = 1e-8) -> Iterator[ContactProblem]:
    """The contact problems that a simulation meets, without the contacts that do not touch."""
    model = compile_scene(scene)
    state, surroundings = initial_state(model), Surroundings(model)
    settings = {name: value for name, value in scene.run.scheme.items() if name != "name"}
    scheme, dt = MoreauJean(**settings), scene.run.dt
    assert dt is not None
    for _ in range(steps):
        done = step(model, state, dt, Auto(tol=tol), scheme, surroundings)
        state = done.state
        if done.problem.problem.n_contacts:
            yield done.problem.problem


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


def _numbers(found: Found, printed: tuple[float, float] | None) -> list[str]:
    problem = found.problem
    W = reduce(problem).W.toarray()
    values = np.linalg.eigvalsh(0.5 * (W + W.T))
    condition = values[-1] / values[0] if values[0] > 0.0 else np.inf
    density = float(np.mean(np.abs(W) > ROUNDING * np.abs(W).max()))
    dens, cond = ("·", "·") if printed is None else (f"{printed[0]:.2f}", f"{printed[1]:.1e}")
    ratio = problem.d * problem.n_contacts / problem.n_dof
    exists = check(problem, time_limit=5.0).exists
    word = {True: "yes", False: "no", None: "?"}[exists]
    hard = "yes" if found.is_hard else "no"
    return [found.name, hard, f"{ratio:.2f}", f"{density:.2f}", dens, f"{condition:.1e}", cond, word]


def verdict(outcomes: Sequence[Outcome], printed: int | None) -> str:
    """Whether as large a share of the problems is solved as printed, up to one problem of fifteen."""
    if printed is None:
        return "·"
    share = sum(outcome.is_reached for outcome in outcomes) / len(outcomes)
    if abs(share - printed / 15.0) <= 1.001 / 15.0:
        return "as printed"
    return "more than printed" if share > printed / 15.0 else "fewer than printed"


def _count(outcomes: Sequence[Outcome]) -> str:
    solved = [outcome.seconds for outcome in outcomes if outcome.is_reached]
    seconds = f", {float(np.median(solved)):.2g} s" if solved else ""
    return f"{len(solved)} of {len(outcomes)}{seconds}"


def solved_by_auto(found: Sequence[Found], tol: float = STRICT) -> tuple[int, float]:
    """How many problems the default method solves, and the seconds it took."""
    start = time.process_time()
    done = sum(solve(f.problem, Auto(tol=tol), check=False).residual <= tol for f in found)
    return done, time.process_time() - start
