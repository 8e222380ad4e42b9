"""Settings as plain data: what a recording holds is what ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clapas.errors import FormatError
from clapas.io.recording import Recording
from clapas.io.settings import from_plain, to_plain
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.solvers import registry
from clapas.solvers.models import Associated

NAMES = [entry.name for entry in (*registry.entries(), *registry.models())]


@pytest.mark.parametrize("name", NAMES)
def test_every_method_and_model_survives_a_file(name: str) -> None:
    """With their parts: steps, inner methods, and the methods that others try first."""
    method = registry.make(name)
    assert from_plain(json.loads(json.dumps(to_plain(method)))) == method


def test_a_run_by_a_model_of_friction_is_recorded(tmp_path: Path) -> None:
    """A simplified model in place of a method: what slides under the associated law is lifted."""
    scene = examples.load("sliding-block")
    simulate(scene, 0.01, solver=Associated(), out=tmp_path / "run.h5").close()
    with Recording(tmp_path / "run.h5") as run:
        assert run.frame(-1).state.position[-1, 2] > run.frame(0).state.position[-1, 2] + 1e-4


def test_settings_that_nobody_has_are_refused() -> None:
    """By name; names of modules and of functions are no settings."""
    for name in ("Perpetuum", "registry", "solve"):
        with pytest.raises(FormatError, match=f"the settings name '{name}', which this version"):
            from_plain({"type": name})
