"""Solvers by name."""

from __future__ import annotations

from dataclasses import is_dataclass

import numpy as np
import pytest

from clapas.errors import MissingDependency, SettingsError
from clapas.problems import reduce
from clapas.solvers import NSGS, registry, solve
from tests.random_problems import random_global


def test_names_lead_to_solvers() -> None:
    assert registry.find("nsgs").solver is NSGS
    assert registry.make("nsgs", tol=1e-3) == NSGS(tol=1e-3)


def test_unknown_settings_are_named() -> None:
    with pytest.raises(
        SettingsError, match=r"nsgs has no setting 'tole' \(did you mean tol\?\): it has tol, "
    ):
        registry.make("nsgs", tole=1e-3)


def test_every_entry_is_complete() -> None:
    assert len(registry.names()) == len(registry.entries())
    for entry in registry.entries():
        assert registry.find(entry.name) is entry
        assert entry.name == entry.name.lower()
        assert is_dataclass(entry.solver)
        assert entry.summary.endswith(".")
        assert entry.when.endswith(".")
        for name in ("tol", "max_iterations", "time_limit"):
            assert hasattr(entry.solver(), name)


@pytest.mark.parametrize("entry", [*registry.entries(), *registry.models()], ids=lambda entry: entry.name)
def test_no_solver_writes_to_the_guess(entry: registry.Entry) -> None:
    problem = random_global(3, n=4, bodies=4, d=3)
    for form in (problem, reduce(problem)):
        guess = np.tile([0.3, 0.1, -0.2], (4, 1))
        try:
            solve(form, entry.solver(max_iterations=30), guess=guess, check=False)
        except MissingDependency:
            pytest.skip("an optional package is not installed")
        np.testing.assert_array_equal(guess, np.tile([0.3, 0.1, -0.2], (4, 1)))


def test_unknown_names() -> None:
    with pytest.raises(SettingsError, match=r"no solver is called 'NGS' \(did you mean 'nsgs'\?\)"):
        registry.find("NGS")
