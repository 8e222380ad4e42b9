"""Tables of scene files, and the kinds of values they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from clapas.errors import SceneError
from clapas.geometry import checks, rotations


class Entry(BaseModel):
    """A table of a file: no unknown keys, no words for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *without: str) -> dict[str, Any]:
        """The values set in the file, by key."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in {"type", *without}}


class Maker(Entry):
    """A table that stands for an object with the same fields."""

    makes: ClassVar[Any]

    def make(self) -> Any:
        """The object."""
        return type(self).makes(**self.given())


class ShapeMaker(Maker):
    """A table that stands for a shape."""

    def make(self, folder: Path | None = None) -> Any:
        """The shape; ``folder`` is where files are looked for."""
        return super().make()


def _orientation(value: Any) -> Any:
    """Four numbers, an angle, or {axis, angle}."""
    if _is_number(value) or (_are_numbers(value) and len(value) == 4):
        return value
    if not isinstance(value, dict) or set(value) != {"axis", "angle"}:
        raise ValueError(
            f"expected [w, x, y, z], {{axis = [x, y, z], angle = …}}, or an angle in 2-D, got {value!r}"
        )
    try:
        axis = checks.unit_vector("orientation", "axis", value["axis"], 3)
        angle = checks.number("orientation", "angle", value["angle"])
    except SceneError as error:
        raise ValueError(str(error).removeprefix("orientation: ")) from None
    return rotations.from_axis_angle(axis, angle).tolist()


def _one_or_more(value: Any) -> Any:
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    raise ValueError(f"expected a number or a list of numbers, got {value!r}")


def _tensor(value: Any) -> Any:
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    if isinstance(value, list) and all(map(_are_numbers, value)):
        return value
    raise ValueError(f"expected a number, 3 moments, or 3 rows of 3 numbers, got {value!r}")


def _course(value: Any) -> Any:
    """Numbers, or a table of them in time as the pair (times, values)."""
    if value is None or _is_number(value) or _are_numbers(value):
        return value
    if isinstance(value, dict) and set(value) == {"times", "values"}:
        return value["times"], value["values"]
    raise ValueError(f"expected numbers, or {{times = […], values = […]}}, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


Numbers = list[float]
Rows = list[list[float]]
Orientation = Annotated[Any, BeforeValidator(_orientation)]
OneOrMore = Annotated[Any, BeforeValidator(_one_or_more)]
Course = Annotated[Any, BeforeValidator(_course)]
Tensor = Annotated[Any, BeforeValidator(_tensor)]
AngularVelocity = Annotated[
    OneOrMore, Field(description="angular velocity in the world (rad/s): 3 numbers, one in 2-D")
]
Radii = Annotated[OneOrMore, Field(description="radius, or [low, high] (m)")]
