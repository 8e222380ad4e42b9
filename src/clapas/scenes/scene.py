"""A scene: what a person writes before a simulation.

Bodies and walls, what they are made of, which laws hold between them, gravity, sources of grains, probes.
A scene is checked as it is written, item by item, and as a whole when it is compiled. It can be kept in a
file (TOML or YAML) and read again, to the same bits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clapas.bodies.kind import RootedBodies, ShapedBodies
from clapas.bodies.registry import WrittenBodies
from clapas.bodies.rods import Rod, Rods
from clapas.bodies.rods.definition import FIXED
from clapas.dynamics.joints.definition import WORLD, Joint, make_joint
from clapas.dynamics.joints.laws import Mimic, Motor
from clapas.dynamics.model import System
from clapas.dynamics.probes import Probe
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.shapes import Shape
from clapas.laws import Law, LawTable
from clapas.scenes.body import Body, BodyRecord, make_body, record
from clapas.scenes.definition import readings, written
from clapas.scenes.grains import GrainSampler
from clapas.scenes.materials import DEFAULT, RULES, LawBook, Material, Pair, law_entries, make_law, pair
from clapas.scenes.packing import Fill, packed
from clapas.scenes.regions import BoxRegion, Region
from clapas.scenes.run import Run
from clapas.scenes.sources import Source, make_source

if TYPE_CHECKING:
    from clapas.scenes.robots import LoadedRobot

VERSION = 1
Period = tuple[float | None, float | None]


class Scene:
    """Bodies, walls, materials and laws: what to simulate.

    Parameters
    ----------
    gravity : d floats, optional
        Acceleration of gravity (m/s²): by default 9.81 downward, along the last axis.
    d : 2 or 3
        Dimension.
    period : (x, y), optional
        Lengths of the periodic cell along x and y (m); None where there is no periodicity.
    seed : int
        Seed of all that is random in the scene: packings, sources.
    combine : str
        For two materials without a law between them: "error", or how the laws of each with itself are
        combined, number by number: "mean", "geometric", "min" or "max".
    overlap : float, optional
        Depth of interpenetration allowed at the start (m); by default 1e-6 of the size of the smaller body.

    Examples
    --------
    A ball above a floor:

    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> scene = Scene()
    >>> stone = scene.material("stone", density=2500)
    >>> scene.law(mu=0.5)
    >>> floor = scene.add(Plane())
    >>> ball = scene.add(Sphere(0.1), position=(0, 0, 1), material=stone, name="ball")
    >>> round(scene.records()[ball].mass, 3)
    10.472
    """

    def __init__(
        self,
        gravity: Sequence[float] | None = None,
        d: int = 3,
        period: Sequence[float | None] | None = None,
        seed: int = 0,
        *,
        combine: str = "error",
        overlap: float | None = None,
    ) -> None:
        if d not in (2, 3):
            raise SceneError(f"scene: d must be 2 or 3, got {d!r}")
        self.d = d
        down = (0.0, 0.0, -9.81) if d == 3 else (0.0, -9.81)
        self.gravity: Vector = checks.vector("scene", "gravity", down if gravity is None else gravity, d)
        self.period = _period(period)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise SceneError(f"scene: seed must be a whole number, at least 0, got {seed!r}")
        self.seed = int(seed)
        self.combine = combine
        self.overlap = None if overlap is None else checks.at_least_zero("scene", "overlap", overlap)
        self.materials: dict[str, Material] = {DEFAULT: Material(DEFAULT)}
        self.bodies: list[Body] = []
        self.sources: list[Source] = []
        self.probes: list[Probe] = []
        self.systems: list[System] = []
        self.joints: list[Joint] = []
        self.mimics: list[Mimic] = []
        self.ignored: set[tuple[int, int]] = set()
        self.run = Run()
        self._laws: dict[Pair, Law] = {}
        self._law_for_all: Law | None = None
        self._numbers: dict[str, int] = {}
        self._fills = 0

    def __repr__(self) -> str:
        count = len(self.bodies)
        return f"Scene({count} bod{'y' if count == 1 else 'ies'} in {self.d}-D)"

    # ---------------------------------------------------------------- materials and laws

    @property
    def combine(self) -> str:
        """The rule for two materials without a law between them."""
        return self._combine

    @combine.setter
    def combine(self, rule: str) -> None:
        known = ("error", *RULES)
        if rule not in known:
            hint = checks.did_you_mean(str(rule), known)
            raise SceneError(f"scene: combine must be one of {', '.join(known)}, got {rule!r}{hint}")
        self._combine = rule

    def material(self, name: str, density: float | None = None) -> str:
        """Name a material; returns the name.

        Bodies added without a material are of the material "default", which can be given a density too.

        Parameters
        ----------
        name : str
            Its name.
        density : float, optional
            kg/m³; kg/m² in 2-D.
        """
        made = Material(checks.word("name of a material", name), density)
        old = self.materials.get(name)
        if old is not None and (name != DEFAULT or old.density is not None):
            raise SceneError(f"material '{name}' is already defined, with density {old.density}")
        self.materials[name] = made
        return name

    def law(self, a: str | None = None, b: str | None = None, **numbers: Any) -> None:
        """Give the law of contact between two materials, or for all pairs without their own.

        Parameters
        ----------
        a, b : str, optional
            Names of the materials; the same twice for a material with itself. None: for all pairs.
        **numbers
            Fields of :class:`clapas.laws.Law`: mu, restitution, tangential_restitution, cohesion, rolling,
            spinning, mu_across or section with direction.

        Examples
        --------
        >>> scene = Scene()
        >>> scene.law(mu=0.5)
        >>> ice = scene.material("ice", density=917)
        >>> scene.law("ice", "ice", mu=0.03)
        """
        if a is None and b is None:
            if self._law_for_all is not None:
                raise SceneError(f"the law for all pairs is already given: {self._law_for_all}")
            self._law_for_all = self._make_law("law for all pairs", numbers)
            return
        if a is None or b is None:
            raise SceneError(f"law: got the one material '{a or b}'; name two, or none for all pairs")
        label = f"law between '{a}' and '{b}'"
        for name in (a, b):
            self._require_material(label, name)
        if pair(a, b) in self._laws:
            raise SceneError(f"{label} is already given: {self._laws[pair(a, b)]}")
        self._laws[pair(a, b)] = self._make_law(label, numbers)

    def _make_law(self, label: str, numbers: Mapping[str, Any]) -> Law:
        law = make_law(label, numbers)
        if self.d == 2:
            for name in ("spinning", "mu_across", "section"):
                if getattr(law, name):
                    raise SceneError(
                        f"{label}: {name} has no meaning in 2-D, got {getattr(law, name)}; leave it out"
                    )
        return law

    @property
    def laws(self) -> LawBook:
        """The laws given so far, and the rule for the others."""
        return LawBook(dict(self._laws), self._law_for_all, self.combine)

    # ---------------------------------------------------------------- bodies

    def add(
        self,
        shape: Shape,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | float | None = None,
        velocity: Sequence[float] | None = None,
        angular_velocity: Sequence[float] | float | None = None,
        *,
        material: str = DEFAULT,
        density: float | None = None,
        mass: float | None = None,
        inertia: Any = None,
        centre: Sequence[float] | None = None,
        fixed: bool = False,
        motion: Any = None,
        free: str | Sequence[str] | None = None,
        force: Any = None,
        torque: Any = None,
        name: str | None = None,
        group: str = "",
    ) -> int:
        """Add a body or a wall; returns its number.

        Parameters
        ----------
        shape : Shape
            Its form.
        position : d floats, optional
            Where the origin of the shape's own frame is (m): for spheres, boxes, cylinders, capsules and
            disks, the centre. By default the origin.
        orientation : 4 floats, or a number in 2-D, optional
            Quaternion (w, x, y, z) of any length but zero, or angle (rad), of the shape's own frame.
        velocity : d floats, optional
            Velocity of the centre of mass (m/s).
        angular_velocity : 3 floats, or a number in 2-D, optional
            In the world (rad/s).
        material : str
            Name of its material, for its density and the laws of contact.
        density : float, optional
            Instead of that of the material: kg/m³, kg/m² in 2-D.
        mass : float, optional
            Instead of a density (kg, kg/m in 2-D).
        inertia : 3 floats, array (3, 3), or a number in 2-D, optional
            With ``mass``: moments, or tensor, about the centre of mass along the axes of the shape's own
            frame (kg·m²). By default that of the shape, filled evenly.
        centre : d floats, optional
            Centre of mass in the shape's own frame (m), instead of that of the shape.
        fixed : bool
            It never moves. Shapes without mass are always fixed, or driven.
        motion : Motion, function or table, optional
            It moves as told, whatever touches it; see :mod:`clapas.dynamics.motions`.
        free : str or list of str, optional
            For a guided body, the axes along which it is free, "z" or "x z ry": along the others it follows
            ``motion``, or does not move; see :mod:`clapas.dynamics.guides`. By default all or none.
        force, torque : floats, (times, values) or function of time, optional
            Load on it, in the world, at the centre of mass (N, N·m); see :mod:`clapas.dynamics.loads`.
        name : str, optional
            A name no other body has.
        group : str
            A word shared by bodies, to find them again in measures and pictures. No effect on the motion.

        Examples
        --------
        A lid that presses on what is below with 50 N, sliding along the vertical only:

        >>> from clapas.geometry.shapes import Box
        >>> scene = Scene()
        >>> lid = scene.add(Box((1, 1, 0.1)), (0, 0, 2), mass=1, free="z", force=(0, 0, -50))
        """
        number = len(self.bodies)
        checks.word(f"group of body {number}", group)
        if name is not None and checks.word(f"name of body {number}", name) in self._numbers:
            raise SceneError(
                f"body '{name}': body {self._numbers[name]} already has this name; names are unique "
                "(leave it out, or use group=… for what several bodies share)"
            )
        body = make_body(
            self.d,
            number,
            shape,
            name=name,
            position=position,
            orientation=orientation,
            velocity=velocity,
            angular_velocity=angular_velocity,
            material=material,
            density=density,
            mass=mass,
            inertia=inertia,
            centre=centre,
            fixed=fixed,
            motion=motion,
            free=free,
            force=force,
            torque=torque,
            group=group,
        )
        self._require_material(body.label, material)
        if not body.is_wall:
            self._require_room(body.label, "its size", shape.reach)
        self.bodies.append(body)
        if name is not None:
            self._numbers[name] = number
        return number

    def add_blocks(
        self,
        path: str | os.PathLike[str],
        *,
        scale: float | None = None,
        up: Literal["x", "y", "z"] | None = None,
        position: Sequence[float] | None = None,
        material: str = DEFAULT,
        density: float | None = None,
        fixed: str | Iterable[str] = (),
        nonconvex: Literal["hull", "parts"] = "hull",
        prefix: str = "",
        group: str | None = None,
    ) -> list[int]:
        """Add the blocks of a file, one body per object, group or connected piece; returns their numbers.

        Names are kept; pieces of an object get numbers after its name. A warning names what may not be meant:
        pieces that are not convex or not closed, millimetres taken for metres. If the scene has no
        ``overlap`` of its own it becomes 1e-5 of the smallest block, since files keep 6 or 7 digits.

        Parameters
        ----------
        path : path
            OBJ, STL, PLY, glTF (.gltf, .glb), DXF (3DFACE, polyface, MESH), or JSON of COMPAS.
        scale : float, optional
            Metres per unit of the file: 0.001 for millimetres. By default what the file says (glTF, DXF),
            otherwise 1.
        up : "x", "y" or "z", optional
            The axis of the file that points upwards, which becomes z; by default y for glTF, z otherwise.
        position : 3 floats, optional
            Where to put the origin of the file (m).
        material, density
            As in :meth:`add`.
        fixed : str or sequence of str
            Names of the blocks that never move, with * for any letters: "support*". Blocks that COMPAS
            marks as supports are fixed too.
        nonconvex : "hull" or "parts"
            A piece that is not convex becomes its convex hull, or a clump of convex parts (needs CoACD:
            ``pip install 'clapas[convex]'``).
        prefix : str
            Put before every name, to add a file twice.
        group : str, optional
            By default the name of the file.

        Examples
        --------
        The arch that comes with the package:

        >>> from clapas.scenes.examples import arch_file
        >>> scene = Scene()
        >>> numbers = scene.add_blocks(arch_file(), density=2000, fixed="support*")
        >>> len(numbers), scene.bodies[0].name
        (13, 'support_left')
        """
        from clapas.scenes.blocks import add_blocks

        return add_blocks(
            self,
            path,
            scale=scale,
            up=up,
            position=position,
            material=material,
            density=density,
            fixed=fixed,
            nonconvex=nonconvex,
            prefix=prefix,
            group=group,
        )

    def fill(
        self,
        region: BoxRegion,
        count: int,
        *,
        radius: float | Sequence[float] | None = None,
        shape: Shape | None = None,
        seed: int | None = None,
        material: str = DEFAULT,
        density: float | None = None,
        velocity: Sequence[float] | None = None,
        group: str = "",
    ) -> list[int]:
        """Fill a box loosely with grains that do not touch, to let them fall; returns their numbers.

        Grains sit on a lattice, each shifted at random within its own cell, filled from the bottom (along
        gravity) up.

        Parameters
        ----------
        region : BoxRegion
            Where; grains stay inside.
        count : int
            How many.
        radius : float or (low, high)
            Radii of spheres (disks in 2-D), spread evenly (m).
        shape : Shape
            Instead of radii: copies of this shape, turned at random.
        seed : int, optional
            By default a new one for each call, made from the seed of the scene.
        material, density, velocity, group
            As in :meth:`add`.

        Examples
        --------
        >>> scene = Scene()
        >>> len(scene.fill(BoxRegion((0, 0, 0), (1, 1, 1)), 100, radius=(0.04, 0.06), density=2500))
        100
        """
        given = {"region": region, "count": count, "density": density, "velocity": velocity}
        readings(Fill, "fill", given, self.d)
        grains = GrainSampler.of("fill", self.d, radius, shape)
        rng = np.random.default_rng([self.seed, self._fills if seed is None else seed, 0])
        placed = packed(region, grains, count, self.gravity, rng)
        self._fills += 1
        return [
            self.add(
                grain,
                position,
                turn,
                velocity,
                material=material,
                density=density,
                group=group,
            )
            for grain, position, turn in placed
        ]

    def add_system(
        self,
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
            A body that moves freely, in which the free roots of the system are fixed and which feels them.

        Returns
        -------
        list of int
            Numbers of the bodies that its shapes are, for probes and measures.

        Examples
        --------
        A pendulum of 1 m whose bob of 5 cm may touch things:

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
        if checks.word("name of a system", name) in (other.name for other in self.systems):
            raise SceneError(f"system '{name}': another system has this name; names are unique")
        if system.shapes and system.d != self.d:
            raise SceneError(f"system '{name}': its links are in {system.d}-D, the scene is in {self.d}-D")
        held_by = -1 if holder is None else self.number(holder)
        if holder is not None:
            _refuse_holder(name, system, self.bodies[held_by])
        poses = system.poses(system.start())
        names = list(system.link_names)
        numbers = []
        for k, (link, shape) in enumerate(system.shapes):
            word = names[link] if link < len(names) and names[link] else str(k)
            turn = poses.orientation[link]
            numbers.append(
                self.add(
                    shape,
                    poses.position[link],
                    turn if self.d == 3 else float(turn[0]),
                    material=material,
                    fixed=True,
                    name=f"{name} {word}",
                    group=name,
                )
            )
        links = np.array([link for link, _ in system.shapes], dtype=np.int64)
        rows = np.array(numbers, dtype=np.int64)
        self.systems.append(System(name, system, rows, links, self_contact, held_by))
        return numbers

    def add_rods(
        self,
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
            They; one call for all that may touch one another is fastest and most exact (between rods of two
            calls, one of the two counts as the straight capsules of its segments).
        material : str
            Of them all.
        name : str
            A name no other system has.
        touching : bool
            Whether they touch one another and themselves.
        on : int or str, optional
            A body that moves freely, in which their roots are clamped and which feels them. Give them a
            ``bare`` length if they leave it from inside.

        Returns
        -------
        list of int
            Numbers of the bodies that their segments are.

        Examples
        --------
        A bristle over a floor:

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
        made = [rods] if isinstance(rods, Rod) else list(rods)
        if on is not None:
            if any(isinstance(rod, Rod) and rod.support is not FIXED for rod in made):
                raise SceneError(f"rods '{name}': they are clamped on a body, and have no support besides")
            made = [replace(rod, root="held") for rod in made]
        kind = Rods(made)
        return self.add_system(kind, material=material, name=name, self_contact=touching, holder=on)

    def number(self, body: int | str) -> int:
        """Number of a body from its name or its number.

        >>> Scene().number("ball")
        Traceback (most recent call last):
        clapas.errors.SceneError: no body is called 'ball'
        """
        if isinstance(body, str):
            if body not in self._numbers:
                hint = checks.did_you_mean(body, self._numbers)
                raise SceneError(f"no body is called '{body}'{hint}")
            return self._numbers[body]
        if (
            isinstance(body, bool)
            or not isinstance(body, int | np.integer)
            or not 0 <= body < len(self.bodies)
        ):
            raise SceneError(f"there is no body {body!r}: bodies are numbered 0 to {len(self.bodies) - 1}")
        return int(body)

    # ---------------------------------------------------------------- joints

    def join(
        self,
        kind: str,
        a: int | str | None,
        b: int | str | None = None,
        *,
        at: Sequence[float] | None = None,
        to: Sequence[float] | None = None,
        axis: Sequence[float] | None = None,
        second: Sequence[float] | None = None,
        collide: bool = False,
        name: str | None = None,
        start: float = 0.0,
        limits: tuple[float | None, float | None] | None = None,
        restitution: float = 0.0,
        friction: float = 0.0,
        damping: float = 0.0,
        spring: tuple[float, float] | None = None,
        motor: Motor | None = None,
    ) -> Joint:
        """Join two bodies, or a body and the world; returns the joint.

        Bodies are joined where they are in the scene. Walls, fixed and driven bodies may be joined to bodies
        that move. Joints hold exactly, together with the contacts; loops may be closed, and rows may be
        redundant. See :mod:`clapas.dynamics.joints.definition` for what each kind leaves free.

        Parameters
        ----------
        kind : str
            In 3-D "ball", "hinge", "universal", "slider", "cylindrical", "planar", "fixed" or "distance"; in
            2-D "pin", "slot", "slider", "weld" or "distance". A "turn", a "travel" and, in 3-D, a "swing"
            hold nothing: each is a coordinate between two bodies, for laws on joints that leave several.
        a, b : int, str or None
            Numbers or names of the bodies; None or "world" for the world.
        at : d floats
            The point of the joint, in the world (m); for a distance, the end of the rod on a.
        to : d floats, optional
            For a distance, its other end, on b (m).
        axis : d floats, optional
            Direction in the world of the axis, or of the line, fixed in a. Any length but zero.
        second : 3 floats, optional
            For a universal joint, the axis fixed in b, at right angles to the first. For a turn, a direction
            of b that stays across the axis; for a swing, the axis of b if it is not aligned at the start.
        collide : bool
            Whether the two bodies may touch each other; by default they pass through one another.
        name : str, optional
            A name no other joint has; by default the kind and a number.
        start : float
            The coordinate where the bodies are placed (rad for a hinge or a pin, m for a slider, a slot or a
            cylindrical joint). What follows acts along it: see :mod:`clapas.dynamics.joints.laws`.
        limits : (lower, upper), optional
            Between which it stays; None for no limit on one side.
        restitution : float
            Of its limits, in [0, 1].
        friction : float
            Largest force of dry friction (N·m, N): below it the joint sticks.
        damping : float
            Viscous damping (N·m·s/rad, N·s/m).
        spring : (stiffness, rest), optional
            Spring (N·m/rad, N/m) and the coordinate at which it is at rest.
        motor : VelocityMotor, TorqueMotor or Servo, optional
            What drives it.

        Examples
        --------
        A door of 1 m that turns about a vertical axis:

        >>> from clapas.geometry.shapes import Box
        >>> scene = Scene()
        >>> door = scene.add(Box((1, 0.05, 2)), (0.5, 0, 0), mass=20, name="door")
        >>> scene.join("hinge", "door", at=(0, 0, 0), axis=(0, 0, 1)).name
        'hinge 0'
        """
        name = f"{kind} {len(self.joints)}" if name is None else checks.word("name of a joint", name)
        if any(other.name == name for other in self.joints):
            raise SceneError(f"joint '{name}': another joint has this name; names are unique")
        try:
            first, second_body = self._end(a), self._end(b)
        except SceneError as error:
            raise SceneError(f"joint '{name}': {error}") from None
        made = make_joint(
            self.d,
            kind,
            first,
            second_body,
            name=name,
            at=at,
            to=to,
            axis=axis,
            second=second,
            collide=collide,
            start=start,
            limits=limits,
            restitution=restitution,
            friction=friction,
            damping=damping,
            spring=spring,
            motor=motor,
        )
        self.joints.append(made)
        return made

    def mimic(self, follower: str, leader: str, *, ratio: float = 1.0, offset: float = 0.0) -> Mimic:
        """Let the coordinate of a joint follow that of another: gears, the two fingers of a gripper.

        follower = ratio · leader + offset holds exactly, and both joints feel each other. Both have a
        coordinate, an angle (rad) or a displacement (m); the ratio may turn one into the other.

        Examples
        --------
        >>> from clapas.geometry.shapes import Box
        >>> scene = Scene(gravity=(0, 0, 0))
        >>> for k in (0, 1):
        ...     wheel = scene.add(Box((0.1, 0.1, 0.1)), (k, 0, 0), mass=1)
        ...     joint = scene.join("hinge", wheel, at=(k, 0, 0), axis=(0, 0, 1), name=f"wheel {k}")
        >>> scene.mimic("wheel 1", "wheel 0", ratio=-2.0).ratio
        -2.0
        """
        label = f"mimic '{follower}'"
        known = {joint.name: joint for joint in self.joints}
        for name in (follower, leader):
            if name not in known:
                hint = checks.did_you_mean(str(name), known)
                raise SceneError(f"{label}: no joint is called '{name}'{hint}; join it first")
            if known[name].rows.coordinate is None:
                raise SceneError(
                    f"{label}: '{name}' is a {known[name].kind} joint, which has no coordinate of its own; "
                    "hinge, slider and cylindrical joints have one, in 2-D pin, slot and slider"
                )
        if follower == leader:
            raise SceneError(f"{label}: it would follow itself; name two joints")
        ratio = checks.number(label, "ratio", ratio)
        offset = checks.number(label, "offset", offset)
        expected = ratio * known[leader].laws.start + offset
        if abs(known[follower].laws.start - expected) > checks.ALREADY_UNIT * (1.0 + abs(expected)):
            raise SceneError(
                f"{label}: it starts at {known[follower].laws.start}, but ratio {ratio} and offset {offset} "
                f"put it at {expected}; change the offset, or the start of a joint"
            )
        made = Mimic(follower, leader, ratio, offset)
        self.mimics.append(made)
        return made

    def _end(self, body: int | str | None) -> int | None:
        """Number of a body at the end of a joint; None for the world."""
        if body is None or (body == WORLD and WORLD not in self._numbers):
            return None
        if body not in self._numbers and any(body == system.name for system in self.systems):
            raise SceneError(
                f"'{body}' is not rigid, and joints are between rigid bodies: a body holds rods by holder=, "
                "elastic bodies and trusses have supports"
            )
        return self.number(body)

    def ignore(self, a: int | str, b: int | str) -> None:
        """Let two bodies pass through each other: no contact between them is ever seen.

        Joined bodies do so already, unless their joint says ``collide=True``.
        """
        first, second = sorted((self.number(a), self.number(b)))
        if first == second:
            raise SceneError(f"ignore: body {first} twice; name two bodies")
        self.ignored.add((first, second))

    def load_robot(
        self,
        path: str | os.PathLike[str],
        *,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | None = None,
        fixed_base: bool = True,
        joints: Mapping[str, float] | None = None,
        motors: Mapping[str, Any] | None = None,
        self_collision: bool = True,
        material: str | None = None,
        prefix: str = "",
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        strict: bool = True,
    ) -> LoadedRobot:
        """Add a robot from a URDF or MJCF file: a body for each link, a joint for each joint.

        Links that fixed joints hold together become one body. Limits, friction, damping, springs and motors
        of joints are taken from the file. What of the file is not used is named in a warning; what is not
        supported is refused.

        Parameters
        ----------
        path : path
            The file.
        position, orientation : floats, optional
            Of the robot's own frame in the world (m; quaternion w, x, y, z).
        fixed_base : bool
            Whether the link at the top stands still (URDF; MJCF says it itself).
        joints : mapping, optional
            Coordinates of joints where the robot starts (rad, m), by name. By default zero, or the nearest
            limit.
        motors : mapping, optional
            Motors by the names of joints, instead of those of the file (see :meth:`join`).
        self_collision : bool
            Whether links that no joint joins may touch each other.
        material : str, optional
            Material of all links; by default "default".
        prefix : str
            Put before the names of links and joints: two robots of one file need two prefixes.
        packages : mapping, optional
            Folders of ROS packages, for meshes named ``package://…``.
        strict : bool
            False leaves out what is not supported, and says so, instead of refusing it.

        Returns
        -------
        LoadedRobot
            Numbers of the bodies by link, names of the joints, notes.
        """
        from clapas.scenes.robots import add_robot, read_robot

        return add_robot(
            self,
            read_robot(path, packages=packages, strict=strict),
            position=position,
            orientation=orientation,
            fixed_base=fixed_base,
            joints=joints,
            motors=motors,
            self_collision=self_collision,
            material=material,
            prefix=prefix,
        )

    # ---------------------------------------------------------------- sources and probes

    def source(
        self,
        region: Region,
        *,
        rate: float,
        radius: float | Sequence[float] | None = None,
        shape: Shape | None = None,
        number: int | None = None,
        until: float | None = None,
        start: float = 0.0,
        velocity: Sequence[float] | None = None,
        angular_velocity: Sequence[float] | float | None = None,
        material: str = DEFAULT,
        density: float | None = None,
        laid: bool = False,
        name: str | None = None,
        group: str = "",
    ) -> Source:
        """Create grains during the run, one by one at a constant rate.

        Parameters
        ----------
        region : BoxRegion or DiscRegion
            Where their centres of mass appear, evenly at random.
        rate : float
            Grains per second.
        radius : float or (low, high)
            Radii of spheres (disks in 2-D), spread evenly (m).
        shape : Shape
            Instead of radii: copies of this shape, turned at random.
        number : int, optional
            How many in all; ``number`` or ``until`` is needed.
        until : float, optional
            None appears at this time or later (s).
        start : float
            Time of the first (s).
        velocity, angular_velocity : floats, optional
            At birth, in the world (m/s, rad/s).
        material, density, group
            As in :meth:`add`.
        laid : bool
            Lower each grain along gravity, when it appears, past grains that fall, until it touches what
            lies below: it is laid down, not dropped. Among spheres, disks and planes only.
        name : str, optional
            Its name; its grains are called "name 0", "name 1" and so on.

        Examples
        --------
        Moreau's heap: 200 grains a second within 8 mm of the axis.

        >>> from clapas.scenes.regions import DiscRegion
        >>> above = DiscRegion((0, 0, 0.08), 0.008)
        >>> sand = Scene().source(
        ...     above, rate=200, radius=(1.25e-3, 2.5e-3), until=72.0, density=2500, laid=True
        ... )
        >>> sand.number
        14400
        """
        name = f"source {len(self.sources)}" if name is None else checks.word("name of a source", name)
        if any(other.name == name for other in self.sources):
            raise SceneError(f"source '{name}': another source has this name; names are unique")
        self._require_material(f"source '{name}'", material)
        given = {
            "region": region,
            "rate": rate,
            "radius": radius,
            "shape": shape,
            "number": number,
            "until": until,
            "start": start,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "material": material,
            "density": density,
            "laid": laid,
            "group": group,
        }
        made = make_source(self.d, name, given)
        if made.density is None and self.materials[material].density is None:
            raise SceneError(
                f"source '{name}': its grains have no mass; give density, or one to '{material}'"
            )
        self._require_room(f"source '{name}'", "the size of its grains", made.grains.bound)
        self.sources.append(made)
        return made

    def probe(
        self,
        quantity: str,
        body: int | str | None = None,
        other: int | str | None = None,
        *,
        joint: str | None = None,
        name: str | None = None,
    ) -> Probe:
        """Record a quantity of a body, of its contacts or of a joint at every step.

        Parameters
        ----------
        quantity : str
            A key of ``clapas.dynamics.probes.QUANTITIES``: "position", "force", "normal_force"…
        body : int or str, optional
            Number or name of the body.
        other : int or str, optional
            For contacts: only those with this body.
        joint : str, optional
            Name of the joint, instead of a body: "joint_coordinate", "joint_rate", "joint_effort",
            "joint_force", "joint_torque".
        name : str, optional
            Name of the column; by default made of the others.
        """
        if (body is None) == (joint is None):
            raise SceneError(f"probe of {quantity}: give a body, or the name of a joint")
        if joint is not None:
            name = checks.word("name of a probe", name or f"{quantity} {joint}")
            return self._probe_joint(quantity, joint, name)
        assert body is not None
        first, second = self.number(body), None if other is None else self.number(other)
        if name is None:
            name = f"{quantity} {body}" + ("" if other is None else f" {other}")
        checks.word("name of a probe", name)
        if any(probe.name == name for probe in self.probes):
            raise SceneError(f"probe '{name}': another probe has this name; names are unique")
        made = Probe(name, quantity, first, second)
        self.probes.append(made)
        return made

    def _probe_joint(self, quantity: str, joint: str, name: str) -> Probe:
        names = [one.name for one in self.joints]
        if joint not in names:
            known = ", ".join(names) or "none"
            raise SceneError(
                f"probe '{name}': there is no joint '{joint}'{checks.did_you_mean(joint, names)}; "
                f"there are {known}"
            )
        if any(probe.name == name for probe in self.probes):
            raise SceneError(f"probe '{name}': another probe has this name; names are unique")
        its = self.joints[names.index(joint)]
        body = its.a if its.a is not None else its.b
        assert body is not None
        made = Probe(name, quantity, body, joint=joint)
        if quantity in ("joint_coordinate", "joint_rate", "joint_effort") and its.rows.coordinate is None:
            raise SceneError(
                f"probe '{name}': a {its.kind} joint has no single coordinate; hinge, slider and cylindrical "
                "joints have one, in 2-D pin, slot and slider; joint_force and joint_torque are of all"
            )
        self.probes.append(made)
        return made

    # ---------------------------------------------------------------- what the engine needs

    def records(self) -> list[BodyRecord]:
        """The bodies as the engine needs them, in the order of their numbers, then grains by birth."""
        numbers = {name: k for k, name in enumerate(self.materials)}
        densities = {name: material.density for name, material in self.materials.items()}
        made = [record(body, numbers[body.material], densities[body.material]) for body in self.bodies]
        grains = [
            (grain.birth, k, j, grain, source)
            for k, source in enumerate(self.sources)
            for j, grain in enumerate(source.drawn(self.seed, k))
        ]
        for birth, _, j, grain, source in sorted(grains, key=lambda entry: entry[:3]):
            body = Body(
                number=len(made),
                name=f"{source.name} {j}",
                shape=grain.shape,
                position=grain.position,
                orientation=grain.orientation,
                velocity=source.velocity,
                angular_velocity=source.angular_velocity,
                material=source.material,
                density=source.density,
                group=source.group,
            )
            grain_record = record(body, numbers[source.material], densities[source.material], birth)
            made.append(replace(grain_record, laid=source.laid))
        return made

    def law_table(self) -> LawTable:
        """Laws by numbers of materials; refuses two materials that can touch without a law."""
        return self.laws.table(list(self.materials), self._meeting())

    def _meeting(self) -> set[Pair]:
        """Pairs of materials that can touch: at least one of the two bodies must not be a wall."""
        moving, walls = dict.fromkeys(self.materials, 0), set()
        for body in self.bodies:
            if body.is_wall:
                walls.add(body.material)
            else:
                moving[body.material] += 1
        for source in self.sources:
            moving[source.material] += source.number
        movable = [name for name, count in moving.items() if count]
        meeting = {(a, b) for a, b in combinations_with_replacement(movable, 2) if a != b or moving[a] > 1}
        return meeting | {(a, b) for a in movable for b in walls}

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """The scene in plain words, numbers, lists and dictionaries, as files hold it."""
        carriers = {int(row) for system in self.systems for row in system.rows}
        period = {axis: length for axis, length in zip("xy", self.period, strict=True) if length is not None}
        laws = [{"between": list(names), **law_entries(law)} for names, law in self._laws.items()]
        if self._law_for_all is not None:
            laws.insert(0, law_entries(self._law_for_all))
        entries: dict[str, Any] = {
            "version": VERSION,
            "dimension": self.d,
            "gravity": list(self.gravity),
            "period": period,
            "seed": self.seed,
            "combine": self.combine,
            "overlap": self.overlap,
            "run": self.run.to_dict(),
            "materials": {
                name: written(material)
                for name, material in self.materials.items()
                if name != DEFAULT or material.density is not None
            },
            "laws": laws,
            "bodies": [body.to_dict() for k, body in enumerate(self.bodies) if k not in carriers],
            "sources": [source.to_dict() for source in self.sources],
            "systems": [self._system_entries(system, carriers) for system in self.systems],
            "joints": [joint.to_dict() for joint in self.joints],
            "mimics": [asdict(mimic) for mimic in self.mimics],
            "ignored": [list(pair) for pair in sorted(self.ignored)],
            "probes": [probe.to_dict() for probe in self.probes],
        }
        return {name: value for name, value in entries.items() if value not in (None, {}, [])}

    def _system_entries(self, system: System, carriers: set[int]) -> dict[str, Any]:
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
        if len(system.rows):
            first = int(system.rows[0])
            entries["after"] = first - sum(row < first for row in carriers)
            material = self.bodies[first].material
            if material != DEFAULT:
                entries["material"] = material
        return entries

    @staticmethod
    def from_dict(data: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Scene:
        """A scene from plain data, checked against the schema; ``folder`` is where its meshes are."""
        from clapas.scenes.scenefile import scene_of

        return scene_of(data, folder)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scene:
        """Read a scene from a TOML or YAML file.

        Raises
        ------
        FormatError
            The file is neither, or damaged.
        SceneError
            A key is unknown, a value of the wrong kind or impossible; the message gives its path.
        """
        from clapas.scenes.scenefile import load

        return load(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene to a TOML or YAML file, by the name's ending. Reading gives the same scene."""
        from clapas.scenes.scenefile import save

        save(self, path)

    # ---------------------------------------------------------------- checks

    def _require_material(self, label: str, name: str) -> None:
        if name not in self.materials:
            hint = checks.did_you_mean(str(name), self.materials)
            known = ", ".join(self.materials)
            raise SceneError(
                f"{label}: unknown material '{name}'{hint}; known are {known}. "
                f"Define it first: scene.material('{name}', density=…)"
            )

    def _require_room(self, label: str, what: str, radius: float) -> None:
        """A body must not reach its own image, nor two images of an equal one at a time."""
        for axis, length in zip("xy", self.period, strict=True):
            if length is not None and 4.0 * radius > length:
                raise SceneError(
                    f"{label}: {what}, up to {2 * radius:.6g} m, is above half the period along {axis}, "
                    f"{length:.6g} m; take a longer period"
                )


def _refuse_holder(name: str, system: ShapedBodies, body: Body) -> None:
    """Refuse to fix in a body what has no roots, or a body that does not move freely."""
    if not isinstance(system, RootedBodies):
        raise SceneError(f"system '{name}': bodies of the kind '{system.word}' have no roots to be held by")
    if not body.is_movable or body.free is not None:
        raise SceneError(
            f"system '{name}': the body that holds it must move freely, '{body.name}' does not; clamp rods "
            "in a Support with the same motion instead"
        )


def _period(value: Any) -> Period:
    if value is None:
        return (None, None)
    try:
        x, y = value
    except (TypeError, ValueError):
        raise SceneError(
            f"scene: period must be two lengths, along x and y, None where there is none; got {value!r}"
        ) from None
    lengths = [None if length in (None, math.inf) else length for length in (x, y)]
    named = zip("xy", lengths, strict=True)
    checked = [
        None if p is None else checks.positive("scene", f"period along {axis}", p) for axis, p in named
    ]
    return (checked[0], checked[1])
