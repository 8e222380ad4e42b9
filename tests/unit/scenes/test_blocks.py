"""Blocks from files become bodies: names, masses, supports, and warnings on what may not be meant."""

from __future__ import annotations

import math
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from clapas.errors import MissingDependency, SceneError
from clapas.geometry.meshfiles import write_mesh
from clapas.geometry.shapes import Clump, Polyhedron
from clapas.geometry.shapes.hull import fan
from clapas.io.simulation import simulate
from clapas.scenes import blocks
from clapas.scenes.blocks import read_blocks, scene_of_blocks
from clapas.scenes.examples import arch_file
from clapas.scenes.examples.masonry import arch_corners
from clapas.scenes.scene import Scene

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
TRIANGLES = fan(Polyhedron(CUBE).hull.faces)
# An angle of two arms 2 long and 1 thick, 1 deep: 3 m³, its hull 3.5.
OUTLINE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
ANGLE = "\n".join(
    ["o angle"]
    + [f"v {x} {y} {z}" for y in (0, 1) for x, z in OUTLINE]
    + ["f 1 2 3 4", "f 1 4 5 6", "f 10 9 8 7", "f 12 11 10 7"]
    + [f"f {k + 1} {k + 7} {(k + 1) % 6 + 7} {(k + 1) % 6 + 1}" for k in range(6)]
)


def test_the_arch_that_comes_with_the_package() -> None:
    """Its voussoirs are those of a semicircle, to the six digits that modelling programs write."""
    file = read_blocks(arch_file())
    names = [block.name for block in file.blocks]
    assert names == ["support_left", *(f"voussoir_{k:02d}" for k in range(1, 12)), "support_right"]
    assert file.remarks() == []
    exact = [2.0 * corners for corners in reversed(arch_corners(11, 0.2))]
    for block, corners in zip(file.blocks[1:-1], exact, strict=True):
        section = np.unique(block.piece.vertices[:, [0, 2]].round(5), axis=0)
        np.testing.assert_allclose(section, np.unique(corners.round(5), axis=0), atol=1e-5)
        assert block.piece.volume == pytest.approx(
            0.6 * 0.5 * (2.2**2 - 1.8**2) * math.sin(math.pi / 11), rel=1e-5
        )


def test_bodies_of_a_scene() -> None:
    scene = Scene()
    numbers = scene.add_blocks(arch_file(), density=2000, fixed=["support*"], position=(0, 0, 1))
    assert numbers == list(range(13))
    assert [body.name for body in scene.bodies if body.fixed] == ["support_left", "support_right"]
    records = scene.records()
    assert records[6].mass == pytest.approx(2000 * 0.13523, rel=1e-4)
    assert {body.group for body in scene.bodies} == {"arch"}
    assert scene.overlap == pytest.approx(1e-5 * 0.626, rel=0.1)
    scene.add_blocks(arch_file(), density=2000, prefix="second ", position=(0, 5, 1))
    assert scene.number("second voussoir_03") == 16


def test_scale_and_vertical(tmp_path: Path) -> None:
    write_mesh(tmp_path / "a.obj", CUBE * (1000, 2000, 3000), TRIANGLES)
    file = read_blocks(tmp_path / "a.obj", scale=1e-3)
    np.testing.assert_allclose(file.extent, (1, 2, 3))
    np.testing.assert_allclose(read_blocks(tmp_path / "a.obj", scale=1e-3, up="y").extent, (1, 3, 2))
    np.testing.assert_allclose(read_blocks(tmp_path / "a.obj", scale=1e-3, up="x").extent, (3, 2, 1))
    turned = read_blocks(tmp_path / "a.obj", scale=1e-3, up="y").blocks[0].piece
    assert turned.volume == pytest.approx(6.0)  # turned, not mirrored
    assert turned.vertices[:, 2].min() == 0.0


def test_millimetres_taken_for_metres(tmp_path: Path) -> None:
    write_mesh(tmp_path / "a.obj", CUBE * 4800, TRIANGLES)
    with pytest.warns(UserWarning, match=r"a\.obj is 4800 m long .* give scale=0\.001"):
        Scene().add_blocks(tmp_path / "a.obj", density=1)
    write_mesh(tmp_path / "b.obj", CUBE * 0.005, TRIANGLES)
    with pytest.warns(UserWarning, match=r"b\.obj is only 0\.005 m long"):
        Scene().add_blocks(tmp_path / "b.obj", density=1)


def test_a_file_by_blender_may_lie_on_its_side(tmp_path: Path) -> None:
    """Its exporter turns y upwards unless told otherwise, and the file does not say."""
    write_mesh(tmp_path / "a.obj", CUBE * (1, 3, 2), TRIANGLES)
    drawing = "# Blender 4.1.1\n# www.blender.org\n" + (tmp_path / "a.obj").read_text()
    (tmp_path / "a.obj").write_text(drawing)
    with pytest.warns(
        UserWarning, match=r"a\.obj is by Blender, which writes y upwards .* z upwards: give up='y' .* if"
    ):
        Scene().add_blocks(tmp_path / "a.obj", density=1)
    for up, extent in (("y", (1, 2, 3)), ("z", (1, 3, 2))):  # who says it is not warned
        file = read_blocks(tmp_path / "a.obj", up=up)
        np.testing.assert_allclose(file.extent, extent)
        assert not file.remarks()


def test_a_piece_that_is_not_convex(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(ANGLE)
    (block,) = read_blocks(tmp_path / "a.obj").blocks
    assert (block.piece.volume, block.piece.hull_volume) == (pytest.approx(3.0), pytest.approx(3.5))
    scene = Scene()
    with pytest.warns(
        UserWarning, match=r"1 block is not convex, most of all 'angle' \(volume 3 m³, its hull 3\.5\)"
    ):
        scene.add_blocks(tmp_path / "a.obj", density=1)
    assert scene.records()[0].mass == pytest.approx(3.5)
    with pytest.warns(UserWarning, match=r"not convex: volume 3 m³, its hull 3\.5"):
        Polyhedron.from_file(tmp_path / "a.obj")


def test_several_pieces_as_one_hull_are_warned_of() -> None:
    with pytest.warns(
        UserWarning, match=r"13 pieces become one convex body of .* scene\.add_blocks makes one of each"
    ):
        Polyhedron.from_file(arch_file())


def test_an_open_piece_is_warned_of(tmp_path: Path) -> None:
    write_mesh(tmp_path / "a.obj", CUBE, TRIANGLES[:-2])
    with pytest.warns(UserWarning, match=r"1 block is not closed \(first 'block 0'\): the hull is taken"):
        Scene().add_blocks(tmp_path / "a.obj", density=1)


def test_a_flat_piece_is_left_out_and_told(tmp_path: Path) -> None:
    """A tetrahedron with a fin that shares no edge with it."""
    path = tmp_path / "fin.obj"
    corners = "o stone\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 5 0 0\nv 6 0 0\nv 5 1 0\n"
    path.write_text(corners + "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\nf 5 6 7\n")
    file = read_blocks(path)
    assert [block.name for block in file.blocks] == ["stone"]
    assert file.remarks() == ["fin.obj: a piece without a volume left out (first of 'stone')"]


def test_exact_convex_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An angle is its two arms, without another package; a block that fills its notch touches and stays."""
    monkeypatch.setitem(sys.modules, "coacd", None)
    filler = [f"v {x} {y} {z}" for x, y, z in CUBE + np.array((1, 0, 1))]
    faces = ["f " + " ".join(str(13 + k) for k in triangle) for triangle in TRIANGLES]
    (tmp_path / "a.obj").write_text("\n".join([ANGLE, "o filler", *filler, *faces]))
    scene = scene_of_blocks(tmp_path / "a.obj", density=1, nonconvex="parts")
    angle = scene.bodies[0].shape
    assert isinstance(angle, Clump)
    assert len(angle.parts) == 2
    assert scene.records()[0].mass == pytest.approx(3.0, rel=1e-12)
    with simulate(scene, 0.02, 1e-3) as run:
        moved = run.frame(-1).state.position - run.frame(0).state.position
        assert np.abs(moved).max() < 1e-9
        weight = run.frame(-1).forces("filler", "angle")[2]
    assert weight == pytest.approx(9.81, rel=1e-6)


def test_convex_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With CoACD, here a stand-in that cuts the angle into its two arms."""
    monkeypatch.setattr(blocks, "exact_parts", lambda piece: None)
    (tmp_path / "a.obj").write_text(ANGLE)
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(
        MissingDependency, match=r"Cutting blocks of many faces into convex parts needs .* 'clapas\[convex\]'"
    ):
        Scene().add_blocks(tmp_path / "a.obj", density=1, nonconvex="parts")
    stand_in = types.ModuleType("coacd")
    stand_in.set_log_level = lambda word: None  # type: ignore[attr-defined]
    stand_in.Mesh = lambda vertices, triangles: (vertices, triangles)  # type: ignore[attr-defined]
    arms = [CUBE * (2, 1, 1), CUBE + np.array((0, 0, 1))]
    stand_in.run_coacd = lambda mesh: [(arm, TRIANGLES) for arm in arms]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "coacd", stand_in)
    scene = Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene.add_blocks(tmp_path / "a.obj", density=1, nonconvex="parts")
    assert isinstance(scene.bodies[0].shape, Clump)
    assert scene.records()[0].mass == pytest.approx(3.0)


def test_convex_parts_by_coacd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("coacd", reason="CoACD is not installed")
    monkeypatch.setattr(blocks, "exact_parts", lambda piece: None)
    (tmp_path / "a.obj").write_text(ANGLE)
    scene = Scene()
    scene.add_blocks(tmp_path / "a.obj", density=1, nonconvex="parts")
    assert scene.records()[0].mass == pytest.approx(3.0, rel=0.05)


def test_a_scene_with_supports_or_with_ground(tmp_path: Path) -> None:
    scene = scene_of_blocks(arch_file(), mu=0.5)
    assert len(scene.bodies) == 13  # supports, found by their names
    assert scene.bodies[0].fixed
    assert scene_of_blocks(arch_file(), fixed="support_left").bodies[-1].fixed is False
    write_mesh(tmp_path / "a.obj", CUBE + np.array((0, 0, 2)), TRIANGLES)
    with_ground = scene_of_blocks(tmp_path / "a.obj")
    assert with_ground.bodies[-1].name == "ground"
    assert with_ground.bodies[-1].shape.offset == 2.0  # type: ignore[attr-defined]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="blocks from files are solids and need a scene in 3-D"):
        Scene(d=2).add_blocks(arch_file(), density=1)
    with pytest.raises(
        SceneError, match=r"no block is called 'suport_left' \(did you mean 'support_left'\?\); there"
    ):
        Scene().add_blocks(arch_file(), density=1, fixed="suport_left")
    with pytest.raises(SceneError, match="up must be x, y or z, got 'w'"):
        Scene().add_blocks(arch_file(), density=1, up="w")  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="scale must be positive, got 0"):
        Scene().add_blocks(arch_file(), density=1, scale=0)
    with pytest.raises(SceneError, match="nonconvex must be 'hull' or 'parts', got 'cut'"):
        Scene().add_blocks(arch_file(), density=1, nonconvex="cut")  # type: ignore[arg-type]
    write_mesh(tmp_path / "a.obj", CUBE, [(0, 1, 2)])
    with pytest.raises(SceneError, match="no piece of it has a volume"):
        Scene().add_blocks(tmp_path / "a.obj", density=1)
