"""The fields of what people write are listed once; what is written by hand beside them agrees."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from clapas import Box, ConstantVelocity, Plane, Sphere
from clapas.errors import SettingsError
from clapas.scenes.body import Body, Wall
from clapas.scenes.definition import NEEDED, Definition, definitions
from clapas.scenes.materials import Material
from clapas.scenes.packing import Fill
from clapas.scenes.scene import Scene
from clapas.scenes.schema import KINDS, BodyEntry, FillEntry, MaterialEntry, SourceEntry, WallEntry
from clapas.scenes.sources import Source

WRITTEN = [
    (Scene.add, (Body, Wall), BodyEntry, {"shape"}),
    (Scene.source, (Source,), SourceEntry, set()),
    (Scene.fill, (Fill,), FillEntry, set()),
    (Scene.material, (Material,), MaterialEntry, {"name"}),
]
"""Verbs that add things, their definitions and entries in files, and what they take beside."""

each_thing = pytest.mark.parametrize(("method", "of", "entry", "beside"), WRITTEN)


def fields_of(of: tuple[type, ...]) -> dict[str, Definition]:
    return {name: each for one in of for name, each in definitions(one).items()}


@each_thing
def test_scenes_take_what_a_thing_has(
    method: Callable[..., Any], of: tuple[type, ...], entry: Any, beside: set[str]
) -> None:
    taken = {
        name: NEEDED if parameter.default is parameter.empty else parameter.default
        for name, parameter in inspect.signature(method).parameters.items()
        if name not in {"scene", *beside}
    }
    assert taken == {name: each.default for name, each in fields_of(of).items()}


@each_thing
def test_its_docstring_speaks_of_every_field(
    method: Callable[..., Any], of: tuple[type, ...], entry: Any, beside: set[str]
) -> None:
    said = re.findall(
        r"^        ([a-z_]+(?:, [a-z_]+)*)(?: :.*)?$", inspect.getdoc(method) or "", re.MULTILINE
    )
    said += re.findall(r"^([a-z_]+(?:, [a-z_]+)*)(?: :.*)?$", inspect.getdoc(method) or "", re.MULTILINE)
    names = {name.strip() for line in said for name in line.split(",")}
    assert names >= {*beside, *fields_of(of)}


@each_thing
def test_files_have_the_same_keys(
    method: Callable[..., Any], of: tuple[type, ...], entry: Any, beside: set[str]
) -> None:
    assert set(entry.model_fields) == {*fields_of(of), *(beside - {"name"})}
    for name, each in fields_of(of).items():
        assert each.kind in KINDS
        key = entry.model_fields[name]
        assert key.description == each.meaning
        assert (key.default is PydanticUndefined) == (each.default is NEEDED)


def test_walls_take_what_bodies_share_with_them_and_may_be_fixed() -> None:
    shared = {"name", "material", "position", "orientation", "motion", "group"}
    assert set(definitions(Wall)) == {*shared, "fixed"}
    assert set(definitions(Wall)) & set(definitions(Body)) == shared
    assert set(WallEntry.model_fields) == {"shape", *definitions(Wall)}


def test_what_is_added_is_a_body_or_a_wall() -> None:
    scene = Scene()
    scene.add(Plane(), name="floor")
    scene.add(Box((1, 1, 1)), fixed=True, density=2000.0)
    scene.add(Box((1, 1, 1)), motion=ConstantVelocity((1, 0, 0)))
    scene.add(Box((1, 1, 1)), mass=1.0, free="z", motion=ConstantVelocity((1, 0, 0)))
    scene.add(Plane(), mass=1.0, free="z")
    scene.add(Sphere(1.0), mass=1.0)
    assert [type(each) for each in scene.bodies] == [Wall, Wall, Wall, Body, Body, Body]
    assert [each.is_wall for each in scene.bodies] == [True, True, True, True, True, False]
    assert [each.fixed for each in scene.bodies] == [False, True, False, False, False, False]
    entries = scene.to_dict()["bodies"]
    assert entries[0] == {
        "name": "floor",
        "shape": {"type": "plane"},
        "material": "default",
        "position": [0.0, 0.0, 0.0],
    }
    assert "density" not in entries[1]  # a wall has no mass to speak of
    assert Scene.from_dict(scene.to_dict()).to_dict() == scene.to_dict()


VERBS = [
    "material", "add", "add_blocks", "add_system", "add_rods", "load_robot", "fill", "source",
    "join", "mimic", "ignore", "press", "probe",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_name_the_keyword_that_was_meant(verb: str) -> None:
    """A misspelt keyword of any verb is refused with the way out, and by the error that Python has for it."""
    method: Any = getattr(Scene(), verb)
    last = list(inspect.signature(method).parameters)[-1]
    with pytest.raises(
        TypeError, match=rf"{verb} has no setting '{last}z' \(did you mean {last}\?\)"
    ) as caught:
        method(**{last + "z": 1})
    assert isinstance(caught.value, SettingsError)


def test_every_verb_of_a_scene_is_among_them() -> None:
    verbs = {
        name for name, each in vars(Scene).items()
        if inspect.isfunction(each) and next(iter(inspect.signature(each).parameters)) == "scene"
    }  # fmt: skip
    assert verbs - {"law", "number", "records", "law_table"} == set(VERBS)
