"""Scene files: TOML and YAML, read and written."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clapas.bodies.registry import made
from clapas.errors import FormatError, MissingDependency, SceneError
from clapas.geometry.meshfiles import ENDINGS as ENDINGS_OF_BLOCKS
from clapas.geometry.shapes import Shape
from clapas.scenes.definition import written
from clapas.scenes.materials import DEFAULT, law_entries
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.scenes.schema import MotionSetting, SceneEntry
from clapas.scenes.schema_errors import scene_error
from clapas.scenes.systems import system_entries
from clapas.scenes.toml import to_toml

MOST_VALUES = 10**7  # in a scene file
DEEPEST = 100  # nesting of lists
VERSION = 1
ENCODING = "utf-8-sig"  # editors of Windows put a mark at the beginning
ENDINGS = (".toml", ".yaml", ".yml")


def load(path: str | os.PathLike[str]) -> Scene:
    """Read a scene from a TOML or YAML file."""
    path = Path(path)
    data = document(path)
    try:
        return scene_of(data, path.parent)
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from error


def document(path: str | os.PathLike[str]) -> Any:
    """The plain data of a TOML or YAML file, not yet checked to be a scene."""
    path = Path(path)
    read = _read_toml if _ending(path) == ".toml" else _read_yaml
    if not path.is_file():
        raise FormatError(f"{path}: {'a folder or a device' if path.exists() else 'there is no such file'}")
    try:
        data = read(path)
        _count(data)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not a text file in UTF-8: {error}") from None
    except RecursionError:
        raise FormatError(f"{path}: lists and tables are nested too deeply for a scene") from None
    return data


def save(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene to a TOML or YAML file."""
    path = Path(path)
    ending, data = _ending(path), scene.to_dict()
    text = to_toml(data) if ending == ".toml" else _yaml("writing").safe_dump(data, sort_keys=False)
    path.write_text(text, encoding="utf-8")


def scene_of(data: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Scene:
    """A scene from plain data.

    Parameters
    ----------
    data : mapping
        As :meth:`Scene.to_dict` gives it. Beside bodies it may hold ``fills``, which become bodies.
    folder : path
        Folder of the mesh files.
    """
    try:
        entry = SceneEntry.model_validate(data)
    except ValidationError as error:
        raise scene_error(error, SceneEntry, data) from None
    except RecursionError:
        raise SceneError("lists and tables are nested too deeply for a scene") from None
    scene = Scene(
        gravity=entry.gravity,
        d=entry.dimension,
        period=None if entry.period is None else (entry.period.x, entry.period.y),
        seed=entry.seed,
        combine=entry.combine,
        overlap=entry.overlap,
    )
    if entry.run is not None:
        scene.run = Run(**entry.run.given())
    _read_materials(scene, entry)
    _read_bodies(scene, entry, _Shapes(Path(folder)))
    for k, joint in enumerate(entry.joints):
        with _at(f"joints[{k}]"):
            motor = None if joint.motor is None else joint.motor.make()
            arguments = joint.given("kind", "a", "b", "motor")
            scene.join(joint.kind, joint.a, joint.b, motor=motor, **arguments)
    for k, mimic in enumerate(entry.mimics):
        with _at(f"mimics[{k}]"):
            scene.mimic(**mimic.given())
    for k, pair in enumerate(entry.ignored):
        with _at(f"ignored[{k}]"):
            if len(pair) != 2:
                raise SceneError(f"expected two bodies, got {pair}")
            scene.ignore(*pair)
    for k, pressed in enumerate(entry.pressed):
        with _at(f"pressed[{k}]"):
            scene.press(pressed.a, pressed.b, pressed.force)
    for k, probe in enumerate(entry.probes):
        with _at(f"probes[{k}]"):
            scene.probe(**probe.given())
    return scene


def entries_of(scene: Scene) -> dict[str, Any]:
    """The scene as plain data (text, numbers, lists, dictionaries), as in files."""
    carriers = {int(row) for system in scene.systems for row in system.rows}
    period = {axis: length for axis, length in zip("xy", scene.period, strict=True) if length is not None}
    laws = [{"between": list(names), **law_entries(law)} for names, law in scene.laws.by_pair.items()]
    if scene.laws.for_all is not None:
        laws.insert(0, law_entries(scene.laws.for_all))
    entries: dict[str, Any] = {
        "version": VERSION,
        "dimension": scene.d,
        "gravity": list(scene.gravity),
        "period": period,
        "seed": scene.seed,
        "combine": scene.combine,
        "overlap": scene.overlap,
        "run": scene.run.to_dict(),
        "materials": {
            name: written(material)
            for name, material in scene.materials.items()
            if name != DEFAULT or material.density is not None
        },
        "laws": laws,
        "bodies": [body.to_dict() for k, body in enumerate(scene.bodies) if k not in carriers],
        "sources": [source.to_dict() for source in scene.sources],
        "systems": [system_entries(scene, system, carriers) for system in scene.systems],
        "joints": [joint.to_dict() for joint in scene.joints],
        "mimics": [asdict(mimic) for mimic in scene.mimics],
        "ignored": [list(pair) for pair in sorted(scene.ignored)],
        "pressed": [each.to_dict() for each in scene.pressed],
        "probes": [probe.to_dict() for probe in scene.probes],
    }
    return {name: value for name, value in entries.items() if value not in (None, {}, [])}


class _Shapes:
    """Builds shapes; equal ones share one object, so that hulls are stored once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[Shape, Shape] = {}

    def __call__(self, entry: Any) -> Shape:
        shape = entry.make(self.folder)
        return self.made.setdefault(shape, shape)


def _read_materials(scene: Scene, entry: SceneEntry) -> None:
    for name, material in entry.materials.items():
        with _at(f"materials.{name}"):
            scene.material(name, material.density)
    for k, law in enumerate(entry.laws):
        with _at(f"laws[{k}]"):
            names = law.between or []
            if len(names) not in (0, 2):
                raise SceneError(f"between must name two materials, got {names}")
            scene.law(*names, **law.given("between"))


def _read_bodies(scene: Scene, entry: SceneEntry, shapes: _Shapes) -> None:
    waiting = sorted(range(len(entry.systems)), key=lambda k: _after(entry, k))
    for k, body in enumerate(entry.bodies):
        while waiting and _after(entry, waiting[0]) <= k:
            _read_system(scene, entry, waiting.pop(0), shapes.folder)
        with _at(f"bodies[{k}]"):
            motion = None if body.motion is None else body.motion.make()
            scene.add(shapes(body.shape), motion=motion, **body.given("shape", "motion"))
    for k in waiting:
        _read_system(scene, entry, k, shapes.folder)
    for k, fill in enumerate(entry.fills):
        with _at(f"fills[{k}]"):
            shape = None if fill.shape is None else shapes(fill.shape)
            scene.fill(fill.region.make(), shape=shape, **fill.given("region", "shape"))
    for k, source in enumerate(entry.sources):
        with _at(f"sources[{k}]"):
            shape = None if source.shape is None else shapes(source.shape)
            scene.source(source.region.make(), shape=shape, **source.given("region", "shape"))


def _after(entry: SceneEntry, k: int) -> int:
    after = entry.systems[k].after
    return len(entry.bodies) if after is None else after


def _read_system(scene: Scene, entry: SceneEntry, k: int, folder: Path) -> None:
    with _at(f"systems[{k}]"):
        system = entry.systems[k]
        bodies = made(system.kind, _with_motions(system.settings), folder)
        scene.add_system(bodies, **system.given("kind", "settings", "after"))


def _with_motions(value: Any, name: str = "") -> Any:
    """Settings of a kind with their motions built."""
    if isinstance(value, Mapping):
        if name == "motion":
            try:
                return MotionSetting.model_validate({"motion": value}).motion.make()
            except ValidationError as error:
                raise scene_error(error, MotionSetting, {"motion": value}) from None
        return {key: _with_motions(entry, key) for key, entry in value.items()}
    return [_with_motions(entry) for entry in value] if isinstance(value, list) else value


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Context that adds the position in the file to errors."""
    try:
        yield
    except (SceneError, FormatError) as error:
        raise SceneError(f"{path}: {error}") from error


def _count(data: Any) -> None:
    """Reject huge or recursive data: a few lines of YAML can expand to any size, or contain themselves."""
    stack, count = [iter([data])], 0
    while stack:
        value = next(stack[-1], stack)
        if value is stack:
            stack.pop()
            continue
        count += 1
        if count > MOST_VALUES or len(stack) > DEEPEST:
            raise RecursionError
        if isinstance(value, Mapping):
            stack.append(iter(value.values()))
        elif isinstance(value, list):
            stack.append(iter(value))


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError(
            f"{path}: the name of a scene must end in {', '.join(ENDINGS)}, got '{ending}' "
            f"(blocks end in {', '.join(ENDINGS_OF_BLOCKS)}, robots in .urdf, .mjcf, .xml)"
        )
    return ending


def _read_toml(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding=ENCODING))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: not TOML: {error}") from error


def _read_yaml(path: Path) -> Any:
    yaml = _yaml("reading")
    try:
        data = yaml.safe_load(path.read_text(encoding=ENCODING))
    except yaml.YAMLError as error:
        raise FormatError(f"{path}: not YAML: {error}") from error
    return {} if data is None else data


def _yaml(purpose: str) -> Any:
    try:
        return import_module("yaml")
    except ImportError:
        raise MissingDependency("pyyaml", "yaml", f"{purpose} a scene in YAML") from None
