"""Deformable bodies in scene files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clapas
from clapas.bodies.elastic import (
    Elastic,
    ElasticBodies,
    FiniteVonMises,
    NeoHookean,
    Solid,
    Support,
    VonMises,
    block,
    join,
)
from clapas.errors import SceneError

SCENE = """
version = 1
dimension = 2

[[laws]]
mu = 0.3

[[bodies]]
shape = { type = "half-plane" }

[[systems]]
kind = "elastic"
name = "cushion"

[systems.settings]
surface = ["top", "bottom"]
velocity = [0.0, -0.1]
damping = [0.0, 1e-4]

[systems.settings.mesh]
block = { size = [1.0, 0.5], divisions = [4, 2], kind = "Q8" }
position = [0.0, 0.25]

[systems.settings.material]
law = "neo-Hookean"
young = 1e6
poisson = 0.3
density = 1000.0

[[systems.settings.supports]]
group = "left"
axes = "x"

[[systems.settings.loads]]
group = "top"
pressure = 100.0

[[systems.settings.loads]]
group = "right"
force = [10.0, 0.0]
"""


def test_a_scene_file_with_a_generator_a_material_supports_and_loads(tmp_path: Path) -> None:
    (tmp_path / "cushion.toml").write_text(SCENE)
    scene = clapas.Scene.load(tmp_path / "cushion.toml")
    body = scene.systems[0].bodies
    assert isinstance(body, ElasticBodies)
    assert body.solid.mesh.cells["Q8"].shape == (8, 8)
    assert body.solid.mesh.nodes[:, 1].min() == 0.25
    assert isinstance(body.solid.material, NeoHookean)
    assert body.load is not None
    np.testing.assert_allclose(body.load.reshape(-1, 2).sum(axis=0), [10.0, -100.0])
    run = clapas.simulate(scene, duration=0.004, dt=2e-3)
    assert run.frame(-1).state.time == pytest.approx(0.004)


@pytest.mark.parametrize(
    "material",
    [
        Elastic(young=1e6, poisson=0.3, density=1000.0),
        VonMises(young=1e6, yield_stress=1e3, kinematic=1e4, density=10.0),
        FiniteVonMises(young=1e6, yield_stress=1e3, isotropic=1e4, density=10.0),
        {"a": Elastic(young=1e6, density=1.0), "b": NeoHookean(young=1e9, density=1e3)},
    ],
    ids=["elastic", "von Mises", "finite von Mises", "two"],
)
def test_what_is_written_is_read_again(material: Any, tmp_path: Path) -> None:
    mesh = join({"a": block((1.0, 1.0), (2, 2)), "b": block((1.0, 1.0), (1, 1), origin=(2.0, 0.0))})
    body = ElasticBodies(
        solid=Solid(mesh=mesh, material=material, kinematics="plane stress", thickness=0.1),
        supports=[Support("a/left", "xy")],
        surface="b",
        sides=False,
        velocity=(1.0, 2.0),
        load=np.arange(float(2 * mesh.n_nodes)),
        damping=(1.0, 0.0),
        lumped=False,
        skin=1e-3,
    )
    scene = clapas.Scene(d=2)
    scene.law(mu=0.3)
    scene.add_system(body, name="both")
    scene.save(tmp_path / "both.toml")
    read = clapas.Scene.load(tmp_path / "both.toml").systems[0].bodies
    assert isinstance(read, ElasticBodies)
    assert read.to_dict() == body.to_dict()
    assert read.solid.material == body.solid.material
    np.testing.assert_array_equal(read.start().v, body.start().v)
    np.testing.assert_array_equal(read.mass.toarray(), body.mass.toarray())


def test_a_mesh_file_is_looked_for_beside_the_scene(tmp_path: Path) -> None:
    pytest.importorskip("meshio")
    from clapas.bodies.elastic import write_mesh

    write_mesh(tmp_path / "part.msh", block((1.0, 1.0), (2, 2)))
    generator = 'block = { size = [1.0, 0.5], divisions = [4, 2], kind = "Q8" }'
    text = SCENE.replace(generator, 'file = "part.msh"')
    (tmp_path / "part.toml").write_text(text)
    body = clapas.Scene.load(tmp_path / "part.toml").systems[0].bodies
    assert body.n_dof == 18 - 3
    (tmp_path / "part.toml").write_text(text.replace("part.msh", "other.msh"))
    with pytest.raises(SceneError, match=r"other\.msh: there is no such file"):
        clapas.Scene.load(tmp_path / "part.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("young = 1e6", "yuong = 1e6", r"material: no setting is called 'yuong' \(did you mean 'young'\?\)"),
        ("young = 1e6", "", "law 'neo-Hookean' needs 'young'"),
        ("young = 1e6", 'young = "stiff"', "young must be a number, got 'stiff'"),
        ("young = 1e6", "young = -1.0", "needs young > 0"),
        ('law = "neo-Hookean"', 'law = "neo-hooke"', "no law of materials is called 'neo-hooke'"),
        ("density = 1000.0", "", "every material needs a density"),
        ('group = "left"', 'group = "lfet"', r"no group of this mesh is called 'lfet' \(did you mean 'left'"),
        ('axes = "x"', 'axes = "z"', "axes must be letters of x y"),
        ('axes = "x"', "", "a support needs group and axes"),
        ("pressure = 100.0", "presure = 100.0", "a load needs group and one of pressure, traction, force"),
        ("force = [10.0, 0.0]", "force = [10.0]", "force must be 2 finite numbers"),
        ("block = {", "blok = {", r"no setting is called 'blok' \(did you mean 'block'"),
        ("divisions = [4, 2]", "division = [4, 2]", "unexpected keyword argument 'division'"),
        ("divisions = [4, 2]", "divisions = [4, 0]", "at least one cell"),
        ('kind = "Q8"', 'kind = "Q9"', "no solid element is called 'Q9': expected"),
        ('kind = "Q8"', 'kind = "Hex8"', "Hex8 is an element of 3-D"),
        ("position = [0.0, 0.25]", "position = [0.0]", "mesh position must be 2 numbers"),
        ("position = [0.0, 0.25]", 'file = "a.msh"', "got block and file"),
        ('surface = ["top", "bottom"]', 'surface = ["side"]', "no group of this mesh is called 'side'"),
        ("damping = [0.0, 1e-4]", "damping = [0.0]", "damping must be two numbers"),
        ("velocity = [0.0, -0.1]", "velocity = [0.0, nan]", "velocity must be finite"),
        ("velocity = [0.0, -0.1]", 'kinematics = "axisymmetric"', "an axisymmetric solid has no place"),
        ("velocity = [0.0, -0.1]", 'kinematics = "flat"', "kinematics of a mesh in 2-D must be"),
        ('kind = "elastic"', 'kind = "elastik"', "did you mean 'elastic'?"),
    ],
)
def test_mistakes_in_a_file_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in SCENE
    (tmp_path / "wrong.toml").write_text(SCENE.replace(old, new, 1))
    with pytest.raises(SceneError, match=message) as error:
        clapas.Scene.load(tmp_path / "wrong.toml")
    assert "systems[0]" in str(error.value)
