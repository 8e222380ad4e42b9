"""Interpenetrating starts are refused, with names, depth and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.bodies.rods import Rod
from clapas.errors import SceneError
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.overlaps import Start, refuse_overlaps
from clapas.scenes.records import BodyRecord
from clapas.scenes.regions import BoxRegion
from clapas.scenes.scene import Scene


def contacts(*rows: tuple[int, int, float]) -> Contacts:
    a, b = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    gap = np.array([row[2] for row in rows])
    zero, vectors = np.zeros(len(rows), dtype=np.int64), np.tile((0.0, 0.25, 0.0), (len(rows), 1))
    return Contacts(a, b, zero, zero, zero, vectors, vectors, gap)


def refuse(records: list[BodyRecord], found: Contacts, tolerance: float | None = None) -> None:
    movable = np.array([record.movable for record in records], dtype=bool)
    size = np.array([record.shape.reach for record in records])
    refuse_overlaps(records, Start(found, movable, size), tolerance)


@pytest.fixture
def records() -> list[BodyRecord]:
    scene = Scene()
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.5), name="ball", density=1.0)
    scene.add(Sphere(0.1), density=1.0)
    scene.add(Sphere(0.5), fixed=True)
    scene.source(BoxRegion((0, 0, 0), (1, 1, 1)), rate=1, radius=0.1, number=1, density=1.0)
    return scene.records()


def test_the_deepest_overlap_is_told(records: list[BodyRecord]) -> None:
    with pytest.raises(SceneError) as caught:
        refuse(records, contacts((0, 1, -0.01), (1, 2, -0.03), (1, 2, -0.02), (0, 2, 0.1)))
    assert str(caught.value) == (
        "'ball' and 'body 2' overlap at the start by 0.03 m near [0.0, 0.25, 0.0] (2 such pairs); "
        "move them apart, allow it with Scene(overlap=…) in metres ('overlap' in a scene file, --overlap for "
        "files of blocks), or let them pass with scene.ignore(a, b)"
    )


def test_what_is_allowed(records: list[BodyRecord]) -> None:
    refuse(records, Contacts.none(3))
    refuse(records, contacts((0, 1, -4e-7), (1, 2, 1.0)))  # rounding
    refuse(records, contacts((0, 3, -0.2)))  # walls among themselves
    refuse(records, contacts((1, 4, -0.1)))  # not yet born
    refuse(records, contacts((0, 1, -0.01)), tolerance=0.02)
    with pytest.raises(SceneError, match=r"by 2e-07 m .* \(1 such pair\)"):
        refuse(records, contacts((1, 2, -2e-7)))
    with pytest.raises(SceneError, match="'ball' and 'body 3'"):
        refuse(records, contacts((1, 3, -1e-9)), tolerance=0.0)


def test_rods_that_begin_inside_a_floor_are_refused() -> None:
    """One that lies on it, to rounding of its curve, is not."""
    rod: dict[str, Any] = {"length": 0.5, "radius": 1e-3, "density": 1000.0, "young": 1e8, "root": "free"}
    for height, is_inside in ((-0.3, True), (0.5e-3, True), (1e-3, False), (0.02, False)):
        scene = Scene()
        scene.law(mu=0.5)
        scene.add(Plane(), name="floor")
        scene.add_rods(Rod(**rod, position=(0, 0, height)), name="rope")
        if is_inside:
            with pytest.raises(SceneError, match="'floor' and 'rope 0"):
                compile_scene(scene)
        else:
            compile_scene(scene)
