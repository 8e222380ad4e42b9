"""The list of a small scene, made without kernels, serves as that of the grid."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.collision import Detector, candidates
from clapas.collision.transforms import Frames, largest_motion
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Clump, Disk, HalfPlane, Plane, Shape, Sphere
from clapas.geometry.table import collider_table
from tests.unit.collision.oracles import random_quaternion

COLUMNS = ("a", "b", "collider_a", "collider_b", "feature", "point", "normal", "gap", "shift")


def scene(rng: np.random.Generator) -> tuple[Detector, np.ndarray, np.ndarray]:
    clump = Clump([(Sphere(0.2), (0.0, 0.0, 0.0)), (Sphere(0.2), (0.3, 0.0, 0.0))])
    kinds: list[Shape] = [Sphere(0.3), Box((0.5, 0.4, 0.6)), clump]
    shapes = [Plane(), Plane((1, 0, 0), -1.0), *(kinds[k] for k in rng.integers(0, 3, 25))]
    movable = [not isinstance(shape, Plane) for shape in shapes]
    table = collider_table(3, [(k, shape, 0) for k, shape in enumerate(shapes)])
    position = rng.uniform(-1.0, 1.0, (len(shapes), 3)) * np.array(movable)[:, None]
    orientation = np.array([random_quaternion(rng) if free else (1.0, 0.0, 0.0, 0.0) for free in movable])
    return Detector(table, movable=movable, exclude=[(3, 7), (4, 5)]), position, orientation


def contacts(seed: int) -> Contacts:
    detector, position, orientation = scene(np.random.default_rng(seed))
    return detector.detect(position, orientation, 0.05)


@pytest.mark.parametrize("seed", range(4))
def test_few_and_many_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few = contacts(seed)
    monkeypatch.setattr(candidates, "FEW", 0)
    monkeypatch.setattr(candidates, "FEW_PAIRS", 0)
    many = contacts(seed)
    assert len(few) > 30
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize("d", [2, 3])
def test_motions_bound_the_way_of_every_point(d: int) -> None:
    """Way of the centre plus reach times 2 |q − q'|, the nearer of the two quaternions; the angle in 2-D."""
    rng = np.random.default_rng(d)
    width, nowhere = (4 if d == 3 else 1), np.zeros((0, 2), dtype=np.int32)
    reach = rng.uniform(0.0, 1.0, 20) * (np.arange(20) % 2)
    orientations = np.zeros((2, 20, 4))
    orientations[:, :, :width] = rng.normal(size=(2, 20, width))
    before, after = (Frames(rng.normal(size=(20, 3)), q) for q in orientations)
    if d == 3:
        p, q = (turn / np.linalg.norm(turn, axis=1)[:, None] for turn in orientations)
        turn = 2.0 * np.minimum(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))
    else:
        turn = np.abs(orientations[0, :, 0] - orientations[1, :, 0])
    way = np.linalg.norm(after.position - before.position, axis=1) + reach * turn
    assert largest_motion(after, before, d, reach, np.zeros(2), nowhere) == pytest.approx(
        way.max(), rel=1e-14
    )
    assert largest_motion(before, before, d, np.full(20, np.inf), np.zeros(2), nowhere) == 0.0


def test_disks_on_a_line() -> None:
    table = collider_table(2, [(0, HalfPlane(), 0), (1, Disk(0.5), 0), (2, Disk(0.5), 0)])
    found = Detector(table, movable=[False, True, True]).detect([(0, 0), (0, 0.4), (0.9, 0.5)], [[0.0]] * 3)
    assert list(zip(found.a.tolist(), found.b.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
