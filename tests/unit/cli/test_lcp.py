"""``clapas lcp``."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from clapas.io.lcp import read_lcp, write_lcp
from clapas.problems.lcp import LCP
from clapas.problems.mixed_lcp import MixedLCP
from clapas.solvers.lcp import registry

from .conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_lcp(tmp_path / "two.npz", LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    return tmp_path / "two.npz"


def test_report(run: Run, file: Path) -> None:
    outcome = run("lcp", file, "--traits")
    assert outcome.code == 0
    for words in ("LCP('two', 2 unknowns, dense)", "SOLVED: residual", "z   1.33333  2.33333", "is_p_matrix"):
        assert words in outcome.out


@pytest.mark.parametrize("solver", registry.names())
def test_every_solver_in_json(run: Run, file: Path, solver: str) -> None:
    document = run("lcp", file, "--solver", solver, "--json", "--tol", "1e-6").document
    assert document["solved"]
    np.testing.assert_allclose(document["z"], [4 / 3, 7 / 3], rtol=1e-4)
    assert document["tol"] == 1e-6


def test_no_solution(run: Run, tmp_path: Path) -> None:
    write_lcp(tmp_path / "none.hdf5", LCP([[0.0]], [-1.0]))
    outcome = run("lcp", tmp_path / "none.hdf5")
    assert outcome.code == 1
    assert outcome.out.count("roved: no z ≥ 0") == 1  # as far as the note says, and no further
    assert "  proved: no z ≥ 0 has M z + q ≥ 0\n" in outcome.out
    assert run("lcp", tmp_path / "none.hdf5", "--json").document["infeasibility"] == [1.0]


def test_settings_and_output(run: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.hdf5"
    outcome = run("lcp", file, "--solver", "latin", "--set", "k=0.5", "--out", out, "--quiet")
    assert (outcome.code, outcome.out) == (0, "")
    stored = read_lcp(out)
    assert stored.z is not None
    assert stored.problem.residual(stored.z) < 1e-8


def test_not_solved(run: Run, file: Path) -> None:
    outcome = run("lcp", file, "--solver", "gauss-seidel", "--max-iterations", "1")
    assert outcome.code == 1
    assert "MAX_ITERATIONS" in outcome.out
    assert "M is positive semidefinite: Lemke() and InteriorPoint() solve such problems." in outcome.out


def test_slips(run: Run, file: Path) -> None:
    assert "did you mean 'lemke'" in run("lcp", file, "--solver", "lemk").err
    assert "there is no file" in run("lcp", "nowhere.npz").err
    assert run("lcp", "nowhere.npz").code == 2


def test_list(run: Run, file: Path) -> None:
    for arguments in ((file, "--solver", "list"), ("--solver", "list")):
        text = run("lcp", *arguments).out
        assert all(name in text for name in registry.names())
    nameless = run("lcp", "--solver", "lemke")
    assert (nameless.code, nameless.out) == (2, "")
    assert "which problem? Name a file with an LCP" in nameless.err


@pytest.mark.parametrize("solver", ["lemke", "interior-point", "gauss-seidel"])
def test_a_mixed_problem(run: Run, tmp_path: Path, solver: str) -> None:
    """z₀ + z₁ = 2 beside 0 ≤ z₁ − z₀ ⟂ z₁ ≥ 0."""
    file = tmp_path / "mixed.npz"
    np.savez(file, M=[[1.0, 1.0], [-1.0, 1.0]], q=[-2.0, 0.0], is_equation=[True, False])
    outcome = run("lcp", file, "--solver", solver)
    assert outcome.code == 0
    assert "MixedLCP(2 unknowns, 1 of them with equations): residual" in outcome.out
    np.testing.assert_allclose(run("lcp", file, "--json").document["z"], [1.0, 1.0])


def test_a_mixed_problem_whose_equations_determine_nothing(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "free.npz", M=[[0.0, 1.0], [-1.0, 1.0]], q=[-1.0, 0.0], is_equation=[True, False])
    np.testing.assert_allclose(run("lcp", tmp_path / "free.npz", "--json").document["z"], [1.0, 1.0])


def test_a_mixed_problem_is_measured_itself(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An elimination gone wrong leaves an LCP that can be solved; the command says that its file is not."""
    file = tmp_path / "mixed.npz"
    np.savez(file, M=[[1.0, 1.0], [-1.0, 1.0]], q=[-2.0, 0.0], is_equation=[True, False])
    monkeypatch.setattr(MixedLCP, "expand", lambda problem, z: np.array([5.0, *z]))
    outcome = run("lcp", file)
    assert outcome.code == 1
    assert "the LCP that stands for MixedLCP(2 unknowns, 1 of them with equations) is solved" in outcome.out
    document = run("lcp", file, "--json").document
    assert not document["solved"]
    assert document["whole_residual"] > 1.0


def test_a_mixed_problem_of_smaller_scale_than_its_lcp_is_refined(run: Run, tmp_path: Path) -> None:
    """Eliminating z₀ = −1e6 makes of q = 1 one of 1e6: to 1e-6 of that is not to 1e-6 of |q|."""
    file = tmp_path / "mixed.npz"
    M = [[1e-6, 0.0, 0.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    np.savez(file, M=M, q=[1.0, 0.0, 0.0], is_equation=[True, False, False])
    document = run("lcp", file, "--solver", "gauss-seidel", "--tol", "1e-6", "--json").document
    assert document["solved"]
    assert document["whole_residual"] <= 1e-6
    np.testing.assert_allclose(document["z"], [-1e6, 1e6 / 3, 1e6 / 3])


@pytest.mark.parametrize(("kind", "z"), [("primal", [-1.0, -0.5]), ("dual", [-2.0, 0.0])])
def test_relays(run: Run, tmp_path: Path, kind: str, z: list[float]) -> None:
    with h5py.File(tmp_path / "relay.hdf5", "w") as file:
        file["M"], file["q"], file["kind"] = np.eye(2), [3.0, 0.5], kind
        file["lower"], file["upper"] = [-1.0, -1.0], [1.0, 1.0]
    outcome = run("lcp", tmp_path / "relay.hdf5")
    assert f"Relay(2 unknowns, {kind}): residual" in outcome.out
    np.testing.assert_allclose(run("lcp", tmp_path / "relay.hdf5", "--json").document["z"], z)
