"""Checks of the values in a scene; an error names the item and what is wrong with it.

Every check takes the item's label (``"sphere"``, ``"body 'block 7'"``) and the name of the value, and
returns the value in its final form: a float, a tuple of floats or an array.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.rotations import identity
from clapas.typing import Array

Vector = tuple[float, ...]

# A quaternion or normal this close to unit length is not normalised, so that it is unchanged, bit by bit,
# when it is written to a file and read again.
ALREADY_UNIT = 1e-15


def number(label: str, name: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real | np.number):
        raise SceneError(f"{label}: {name} must be a number, got {value!r}")
    try:
        result = float(value)
    except OverflowError:  # an integer of hundreds of digits
        result = math.inf
    if not math.isfinite(result):
        raise SceneError(f"{label}: {name} must be finite, got {result}")
    return result


def word(label: str, value: Any) -> str:
    """A name that can be encoded in a file.

    >>> word("name of a body", "ball")
    'ball'
    """
    if not isinstance(value, str):
        raise SceneError(f"{label} must be a text, got {value!r:.60}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SceneError(f"{label} must be a text that files can hold, got {value!r:.60}") from None
    return str(value)  # a text of NumPy is one too, which YAML does not write


def positive(label: str, name: str, value: Any) -> float:
    """A finite number above zero."""
    result = number(label, name, value)
    if result <= 0.0:
        raise SceneError(f"{label}: {name} must be positive, got {result}")
    return result


def at_least_zero(label: str, name: str, value: Any) -> float:
    """A finite number that is not negative."""
    result = number(label, name, value)
    if result < 0.0:
        raise SceneError(f"{label}: {name} must be at least 0, got {result}")
    return result


def vector(label: str, name: str, value: Any, size: int) -> Vector:
    """A tuple of finite numbers of a given size."""
    try:
        result = tuple(map(float, value))
    except OverflowError:
        raise SceneError(f"{label}: {name} must be finite, got numbers beyond 1e308") from None
    except (TypeError, ValueError):
        raise SceneError(f"{label}: {name} must be {size} numbers, got {value!r}") from None
    if len(result) != size:
        raise SceneError(f"{label}: {name} must be {size} numbers, got {len(result)}: {list(result)}")
    if not all(map(math.isfinite, result)):
        raise SceneError(f"{label}: {name} must be finite, got {list(result)}")
    return result


def unit_vector(label: str, name: str, value: Any, size: int) -> Vector:
    """The direction of a vector of any length but zero."""
    result = vector(label, name, value, size)
    unit = _unit(result)
    if unit is None:
        raise SceneError(f"{label}: {name} must not be zero, it gives a direction; got {list(result)}")
    return unit


def orientation(label: str, value: Any, d: int) -> Vector:
    """A unit quaternion (w, x, y, z) from one of any length but zero; an angle (rad) in 2-D."""
    if value is None:
        return identity(d)
    if d == 2:
        angle = value[0] if np.ndim(value) == 1 and len(value) == 1 else value
        return (number(label, "orientation (an angle in 2-D)", angle),)
    name = "orientation (a quaternion w, x, y, z)"
    unit = _unit(vector(label, name, value, 4))
    if unit is None:
        raise SceneError(
            f"{label}: the orientation quaternion is zero and cannot be normalised; "
            "leave it out, or give (1, 0, 0, 0) for a body that is not turned"
        )
    return unit


def points(label: str, name: str, value: Any, d: int, at_least: int) -> Array:
    """A read-only array (n, d) of finite points, n large enough."""
    try:
        result = np.array(value, dtype=np.float64)
    except OverflowError:
        raise SceneError(f"{label}: {name} must be finite, got numbers beyond 1e308") from None
    except (TypeError, ValueError):
        raise SceneError(f"{label}: {name} must be rows of {d} numbers, got {value!r}") from None
    if result.ndim != 2 or result.shape[1] != d:
        raise SceneError(f"{label}: {name} must have shape (n, {d}), got {result.shape}")
    if len(result) < at_least:
        raise SceneError(f"{label}: at least {at_least} {name} are needed, got {len(result)}")
    bad = np.flatnonzero(~np.isfinite(result).all(axis=1))
    if bad.size:
        raise SceneError(f"{label}: {name} must be finite, got {result[bad[0]].tolist()} at row {bad[0]}")
    result.flags.writeable = False
    return result


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint in brackets if a known name is close to a misspelt one, else an empty string.

    >>> did_you_mean("raduis", ["radius", "length"])
    " (did you mean 'radius'?)"
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _unit(value: Vector) -> Vector | None:
    largest = max(map(abs, value))
    if largest == 0.0:
        return None
    if abs(math.fsum(x * x for x in value) - 1.0) <= ALREADY_UNIT:
        return value
    scaled = [x / largest for x in value]
    length = math.sqrt(math.fsum(x * x for x in scaled))
    return tuple(x / length for x in scaled)
