"""Our verdicts beside those of COMPAS CRA (coupled rigid-block analysis, Kao and others 2022).

CRA asks for forces that go with a motion: it calls stable what our dynamics lets stand. Tests that ask it
need ``pip install compas_cra`` (0.8 brings its own solver).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clapas.analysis.masonry import Masonry
from clapas.geometry.shapes import Box, Polyhedron
from clapas.scenes.blocks import scene_of_blocks
from clapas.scenes.examples import arch_file
from clapas.scenes.scene import Scene

MU = 0.6
CRA_MU = 0.84  # the default of compas_cra


def boxes(places: list[tuple[str, tuple[float, float, float]]]) -> Scene:
    scene = Scene()
    scene.law(mu=MU)
    for name, place in places:
        scene.add(Box((1, 1, 1)), place, density=1000, name=name, fixed=name.startswith("support"))
    return scene


STRUCTURES = {
    "stack": (lambda: boxes([("support", (0, 0, 0)), ("upper", (0.2, 0, 1))]), True),
    "clamped": (
        lambda: boxes([("support a", (-1, 0, 0)), ("support b", (1, 0, 0)), ("block", (0, 0, 0))]),
        False,
    ),
    "arch": (lambda: scene_of_blocks(arch_file(), mu=MU), True),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_ours(name: str) -> None:
    """The answers of statics, by our dynamics."""
    make, stands = STRUCTURES[name]
    assert Masonry(make()).verdict(0.1).stays == stands


@pytest.mark.parametrize("name", STRUCTURES)
def test_theirs(name: str) -> None:
    cra = pytest.importorskip("compas_cra.equilibrium", reason="compas_cra is not installed")
    make, stands = STRUCTURES[name]
    assembly = as_assembly(make())
    try:
        cra.cra_solve(assembly, mu=MU)
        theirs = True
    except ValueError:  # what it raises where its program has no solution
        theirs = False
    assert theirs == stands


# Examples that come with compas_cra: their supports, and whether they stand.
PUBLISHED = {
    "H": ((0, 1), False),  # a block between two uprights that nothing presses
    "A": ((0, 1), False),  # the same between legs that part downwards by 30° each
    "cubes": ((0,), True),  # turned cubes upon one another
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_examples(name: str) -> None:
    """Some forces would hold each of them; CRA and our dynamics tell which of them stand."""
    ours = Masonry(published(name)).verdict(0.1)
    assert ours.can_stand
    assert ours.stays == has_a_solution(name) == PUBLISHED[name][1]


def test_least_friction_of_a_published_example() -> None:
    """Between legs that part by 30° from the vertical forces need tan 30°."""
    assert Masonry(published("A")).least_friction() == pytest.approx(np.tan(np.radians(30)), abs=2e-4)


def sample(name: str) -> Path:
    """A file that comes with compas_cra."""
    folder = pytest.importorskip("compas_cra", reason="compas_cra is not installed").SAMPLE
    return Path(folder) / f"{name}.json"


def published(name: str) -> Scene:
    return scene_of_blocks(sample(name), mu=CRA_MU, fixed=[f"block {node}" for node in PUBLISHED[name][0]])


def has_a_solution(name: str) -> bool:
    """Whether CRA finds forces and a motion for one of its examples."""
    compas, structures = pytest.importorskip("compas"), pytest.importorskip("compas_cra.datastructures")
    algorithms = pytest.importorskip("compas_cra.algorithms")
    assembly = compas.json_load(sample(name)).copy(cls=structures.CRA_Assembly)
    assembly.set_boundary_conditions(list(PUBLISHED[name][0]))
    algorithms.assembly_interfaces_numpy(assembly, nmax=10, amin=1e-4, tmax=1e-4)
    try:
        pytest.importorskip("compas_cra.equilibrium").cra_solve(assembly, mu=CRA_MU)
    except ValueError:  # what it raises where its program has no solution
        return False
    return True


def as_assembly(scene: Scene) -> Any:
    """The blocks of a scene as an assembly of compas_cra."""
    blocks = pytest.importorskip("compas_assembly.datastructures")
    structures = pytest.importorskip("compas_cra.datastructures")
    algorithms = pytest.importorskip("compas_cra.algorithms")
    assembly = structures.CRA_Assembly()
    for number, body in enumerate(scene.bodies):
        corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
        shape = body.shape if isinstance(body.shape, Polyhedron) else Polyhedron(corners)
        points = shape.hull.vertices + np.array(body.position)
        faces = [list(map(int, face)) for face in shape.hull.faces]
        assembly.add_block(blocks.Block.from_vertices_and_faces(points.tolist(), faces), node=number)
    assembly.set_boundary_conditions([k for k, body in enumerate(scene.bodies) if body.fixed])
    algorithms.assembly_interfaces_numpy(assembly, nmax=10, amin=1e-4, tmax=1e-4)
    return assembly
