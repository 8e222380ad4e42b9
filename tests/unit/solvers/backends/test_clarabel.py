"""Clarabel as a convex method."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from clapas.errors import MissingDependency, SettingsError
from clapas.problems import gallery
from clapas.solvers.backends import clarabel as backend
from clapas.solvers.backends.clarabel import Clarabel
from clapas.solvers.convex import ConvexProblem

pytest.importorskip("clarabel")


@pytest.mark.parametrize("name", ["box-stack-10", "tower-10", "mass-ratio-1e6", "pyramid-8"])
def test_hyperstatic_problems_to_high_accuracy(name: str) -> None:
    problem = gallery.get(name).problem
    frozen = ConvexProblem.conic(problem, np.linalg.norm(problem.q[:, 1:], axis=1))
    found = Clarabel().start(problem).solve(frozen, np.zeros(problem.q.shape), 1e-9)
    assert found.residual <= 1e-9
    assert frozen.admissible.contains(found.r, tol=1e-12).all()


def test_a_good_guess_is_returned() -> None:
    problem = gallery.get("alea-42-5").problem
    frozen = ConvexProblem.conic(problem, np.full(5, 0.1))
    method = Clarabel().start(problem)
    found = method.solve(frozen, np.zeros((5, 3)), 1e-9)
    again = method.solve(frozen, found.r, 1e-8)
    assert again.iterations == 0
    np.testing.assert_allclose(again.r, found.r, rtol=1e-13)


def test_the_answer_is_never_worse_than_the_guess() -> None:
    problem = gallery.get("alea-42-5").problem
    frozen = ConvexProblem.conic(problem, np.full(5, 0.1))
    good = Clarabel().start(problem).solve(frozen, np.zeros((5, 3)), 1e-12)
    short = Clarabel(max_iterations=1, polish=None).start(problem)
    assert short.solve(frozen, good.r, 1e-15).residual <= good.residual * (1 + 1e-3)


def test_unbounded_problems_return() -> None:
    problem = gallery.get("painleve-up-two").problem
    found = Clarabel().start(problem).solve(ConvexProblem.conic(problem, np.zeros(1)), np.zeros((1, 2)), 1e-8)
    assert np.isfinite(found.r).all()
    assert found.residual > 1e-3


def test_huge_friction() -> None:
    problem = gallery.get("one-huge-friction").problem
    found = Clarabel().start(problem).solve(ConvexProblem.conic(problem, np.zeros(1)), np.zeros((1, 3)), 1e-9)
    assert found.residual <= 1e-9


def test_no_contact() -> None:
    problem = gallery.get("no-contact").problem
    frozen = ConvexProblem.conic(problem, np.zeros(0))
    assert Clarabel().start(problem).solve(frozen, np.zeros((0, 3)), 1e-8).residual == 0.0


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(backend, "import_module", missing)
    with pytest.raises(MissingDependency, match="needs the package 'clarabel'"):
        Clarabel().start(gallery.get("one-slide").problem)
    assert importlib.import_module("clarabel")


def test_engines_without_the_fast_factorisation_keep_their_own() -> None:
    class Options:
        def __init__(self) -> None:
            self._method = "qdldl"

        @property
        def direct_solve_method(self) -> str:
            return self._method

        @direct_solve_method.setter
        def direct_solve_method(self, value: str) -> None:
            raise ValueError(value)

    class Engine:
        DefaultSettings = Options

    assert backend._fastest_factorisation(Engine) == "qdldl"
    assert backend._fastest_factorisation(backend._module()) in ("faer", "auto", "qdldl")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "forces"}, "form must be 'impulses', 'velocities', 'norm' or 'linear', got 'forces'"),
        ({"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Clarabel(**settings)
