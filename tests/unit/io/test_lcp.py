"""LCPs in files: every format gives back what it was given."""

from __future__ import annotations

import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from clapas.errors import FormatError
from clapas.io.lcp import read_lcp, write_lcp
from clapas.problems.lcp import LCP

FORMATS = {".hdf5": "hdf5", ".h5": "hdf5", ".npz": "npz", ".mtx": "matrix-market", ".dat": "text"}


def example(is_sparse: bool) -> LCP:
    rng = np.random.default_rng(3)
    M = rng.normal(size=(5, 5)) * (rng.random((5, 5)) < 0.5)
    return LCP(sparse.csr_array(M) if is_sparse else M, rng.normal(size=5) / 3)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("is_sparse", [True, False], ids=["sparse", "dense"])
def test_round_trip(tmp_path: Path, ending: str, is_sparse: bool) -> None:
    problem, path = example(is_sparse), tmp_path / f"five{ending}"
    z = np.arange(5.0)
    write_lcp(path, problem, z)
    file = read_lcp(path)
    assert (file.format, file.problem.name) == (FORMATS[ending], "five")
    np.testing.assert_array_equal(file.problem.dense, problem.dense)
    np.testing.assert_array_equal(file.problem.q, problem.q)
    assert file.problem.is_sparse == (is_sparse and ending != ".dat")
    if file.format in ("hdf5", "npz"):
        assert file.z is not None
        np.testing.assert_array_equal(file.z, z)
    again = tmp_path / f"again{ending}"
    write_lcp(again, problem, z)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_no_unknowns(tmp_path: Path, ending: str) -> None:
    write_lcp(tmp_path / f"none{ending}", LCP(np.zeros((0, 0)), []))
    assert read_lcp(tmp_path / f"none{ending}").problem.size == 0


def test_the_format_is_told_by_the_content(tmp_path: Path) -> None:
    write_lcp(tmp_path / "a.hdf5", example(False))
    (tmp_path / "a.hdf5").rename(tmp_path / "a.dat")
    assert read_lcp(tmp_path / "a.dat").format == "hdf5"


def test_a_text_by_columns_with_a_comment(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("2 0 2 2 2 2  1 2  3 4  -1 -2\n\nfrom a book")
    file = read_lcp(tmp_path / "a.dat")
    assert file.problem.dense.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert file.comment == "from a book"


def test_published_texts(shared_data: Path) -> None:
    """The same problem stored full and in blocks."""
    full, blocks = (read_lcp(shared_data / "lcp" / f"lcp_trivial{end}.dat") for end in ("", "_block"))
    assert blocks.problem.is_sparse
    np.testing.assert_array_equal(full.problem.dense, blocks.problem.dense)
    assert "Bimatrix game" in read_lcp(shared_data / "lcp" / "lcp_CPS_3.dat").comment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("2 0 3 3 3 3 1 0 0 0 1 0 0 0 1 1 1", "M is 3×3, but 2 unknowns need 2×2"),
        ("1 0 1 1 1 1 2.0", "expected q"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "a matrix of 2×2; an LCP is"),
        ("%%MatrixMarket matrix array real general\nthree\n", "line 2: not a number: 'three'"),
        ("%%MatrixMarket matrix array real general\n1 2\n1.0\n2.0e", "line 4: not a number: '2.0e'"),
        ("%%MatrixMarket matrix array real general\n1 2\n1.0\n1_0", "line 4: not a number: '1_0'"),
    ],
)
def test_damaged_texts(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.dat").write_text(text)
    with pytest.raises(FormatError, match=words):
        read_lcp(tmp_path / "bad.dat")


def test_other_hdf5_files(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["W"] = np.eye(2)
    with pytest.raises(FormatError, match="no 'M' in it"):
        read_lcp(tmp_path / "other.hdf5")


def test_unknown_endings(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"must end in \.hdf5"):
        write_lcp(tmp_path / "a.xls", example(False))


def test_a_zero_byte_in_a_matrix_market_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zero.mtx"
    path.write_bytes(b"%%MatrixMarket matrix array real general\n1 2\n2.\x000\n-1.0\n")
    with pytest.raises(FormatError, match="not a number"):
        read_lcp(path)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", np.array([0, 7]), "'indices' of M must be from 0 to 1"),
        ("indptr", np.array([0, 2, 1]), "'indptr' of M must hold 3 increasing pointers"),
        ("data", np.ones(5), "M announces 2 entries"),
    ],
)
def test_a_sparse_matrix_that_does_not_fit_together_is_refused(
    tmp_path: Path, part: str, value: np.ndarray, message: str
) -> None:
    path = tmp_path / "sparse.hdf5"
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])} | {part: value}
    with h5py.File(path, "w") as file:
        file["q"] = np.ones(2)
        group = file.create_group("M")
        group.attrs["shape"] = (2, 2)
        for name, values in parts.items():
            group[name] = values
    with pytest.raises(FormatError, match=message):
        read_lcp(path)


def test_a_damaged_header_of_an_array_is_refused(tmp_path: Path) -> None:
    path, header = tmp_path / "bad.npz", b"{'descr': ('<f8', "
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(FormatError, match="damaged"):
        read_lcp(path)
