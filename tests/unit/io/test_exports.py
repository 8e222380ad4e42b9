"""What leaves a recording for other programs: frames of vectors, parts of clumps, closed surfaces."""

from __future__ import annotations

import base64
import csv
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clapas.bodies.elastic import Elastic, ElasticBodies, Solid, Support, block
from clapas.geometry.shapes import Capsule, Clump, Cylinder, Disk, Plane, Sphere
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.io.tables import export_csv
from clapas.io.vtk import export_vtk
from clapas.scenes.scene import Scene
from clapas.typing import Array

NUMBERS = {"Float64": np.float64, "Int64": np.int64, "Int32": np.int32, "Int8": np.int8}


def arrays_of(path: Path) -> dict[str, Array]:
    """The arrays of a VTK file by name."""
    found = {}
    for entry in ElementTree.parse(path).getroot().iter("DataArray"):
        raw = base64.b64decode(entry.text or "")
        values = np.frombuffer(raw[8:], dtype=NUMBERS[entry.attrib["type"]])
        width = int(entry.attrib.get("NumberOfComponents", 1))
        if entry.attrib["Name"] not in found:
            found[entry.attrib["Name"]] = values.reshape(-1, width) if width > 1 else values
        else:  # cells: of points, then of triangles
            found[entry.attrib["Name"] + " of triangles"] = values
    return found


@pytest.fixture
def tumbling(tmp_path: Path) -> Recording:
    """A turned body that spins about the vertical, a clump, a capsule and a cylinder, all in the air."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    scene.add(Plane((0, 0, 1), -10.0))
    turned = (math.cos(0.5), math.sin(0.5), 0, 0)
    scene.add(Sphere(0.1), orientation=turned, density=1000, angular_velocity=(0, 0, 3.0))
    pair = Clump([(Sphere(0.1), (-0.2, 0, 0)), (Sphere(0.05), (0.3, 0, 0))])
    scene.add(pair, (1, 0, 0), orientation=(math.sqrt(0.5), 0, 0, math.sqrt(0.5)), density=1000)
    scene.add(Capsule(0.1, 0.4), (2, 0, 0), orientation=turned, density=1000)
    scene.add(Cylinder(0.1, 0.4), (3, 0, 0), orientation=turned, density=1000)
    with simulate(scene, 0.02, 0.01, out=tmp_path / "run.h5") as run:
        return Recording(run.path)


def test_spins_are_in_the_world(tumbling: Recording, tmp_path: Path) -> None:
    with tumbling:
        export_vtk(tumbling, tmp_path / "vtk")
        export_csv(tumbling, tmp_path / "csv")
    bodies = arrays_of(tmp_path / "vtk" / "bodies-000002.vtp")
    assert bodies["angular_velocity"][1] == pytest.approx([0, 0, 3], abs=1e-12)
    with (tmp_path / "csv" / "bodies.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["body"] == "1"]
    assert len(rows) == 3
    for row in rows:
        spin = [float(row[f"spin_{axis} (rad/s)"]) for axis in "xyz"]
        assert spin == pytest.approx([0, 0, 3], abs=1e-12)
        assert [float(row[f"v_{axis} (m/s)"]) for axis in "xyz"] == pytest.approx([0, 0, 0])


def test_spins_in_the_plane_are_about_z(tmp_path: Path) -> None:
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.5)
    scene.add(Disk(0.1), orientation=1.0, density=1000, angular_velocity=2.0)
    with simulate(scene, 0.01, 0.01, out=tmp_path / "run.h5") as run:
        export_vtk(run, tmp_path / "vtk")
        export_csv(run, tmp_path / "csv")
    assert arrays_of(tmp_path / "vtk" / "bodies-000001.vtp")["angular_velocity"].tolist() == [2.0]
    with (tmp_path / "csv" / "bodies.csv").open(newline="") as file:
        assert [float(row["spin_z (rad/s)"]) for row in csv.DictReader(file)] == [2.0, 2.0]
    assert not (tmp_path / "vtk" / "spheres.pvd").exists()  # a single disk is in bodies


def test_clumps_are_drawn_part_by_part(tumbling: Recording, tmp_path: Path) -> None:
    with tumbling:
        written = {path.stem for path in export_vtk(tumbling, tmp_path)}
        centre = tumbling.frame(0).state.position[2]
    assert written == {"bodies", "contacts", "spheres", "surfaces"}
    assert arrays_of(tmp_path / "bodies-000000.vtp")["radius"].tolist() == [0.0, 0.1, 0.0, 0.0, 0.0]
    parts = arrays_of(tmp_path / "spheres-000000.vtp")
    assert parts["radius"].tolist() == [0.1, 0.05]
    assert parts["body"].tolist() == [2, 2]
    # Turned by a quarter about z, x of the clump is y of the world.
    assert parts["points"] == pytest.approx(np.array([(1, -0.2, 0), (1, 0.3, 0)]), abs=1e-12)
    weights = np.array([0.1**3, 0.05**3])
    assert weights @ parts["points"] / weights.sum() == pytest.approx(centre, abs=1e-12)


@pytest.mark.parametrize(
    ("body", "volume"), [(3, math.pi * (4 / 3 * 0.1**3 + 0.1**2 * 0.4)), (4, math.pi * 0.004)]
)
def test_round_bodies_have_closed_surfaces_that_face_outward(
    tumbling: Recording, tmp_path: Path, body: int, volume: float
) -> None:
    with tumbling:
        export_vtk(tumbling, tmp_path)
    surface = arrays_of(tmp_path / "surfaces-000000.vtp")
    triangles = surface["connectivity of triangles"].reshape(-1, 3)
    own = triangles[surface["body"][triangles[:, 0]] == body]
    edges = {(int(t[i]), int(t[(i + 1) % 3])) for t in own for i in range(3)}
    assert len(edges) == 3 * len(own)
    assert all((end, start) in edges for start, end in edges)  # closed, and turned the same way round
    corners = surface["points"][own] - surface["points"][own].mean(axis=(0, 1))
    enclosed = np.linalg.det(corners).sum() / 6
    assert volume * 0.96 < enclosed < volume  # inscribed, outward


def test_skins_of_elastic_bodies_carry_their_stresses_as_tensors(tmp_path: Path) -> None:
    soft = Elastic(young=1e5, poisson=0.3, density=1000.0)
    body = ElasticBodies(
        solid=Solid(mesh=block((1.0, 1.0, 1.0), (3, 3, 3)), material=soft),
        supports=[Support("bottom", "xyz")],
    )
    scene = Scene()
    scene.add_system(body, name="jelly")
    with simulate(scene, 0.02, 0.01, out=tmp_path / "run.h5") as run:
        written = {path.stem for path in export_vtk(run, tmp_path, frames=[2])}
    assert "jelly" in written
    found = arrays_of(tmp_path / "jelly-000002.vtp")
    T = found["nodal stress"].reshape(-1, 3, 3)
    assert len(T) == body.solid.mesh.n_nodes
    np.testing.assert_array_equal(T, T.transpose(0, 2, 1))
    assert T[:, 2, 2].min() < 0.0  # it is pressed by its weight
    deviator = T - np.trace(T, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
    mises = np.sqrt(1.5 * (deviator**2).sum(axis=(1, 2)))
    # the field is the mean of the Gauss points around a node, the tensor is averaged before
    np.testing.assert_allclose(found["von Mises"], mises, rtol=0.03)
