"""Robots in scenes: bodies, joints and their coordinates, motion against MuJoCo's."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import clapas
from clapas import cli
from clapas.errors import FormatError, SceneError
from clapas.geometry.shapes import Point
from clapas.scenes.compilation import compile_scene
from clapas.scenes.robots import robot_scene
from clapas.scenes.run import Run
from clapas.scenes.simulation import energy

HERE = Path(__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore:robot '")


def loaded(name: str, **options: Any) -> tuple[clapas.Scene, Any]:
    scene = clapas.Scene()
    scene.law(mu=0.5)
    return scene, scene.load_robot(HERE / name, **options)


def test_links_that_fixed_joints_hold_are_one_body() -> None:
    scene, robot = loaded("tool.urdf")
    assert len(scene.bodies) == 1
    assert robot.bodies == {"arm": 0, "flange": 0, "wedge": 0}
    assert robot.joints == ("shoulder",)
    model = compile_scene(scene)
    assert model.mass[0] == 4.0
    # Zero is outside of the limits, 0.5 to 1.5: the arm starts at the nearest.
    turn = 0.5
    centre = (3 * np.array([0.2, 0.0]) + 1 * np.array([0.5, 0.05])) / 4
    rotated = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]] @ centre
    assert model.position[0] == pytest.approx([*rotated, 0.0])
    assert scene.joints[0].laws.start == 0.5


def test_a_robot_starts_where_it_is_told() -> None:
    quarter = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
    scene, robot = loaded(
        "gripper.urdf",
        position=(1, 2, 3),
        orientation=quarter,
        joints={"thumb": 0.03},
        prefix="left ",
        self_collision=False,
    )
    assert robot.joints == ("left thumb", "left finger")
    sim = clapas.Simulation(scene, dt=1e-3)
    assert sim.body("left palm").origin == pytest.approx([1, 2, 3])
    assert sim.body("left left").origin == pytest.approx([1, 2 - 0.07, 3])
    assert sim.joint("left thumb").position == pytest.approx(0.03)
    assert sim.joint("left finger").position == pytest.approx(0.07)  # it follows: 2 · 0.03 + 0.01
    assert sim.body("left right").origin == pytest.approx([1, 2.03, 3])


def test_a_free_base_falls_and_a_fixed_one_does_not() -> None:
    for fixed, speed in ((True, 0.0), (False, -0.0981)):
        scene, _ = loaded("gripper.urdf", fixed_base=fixed)
        sim = clapas.Simulation(scene, dt=1e-3)
        sim.step(10)
        assert sim.body("palm").velocity[2] == pytest.approx(speed, abs=1e-9)


def test_limits_and_gears_hold() -> None:
    """Driven against its stop the thumb stands there, the finger where the gear puts it."""
    scene, _ = loaded("gripper.urdf", self_collision=False)
    sim = clapas.Simulation(scene, dt=1e-3)
    for _ in range(300):
        sim.joint("thumb").apply(5.0)
        sim.step()
    assert sim.joint("thumb").position == pytest.approx(0.08, abs=1e-9)
    assert sim.joint("finger").position == pytest.approx(0.17, abs=1e-9)


@pytest.mark.parametrize(("name", "tolerance"), [("pendulum.xml", 2e-5), ("frames.xml", 2e-5)])
def test_trees_move_as_in_mujoco(name: str, tolerance: float) -> None:
    """Coordinates after 0.1 s of the two engines, both with short steps."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_path(str(HERE / name))
    model.opt.timestep = 2e-5
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    sim = clapas.Simulation(robot_scene(HERE / name), dt=5e-4)
    sim.step(200)
    for number in range(model.njnt):
        joint = sim.joint(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, number))
        value = joint.angle if joint.definition.kind == "hinge" else joint.position
        assert value == pytest.approx(data.qpos[number], abs=tolerance), joint.name


def test_loops_are_closed() -> None:
    sim = clapas.Simulation(robot_scene(HERE / "loops.xml"), dt=1e-3)
    sim.step(50)
    assert sim.joint("jp").angle == pytest.approx(-2 * sim.joint("jg").angle, abs=1e-9)
    assert sim.body("hung").velocity == pytest.approx(np.zeros(3), abs=1e-9)
    # a parallelogram: both cranks turn alike
    assert sim.joint("jl").angle == pytest.approx(sim.joint("jr").angle, abs=1e-8)
    assert sim.body("bolt").velocity[2] == pytest.approx(-9.81 * 0.05, rel=1e-9)


FOUR_BAR = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body name="left"><joint name="jl" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.02"/>
    <body name="coupler" pos="0 0 1"><joint name="jm" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size="0.02"/></body></body>
  <body name="right" pos="1 0 0"><joint name="jr" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 1" size="0.02"/></body></worldbody>
  <equality>{loop}</equality></mujoco>"""
CONNECT = '<connect body1="coupler" body2="right" anchor="1 0 0"/>'


def test_loops_close_where_the_file_says_wherever_the_robot_starts(tmp_path: Path) -> None:
    """A parallelogram: its cranks turn alike. With one of them turned its ends would meet at other points."""
    (path := tmp_path / "bar.xml").write_text(FOUR_BAR.format(loop=CONNECT))
    scene = clapas.Scene()
    scene.law(mu=0.3)
    gap = 2 * math.sqrt(2) * math.sin(0.15)  # the corner, √2 from the pivot, has turned by 0.3
    with pytest.raises(SceneError, match=rf"the loop is open where the robot starts, its points {gap:.3g} m"):
        scene.load_robot(path, joints={"jl": 0.3})
    scene.load_robot(path, position=(0.1, 0.2, 5.3), joints={"jl": 0.3, "jm": -0.3, "jr": 0.3})
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.body("left").apply(torque=(0, 5, 0))
    sim.step(100)
    corner = sim.body("coupler").point((1, 0, 0))
    np.testing.assert_allclose(corner, sim.body("right").point((0, 0, 1)), atol=1e-9)
    assert sim.joint("jl").rate > 1e-3
    (path := tmp_path / "weld.xml").write_text(FOUR_BAR.format(loop='<weld body1="right"/>'))
    with pytest.raises(
        SceneError, match=r"what it welds turned by 0\.2 rad; give coordinates of all its joints"
    ):
        scene.load_robot(path, joints={"jr": -0.2}, prefix="second ")


@pytest.mark.parametrize("position", [(0.1, 0.2, 0.3), (1e5 / 3, 7.7, -1e3 / 7)])
def test_loops_that_close_up_to_rounding_are_closed(
    position: tuple[float, float, float], tmp_path: Path
) -> None:
    (path := tmp_path / "bar.xml").write_text(FOUR_BAR.format(loop=CONNECT))
    turn = np.array([0.3, 0.5, -0.2, 0.9])
    robot = clapas.Scene().load_robot(path, position=position, orientation=turn)
    assert len(robot.joints) == 4


def test_motors_of_a_file_are_driven_by_their_targets() -> None:
    sim = clapas.Simulation(robot_scene(HERE / "motors.xml"), dt=1e-3)
    assert sim.commands == {"rail": 0.0, "hinge": 0.0, "wrist": 0.0}
    sim.joint("wrist").target = 0.5
    sim.step(20)
    assert sim.joint("wrist").rate == pytest.approx(0.5, abs=1e-6)
    here = sim.snapshot()
    sim.joint("wrist").target = -0.5
    sim.step(20)
    sim.reset(here)
    assert sim.joint("wrist").target == 0.5
    with pytest.raises(clapas.SettingsError, match="joint 'neck' has no motor"):
        sim.command({"neck": 1.0})


def test_bodies_without_shape_move_and_touch_nothing() -> None:
    sim = clapas.Simulation(robot_scene(HERE / "floating.urdf"), dt=1e-3)
    sim.step(10)
    assert sim.body("puck").velocity == pytest.approx(np.zeros(3), abs=1e-9)
    assert sim.body("ball").velocity[2] == pytest.approx(-0.0981)


def test_what_is_not_used_is_said(recwarn: pytest.WarningsRecorder) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loaded("gripper.urdf")
        loaded("tool.urdf")
    assert [str(one.message) for one in said] == [
        "robot 'gripper': velocity of <limit> is left out: speeds of joints are not limited",
        "robot 'tool': velocity of <limit> is left out: speeds of joints are not limited",
    ]
    assert said[0].filename == __file__


MOON = """<mujoco model="moon"><option gravity="0 0 -1.62" timestep="0.004"/><worldbody>
<body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def test_a_scene_takes_gravity_and_time_step_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "moon.xml"
    path.write_text(MOON)
    scene = clapas.Scene()
    scene.law(mu=0.5)
    robot = scene.load_robot(path)
    assert (scene.gravity, scene.run.dt, robot.notes) == ((0.0, 0.0, -1.62), 0.004, ())
    sim = clapas.Simulation(scene)
    sim.step(10)
    assert sim.body("ball").velocity[2] == pytest.approx(-1.62 * 0.04)
    # What the first robot brought stays with a second one; one without a word on it changes nothing.
    path.write_text(MOON.replace("-1.62", "-3.71"))
    assert scene.load_robot(path, prefix="b ", position=(1, 0, 0)).notes == (
        "gravity (0, 0, -3.71) m/s² is left out: the scene has its own, (0, 0, -1.62) m/s²",
    )
    path.write_text(MOON.replace('gravity="0 0 -1.62" timestep="0.004"', ""))
    assert scene.load_robot(path, prefix="c ", position=(2, 0, 0)).notes == ()
    assert (scene.gravity, scene.run.dt) == ((0.0, 0.0, -1.62), 0.004)
    assert robot_scene(path).run.dt == 2e-3  # MuJoCo's own


@pytest.mark.parametrize("assigned", [False, True])
def test_gravity_and_time_step_of_the_scene_stay(tmp_path: Path, assigned: bool) -> None:
    path = tmp_path / "moon.xml"
    path.write_text(MOON)
    down = (0, 0, -9.81)  # the default, but said
    scene = clapas.Scene() if assigned else clapas.Scene(gravity=down)
    if assigned:
        scene.gravity = down
    scene.run = Run(dt=1e-3)
    with pytest.warns(UserWarning, match=r"gravity \(0, 0, -1.62\) m/s² is left out.*; time step 0.004 s is"):
        robot = scene.load_robot(path)
    assert (scene.gravity, scene.run.dt) == ((0.0, 0.0, -9.81), 1e-3)
    assert robot.notes == (
        "gravity (0, 0, -1.62) m/s² is left out: the scene has its own, (0, 0, -9.81) m/s²",
        "time step 0.004 s is left out: the scene has its own, 0.001 s",
    )


def test_robots_that_cannot_be_built(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    with pytest.raises(FormatError, match="line 1: <link name='b'>: the link has no mass, but moves"):
        clapas.Scene().load_robot(path)
    text = (HERE / "pendulum.urdf").read_text()
    path.write_text(text.replace('izz="0.05"', 'izz="5"'))
    with pytest.raises(SceneError, match="no body has the principal moments"):
        clapas.Scene().load_robot(path)
    with pytest.raises(SceneError, match="robots are in 3-D, the scene in 2-D"):
        clapas.Scene(d=2).load_robot(HERE / "pendulum.urdf")
    with pytest.raises(SceneError, match=r"joints has 'pivt' \(did you mean 'pivot'\?\)"):
        loaded("pendulum.urdf", joints={"pivt": 1.0})
    with pytest.raises(SceneError, match=r"motors for \['pivt'\], which are no joints of it"):
        loaded("pendulum.urdf", motors={"pivt": clapas.TorqueMotor(1.0)})
    scene, _ = loaded("pendulum.urdf")
    with pytest.raises(SceneError, match="already has this name"):
        scene.load_robot(HERE / "pendulum.urdf")
    scene.load_robot(HERE / "pendulum.urdf", prefix="second ", position=(5, 0, 0))
    with pytest.raises(SceneError, match=r"it starts at 2\.0, outside of its limits"):
        loaded("tool.urdf", joints={"shoulder": 2.0})
    circle = (
        (HERE / "gripper.urdf")
        .read_text()
        .replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="finger"/>')
    )
    path.write_text(circle)
    with pytest.raises(FormatError, match="joints that follow each other in a circle"):
        clapas.Scene().load_robot(path)


def test_a_robot_that_is_refused_leaves_nothing_behind() -> None:
    scene = clapas.Scene()
    for joints in ({"shoulder": 2.0}, {"shoulder": 2.0}):
        with pytest.raises(SceneError, match="outside of its limits"):
            scene.load_robot(HERE / "tool.urdf", joints=joints)
    assert scene.bodies == []
    assert scene.joints == []
    scene.load_robot(HERE / "tool.urdf")


FOLDING = """<robot name="folding">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="l1"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="{radius}"/></geometry></collision></link>
  <link name="l2">
    <inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.001" iyy="0.01" izz="0.01"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></collision>
  </link>
  <joint name="j1" type="fixed"><parent link="base"/><child link="stem"/><origin xyz="0 0 0.2"/></joint>
  <link name="stem"/>
  <joint name="j2" type="continuous"><parent link="stem"/><child link="l1"/><axis xyz="0 0 1"/></joint>
  <joint name="j3" type="continuous"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_a_link_of_a_urdf_robot_stops_at_another(tmp_path: Path) -> None:
    """A bar on a hinge 0.1 m above a cube falls on the edge of the cube."""
    path = tmp_path / "folding.urdf"
    path.write_text(FOLDING.format(radius=0.05))
    sim = clapas.Simulation(robot_scene(path), dt=1e-3)
    sim.step(600)
    angle = sim.joint("j3").angle
    # The lower side of the bar, 0.025 below its axis, goes through the edge (0.1, −0.1) seen from the hinge.
    assert 0.1 * np.sin(angle) - 0.1 * np.cos(angle) == pytest.approx(-0.025, abs=1e-3)


def test_links_of_a_urdf_robot_that_overlap_at_the_start_are_named(tmp_path: Path) -> None:
    path = tmp_path / "folding.urdf"
    text = FOLDING.format(radius=0.05).replace('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.12"/>')
    path.write_text(text)
    with pytest.warns(UserWarning, match="will pass through each other: 'base' and 'l2'"):
        scene = robot_scene(path)
    clapas.Simulation(scene, dt=1e-3).step(5)


@pytest.mark.parametrize("given", ['mass="-1"', 'density="-1"'])
def test_a_geom_has_no_negative_mass(given: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    geom = f'<geom type="box" size="0.2 0.1 0.1" {given}/><geom size="0.1" pos="0.4 0 0" mass="2"/>'
    path.write_text(f'<mujoco><worldbody><body name="b"><freejoint/>{geom}</body></worldbody></mujoco>')
    with pytest.raises(FormatError, match=f"{given.split('=')[0]} must be at least 0, got -1"):
        clapas.Scene().load_robot(path)


def test_pairs_that_never_touch() -> None:
    scene = clapas.Scene()
    scene.law(mu=0.5)
    scene.add(clapas.Plane(), name="floor")
    scene.add(clapas.Sphere(0.1), (0, 0, 0.1), mass=1.0, name="ball")
    scene.add(clapas.Sphere(0.1), (0, 0, 0.25), mass=1.0, name="ghost")
    scene.ignore("ghost", "floor")
    scene.ignore("ghost", "ball")  # they overlap
    again = clapas.Scene.from_dict(scene.to_dict())
    for one in (scene, again):
        sim = clapas.Simulation(one, dt=1e-3)
        sim.step(100)
        assert sim.body("ghost").velocity[2] == pytest.approx(-0.981)
        assert sim.body("ball").velocity[2] == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(SceneError, match="ignore: body 1 twice; name two bodies"):
        scene.ignore("ball", 1)
    with pytest.raises(SceneError, match=r"ignored\[0\]: expected two bodies, got \[1\]"):
        clapas.Scene.from_dict({**scene.to_dict(), "ignored": [[1]]})


FLOOR = """<mujoco><worldbody><geom type="plane" size="1 1 1" {floor}/>
  <body name="rests" pos="0 0 0.1"><freejoint/><geom size="0.1" contype="2" conaffinity="2"/></body>
  <body name="falls" pos="1 0 0.1"><freejoint/><geom size="0.1" {falls}/></body>
  <body name="post" pos="5 0 1"><geom size="0.1"/></body></worldbody>
  <contact><exclude body1="post" body2="rests"/>{excluded}</contact></mujoco>"""


@pytest.mark.parametrize(
    "given",
    [
        {"floor": 'contype="2" conaffinity="2"', "falls": 'contype="1" conaffinity="1"', "excluded": ""},
        {
            "floor": 'contype="2" conaffinity="2"',
            "falls": 'contype="2" conaffinity="2"',
            "excluded": '<exclude body1="world" body2="falls"/>',
        },
    ],
    ids=["masks", "excluded"],
)
def test_bodies_that_never_touch_the_world_fall_through_its_planes(
    given: dict[str, str], tmp_path: Path
) -> None:
    """What is fixed to the world has no part in its planes: excluding it leaves the floor."""
    (path := tmp_path / "floor.xml").write_text(FLOOR.format(**given))
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.load_robot(path)
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.step(100)
    assert sim.body("rests").velocity[2] == pytest.approx(0.0, abs=1e-6)
    assert sim.body("falls").velocity[2] == pytest.approx(-0.981)


def test_links_that_pass_through_others_because_of_what_they_carry_are_named(tmp_path: Path) -> None:
    (path := tmp_path / "tool.xml").write_text(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
        <body name="hand" pos="0 0 1"><freejoint/><geom size="0.1"/>
          <body name="tool" pos="0 0 0.1"><geom size="0.05"/></body></body>
        <body name="ball" pos="0 0 2"><freejoint/><geom size="0.1"/></body>
        <body name="post" pos="2 0 2"><freejoint/><geom size="0.1"/></body></worldbody>
        <contact><exclude body1="tool" body2="ball"/>
        <exclude body1="post" body2="tool"/><exclude body1="post" body2="hand"/></contact></mujoco>"""
    )
    assert clapas.Scene().load_robot(path).notes == (
        "'hand' and 'ball' pass through each other too: they are of one body with 'tool' and 'ball', which "
        "never touch",
    )


SWITCHED = """<mujoco><option><flag {flags}/></option><option gravity="0 0 -2"/><worldbody>
  <geom type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 0.1"><joint type="slide"/><geom size="0.1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("flags", "speed"),
    [('energy="enable"', 0.0), ('gravity="disable"', 0.0), ('contact="disable" island="disable"', -0.2)],
)
def test_gravity_and_contacts_are_off_where_a_file_switches_them_off(
    flags: str, speed: float, tmp_path: Path
) -> None:
    (path := tmp_path / "ball.xml").write_text(SWITCHED.format(flags=flags))
    scene = clapas.Scene()
    scene.law(mu=0.3)
    robot = scene.load_robot(path)
    assert robot.notes == ()
    assert scene.gravity == ((0, 0, 0) if "gravity" in flags else (0, 0, -2))
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.step(100)
    assert sim.body("ball").velocity[2] == pytest.approx(speed, abs=1e-6)


CROSS = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body name="base"><freejoint/><geom type="sphere" size="0.1" mass="1e6"/>
    <body name="arm" pos="0 0 1">
      <joint name="roll" axis="1 0 0" range="-0.1 0.1"/><joint name="pitch" axis="0 1 0" damping="0.2"/>
      <geom type="box" size="0.1 0.1 0.1" pos="0 0 0.3" mass="1"/>
    </body>
    <body name="puck" pos="3 0 0">
      <joint name="spin" axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0" frictionloss="1"/>
      <joint name="y" type="slide" axis="0 1 0" range="-0.05 0.05"/>
      <geom type="sphere" size="0.1" mass="1"/>
    </body>
  </body></worldbody>
  <actuator>
    <position name="hold" joint="pitch" kp="50" kv="5"/><motor name="lean" joint="roll"/>
    <motor name="push" joint="x"/><motor name="side" joint="y"/>
  </actuator></mujoco>"""


def test_several_joints_of_a_body_have_their_own_laws(tmp_path: Path) -> None:
    """A universal joint on a moving parent, and a planar one whose slides turn with the child."""
    (path := tmp_path / "cross.xml").write_text(CROSS)
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    robot = scene.load_robot(path)
    assert robot.joints == ("roll pitch", "roll", "pitch", "spin x y", "spin", "x", "y")
    sim = clapas.Simulation(scene, dt=2e-3)
    for name, target in {"pitch": 0.4, "roll": 2.0, "x": 0.9, "y": -1.0}.items():
        sim.joint(name).target = target
    sim.step(500)
    assert sim.joint("roll").angle == pytest.approx(0.1, abs=1e-3)
    assert sim.joint("pitch").angle == pytest.approx(0.4, abs=0.02)
    turned = Rotation.from_euler("XY", [sim.joint("roll").angle, sim.joint("pitch").angle])
    top = np.array([0, 0, 1]) + turned.apply([0, 0, 0.3])
    np.testing.assert_allclose(sim.body("arm").position, top, atol=1e-4)
    assert sim.joint("x").position == pytest.approx(0.0, abs=1e-5)  # held by its friction
    assert sim.joint("y").position == pytest.approx(-0.05, abs=1e-6)
    assert sim.body("puck").position[1] == pytest.approx(-0.05, abs=1e-3)


SLIDING_HINGE = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body name="puck" pos="1 2 3">{joints}<geom type="sphere" size="0.1" mass="1.5"/></body></worldbody>
  <actuator><motor joint="spin"/></actuator></mujoco>"""
SPIN = '<joint name="spin" axis="0 0 1" pos="0.2 0 0"/>'
SLIDE = '<joint name="{0}" type="slide" axis="{1}" pos="{2}" frictionloss="100" ref="0.4"/>'
ALONG_X, ALONG_Y = SLIDE.format("x", "1 0 0", "0 0.7 0"), SLIDE.format("y", "0 1 0", "0.5 0 0")
ALONG_Z = SLIDE.format("z", "0 0 1", "0 -0.3 0")


@pytest.mark.parametrize("start", [0.4, -0.3])
@pytest.mark.parametrize(
    "joints",
    [ALONG_X + ALONG_Y + SPIN, SPIN + ALONG_X + ALONG_Y, ALONG_Z + SPIN, SPIN + ALONG_Z],
    ids=["slides before", "slides after", "screw", "screw after"],
)
def test_a_hinge_that_slides_turns_about_its_own_point(joints: str, start: float, tmp_path: Path) -> None:
    """Slides are stuck, wherever their points are: the puck turns about that of the hinge, by τ t² / 2 I."""
    (path := tmp_path / "puck.xml").write_text(SLIDING_HINGE.format(joints=joints))
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    names = [name for name in ("x", "y", "z") if f'name="{name}"' in joints]
    scene.load_robot(path, joints=dict.fromkeys(names, start))
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.joint("spin").target = 0.1
    sim.step(1000)
    gone = np.array([(start - 0.4) * (name in names) for name in ("x", "y", "z")])
    point, arm = np.array([1.2, 2.0, 3.0]), np.array([-0.2, 0.0, 0.0])
    if joints.startswith(SPIN):  # the slides turn with the puck
        arm += gone
    else:
        point += gone
    inertia = 0.4 * 1.5 * 0.1**2 + 1.5 * (arm[:2] @ arm[:2])  # Steiner: about the axis of the hinge
    angle = sim.joint("spin").angle
    assert angle == pytest.approx(0.1 / (2 * inertia), rel=1e-4)
    at = point + Rotation.from_euler("z", angle).apply(arm)
    np.testing.assert_allclose(sim.body("puck").position, at, atol=1e-5)
    for name in names:
        assert sim.joint(name).position == pytest.approx(start, abs=1e-5)


def test_the_command_line_takes_robots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", str(HERE / "motors.xml")]) == 0
    said = capsys.readouterr().out
    assert "joint wrist" in said
    assert "motor hold" in said
    assert "ctrlrange" in said
    assert cli.main(["info", str(HERE / "tool.urdf"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mass"] == 4.0
    out = tmp_path / "run.h5"
    assert (
        cli.main(["run", str(HERE / "pendulum.xml"), "--duration", "0.01", "--out", str(out), "--quiet"]) == 0
    )
    with clapas.Recording(out) as run:
        assert run.dt == 5e-4
        assert run.n_frames == 3


GIMBAL = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body name="arm" pos="0 0 1">
    <joint name="x" axis="1 0 0" {0}/><joint name="z" axis="0 0 1" range="-1.2 1.2"/>
    <joint name="y" axis="0 1 0"/>
    <geom type="box" size="0.1 0.2 0.3" mass="2"/>
  </body></worldbody>
  <actuator><motor joint="x"/><motor joint="z"/><motor joint="y"/></actuator></mujoco>"""


def gimbal(tmp_path: Path, given: str = "", **options: object) -> clapas.Simulation:
    (path := tmp_path / "gimbal.xml").write_text(GIMBAL.format(given))
    scene = clapas.Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3)
    scene.load_robot(path, **options)
    return clapas.Simulation(scene, dt=1e-3)


def test_three_hinges_in_a_body_turn_one_after_another(tmp_path: Path) -> None:
    """Angles are those of the intrinsic rotations about x, z, y, from where they start; rates are theirs."""
    start = {"x": 0.3, "z": -0.5, "y": 0.8}
    sim = gimbal(tmp_path, joints=start)
    for name, torque in {"x": 0.7, "z": 0.4, "y": -0.9}.items():
        assert sim.joint(name).angle == pytest.approx(start[name], abs=1e-14)
        sim.joint(name).target = torque
    for _ in range(100):
        before = [sim.joint(name).angle for name in "xzy"]
        sim.step()
        angles, rates = ([getattr(sim.joint(name), what) for name in "xzy"] for what in ("angle", "rate"))
        w, *v = sim.body("arm").orientation
        turned = Rotation.from_quat([*v, w])
        np.testing.assert_allclose(turned.as_euler("XZY"), angles, atol=1e-12)
    np.testing.assert_allclose((np.array(angles) - before) / 1e-3, rates, atol=2e-2)


def test_torques_on_three_hinges_do_the_work_of_their_angles(tmp_path: Path) -> None:
    sim = gimbal(tmp_path, joints={"z": 0.9})
    torques = {"x": 0.7, "z": -0.4, "y": -0.9}
    for name, torque in torques.items():
        sim.joint(name).target = torque
    before = {name: sim.joint(name).angle for name in torques}
    sim.step(150)
    work = sum(torque * (sim.joint(name).angle - before[name]) for name, torque in torques.items())
    assert sum(energy(sim.model, sim.state)) == pytest.approx(work, rel=1e-4)
    for name, torque in torques.items():
        assert sim.joint(name).effort == pytest.approx(torque, rel=1e-12)


def test_an_effort_on_one_of_three_hinges_is_that_of_its_motor(tmp_path: Path) -> None:
    one, two = (gimbal(tmp_path, joints={"x": 0.4, "z": 0.9}) for _ in range(2))
    one.joint("x").target = 0.6
    two.joint("x").apply(0.6)
    for sim in (one, two):
        sim.step()
    np.testing.assert_allclose(one.state.velocity, two.state.velocity, atol=1e-6)


def test_limits_and_friction_of_one_of_three_hinges_hold(tmp_path: Path) -> None:
    sim = gimbal(tmp_path, given='range="-0.1 0.1" frictionloss="0.2"')
    sim.joint("x").target, sim.joint("z").target = 0.1, 2.0
    sim.step(50)
    assert sim.joint("x").angle == pytest.approx(0.0, abs=1e-7)  # its friction holds it
    sim.joint("x").target = 3.0
    sim.step(400)
    assert sim.joint("x").angle == pytest.approx(0.1, abs=1e-6)
    assert sim.joint("z").angle == pytest.approx(1.2, abs=1e-6)


def test_a_humanoid_falls_within_its_limits() -> None:
    """Three hinges in hips and neck, two in waist, ankles and shoulders."""
    with pytest.warns(UserWarning, match="fixed tendon 'left hamstring' is left out"):
        scene = robot_scene(HERE / "humanoid.xml")
    names = [joint.name for joint in scene.joints if joint.rows.coordinate]
    assert len(names) == 24
    assert {joint.kind for joint in scene.joints if "hip" in joint.name} == {"ball", "gimbal"}
    sim = clapas.Simulation(scene, dt=5e-3)
    sim.joint("left hip swing").target = -30.0
    sim.step(120)
    for joint in scene.joints:
        if joint.laws.limits is not None:
            low, high = joint.laws.limits
            assert low - 2e-3 < sim.joint(joint.name).angle < high + 2e-3, joint.name
    assert sim.body("chest").position[2] < 1.2
    assert len(sim.contacts("world plane 0"))


ROW = """<mujoco><compiler angle="radian"/><worldbody><body name="top" pos="0 0 2">{above}
  <body name="held">{joints}<inertial pos="0.1 0.2 -0.4" mass="2" diaginertia="0.1 0.2 0.15"/></body></body>
  </worldbody></mujoco>"""
IN_A_ROW = "the {} joints of body 'held' are joined through links of 1e-07 of its inertia"


def row_of(tmp_path: Path, joints: str, above: str = "", **options: Any) -> clapas.Simulation:
    (path := tmp_path / "row.xml").write_text(ROW.format(joints=joints, above=above))
    scene = clapas.Scene(**options)
    scene.law(mu=0.3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene.load_robot(path)
    assert any(IN_A_ROW.format(joints.count("<joint")) in str(one.message) for one in caught)
    return clapas.Simulation(scene, dt=1e-3)


def test_three_hinges_askew_leave_what_a_ball_joint_leaves(tmp_path: Path) -> None:
    askew = "<joint axis='1 0 0'/><joint axis='0 1 1'/><joint axis='0 0.2 1'/>"
    sim = row_of(tmp_path, askew)
    scene = clapas.Scene()
    scene.law(mu=0.3)
    inertia = np.diag([0.1, 0.2, 0.15])
    scene.add(Point(), (0.1, 0.2, 1.6), mass=2.0, inertia=inertia, name="held")
    scene.join("ball", None, "held", at=(0, 0, 2))
    ball = clapas.Simulation(scene, dt=1e-3)
    for one in (sim, ball):
        one.step(400)
    assert sim.body("held").position == pytest.approx(ball.body("held").position, abs=2e-6)
    assert sim.body("held").velocity == pytest.approx(ball.body("held").velocity, abs=2e-5)


def test_two_hinges_apart_are_a_double_pendulum_with_a_light_arm(tmp_path: Path) -> None:
    """The second hinge is 0.7 m below the first; the body has its centre 0.5 m below the second."""
    joints = "<joint axis='0 1 0' pos='0 0 0.7' ref='0.6'/><joint axis='0 1 0'/>"
    (path := tmp_path / "apart.xml").write_text(
        "<mujoco><compiler angle='radian'/><worldbody><body name='held'>"
        + joints
        + "<inertial pos='0 0 -0.5' "
        "mass='2' diaginertia='0.1 0.1 0.1'/></body></worldbody></mujoco>"
    )
    scene = clapas.Scene()
    scene.law(mu=0.3)
    with pytest.warns(UserWarning, match="joined through links"):
        scene.load_robot(path, joints={"held hinge": 1.1, "held hinge 1": -0.3})
    sim, (m, moment, a, b) = clapas.Simulation(scene, dt=1e-3), (2.0, 0.1, 0.7, 0.5)

    def motion(_: float, y: np.ndarray) -> list[float]:
        one, two, fast, other = y
        c, s = m * a * b * math.cos(one - two), m * a * b * math.sin(one - two)
        M = [[m * a**2, c], [c, moment + m * b**2]]
        pull = [-s * other**2 - m * 9.81 * a * math.sin(one), s * fast**2 - m * 9.81 * b * math.sin(two)]
        return [fast, other, *np.linalg.solve(M, pull)]

    start = [1.1 - 0.6, 1.1 - 0.6 - 0.3, 0.0, 0.0]
    end = solve_ivp(motion, (0.0, 0.5), start, rtol=1e-10, atol=1e-12).y[:, -1]
    sim.step(500)
    assert sim.joint("held hinge").angle == pytest.approx(end[0] + 0.6, abs=2e-5)
    assert sim.joint("held hinge 1").angle == pytest.approx(end[1] - end[0], abs=2e-5)


def test_a_hinge_between_two_slides_leaves_a_body_free_in_a_plane(tmp_path: Path) -> None:
    slides = "<joint type='slide' axis='1 0 0'/><joint/><joint type='slide' axis='0 1 0'/>"
    sim = row_of(tmp_path, slides, gravity=(0, 0, 0))
    start = sim.body("held").position
    sim.body("held").apply(force=(400, 600, 0), torque=(0, 0, 150))
    sim.step(1000)
    away = 0.9995 * np.array([0.2, 0.3, 0.0])  # the push takes half of the first step
    assert sim.body("held").position - start == pytest.approx(away, abs=1e-5)
    assert sim.body("held").angular_velocity == pytest.approx([0, 0, 1.0], abs=1e-5)
    assert sim.joint("held hinge 1").angle == pytest.approx(1.0, abs=1e-3)


def test_what_joins_bodies_in_a_row_lets_them_pass(tmp_path: Path) -> None:
    """A body and the one it hangs on overlap at their joint, as if one joint held both."""
    geom = "<joint axis='1 0 0'/><geom size='0.3'/>"
    (path := tmp_path / "pass.xml").write_text(
        f"<mujoco><worldbody><body name='top'>{geom}<body name='held' pos='0 0 -0.1'>"
        "<joint axis='1 0 0'/><joint axis='1 1 0'/><geom size='0.3'/></body></body></worldbody></mujoco>"
    )
    scene = clapas.Scene()
    scene.law(mu=0.3)
    with pytest.warns(UserWarning, match="joined through links"):
        scene.load_robot(path)
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.step(20)
    assert len(sim.contacts("top", "held")) == 0


KEYS = """<mujoco><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 1"><freejoint name="root"/>
  <geom size="0.1"/>
  <body name="leg"><joint name="hip x" axis="1 0 0"/><joint name="hip y" axis="0 1 0" range="-1 1"/>
    <geom size="0.1" pos="0 0 -0.5"/><body name="fixed"><geom size="0.1"/>
    <body name="foot" pos="0 0 -1"><joint name="ankle" axis="0 1 0" ref="0.1"/><geom size="0.1"/></body>
  </body></body></body></worldbody><actuator><position joint="ankle" gear="2"/></actuator><keyframe>
  <key name="home" qpos="1 2 3 0 0 0 2 0.3 -0.4 0.5" ctrl="1"/><key qpos="{}"/></keyframe></mujoco>"""


def test_robots_start_at_a_keyframe_of_the_file(tmp_path: Path) -> None:
    """What is free has seven numbers, each coordinate one, in the order of the file."""
    (path := tmp_path / "keys.xml").write_text(KEYS.format("0 0 1 1 0 0 0 0 0 0"))
    scene = clapas.Scene()
    scene.law(mu=0.5)
    robot = scene.load_robot(path, keyframe="home", joints={"ankle": 0.7}, position=(10, 0, 0))
    sim = clapas.Simulation(scene, dt=1e-3)
    assert sim.body("trunk").origin == pytest.approx([11, 2, 3])
    assert sim.body("trunk").point((1, 0, 0)) == pytest.approx([10, 2, 3])  # half a turn about the vertical
    assert [sim.joint(name).angle for name in ("hip x", "hip y", "ankle")] == pytest.approx([0.3, -0.4, 0.7])
    assert not any("keyframe" in note for note in robot.notes)
    assert sim.joint("ankle").target == 0.5
    assert clapas.Scene().load_robot(path, keyframe="1").name == "keys"


@pytest.mark.parametrize(
    ("qpos", "said"),
    [
        (
            "0 0 1 1 0 0 0 0 0",
            "keyframe '1' is left out: .*qpos must be 10 numbers, those of all joints, got 9",
        ),
        ("0 0 1 0 0 0 0 0 0 0", "keyframe '1' is left out: .*quaternion of the free joint 'root' is zero"),
    ],
)
def test_a_file_with_a_keyframe_that_cannot_be_loads_without_it(qpos: str, said: str, tmp_path: Path) -> None:
    (path := tmp_path / "keys.xml").write_text(KEYS.format(qpos))
    with pytest.warns(UserWarning, match=said):
        clapas.Scene().load_robot(path, keyframe="home")
    with pytest.raises(SceneError, match="there is no keyframe '1'; there are 'home'"):
        clapas.Scene().load_robot(path, keyframe="1")


def test_a_keyframe_outside_of_limits_and_an_unknown_one_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / "keys.xml").write_text(KEYS.format("0 0 1 1 0 0 0 0 2 0"))
    with pytest.raises(SceneError, match=r"hip y.*outside of its limits"):
        clapas.Scene().load_robot(path, keyframe="1")
    with pytest.raises(SceneError, match=r"no keyframe 'hom' .did you mean 'home'.*; there are 'home', '1'"):
        clapas.Scene().load_robot(path, keyframe="hom")


MOVING = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint/><inertial pos="0.1 0 0.3" mass="1" diaginertia="1 1 1"/>
    <body name="leg" pos="0 1 0"><joint name="hip x" axis="1 0 0" pos="0 0 0.1"/>
      <joint name="hip y" axis="0 2 0" pos="0 0 0.1"/><geom size="0.1" pos="0 0 -0.5"/>
      <body name="foot" pos="0 0 -1"><joint name="ankle" axis="0 1 1"/><geom size="0.1" pos="0.1 0 0"/></body>
      <body name="bob" pos="0 0 -2"><joint name="neck" type="ball" pos="0 0 0.5"/><geom size="0.1"/></body>
    </body><body name="arm" pos="0 -1 0"><joint name="x" type="slide" axis="2 0 0"/>
      <joint name="turn" axis="0 1 0"/><joint name="askew" axis="0 1 1" pos="0.2 0 0"/>
      <geom size="0.1" pos="0.3 0 0"/></body></body>
  </worldbody><actuator><motor joint="x" gear="3"/><intvelocity joint="turn" kp="1"/>
    <velocity joint="ankle" kv="2"/><position joint="hip x" kp="3"/></actuator>
  <keyframe><key name="on" qpos="0 0 3 0.8 0 0.6 0 0.3 -0.4 0.5 1 0 0 0 0.2 0.6 -0.7"
    qvel="1 2 3 0.1 0.2 0.3 -1.1 1.2 1.3 0 0 2 0.4 0.5 -0.6" ctrl="1 2 3 4"/>
    <key name="set" ctrl="1 2 3 4"/><key name="short" ctrl="1 2 3"/><key name="few" qvel="1 2 3"/>
  </keyframe></mujoco>"""


def test_a_keyframe_sets_velocities_and_targets(tmp_path: Path) -> None:
    """The rates of the joints are those of the key, and the joints let the bodies move on as they do."""
    (path := tmp_path / "moving.xml").write_text(MOVING)
    turn = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # x of the file is y of the world
    scene = clapas.Scene()
    scene.law(mu=0.5)
    options: dict[str, Any] = {"self_collision": False, "strict": False, "position": (5, 0, 0)}
    robot = scene.load_robot(path, keyframe="on", orientation=turn, **options)
    assert any("keyframe 'short' is left out: " in note and "ctrl must be 4" in note for note in robot.notes)
    assert any("keyframe 'few' is left out: " in note and "qvel must be 15" in note for note in robot.notes)
    sim = clapas.Simulation(scene, dt=1e-6)
    rates = {"hip x": -1.1, "hip y": 1.2, "ankle": 1.3, "x": 0.4, "turn": 0.5, "askew": -0.6}
    targets = {"x": 3.0, "ankle": 3.0, "hip x": 4.0}
    assert sim.commands == targets
    for name in targets:
        sim.joint(name).target = {"ankle": 1.3, "hip x": 0.3}.get(name, 0.0)  # what is no force at the start
    for _ in range(2):
        for name, rate in rates.items():
            assert sim.joint(name).rate == pytest.approx(rate, abs=1e-4), name
        trunk, bob, leg = (sim.body(name) for name in ("trunk", "bob", "leg"))
        own = Rotation.from_quat([0, 0.6, 0, 0.8]).apply([0.1, 0.2, 0.3])
        assert trunk.angular_velocity == pytest.approx([-own[1], own[0], own[2]], abs=1e-4)
        frame = Rotation.from_quat(np.roll(bob.orientation, -1))
        between = frame.inv().apply(bob.angular_velocity - leg.angular_velocity)
        assert np.linalg.norm(between) == pytest.approx(2.0, abs=1e-4)
        arm = trunk.point((0, 0, 0)) - trunk.position
        at_origin = trunk.velocity + np.cross(trunk.angular_velocity, arm)
        assert at_origin == pytest.approx([-2, 1, 3], abs=1e-3)
        sim.step(1)  # which the joints would change if velocities did not fit them


def test_a_keyframe_may_be_targets_alone(tmp_path: Path) -> None:
    (path := tmp_path / "moving.xml").write_text(MOVING)
    scene = clapas.Scene()
    own = {"x": clapas.TorqueMotor(7.0)}
    scene.load_robot(path, keyframe="set", strict=False, motors=own, joints={"ankle": 0.2})
    motors = {joint.name: joint.laws.motor for joint in scene.joints if joint.laws.motor}
    assert {name: motor.target for name, motor in motors.items()} == {"x": 7.0, "ankle": 3.0, "hip x": 4.0}


WORLDLY = """<mujoco model="ball"><worldbody>
  <geom type="plane" size="1 1 1"/>{more}
  <body name="ball" pos="0 0 0.1"><freejoint/><geom size="0.1"/></body></worldbody>{contact}</mujoco>"""
STEP = '<geom type="box" size="0.1 0.1 0.1" pos="0.5 0 0"/>'


def several(tmp_path: Path, *places: dict[str, Any], more: str = "", contact: str = "") -> Any:
    (path := tmp_path / "ball.xml").write_text(WORLDLY.format(more=more, contact=contact))
    scene = clapas.Scene()
    for name in ("default", "ice"):
        scene.material(name) if name != "default" else None
        scene.law(name, "default", mu=0.3)
    robots = [scene.load_robot(path, prefix=f"{k}/", **place) for k, place in enumerate(places)]
    return scene, robots


def test_robots_of_one_file_stand_on_one_floor(tmp_path: Path) -> None:
    scene, _ = several(tmp_path, *({"position": (5 * k, k, 0)} for k in range(3)))
    assert [body.name for body in scene.bodies if body.is_wall] == ["0/world plane 0"]
    sim = clapas.Simulation(scene, dt=1e-3)
    sim.step(20)
    assert len(sim.contacts()) == 3
    assert [sim.body(f"{k}/ball").position[2] for k in range(3)] == pytest.approx([0.1] * 3, abs=1e-9)


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ({"orientation": (math.cos(0.4), 0, 0, math.sin(0.4)), "position": (3e3, 1, 0)}, 1),
        ({"position": (3, 0, 0.01)}, 2),
        ({"orientation": (1, 1e-6, 0, 0), "position": (3, 0, 0)}, 2),
        ({"position": (3, 0, 0), "material": "ice"}, 2),
    ],
    ids=["turned about the vertical", "higher", "tilted", "of another material"],
)
def test_floors_are_shared_where_they_coincide(place: dict[str, Any], count: int, tmp_path: Path) -> None:
    scene, _ = several(tmp_path, {}, place)
    assert sum(body.is_wall for body in scene.bodies) == count


def test_walls_with_bounds_are_shared_where_they_are_the_same(tmp_path: Path) -> None:
    start = {"keyframe": "up"}
    key = '<keyframe><key name="up" qpos="0 0 3 1 0 0 0"/></keyframe>'
    scene, robots = several(tmp_path, {}, start, {"position": (1, 0, 0)}, more=STEP, contact=key)
    assert [one.bodies["world"] for one in robots] == [1, 1, 4]
    assert list(scene.numbers.values()) == list(range(len(scene.bodies)))


def test_other_files_and_refused_robots_leave_the_floor_as_it_is(tmp_path: Path) -> None:
    scene, _ = several(tmp_path, {})
    (other := tmp_path / "other.xml").write_text(WORLDLY.format(more="", contact=""))
    with pytest.raises(SceneError, match="already has this name"):
        scene.load_robot(tmp_path / "ball.xml", prefix="0/")
    assert len(scene.bodies) == 2
    assert list(scene.worlds) == [0]
    scene.load_robot(other, prefix="1/")
    assert sum(body.is_wall for body in scene.bodies) == 2


TENDONS = """<mujoco><compiler angle="radian"/><default><tendon damping="0.5"/></default>
  <option gravity="0 0 -10"/><worldbody>
  <site name="hook" pos="0 0 2"/>
  <frame pos="1 0 0"><site name="beam" fromto="0 0 3 0 0 1" size="0.01"/></frame>
  <body name="hung" pos="0 0 1"><joint name="down" type="slide" axis="0 0 1"/>
    <geom size="0.1" mass="2"/><site name="eye" pos="0 0 0.25" rgba="1 0 0 1"/></body>
  <body name="sprung" pos="1 0 1"><joint name="up" type="slide" axis="0 0 1"/><geom size="0.1" mass="3"/>
    <site name="top"/><site name="unused"/></body></worldbody>
  <tendon><spatial name="rope" range="0 0.8" damping="0" rgba="1 0 0 1" width="0.01">
      <site site="hook"/><site site="eye"/></spatial>
    <spatial stiffness="50" {spring}><site site="top"/><site site="beam"/></spatial></tendon>
  <actuator><motor tendon="rope" gear="-2" ctrlrange="0 5"/></actuator></mujoco>"""


def tendons(tmp_path: Path, spring: str = "", **options: Any) -> clapas.Simulation:
    (path := tmp_path / "tendons.xml").write_text(TENDONS.format(spring=spring))
    scene = clapas.Scene()
    scene.law(mu=0.5)
    robot = scene.load_robot(path, **options)
    assert "without part in the motion, left out: 1 <site>" in robot.notes
    assert robot.joints == tuple(
        options.get("prefix", "") + name for name in ("down", "up", "rope", "tendon 1")
    )
    return clapas.Simulation(scene, dt=1e-3)


def test_tendons_between_two_sites_are_ropes_springs_and_winches(tmp_path: Path) -> None:
    sim = tendons(tmp_path, position=(3, 0, 1), prefix="a ")
    rope, spring = sim.joint("a rope"), sim.joint("a tendon 1")
    assert (rope.position, spring.position) == pytest.approx((0.75, 1.0))
    assert spring.definition.laws.spring == (50.0, 1.0)  # at rest in the reference pose
    assert spring.definition.laws.damping == 0.5
    sim.step(1)
    assert spring.effort == pytest.approx(-(0.5 * 0.01 + 50 * 0.25 * 1e-5), rel=1e-3)
    sim.step(500)
    assert rope.position == pytest.approx(0.8, abs=1e-9)
    assert rope.effort == pytest.approx(-20.0, rel=1e-6)
    rope.target = -100.0  # cut at −2 × 5: half of the weight
    sim.step(1)
    assert rope.effort == pytest.approx(-20.0, rel=1e-6)
    assert rope.definition.laws.motor == clapas.TorqueMotor(0.0, 0.0, -10.0)
    sim.step(1000)
    decay, time = 0.5 / (2 * 3), 1.502  # of m ẍ + c ẋ + k x = m g
    omega = math.sqrt(50 / 3 - decay**2)
    swing = math.exp(-decay * time) * (math.cos(omega * time) + decay / omega * math.sin(omega * time))
    assert spring.position == pytest.approx(1.0 + 3 * 10 / 50 * (1.0 - swing), abs=1e-3)


def test_a_tendon_has_the_length_at_rest_and_the_motor_that_it_is_given(tmp_path: Path) -> None:
    winch = clapas.VelocityMotor(-0.1)
    sim = tendons(tmp_path, spring='springlength="0.7"', motors={"rope": winch}, joints={"up": 0.2})
    spring = sim.joint("tendon 1")
    assert spring.definition.laws.spring == (50.0, 0.7)
    assert spring.position == pytest.approx(0.8)
    sim.step(100)
    assert sim.joint("down").position == pytest.approx(0.1 * (0.1 - 0.5e-3))  # from rest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            'range="0.2 0.5"',
            r"<spatial>: joint 'tendon 1': it starts at 1.0, outside of its limits 0.2 to 0.5",
        ),
        ('range="2 1"', "range must be a lower and an upper bound"),
    ],
)
def test_tendons_that_cannot_be(words: str, said: str, tmp_path: Path) -> None:
    with pytest.raises((FormatError, SceneError), match=said):
        tendons(tmp_path, spring=words)
