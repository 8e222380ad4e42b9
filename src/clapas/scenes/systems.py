"""Bodies of other kinds in a scene: Lagrangian systems, trusses, elastic bodies, rods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.bodies.joined import RootedBodies
from clapas.bodies.kind import ShapedBodies
from clapas.bodies.registry import WrittenBodies
from clapas.bodies.rods import Rod, Rods
from clapas.bodies.rods.definition import FIXED
from clapas.dynamics.model import System
from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks
from clapas.scenes.body import Body, Wall
from clapas.scenes.materials import DEFAULT

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


@known_keywords
def add_system(
    scene: Scene,
    system: ShapedBodies,
    *,
    material: str = DEFAULT,
    name: str = "system",
    self_contact: bool = False,
    holder: int | str | None = None,
) -> list[int]:
    """Add bodies of another kind, such as a :class:`~clapas.bodies.lagrangian.LagrangianSystem`.

    Parameters
    ----------
    system : LagrangianSystem or another kind (see :mod:`clapas.bodies.kind`)
        Its coordinates, masses and forces; its ``shapes`` take part in contacts.
    material : str
        Material of its shapes.
    name : str
        A name no other system has; its shapes are bodies called "name 0", "name 1" and so on, or "name"
        with the names of its links.
    self_contact : bool
        Whether its own shapes may touch each other; by default they pass through one another.
    holder : int or str, optional
        A freely moving body in which the free roots of the system are clamped, with reaction.

    Returns
    -------
    list of int
        Numbers of the bodies that its shapes are, for probes and measures.

    Examples
    --------
    A pendulum of 1 m whose bob of 5 cm may touch things:

    >>> from clapas import Scene
    >>> from clapas.bodies.lagrangian import LagrangianSystem
    >>> from clapas.geometry.shapes import Disk
    >>> scene = Scene(d=2)
    >>> scene.law(mu=0.3)
    >>> pendulum = LagrangianSystem(
    ...     mass=lambda q: [[1.0]],
    ...     force=lambda q, v, t: -9.81 * np.sin(q),
    ...     frames=lambda q: ([[np.sin(q[0]), -np.cos(q[0])]], [[q[0]]]),
    ...     shapes=[(0, Disk(0.05))],
    ...     q=[1.0],
    ... )
    >>> scene.add_system(pendulum, name="pendulum")
    [0]
    """
    if checks.word("name of a system", name) in (other.name for other in scene.systems):
        raise SceneError(f"system '{name}': another system has this name; names are unique")
    if system.shapes and system.d != scene.d:
        raise SceneError(f"system '{name}': its links are in {system.d}-D, the scene is in {scene.d}-D")
    holder_number = -1 if holder is None else scene.number(holder)
    if holder is not None:
        _refuse_holder(name, system, scene.bodies[holder_number])
    elif isinstance(system, RootedBodies) and len(system.roots(system.start()).position):
        raise SceneError(
            f"system '{name}': its roots are to be held, and nothing holds them; name the body with "
            "add_rods(…, on=…) or holder, or make the roots 'clamped' or 'free'"
        )
    poses = system.poses(system.start())
    names = list(system.link_names)
    numbers = []
    for k, (link, shape) in enumerate(system.shapes):
        word = names[link] if link < len(names) and names[link] else str(k)
        turn = poses.orientation[link]
        numbers.append(
            scene.add(
                shape,
                poses.position[link],
                turn if scene.d == 3 else float(turn[0]),
                material=material,
                fixed=True,
                name=f"{name} {word}",
                group=name,
            )
        )
    links = np.array([link for link, _ in system.shapes], dtype=np.int64)
    rows = np.array(numbers, dtype=np.int64)
    scene.systems.append(System(name, system, rows, links, self_contact, holder_number))
    return numbers


@known_keywords
def add_rods(
    scene: Scene,
    rods: Sequence[Rod] | Rod,
    *,
    material: str = DEFAULT,
    name: str = "rods",
    touching: bool = True,
    on: int | str | None = None,
) -> list[int]:
    """Add thin elastic rods, which touch all else, one another and themselves.

    Parameters
    ----------
    rods : sequence of Rod
        The rods; one call for all that may touch one another is fastest and most exact (between rods of two
        calls, one of the two counts as the straight capsules of its segments).
    material : str
        Material of all rods.
    name : str
        A name no other system has.
    touching : bool
        Whether they touch one another and themselves.
    on : int or str, optional
        A freely moving body in which their roots are clamped, with reaction. Give them a
        ``bare`` length if they leave it from inside.

    Returns
    -------
    list of int
        Numbers of the bodies that their segments are.

    Examples
    --------
    A bristle over a floor:

    >>> from clapas import Scene
    >>> from clapas.bodies.rods import Rod
    >>> from clapas.geometry.shapes import Plane
    >>> scene = Scene()
    >>> scene.law(mu=0.3)
    >>> floor = scene.add(Plane())
    >>> bristle = Rod(
    ...     length=0.1, radius=1e-3, density=1100, young=1e9, position=(0, 0, 0.05), tangent=(1, 0, -0.3)
    ... )
    >>> len(scene.add_rods(bristle))
    24
    """
    rod_list = [rods] if isinstance(rods, Rod) else list(rods)
    if on is not None:
        if any(isinstance(rod, Rod) and rod.support is not FIXED for rod in rod_list):
            raise SceneError(f"rods '{name}': they are clamped on a body, and have no support besides")
        rod_list = [replace(rod, root="held") for rod in rod_list]
    kind = Rods(rod_list)
    return scene.add_system(kind, material=material, name=name, self_contact=touching, holder=on)


def system_entries(scene: Scene, system: System, carriers: set[int]) -> dict[str, Any]:
    """Entries of a system in a file; ``carriers`` are the bodies of the shapes of systems."""
    bodies = system.bodies
    if not isinstance(bodies, WrittenBodies):
        raise SceneError(
            f"system '{system.name}': it is made of Python functions, which no file can hold; "
            "keep the scene as a Python script"
        )
    entries: dict[str, Any] = {"kind": bodies.word, "name": system.name, "settings": bodies.to_dict()}
    if system.self_contact:
        entries["self_contact"] = True
    if system.holder >= 0:
        entries["holder"] = system.holder
    # A system without shapes has no position among the bodies, but one among the systems: it is written
    # with the position of the next one that has shapes, as a reader would otherwise take it for the last.
    k = next(k for k, other in enumerate(scene.systems) if other is system)
    first = next((int(other.rows[0]) for other in scene.systems[k:] if len(other.rows)), None)
    if first is not None:
        entries["after"] = first - sum(row < first for row in carriers)
    if len(system.rows):
        material = scene.bodies[int(system.rows[0])].material
        if material != DEFAULT:
            entries["material"] = material
    return entries


def _refuse_holder(name: str, system: ShapedBodies, body: Body | Wall) -> None:
    """Reject a system without roots, or a holder that does not move freely."""
    if not isinstance(system, RootedBodies):
        raise SceneError(f"system '{name}': bodies of the kind '{system.word}' have no roots to be held by")
    if isinstance(body, Wall) or body.free is not None:
        raise SceneError(
            f"system '{name}': the body that holds it must move freely, '{body.name}' does not; clamp rods "
            "in a Support with the same motion instead"
        )
