"""FCLib files of contacts with couples, and with friction that depends on the direction."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from clapas.cli import main
from clapas.convex import Ellipses, Polygons
from clapas.errors import FormatError
from clapas.io import read, write
from clapas.problems import ContactProblem, reduce
from clapas.problems.rolling import RollingProblem
from clapas.solvers import Auto, solve

KITE = [[2.0, 0.0], [0.0, 0.5], [-0.3, 0.0], [0.0, -0.5]]


def matrices(rows: int, n: int = 3, m: int = 24, seed: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "M": np.diag(rng.uniform(1.0, 3.0, m)),
        "H": rng.normal(size=(rows * n, m)),
        "f": rng.normal(size=m),
        "w": 0.1 * rng.normal(size=(n, rows)),
        "mu": rng.uniform(0.2, 0.6, n),
    }


def rolling_only() -> RollingProblem:
    data = matrices(6)
    data["H"][3::6], data["w"][:, 3] = 0.0, 0.0
    return RollingProblem(**data, d=6)


PROBLEMS = {
    "polygons": lambda: ContactProblem(**matrices(3), section=KITE, d=3),
    "some polygons": lambda: ContactProblem(
        **matrices(3), section=Polygons(np.array([KITE] * 3), np.array([True, False, True])), d=3
    ),
    "intervals": lambda: ContactProblem(**matrices(2), section=[[-0.5], [2.0]], d=2),
    "ellipses": lambda: ContactProblem(**matrices(3), section=Ellipses.same([2.0, 0.5], 3, angle=0.3), d=3),
    "ellipses in the plane": lambda: ContactProblem(
        **matrices(2), section=Ellipses(np.full((3, 1), 2.0)), d=2
    ),
    "rolling": rolling_only,
    "rolling and spinning": lambda: RollingProblem(**matrices(6), d=6),
    "rolling in the plane": lambda: RollingProblem(**matrices(3), d=3),
}


@pytest.mark.parametrize("form", ["global", "reduced"])
@pytest.mark.parametrize("word", PROBLEMS)
def test_what_is_written_is_read_back(tmp_path: Path, word: str, form: str) -> None:
    problem = PROBLEMS[word]()
    problem = reduce(problem) if form == "reduced" else problem
    solution = solve(problem, Auto(tol=1e-10))
    path = tmp_path / "law.hdf5"
    write(path, problem, solution, guesses=[0.5 * solution.r])
    back = read(path)
    assert type(back.problem) is type(problem)
    assert back.kind == ("local" if form == "reduced" else "global")
    r = np.abs(np.random.default_rng(1).normal(size=solution.r.shape))
    if word == "rolling":
        r[:, 3] = 0.0
    assert back.problem.residual(r) == pytest.approx(problem.residual(r), rel=1e-9)
    np.testing.assert_allclose(back.problem.velocity(r), problem.velocity(r), atol=1e-9)
    assert back.solution is not None
    assert back.problem.residual(back.solution.r) <= 1e-9
    np.testing.assert_allclose(back.solution.u, problem.velocity(solution.r), atol=1e-8)
    np.testing.assert_allclose(back.guesses[0].r, 0.5 * back.solution.r)
    np.testing.assert_allclose(solve(back.problem, Auto(tol=1e-10)).u, solution.u, atol=1e-6)


def test_rolling_has_the_layout_of_the_library(tmp_path: Path) -> None:
    write(tmp_path / "rolling.hdf5", rolling_only())
    with h5py.File(tmp_path / "rolling.hdf5") as file:
        group = file["fclib_global_rolling"]
        assert group["spacedim"][0] == 5
        assert sorted(group["vectors"]) == ["f", "mu", "mu_r", "w"]
        assert group["H/n"][0] == 15
        np.testing.assert_array_equal(group["vectors/mu_r"], 1.0)


def test_other_programs_do_not_take_sections_for_discs(tmp_path: Path) -> None:
    write(tmp_path / "kite.hdf5", PROBLEMS["polygons"]())
    with h5py.File(tmp_path / "kite.hdf5") as file:
        assert sorted(file) == ["clapas_global"]
        assert sorted(file["clapas_global/section"]) == ["is_round", "vertices"]


@pytest.mark.parametrize("couples", [False, True])
def test_joints_are_written_and_eliminated_on_reading(tmp_path: Path, couples: bool) -> None:
    kind, rows = (RollingProblem, 6) if couples else (ContactProblem, 3)
    data = matrices(rows)
    J = np.random.default_rng(9).normal(size=(2, 24))
    problem = kind(**data, J=J, b=[0.3, -0.1], d=rows)
    write(tmp_path / "joined.hdf5", problem, solution=solve(problem, Auto(tol=1e-10)))
    back = read(tmp_path / "joined.hdf5")
    r = np.abs(np.random.default_rng(1).normal(size=(3, rows)))
    np.testing.assert_allclose(back.problem.velocity(r), problem.velocity(r), atol=1e-9)
    assert back.solution is not None
    assert back.problem.residual(back.solution.r) <= 1e-9


def test_compliance_is_written_in_the_reduced_form(tmp_path: Path) -> None:
    problem = ContactProblem(**matrices(3), compliance=[0.5, 0.0, 2.0], d=3)
    write(tmp_path / "soft.hdf5", problem)
    back = read(tmp_path / "soft.hdf5").problem
    r = np.abs(np.random.default_rng(1).normal(size=(3, 3)))
    np.testing.assert_allclose(back.velocity(r), problem.velocity(r), atol=1e-9)


class Round:
    """A section known by its projection alone."""

    def support(self, z: np.ndarray) -> np.ndarray:
        return np.linalg.norm(z, axis=1)


def test_sections_that_files_cannot_hold_are_refused(tmp_path: Path) -> None:
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5], section=Round())  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="polygons or ellipses, got Round, known by its projection"):
        write(tmp_path / "round.hdf5", problem)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda g: g.__delitem__("section/vertices"), "no 'vertices'; found is_round"),
        (lambda g: g["section/vertices"].__setitem__(..., -1.0), "section: contact 0: a section must be"),
        (lambda g: g["couples"].__setitem__(..., 1), "no 'vertices'|section"),
        (lambda g: g["spacedim"].__setitem__(..., 4), "spacedim is 4, expected 2 or 3"),
    ],
)
def test_damage_is_named(tmp_path: Path, edit: object, message: str) -> None:
    write(tmp_path / "kite.hdf5", PROBLEMS["polygons"]())
    with h5py.File(tmp_path / "kite.hdf5", "r+") as file:
        edit(file["clapas_global"])  # type: ignore[operator]
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "kite.hdf5")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("some polygons", "Coulomb, sections of up to 4 corners at 1 of 3 contacts"),
        ("ellipses", "Coulomb, sections that are ellipses"),
        ("rolling", "Coulomb, with couples against rolling at 3 and spinning at 0 of 3 contacts"),
        ("rolling in the plane", "Coulomb, with couples against rolling at 3 and spinning at 0 of 3"),
    ],
)
def test_info_says_what_a_file_holds(
    tmp_path: Path, word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "law.hdf5", PROBLEMS[word]())
    assert main(["info", str(tmp_path / "law.hdf5")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert said in shown
    assert f"in {2 if 'plane' in word else 3}-D" in shown
