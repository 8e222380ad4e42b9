"""The structures of the benchmark: what they are, that the portfolio solves them, and the tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks import hyperstatic, small
from benchmarks.hyperstatic import Run
from benchmarks.structures import get, structures

from clapas.io import shipped
from clapas.problems import reduce
from clapas.solvers import Auto, solve
from tests.solvers.test_published_files import plain_residual

SMALL = ("wall-running-4x4", "wall-stack-4x4-settling", "rubble-3d-5x4", "arch-50x1-settling", "vault-7x3")
SAMPLE = (
    "wall-english-4x4-settling-warm",
    "wall-running-12x10-settling",
    "rubble-2d-16x12-settling-warm",
    "arch-30x3-settling",
    "vault-11x6-settling",
    "tower-20-settling-warm",
    "pile-boxes-150",
    "pile-stones-40-warm",
)


def test_there_are_enough_of_every_kind() -> None:
    every = list(structures())
    assert len({structure.name for structure in every}) == len(every) >= 60
    for family in ("wall", "rubble", "arch", "vault", "tower", "pile"):
        mine = [structure for structure in every if structure.family == family]
        assert {structure.steps > 0 for structure in mine} == {False, True}


def test_the_same_name_gives_the_same_problem() -> None:
    one, two = (get("rubble-3d-5x4-settling").snapshot() for _ in range(2))
    assert np.array_equal(one.problem.q, two.problem.q)
    assert (reduce(one.problem).W != reduce(two.problem).W).nnz == 0


@pytest.mark.parametrize("name", SMALL)
def test_small_structures_are_solved(name: str) -> None:
    problem, guess = get(name).snapshot()
    assert problem.n_contacts >= 100
    assert not guess.any()
    r = solve(problem, Auto(tol=1e-8), guess).r
    assert plain_residual(problem, r) <= 1.001e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_larger_ones_is_solved(name: str) -> None:
    structure = get(name)
    problem, guess = structure.snapshot()
    assert guess.any() == (structure.steps > 0)
    solution = solve(problem, Auto(tol=1e-8), guess)
    assert problem.residual(solution.r) <= 1e-8


def run(structure: str, method: str, residual: float, status: str = "SOLVED") -> Run:
    return Run("wall", structure, 100, method, status, residual, 0.5, "nsgs")


def test_the_tables_count_what_the_residual_says(tmp_path: Path) -> None:
    runs = [
        run("a", "auto", 1e-9),
        run("a", "nsgs", 1e-3),  # a false claim
        run("b", "auto", 1e-6, "STALLED"),
        run("b", "nsgs", 1e-7, "TIME_LIMIT"),
    ]
    text = hyperstatic.report(runs, {"b": "A solution exists."}, limit=3.0)
    assert "what the residual says: 1." in text
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "wall", "1/2 0.5 s", "0/2", ""] in lines
    assert ["", "a", "100", "0.5 s", "(1e-03)", "nsgs", ""] in lines
    assert ["", "b", "STALLED", "1.0e-07", "nsgs", "A solution exists.", ""] in lines
    for one in runs:
        hyperstatic.keep(tmp_path / "runs.csv", one)
    assert hyperstatic.read(tmp_path / "runs.csv") == runs


def test_the_member_that_arrived_is_read_from_the_notes() -> None:
    notes = (
        "nsgs: 9 iterations, residual 1.0e-03",
        "40 contacts: interior-point: 7 iterations, residual 1e-09",
    )
    assert hyperstatic._arrived(notes) == "interior-point"
    assert hyperstatic._arrived(("nsgs: 3 iterations",)) == "nsgs"
    assert hyperstatic._arrived(()) == "guess"


def test_small_problems_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "REPEATS", 1)
    found = small.times(shipped(), most=300)
    assert found["sliding-block.dat"].status == "SOLVED"
    table = small.table(found, {name: timing for name, timing in found.items() if "two" in name})
    ratios = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in table.splitlines()}
    assert ratios["two-blocks.hdf5"] == "1.00"
    assert ratios["sliding-block.dat"] == "–"  # it has no reference
