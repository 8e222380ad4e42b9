"""Meshes of finite elements through files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from clapas.bodies.elastic.files import read_mesh, write_mesh
from clapas.bodies.elastic.generators import block, ring
from clapas.errors import FormatError, MissingDependency

GMSH = """\
$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
1 1 "floor"
2 2 "body"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
5 9 9 0
$EndNodes
$Elements
3
1 1 2 1 1 1 2
2 2 2 2 1 1 3 2
3 2 2 2 1 1 3 4
$EndElements
"""


@pytest.fixture(autouse=True)
def _meshio() -> None:
    pytest.importorskip("meshio")


@pytest.mark.parametrize("ending", ["msh", "inp"])
@pytest.mark.parametrize("kind", ["T3", "T6", "Q4", "Q8", "Tet4", "Tet10", "Hex8"])
def test_a_mesh_and_its_groups_come_back(tmp_path: Path, ending: str, kind: str) -> None:
    d = 3 if kind in ("Tet4", "Tet10", "Hex8") else 2
    mesh = block((1.0, 2.0, 1.5)[:d], (2, 1, 1)[:d], kind)
    path = tmp_path / f"block.{ending}"
    write_mesh(path, mesh)
    again = read_mesh(path)
    np.testing.assert_allclose(again.nodes, mesh.nodes)
    np.testing.assert_array_equal(again.cells[kind], mesh.cells[kind])
    for name, nodes in mesh.groups.items():
        np.testing.assert_array_equal(again.group(name), nodes)


def test_fields_go_to_vtk(tmp_path: Path) -> None:
    import meshio

    mesh = ring(1.0, 2.0, (2, 3), "Q8")
    path = tmp_path / "ring.vtu"
    write_mesh(path, mesh, {"radius": np.linalg.norm(mesh.nodes, axis=1)})
    np.testing.assert_allclose(meshio.read(path).point_data["radius"].min(), 1.0)
    np.testing.assert_allclose(read_mesh(path).nodes, mesh.nodes)


def test_physical_sides_become_groups_and_clockwise_cells_are_turned(tmp_path: Path) -> None:
    path = tmp_path / "given.msh"
    path.write_text(GMSH)
    mesh = read_mesh(path)
    assert mesh.n_nodes == 4  # the point that no cell uses is left out
    np.testing.assert_array_equal(mesh.group("floor"), [0, 1])
    assert len(mesh.group("body")) == 4


def test_bad_files_say_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        read_mesh(tmp_path / "nothing.msh")
    (tmp_path / "odd.msh").write_text("nonsense")
    with pytest.raises(FormatError, match="damaged, or not what it should be"):
        read_mesh(tmp_path / "odd.msh")
    (tmp_path / "line.msh").write_text(
        GMSH.replace("3\n1 1 2", "1\n1 1 2").split("2 2 2 2")[0] + "$EndElements\n"
    )
    with pytest.raises(FormatError, match="holds no triangle"):
        read_mesh(tmp_path / "line.msh")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(MissingDependency, match=r"pip install 'clapas\[mesh\]'"):
        read_mesh(tmp_path / "odd.msh")
