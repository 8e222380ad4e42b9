"""Parameters of shipped scenes: each has a type, a unit where it has one, a range and a meaning."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clapas.errors import SceneError
from clapas.scenes import examples

EVERY = [(name, parameter) for name in examples.names() for parameter in examples.parameters(name).values()]


@pytest.mark.parametrize(("name", "parameter"), EVERY, ids=lambda x: getattr(x, "name", x))
def test_every_parameter_has_a_range_that_holds_its_default_and_nothing_outside(
    name: str, parameter: Any
) -> None:
    limits = parameter.range
    assert parameter.kind in (int, float)
    assert parameter.default in limits
    assert limits.meaning
    beyond = [limits.high * 2 + 1, limits.low - 1, math.nan, math.inf, -math.inf, "3", None, True]
    beyond += [limits.low] if limits.above else []
    beyond += [1.5] if parameter.kind is int else []
    for value in beyond:
        with pytest.raises(SceneError, match=f"{parameter.name} must be"):
            examples.load(name, **{parameter.name: value})


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("box-of-spheres", {"count": -1}, r"count must be from 1 to 1e\+06 \(number of grains\), got -1"),
        ("silo", {"width": 0.0}, "width must be from 1.5 to 10000 largest diameters"),
        ("shear-cell", {"inertial": 0.0}, "inertial must be from 1e-06 to 100"),
        ("heap", {"grains": 10**10}, r"grains must be from 1 to 1e\+06 \(number of grains\), got 1e\+10"),
        ("flat-hopper", {"mouth": 20.0}, "mouth must be narrower than width, 16, got 20"),
        ("settling-wall", {"gap": 9.0}, "gap must be narrower than the wall, 8 bricks, got 9"),
    ],
)
def test_what_cannot_be_is_refused_at_once(name: str, values: dict[str, float], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        examples.load(name, **values)


@pytest.mark.parametrize("name", ["bouncing-ball", "rocking-block", "stone-arch", "dome", "pile-of-balls"])
def test_the_ends_of_the_ranges_make_scenes(name: str) -> None:
    """The lower ends, that is: the upper ones are large."""
    for parameter in examples.parameters(name).values():
        low = parameter.range.low
        assert examples.load(name, **{parameter.name: parameter.kind(low)}).bodies
