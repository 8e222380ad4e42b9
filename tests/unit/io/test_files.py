"""Reading whatever comes, writing safely, and the published problems."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from clapas.errors import ProblemError, SettingsError
from clapas.io import StoredSolution, fclib, read, read_problem, shipped, write
from clapas.problems import ContactProblem

PUBLISHED = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "contact"


@pytest.fixture
def drop() -> ContactProblem:
    """A particle of 2 kg, free in the plane, that meets a wall at 1 m/s."""
    return ContactProblem(M=2.0 * np.eye(2), H=np.eye(2), f=[2.0, 0.0], mu=[0.5], d=2, name="drop")


# -------------------------------------------------------------------- the published problems


@pytest.mark.parametrize(
    "path",
    sorted(PUBLISHED.iterdir())
    if PUBLISHED.is_dir()
    else [pytest.param(None, marks=pytest.mark.skip(reason=f"no published problems in {PUBLISHED}"))],
    ids=lambda path: getattr(path, "name", "absent"),
)
def test_published_problems(path: Path) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        file = read(path)
    problem = file.problem
    n, d = problem.n_contacts, problem.d
    assert n > 0
    assert file.format == ("siconos" if path.suffix == ".dat" else "fclib")
    assert (file.kind == "global") == (problem.form == "global")
    if path.suffix == ".dat":
        assert (file.kind == "global") == path.name.lower().startswith("gfc")
    assert problem.q.shape == (n, d)
    assert (problem.response > 0).all()
    at_rest = problem.residual(np.zeros((n, d)))
    assert np.isfinite(at_rest)
    assert at_rest > 0  # none of them is trivial
    # An asymmetric W is told twice: to the eye by a warning, to programs by a note.
    asymmetric = [note for note in file.notes if note.startswith("W is not symmetric")]
    assert len(asymmetric) == len(told)
    if asymmetric:
        again = read(path, symmetrise=True).problem.W
        assert abs(again - again.T).max() == 0.0


@pytest.mark.filterwarnings("ignore:W is not symmetric")
@pytest.mark.parametrize("name", ["Capsules-i125-1213.hdf5", "local_problem_test.hdf5"])
def test_stored_guesses_lie_in_the_cone_of_the_normal_first_order(shared_data: Path, name: str) -> None:
    file = read(shared_data / "contact" / name)
    r, mu = file.guesses[0].r, file.problem.mu
    assert np.abs(r).max() > 0
    assert (r[:, 0] >= 0).all()
    assert (np.linalg.norm(r[:, 1:], axis=1) <= mu * r[:, 0] + 1e-13).all()
    # No other component could be the normal one.
    for order in ([1, 0, 2], [2, 0, 1]):
        other = r[:, order]
        assert (np.linalg.norm(other[:, 1:], axis=1) > mu * other[:, 0] + 1e-13).any()


def test_gravity_pulls_the_published_spheres_down(shared_data: Path) -> None:
    # Many spheres lie on the floor; in a step of 0.5 ms gravity would give them −g h there. With
    # the sign of f or the transposition of H wrong, no contact would show this number.
    problem = read_problem(shared_data / "contact" / "Spheres-i099-356-679.hdf5")
    assert np.sum(np.isclose(problem.q[:, 0], -9.80665 * 0.0005, rtol=1e-3)) > 20


def test_published_words_and_attributes(shared_data: Path) -> None:
    info = read(shared_data / "contact" / "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5").info
    assert (info.title, info.math_info) == ("LMGC dump in hdf5", "unknown")
    assert info.attributes == {"numberOfDegreeOfFreedom": 606}
    modern = read(shared_data / "contact" / "stack-n20-step00045-nc00078.hdf5").info
    assert modern.title == "stack-n20-step00045-nc00078.hdf5"
    assert modern.description.startswith("incremental problem")


# -------------------------------------------------------------------- recognising


def test_the_content_tells_the_format_not_the_name(tmp_path: Path, drop: ContactProblem) -> None:
    write(tmp_path / "honest.hdf5", drop)
    (tmp_path / "honest.hdf5").rename(tmp_path / "hdf5-inside.dat")
    (tmp_path / "text-inside.hdf5").write_text(shipped("sliding-block.dat").read_text())
    assert read(tmp_path / "hdf5-inside.dat").format == "fclib"
    assert read(tmp_path / "text-inside.hdf5").format == "siconos"


def test_hdf5_behind_a_user_block(tmp_path: Path, drop: ContactProblem) -> None:
    write(tmp_path / "plain.hdf5", drop)
    with (
        h5py.File(tmp_path / "plain.hdf5") as plain,
        h5py.File(tmp_path / "block.hdf5", "w", userblock_size=1024) as block,
    ):
        plain.copy("fclib_global", block)
    (tmp_path / "block.hdf5").open("rb+").close()
    assert read(tmp_path / "block.hdf5").problem.n_dof == 2


def test_names_lose_their_endings(tmp_path: Path, drop: ContactProblem) -> None:
    write(tmp_path / "Stack-1.5.hdf5", drop)
    (tmp_path / "Stack-1.5.hdf5").rename(tmp_path / "Stack-1.5.hdf5.dat")
    file = read(str(tmp_path / "Stack-1.5.hdf5.dat"))
    assert file.problem.name == "Stack-1.5"
    assert file.info.title == "drop"
    assert file.path == tmp_path / "Stack-1.5.hdf5.dat"


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nowhere.hdf5")


def test_an_unknown_kind_is_refused() -> None:
    kind: Any = "both"
    with pytest.raises(SettingsError, match="kind must be 'auto', 'local' or 'global', got 'both'"):
        read(shipped("sliding-block.dat"), kind=kind)


def test_importing_the_package_does_not_load_h5py() -> None:
    code = "import sys, clapas.io; sys.exit('h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -------------------------------------------------------------------- writing


@pytest.mark.parametrize("form", ["array", "flat", "mapping", "object", "record"])
def test_a_solution_may_come_in_many_shapes(tmp_path: Path, drop: ContactProblem, form: str) -> None:
    r = np.array([[2.0, 0.0]])
    given: Any = {
        "array": r,
        "flat": [2.0, 0.0],
        "mapping": {"r": r},
        "object": SimpleNamespace(r=r, u=None, status="SOLVED"),
        "record": StoredSolution(r=r),
    }[form]
    write(tmp_path / "solved.hdf5", drop, given)
    stored = read(tmp_path / "solved.hdf5").solution
    assert stored is not None
    assert stored.r.tolist() == [[2.0, 0.0]]
    np.testing.assert_array_equal(stored.u, drop.velocity(r))
    np.testing.assert_array_equal(stored.v, drop.motion(r))


def test_given_velocities_are_written_as_they_are(tmp_path: Path, drop: ContactProblem) -> None:
    write(tmp_path / "s.hdf5", drop, {"r": [2.0, 0.0], "u": [[1.0, 2.0]], "v": [3.0, 4.0]})
    stored = read(tmp_path / "s.hdf5").solution
    assert stored is not None
    assert stored.u is not None
    assert stored.v is not None
    assert (stored.u.tolist(), stored.v.tolist()) == ([[1.0, 2.0]], [3.0, 4.0])


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ({"u": [[1.0, 2.0]]}, "needs its impulses r"),
        ([1.0, 2.0, 3.0], r"r has shape \(3,\), expected \(1, 2\) or \(2,\)"),
        ({"r": [[2.0, 0.0]], "u": [1.0]}, r"u has shape \(1,\)"),
        ({"r": [[2.0, 0.0]], "v": [1.0]}, "v has 1 values, expected 2"),
    ],
)
def test_a_solution_that_does_not_fit_is_refused(
    tmp_path: Path, drop: ContactProblem, solution: Any, message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        write(tmp_path / "s.hdf5", drop, solution)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, drop: ContactProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "drop.hdf5"
    write(path, drop, title="old")
    before = path.read_bytes()

    def full_disk(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(fclib, "_write_info", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write(path, drop, title="new")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_writing_replaces_and_follows_links(tmp_path: Path, drop: ContactProblem) -> None:
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "drop.hdf5", tmp_path / "link.hdf5"
    write(target, drop, title="old")
    link.symlink_to(target)
    write(link, drop, title="new")
    assert link.is_symlink()
    assert read(target).info.title == "new"


def test_the_same_problem_gives_the_same_bytes(tmp_path: Path, drop: ContactProblem) -> None:
    write(tmp_path / "a.hdf5", drop, [[2.0, 0.0]], title="same")
    write(tmp_path / "b.hdf5", drop, [[2.0, 0.0]], title="same")
    assert (tmp_path / "a.hdf5").read_bytes() == (tmp_path / "b.hdf5").read_bytes()


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, drop: ContactProblem) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "no" / "drop.hdf5", drop)
