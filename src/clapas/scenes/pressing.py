"""Initial contact forces between bodies."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

from clapas.dynamics.pressing import Pressed
from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


@known_keywords
def press(scene: Scene, a: int | str, b: int | str, force: float | Sequence[float]) -> None:
    """Let body a press on body b when the run begins: they were wedged, clamped or loaded before.

    Where friction leaves the forces indeterminate, they select the solution: the first step is warm-started
    with them, as each other step with the impulses before it. They are no loads: a force that cannot persist
    is gone after the first step.

    Parameters
    ----------
    a, b : int or str
        Two bodies that touch.
    force : float, or d floats
        Force of a on b (N), shared evenly by their contacts: along the normals, or a vector.

    Examples
    --------
    >>> from clapas import Box, Plane, Scene
    >>> scene = Scene()
    >>> floor = scene.add(Plane(), name="floor")
    >>> box = scene.add(Box((1, 1, 1)), position=(0, 0, 0.5), density=1000, name="box")
    >>> scene.press("floor", "box", 9810.0)
    >>> scene.pressed
    [Pressed(a=0, b=1, force=(9810.0,))]
    """
    first, second = scene.number(a), scene.number(b)
    if first == second:
        raise SceneError(f"press: body {first} twice; name two bodies")
    if isinstance(force, bool) or not isinstance(force, Real):
        components = checks.vector("press", "force", force, scene.d)
    else:
        components = checks.vector("press", "force", (force,), 1)
        checks.at_least_zero("press", "force", components[0])
    scene.pressed.append(Pressed(first, second, components))
