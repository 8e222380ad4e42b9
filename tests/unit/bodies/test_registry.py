"""Kinds of bodies from plain data: whatever the data, an error says what is wrong."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from clapas.bodies.registry import KINDS, made
from clapas.errors import Error, SceneError

SQUARE: dict[str, Any] = {
    "mesh": {"nodes": [[0, 0], [1, 0], [1, 1], [0, 1]], "cells": {"Q4": [[0, 1, 2, 3]]}},
    "material": {"law": "elastic", "young": 1e6, "poisson": 0.3, "density": 1000.0},
}
OF_MESH = ("nodes", "cells", "groups")
HOSTILE: list[Any] = [None, "nan", 7, -1.0, 2**70, float("nan"), [], [[1], [2, 3]], {}, {"a": {"b": 1}}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"x": 1}, {"mesh": {}}, {"truss": {}}, {"rods": [{}]}, {"rods": 3}])
def test_settings_that_do_not_fit(kind: str, settings: dict[str, Any]) -> None:
    with pytest.raises(Error):
        made(kind, settings, Path("."))


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("place", [*OF_MESH, "mesh", "material", "surface", "load", "damping"])
def test_anything_in_the_place_of_a_setting(place: str, value: Any) -> None:
    """It is refused with a word about elastic bodies or meshes, or it means nothing and is accepted."""
    mesh = dict(SQUARE["mesh"])
    settings = {**SQUARE, "mesh": mesh}
    (mesh if place in OF_MESH else settings)[place] = value
    means_nothing = (place, value) in (("groups", {}), ("surface", None))
    with nullcontext() if means_nothing else pytest.raises(SceneError, match=r"elastic|mesh"):
        made("elastic", settings, Path("."))
