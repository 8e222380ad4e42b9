"""Cutting planes on mixed-integer programs: validity by enumeration and against optima, files, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from clapas.cuts import MILP, CuttingPlanes, NothingToSeparate, Selection, read_milp, write_milp
from clapas.cuts.disjunction import Disjunction
from clapas.cuts.instances import dense_program, fixed_charge, knapsack, lot_sizing, set_cover
from clapas.cuts.intersection import intersection_cut
from clapas.cuts.milp import solve_by_highs
from clapas.cuts.relaxation import Relaxation
from clapas.cuts.rounds import KINDS, Kind
from clapas.cuts.strengthening import strengthened
from clapas.errors import FormatError, ProblemError, SettingsError
from clapas.typing import Array


def every_point(problem: MILP) -> Array:
    """All integer points of a bounded pure program, (k, n)."""
    spans = [np.arange(low, high + 1.0) for low, high in zip(problem.lower, problem.upper, strict=True)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*spans, indexing="ij")], axis=1)
    values = points @ problem.A.T
    inside = (values >= problem.row_lower - 1e-9).all(axis=1) & (values <= problem.row_upper + 1e-9).all(
        axis=1
    )
    return points[inside]


def boxed(seed: int) -> MILP:
    """Variables between bounds other than 0 and 1, also negative, and an equation."""
    random = np.random.default_rng(seed)
    A = random.integers(-5, 10, size=(3, 5)).astype(float)
    middle = random.integers(-2, 3, size=5).astype(float)
    return MILP(
        c=random.standard_normal(5),
        A=sparse.csr_array(A),
        row_lower=np.array([-np.inf, -np.inf, A[2] @ middle]),
        row_upper=np.array([A[0] @ middle + 2.5, A[1] @ middle + 1.5, A[2] @ middle]),
        lower=middle - 2.0,
        upper=middle + 2.0,
        is_integer=np.ones(5, dtype=bool),
    )


SMALL = {
    "knapsack": knapsack(12, 0),
    "knapsack-3": knapsack(12, 1, 3),
    "cover": set_cover(12, 12, 1, 0.25),
    "boxed-0": boxed(0),
    "boxed-1": boxed(1),
    "boxed-5": boxed(5),
}


@pytest.mark.parametrize("strengthen", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_no_integer_point_is_cut_off(name: str, kind: str, strengthen: bool) -> None:
    problem = SMALL[name]
    points = every_point(problem)
    report = CuttingPlanes(kind=kind, rounds=4, strengthen=strengthen).run(problem)  # type: ignore[arg-type]
    assert len(points) > 0
    assert max(report.violation(x) for x in points) <= 1e-7
    assert all(b - a >= -1e-7 for a, b in zip(report.bounds, report.bounds[1:], strict=False))
    assert report.bounds[-1] <= float((points @ problem.c).min()) + 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "problem", [fixed_charge(3, 4, 0), lot_sizing(2, 5, 0), dense_program(15, 0)], ids=lambda each: each.name
)
def test_the_optimum_stays(problem: MILP, kind: str) -> None:
    best = solve_by_highs(problem)
    assert best.is_optimal
    assert best.x is not None
    report = CuttingPlanes(kind=kind, rounds=3, splits=5, strengthen=True).run(problem)  # type: ignore[arg-type]
    assert report.violation(best.x) <= 1e-6
    closed = report.gap_closed(best.best)
    assert 0.0 < closed[-1] <= 1.0 + 1e-6


def test_rounds_solve_a_small_cover() -> None:
    """Rank-one and rank-two facets suffice here: the relaxation becomes integral."""
    problem = set_cover(40, 60, 0, 0.15)
    report = CuttingPlanes().run(problem)
    assert report.is_integer
    assert report.ending == "nothing to separate: the relaxation has an integer solution"
    assert problem.value(report.x) == pytest.approx(solve_by_highs(problem).best)


def test_a_strengthened_cut_on_paper() -> None:
    """At (0, 3/2) of x + 4y ≤ 6 the split on y, strengthened by x, is Gomory's mixed-integer cut."""
    problem = MILP(
        c=np.array([-0.1, -1.0]),
        A=sparse.csr_array([[1.0, 4.0]]),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([6.0]),
        lower=np.zeros(2),
        upper=np.array([8.0, 8.0]),
        is_integer=np.ones(2, dtype=bool),
    )
    vertex = Relaxation(problem).solve()
    np.testing.assert_allclose(vertex.x, [0.0, 1.5])
    disjunction = Disjunction.split(vertex.A, vertex.b, vertex.x, 1)
    cut = intersection_cut(disjunction, vertex.basis)
    d, right = strengthened(cut, disjunction, vertex, problem)
    # Of y + x/4 + s/4 = 3/2 Gomory's cut reads (1/4)/(1/2) x + (1/4)/(1/2) s ≥ 1; with s = 6 − x − 4y: y ≤ 1.
    np.testing.assert_allclose(d / d[1], [0.0, 1.0], atol=1e-12)
    assert right / d[1] == pytest.approx(1.0)


def test_strengthening_closes_more() -> None:
    problem = knapsack(30, 0)
    plain, strong = (CuttingPlanes(kind="violated", strengthen=each).run(problem) for each in (False, True))
    assert strong.bounds[1] > plain.bounds[1]


def test_selection() -> None:
    d = np.array([[1.0, 0.0], [np.cos(0.1), np.sin(0.1)], [0.0, 1.0], [-1.0, 0.0]])
    depth = np.array([0.2, 0.3, 0.1, 1e-12])
    np.testing.assert_array_equal(Selection(max_parallelism=0.9).choose(d, depth), [1, 2])
    np.testing.assert_array_equal(Selection(max_parallelism=1.0).choose(d, depth), [0, 1, 2])
    np.testing.assert_array_equal(Selection(max_cuts=1).choose(d, depth), [1])
    np.testing.assert_array_equal(Selection(max_cuts=1, sparsity=2.0).choose(d, depth), [0])
    assert len(Selection().choose(np.zeros((0, 2)), np.zeros(0))) == 0


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_files(tmp_path: Path, suffix: str) -> None:
    problem = knapsack(8, 0, 2)
    write_milp(tmp_path / f"bag{suffix}", problem)
    back = read_milp(tmp_path / f"bag{suffix}")
    np.testing.assert_allclose(back.A.toarray(), problem.A.toarray())
    np.testing.assert_allclose(back.c, problem.c)
    assert back.is_integer.all()
    assert back.name == "bag"


def test_a_maximum_is_reported_as_one(tmp_path: Path) -> None:
    file = tmp_path / "most.lp"
    file.write_text(
        "max\n obj: 3 x + 2 y + 7\nst\n c1: 2 x + 2 y <= 3\nbounds\n x <= 1\n y <= 1\ngeneral\n x y\nend\n"
    )
    problem = read_milp(file)
    assert problem.maximise
    report = CuttingPlanes(kind="intersection").run(problem)
    assert problem.in_its_sense(report.bounds[0]) == pytest.approx(11.0)
    assert problem.in_its_sense(report.bounds[-1]) == pytest.approx(10.0)
    assert problem.value(np.array([1.0, 0.0])) == 10.0


def lines(**changes: object) -> MILP:
    data = {
        "c": -np.ones(1),
        "A": sparse.csr_array([[2.0]]),
        "row_lower": np.array([-np.inf]),
        "row_upper": np.array([3.0]),
        "lower": np.zeros(1),
        "upper": np.full(1, np.inf),
        "is_integer": np.ones(1, dtype=bool),
    }
    return MILP(**(data | changes))  # type: ignore[arg-type]


def test_one_variable() -> None:
    report = CuttingPlanes(kind="violated").run(lines())
    assert report.bounds == pytest.approx((-1.5, -1.0))
    assert report.is_integer


def test_nothing_fractional_and_no_integers() -> None:
    for problem in (lines(row_upper=np.array([4.0])), lines(is_integer=np.zeros(1, dtype=bool))):
        report = CuttingPlanes().run(problem)
        assert report.ending.startswith("nothing to separate")
        assert report.rounds == ()
        assert np.isnan(report.gap_closed(report.bounds[0])[0])


def test_relaxations_without_optimum() -> None:
    with pytest.raises(ProblemError, match="the linear relaxation has no solution"):
        CuttingPlanes().run(lines(row_upper=np.array([-1.0])))
    with pytest.raises(ProblemError, match="the linear relaxation is unbounded"):
        CuttingPlanes().run(lines(row_upper=np.array([np.inf])))


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_prove_that_there_is_no_solution(kind: Kind) -> None:
    """1/2 <= x + y <= 3/4 in integers."""
    problem = lines(
        c=np.ones(2),
        A=sparse.csr_array([[2.0, 2.0]]),
        row_lower=np.ones(1),
        row_upper=np.array([1.5]),
        lower=np.zeros(2),
        upper=np.full(2, 3.0),
        is_integer=np.ones(2, dtype=bool),
    )
    report = CuttingPlanes(kind=kind).run(problem)
    assert report.is_infeasible
    assert not report.is_integer
    assert report.ending.endswith("the problem has none")
    assert len(report.bounds) == len(report.rounds) + 1
    assert not CuttingPlanes(kind=kind).run(lines()).is_infeasible


def test_no_rows_at_all() -> None:
    problem = lines(
        A=sparse.csr_array((0, 1)), row_lower=np.zeros(0), row_upper=np.zeros(0), upper=np.array([1.4])
    )
    assert CuttingPlanes().run(problem).bounds == (-1.0,)  # bounds of integers are rounded inwards


def test_progress_may_stop_it() -> None:
    report = CuttingPlanes(kind="intersection").run(knapsack(20, 0), progress=lambda done: True)
    assert (len(report.rounds), report.ending) == (1, "stopped")
    report = CuttingPlanes(kind="intersection", time_limit=0.0).run(knapsack(20, 0))
    assert report.ending == "time limit of 0 s reached"


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="there is no file"):
        read_milp(tmp_path / "none.mps")
    (tmp_path / "bad.mps").write_text("this is no program\n")
    with pytest.raises(FormatError, match="is it MPS or LP text"):
        read_milp(tmp_path / "bad.mps")
    (tmp_path / "bad.txt").write_text("")
    with pytest.raises(FormatError, match=r"'bad\.txt': expected one of \.mps, \.lp"):
        read_milp(tmp_path / "bad.txt")
    (tmp_path / "square.lp").write_text("min\n obj: x + [ x ^ 2 ] / 2\nst\n c1: x >= 1\nend\n")
    with pytest.raises(ProblemError, match="quadratic objective"):
        read_milp(tmp_path / "square.lp")
    (tmp_path / "semi.lp").write_text("min\n obj: x\nst\n c1: x >= 1\nbounds\n x <= 5\nsemi\n x\nend\n")
    with pytest.raises(ProblemError, match="semi-continuous"):
        read_milp(tmp_path / "semi.lp")


def test_slips() -> None:
    with pytest.raises(SettingsError, match="kind must be one of facets, deepest, violated, intersection"):
        CuttingPlanes(kind="gomory")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="rounds and splits must be at least 1, got 0 and 10"):
        CuttingPlanes(rounds=0)
    with pytest.raises(SettingsError, match="factor must be a number of at least 1, got inf"):
        CuttingPlanes(factor=np.inf)
    with pytest.raises(SettingsError, match="max_cuts must be at least 1"):
        Selection(max_cuts=0)
    with pytest.raises(SettingsError, match=r"max_parallelism must be in \(0, 1\], got 2"):
        Selection(max_parallelism=2)
    with pytest.raises(ProblemError, match="A is 1 by 1: costs, bounds and marks of integers must fit"):
        lines(c=np.ones(2))
    assert issubclass(NothingToSeparate, ProblemError)
