"""The fields of what people write are listed once; what is written by hand beside them agrees."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from clapas.scenes.body import Body
from clapas.scenes.definition import NEEDED, definitions
from clapas.scenes.materials import Material
from clapas.scenes.packing import Fill
from clapas.scenes.scene import Scene
from clapas.scenes.schema import KINDS, BodyEntry, FillEntry, MaterialEntry, SourceEntry
from clapas.scenes.sources import Source

WRITTEN = [
    (Scene.add, Body, BodyEntry, {"shape"}),
    (Scene.source, Source, SourceEntry, set()),
    (Scene.fill, Fill, FillEntry, set()),
    (Scene.material, Material, MaterialEntry, {"name"}),
]
"""Methods that add things, their definitions and entries in files, and what they take beside."""

each_thing = pytest.mark.parametrize(("method", "of", "entry", "beside"), WRITTEN)


@each_thing
def test_scenes_take_what_a_thing_has(
    method: Callable[..., Any], of: type, entry: Any, beside: set[str]
) -> None:
    taken = {
        name: NEEDED if parameter.default is parameter.empty else parameter.default
        for name, parameter in inspect.signature(method).parameters.items()
        if name not in {"self", *beside}
    }
    assert taken == {name: each.default for name, each in definitions(of).items()}


@each_thing
def test_its_docstring_speaks_of_every_field(
    method: Callable[..., Any], of: type, entry: Any, beside: set[str]
) -> None:
    said = re.findall(
        r"^        ([a-z_]+(?:, [a-z_]+)*)(?: :.*)?$", inspect.getdoc(method) or "", re.MULTILINE
    )
    said += re.findall(r"^([a-z_]+(?:, [a-z_]+)*)(?: :.*)?$", inspect.getdoc(method) or "", re.MULTILINE)
    names = {name.strip() for line in said for name in line.split(",")}
    assert names >= {*beside, *definitions(of)}


@each_thing
def test_files_have_the_same_keys(method: Callable[..., Any], of: type, entry: Any, beside: set[str]) -> None:
    assert set(entry.model_fields) == {*definitions(of), *(beside - {"name"})}
    for name, each in definitions(of).items():
        assert each.kind in KINDS
        key = entry.model_fields[name]
        assert key.description == each.meaning
        assert (key.default is PydanticUndefined) == (each.default is NEEDED)
