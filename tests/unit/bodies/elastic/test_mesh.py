"""Meshes, generators, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.elastic.elements import ELEMENTS, element
from clapas.bodies.elastic.generators import bar, block, graded, hertz_block, ring
from clapas.bodies.elastic.materials import Elastic
from clapas.bodies.elastic.mesh import Mesh, join, oriented
from clapas.bodies.elastic.solid import Solid
from clapas.errors import SceneError, SettingsError


@pytest.mark.parametrize("name", ELEMENTS)
def test_shape_functions_are_one_at_their_node_and_sum_to_one(name: str) -> None:
    kind = element(name)
    np.testing.assert_allclose(kind.functions(kind.nodes), np.eye(kind.n_nodes), atol=1e-13)
    points = kind.mass.points
    np.testing.assert_allclose(kind.functions(points).sum(axis=1), 1.0)
    np.testing.assert_allclose(kind.gradients(points).sum(axis=1), 0.0, atol=1e-13)
    step = 1e-6
    for axis in range(kind.d):
        shift = step * np.eye(kind.d)[axis]
        slope = (kind.functions(points + shift) - kind.functions(points - shift)) / (2 * step)
        np.testing.assert_allclose(kind.gradients(points)[:, :, axis], slope, atol=1e-8)


@pytest.mark.parametrize("kind", ["T3", "T6", "Q4", "Q8"])
def test_a_plane_block_has_its_area_and_its_sides(kind: str) -> None:
    mesh = block((2.0, 1.0), (3, 2), kind, origin=(1.0, -1.0))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, density=1.0))
    assert solid.lumped_mass[::2].sum() == pytest.approx(2.0)
    assert sum(len(rows) for rows in mesh.boundary.values()) == 10
    for side, length in (("left", 1.0), ("right", 1.0), ("bottom", 2.0), ("top", 2.0)):
        assert solid.areas(side).sum() == pytest.approx(length)
    # a closed surface under pressure has no resultant, and traction on the right pulls along x
    np.testing.assert_allclose(
        sum(solid.pressure(side, 3.0) for side in mesh.groups).reshape(-1, 2).sum(axis=0), 0.0, atol=1e-14
    )
    np.testing.assert_allclose(
        solid.pressure("right", 1.0).reshape(-1, 2).sum(axis=0), (-1.0, 0.0), atol=1e-14
    )


@pytest.mark.parametrize("kind", ["Tet4", "Tet10", "Hex8"])
def test_a_box_has_its_volume_and_its_faces_point_outwards(kind: str) -> None:
    mesh = block((2.0, 1.0, 3.0), (2, 1, 2), kind)
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, density=2.0))
    assert solid.mass.sum() == pytest.approx(3 * 12.0)
    assert solid.lumped_mass.sum() == pytest.approx(3 * 12.0)
    assert solid.lumped_mass.min() > 0
    outwards = {
        "left": (-1, 0, 0),
        "right": (1, 0, 0),
        "front": (0, -1, 0),
        "back": (0, 1, 0),
        "bottom": (0, 0, -1),
        "top": (0, 0, 1),
    }
    for side, normal in outwards.items():
        total = solid.pressure(side, -1.0).reshape(-1, 3).sum(axis=0)
        np.testing.assert_allclose(total / np.linalg.norm(total), normal, atol=1e-12)


def test_a_quadratic_ring_has_curved_sides() -> None:
    straight, curved = ring(1.0, 2.0, (2, 4)), ring(1.0, 2.0, (2, 4), "Q8")
    area = 0.25 * np.pi * 3.0
    material = Elastic(young=1.0, density=1.0)
    found = [Solid(mesh=mesh, material=material).mass.sum() / 2 for mesh in (straight, curved)]
    assert abs(found[1] - area) < 3e-3 * abs(found[0] - area)
    radius = np.linalg.norm(curved.nodes[curved.groups["outer"]], axis=1)
    np.testing.assert_allclose(radius, 2.0)


def test_groups_of_joined_meshes_keep_their_names() -> None:
    mesh = join({"a": bar(1.0, 2), "b": block((1, 1), (1, 1), "T3", origin=(3, 0))})
    assert set(mesh.pieces.tolist()) == {0, 1}
    assert mesh.restricted("b").n_cells == 2
    np.testing.assert_allclose(mesh.nodes[mesh.group("b/right"), 0], 4.0)


def test_graded_stations_end_at_one_and_grow() -> None:
    x = graded(0.1, 5, 1.3)
    assert (x[0], x[-1]) == (0.0, 1.0)
    lengths = np.diff(x)
    np.testing.assert_allclose(lengths[:5], 0.02)
    assert (np.diff(lengths[5:]) > 0).all()
    mesh = hertz_block(0.1, 5.0, 4)
    assert mesh.nodes[:, 1].max() == pytest.approx(0.0)
    top = np.sort(mesh.nodes[mesh.group("top"), 0])
    assert top[1] == pytest.approx(0.025)


def test_a_cell_numbered_clockwise_is_refused_and_can_be_turned() -> None:
    nodes, cells = [(0, 0), (1, 0), (0, 1)], {"T3": [(0, 2, 1)]}
    with pytest.raises(SceneError, match=r"cell 0 of T3 \(nodes \[0, 2, 1\]\) is inverted"):
        Mesh(nodes, cells)
    assert Mesh(nodes, oriented(nodes, cells)).n_cells == 1


@pytest.mark.parametrize("kind", ["T3", "T6", "Q4", "Q8", "Tet4", "Tet10", "Hex8"])
def test_mirrored_cells_are_turned_back(kind: str) -> None:
    d = element(kind).d
    mesh = block((1,) * d, (1,) * d, kind)
    mirrored = mesh.nodes * ([-1] + [1] * (d - 1))
    with pytest.raises(SceneError, match="inverted"):
        Mesh(mirrored, mesh.cells)
    again = Mesh(mirrored, oriented(mirrored, mesh.cells), mesh.groups)
    assert Solid(mesh=again, material=Elastic(young=1.0, density=1.0)).mass.sum() == pytest.approx(d)


def test_bad_meshes_are_refused_by_name() -> None:
    with pytest.raises(SceneError, match="degenerate or folded"):
        Mesh([(0, 0), (1, 0), (0.2, 0.2), (0, 1)], {"Q4": [(0, 1, 2, 3)]})
    with pytest.raises(SceneError, match="degenerate"):
        Mesh([(0, 0), (1, 0), (2, 0)], {"T3": [(0, 1, 2)]})
    with pytest.raises(SettingsError, match=r"no solid element is called 'T4' \(did you mean"):
        Mesh([(0, 0), (1, 0), (0, 1)], {"T4": [(0, 1, 2)]})
    with pytest.raises(SceneError, match="name node 7"):
        Mesh([(0, 0), (1, 0), (0, 1)], {"T3": [(0, 1, 7)]})
    with pytest.raises(SceneError, match="no cells"):
        Mesh([(0, 0), (1, 0), (0, 1)], {})
    with pytest.raises(SceneError, match=r"no group of this mesh is called 'botom' \(did you mean 'bottom'"):
        block((1, 1), (1, 1)).group("botom")
    with pytest.raises(SceneError, match="holds no side of the boundary"):
        block((1, 1), (2, 2)).with_group("middle", [4]).sides("middle")
    with pytest.raises(SceneError, match="stations must go from 0 to 1"):
        block((1, 1), (np.array([0.0, 0.5]), 1))
    with pytest.raises(SceneError, match=r"a whole number of cells, or stations from 0 to 1, got 2\.5"):
        block((1, 1), (2.5, 2))  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="origin must be 2 numbers, got 3"):
        block((1, 1), (2, 2), origin=(0, 0, 0))
    with pytest.raises(SceneError, match="size must be finite, got nan"):
        block((1, np.nan), (2, 2))
    with pytest.raises(SceneError, match="2 or 3 positive numbers each, got 3"):
        block(3, (2, 2))  # type: ignore[arg-type]


def test_materials_must_cover_every_cell_once() -> None:
    mesh = join({"a": block((1, 1), (1, 1)), "b": block((1, 1), (1, 1), origin=(2, 0))})
    soft, hard = Elastic(young=1.0), Elastic(young=2.0)
    solid = Solid(mesh=mesh, material={"a": soft, "b": hard})
    assert solid.stiffness[8, 8] == pytest.approx(2 * solid.stiffness[0, 0])
    with pytest.raises(SceneError, match="has no material"):
        Solid(mesh=mesh, material={"a": soft})
    with pytest.raises(SettingsError, match="kinematics of a mesh in 2-D"):
        Solid(mesh=mesh, material=soft, kinematics="space")
    with pytest.raises(SettingsError, match="axes must be letters of x y"):
        solid.dofs("a", "z")
