"""Solvers by name."""

from __future__ import annotations

from dataclasses import is_dataclass

import pytest

from clapas.errors import SettingsError
from clapas.solvers import NSGS, registry


def test_names_lead_to_solvers() -> None:
    assert registry.find("nsgs").solver is NSGS
    assert registry.make("nsgs", tol=1e-3) == NSGS(tol=1e-3)


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


def test_unknown_names() -> None:
    with pytest.raises(SettingsError, match=r"no solver is called 'NGS' \(did you mean 'nsgs'\?\)"):
        registry.find("NGS")
