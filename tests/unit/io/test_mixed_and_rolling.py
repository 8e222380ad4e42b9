"""Mixed complementarity problems and contacts with rolling, in text and in HDF5."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from clapas import io
from clapas.errors import FormatError, ProblemError
from clapas.io.csparse import write_matrix
from clapas.io.lcp import read_lcp, write_lcp
from clapas.problems import ContactProblem
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.problems.rolling import RollingProblem
from clapas.solvers import NSGS, solve
from clapas.solvers.lcp import solve_lcp

A, B, C, D = np.array([[2.0]]), np.array([[1.0, 0.0], [0.5, 3.0]]), np.array([[1.0, -1.0]]), -np.ones((2, 1))
a, b = np.array([1.0]), np.array([-2.0, 1.0])
WHOLE = MixedLCP(np.block([[A, C], [D, B]]), np.concatenate((a, b)), [True, False, False])


def flat(*parts: np.ndarray) -> str:
    return " ".join(repr(float(x)) for part in parts for x in part.ravel())


FOUR = flat(A, B, C, D, a, b)
DENSE = "0 3 3 3 3 " + flat(WHOLE.M.T)
TEXTS = {
    "four matrices": f"0 1 1 2 {FOUR}",
    "old": f"1 2 3 {FOUR}",
    "one matrix": f"1 0 1 2 0 1 3 0 1 {DENSE} {flat(WHOLE.q)}",
    "both": f"1 1 1 2 0 1 3 0 1 {DENSE} {flat(WHOLE.q)} {FOUR}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_mixed_problems_are_read_as_what_they_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "mixed.dat").write_text(TEXTS[name])
    file = read_lcp(tmp_path / "mixed.dat")
    assert isinstance(file.whole, MixedLCP)
    assert np.array_equal(file.whole.M, WHOLE.M)
    assert np.array_equal(file.whole.q, WHOLE.q)
    assert file.whole.is_equation.tolist() == [True, False, False]
    assert file.back is not None
    assert WHOLE.residual(file.back(solve_lcp(file.problem).z)) < 1e-12


@pytest.mark.parametrize("size", [1, 2, 3])
def test_plain_problems_still_are_plain(tmp_path: Path, size: int) -> None:
    write_lcp(tmp_path / "plain.dat", LCP(np.eye(size), -np.ones(size)))
    file = read_lcp(tmp_path / "plain.dat")
    assert file.whole is None
    assert file.problem.size == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 1 2 0 1 3 0 0 " + DENSE + " 1 1 1", "do not make 1 equations and 2 conditions"),
        ("1 0 1 2 0 1 1 3 0 1 " + DENSE + " 1 1 1", "ends of blocks that increase"),
        ("1 0 1 2 0 1 3 0 1 0 2 2 2 2 1 2 3 4 1 1 1", "M is 2×2, but 1 equations and 2 conditions need 3×3"),
        ("2 5 9 " + "1 " * 90, "Only square mixed problems are read"),
        ("0 1 1 2 1 1 1", "expected"),
    ],
)
def test_damaged_mixed_problems_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.dat").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_lcp(tmp_path / "bad.dat")


# -------------------------------------------------------------------- rolling

# A ball of mass 1, radius 1 and inertia 0.4 on the floor: velocities (v_x, v_y, v_z, ω_x, ω_y, ω_z), z up.
H = np.zeros((5, 6))
H[0, 2] = 1.0  # normal
H[1, [0, 4]] = 1.0, -1.0  # slip along x at the contact, v_x − ω_y
H[2, [1, 3]] = 1.0, 1.0
H[3, 3], H[4, 4] = 1.0, 1.0  # rolling about x and y
M = np.diag([1.0, 1.0, 1.0, 0.4, 0.4, 0.4])
MOMENTUM = np.array([1.0, 0.0, -1.0, 0.0, 0.4, 0.0])  # rolls along x at 1 m/s, pressed by 1 N·s
MU, LENGTH = 0.5, 0.1


def rolls() -> RollingProblem:
    return RollingProblem.from_matrices(
        M=M, H=H, f=-MOMENTUM, w=np.zeros(5), mu=[MU], rolling_mu=[LENGTH], name="ball"
    )


def assert_is_slowed(problem: ContactProblem) -> None:
    """The couple is mu_r r_N, about y; rolling loses mu_r / (1 + 0.4) in speed and does not slip."""
    solution = solve(problem, NSGS(tol=1e-12))
    assert solution.r[0, 0] == pytest.approx(1.0)
    assert solution.r[0, 5] == pytest.approx(-1.0)  # in units of its length
    friction = -LENGTH / 1.4
    assert solution.r[0, 1] == pytest.approx(friction)
    assert abs(friction) < MU


def test_rolling_is_slowed_by_its_couple() -> None:
    problem = rolls()
    assert_is_slowed(problem)
    v = solve(problem, NSGS(tol=1e-12)).v
    assert v is not None
    assert v[0] == pytest.approx(1.0 - LENGTH / 1.4)
    assert v[4] == pytest.approx(1.0 - LENGTH / 1.4)


def test_the_report_has_the_residual_of_the_whole_law(tmp_path: Path) -> None:
    """Without its couple the ball rolls on: sliding friction alone would see nothing wrong."""
    problem = rolls()
    r = solve(problem, NSGS(tol=1e-12)).r.copy()
    assert problem.report(r).residual == problem.residual(r) <= 1e-12
    r[0, 3:] = 0.0
    assert problem.report(r).residual == problem.residual(r) > 1e-3
    io.write(tmp_path / "ball.hdf5", problem)
    again = io.read(tmp_path / "ball.hdf5").problem
    assert again.residual(r) == pytest.approx(problem.residual(r), rel=1e-12)


def test_reduced_and_one_body_forms_agree() -> None:
    W, q = H @ np.linalg.inv(M) @ H.T, H @ np.linalg.inv(M) @ MOMENTUM
    assert_is_slowed(RollingProblem.from_delassus(W=W, q=q, mu=[MU], rolling_mu=[LENGTH]))
    full = M.copy()
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    assert_is_slowed(
        RollingProblem.from_matrices(
            M=turned @ full @ turned.T,
            H=H @ turned.T,
            f=-turned @ MOMENTUM,
            w=np.zeros(5),
            mu=[MU],
            rolling_mu=[LENGTH],
        )
    )


def matrix_text(matrix: np.ndarray) -> str:
    rows, columns = matrix.shape
    return f"0 {rows} {columns} {rows} {columns} " + flat(matrix.T)


@pytest.mark.parametrize("kind", ["global", "local"])
def test_rolling_text(tmp_path: Path, kind: str) -> None:
    inverse = np.linalg.inv(M)
    if kind == "global":
        words = [matrix_text(M), matrix_text(H.T), flat(MOMENTUM), flat(np.zeros(5))]
    else:
        words = [matrix_text(H @ inverse @ H.T), flat(H @ inverse @ MOMENTUM)]
    path = tmp_path / ("GRFC3D-ball.dat" if kind == "global" else "RFC3D-ball.dat")
    path.write_text(" ".join(["5 1", *words, f"{MU} {LENGTH}"]))
    file = io.read(path)
    assert file.kind == kind
    assert isinstance(file.problem, RollingProblem)
    assert_is_slowed(file.problem)
    path.write_text(" ".join(["5 1", *words, f"{MU}"]))
    with pytest.raises(FormatError, match="mu_r"):
        io.read(path)


@pytest.mark.parametrize("kind", ["global", "local"])
def test_rolling_fclib(tmp_path: Path, kind: str) -> None:
    inverse = np.linalg.inv(M)
    path = tmp_path / "ball.hdf5"
    with h5py.File(path, "w") as file:
        group = file.create_group(f"fclib_{kind}_rolling")
        group["spacedim"] = np.array([5], dtype=np.int32)
        vectors = {"mu": [MU], "mu_r": [LENGTH]}
        if kind == "global":
            write_matrix(group.create_group("M"), sparse.csr_array(M), "columns")
            write_matrix(group.create_group("H"), sparse.csr_array(H.T), "columns")
            vectors |= {"f": MOMENTUM, "w": np.zeros(5)}
        else:
            write_matrix(group.create_group("W"), sparse.csr_array(H @ inverse @ H.T), "rows")
            vectors |= {"q": H @ inverse @ MOMENTUM}
        parent = group.create_group("vectors")
        for name, values in vectors.items():
            parent[name] = np.asarray(values, dtype=float)
        file.create_group("solution")["r"] = np.array([1.0, -LENGTH / 1.4, 0.0, 0.0, -LENGTH])
    read = io.read(path)
    assert_is_slowed(read.problem)
    assert read.solution is not None
    assert read.problem.residual(read.solution.r) < 1e-12


def test_bad_rolling_data_are_refused() -> None:
    with pytest.raises(ProblemError, match="rolling_mu must be 1 finite numbers ≥ 0"):
        RollingProblem.from_matrices(M=M, H=H, f=-MOMENTUM, w=np.zeros(5), mu=[MU], rolling_mu=[-1.0])
    with pytest.raises(ProblemError, match="expected 10: five for each mu"):
        RollingProblem.from_matrices(M=M, H=H, f=-MOMENTUM, w=np.zeros(5), mu=[MU, MU], rolling_mu=[0.1, 0.1])
    with pytest.raises(ProblemError, match="symmetric"):
        RollingProblem.from_delassus(W=np.triu(np.ones((5, 5))), q=np.zeros(5), mu=[MU], rolling_mu=[0.1])


@pytest.mark.parametrize("ending", [".dat", ".txt", ".npz", ""])
def test_only_hdf5_is_written(tmp_path: Path, ending: str) -> None:
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 0.25]], mu=0.5)
    with pytest.raises(FormatError, match=r"must end in \.hdf5 or \.h5"):
        io.write(tmp_path / f"drop{ending}", problem)
    assert not list(tmp_path.iterdir())
