"""Kernels without vectors and threads: for a Numba whose insides have changed, and for doubts about ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clapas
from clapas.compiled import kernels
from clapas.compiled.kernels import is_scalar
from clapas.errors import SettingsError

LAYERS, ROW, STEPS = 5, 4, 3


def pile() -> clapas.Scene:
    """Layers of spheres on a floor, each above four others: more contacts than are visited one by one."""
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane())
    for layer in range(LAYERS):
        for i in range(ROW):
            for j in range(ROW):
                place = (0.2 * i + 0.001 * layer, 0.2 * j, 0.1 + 0.2 * layer)
                scene.add(clapas.Sphere(0.1), position=place, density=2500)
    return scene


def last_velocities() -> np.ndarray:
    """What the pile does in a few steps, solved to far below what the test compares."""
    run = clapas.simulate(pile(), duration=STEPS * 1e-3, dt=1e-3, solver=clapas.NSGS(tol=1e-11))
    return np.asarray(run.frame(-1).state.velocity)


@pytest.mark.parametrize(
    ("wish", "version", "scalar"),
    [
        (None, "0.61.0", False),
        (None, "0.69.1rc1", False),
        (None, "0.70.0", True),
        (None, "1.0", True),
        ("", "0.68.1", False),
        ("0", "0.70.0", False),
        ("1", "0.68.1", True),
    ],
)
def test_who_does_without(wish: str | None, version: str, scalar: bool) -> None:
    assert is_scalar(wish, version) is scalar


def test_kernels_are_keyed_by_both_sorts_of_machine() -> None:
    """They are imported under a condition, and an edit of either must reach the kernels made of it."""
    for user, machine in (("threads", "counters"), ("prefetch", "fetching")):
        reached = kernels._source(str(Path(kernels.__file__).with_name(f"{user}.py")))[1]
        assert {Path(path).stem for path in reached} >= {machine, "without_machine"}


def test_a_wish_that_is_none() -> None:
    with pytest.raises(SettingsError, match=r"CLAPAS_SCALAR is 1 .* or 0, got 'yes'"):
        is_scalar("yes", "0.68.1")


def test_the_same_pile_without_vectors_and_threads(tmp_path: Path) -> None:
    """Another process, in which nothing that leans on the insides of Numba is loaded, moves it alike."""
    script = (
        "import sys, numpy; from tests.unit.compiled.test_scalar import last_velocities;"
        "numpy.save(sys.argv[1], last_velocities());"
        "machine = {'clapas.compiled.' + name for name in ('simd', 'counters', 'fetching')};"
        "sys.exit(bool(machine & set(sys.modules)))"
    )
    root, out = Path(__file__).parents[3], tmp_path / "velocities.npy"
    environment = os.environ | {"CLAPAS_SCALAR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(out)], cwd=root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(out), last_velocities(), rtol=0, atol=1e-8)
