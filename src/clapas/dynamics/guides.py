"""Guided bodies: free along some axes, held or driven along the others.

A lid that slides up and down under a pressure, a plate of a shear cell, a wheel on its axle. The guide is
exact: blocked velocities are those of the imposed motion, zero without one, whatever touches the body, and
contacts treat them as those of a wall. Along the free axes it has its mass, and moves under gravity, loads
and contacts like any body.

A body that only slides, without a free rotation and not along all axes, is a wall that yields. Like other
walls it may be wider than a periodic cell, touches bodies but no other wall, and is a wall in measures.

Axes are those of the world: "x", "y", "z" for the motion of the centre of mass, "rx", "ry", "rz" for
rotations about them; in 2-D "x", "y", "r".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.checks import Vector
from clapas.typing import Array, Mask

AXES = {2: ("x", "y", "r"), 3: ("x", "y", "z", "rx", "ry", "rz")}
HELD = 1e-24  # of the largest response to an impulse: less is rounding
WORDS = re.compile(r"r[xyz]?|[xyz]")


def free_axes(label: str, value: Any, d: int) -> tuple[str, ...] | None:
    """Names of the free axes, checked; None for a body that is free along all.

    >>> free_axes("lid", "z", 3), free_axes("wheel", "x z ry", 3), free_axes("disk", "xyr", 2)
    (('z',), ('x', 'z', 'ry'), None)
    """
    if value is None:
        return None
    known = AXES[d]
    words = _words(value)
    if words is None or not set(words) <= set(known):
        raise SceneError(f"{label}: free must name axes among {', '.join(known)}, got {value!r}")
    chosen = tuple(axis for axis in known if axis in words)
    if not chosen:
        raise SceneError(f"{label}: free names no axis; use fixed=True, or motion=… alone, for a wall")
    turns = sum(axis.startswith("r") for axis in chosen)
    if turns == 2:
        raise SceneError(
            f"{label}: free to turn about two axes, {' and '.join(chosen[-2:])}, of the world: such axes "
            "cannot be told once it has turned; free one rotation, or all three"
        )
    return None if len(chosen) == len(known) else chosen


def _words(value: Any) -> list[str] | None:
    """The words of a text such as "xz" or "x, ry", or of a list of such; None if it is something else."""
    text = value if isinstance(value, str) else " ".join(map(str, value)) if _is_list(value) else None
    if text is None or WORDS.sub("", text).strip(" ,"):
        return None
    return WORDS.findall(text)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | set)


def blocked_axes(free: tuple[str, ...], d: int) -> tuple[bool, ...]:
    """Which components of a velocity are blocked, in the order of the engine.

    >>> blocked_axes(("y",), 2)
    (True, False, True)
    """
    return tuple(axis not in free for axis in AXES[d])


def free_turns(free: tuple[str, ...] | None, d: int) -> int:
    """Number of free rotations; None is a body free along all axes."""
    return sum(axis.startswith("r") for axis in (AXES[d] if free is None else free))


def slides_only(free: tuple[str, ...] | None, d: int) -> bool:
    """Whether a body is a wall that yields: it never turns freely, and some translation is blocked."""
    return free is not None and free_turns(free, d) == 0 and len(free) < d


def inertia_about_axes(moments: Vector, axes: Array) -> Vector:
    """Moments about the axes of the world of a body with principal moments about ``axes``, (3, 3) columns."""
    return tuple(map(float, np.einsum("ik,k,ik->i", axes, moments, axes)))


def can_part(G: Array) -> Mask:
    """Contacts (n,) at which a normal impulse has an effect; guides prevent it at the others.

    ``G`` (n, 2, k, size) are the blocks of the contacts (see :class:`clapas.problems.blocks.BodyBlocks`).
    Where both normal rows are zero, no impulse follows from Coulomb's law, and none is needed.
    """
    response = np.sum(G[:, :, 0] ** 2, axis=(1, 2))
    return np.asarray(response > HELD * np.max(response, initial=0.0))
