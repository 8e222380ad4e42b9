"""Each type of pair has one kernel, and a scene compiles those it has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clapas.collision.collider_records import collider_shapes
from clapas.collision.narrow.touching import KERNELS
from clapas.collision.pair_kernels import Group, PairKernels, group_table
from clapas.geometry.colliders import Kind
from clapas.geometry.shapes import Box, Sphere
from clapas.geometry.table import collider_table

BALL_ON_PLANE = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
with event.install_listener("numba:compile", Listener()):
    from clapas.collision import Detector
    from clapas.geometry.shapes import Plane, Sphere
    from clapas.geometry.table import collider_table
    detector = Detector(collider_table(3, [(0, Plane(), 0), (1, Sphere(0.5), 0)]), movable=[False, True])
    assert len(detector.detect([(0, 0, 0), (0, 0, 0.4)], [(1, 0, 0, 0)] * 2)) == 1
print(*compiled)
"""


@pytest.mark.parametrize("d", [2, 3])
def test_who_comes_first_does_not_matter(d: int) -> None:
    table = group_table(d)
    np.testing.assert_array_equal(table, table.T)
    assert table[Kind.SPHERE, Kind.PLANE] == Group.SPHERE_PLANE
    assert table[Kind.CYLINDER, Kind.PLANE] == Group.CYLINDER_PLANE
    assert table[Kind.POLYHEDRON, Kind.BOX] == (Group.SOLIDS if d == 3 else Group.POLYGONS)


def test_every_group_has_a_kernel() -> None:
    shapes, _ = collider_shapes(collider_table(3, [(0, Sphere(1.0), 0), (1, Box((1, 1, 1)), 0)]))
    kernels, nothing = PairKernels(shapes, 3, 20), np.empty(0, dtype=np.int64)
    used = {type(kernels.of(group, nothing)) for group in Group}
    assert used == set(KERNELS)


def test_a_ball_on_a_plane_compiles_nothing_of_solids(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BALL_ON_PLANE],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    compiled = set(done.stdout.split())
    assert {"touch_pairs", "touch_sphere_plane", "deliver"} <= compiled
    assert not compiled & {"touch_spheres", "face_points", "best_axis", "gjk", "near_pairs"}
