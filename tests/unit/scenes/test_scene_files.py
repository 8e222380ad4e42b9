"""Scene files: exact round trips, the schema's complaints, meshes beside the file."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.dynamics.joints.laws import TorqueMotor
from clapas.dynamics.motions import ConstantVelocity, Oscillation, Rotation, Table
from clapas.errors import FormatError, MissingDependency, SceneError
from clapas.geometry import rotations
from clapas.geometry.meshfiles import write_mesh
from clapas.geometry.shapes import (
    Box,
    Capsule,
    Clump,
    Cylinder,
    Disk,
    HalfPlane,
    Plane,
    Polygon,
    Polyhedron,
    Shape,
    Sphere,
    TriangleMesh,
)
from clapas.scenes.regions import BoxRegion, DiscRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.scenes.schema import SceneEntry
from clapas.scenes.toml import to_toml
from clapas.solvers import NSGS

RNG = np.random.default_rng(4)
POINTS = RNG.normal(size=(8, 3))


def everything_3d() -> Scene:
    scene = Scene(gravity=(0.1, 0, -9.81), period=(100.0, None), seed=3, combine="min", overlap=1e-5)
    scene.material("default", density=7.0)
    scene.material('dry "sand" é', density=1 / 3)
    scene.material("glass")
    scene.law(mu=0.1 + 0.2, restitution=1 / 7)
    scene.law("glass", 'dry "sand" é', mu=1e-300)
    shapes: list[Shape] = [
        Sphere(0.1),
        Box(RNG.uniform(0.1, 1, 3)),
        Capsule(0.1, 1 / 3),
        Cylinder(0.2, 0.3),
        Polyhedron(POINTS, flatness=1e-8),
        Clump([(Sphere(0.1), (0, 0, 1 / 3), RNG.normal(size=4)), (Box((1, 1, 1)),)]),
    ]
    for k, shape in enumerate(shapes):
        scene.add(
            shape,
            RNG.normal(size=3),
            RNG.normal(size=4),
            RNG.normal(size=3),
            RNG.normal(size=3),
            material=["default", 'dry "sand" é'][k % 2],
            name=f"n° {k}",
            group="all",
        )
    scene.add(Sphere(1), mass=2.0, inertia=(1, 1, 1.5), centre=(0.1, 0, 0))
    scene.add(Box((1, 1, 1)), fixed=True, position=(5, 0, 0))
    scene.add(Plane((0.3, 0.1, 1), -0.7), motion=Oscillation(0.1, 3.0, (0, 1, 1), 0.2))
    scene.add(TriangleMesh(POINTS, [(0, 1, 2), (3, 4, 5)]), motion=Rotation((1, 2, 3), 0.5))
    scene.add(Plane(), motion=ConstantVelocity((1, 0, 0), (0, 0, 0.1)))
    scene.add(Plane(), motion=Table([0, 1.5], [(0, 0, 0), (1, 0, 0)], [(0, 0, 0), (0, 0, 1)]))
    scene.source(
        DiscRegion((0, 0, 1), 0.3),
        rate=3.0,
        radius=(0.1, 0.2),
        until=2.0,
        start=0.5,
        velocity=(0, 0, -1),
        angular_velocity=(1, 0, 0),
        density=3.0,
        name="rain",
        group="drops",
    )
    scene.source(BoxRegion((0, 0, 0), (1, 1, 1)), rate=1.0, shape=Polyhedron(POINTS), number=2)
    scene.probe("position", "n° 0")
    scene.probe("gap", 0, 1, name="between")
    scene.run = Run(
        duration=1.0, dt=1e-3, every=5, solver={"name": "nsgs", "tol": 1e-6}, scheme={"theta": 0.5}
    )
    return scene


def everything_2d() -> Scene:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane((0.1, 1)), motion=Rotation(None, 1.0))
    scene.add(HalfPlane(), motion=Table([0, 1], [(0, 0), (1, 0)], [0, 1]))
    scene.add(Disk(0.5), (0, 1), 0.3, (1, 0), 2.0, density=1.0)
    scene.add(Disk(0.5), (0, 1), mass=1.0, inertia=0.1)
    scene.add(Polygon(RNG.permutation([(0, 0), (1, 0), (1 / 3, 1)])), density=1.0)
    scene.add(Clump([(Disk(0.5), (0, 1), 0.5)]), density=1.0)
    scene.source(BoxRegion((0, 1), (1, 1)), rate=3.0, radius=0.1, number=2, density=1.0, angular_velocity=1.0)
    return scene


@pytest.mark.parametrize("ending", ["toml", "yaml"])
def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path, ending: str) -> None:
    """What people compute is often a NumPy scalar: np.linspace gives one, a column of a table too."""
    if ending == "yaml":
        pytest.importorskip("yaml", reason="the optional package pyyaml is not installed")
    scene = Scene(d=2)
    scene.law(mu=np.linspace(0.0, 0.5, 3)[1], restitution=np.float32(0.5), rolling=np.float64(1e-3))
    scene.seed = np.int64(3)
    scene.overlap = np.float64(1e-9)
    scene.add(Disk(np.float64(0.1)), density=np.float64(1000.0), name=np.str_("ball"), group=np.str_("g"))
    scene.run = Run(
        dt=np.float64(1e-3),
        every=np.int64(2),
        solver={"name": "nsgs", "tol": np.float64(1e-3), "max_iterations": np.int64(50)},
        sleeping={"speed": np.float32(0.5)},
    )
    path = tmp_path / f"scene.{ending}"
    scene.save(path)
    again = Scene.load(path)
    assert again.to_dict() == scene.to_dict()
    assert again.laws.for_all is not None
    assert (again.laws.for_all.mu, again.seed, again.run.every, again.overlap) == (0.25, 3, 2, 1e-9)
    assert again.run.solver == {"name": "nsgs", "tol": 1e-3, "max_iterations": 50}


def test_seeds_and_overlaps_are_checked_where_they_are_set() -> None:
    scene = Scene()
    with pytest.raises(SceneError, match="scene: seed must be a whole number, at least 0, got -1"):
        scene.seed = -1
    with pytest.raises(SceneError, match=r"scene: overlap must be at least 0, got -1\.0"):
        scene.overlap = -1.0
    with pytest.raises(SceneError, match="run: every must be a whole number of steps, at least 1, got True"):
        Run(every=True)
    with pytest.raises(SceneError, match=r"run: solver must be a mapping .*, got NSGS\(.*simulate"):
        Run(solver=NSGS())  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [everything_3d, everything_2d, Scene])
def test_round_trips_are_exact(tmp_path: Path, make: Any) -> None:
    scene = make()
    data = scene.to_dict()
    assert Scene.from_dict(data).to_dict() == data
    scene.save(tmp_path / "scene.toml")
    back = Scene.load(tmp_path / "scene.toml")
    assert back.to_dict() == data
    back.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == (tmp_path / "scene.toml").read_bytes()


@pytest.mark.parametrize("make", [everything_3d, everything_2d])
def test_what_the_engine_gets_is_the_same(tmp_path: Path, make: Any) -> None:
    scene = make()
    scene.save(tmp_path / "scene.toml")
    back = Scene.load(tmp_path / "scene.toml")
    for old, new in zip(scene.records(), back.records(), strict=True):
        for name in ("number", "name", "shape", "frame", "material", "position", "orientation", "velocity",
                     "mass", "inertia", "movable", "birth", "group"):  # fmt: skip
            assert getattr(old, name) == getattr(new, name), name
        assert (old.motion is None) == (new.motion is None)
        if old.motion is not None and new.motion is not None:
            np.testing.assert_array_equal(np.concatenate(old.motion(0.7)), np.concatenate(new.motion(0.7)))
    assert scene.probes == back.probes
    assert scene.laws == back.laws
    for field in ("gravity", "d", "period", "seed", "combine", "overlap", "run", "materials"):
        assert getattr(scene, field) == getattr(back, field)


def test_equal_shapes_of_a_file_are_one_object() -> None:
    rock = Polyhedron(POINTS).to_dict()
    scene = Scene.from_dict({"bodies": [{"shape": rock, "mass": 1.0}, {"shape": rock, "mass": 1.0}]})
    assert scene.bodies[0].shape is scene.bodies[1].shape


def test_a_file_as_people_write_it(tmp_path: Path) -> None:
    write_mesh(tmp_path / "rock.obj", POINTS * 1000, [(0, 1, 2), (3, 4, 5), (6, 7, 0)])
    (tmp_path / "pile.toml").write_text("""
        period = { x = 20 }

        [run]
        duration = 2
        dt = 1e-3
        solver = { name = "nsgs", tol = 1e-4 }

        [materials.stone]
        density = 2500

        [[laws]]
        mu = 0.5

        [[laws]]
        between = ["stone", "default"]
        mu = 0.3

        [[bodies]]
        name = "floor"
        shape = { type = "plane" }

        [[bodies]]
        material = "stone"
        position = [0, 0, 3]
        orientation = { axis = [0, 2, 0], angle = 1.5 }
        shape = { type = "polyhedron", file = "rock.obj", scale = 0.001 }

        [[bodies]]
        shape = { type = "mesh", file = "rock.obj" }
        motion = { type = "rotation", axis = [0, 1, 0], rate = 2 }

        [[fills]]
        region = { type = "box", low = [0, 0, 5], high = [1, 1, 6] }
        count = 20
        radius = [0.05, 0.1]
        material = "stone"

        [[sources]]
        region = { type = "disc", centre = [0, 0, 9], radius = 0.5 }
        rate = 10
        number = 3
        radius = 0.1
        material = "stone"

        [[probes]]
        quantity = "force"
        body = "floor"
    """)
    with pytest.warns(UserWarning, match="3 pieces become one convex body"):
        scene = Scene.load(tmp_path / "pile.toml")
    assert len(scene.bodies) == 23
    assert len(scene.records()) == 26
    assert scene.period == (20.0, None)
    assert (scene.run.duration, scene.run.dt, scene.run.solver["tol"]) == (2.0, 1e-3, 1e-4)
    assert scene.bodies[1].orientation == pytest.approx(rotations.from_axis_angle((0, 1, 0), 1.5))
    rock = scene.bodies[1].shape
    assert rock.volume == pytest.approx(Polyhedron(POINTS).volume, rel=1e-12)
    assert scene.law_table().mu.tolist() == [[0.5, 0.3], [0.3, 0.5]]
    assert Scene.from_dict(scene.to_dict()).to_dict() == scene.to_dict()


# ---------------------------------------------------------------------- complaints


def body(**entries: Any) -> dict[str, Any]:
    return {"bodies": [{"name": "ball", "shape": {"type": "sphere", "radius": 0.1}, **entries}]}


def shape(**entries: Any) -> dict[str, Any]:
    return {"bodies": [{"shape": entries}]}


HINT = "; write numbers without quotes, and in YAML with a dot before the exponent, as in 1.0e-3"
BALL = "bodies[0] 'ball'"
COMPLAINTS: list[tuple[Any, str]] = [
    ([1], "scene: expected a table, got [1]"),
    (
        {"gravty": [0, 0, 1]},
        "gravty: unknown key (did you mean 'gravity'?); expected version, dimension, gravity,",
    ),
    ({"version": 2}, "version: expected 1, got 2"),
    ({"dimension": 4}, "dimension: expected 2 or 3, got 4"),
    ({"seed": 1.5}, "seed: expected a whole number, got 1.5"),
    ({"period": {"z": 1.0}}, "period.z: unknown key; expected x, y"),
    ({"materials": {"stone": 3.0}}, "materials.stone: expected a table, got 3.0"),
    (
        {"materials": {"stone": {"densty": 3.0}}},
        "materials.stone.densty: unknown key (did you mean 'density'?); expected density",
    ),
    (
        {"materials": {"stone": {"density": -3.0}}},
        "materials.stone: material 'stone': density must be positive",
    ),
    ({"laws": [{"restitution": 0.1}]}, "laws[0].mu: this key is missing"),
    (
        {"laws": [{"mu": 0.1, "restituton": 1}]},
        "laws[0].restituton: unknown key (did you mean 'restitution'?)",
    ),
    ({"laws": [{"mu": 0.1, "between": ["a"]}]}, "laws[0]: between must name two materials, got ['a']"),
    ({"laws": [{"mu": -0.1}]}, "laws[0]: law for all pairs: mu must be "),
    (
        body(positon=[0, 0, 1]),
        f"{BALL}.positon: unknown key (did you mean 'position'?); expected shape, name,",
    ),
    (body(position=[0, 0, "a"]), f"{BALL}.position[2]: expected a number, got 'a'"),
    (body(position=0.0), f"{BALL}.position: expected a list, got 0.0"),
    (body(position=[0.0, 0.0]), "bodies[0]: body 'ball': position must be 3 numbers, got 2: [0.0, 0.0]"),
    (body(mass="1e-3"), f"{BALL}.mass: expected a number, got '1e-3'{HINT}"),
    (body(mass=True), f"{BALL}.mass: expected a number, got True"),
    (body(mass=-1.0), "bodies[0]: body 'ball': mass must be positive, got -1.0"),
    (body(fixed=1), f"{BALL}.fixed: expected true or false, got 1"),
    (body(name=3), "bodies[0].name: expected text, got 3"),
    (
        body(orientation=[1, 2]),
        f"{BALL}.orientation: expected [w, x, y, z], {{axis = [x, y, z], angle = …}}, or an",
    ),
    (body(orientation={"axis": [0, 0, 1]}), f"{BALL}.orientation: expected [w, x, y, z], {{axis ="),
    (
        body(orientation={"axis": [0, 0, 0], "angle": 1}),
        f"{BALL}.orientation: axis must not be zero, it gives a direction; got [0.0, 0.0, 0.0]",
    ),
    (body(angular_velocity="x"), f"{BALL}.angular_velocity: expected a number or a list of numbers, got 'x'"),
    (
        body(inertia=[[1], "x"]),
        f"{BALL}.inertia: expected a number, 3 moments, or 3 rows of 3 numbers, got [[1],",
    ),
    (
        body(motion={"type": "rotate"}),
        f"{BALL}.motion: unknown type 'rotate' (did you mean 'rotation'?); expected",
    ),
    (
        body(motion={"type": "rotation", "axes": [1, 0, 0], "rate": 2.0}),
        f"{BALL}.motion.axes: unknown key (did you mean 'axis'?); expected type, axis, rate",
    ),
    (body(material="stone"), "bodies[0]: body 'ball': unknown material 'stone'; known are default."),
    (shape(radius=1.0), "bodies[0].shape: the key type is missing: it says which one it is"),
    (
        shape(type="shpere", radius=1.0),
        "bodies[0].shape: unknown type 'shpere' (did you mean 'sphere'?); expected",
    ),
    (shape(type="sphere", radius="1"), f"bodies[0].shape.radius: expected a number, got '1'{HINT}"),
    (
        shape(type="sphere", raduis=1.0),
        "2 problems:\n  bodies[0].shape.radius: this key is missing\n"
        "  bodies[0].shape.raduis: unknown key (did you mean 'radius'?); expected type, radius",
    ),
    (shape(type="sphere", radius=-1.0), "bodies[0]: sphere: radius must be positive, got -1.0"),
    (
        shape(type="clump", parts=[{"shape": {"type": "box", "size": [1, 1, 1], "color": 3}}]),
        "bodies[0].shape.parts[0].shape.color: unknown key; expected type, size",
    ),
    (
        shape(type="mesh", vertices=[[0, 0, 0]]),
        "bodies[0]: mesh: give either vertices and triangles, or file",
    ),
    (shape(type="polyhedron"), "bodies[0]: polyhedron: give either points or file, one of the two"),
    (
        shape(type="polyhedron", points=[], scale=2.0),
        "bodies[0]: polyhedron: scale goes with file; points are in",
    ),
    (
        shape(type="mesh", vertices=[], triangles=[], scale=2.0),
        "bodies[0]: mesh: scale goes with file; vertices are in metres",
    ),
    (shape(type="polyhedron", file="gone.stl"), "bodies[0]: gone.stl: there is no such file"),
    (
        {
            "fills": [
                {"region": {"type": "box", "low": [0, 0, 0], "high": [1, 1, 1]}, "count": 9, "radius": 0.5}
            ]
        },
        "fills[0]: fill: 9 grains of up to 1 m do not fit",
    ),
    (
        {"sources": [{"region": {"type": "disk"}, "rate": 1.0}]},
        "sources[0].region: unknown type 'disk' (did you mean 'disc'?); expected box, disc",
    ),
    (
        {
            "sources": [
                {"region": {"type": "box", "low": [0, 0, 0], "high": [1, 1, 1]}, "rate": 1, "radius": "x"}
            ]
        },
        "sources[0].radius: expected a number or a list of numbers, got 'x'",
    ),
    ({"probes": [{"quantity": "force", "body": "ball"}]}, "probes[0]: no body is called 'ball'"),
    ({"run": {"dt": -1.0}}, "run: dt must be positive, got -1.0"),
    ({"run": {"on_unsolved": "no"}}, "run.on_unsolved: expected 'raise' or 'record', got 'no'"),
    (
        {f"key {k}": 0 for k in range(10)},
        "9 problems:\n  key 0: unknown key; expected version,",
    ),
]


@pytest.mark.parametrize(("data", "message"), COMPLAINTS, ids=[f"{k}" for k in range(len(COMPLAINTS))])
def test_complaints(data: Any, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        Scene.from_dict(data)
    assert str(caught.value).startswith(message)


def test_long_lists_of_problems_are_cut() -> None:
    with pytest.raises(SceneError) as caught:
        Scene.from_dict({f"key {k}": 0 for k in range(10)})
    assert str(caught.value).endswith("\n  and 2 more")


def test_messages_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("gravty = [0, 0, 1]")
    with pytest.raises(SceneError) as caught:
        Scene.load(tmp_path / "a.toml")
    assert str(caught.value).startswith(
        f"{tmp_path / 'a.toml'}: gravty: unknown key (did you mean 'gravity'?)"
    )


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("gravity = [0 0]")
    with pytest.raises(FormatError, match=r"a\.toml: not TOML: .*line 1"):
        Scene.load(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"b\.toml: not a text file in UTF-8"):
        Scene.load(tmp_path / "b.toml")
    with pytest.raises(FormatError, match=r"gone\.toml: there is no such file"):
        Scene.load(tmp_path / "gone.toml")
    for call in (Scene.load, Scene().save):
        with pytest.raises(FormatError, match=r"must end in \.toml, \.yaml, \.yml, got '\.json'"):
            call(tmp_path / "a.json")


def test_python_functions_are_not_written(tmp_path: Path) -> None:
    scene = Scene()
    scene.add(Plane(), motion=lambda t: ((0, 0, t), (0, 0, 0)), name="piston")
    with pytest.raises(
        SceneError, match="body 'piston': its motion is a Python function, which no file can hold"
    ):
        scene.save(tmp_path / "a.toml")
    assert not (tmp_path / "a.toml").exists()


def test_yaml_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "a.yaml").write_text("seed: 1")
    with pytest.raises(
        MissingDependency, match=r"reading a scene in YAML needs .*pip install 'clapas\[yaml\]'"
    ):
        Scene.load(tmp_path / "a.yaml")
    with pytest.raises(MissingDependency, match="writing a scene in YAML"):
        Scene().save(tmp_path / "b.yml")


def test_yaml_round_trip(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="the optional package pyyaml is not installed")
    scene = everything_3d()
    scene.save(tmp_path / "a.yaml")
    assert Scene.load(tmp_path / "a.yaml").to_dict() == scene.to_dict()
    (tmp_path / "b.yaml").write_text("bodies: [")
    with pytest.raises(FormatError, match=r"b\.yaml: not YAML"):
        Scene.load(tmp_path / "b.yaml")
    (tmp_path / "c.yaml").write_text("")
    assert Scene.load(tmp_path / "c.yaml").to_dict() == Scene().to_dict()


def test_the_schema_describes_every_key_of_a_scene() -> None:
    described = SceneEntry.model_json_schema()
    assert set(everything_3d().to_dict()) <= set(described["properties"])
    assert described["$defs"]["SphereEntry"]["properties"]["radius"]["description"] == "radius (m)"


@pytest.mark.parametrize("ending", [".toml", ".yaml"])
def test_the_mark_of_windows_editors_is_no_text(tmp_path: Path, ending: str) -> None:
    if ending == ".yaml":
        pytest.importorskip("yaml")
    path = tmp_path / f"scene{ending}"
    Scene(seed=5).save(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Scene.load(path).seed == 5


# ---------------------------------------------------------------------- TOML

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts | st.floats(allow_nan=False)
values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_toml_reads_what_was_written(data: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(data)) == data


@given(st.floats())
def test_numbers_keep_every_bit(value: float) -> None:
    back = tomllib.loads(to_toml({"x": value}))["x"]
    assert np.float64(back).tobytes() == np.float64(value).tobytes() or np.isnan(value)


def test_toml_has_no_none() -> None:
    with pytest.raises(TypeError, match="no TOML for None"):
        to_toml({"a": None})


@pytest.mark.parametrize(
    "motor", [TorqueMotor(1.0), TorqueMotor(1.0, 2.0), TorqueMotor(1.0, min_torque=-3.0)]
)
def test_the_bounds_of_torque_motors_are_written(motor: TorqueMotor) -> None:
    scene = Scene(d=2)
    scene.add(Disk(0.1), mass=1.0)
    scene.join("pin", 0, at=(0, 0), motor=motor)
    assert Scene.from_dict(scene.to_dict()).joints[0].laws.motor == motor
