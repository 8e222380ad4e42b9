"""Problem to file to problem to file: every bit comes back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from clapas.io import Info, ProblemFile, read, write
from clapas.problems import ContactProblem

# Any finite number, zeros of both signs and the smallest ones included; the largest would overflow.
NUMBERS = st.floats(-1e150, 1e150, allow_nan=False)


@st.composite
def problems(draw: st.DrawFn) -> ContactProblem:
    d, n = draw(st.sampled_from([2, 3])), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    mu = draw(arrays(float, n, elements=st.sampled_from([0.0, 0.3, 1.0, 1e8])))
    per_contact = draw(arrays(float, (n, d), elements=NUMBERS))
    if draw(st.booleans()):
        root = rng.normal(size=(n * d, n * d)) * (rng.random((n * d, n * d)) < 0.5)
        W = root @ root.T + np.eye(n * d)
        return ContactProblem(W=sparse.csr_array(0.5 * (W + W.T)), q=per_contact, mu=mu, d=d)
    m = draw(st.integers(1, 7))
    root = np.kron(np.eye(m), rng.normal(size=(2, 2))) + np.eye(2 * m)
    H = rng.normal(size=(n * d, 2 * m)) * (rng.random((n * d, 2 * m)) < 0.5)
    H[::d, 0] = 1.0  # every contact moves something
    f = draw(arrays(float, 2 * m, elements=NUMBERS))
    return ContactProblem(M=root @ root.T, H=H, f=f, w=per_contact, mu=mu, d=d)


@settings(deadline=None, derandomize=True, max_examples=120)
@given(problem=problems(), data=st.data())
def test_problem_file_problem_file(problem: ContactProblem, data: st.DataObject) -> None:
    answers = st.builds(
        lambda r, u, v: {"r": r, "u": u, "v": v},
        *(arrays(float, (*problem.mu.shape, problem.d), elements=NUMBERS) for _ in range(2)),
        arrays(float, getattr(problem, "n_dof", 0), elements=NUMBERS),
    )
    solution, guesses = data.draw(st.none() | answers), data.draw(st.lists(answers, max_size=2))
    words = {"title": "A title", "description": "two\nlines", "math_info": "µ ≥ 0"}
    attributes = {"numberOfDegreeOfFreedom": 12, "cond": 1.5}
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.hdf5", Path(folder) / "second.hdf5"
        write(first, problem, solution, guesses, **words, attributes=attributes)
        file = read(first)
        same_problem(file.problem, problem)
        assert file.info == Info(**words, attributes=attributes)
        assert len(file.guesses) == len(guesses)
        write_again(second, file)
        assert first.read_bytes() == second.read_bytes()


def same_problem(a: ContactProblem, b: ContactProblem) -> None:
    assert (a.form, a.d, a.n_contacts) == (b.form, b.d, b.n_contacts)
    same_bits(a.mu, b.mu)
    if a.form == "reduced":
        same_bits(a.q, b.q)
        same_sparse(a.W, b.W)
        return
    same_bits(a.f, b.f)
    same_bits(a.w, b.w)
    same_sparse(a.M, b.M)
    same_sparse(a.H, b.H)


def same_sparse(a: sparse.csr_array, b: sparse.csr_array) -> None:
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    same_bits(a.data, b.data)


def same_bits(a: np.ndarray, b: np.ndarray) -> None:
    assert a.shape == b.shape
    assert a.astype(np.float64).tobytes() == b.astype(np.float64).tobytes()


def write_again(path: Path, file: ProblemFile) -> None:
    info = file.info
    write(
        path,
        file.problem,
        file.solution,
        file.guesses,
        title=info.title,
        description=info.description,
        math_info=info.math_info,
        attributes=info.attributes,
    )


@pytest.mark.filterwarnings("ignore:W is not symmetric")
def test_every_number_of_the_published_files_is_kept(tmp_path: Path, shared_data: Path) -> None:
    paths = sorted((shared_data / "contact").glob("*.hdf5"))
    assert paths
    for path in paths:
        write_again(tmp_path / path.name, read(path))
        with h5py.File(path) as theirs, h5py.File(tmp_path / path.name) as ours:
            compare_groups(theirs, ours)


def compare_groups(theirs: h5py.Group, ours: h5py.Group) -> None:
    if "nzmax" in theirs:
        A, B = whole_matrix(theirs), whole_matrix(ours)
        assert A.shape == B.shape
        assert (A != B).nnz == 0, theirs.name
        return
    for name, item in theirs.items():
        if isinstance(item, h5py.Group):
            compare_groups(item, ours[name])
        elif item.dtype.kind in "if":
            assert item[()].tobytes() == ours[name][()].tobytes(), item.name
        else:
            assert np.bytes_(item[()]) == np.bytes_(ours[name][()]), item.name


def whole_matrix(group: h5py.Group) -> sparse.csr_array:
    m, n, nz = (int(group[key][0]) for key in ("m", "n", "nz"))
    p, i, x = (group[key][()] for key in ("p", "i", "x"))
    if nz >= 0:
        return sparse.coo_array((x, (i, p)), shape=(m, n)).tocsr()
    layout = sparse.csc_array if nz == -1 else sparse.csr_array
    return layout((x, i, p), shape=(m, n)).tocsr()
