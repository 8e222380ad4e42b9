"""SCS as a cross-check; the package is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.errors import MissingDependency, SettingsError
from clapas.problems import gallery
from clapas.solvers.backends import scs as backend
from clapas.solvers.backends.scs import SCS
from clapas.solvers.convex import AcceleratedGradient, ConvexProblem
from tests.random_problems import random_global


@pytest.mark.parametrize("form", ["impulses", "velocities", "norm"])
@pytest.mark.parametrize("d", [2, 3])
def test_two_engines_agree(form: Any, d: int) -> None:
    pytest.importorskip("scs")
    problem = random_global(1, n=6, d=d)
    frozen = ConvexProblem.conic(problem, np.full(6, 0.3))
    mine = AcceleratedGradient(max_iterations=20_000).start(problem).solve(frozen, np.zeros((6, d)), 1e-11)
    theirs = SCS(form=form).start(problem).solve(frozen, np.zeros((6, d)), 1e-8)
    assert theirs.residual <= 1e-6
    np.testing.assert_allclose(theirs.u, mine.u, atol=1e-5 * frozen.scale)


def test_thresholds() -> None:
    pytest.importorskip("scs")
    problem = random_global(1, n=6)
    frozen = ConvexProblem.tresca(problem, np.array([0.0, 1, 1, 0, 1, 1]))
    assert SCS().start(problem).solve(frozen, np.zeros((6, 3)), 1e-8).residual <= 1e-6


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(backend, "import_module", missing)
    with pytest.raises(MissingDependency, match="The conic solver SCS needs the package 'scs'"):
        SCS().start(gallery.get("one-slide").problem)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "forces"}, "form must be 'impulses', 'velocities', 'norm' or 'linear', got 'forces'"),
        ({"max_iterations": 0}, "max_iterations must be at least 1, got 0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SCS(**settings)
