"""Parameters of shipped scenes: type, unit, range and meaning, written once, in the signature of the scene.

>>> @ranged
... def drop(height: Annotated[float, Range(0.0, 100.0, "height of fall", "m")] = 1.0) -> Scene:
...     return Scene()
>>> drop(height=-1.0)
Traceback (most recent call last):
clapas.errors.SceneError: drop: height must be from 0 to 100 m (height of fall), got -1
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Annotated, Any, get_args, get_type_hints

from clapas.errors import SceneError
from clapas.scenes.scene import Scene

MANY = 10**6  # bodies that fit into a few GB


@dataclass(frozen=True)
class Range:
    """Admissible range of a parameter.

    Parameters
    ----------
    low, high : float
        Smallest and largest value.
    meaning : str
        A few words.
    unit : str
        SI unit, or what it is counted in.
    above : bool
        Whether ``low`` itself is excluded.
    """

    low: float
    high: float
    meaning: str
    unit: str = ""
    above: bool = False

    def __str__(self) -> str:
        begin = f"above {self.low:g}, at most" if self.above else f"from {self.low:g} to"
        return f"{begin} {self.high:g} {self.unit}".rstrip()

    def __contains__(self, value: float) -> bool:
        return (value > self.low if self.above else value >= self.low) and value <= self.high


@dataclass(frozen=True)
class Parameter:
    """A parameter of a shipped scene: its name, type, default and range."""

    name: str
    kind: type[int] | type[float]
    default: Any
    range: Range

    def checked(self, scene: str, value: Any) -> Any:
        """The value converted to its type; raises SceneError outside the range."""
        name, words = f"{scene}: {self.name}", f"{self.range} ({self.range.meaning})"
        is_number = not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
        if not is_number or (self.kind is int and not isinstance(value, Integral)):
            expected = "a whole number" if self.kind is int else "a number"
            raise SceneError(f"{name} must be {expected}, {words}, got {value!r}")
        if value not in self.range:
            raise SceneError(f"{name} must be {words}, got {value:g}")
        return self.kind(value)


def of(function: Callable[..., Scene]) -> dict[str, Parameter]:
    """The parameters of a scene, from its signature."""
    hints = get_type_hints(function, include_extras=True)
    parameters = {}
    for name, entry in inspect.signature(function).parameters.items():
        kind, limits = get_args(hints[name])
        parameters[name] = Parameter(name, kind, entry.default, limits)
    return parameters


def ranged(function: Callable[..., Scene]) -> Callable[..., Scene]:
    """Check the parameters of a scene before it is made."""
    parameters, label = of(function), function.__name__.replace("_", "-")
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*arguments: Any, **options: Any) -> Scene:
        values = signature.bind(*arguments, **options).arguments
        return function(**{name: parameters[name].checked(label, value) for name, value in values.items()})

    return checked


Grains = Annotated[int, Range(1, MANY, "number of grains")]
Radius = Annotated[float, Range(1e-6, 1e3, "largest radius of a grain", "m")]
Mu = Annotated[float, Range(0.0, 1e3, "coefficient of friction")]
Seed = Annotated[int, Range(0, 2**63 - 1, "seed of what is drawn at random")]
Diameters = Annotated[int, Range(1, 1000, "length of the layer", "largest diameters")]
Depth = Annotated[int, Range(1, 1000, "depth of the layer", "largest diameters")]
Relaxation = Annotated[float, Range(0.0, 1e6, "time to come to rest at the end", "s")]
Thickness = Annotated[float, Range(1e-3, 1.5, "thickness", "m")]
Voussoirs = Annotated[int, Range(2, 10_000, "stones of the arch")]
Courses = Annotated[int, Range(1, 1000, "courses, one on another")]
Inertial = Annotated[float, Range(1e-6, 1e2, "inertial number: how fast, beside what the pressure can move")]
Strain = Annotated[float, Range(0.0, 1e6, "how far the sample is deformed, over its depth", above=True)]
