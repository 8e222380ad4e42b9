"""Verdicts on blocks: answers known on paper, in the plane and in space, by forces and by motion."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clapas.analysis import elevation
from clapas.analysis.blockwork import Blockwork
from clapas.analysis.masonry import Masonry, Verdict
from clapas.analysis.settlement import settle
from clapas.dynamics.motions import ConstantVelocity
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, HalfPlane, Plane, Polygon
from clapas.scenes.blocks import scene_of_blocks
from clapas.scenes.examples import arch_file, load
from clapas.scenes.scene import Scene
from clapas.studies.masonry import least_friction


def block(
    d: int, width: float = 1.0, height: float = 2.0, mu: float = 0.7, gravity: tuple[float, ...] | None = None
) -> Scene:
    """A block of mass 1 on the ground."""
    scene = Scene(d=d, gravity=gravity)
    scene.law(mu=mu)
    if d == 2:
        corners = [(-width / 2, 0), (width / 2, 0), (width / 2, height), (-width / 2, height)]
        scene.add(HalfPlane(), name="ground")
        scene.add(Polygon(corners), mass=1.0, name="block")
    else:
        scene.add(Plane(), name="ground")
        scene.add(Box((width, 5.0, height)), (0, 0, height / 2), mass=1.0, name="block")
    return scene


@pytest.mark.parametrize("d", [2, 3])
def test_a_block_tilts_until_it_turns_or_slides(d: int) -> None:
    """A block b wide and h high on a slope turns over at atan(b/h) and slides at atan(mu)."""
    turns = Masonry(block(d, mu=0.7)).largest_tilt()
    assert turns.angle == pytest.approx(math.degrees(math.atan(0.5)), abs=1e-5)
    assert abs(turns.direction[0]) == 1.0
    slides = Masonry(block(d, mu=0.3)).largest_tilt()
    assert slides.angle == pytest.approx(math.degrees(math.atan(0.3)), abs=1e-5)


@pytest.mark.parametrize("turn", [0.2, 0.25 * math.pi, 1.3])
def test_a_turned_tower_falls_over_its_nearest_edge(turn: float) -> None:
    scene = Scene()
    scene.law(mu=0.7)
    scene.add(Plane(), name="ground")
    half = 0.5 * turn
    scene.add(Box((0.5, 0.8, 2.0)), (0, 0, 1.0), (math.cos(half), 0, 0, math.sin(half)), mass=1.0)
    tilt = Masonry(scene).largest_tilt()
    assert tilt.angle == pytest.approx(math.degrees(math.atan(0.25)), abs=1e-5)
    assert abs(tilt.direction[0] * math.cos(turn) + tilt.direction[1] * math.sin(turn)) > 1.0 - 1e-6


def test_the_ground_tilts_about_gravity_along_any_axis() -> None:
    scene = Scene(gravity=(0.0, -9.81, 0.0))
    scene.law(mu=0.7)
    scene.add(Box((4.0, 1.0, 4.0)), (0, -0.5, 0), fixed=True, name="ground")
    scene.add(Box((0.5, 2.0, 0.8)), (0, 1.0, 0), mass=1.0)
    tilt = Masonry(scene).largest_tilt()
    assert tilt.angle == pytest.approx(math.degrees(math.atan(0.25)), abs=1e-5)
    assert np.abs(tilt.direction) == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)


def test_a_block_in_a_tight_fit_can_be_tilted_without_limit() -> None:
    scene = Scene()
    scene.law(mu=0.7)
    scene.add(Plane(), name="ground")
    scene.add(Box((1.0, 1.0, 1.0)), (0, 0, 0.5), mass=1.0)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        scene.add(Box((1.0, 1.0, 1.0)), (x, y, 0.5), fixed=True)
    assert Masonry(scene).largest_tilt().angle == 90.0


@pytest.mark.parametrize("mass", [1e-12, 1e-3, 1e6, 1e12])
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
def test_limits_of_tilt_and_load_do_not_depend_on_weight_or_size(mass: float, size: float) -> None:
    scene = Scene(overlap=1e-6 * size)
    scene.law(mu=0.7)
    scene.add(Plane(), name="ground")
    scene.add(Box((0.3 * size, size, size)), (0, 0, size / 2), mass=mass, name="block")
    masonry = Masonry(scene)
    assert masonry.largest_tilt().angle == pytest.approx(math.degrees(math.atan(0.3)), rel=1e-7)
    assert masonry.largest_load({"block": (1.0, 0.0, 0.0)}) == pytest.approx(0.3 * mass * 9.81, rel=1e-7)


@pytest.mark.parametrize("d", [2, 3])
def test_a_push_at_the_centre(d: int) -> None:
    """A horizontal force F at the centre, h/2 up: F ≤ m g b/h against turning."""
    push = {"block": (1.0, 0.0) if d == 2 else (1.0, 0.0, 0.0)}
    assert Masonry(block(d)).largest_load(push) == pytest.approx(9.81 * 0.5, rel=1e-6)
    down = {1: (0.0, -1.0) if d == 2 else (0.0, 0.0, -1.0)}
    assert Masonry(block(d)).largest_load(down) == math.inf


@pytest.mark.parametrize("d", [2, 3])
def test_a_block_on_level_ground_needs_no_friction(d: int) -> None:
    masonry = Masonry(block(d))
    assert masonry.least_friction() == 0.0
    assert masonry.verdict(0.05).word == "stands"
    assert repr(masonry) == f"Masonry(1 blocks, 1 supports, in {d}-D)"


def test_the_arch_in_space_is_the_arch_in_the_plane() -> None:
    """The file has six digits; its limits are those of the exact arch in the plane, by Blockwork."""
    plane = load("stone-arch", voussoirs=11, thickness=0.2)
    work = Blockwork.of_scene(plane)
    masonry = Masonry(scene_of_blocks(arch_file(), mu=0.6))
    assert len(masonry.resting.contacts) == 48
    assert masonry.least_friction(1e-4) == pytest.approx(least_friction(work, 1e-4), abs=2e-4)
    assert Masonry(plane).least_friction(1e-4) == pytest.approx(least_friction(work, 1e-4), abs=2e-4)
    in_plane = masonry.largest_tilt([(1, 0, 0)]).angle
    assert in_plane == pytest.approx(Masonry(plane).largest_tilt().angle, abs=0.01)
    # Out of its plane it turns over as a whole, about the outer edges of its feet.
    moving = masonry.model.movable
    centre = np.average(masonry.start.position[moving], axis=0, weights=masonry.model.mass[moving])
    sideways = masonry.largest_tilt([(0, 1, 0)]).angle
    assert sideways == pytest.approx(math.degrees(math.atan(0.3 / centre[2])), abs=1e-4)


@pytest.mark.parametrize(("mu", "word"), [(0.6, "stands"), (0.2, "falls")])
def test_verdicts_on_the_arch(mu: float, word: str) -> None:
    verdict = Masonry(scene_of_blocks(arch_file(), mu=mu)).verdict(0.1)
    assert verdict.word == word
    assert verdict.can_stand == verdict.stays == (word == "stands")
    assert str(verdict).startswith(word)
    if word == "falls":
        assert verdict.fastest.startswith("voussoir")


def clamped() -> Scene:
    """A block between two fixed walls that touch it, with nothing under it (Kao and others 2022)."""
    scene = Scene()
    scene.law(mu=0.5)
    for name, x in (("support_left", -1.0), ("support_right", 1.0)):
        scene.add(Box((1, 1, 1)), (x, 0, 0), fixed=True, name=name)
    scene.add(Box((1, 1, 1)), (0, 0, 0), density=2000, name="block")
    return scene


def test_forces_exist_and_yet_it_falls() -> None:
    """Walls could clamp the block with any force, but nothing presses them: it falls freely."""
    verdict = Masonry(clamped()).verdict(0.1)
    assert (verdict.can_stand, verdict.stays, verdict.word) == (True, False, "falls")
    assert "no promise" in verdict.meaning
    assert verdict.speed == pytest.approx(9.81 * 0.1, rel=0.05)


def test_words_of_the_other_verdicts() -> None:
    assert Verdict(False, True).word == "unclear"
    assert Verdict(True, None).word == "may stand"
    assert Verdict(False, None).word == "falls"


def test_forces_at_the_joints_carry_the_weight() -> None:
    masonry = Masonry(scene_of_blocks(arch_file(), mu=0.6))
    forces = masonry.joint_forces()
    names = masonry.model.names
    weight = 9.81 * float(masonry.model.mass[masonry.model.movable].sum())
    lifted = 0.0
    for each in forces:
        if "support" in names[each.a]:
            lifted += each.force[2]
        elif "support" in names[each.b]:
            lifted -= each.force[2]
        assert 0.0 <= each.mobilised <= 1.0 + 1e-6
    assert lifted == pytest.approx(weight, rel=1e-6)


def beam(d: int) -> Scene:
    """A beam that lies more heavily on the left support than on the right one, which it overlaps by 0.1 m."""
    scene = Scene(d=d)
    scene.law(mu=0.5)
    for name, x in (("left", -1.0), ("right", 1.0)):
        if d == 3:
            scene.add(Box((0.4, 1, 1)), (x, 0, -0.5), fixed=True, name=name)
        else:
            corners = [(x - 0.2, -1), (x + 0.2, -1), (x + 0.2, 0), (x - 0.2, 0)]
            scene.add(Polygon(corners), fixed=True, name=name)
    if d == 3:
        scene.add(Box((2.4, 0.5, 0.2)), (-0.3, 0, 0.1), density=2000, name="beam")
    else:
        scene.add(Polygon([(-1.5, 0), (0.9, 0), (0.9, 0.2), (-1.5, 0.2)]), density=2000, name="beam")
    return scene


@pytest.mark.parametrize("d", [2, 3])
def test_a_beam_falls_when_its_support_has_left_it(d: int, tmp_path: Path) -> None:
    away = (1.0, 0.0) if d == 2 else (1.0, 0.0, 0.0)
    fall = settle(Masonry(beam(d)), "right", away, until=0.2, out=tmp_path / "fall.h5")
    assert fall.bearable == pytest.approx(0.1, abs=2e-3)
    assert fall.collapse is not None
    assert fall.bearable <= fall.collapse < 0.16
    (slid,) = fall.sliding
    assert slid.slid == pytest.approx(fall.bearable, abs=2e-3)
    assert fall.hinges == ()
    from clapas.io.recording import Recording

    with Recording(tmp_path / "fall.h5") as run:
        assert run.n_frames > 10


def test_a_settlement_that_is_borne() -> None:
    fall = settle(Masonry(beam(2)), "right", (1.0, 0.0), until=0.05)
    assert fall.collapse is None
    assert fall.bearable == pytest.approx(fall.reached)
    assert "no collapse" in repr(fall)


@pytest.mark.slow
def test_an_arch_on_a_spreading_support_opens_three_hinges() -> None:
    """One at the crown, outside, two at the haunches, inside (Ochsendorf 2006); 2-D and 3-D agree."""
    solid = Masonry(scene_of_blocks(arch_file(), mu=0.6))
    fall = settle(solid, "support_right", (1, 0, 0))
    assert len(fall.hinges) == 3
    assert fall.sliding == ()
    assert fall.hinges[0].turned == pytest.approx(fall.hinges[1].turned + fall.hinges[2].turned, rel=1e-2)
    crown = max(fall.hinges, key=lambda hinge: hinge.point[2])
    assert crown is fall.hinges[0]
    flat = Scene(d=2, overlap=1e-5)
    flat.law(mu=0.6)
    for body in solid.scene.bodies:
        corners = body.shape.hull.vertices[:, [0, 2]]  # type: ignore[attr-defined]
        section = np.unique(corners.round(6), axis=0)
        middle = section - section.mean(axis=0)
        order = np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))
        flat.add(Polygon(section[order]), density=2000.0, fixed=body.fixed, name=body.name)
    same = settle(Masonry(flat), "support_right", (1.0, 0.0))
    assert same.bearable == pytest.approx(fall.bearable, rel=0.02)
    assert {(h.a, h.b) for h in same.hinges} == {(h.a, h.b) for h in fall.hinges}


def test_elevations(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    for scene in (scene_of_blocks(arch_file()), block(2), block(3)):
        masonry = Masonry(scene)
        axes = Figure().subplots()
        elevation.draw(axes, masonry.model, masonry.start, masonry.joint_forces())
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (m)", f"{'xyz'[masonry.model.d - 1]} (m)")
        drawn = sum(len(each.get_paths()) for each in axes.collections[:2])
        assert drawn == sum(not body.shape.is_static for body in scene.bodies)


def test_refusals() -> None:
    with pytest.raises(SettingsError, match=r"this scene is in 3-D: take clapas\.analysis\.masonry\.Masonry"):
        Blockwork.of_scene(block(3))
    empty = Scene()
    empty.add(Plane())
    with pytest.raises(SettingsError, match="no block of this scene may move"):
        Masonry(empty)
    masonry = Masonry(block(3))
    with pytest.raises(SettingsError, match="load on 'ground': it is a support"):
        masonry.largest_load({"ground": (0, 0, 1)})
    with pytest.raises(SettingsError, match=r"load on 'block': expected 3 finite numbers, got \(1, 2\)"):
        masonry.largest_load({"block": (1, 2)})
    with pytest.raises(SettingsError, match="is vertical: a tilt needs a horizontal one"):
        masonry.largest_tilt([(0, 0, 1)])
    with pytest.raises(SettingsError, match="mu must be at least 0, got -1"):
        masonry.can_stand(-1.0)
    with pytest.raises(SettingsError, match="'block' is no support"):
        settle(masonry, "block")
    with pytest.raises(SettingsError, match="direction must be 3 finite numbers, not all zero"):
        settle(masonry, "ground", (0, 0, 0))
    with pytest.raises(SettingsError, match="until must be positive"):
        settle(masonry, "ground", until=0.0)
    floating = Scene()
    floating.law(mu=0.5)
    floating.add(Box((1, 1, 1)), (0, 0, 5), mass=1.0)
    with pytest.raises(SettingsError, match="no forces hold these blocks"):
        Masonry(floating).joint_forces()
    driven = block(3)
    driven.add(Box((1, 1, 1)), (9, 0, 0), motion=ConstantVelocity((0, 0, 1)), name="driven")
    with pytest.raises(SettingsError, match="'driven' is no support"):
        settle(Masonry(driven), "driven")


def test_a_smooth_wedge_sinks_between_its_supports_and_is_held_all_the_way(tmp_path: Path) -> None:
    """Without friction it is held wherever it is, though the run turns it by rounding."""
    places = {
        "support_l": (-1, -0.2, -1, -0.35466),
        "support_r": (0.2, 1, 0.35466, 1),
        "key": (-0.2, 0.2, -0.35466, 0.35466),
    }
    faces = [(1, 4, 3, 2), (5, 6, 7, 8), (1, 2, 6, 5), (2, 3, 7, 6), (3, 4, 8, 7), (4, 1, 5, 8)]
    lines = []
    for i, (name, (a, b, c, d)) in enumerate(places.items()):
        lines.append(f"o {name}")
        for height, (left, right) in ((0, (a, b)), (0.5, (c, d))):
            lines += [f"v {x} {y} {height}" for x, y in ((left, 0), (right, 0), (right, 0.3), (left, 0.3))]
        lines += ["f " + " ".join(str(8 * i + k) for k in face) for face in faces]
    (tmp_path / "wedge.obj").write_text("\n".join(lines) + "\n")
    scene = scene_of_blocks(tmp_path / "wedge.obj", mu=0.0)
    fall = settle(Masonry(scene), "support_r", (1, 0, 0), until=0.05)
    assert fall.collapse is None
    assert fall.bearable == pytest.approx(0.05, abs=1e-3)


def glued_block(slope: float, force: float = 0.0, push: float = 0.0, **given: float) -> Scene:
    """A block of weight 1 glued to a support by its corners; weight and loads turned by a slope (degrees)."""
    angle = math.radians(slope)
    along, down = (
        np.array([math.cos(angle), 0, math.sin(angle)]),
        np.array([math.sin(angle), 0, -math.cos(angle)]),
    )
    scene = Scene(gravity=tuple(down))
    scene.law(mu=0.5, cohesion=given.get("cohesion", 0.25))
    scene.add(Box((4, 2, 0.2)), (0, 0, -0.1), fixed=True, name="support")
    scene.add(
        Box((1, 1, 0.2)),
        (0, 0, 0.1),
        orientation=(math.sqrt(0.5), 0, 0, math.sqrt(0.5)),
        mass=1.0,
        force=tuple(force * down - push * along),
        torque=tuple(-given.get("torque", 0.0) * down),
        name="block",
    )
    return scene


def test_tilt_of_a_glued_block() -> None:
    """It slides where W sin a = mu (W cos a + C): sin a − cos a / 2 = 1/2 for mu = 1/2 and C = W."""
    exact = math.degrees(2.0 * math.atan(0.5))
    assert Masonry(glued_block(0.0)).largest_tilt([(1, 0, 0)]).angle == pytest.approx(exact, abs=2e-3)
    assert Masonry(glued_block(exact - 0.2)).can_stand()
    assert not Masonry(glued_block(exact + 0.2)).can_stand()


@pytest.mark.parametrize(("force", "cohesion"), [(1.0, 0.0), (3.0, 0.0), (1.0, 0.25), (3.0, 0.5)])
def test_loads_keep_their_direction_when_the_ground_is_tilted(force: float, cohesion: float) -> None:
    """(W + F) sin a = mu ((W + F) cos a + C), and the limit asked at that slope itself."""
    c = 4.0 * cohesion / (1.0 + force)
    exact = math.degrees(math.asin(0.5 * c / math.hypot(1.0, 0.5)) + math.atan(0.5))
    tilt = Masonry(glued_block(0.0, force, cohesion=cohesion)).largest_tilt([(1, 0, 0)])
    assert tilt.angle == pytest.approx(exact, abs=2e-3)
    assert Masonry(glued_block(exact - 0.2, force, cohesion=cohesion)).can_stand()
    assert not Masonry(glued_block(exact + 0.2, force, cohesion=cohesion)).can_stand()


def test_a_slanted_load_is_turned_with_the_weight() -> None:
    """A push F towards the hill: W sin a − F cos a = mu (W cos a + F sin a)."""
    pushed = Masonry(glued_block(0.0, push=0.25, cohesion=0.0))
    for sign in (1.0, -1.0):
        exact = math.degrees(math.atan2(0.5 + sign * 0.25, 1.0 - sign * 0.5 * 0.25))
        assert pushed.largest_tilt([(sign, 0, 0)]).angle == pytest.approx(exact, abs=2e-3)


def test_a_torque_is_turned_with_the_weight() -> None:
    """The slope found is that at which the block, drawn with weight and torque turned, begins to slide."""
    slope = Masonry(glued_block(0.0, torque=0.1)).largest_tilt([(1, 0, 0)]).angle
    assert 30.0 < slope < math.degrees(2.0 * math.atan(0.5)) - 0.1
    assert Masonry(glued_block(slope - 0.05, torque=0.1)).can_stand()
    assert not Masonry(glued_block(slope + 0.05, torque=0.1)).can_stand()


@pytest.mark.parametrize("d", [2, 3])
def test_blocks_without_weight_stand(d: int) -> None:
    scene = block(d, gravity=(0.0,) * d)
    assert Masonry(scene).verdict().word == "stands"
    assert Masonry(scene).joint_forces() == []


def test_a_block_that_falls_onto_its_support_has_fallen() -> None:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Box((4, 2, 0.2)), (0, 0, -0.1), fixed=True, name="support")
    scene.add(Box((1, 1, 0.5)), (0, 0, 0.75), density=2000, name="block")
    verdict = Masonry(scene).verdict()
    assert verdict.word == "falls"
    assert verdict.moved == pytest.approx(0.5, abs=1e-2)  # it sinks in by what it falls in half a step


@pytest.mark.parametrize("law", [{"threshold": 10.0}, {"viscosity": 1.0}])
def test_laws_that_limit_analysis_does_not_know_are_named(law: dict[str, float]) -> None:
    scene = Scene()
    scene.law(mu=0.0, **law)
    scene.add(Plane(), name="floor")
    scene.add(Box((1, 1, 0.5)), (0, 0, 0.25), density=2000, name="block")
    with pytest.raises(SettingsError, match="threshold or a viscosity"):
        Masonry(scene).verdict()
