"""Text files: every storage of a matrix, local and global, and what is said of damaged ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import FormatError
from clapas.io import read, read_problem
from clapas.io.siconos import read_matrix
from clapas.io.tokens import Tokens
from clapas.problems import ContactProblem

STORAGES = ["dense", "blocks", "triplets", "columns", "rows"]
PRINTER = Callable[..., str]


def column(n: int = 2, d: int = 2) -> ContactProblem:
    """A global problem with more degrees of freedom than contacts, nothing symmetric about H."""
    rng = np.random.default_rng(n + 10 * d)
    H = rng.normal(size=(n * d, 6)) * (rng.random((n * d, 6)) < 0.6)
    H[::d, 0] = 1.0
    f, w, mu = rng.normal(size=6), rng.normal(size=(n, d)), rng.random(n)
    return ContactProblem(M=np.diag([1.0, 1.0, 0.5, 2.0, 2.0, 0.25]), H=H, f=f, w=w, mu=mu, d=d)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.integers(0, 5), st.integers(0, 5), st.sampled_from(STORAGES), st.integers(0, 999), st.integers(1, 3)
)
def test_a_matrix_comes_back_from_every_storage(
    print_matrix: PRINTER, m: int, n: int, storage: str, seed: int, block: int
) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.5)
    words = Tokens(print_matrix(A, storage, (block, 2)) + " rest", Path("text.dat"))
    np.testing.assert_array_equal(read_matrix(words, "A").toarray(), A)
    assert words.word("what follows") == "rest"


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("d", [2, 3])
def test_local_problems(tmp_path: Path, print_problem: PRINTER, storage: str, d: int) -> None:
    W = np.eye(2 * d) + 0.1
    q = np.arange(2.0 * d).reshape(2, d)
    problem = ContactProblem(W=W, q=q, mu=[0.0, 1e6])
    (tmp_path / "local.dat").write_text(print_problem(problem, storage))
    file = read(tmp_path / "local.dat")
    assert (file.format, file.kind, file.solution, file.guesses) == ("siconos", "local", None, ())
    np.testing.assert_array_equal(file.problem.W.toarray(), W)
    np.testing.assert_array_equal(file.problem.q, q)
    np.testing.assert_array_equal(file.problem.mu, [0.0, 1e6])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("n", "d"), [(2, 2), (2, 3), (3, 2), (0, 3)])
def test_global_problems(tmp_path: Path, print_problem: PRINTER, storage: str, n: int, d: int) -> None:
    problem = column(n, d)  # 3 contacts in 2-D and 2 in 3-D: M and W have the same size
    (tmp_path / "any-name.dat").write_text(print_problem(problem, storage, storage))
    file = read(tmp_path / "any-name.dat")
    assert file.kind == "global"
    np.testing.assert_array_equal(file.problem.M.toarray(), problem.M.toarray())
    np.testing.assert_array_equal(file.problem.H.toarray(), problem.H.toarray())
    for name in ("f", "w", "mu"):
        np.testing.assert_array_equal(getattr(file.problem, name), getattr(problem, name))


def test_no_contact_at_all(tmp_path: Path) -> None:
    (tmp_path / "none.dat").write_text("2\n0\n0\n0\n0\n0\t0\n\n\n")
    file = read(tmp_path / "none.dat")
    assert (file.kind, file.problem.n_contacts, file.problem.d) == ("local", 0, 2)


def test_a_block_that_falls_is_held_by_a_positive_impulse(tmp_path: Path) -> None:
    # Degrees of freedom x, y; normal y. The momentum 2 kg · (−0.0981 m/s) is q of M v = q + H r.
    text = "2 1   0 2 2  2 2  2 0  0 2   0 2 2  2 2  0 1  1 0   0 -0.1962   0 0   0.5"
    (tmp_path / "fall.dat").write_text(text)
    problem = read_problem(tmp_path / "fall.dat")
    np.testing.assert_allclose(problem.q, [[-0.0981, 0.0]])
    assert problem.residual([[0.1962, 0.0]]) < 1e-15


def test_dense_values_are_by_columns(tmp_path: Path) -> None:
    (tmp_path / "w.dat").write_text("2 1  0 2 2  2 2  4 1 2 3  0 0  0.5")
    with pytest.warns(UserWarning, match="W is not symmetric"):
        problem = read_problem(tmp_path / "w.dat")
    assert problem.W.toarray().tolist() == [[4.0, 2.0], [1.0, 3.0]]
    assert read_problem(tmp_path / "w.dat", symmetrise=True).W.toarray().tolist() == [[4.0, 1.5], [1.5, 3.0]]


@pytest.mark.parametrize("flag", ["", "0", "1\n"])
def test_the_flag_of_old_files_is_left_out(tmp_path: Path, flag: str) -> None:
    (tmp_path / "flag.dat").write_text(f"2 1  0 2 2  2 2  4 1 1 3  0 0  0.5\n{flag}")
    assert read(tmp_path / "flag.dat").problem.mu.tolist() == [0.5]


def test_trailing_empty_block_rows_may_have_no_pointer() -> None:
    words = Tokens("1 4 2  1  2 1  2 4  2  2 1  0 1  0  0 1 2 3 4", Path("text.dat"))
    A = read_matrix(words, "A").toarray()
    assert A.tolist() == [[1.0, 3.0], [2.0, 4.0], [0.0, 0.0], [0.0, 0.0]]


def test_the_sparse_layout_word_may_be_missing() -> None:
    text = "2 2 2  CSparse Version 3  triplet: 2-by-2, nzmax: 4 nnz: 1  1 0 : 2.5"
    assert read_matrix(Tokens(text, Path("text.dat")), "A").toarray().tolist() == [[0.0, 0.0], [2.5, 0.0]]


def test_kind_may_be_imposed(tmp_path: Path, print_problem: PRINTER) -> None:
    (tmp_path / "whole.dat").write_text(print_problem(column(3, 2), "dense", "dense"))
    assert read(tmp_path / "whole.dat", kind="global").kind == "global"
    with pytest.raises(FormatError, match=r"expected the end of the file after mu"):
        read(tmp_path / "whole.dat", kind="local")


# -------------------------------------------------------------------- errors

GOOD = "2\n1\n0\n2\n2\n2 2\n4 1\n1 3\n-1 0\n0.5\n"
BLOCK = "2 1  1 2 2  1  1 1  2  2  2 1  0 1  0  0  4 1 1 3  -1 0  0.5"
PRINT = "2 1  2 2 2  2 CSparse  2-by-2, nzmax: 2 nnz: 2, 1-norm: 4  col 0 : locations 0 to 0  0 : 4  "
PRINT += "col 1 : locations 1 to 1  1 : 3  -1 0  0.5"


def test_the_good_files_below_are_good(tmp_path: Path) -> None:
    for text in (GOOD, BLOCK, PRINT):
        (tmp_path / "good.dat").write_text(text)
        assert read_problem(tmp_path / "good.dat").q.tolist() == [[-1.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (
            "hello",
            "line 1 (word 1): expected the dimension, 2 or 3, or 5 with rolling (a contact problem)",
        ),
        (GOOD.replace("2\n1\n", "4\n1\n", 1), "expected the dimension, 2 or 3"),
        (GOOD.replace("2\n1\n", "5\n1\n", 1), "W is 2×2, but 1 contacts need 5×5"),
        (
            GOOD.replace("2\n1\n0", "2\n-1\n0", 1),
            "line 2 (word 2): expected the number of contacts (an integer ≥ 0)",
        ),
        (GOOD.replace("2\n1\n0", "2\n2\n0", 1), "W is 2×2, but 2 contacts in 2-D need 4×4"),
        (
            GOOD.replace("1\n0\n2", "1\n7\n2", 1),
            "line 3 (word 3): expected the storage kind of the first matrix",
        ),
        (
            GOOD.replace("2 2\n", "2 3\n"),
            "line 6 (word 7): expected the columns of the first matrix once more, 2",
        ),
        (
            GOOD.replace("1 3", "1 nan"),
            "line 8 (word 11): expected a finite number in values of the first matrix",
        ),
        (GOOD.replace("-1 0", "-1 1e999"), "line 9 (word 13): expected a finite number in q, got '1e999'"),
        (GOOD.replace("-1 0", "-1 O"), "line 9 (word 13): expected a finite number in q, got 'O'"),
        (GOOD[:-5], "the file ends after 13 words; expected mu (1, found 0)"),
        (GOOD[:20], "expected values of the first matrix (2×2) (4, found 3)"),
        (
            GOOD + "7\n",
            "line 11 (word 15): expected the end of the file after mu, or a last 0 or 1, got '7'",
        ),
        (GOOD + "0 0\n", "line 11 (word 15): expected the end of the file after mu"),
        (GOOD.replace("0.5", "-0.5"), "contact 0: mu must be at least 0"),
        (GOOD.replace("4 1", "-4 1"), "W must be positive semidefinite"),
        (
            BLOCK.replace("2  2  2 1  0", "3  2  2 1  0"),
            "cumulative sizes of the block rows of the first matrix",
        ),
        (BLOCK.replace("2 1  0 1", "3 1  0 1"), "at most 2 row pointers and 1 places"),
        (BLOCK.replace("2 1  0 1", "2 1  0 2"), "row pointers of the first matrix that increase from 0 to 1"),
        (BLOCK.replace("0 1  0  0", "0 1  6  0"), "block columns of the first matrix below 1, got '6'"),
        (
            BLOCK.replace("0 1  0  0", "0 1  0  3"),
            "expected the number of block 0 of the first matrix, got '3'",
        ),
        (
            PRINT.replace("2-by-2", "2-by-3"),
            "a print of CSparse with the first matrix, '2-by-2,', got '2-by-3,'",
        ),
        (PRINT.replace("nnz: 2", "nnz: 3"), "expected 3 entries of the first matrix, as announced"),
        (PRINT.replace("col 1", "col 2"), "expected '1', got '2'"),
        (
            PRINT.replace("0 to 0", "0 to 5"),
            "expected the last location of column 0 of the first matrix, -1 to 1",
        ),
        (PRINT.replace("1 : 3", "1.5 : 3"), "expected an integer ≥ 0 in entries of column 1"),
        (PRINT.replace("1 : 3", "1 ; 3"), "expected ':' in entries of column 1 of the first matrix, got ';'"),
        (PRINT.replace("1 : 3", "4 : 3"), "entries of the first matrix outside its 2×2"),
    ],
)
def test_a_damaged_file_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "damaged.dat"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_damaged_global_file(tmp_path: Path, print_problem: PRINTER) -> None:
    text = print_problem(column(2, 2), "dense", "dense")
    (tmp_path / "GFC2D-cut.dat").write_text(text[:-20])
    with pytest.raises(FormatError, match=r"the file ends after \d+ words; expected mu \(2, found \d\)"):
        read(tmp_path / "GFC2D-cut.dat")
    (tmp_path / "GFC2D-H.dat").write_text(text.replace("\n0\n6\n4\n6\t4\n", "\n0\n4\n6\n4\t6\n"))
    with pytest.raises(FormatError, match="H is 4×6, but 2 contacts in 2-D and M of size 6 need 6×4"):
        read(tmp_path / "GFC2D-H.dat")
    (tmp_path / "gfc-M.dat").write_text("2 1  0 1 2  1 2  1 0")
    with pytest.raises(FormatError, match="M is 1×2, expected a square matrix"):
        read(tmp_path / "gfc-M.dat")
    (tmp_path / "indefinite.dat").write_text("2 1  0 1 1  1 1  -1  0 1 2  1 2  1 1  0  0 0  0.5")
    with pytest.raises(FormatError, match=r"indefinite.dat: M must be symmetric positive semidefinite"):
        read(tmp_path / "indefinite.dat")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image.dat").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"neither HDF5 nor text \(byte 0 is not a character\)"):
        read(tmp_path / "image.dat")
