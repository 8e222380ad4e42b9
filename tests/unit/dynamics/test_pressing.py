"""Contact forces at the start: what friction leaves open is decided by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas import Box, Scene
from clapas.cli import main
from clapas.dynamics.births import initial_state
from clapas.dynamics.pressing import INSTANT
from clapas.errors import SceneError
from clapas.geometry.shapes import Plane
from clapas.io.recording import Recording
from clapas.io.simulation import resume, simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.blocks import wedged_bar

UPWARD = -0.2  # walls that converge upward: tan 0.2 < mu = 0.5


def fallen(force: float, slope: float = UPWARD, mu: float = 0.5) -> float:
    """How far the bar has sunk after 0.1 s (m)."""
    with simulate(wedged_bar(slope=slope, mu=mu, force=force), 0.1) as run:
        return float(run.frame(0).state.position[2, 1] - run.frame(-1).state.position[2, 1])


def test_the_bar_stands_or_falls_by_the_forces_at_the_start() -> None:
    free_fall = 0.5 * 9.81 * 0.1**2
    assert fallen(0.0) == pytest.approx(free_fall, rel=0.02)
    assert fallen(200.0) == pytest.approx(free_fall, rel=0.02)  # less than any equilibrium has
    assert abs(fallen(2000.0)) < 1e-6 * free_fall


def test_forces_in_equilibrium_stay_what_they_are() -> None:
    """Each wall carries half the weight and pushes inward with 3000 N: the bar does not move at all."""
    scene = wedged_bar(slope=UPWARD)
    weight = 9.81 * compile_scene(scene).mass[2]
    scene.press("left wall", "bar", (3000.0, weight / 2))
    scene.press("bar", "right wall", (3000.0, -weight / 2))
    with simulate(scene, 0.05) as run:
        start, end = run.frame(0), run.frame(-1)
        np.testing.assert_allclose(end.state.position[2], start.state.position[2], atol=1e-9)
        given = start.state.impulses.impulse / start.state.dt
        borne = end.state.impulses.impulse / end.state.dt
        assert given[:2].sum(axis=0) == pytest.approx([3000.0, weight / 2])
        left = end.state.impulses.a == 0
        assert borne[left].sum(axis=0) == pytest.approx([3000.0, weight / 2], rel=1e-5)


def test_beyond_the_friction_no_force_holds_the_bar() -> None:
    assert fallen(1e6, mu=0.19) > 0.5 * 9.81 * 0.1**2 * 0.5  # tan 0.2 = 0.203


def test_forces_that_cannot_last_do_not_push() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Box((1, 1, 1)), position=(0, 0, 0.5), density=1000, name="box")
    scene.press("floor", "box", 1e7)
    with simulate(scene, 0.01, 1e-3) as run:
        assert run.frame(-1).state.velocity[1] == pytest.approx(np.zeros(6), abs=1e-6)


def test_files_keep_the_forces(tmp_path: Path) -> None:
    scene = wedged_bar(slope=UPWARD, force=3000.0)
    scene.press("left wall", "bar", 10.0)
    scene.save(tmp_path / "bar.toml")
    again = Scene.load(tmp_path / "bar.toml")
    assert again.pressed == scene.pressed
    ours, theirs = (initial_state(compile_scene(each)) for each in (scene, again))
    np.testing.assert_array_equal(ours.impulses.impulse, theirs.impulses.impulse)
    assert ours.dt == INSTANT


def test_a_run_goes_on_from_its_start_to_the_same_bits(tmp_path: Path) -> None:
    scene = wedged_bar(slope=UPWARD, force=3000.0)
    with simulate(scene, 0.02, out=tmp_path / "whole.h5") as whole:
        expected = whole.frame(-1).state
    simulate(scene, 0.0, out=tmp_path / "begun.h5").close()  # nothing but the start is kept
    with resume(tmp_path / "begun.h5", 0.02) as run:
        np.testing.assert_array_equal(run.frame(-1).state.position, expected.position)
        np.testing.assert_array_equal(run.frame(-1).state.impulses.impulse, expected.impulses.impulse)


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "bar.h5")
    bar = ["run", "wedged-bar", "--slope", "-0.2", "--duration", "0.05", "--quiet", "--out", out]
    assert main([*bar, "--press", "left wall:bar=3000,490.5", "--press", "1:2=-3000,490.5"]) == 0
    with Recording(out) as run:
        start, end = (run.frame(k).state.position[2] for k in (0, -1))
        np.testing.assert_allclose(end, start, atol=1e-9)
    assert main([*bar, "--press", "left wall=6000"]) == 2
    assert (
        "--press takes A:B=FORCE, two bodies and newtons (or FX,FY,…), got 'left wall=6000'"
        in capsys.readouterr().err
    )


def test_what_cannot_press_is_refused() -> None:
    scene = wedged_bar()
    with pytest.raises(SceneError, match="press: body 2 twice"):
        scene.press("bar", "bar", 1.0)
    with pytest.raises(SceneError, match="press: force must be 2 numbers"):
        scene.press("left wall", "bar", (1.0, 2.0, 3.0))
    with pytest.raises(SceneError, match="no body is called 'bra'"):
        scene.press("left wall", "bra", 1.0)
    with pytest.raises(SceneError, match="force"):
        scene.press("left wall", "bar", -1.0)
    scene.press("left wall", "right wall", 1.0)
    with pytest.raises(SceneError, match="they do not touch at the start: place them against each other"):
        compile_scene(scene)


def test_a_force_that_pulls_is_refused() -> None:
    """Contacts only push: with the sign turned round the bar would have fallen without a word."""
    for a, b, force in (("left wall", "bar", (-3000.0, 0.0)), ("bar", "left wall", (3000.0, 0.0))):
        scene = wedged_bar()
        scene.press(a, b, force)
        with pytest.raises(SceneError, match=f"'{a}' is to press on '{b}' with .* which pulls them apart"):
            simulate(scene, 0.01)
