"""Shapes with a closed form: spheres, boxes, capsules, cylinders, and disks in the plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.geometry.checks import Vector
from clapas.geometry.colliders import Kind
from clapas.geometry.mass import MassProperties
from clapas.geometry.shapes.base import Piece, Shape, centred_piece, write


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball, centred at the origin of its frame.

    Only the radius is stored: caching derived values would take half a kilobyte per grain.

    Parameters
    ----------
    radius : float
        m.

    Examples
    --------
    >>> Sphere(0.5).volume.__round__(6)
    0.523599
    """

    d = 3
    word = "sphere"
    radius: float

    def __post_init__(self) -> None:
        write(self, "radius", checks.positive(self.word, "radius", self.radius))

    @property
    def mass_properties(self) -> MassProperties:
        """V = 4πr³/3, I = 2Vr²/5."""
        r = self.radius
        volume = 4.0 / 3.0 * math.pi * r * r * r
        moment = 0.4 * volume * r * r
        return MassProperties.centred(volume, moment, moment, moment)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Itself."""
        return centred_piece(Kind.SPHERE, 3, (self.radius, 0.0, 0.0), self.radius)


@dataclass(frozen=True)
class Disk(Shape):
    """A disk in the plane, centred at the origin of its frame.

    Parameters
    ----------
    radius : float
        m.
    """

    d = 2
    word = "disk"
    radius: float

    def __post_init__(self) -> None:
        write(self, "radius", checks.positive(self.word, "radius", self.radius))

    @property
    def mass_properties(self) -> MassProperties:
        """A = πr², I = Ar²/2."""
        r = self.radius
        area = math.pi * r * r
        return MassProperties.centred(area, area * r * r / 2.0)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Itself."""
        return centred_piece(Kind.SPHERE, 2, (self.radius, 0.0, 0.0), self.radius)


@dataclass(frozen=True, init=False)
class Box(Shape):
    """A rectangular box, centred at the origin, edges along the axes of its frame.

    Parameters
    ----------
    size : 3 floats
        Full lengths of its edges along x, y and z (m).

    Examples
    --------
    >>> Box((1, 2, 3)).mass_properties.moments
    (6.5, 5.0, 2.5)
    """

    d = 3
    word = "box"
    size: Vector

    def __init__(self, size: Sequence[float]) -> None:
        edges = checks.vector(self.word, "size (full edge lengths)", size, 3)
        for axis, edge in zip("xyz", edges, strict=True):
            checks.positive(self.word, f"size along {axis}", edge)
        write(self, "size", edges)

    @cached_property
    def mass_properties(self) -> MassProperties:
        """V = abc, I = V(b² + c², c² + a², a² + b²)/12."""
        a, b, c = self.size
        volume = a * b * c
        share = volume / 12.0
        return MassProperties.centred(
            volume, share * (b * b + c * c), share * (c * c + a * a), share * (a * a + b * b)
        )

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Itself, by its half edges."""
        a, b, c = (edge / 2.0 for edge in self.size)
        return centred_piece(Kind.BOX, 3, (a, b, c), math.hypot(a, b, c))


@dataclass(frozen=True)
class Cylinder(Shape):
    """A solid cylinder with flat ends, axis along z, centred at the origin of its frame.

    Parameters
    ----------
    radius, length : float
        m.
    """

    d = 3
    word = "cylinder"
    radius: float
    length: float

    def __post_init__(self) -> None:
        write(self, "radius", checks.positive(self.word, "radius", self.radius))
        write(self, "length", checks.positive(self.word, "length", self.length))

    @cached_property
    def mass_properties(self) -> MassProperties:
        """V = πr²l, I = V((3r² + l²)/12, (3r² + l²)/12, r²/2)."""
        r, length = self.radius, self.length
        volume = math.pi * r * r * length
        across = volume * (3.0 * r * r + length * length) / 12.0
        return MassProperties.centred(volume, across, across, volume * r * r / 2.0)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Itself, by its half length."""
        half = self.length / 2.0
        return centred_piece(Kind.CYLINDER, 3, (self.radius, half, 0.0), math.hypot(self.radius, half))


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder closed by two half balls, axis along z, centred at the origin of its frame.

    Parameters
    ----------
    radius : float
        Of the cylinder and of the half balls (m).
    length : float
        Of the cylinder alone (m): end to end the capsule measures length + 2 radius.
    """

    d = 3
    word = "capsule"
    radius: float
    length: float

    def __post_init__(self) -> None:
        write(self, "radius", checks.positive(self.word, "radius", self.radius))
        write(self, "length", checks.positive(self.word, "length (of the cylinder part)", self.length))

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Cylinder plus two half balls, whose centres are 3r/8 above their flat side."""
        r, length = self.radius, self.length
        body, ends = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r * r * r
        across = body * (3.0 * r * r + length * length) / 12.0
        across += ends * (0.4 * r * r + length * length / 4.0 + 0.375 * r * length)
        along = (0.5 * body + 0.4 * ends) * r * r
        return MassProperties.centred(body + ends, across, across, along)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Itself, by its half length."""
        half = self.length / 2.0
        return centred_piece(Kind.CAPSULE, 3, (self.radius, half, 0.0), self.radius + half)


@dataclass(frozen=True)
class Point(Shape):
    """A body without shape: its mass and inertia are given in ``scene.add``, and it has no contacts.

    For parts of mechanisms that only joints hold.

    Parameters
    ----------
    d : 2 or 3
        Dimension.

    Examples
    --------
    >>> from clapas import Scene
    >>> scene = Scene()
    >>> number = scene.add(Point(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    """

    word = "point"
    d: int = 3  # type: ignore[misc]

    def __post_init__(self) -> None:
        if self.d not in (2, 3):
            raise SceneError(f"point: d must be 2 or 3, got {self.d!r}")

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Zero: mass and inertia are given in ``scene.add``."""
        return MassProperties.centred(0.0, *((0.0,) * (3 if self.d == 3 else 1)))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """None."""
        return ()

    @cached_property
    def bound(self) -> float:
        """Zero."""
        return 0.0

    @cached_property
    def reach(self) -> float:
        """Zero."""
        return 0.0
