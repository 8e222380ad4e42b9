"""The fields of a body are listed once; what is written by hand beside the list agrees with it."""

from __future__ import annotations

import inspect
import re

from clapas.scenes.body import Body
from clapas.scenes.definition import definitions
from clapas.scenes.scene import Scene
from clapas.scenes.schema import KINDS, BodyEntry


def test_scene_add_takes_what_a_body_has() -> None:
    taken = [name for name in inspect.signature(Scene.add).parameters if name not in ("self", "shape")]
    assert sorted(taken) == sorted(definitions(Body))
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(Scene.add).parameters.items()
        if name not in ("self", "shape")
    }
    assert defaults == {name: each.default for name, each in definitions(Body).items()}


def test_its_docstring_speaks_of_every_field() -> None:
    said = re.findall(r"^        ([a-z_, ]+) :", Scene.add.__doc__ or "", re.MULTILINE)
    names = {name.strip() for line in said for name in line.split(",")}
    assert names == {"shape", *definitions(Body)}


def test_files_have_the_same_keys() -> None:
    assert set(BodyEntry.model_fields) == {"shape", *definitions(Body)}
    for name, each in definitions(Body).items():
        assert each.kind in KINDS
        assert BodyEntry.model_fields[name].description == each.meaning
