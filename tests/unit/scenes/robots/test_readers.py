"""Robot files: what is read of them, against MuJoCo's own reader, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from clapas.errors import FormatError
from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Polyhedron, Sphere
from clapas.scenes.robots import read_robot
from clapas.scenes.robots.description import Actuator, Inertia, Pose
from clapas.scenes.robots.xml import read_xml

HERE = Path(__file__).parent
FILES = sorted(path.name for path in (*HERE.glob("*.urdf"), *HERE.glob("*.xml")))


def test_there_are_eleven() -> None:
    assert len(FILES) == 11


# -------------------------------------------------------------------- URDF


def test_a_urdf_link_has_its_inertia_in_its_own_frame() -> None:
    robot = read_robot(HERE / "pendulum.urdf")
    rod = robot.links[1]
    assert rod.inertia is not None
    assert (rod.inertia.mass, rod.inertia.centre) == (2.0, (0.0, 0.0, -0.5))
    assert np.trace(rod.inertia.tensor) == pytest.approx(0.17 + 0.18 + 0.05)
    # roll, pitch, yaw: R = Rz(0.3) Ry(0.2) Rx(0.1)
    turn = np.eye(3)
    for axis, angle in zip(np.eye(3), (0.1, 0.2, 0.3), strict=True):
        turn = rotations.to_matrix(rotations.from_axis_angle(axis, angle)) @ turn
    given = np.array([[0.17, 0.01, -0.02], [0.01, 0.18, 0.005], [-0.02, 0.005, 0.05]])
    assert rod.inertia.tensor == pytest.approx(turn @ given @ turn.T)
    assert rod.collisions[0].shape == Cylinder(0.05, 1.0)
    pivot = robot.joints[0]
    assert (pivot.kind, pivot.damping, pivot.friction, pivot.limits) == ("hinge", 0.1, 0.2, None)
    assert pivot.pose.along((1, 0, 0)) == pytest.approx((0, 1, 0))


def test_urdf_joints_have_limits_efforts_and_followers() -> None:
    robot = read_robot(HERE / "gripper.urdf")
    thumb, finger = robot.joints
    assert (thumb.kind, thumb.limits, thumb.effort) == ("slider", (0.0, 0.08), 20.0)
    assert finger.axis == (-1.0, 0.0, 0.0)
    follower = robot.followers[0]
    assert (follower.follower, follower.leader, follower.ratio, follower.offset) == (
        "finger",
        "thumb",
        2.0,
        0.01,
    )
    assert [type(one.shape) for link in robot.links for one in link.collisions] == [Box, Sphere, Capsule, Box]
    assert robot.notes == ("velocity of <limit> is left out: speeds of joints are not limited",)


def test_meshes_are_found_by_package_and_come_in_convex_parts() -> None:
    robot = read_robot(HERE / "tool.urdf")
    parts = robot.links[3].collisions
    assert [type(one.shape) for one in parts] == [Polyhedron, Polyhedron]
    assert [one.shape.volume for one in parts] == pytest.approx([1e-3, 1e-3])
    assert parts[1].shape.mass_properties.centre == pytest.approx((0.35, 0.05, 0.05))
    assert robot.notes[0].startswith("without part in the motion, left out: 1 <material>, 1 <visual>")
    elsewhere = read_robot(HERE / "tool.urdf", packages={"robots": HERE})
    assert len(elsewhere.links[3].collisions) == 2


def test_a_mesh_that_is_not_convex_is_said_to_be_filled(tmp_path: Path) -> None:
    text = (HERE / "tool.urdf").read_text().replace("package://robots/meshes/two_cubes.obj", "corner.obj")
    (tmp_path / "tool.urdf").write_text(text)
    (tmp_path / "corner.obj").write_text((HERE / "meshes" / "corner.obj").read_text())
    notes = read_robot(tmp_path / "tool.urdf").notes
    assert any(
        "a part is not convex, and its hull is used, of volume 0.0035 m³ instead of 0.003" in n for n in notes
    )


def test_floating_and_planar_joints_of_urdf() -> None:
    robot = read_robot(HERE / "floating.urdf")
    assert [joint.kind for joint in robot.joints] == ["free", "planar"]
    assert robot.links[2].collisions == ()


# -------------------------------------------------------------------- MJCF


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".xml")])
def test_masses_and_places_are_those_that_mujoco_reads(name: str) -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_path(str(HERE / name))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    robot = read_robot(HERE / name)
    poses = {"world": Pose()}
    for joint in robot.joints:
        poses[joint.child] = poses[joint.parent] @ joint.pose
    for link in robot.links:
        if link.name == "world":
            continue
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link.name)
        assert link.inertia is not None
        assert link.inertia.mass == pytest.approx(model.body_mass[number])
        assert link.inertia.centre == pytest.approx(model.body_ipos[number], abs=1e-7)
        moments = np.sort(np.linalg.eigvalsh(link.inertia.tensor))
        assert moments == pytest.approx(np.sort(model.body_inertia[number]), rel=1e-6)
        turn = np.array(model.body_iquat[number])
        axes = rotations.to_matrix(turn / np.linalg.norm(turn))
        assert link.inertia.tensor == pytest.approx(
            axes @ np.diag(model.body_inertia[number]) @ axes.T, abs=1e-7
        )
        assert poses[link.name].position == pytest.approx(data.xpos[number], abs=1e-12)
        assert abs(np.dot(poses[link.name].orientation, data.xquat[number])) == pytest.approx(1.0)


FRAMED = """<mujoco><default><default class="big"><geom size="0.3"/></default></default><worldbody>
  <frame pos="1 0 0" euler="0 0 90" childclass="big"><geom type="box" size="0.1 0.2 0.3" pos="1 0 0"/>
    <body name="a" pos="1 0 0"><freejoint/><geom pos="0 0 0.1"/>
      <frame name="f" pos="0 0.5 0" euler="90 0 0"><geom type="capsule" size="0.1" fromto="0 0 0 0 0 1"/>
        <frame pos="0 0 1"><body name="b" euler="0 90 0"><geom size="0.1"/>
          <frame pos="0.1 0 0" euler="0 90 0"><joint name="j" axis="0 0 1" pos="0.1 0.2 0.3"/></frame>
        </body></frame>
      </frame>
    </body></frame></worldbody></mujoco>"""


def test_elements_in_frames_are_meant_in_them(tmp_path: Path) -> None:
    (path := tmp_path / "framed.xml").write_text(FRAMED)
    robot = read_robot(path)
    world, a, b = robot.links
    free, hinge = robot.joints
    assert world.collisions[0].pose.position == pytest.approx((1.0, 1.0, 0.0))
    assert free.pose.position == pytest.approx((1.0, 1.0, 0.0))
    quarter = math.sqrt(0.5)
    assert free.pose.orientation == pytest.approx((quarter, 0.0, 0.0, quarter))
    ball, capsule = (one.shape for one in a.collisions)
    assert isinstance(ball, Sphere)
    assert ball.radius == 0.3  # the class of the frame
    assert isinstance(capsule, Capsule)
    # A quarter turn about x takes z to −y: the capsule goes from y = 0.5 to −0.5, and b stands at its end.
    assert a.collisions[1].pose.position == pytest.approx((0.0, 0.0, 0.0))
    assert abs(a.collisions[1].pose.along((0.0, 0.0, 1.0))[1]) == pytest.approx(1.0)
    assert hinge.pose.position == pytest.approx((0.0, -0.5, 0.0))
    # A quarter turn about y takes (x, y, z) to (z, y, −x).
    assert hinge.anchor == pytest.approx((0.4, 0.2, -0.1))
    assert hinge.axis == pytest.approx((1.0, 0.0, 0.0))
    assert b.collisions[0].pose == Pose()


def test_files_are_included_where_they_are_named(tmp_path: Path) -> None:
    """The floor of a scene around a robot; meshes are looked for beside the first file."""
    (tmp_path / "parts").mkdir()
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "rock.obj").write_text(mesh)
    (tmp_path / "parts" / "robot.xml").write_text(
        "<mujoco><worldbody><geom type='box' size='1 1 1' pos='0 0 -5'/><body name='rock'><freejoint/>"
        "<geom type='mesh' mesh='rock'/></body></worldbody><include file='parts/assets.xml'/></mujoco>"
    )
    (tmp_path / "parts" / "assets.xml").write_text("<mujoco><asset><mesh file='rock.obj'/></asset></mujoco>")
    (path := tmp_path / "scene.xml").write_text(
        "<mujoco model='scene'><include file='parts/robot.xml'/>"
        "<worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>"
    )
    robot = read_robot(path)
    assert robot.name == "scene"
    assert [link.name for link in robot.links] == ["world", "rock"]
    assert [type(one.shape).__name__ for one in robot.links[0].collisions] == ["Box", "Plane"]
    assert robot.links[1].inertia is not None
    assert robot.links[1].inertia.mass == pytest.approx(1000 / 6)
    (tmp_path / "parts" / "assets.xml").write_text("<mujoco><include file='scene.xml'/></mujoco>")
    with pytest.raises(FormatError, match=r"scene.xml' is included a second time"):
        read_robot(path)
    (tmp_path / "parts" / "assets.xml").write_text("<mujoco><include file='none.xml'/></mujoco>")
    with pytest.raises(FormatError, match=r"assets.xml, line 1: <include>: .*none.xml: there is no"):
        read_robot(path)


def test_name_spaces_and_settings_of_other_programs_are_no_part_of_a_robot(tmp_path: Path) -> None:
    (path := tmp_path / "robot.urdf").write_text(
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='a'/>"
        "<mujoco><compiler meshdir='x'/></mujoco></robot>"
    )
    assert read_robot(path).notes == ("without part in the motion, left out: 1 <mujoco>",)


def test_joints_of_mjcf() -> None:
    robot = read_robot(HERE / "pendulum.xml")
    shoulder, elbow = robot.joints
    assert shoulder.limits == pytest.approx((-math.radians(170), math.radians(170)))
    assert (shoulder.damping, elbow.limits, elbow.kind) == (0.02, None, "hinge")
    assert (robot.dt, robot.gravity, robot.name) == (5e-4, (0.0, 0.0, -9.81), "double pendulum")
    assert isinstance(robot.links[0].collisions[0].shape, Plane)
    assert robot.links[0].collisions[0].mu == 0.6
    assert robot.links[1].collisions[0].shape == Capsule(0.03, 0.5)


def test_classes_of_defaults() -> None:
    robot = read_robot(HERE / "frames.xml")
    joints = {joint.name: joint for joint in robot.joints}
    assert (joints["ja"].damping, joints["jb"].damping) == (0.3, 0.0)
    assert joints["ja"].anchor == (0.1, 0.0, 0.0)
    assert (joints["jb"].kind, joints["jb"].limits) == ("slider", (-0.1, 0.1))
    assert joints["jc"].zero == 0.2
    assert [link.collisions[0].shape for link in robot.links[:2]] == [
        Box((0.2, 0.04, 0.02)),
        Box((0.2, 0.02, 0.01)),
    ]
    assert {one.mu for link in robot.links for one in link.collisions} == {0.9}


def test_shapes_that_touch_nothing_weigh() -> None:
    robot = read_robot(HERE / "free.xml")
    world, clump, ghost = robot.links
    assert [type(one.shape) for one in world.collisions] == [Plane, Box]
    kinds = [type(one.shape) for one in clump.collisions]
    assert kinds == [Sphere, Cylinder, Capsule, Polyhedron, Polyhedron, Polyhedron]
    assert ghost.collisions[0].mu == 0.0
    assert ("clump", "ghost") in robot.apart
    assert ("world", "ghost") in robot.apart
    assert [joint.kind for joint in robot.joints] == ["free", "free"]


def test_motors_springs_and_friction() -> None:
    robot = read_robot(HERE / "motors.xml")
    joints = {joint.name: joint for joint in robot.joints}
    assert (joints["rail"].friction, joints["rail"].damping) == (0.5, 1.0)
    assert joints["hinge"].spring == pytest.approx((3.0, math.radians(10)))
    assert joints["hinge"].armature == 0.01
    assert joints["neck"].kind == "ball"
    assert [(one.kind, one.damping) for one in joints["neck"].along] == [("turn", 0.1)] * 3
    drive, hold, spin = robot.actuators
    assert (drive.kind, drive.bound) == ("torque", 10.0)
    assert (hold.kind, hold.stiffness, hold.damping, hold.bound) == ("servo", 20.0, 2.0, 10.0)
    assert (spin.kind, spin.bound) == ("velocity", 4.0)
    words = " ".join(robot.notes)
    for said in (
        "targets of actuators are those of the joints themselves",
        "in terms of the control in MJCF, effort = 2 × control (of 'rail')",
        "ctrlrange of <position> is left out",
        "gain kv",
    ):
        assert said in words


DRIVEN = """<mujoco><compiler angle="radian"/><worldbody>
  <body pos="0 0 1"><joint name="lift" type="slide" axis="0 0 2"/><geom size="0.1" mass="2"/>
    <body pos="1 0 0"><joint name="turn" axis="0 3 0" pos="0 0 0.5" armature="0.25"/>
      <inertial pos="0 0 0.5" mass="1" diaginertia="0.1 0.1 0.1"/>
      <body pos="0 0 0.5"><joint name="tip" axis="1 0 0"/>
        <inertial pos="0 0 2" mass="3" diaginertia="0.2 0.2 0.2"/></body></body></body></worldbody>
  <actuator>{actuator}</actuator></mujoco>"""


def actuator_of(tmp_path: Path, words: str) -> tuple[Actuator, str]:
    (path := tmp_path / "arm.xml").write_text(DRIVEN.format(actuator=words))
    robot = read_robot(path)
    return robot.actuators[0], " ".join(robot.notes)


@pytest.mark.parametrize(
    ("words", "kind", "stiffness", "damping", "means"),
    [
        ('gainprm="3"', "torque", 0.0, 0.0, "effort = 3 × control"),
        ('gainprm="3" gear="-2" dyntype="none" biasprm="0 1 2"', "torque", 0.0, 0.0, "effort = -6 × control"),
        ('biastype="affine" gainprm="40" biasprm="0 -40 -5"', "servo", 40.0, 5.0, None),
        ('biastype="affine" gainprm="40" biasprm="0 -40" gear="3"', "servo", 360.0, 0.0, "control / 3"),
        ('biastype="affine" gainprm="20" biasprm="0 -40 -5"', "servo", 40.0, 5.0, "coordinate = control / 2"),
        ('biastype="affine" gainprm="5" biasprm="0 0 -5"', "velocity", 0.0, 0.0, "gain kv"),
    ],
)
def test_general_actuators_are_motors_and_servos(
    words: str, kind: str, stiffness: float, damping: float, means: str | None, tmp_path: Path
) -> None:
    one, notes = actuator_of(tmp_path, f"<general joint='tip' {words}/>")
    assert (one.kind, one.stiffness, one.damping) == (kind, stiffness, damping)
    assert (means or "") in notes
    assert ("in terms of the control" in notes) == (means is not None and kind != "velocity")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('dyntype="integrator"', "dyntype 'integrator' is not supported"),
        (
            'gaintype="affine"',
            "gaintype 'affine' is not supported, only fixed; drive the joint by a motor of",
        ),
        ('biastype="muscle"', "biastype 'muscle' is not supported"),
        (
            'biastype="affine" gainprm="40" biasprm="1 -40 0"',
            "gainprm 40 and biasprm 1 -40 0 are not those of",
        ),
        ('biastype="affine" gainprm="4" biasprm="0 0 -5"', "motor with a rate"),
        ('biastype="affine" gainprm="4" biasprm="0 4 0"', "are not those of"),
    ],
)
def test_general_actuators_that_are_neither_are_refused_by_name(
    words: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=said):
        actuator_of(tmp_path, f"<general joint='tip' {words}/>")


def test_a_damping_ratio_is_of_all_that_the_joint_moves(tmp_path: Path) -> None:
    """In the reference pose, along unit axes, with the armature: the diagonal of the mass matrix."""
    inertia = {"lift": 6.0, "turn": 0.25 + 0.1 + 0.2 + 3.0 * 2.0**2, "tip": 0.2 + 3.0 * 2.0**2}
    for name, moved in inertia.items():
        critical = 2.0 * math.sqrt(50.0 * moved)
        for words in ('kp="50" dampratio="0.5"', 'kp="12.5" gear="2" dampratio="0.5"'):
            one, _ = actuator_of(tmp_path, f"<position joint='{name}' {words}/>")
            assert one.damping == pytest.approx(0.5 * critical)
        words = "biastype='affine' gainprm='50' biasprm='0 -50 0.5'"
        one, _ = actuator_of(tmp_path, f"<general joint='{name}' {words}/>")
        assert one.damping == pytest.approx(0.5 * critical)
    with pytest.raises(FormatError, match="kv and dampratio both say"):
        actuator_of(tmp_path, "<position joint='tip' kv='1' dampratio='1'/>")


RING = """<mujoco><compiler eulerseq="XYZ"/><default><motor gear="3"/></default><worldbody><body name="hub">
  <freejoint name="loose"/><geom size="0.1"/>
  <replicate count="12" sep="-" offset="0.2 0 0.1" euler="0 0 30">
    <frame pos="1 0 0"><body name="spoke"><joint name="bend" axis="0 1 0"/><geom size="0.1"/>
      <replicate count="2" offset="0 0.5 0"><body name="toe"><joint name="curl"/><geom size="0.05"/></body>
      </replicate></body></frame>
  </replicate></body></worldbody>
  <contact><exclude body1="hub" body2="spoke"/></contact>
  <equality><joint name="gear" joint1="curl1" joint2="bend"/></equality>
  <actuator><motor name="pull" joint="curl0"/></actuator></mujoco>"""


def test_replicates_stand_in_frames_that_turn_and_move_on(tmp_path: Path) -> None:
    """Each place is the one before and the offset in its frame; names have the numbers of the copies."""
    (path := tmp_path / "ring.xml").write_text(RING)
    robot = read_robot(path)
    joints = {joint.name: joint for joint in robot.joints}
    assert len(robot.links) == 1 + 12 + 24
    place = Pose()
    for k in range(12):
        turn = rotations.from_axis_angle(np.array([0.0, 0.0, 1.0]), math.radians(30.0 * k))
        spoke = joints[f"bend-{k:02d}"].pose
        assert spoke.position == pytest.approx(place.at((1.0, 0.0, 0.0)))
        assert np.abs(np.dot(spoke.orientation, turn)) == pytest.approx(1.0)
        assert joints[f"curl1-{k:02d}"].pose.position == (0.0, 0.5, 0.0)
        assert joints[f"curl1-{k:02d}"].parent == f"spoke-{k:02d}"
        further = rotations.from_axis_angle(np.array([0.0, 0.0, 1.0]), math.radians(30.0 * (k + 1)))
        place = Pose(place.at((0.2, 0.0, 0.1)), tuple(further))
    assert [one.joint for one in robot.actuators] == [f"curl0-{k:02d}" for k in range(12)]
    assert robot.actuators[3].name == "pull-03"
    gears = [(one.follower, one.leader) for one in robot.followers]
    assert gears == [(f"curl1-{k:02d}", f"bend-{k:02d}") for k in range(12)]
    assert ("hub", "spoke-11") in robot.apart


def test_replicates_about_several_axes_move_on_along_their_own(tmp_path: Path) -> None:
    """Angles are multiplied, turns are not repeated: about two axes this is not the same."""
    body = '<body name="a"><freejoint/><geom size="1"/></body>'
    copies = f'<replicate count="4" offset="1 2 3" euler="40 0 30">{body}</replicate>'
    words = f'<mujoco><compiler eulerseq="XYZ"/><worldbody>{copies}</worldbody></mujoco>'
    (path := tmp_path / "spiral.xml").write_text(words)
    poses = [joint.pose for joint in read_robot(path).joints]
    assert poses[0].position == (0.0, 0.0, 0.0)
    for before, after in pairwise(poses):
        assert after.position == pytest.approx(before.at((1.0, 2.0, 3.0)), abs=1e-12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "it needs the attribute 'count'"),
        ("count='1.5'", "count must be a whole number, at least 1, got 1.5"),
        (
            "count='2' ofset='1 0 0'",
            "the attribute 'ofset' is not known; known are count, euler, offset and sep",
        ),
    ],
)
def test_replicates_that_cannot_be(words: str, said: str, tmp_path: Path) -> None:
    (path := tmp_path / "bad.xml").write_text(
        f"<mujoco><worldbody><replicate {words}><geom size='1'/></replicate></worldbody></mujoco>"
    )
    with pytest.raises(FormatError, match=said):
        read_robot(path)


def test_motors_of_tendons_are_replicated_with_them(tmp_path: Path) -> None:
    (path := tmp_path / "winches.xml").write_text(
        """<mujoco><worldbody><site name="hook" pos="0 0 1"/><replicate count="2" offset="1 0 0">
        <body name="load"><freejoint/><geom size="0.1"/><site name="eye" pos="0 0 0.1"/></body></replicate>
        </worldbody><actuator><motor tendon="rope"/></actuator><tendon><spatial name="rope" range="0 2">
        <site site="hook"/><site site="eye"/></spatial></tendon></mujoco>"""
    )
    robot = read_robot(path)
    assert [(one.name, one.a, one.b) for one in robot.stretches] == [
        ("rope0", "world", "load0"),
        ("rope1", "world", "load1"),
    ]
    assert [one.joint for one in robot.actuators] == ["rope0", "rope1"]
    assert robot.stretches[1].limits == (None, 2.0)
    assert (robot.stretches[1].at, robot.stretches[1].to) == ((0.0, 0.0, 1.0), (0.0, 0.0, 0.1))


@pytest.mark.parametrize(("of_joint", "bound"), [(4.0, 4.0), (40.0, 16.0)])
def test_an_actuator_is_bound_by_its_joint_and_by_itself(
    of_joint: float, bound: float, tmp_path: Path
) -> None:
    (path := tmp_path / "bound.xml").write_text(
        f"<mujoco><worldbody><body><joint name='j' actuatorfrcrange='{-of_joint} {of_joint}'/>"
        "<geom size='0.1'/></body></worldbody>"
        "<actuator><position joint='j' gear='2' forcerange='-8 8'/></actuator></mujoco>"
    )
    assert [one.bound for one in read_robot(path).actuators] == [bound]


@pytest.mark.parametrize(
    ("words", "least", "most"),
    [
        ("gear='3' ctrlrange='-2 2'", None, 6.0),
        ("gear='3' ctrlrange='-2 2' ctrllimited='false'", None, None),
        ("gear='3' ctrlrange='-2 2' forcerange='-1 1'", None, 3.0),
        ("gear='-3' ctrlrange='-1 2'", -6.0, 3.0),
        ("gear='3' ctrlrange='0 9' forcerange='-4 3'", 0.0, 9.0),
        ("gear='30' ctrlrange='-1 1'", None, 20.0),
    ],
)
def test_the_effort_of_a_motor_is_cut_where_the_file_cuts_it(
    words: str, least: float | None, most: float | None, tmp_path: Path
) -> None:
    of_joint = "actuatorfrcrange='-20 20'" if "30" in words else ""
    (path := tmp_path / "bound.xml").write_text(
        f"<mujoco><worldbody><body><joint name='j' {of_joint}/><geom size='0.1'/></body></worldbody>"
        f"<actuator><motor joint='j' {words}/></actuator></mujoco>"
    )
    robot = read_robot(path)
    assert [(one.least, one.bound) for one in robot.actuators] == [(least, most)]
    assert not any("range" in note for note in robot.notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ctrlrange='1 2' forcerange='-1 0.5'", "ctrlrange leaves no effort"),
        ("ctrlrange='2 1'", "ctrlrange must be a lower and an upper bound, got 2 and 1"),
    ],
)
def test_ranges_of_motors_that_cannot_be(words: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        actuator_of(tmp_path, f"<motor joint='tip' {words}/>")


def test_notes_on_actuators_are_one_for_all_of_a_sort(tmp_path: Path) -> None:
    bodies = "".join(
        f"<body><joint name='j{k}'/><joint name='v{k}' axis='1 0 0'/><geom size='0.1'/></body>"
        for k in range(6)
    )
    acting = "".join(
        f"<motor joint='j{k}' gear='{2 + k // 5}'/><velocity joint='v{k}' kv='2'/>" for k in range(6)
    )
    (path := tmp_path / "many.xml").write_text(
        f"<mujoco><worldbody>{bodies}</worldbody><actuator>{acting}</actuator></mujoco>"
    )
    first, second = read_robot(path).notes
    assert first.startswith("velocity actuators of 'v0', 'v1', 'v2', 'v3' and 2 more: they hold their rates")
    assert second.endswith(
        "effort = 2 × control (of 'j0', 'j1', 'j2', 'j3' and 1 more), effort = 3 × control (of 'j5')"
    )


def test_loops_gears_and_several_joints() -> None:
    robot = read_robot(HERE / "loops.xml")
    kinds = {joint.child: joint.kind for joint in robot.joints}
    assert kinds == {
        **dict.fromkeys(("left", "coupler", "right", "gear", "pinion"), "hinge"),
        "bolt": "cylindrical",
        "cross": "universal",
        "puck": "planar",
        "hung": "free",
    }
    assert [(one.kind, one.a, one.b) for one in robot.closures] == [
        ("ball", "coupler", "right"),
        ("fixed", "hung", "world"),
    ]
    assert (robot.followers[0].follower, robot.followers[0].ratio) == ("jp", -2.0)
    assert robot.apart == (("gear", "pinion"),)
    assert robot.notes == ("equality at line 26 is left out: it is not active",)


# -------------------------------------------------------------------- what is refused

LINK = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>{}</link>'
ARM = LINK.format("") + LINK.format("").replace('"a"', '"b"')
SHAPE = LINK.format("<collision><geometry>{}</geometry></collision>")
JOINT = '<joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint>'

URDF_ERRORS = {
    "no link": ("", "a robot needs at least one <link>"),
    "twins": (LINK.format("") * 2, "two links are called 'a'"),
    "no name": ("<link/>", "it needs the attribute 'name'"),
    "misspelt element": (
        LINK.format("<colision/>"),
        r"line 1: <colision>: this element is not known or not supp",
    ),
    "misspelt attribute": (
        SHAPE.format('<sphere radius="1" raduis="2"/>'),
        "the attribute 'raduis' is not known",
    ),
    "xacro": ("<xacro:property/>" + LINK.format(""), "run xacro on the file first"),
    "two inertials": (LINK.format("<inertial/>"), "a second <inertial> in <link>"),
    "negative mass": (LINK.format("").replace('value="1"', 'value="-1"'), "value must be at least 0, got -1"),
    "no inertia": (
        '<link name="a"><inertial><mass value="1"/></inertial></link>',
        "it needs an element <inertia>",
    ),
    "no number": (
        LINK.format("").replace('value="1"', 'value="heavy"'),
        "value must be numbers, got 'heavy'",
    ),
    "not finite": (LINK.format("").replace('value="1"', 'value="nan"'), "value must be finite, got 'nan'"),
    "too many": (LINK.format("").replace('value="1"', 'value="1 2"'), "value must be one number, got '1 2'"),
    "short vector": (SHAPE.format('<box size="1 2"/>'), "size must be 3 numbers, got '1 2'"),
    "bad shape": (SHAPE.format('<box size="1 2 -3"/>'), "<box>: box"),
    "no geometry": (SHAPE.format(""), "expected one of box, sphere, cylinder, capsule, mesh; got nothing"),
    "unknown geometry": (SHAPE.format("<torus/>"), "got <torus>"),
    "no mesh": (SHAPE.format('<mesh filename="nowhere.stl"/>'), "there is no mesh '.*nowhere.stl'"),
    "no package": (SHAPE.format('<mesh filename="package://zzz/a.stl"/>'), "there is no package 'zzz' above"),
    "collada": (
        SHAPE.format('<mesh filename="a.dae"/>'),
        r"meshes are read from \.stl and \.obj, got 'a\.dae'",
    ),
    "damaged mesh": (SHAPE.format('<mesh filename="a.stl"/>'), "too few for an STL file"),
    "flat mesh": (SHAPE.format('<mesh filename="flat.obj"/>'), r"<mesh>: mesh flat\.obj: "),
    "joint type": (
        ARM + JOINT.format("revolut", ""),
        r"unknown type 'revolut' \(did you mean 'revolute'\?\)",
    ),
    "no limits": (ARM + JOINT.format("revolute", ""), "a revolute joint needs <limit lower upper>"),
    "limits": (ARM + JOINT.format("revolute", '<limit lower="1" upper="0"/>'), "lower, 1, is above upper, 0"),
    "no axis": (ARM + JOINT.format("continuous", '<axis xyz="0 0 0"/>'), "the axis is zero"),
    "no child": (
        ARM + '<joint name="j" type="fixed"><parent link="a"/></joint>',
        "it needs an element <child>",
    ),
    "stranger": (LINK.format("") + JOINT.format("fixed", ""), "names the link 'b', which is not in the file"),
    "two parents": (
        ARM + JOINT.format("fixed", "") + JOINT.format("fixed", "").replace('"j"', '"k"'),
        "child of two",
    ),
    "two tops": (ARM, "links that nothing joins: a, b"),
    "twin joints": (ARM + JOINT.format("fixed", "") * 2, "two joints are called 'j'"),
    "a ring": (
        ARM
        + JOINT.format("fixed", "")
        + JOINT.format("fixed", "")
        .replace('"j"', '"k"')
        .replace('parent link="a"/><child link="b"', 'parent link="b"/><child link="a"'),
        "got a loop of joints",
    ),
}


@pytest.mark.parametrize("case", URDF_ERRORS)
def test_what_no_urdf_file_may_have(case: str, tmp_path: Path) -> None:
    content, message = URDF_ERRORS[case]
    (tmp_path / "a.stl").write_bytes(b"not a mesh")
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{content}</robot>')
    with pytest.raises(FormatError, match=message) as caught:
        read_robot(path)
    assert str(path) in str(caught.value)


BODY = '<worldbody><body name="a">{}<geom size="1"/></body></worldbody>'
MJCF_ERRORS = {
    "no world": ("", "it needs an element <worldbody>"),
    "twins": ("<worldbody><body name='a'/><body name='a'/></worldbody>", "another body has this name"),
    "unknown element": (BODY.format("<flexcomp/>"), "<flexcomp>: this element is not known or not supported"),
    "extension": (
        BODY.format("") + "<extension/>",
        "<extension>: this element is not known or not supported",
    ),
    "general actuator": (
        BODY.format("") + "<actuator><general/></actuator>",
        "<general>: actuators act on joints and tendons: it needs the attribute 'joint' or 'tendon'",
    ),
    "muscle": (BODY.format("") + "<actuator><muscle/></actuator>", "<muscle>: this element is not known"),
    "unknown attribute": (BODY.format('<joint damp="1"/>'), "the attribute 'damp' is not known"),
    "unknown class": (BODY.format('<joint class="x"/>'), "there is no class 'x' among the defaults"),
    "class without name": (
        "<default><default/></default>",
        "a <default> inside another needs the attribute 'class'",
    ),
    "ellipsoid": (
        BODY.format('<geom type="ellipsoid" size="1 2 3"/>'),
        "a geom of type ellipsoid is not supported",
    ),
    "geom type": (BODY.format('<geom type="bx"/>'), r"unknown type 'bx' \(did you mean 'box'\?\)"),
    "small size": (
        BODY.format('<geom type="box" size="1"/>'),
        "size of a box must be at least 3 numbers, got 1",
    ),
    "bad shape": (BODY.format('<geom size="-1"/>'), "<geom>: sphere"),
    "moving plane": (BODY.format('<geom type="plane" size="1 1 1"/>'), "a plane stands in <worldbody>"),
    "fromto": (BODY.format('<geom type="sphere" size="1" fromto="0 0 0 1 0 0"/>'), "fromto is for capsules"),
    "no length": (
        BODY.format('<geom type="capsule" size="1" fromto="0 0 0 0 0 0"/>'),
        "fromto gives one point twice",
    ),
    "no mesh": (BODY.format('<geom type="mesh" mesh="m"/>'), "there is no mesh 'm' in <asset>"),
    "fitted": (BODY.format('<geom mesh="m"/>'), "a sphere fitted to a mesh is not supported"),
    "few vertices": (
        "<asset><mesh name='m' vertex='0 0 0 1'/></asset>" + BODY.format('<geom type="mesh" mesh="m"/>'),
        "vertex must be at least 4 points",
    ),
    "two orientations": (
        BODY.format('<geom size="1" quat="1 0 0 0" euler="0 0 0"/>'),
        "one orientation is enough",
    ),
    "zero quaternion": (BODY.format('<geom size="1" quat="0 0 0 0"/>'), "the quaternion is zero"),
    "zero direction": (BODY.format('<geom size="1" zaxis="0 0 0"/>'), "a direction is zero"),
    "eulerseq": ("<compiler eulerseq='abc'/>" + BODY.format(""), "eulerseq must be three of the letters"),
    "global": ("<compiler coordinate='global'/>" + BODY.format(""), "global coordinates are of old versions"),
    "angle": ("<compiler angle='grad'/>" + BODY.format(""), "unknown angle 'grad'"),
    "mocap": (BODY.format("").replace("<body", "<body mocap='true'"), "a mocap body is moved from outside"),
    "flag": (BODY.format('<joint limited="yes"/>'), "limited must be true, false or auto, got 'yes'"),
    "gravcomp": (BODY.format("").replace("<body", "<body gravcomp='1'"), "gravcomp, weight taken off a body"),
    "free inside": (BODY.format("<body><freejoint/><geom size='1'/></body>"), "a free joint stands alone"),
    "axis": (BODY.format('<joint axis="0 0 0"/>'), "the axis is zero"),
    "range": (BODY.format('<joint range="1 0"/>'), "range must be a lower and an upper limit"),
    "ball range": (
        BODY.format('<joint type="ball" range="0 1"/>'),
        "the range of a ball joint is not supported",
    ),
    "joints in a row without mass": (
        "<worldbody><body name='a'><joint axis='1 0 0'/><joint axis='1 1 0'/></body></worldbody>",
        "the body 'a' has no mass, but moves",
    ),
    "limits switched off": (
        BODY.format("") + "<option><flag limit='disable' frictionloss='enable'/></option>",
        "<flag>: the attribute 'limit' is not known or not supported",
    ),
    "contacts by one law": (
        BODY.format("") + "<option><flag override='enable'/></option>",
        "<flag>: the attribute 'override' is not known or not supported",
    ),
    "shell": (
        BODY.format("<geom type='mesh' mesh='m'/>")
        + "<asset><mesh name='m' file='m.obj' inertia='shell'/></asset>",
        "a mesh with the inertia of a shell is not supported",
    ),
    "spatial tendon": (
        BODY.format("") + "<tendon><spatial><site site='a'/></spatial></tendon>",
        "this element is not known or not supported",
    ),
    "tendon over three sites": (
        BODY.format("<site name='a'/>")
        + "<tendon><spatial>"
        + 3 * "<site site='a'/>"
        + "</spatial></tendon>",
        "<spatial>: this element is not known or not supported",
    ),
    "site of a tendon": (
        BODY.format("<site name='a'/>")
        + "<tendon><spatial><site site='a'/><site site='b'/></spatial></tendon>",
        "there is no site 'b'",
    ),
    "slack spring": (
        BODY.format("<site name='a'/>") + "<tendon><spatial stiffness='1' springlength='0 1'>"
        "<site site='a'/><site site='a'/></spatial></tendon>",
        "a spring that is slack between two lengths is not supported",
    ),
    "names of tendons": (
        BODY.format("<joint name='j'/><site name='a'/>")
        + "<tendon><spatial name='j'><site site='a'/><site site='a'/></spatial></tendon>",
        "a joint or a tendon is called 'j'",
    ),
    "motor of a tendon": (
        BODY.format("") + "<actuator><motor tendon='t'/></actuator>",
        "there is no tendon between two sites called 't'",
    ),
    "mass": (
        BODY.format('<inertial pos="0 0 0" mass="0" diaginertia="1 1 1"/>'),
        "mass must be positive, got 0",
    ),
    "motor of nothing": (
        BODY.format("") + "<actuator><motor site='s'/></actuator>",
        "actuators act on joints",
    ),
    "motor of a stranger": (
        BODY.format("") + "<actuator><motor joint='s'/></actuator>",
        "there is no joint 's'",
    ),
    "gear": (
        BODY.format("<joint name='j'/>") + "<actuator><motor joint='j' gear='0'/></actuator>",
        "gear must be one number",
    ),
    "force": (
        BODY.format("<joint name='j'/>") + "<actuator><position joint='j' forcerange='-1 2'/></actuator>",
        "forcerange must be symmetric",
    ),
    "two motors": (
        BODY.format("<joint name='j'/>") + "<actuator><motor joint='j'/><motor joint='j'/></actuator>",
        "has another actuator",
    ),
    "exclude": (
        BODY.format("") + "<contact><exclude body1='a' body2='b'/></contact>",
        "there is no body 'b'",
    ),
    "one joint": (
        BODY.format("<joint name='j'/>") + "<equality><joint joint1='j'/></equality>",
        "an equality of one joint",
    ),
    "polynomial": (
        BODY.format("<joint name='j'/>")
        + "<equality><joint joint1='j' joint2='j' polycoef='0 1 2 0 0'/></equality>",
        "polycoef of more than first degree",
    ),
    "no such joint": (
        BODY.format("<joint name='j'/>") + "<equality><joint joint1='k' joint2='j'/></equality>",
        "there is no joint 'k'",
    ),
    "sites": (
        BODY.format("") + "<equality><connect site1='s' site2='t'/></equality>",
        "sites are not supported",
    ),
    "relpose": (
        BODY.format("") + "<equality><weld body1='a' relpose='1 0 0 1 0 0 0'/></equality>",
        "relpose is not supported",
    ),
}


@pytest.mark.parametrize("case", MJCF_ERRORS)
def test_what_no_mjcf_file_may_have(case: str, tmp_path: Path) -> None:
    content, message = MJCF_ERRORS[case]
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{content}</mujoco>")
    with pytest.raises(FormatError, match=message) as caught:
        read_robot(path)
    assert str(path) in str(caught.value)


def test_what_is_not_supported_can_be_left_out_aloud(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{BODY.format('')}<extension/><extension/></mujoco>")
    assert read_robot(path, strict=False).notes == ("not supported, left out: 2 <extension>",)


XML_ERRORS = {
    "no xml": ("robot", "not XML: syntax error"),
    "cut short": ("<robot><link>", "not XML: no element found"),
    "another root": ("<sdf/>", r"expected a robot, <robot> \(URDF\) or <mujoco> \(MJCF\), got <sdf>"),
    "bomb": (
        '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
        "declares a document type",
    ),
    "outside": (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot>&a;</robot>',
        "declares a document type",
    ),
    "too deep": ("<a>" * 600 + "</a>" * 600, "too many elements"),
}


@pytest.mark.parametrize("case", XML_ERRORS)
def test_files_that_are_no_robots(case: str, tmp_path: Path) -> None:
    content, message = XML_ERRORS[case]
    path = tmp_path / "robot.urdf"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_robot(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        read_xml(tmp_path / "nothing.urdf")
    with pytest.raises(FormatError, match="a folder or a device"):
        read_xml(tmp_path)


def test_inertias_add_up() -> None:
    """Two halves of a bar are the bar."""
    half = Inertia(1.0, (0.5, 0.0, 0.0), np.diag([0.0, 1 / 12, 1 / 12]))
    both = Inertia.together([half, half.seen_from(Pose((-1.0, 0.0, 0.0)))])
    assert (both.mass, both.centre) == (2.0, (0.0, 0.0, 0.0))
    assert both.tensor == pytest.approx(np.diag([0.0, 2 * 2**2 / 12, 2 * 2**2 / 12]))


def test_names_that_come_twice_are_refused_by_whoever_reads(tmp_path: Path) -> None:
    ball = '<geom type="sphere" size="0.1"/>'
    inner = f'<body name="b" pos="0 0 -0.3"><joint name="j" type="hinge"/>{ball}</body>'
    outer = f'<body name="a" pos="0 0 1"><joint name="j" type="hinge"/>{ball}{inner}</body>'
    (tmp_path / "twice.xml").write_text(f"<mujoco><worldbody>{outer}</worldbody></mujoco>", encoding="utf-8")
    with pytest.raises(FormatError, match="two joints are called 'j'; names are unique"):
        read_robot(tmp_path / "twice.xml")


def test_a_gear_without_a_number_is_refused(tmp_path: Path) -> None:
    body = '<body name="a"><joint name="j" type="hinge"/><geom type="sphere" size="0.1"/></body>'
    motor = '<actuator><motor joint="j" gear=""/></actuator>'
    text = f"<mujoco><worldbody>{body}</worldbody>{motor}</mujoco>"
    (tmp_path / "gear.xml").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="gear must be one number that is not zero"):
        read_robot(tmp_path / "gear.xml")
