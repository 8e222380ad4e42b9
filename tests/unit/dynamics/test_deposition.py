"""Grains laid on what lies below."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clapas.cli import main
from clapas.dynamics.births import initial_state
from clapas.errors import SceneError
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.compilation import compile_scene
from clapas.scenes.regions import BoxRegion, DiscRegion
from clapas.scenes.scene import Scene

UNDER = (0.0, 0.0, 10.0)


def with_source(**settings: Any) -> Scene:
    """An empty scene with one grain of radius ½ that appears at once, ten metres up."""
    scene = Scene()
    scene.law(mu=0.5)
    scene.source(BoxRegion(UNDER, UNDER), rate=1.0, number=1, radius=0.5, density=1.0, laid=True, **settings)
    return scene


def laid(scene: Scene) -> list[float]:
    return initial_state(compile_scene(scene)).position[-1].tolist()


def test_on_a_plane() -> None:
    scene = with_source()
    scene.add(Plane())
    assert laid(scene) == [0.0, 0.0, 0.5]


def test_on_a_slope() -> None:
    scene = with_source()
    normal = (math.sin(0.3), 0.0, math.cos(0.3))
    scene.add(Plane(normal))
    assert np.dot(laid(scene), normal) == pytest.approx(0.5, rel=1e-12)
    assert laid(scene)[:2] == [0.0, 0.0]


def test_on_the_first_sphere_in_its_way() -> None:
    scene = with_source()
    scene.add(Plane())
    scene.add(Sphere(1.0), position=(0.9, 0.0, 1.0), fixed=True)
    scene.add(Sphere(1.0), position=(-1.6, 0.0, 1.0), fixed=True)  # 0.1 m aside
    height = 1.0 + math.sqrt(1.5**2 - 0.9**2)
    np.testing.assert_allclose(laid(scene), [0.0, 0.0, height], rtol=1e-14)


def test_along_gravity_wherever_it_points() -> None:
    scene = with_source()
    scene.gravity = (9.81, 0.0, 0.0)
    scene.add(Plane((-1.0, 0.0, 0.0), -3.0))
    scene.add(Plane())  # beside the way
    np.testing.assert_allclose(laid(scene), [2.5, 0.0, 10.0])


def test_through_the_sides_of_a_periodic_cell() -> None:
    scene = with_source()
    scene.period = (4.0, None)
    scene.add(Plane())
    scene.add(Sphere(1.0), position=(3.5, 0.0, 1.0), fixed=True)
    assert laid(scene)[2] == pytest.approx(1.0 + math.sqrt(1.5**2 - 0.5**2))


def test_where_it_was_drawn_if_it_cannot_fall() -> None:
    assert laid(with_source()) == [0.0, 0.0, 10.0]  # nothing below
    scene = with_source()
    scene.add(Plane())
    scene.add(Sphere(1.0), position=(0.0, 0.0, 11.0), fixed=True)
    assert laid(scene) == [0.0, 0.0, 10.0]  # something in the way at once


def test_in_the_plane() -> None:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane())
    scene.add(Disk(1.0), position=(0.5, 1.0), fixed=True)
    scene.source(BoxRegion((0.0, 5.0), (0.0, 5.0)), rate=1.0, number=1, radius=0.5, density=1.0, laid=True)
    assert laid(scene)[1] == pytest.approx(1.0 + math.sqrt(1.5**2 - 0.5**2))


def test_one_on_another() -> None:
    """Each is laid on those that came before, where the run has taken them."""
    scene = Scene(gravity=(0.0, 0.0, -1e-9))
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.source(BoxRegion(UNDER, UNDER), rate=100.0, number=3, radius=0.5, density=1.0, laid=True)
    with simulate(scene, duration=0.03, dt=0.01) as run:
        np.testing.assert_allclose(run.frame(-1).state.position[1:, 2], [0.5, 1.5, 2.5], atol=1e-9)


def test_resumed_runs_lay_the_same_bits(tmp_path: Path) -> None:
    scene = Scene(seed=3)
    scene.material("grain", density=1000.0)
    scene.law(mu=0.4)
    scene.add(Plane())
    above = DiscRegion((0.0, 0.0, 1.0), 0.02)
    scene.source(above, rate=100.0, number=20, radius=(0.005, 0.01), material="grain", laid=True)
    whole, part = tmp_path / "whole.h5", tmp_path / "part.h5"
    simulate(scene, duration=0.2, dt=1e-3, out=whole).close()
    simulate(scene, duration=0.1, dt=1e-3, out=part).close()
    assert main(["resume", str(part), "--duration", "0.2", "--quiet"]) == 0
    with Recording(whole) as one, Recording(part) as two:
        assert np.array_equal(one.frame(-1).state.position, two.frame(-1).state.position)
        assert one.model.laid is not None
        assert one.model.laid.tolist() == [False] + [True] * 20


def test_files_say_it() -> None:
    scene = with_source()
    scene.add(Plane())
    entry = json.loads(json.dumps(scene.to_dict()))
    assert entry["sources"][0]["laid"] is True
    assert laid(Scene.from_dict(entry)) == [0.0, 0.0, 0.5]


def test_shapes_it_cannot_be_laid_on() -> None:
    scene = with_source()
    scene.add(Box((1.0, 1.0, 1.0)), position=(0.0, 0.0, 0.0), fixed=True)
    with pytest.raises(SceneError, match="there is a box; leave out laid=True"):
        compile_scene(scene)
    scene = with_source()
    pair = Clump([(Sphere(0.5), (0.0, 0.0, 0.0)), (Sphere(0.5), (1.5, 0.0, 0.0))])
    scene.add(pair, fixed=True)
    with pytest.raises(SceneError, match="there is a clump"):
        compile_scene(scene)
    scene = with_source()
    scene.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(SceneError, match="no gravity"):
        compile_scene(scene)


@pytest.mark.parametrize(("height", "expected"), [(3.0, 0.5), (1.2, 2.2)])
def test_past_grains_that_fall_if_there_is_room(height: float, expected: float) -> None:
    """A second grain comes when the first, dropped from ``height``, has hardly moved."""
    scene = Scene(gravity=(0.0, 0.0, -1e-9))
    scene.law(mu=0.5)
    scene.add(Plane())
    scene.add(Sphere(0.5), position=(0.0, 0.0, height), density=1.0)
    scene.source(BoxRegion(UNDER, UNDER), rate=1.0, number=1, start=0.02, radius=0.5, density=1.0, laid=True)
    with simulate(scene, duration=0.03, dt=0.01) as run:
        assert run.frame(-1).state.position[2, 2] == pytest.approx(expected, abs=1e-9)
