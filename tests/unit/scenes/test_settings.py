"""Settings of runs by name: what scene files may get wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clapas.dynamics.schemes import MoreauMidpoint
from clapas.dynamics.sleep import Sleeping
from clapas.errors import SettingsError
from clapas.scenes.settings import named_scheme, named_sleeping, named_solver
from clapas.solvers import NSGS


def test_names_and_settings() -> None:
    assert named_solver({"name": "nsgs", "tol": 1e-4}) == NSGS(tol=1e-4)
    assert named_scheme({"travel": 0.1}) == MoreauMidpoint(travel=0.1)
    assert named_sleeping({"speed": 0.01}) == Sleeping(speed=0.01)


@pytest.mark.parametrize(
    ("named", "entries", "message"),
    [
        (named_solver, {"name": "nsgs", "tole": 1e-4}, r"nsgs has no setting 'tole' \(did you mean tol\?\)"),
        (named_solver, {"tol": "small"}, "tol must be a number, got 'small'"),
        (
            named_scheme,
            {"travell": 0.1},
            r"scheme moreau-midpoint has no setting 'travell' \(did you mean tra",
        ),
        (named_sleeping, {"sped": 0.1}, r"sleeping has no setting 'sped' \(did you mean speed\?\)"),
    ],
)
def test_wrong_settings_are_named(
    named: Callable[[Mapping[str, Any]], object], entries: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        named(entries)
