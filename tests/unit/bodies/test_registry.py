"""Kinds of bodies from plain data: whatever the data, an error says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clapas.bodies.registry import KINDS, made
from clapas.errors import Error, SceneError

SQUARE: dict[str, Any] = {
    "mesh": {"nodes": [[0, 0], [1, 0], [1, 1], [0, 1]], "cells": {"Q4": [[0, 1, 2, 3]]}},
    "material": {"law": "elastic", "young": 1e6, "poisson": 0.3, "density": 1000.0},
}
HOSTILE: list[Any] = [None, "nan", 7, -1.0, 2**70, float("nan"), [], [[1, 2], [3]], {}, {"a": {"b": []}}, True]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"x": 1}, {"mesh": {}}, {"truss": {}}, {"rods": [{}]}, {"rods": 3}])
def test_settings_that_do_not_fit(kind: str, settings: dict[str, Any]) -> None:
    with pytest.raises(Error):
        made(kind, settings, Path("."))


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("place", ["nodes", "cells", "groups", "mesh", "material", "surface", "load", "damping"])
def test_anything_in_the_place_of_a_setting(place: str, value: Any) -> None:
    """It is refused with a word about elastic bodies or meshes, or it is nothing at all and accepted."""
    mesh = dict(SQUARE["mesh"])
    settings = {**SQUARE, "mesh": mesh}
    (mesh if place in ("nodes", "cells", "groups") else settings)[place] = value
    try:
        made("elastic", settings, Path("."))
    except SceneError as error:
        assert any(word in str(error) for word in ("elastic", "mesh"))
