"""FCLib files: layouts, conventions, bilateral rows, round trips, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy import sparse

from clapas.errors import FormatError
from clapas.io import read, write
from clapas.problems import ContactProblem, reduce
from clapas.solvers import Auto, solve


def put_matrix(parent: h5py.Group, name: str, A: np.ndarray, layout: str = "triplets") -> None:
    group = parent.create_group(name)
    A = np.asarray(A, dtype=float)
    m, n = A.shape
    if layout in ("triplets", "swapped"):
        rows, columns = np.nonzero(A)
        p, i = (columns, rows) if layout == "triplets" else (rows, columns)
        x, nz = A[rows, columns], rows.size
    else:
        stored = sparse.csc_array(A) if layout == "columns" else sparse.csr_array(A)
        p, i, x, nz = stored.indptr, stored.indices, stored.data, -1 if layout == "columns" else -2
    for key, value in (("m", m), ("n", n), ("nz", nz), ("nzmax", len(x) + 3)):
        group[key] = np.array([value], dtype=np.int32)
    group["p"], group["i"] = p.astype(np.int32), i.astype(np.int32)
    group["x"] = x


def put(path: Path, kind: str, layout: str = "triplets", d: int = 3, **data: Any) -> Path:
    """Write a file in FCLib's own letters, without the writer under test."""
    with h5py.File(path, "w") as file:
        group = file.create_group(f"fclib_{kind}")
        group["spacedim"] = np.array([d], dtype=np.int32)
        vectors = group.create_group("vectors")
        for name, value in data.items():
            if np.ndim(value) == 2:
                put_matrix(group, name, value, layout)
            else:
                vectors[name] = np.asarray(value, dtype=float)
    return path


@pytest.fixture
def mixed() -> dict[str, np.ndarray]:
    """Bodies with contacts and joints: M v = H r + G λ + f, Gᵀ v + b = 0, u = Hᵀ v + w."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(9, 9))
    return {
        "M": root @ root.T + 9.0 * np.eye(9),
        "H": rng.normal(size=(9, 6)),
        "G": rng.normal(size=(9, 2)),
        "f": rng.normal(size=9),
        "w": rng.normal(size=6),
        "b": rng.normal(size=2),
        "mu": np.array([0.3, 0.0]),
    }


def direct_velocity(data: dict[str, np.ndarray], r: np.ndarray) -> np.ndarray:
    """Contact velocity from the whole saddle point system, with numpy alone."""
    M, H, G = data["M"], data["H"], data["G"]
    p = G.shape[1]
    saddle = np.block([[M, -G], [G.T, np.zeros((p, p))]])
    v = np.linalg.solve(saddle, np.concatenate((H @ r + data["f"], -data["b"])))[: M.shape[0]]
    return np.asarray(H.T @ v + data["w"])


# -------------------------------------------------------------------- conventions


@pytest.mark.parametrize("layout", ["triplets", "columns", "rows"])
def test_a_block_that_falls_is_held_by_a_positive_impulse(tmp_path: Path, layout: str) -> None:
    mass, speed = 2.0, 0.0981
    H = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # dofs x, y, z; normal z
    f = [0.0, 0.0, -mass * speed]
    path = put(
        tmp_path / "fall.hdf5", "global", layout, M=mass * np.eye(3), H=H, f=f, w=np.zeros(3), mu=[0.5]
    )
    problem = read(path).problem
    np.testing.assert_allclose(problem.q, [[-speed, 0.0, 0.0]])
    np.testing.assert_array_equal(problem.H.toarray(), H.T)
    np.testing.assert_array_equal(problem.f, [0.0, 0.0, mass * speed])
    assert problem.residual([[mass * speed, 0.0, 0.0]]) < 1e-15
    np.testing.assert_allclose(problem.motion([[mass * speed, 0.0, 0.0]]), 0.0, atol=1e-16)


@pytest.mark.parametrize("layout", ["triplets", "columns", "rows"])
def test_the_three_layouts_hold_the_same_asymmetric_matrix(tmp_path: Path, layout: str) -> None:
    W = np.diag([2.0, 1.0, 1.0, 3.0]) + np.diag([0.5, 0.0, 0.25], k=1)
    path = put(tmp_path / "w.hdf5", "local", layout, d=2, W=W, q=np.arange(4.0), mu=[0.5, 1.0])
    with pytest.warns(UserWarning, match="W is not symmetric"):
        file = read(path)
    np.testing.assert_array_equal(file.problem.W.toarray(), W)
    assert file.notes == ("W is not symmetric: |W - Wᵀ| is 1.7e-01 of |W|",)
    symmetric = read(path, symmetrise=True)
    np.testing.assert_array_equal(symmetric.problem.W.toarray(), 0.5 * (W + W.T))
    assert symmetric.notes[0].endswith("it was replaced by ½(W + Wᵀ)")


def test_triplets_with_rows_and_columns_exchanged_are_recognised(
    tmp_path: Path, mixed: dict[str, np.ndarray]
) -> None:
    data = {name: mixed[name] for name in ("M", "H", "f", "w", "mu")}
    usual = read(put(tmp_path / "a.hdf5", "global", "triplets", **data)).problem
    exchanged = read(put(tmp_path / "b.hdf5", "global", "swapped", **data)).problem
    np.testing.assert_array_equal(usual.H.toarray(), exchanged.H.toarray())


def test_an_asymmetric_mass_is_refused_or_symmetrised(tmp_path: Path) -> None:
    M = np.array([[2.0, 0.5], [0.4, 2.0]])
    path = put(tmp_path / "m.hdf5", "global", d=2, M=M, H=np.eye(2), f=[0.0, 1.0], w=[0.0, 0.0], mu=[0.5])
    with pytest.raises(FormatError, match=r"M is not symmetric.*symmetrise=True"):
        read(path)
    np.testing.assert_array_equal(read(path, symmetrise=True).problem.M.toarray(), 0.5 * (M + M.T))


# -------------------------------------------------------------------- bilateral rows


def test_bilateral_rows_of_a_global_file_are_eliminated(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    file = read(put(tmp_path / "g.hdf5", "global", **mixed))
    assert file.kind == "global"
    assert file.problem.form == "reduced"
    assert file.notes == ("2 bilateral rows were eliminated: the problem is reduced to its contacts",)
    for r in np.vstack((np.zeros(6), np.eye(6))):
        np.testing.assert_allclose(file.problem.velocity(r).ravel(), direct_velocity(mixed, r), rtol=1e-12)


def test_bilateral_rows_of_a_local_file_are_eliminated(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    M, H, G = mixed["M"], mixed["H"], mixed["G"]
    AH, AG, Af = (np.linalg.solve(M, mixed[name]) for name in ("H", "G", "f"))
    local = {"W": H.T @ AH, "V": H.T @ AG, "R": G.T @ AG, "s": mixed["b"] + G.T @ Af}
    path = put(tmp_path / "l.hdf5", "local", **local, q=mixed["w"] + H.T @ Af, mu=mixed["mu"])
    file = read(path)
    assert file.notes == ("2 bilateral rows were eliminated: the problem is reduced to its contacts",)
    for r in np.vstack((np.zeros(6), np.eye(6))):
        np.testing.assert_allclose(file.problem.velocity(r).ravel(), direct_velocity(mixed, r), rtol=1e-11)


def test_joints_between_rigid_bodies(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    rigid = mixed | {"M": np.diag(np.arange(1.0, 10.0)), "H": mixed["H"] * (np.abs(mixed["H"]) > 0.7)}
    problem = read(put(tmp_path / "rigid.hdf5", "global", **rigid)).problem
    for r in np.vstack((np.zeros(6), np.eye(6))):
        np.testing.assert_allclose(problem.velocity(r).ravel(), direct_velocity(rigid, r), rtol=1e-11)
    with pytest.raises(FormatError, match="M is not symmetric"):
        read(put(tmp_path / "skew.hdf5", "global", **(rigid | {"M": rigid["M"] + np.eye(9, k=1)})))


def test_redundant_bilateral_rows_change_nothing(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    once = read(put(tmp_path / "once.hdf5", "global", **mixed)).problem
    twice = mixed | {"G": np.hstack((mixed["G"], mixed["G"])), "b": np.tile(mixed["b"], 2)}
    again = read(put(tmp_path / "twice.hdf5", "global", **twice)).problem
    np.testing.assert_allclose(again.W.toarray(), once.W.toarray(), atol=1e-12)
    np.testing.assert_allclose(again.q, once.q, atol=1e-12)


def test_contradictory_bilateral_rows_are_refused(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    wrong = mixed | {"G": np.hstack((mixed["G"], mixed["G"])), "b": np.array([1.0, 2.0, 1.0, 3.0])}
    with pytest.raises(FormatError, match="4 bilateral rows contradict each other"):
        read(put(tmp_path / "wrong.hdf5", "global", **wrong))


def test_empty_bilateral_rows_are_no_rows(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    empty = mixed | {"G": np.zeros((9, 0)), "b": np.zeros(0)}
    file = read(put(tmp_path / "empty.hdf5", "global", **empty))
    assert (file.problem.form, file.notes) == ("global", ())
    local = {
        "W": np.eye(3),
        "V": np.zeros((3, 0)),
        "R": np.zeros((0, 0)),
        "s": [],
        "q": np.ones(3),
        "mu": [0.1],
    }
    assert read(put(tmp_path / "empty-local.hdf5", "local", **local)).notes == ()


# -------------------------------------------------------------------- what the writer makes


def test_written_types_are_those_of_the_library(tmp_path: Path) -> None:
    problem = ContactProblem(M=np.eye(2), H=np.eye(2), f=[0.0, 1.0], mu=[0.5], d=2)
    path = tmp_path / "types.hdf5"
    write(
        path,
        problem,
        solution=[[1.0, 0.0]],
        guesses=[[[0.0, 0.0]], [[0.5, 0.0]]],
        title="Types",
        math_info="é",
    )
    with h5py.File(path) as file:
        for name in ("spacedim", "M/m", "M/n", "M/nz", "M/nzmax", "H/nz"):
            assert (file[f"fclib_global/{name}"].dtype, file[f"fclib_global/{name}"].shape) == (
                np.int32,
                (1,),
            )
        assert file["fclib_global/M/nz"][0] == file["fclib_global/H/nz"][0] == -1
        assert file["guesses/number_of_guesses"][0] == 2
        assert sorted(file["guesses"]) == ["1", "2", "number_of_guesses"]
        assert sorted(file["guesses/2"]) == sorted(file["solution"]) == ["r", "u", "v"]
        for name in ("f", "w", "mu"):
            assert file[f"fclib_global/vectors/{name}"].dtype == np.float64
        for name, text in (("title", b"Types"), ("description", b""), ("math_info", "é".encode())):
            kind = file[f"fclib_global/info/{name}"].id.get_type()
            assert isinstance(kind, h5py.h5t.TypeStringID)
            assert not kind.is_variable_str()
            assert (kind.get_strpad(), kind.get_size()) == (h5py.h5t.STR_NULLTERM, len(text) + 1)
            assert file[f"fclib_global/info/{name}"][()] == text
    assert read(path).info.math_info == "é"


def test_written_layout_is_that_of_a_published_file(tmp_path: Path, shared_data: Path) -> None:
    published = shared_data / "contact" / "local_problem_test.hdf5"
    file = read(published)
    write(tmp_path / "ours.hdf5", file.problem, file.solution, file.guesses, math_info="unknown")
    assert _layout(tmp_path / "ours.hdf5") == _layout(published)


def _layout(path: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        is_text = isinstance(item, h5py.Dataset) and item.dtype.kind == "S"
        found[name] = ("text",) if is_text else (getattr(item, "dtype", "group"), getattr(item, "shape", ()))

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def test_both_kinds_in_one_file(tmp_path: Path) -> None:
    path = put(tmp_path / "both.hdf5", "global", d=2, M=np.eye(2), H=np.eye(2), f=[0, 1], w=[0, 0], mu=[0.5])
    with h5py.File(path, "a") as file:
        group = file.create_group("fclib_local")
        group["spacedim"] = np.array([2], dtype=np.int32)
        put_matrix(group, "W", 2.0 * np.eye(2))
        group["vectors/q"], group["vectors/mu"] = np.ones(2), np.ones(1)
    assert read(path).kind == "global"
    assert read(path).notes == ("the file holds a local and a global problem: the global one was read",)
    assert read(path, kind="local").problem.q.tolist() == [[1.0, 1.0]]


# -------------------------------------------------------------------- stored answers


def test_a_placeholder_solution_is_kept_and_told(tmp_path: Path) -> None:
    problem = ContactProblem(W=np.eye(2), q=[[-1.0, 0.0]], mu=[0.5])
    write(tmp_path / "p.hdf5", problem, solution={"r": [[0.0, 0.0]], "u": [[5.0, 5.0]]})
    file = read(tmp_path / "p.hdf5")
    assert file.solution is not None
    assert file.solution.u is not None
    assert file.solution.u.tolist() == [[5.0, 5.0]]
    assert file.notes == ("the stored solution is r = 0: a placeholder unless every contact opens",)


def test_a_solution_without_r_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "s.hdf5", ContactProblem(W=np.eye(2), q=[[-1.0, 0.0]], mu=[0.5]))
    with h5py.File(tmp_path / "s.hdf5", "a") as file:
        file["solution/u"] = np.zeros(2)
    assert read(tmp_path / "s.hdf5").solution is None
    assert read(tmp_path / "s.hdf5").notes == ("the stored solution has no r: left out",)


# -------------------------------------------------------------------- errors


def _remove(name: str) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        del file[name]

    return edit


def _replace(name: str, value: Any) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file[name] = value

    return edit


LOCAL = "fclib_local"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_remove(LOCAL), "without 'fclib_local' or 'fclib_global'; found guesses, solution"),
        (_remove(f"{LOCAL}/W"), "fclib_local: no 'W'; found info, spacedim, vectors"),
        (_remove(f"{LOCAL}/W/p"), "fclib_local/W: no 'p'"),
        (_remove(f"{LOCAL}/vectors/q"), "fclib_local/vectors: no 'q'; found mu"),
        (_remove(f"{LOCAL}/spacedim"), "fclib_local: no 'spacedim'"),
        (_replace(f"{LOCAL}/spacedim", [5]), "spacedim is 5, expected 2 or 3"),
        (_replace(f"{LOCAL}/spacedim", [2, 3]), "'spacedim' has 2 values, expected one integer"),
        (_replace(f"{LOCAL}/spacedim", [2]), "3 does not make contacts of 2 components"),
        (_replace(f"{LOCAL}/W/nz", [-3]), "nz = -3; expected m, n ≥ 0 and nz ≥ -2"),
        (_replace(f"{LOCAL}/W/nz", [7]), "7 triplets announced, but p, i, x have 4, 9, 9 values"),
        (_replace(f"{LOCAL}/W/nz", [3]), "indices of triplets outside 3×3"),
        (_replace(f"{LOCAL}/W/p", [0, 2, 1, 3]), "'p' must hold 4 increasing pointers from 0"),
        (_replace(f"{LOCAL}/W/p", [0, 3, 6, 12]), "12 entries announced, but i, x have 9, 9 values"),
        (_replace(f"{LOCAL}/W/i", [0, 1, 3] * 3), "indices outside 0..2 in 'i'"),
        (_replace(f"{LOCAL}/W/x", [1.0, np.nan] + [1.0] * 7), "'x' must be finite, got nan at entry 1"),
        (_replace(f"{LOCAL}/W/x", b"text"), "'x' must be an array of numbers"),
        (_replace(f"{LOCAL}/W/n", [4]), "W: 3×4, expected a square matrix"),
        (_replace(f"{LOCAL}/vectors/q", [1.0, 2.0]), "'q' has 2 values, expected 3"),
        (_replace(f"{LOCAL}/vectors/q", [1.0, np.inf, 0.0]), "'q' must be finite, got inf at entry 1"),
        (_replace(f"{LOCAL}/vectors/mu", [-0.5]), "contact 0: mu must be at least 0, got -0.5"),
        (_replace(f"{LOCAL}/V", 1.0), "'V' must be a group"),
        (_replace("solution/r", [1.0]), "/solution: 'r' has 1 values, expected 3"),
        (_remove("guesses/1"), "guess '1' is announced but has no 'r'"),
    ],
)
def test_a_damaged_file_is_refused_by_name(
    tmp_path: Path, edit: Callable[[h5py.File], None], message: str
) -> None:
    path = tmp_path / "damaged.hdf5"
    problem = ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5])
    write(path, problem, solution=[[1.0, 0.0, 0.0]], guesses=[[[0.0, 0.0, 0.0]]])
    with h5py.File(path, "a") as file:
        edit(file)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_wrong_sizes_of_a_global_file_are_named(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    cases = {"H": (mixed["H"][:8], "H: 8 rows, expected 9"), "G": (mixed["G"][:8], "G: 8 rows, expected 9")}
    cases["M"] = (mixed["M"][:, :8], "M: 9×8, expected a square matrix")
    for name, (value, message) in cases.items():
        path = put(tmp_path / f"{name}.hdf5", "global", **(mixed | {name: value}))
        with pytest.raises(FormatError, match=message):
            read(path)
    local = {"W": np.eye(3), "V": np.ones((2, 1)), "R": np.eye(1), "s": [0.0], "q": np.ones(3), "mu": [0.1]}
    with pytest.raises(FormatError, match="V is 2×1 and R 1×1, expected 3×p and p×p"):
        read(put(tmp_path / "V.hdf5", "local", **local))


def test_a_truncated_hdf5_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "whole.hdf5", ContactProblem(W=np.eye(3), q=np.ones(3), mu=[0.5]))
    (tmp_path / "cut.hdf5").write_bytes((tmp_path / "whole.hdf5").read_bytes()[:3000])
    with pytest.raises(FormatError, match=r"cut\.hdf5: not a sound HDF5 file"):
        read(tmp_path / "cut.hdf5")


def test_asking_for_the_other_kind_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "local.hdf5", ContactProblem(W=np.eye(3), q=np.ones(3), mu=[0.5]))
    with pytest.raises(FormatError, match="no global problem; it holds local"):
        read(tmp_path / "local.hdf5", kind="global")


def test_the_reduced_form_of_both_files_agrees(tmp_path: Path, mixed: dict[str, np.ndarray]) -> None:
    data = {name: mixed[name] for name in ("M", "H", "f", "w", "mu")}
    problem = read(put(tmp_path / "g.hdf5", "global", **data)).problem
    H, inverse = mixed["H"], np.linalg.inv(mixed["M"])
    reduced = reduce(problem)
    np.testing.assert_allclose(reduced.W.toarray(), H.T @ inverse @ H, rtol=1e-12)
    np.testing.assert_allclose(reduced.q.ravel(), mixed["w"] + H.T @ inverse @ mixed["f"], rtol=1e-12)


def test_an_asymmetric_matrix_is_warned_of_once_at_the_line_that_reads_the_file(tmp_path: Path) -> None:
    block = np.array([[2.0, 1e-3], [0.0, 1.0]])
    W = np.kron(np.eye(5), block)  # five components
    path = put(tmp_path / "w.hdf5", "local", "rows", d=2, W=W, q=-np.ones(10), mu=np.full(5, 0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solve(read(path).problem, Auto(tol=1e-12))
    (warning,) = caught
    assert "W is not symmetric" in str(warning.message)
    assert warning.filename == __file__
