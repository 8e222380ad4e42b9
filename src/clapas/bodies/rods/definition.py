"""User definition of rods and supports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array

Load = Sequence[float] | Array | Callable[[float], Any]
SEGMENTS = 4


@dataclass(frozen=True, kw_only=True)
class Support:
    """Rigid frame in which roots are clamped, with an imposed motion; at rest by default.

    Parameters
    ----------
    motion : function of time, optional
        Time (s) ↦ velocity of its origin in the world (m/s) and angular velocity along axes that turn with
        it (rad/s), as of walls: one of :mod:`clapas.dynamics.motions`, or a function. Give the same to a
        wall, and both move together.
    position : 3 floats
        Its origin at the start (m), about which it turns.
    """

    motion: Callable[[float], Any] | None = None
    position: Sequence[float] | Array = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", checks.vector("support", "position", self.position, 3))
        if self.motion is not None:
            if not callable(self.motion):
                raise SceneError(f"support: motion must be a function of time, got {self.motion!r}")
            self.at(0.0)  # checks the function before the run

    def at(self, time: float) -> tuple[Array, Array]:
        """Velocity in the world, and angular velocity along its own axes."""
        if self.motion is None:
            return np.zeros(3), np.zeros(3)
        try:
            velocity, spin = self.motion(time)
        except (TypeError, ValueError):
            raise SceneError(
                f"support: motion must return (velocity, angular velocity), got {self.motion(time)!r}"
            ) from None
        return (
            np.array(checks.vector("support", f"velocity at t = {time}", velocity, 3)),
            np.array(checks.vector("support", f"angular velocity at t = {time}", spin, 3)),
        )


FIXED = Support()


@dataclass(frozen=True, kw_only=True)
class Rod:
    """A thin elastic rod that neither stretches nor shears: a hair, a cable, a bristle.

    Its centreline is a chain of helices of constant twist τ and curvatures κ₁, κ₂ (a super-helix), joined
    with a common tangent: three unknowns per element. Its elastic energy is

        ½ ∫ GJ (τ − τ⁰)² + EI₁ (κ₁ − κ₁⁰)² + EI₂ (κ₂ − κ₂⁰)² ds,

    with natural twist and curvatures τ⁰, κ⁰ and, for an ellipse of semi-axes a along n₁ and b along n₂,
    EI₁ = Eπab³/4, EI₂ = Eπa³b/4, GJ = Gπa³b³/(a² + b²).

    Parameters
    ----------
    length : float
        m.
    radius : float or (a, b)
        Of a round section, or the semi-axes of an elliptic one (m). To contacts the section is round, of the
        larger radius.
    elements : int
        Helices.
    density : float
        kg/m³.
    young : float
        Young's modulus E (Pa).
    poisson : float
        Poisson's ratio; G = E/(2 + 2 poisson).
    natural : 3 floats, or array (elements, 3)
        Twist and curvatures (τ⁰, κ₁⁰, κ₂⁰) of the rod without forces (1/m).
    strain : 3 floats, or array (elements, 3), optional
        Those at the start; by default the natural ones.
    position, tangent, normal : 3 floats each
        Root, direction in which the rod leaves it, and the axis n₁ of the section there; ``normal`` is made
        orthogonal, by default it is the axis of the world most across the tangent.
    root : "clamped", "free" or "held"
        Clamped in a support, free to move, or held by a rigid body, with reaction
        (set by ``scene.add_rods(…, on=body)``).
    support : Support
        Where it is clamped.
    velocity, angular_velocity : 3 floats each
        Of a free root at the start (m/s, rad/s, in the world).
    damping : float
        Internal viscosity, as time of retardation (s): the moment of a strain rate is this times the
        stiffness (Kelvin and Voigt).
    drag : float
        Drag of the air per length and velocity (kg/(m·s)).
    tip_force, tip_couple : 3 floats, or functions of time
        Dead loads at the tip, in the world (N, N·m).
    segments : int
        Contact segments per element; each has one contact point per other body.
    bare : float
        Length from the root without contact (m), where the rod leaves its support.

    Examples
    --------
    A curl of hair that hangs from the origin:

    >>> hair = Rod(length=0.15, radius=4e-5, density=1300, young=4e9, natural=(0, 0, 40), tangent=(0, 0, -1))
    >>> f"{hair.stiffness[1]:.3g} N·m²"
    '8.04e-09 N·m²'
    """

    length: float
    radius: float | Sequence[float]
    density: float
    young: float
    poisson: float = 0.48
    elements: int = 6
    natural: npt.ArrayLike = (0.0, 0.0, 0.0)
    strain: npt.ArrayLike | None = None
    position: Sequence[float] | Array = (0.0, 0.0, 0.0)
    tangent: Sequence[float] | Array = (1.0, 0.0, 0.0)
    normal: Sequence[float] | Array | None = None
    root: str = "clamped"
    support: Support = FIXED
    velocity: Sequence[float] | Array = (0.0, 0.0, 0.0)
    angular_velocity: Sequence[float] | Array = (0.0, 0.0, 0.0)
    damping: float = 0.0
    drag: float = 0.0
    tip_force: Load = (0.0, 0.0, 0.0)
    tip_couple: Load = (0.0, 0.0, 0.0)
    segments: int = SEGMENTS
    bare: float = 0.0

    def __post_init__(self) -> None:
        for name in ("length", "density", "young"):
            checks.positive("rod", name, getattr(self, name))
        for name in ("damping", "drag", "bare"):
            checks.at_least_zero("rod", name, getattr(self, name))
        if self.bare > self.length:
            raise SceneError(
                f"rod: bare is the part of the length that nothing touches, at most {self.length:g} m, got "
                f"{self.bare:g} m"
            )
        if not -1.0 < checks.number("rod", "poisson", self.poisson) <= 0.5:
            raise SceneError(f"rod: poisson must be in ]-1, 0.5], got {self.poisson}")
        for axis in self.axes:
            checks.positive("rod", "radius", axis)
        for name in ("elements", "segments"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                raise SceneError(f"rod: {name} must be a whole number, at least 1, got {count!r}")
        if self.root not in ("clamped", "free", "held"):
            raise SceneError(f"rod: root must be 'clamped', 'free' or 'held', got {self.root!r}")
        if not isinstance(self.support, Support):
            raise SceneError(f"rod: support must be a Support, got {self.support!r}")
        if self.root != "clamped" and self.support is not FIXED:
            raise SceneError("rod: a free root has no support; leave one of the two out")
        for name in ("position", "velocity", "angular_velocity"):
            checks.vector("rod", name, getattr(self, name), 3)
        for name in ("velocity", "angular_velocity"):
            if self.root == "clamped" and np.any(getattr(self, name)):
                raise SceneError(
                    f"rod: {name} is that of a free root, and this one is clamped; make it root='free', or "
                    "move its support with Support(motion=…)"
                )
        _ = self.natural_strain, self.start_strain, self.frame
        for name in ("tip_force", "tip_couple"):
            self.load(name, 0.0)

    @property
    def axes(self) -> tuple[float, float]:
        """Semi-axes of the section along n₁ and n₂ (m)."""
        if np.ndim(self.radius) == 0:
            return float(self.radius), float(self.radius)  # type: ignore[arg-type]
        a, b = checks.vector("rod", "radius (semi-axes)", self.radius, 2)
        return a, b

    @property
    def moments(self) -> tuple[float, float]:
        """Second moments of area I₁, I₂ about n₁ and n₂ (m⁴)."""
        a, b = self.axes
        return math.pi * a * b**3 / 4.0, math.pi * a**3 * b / 4.0

    @property
    def stiffness(self) -> Array:
        """GJ, EI₁, EI₂ (N·m²)."""
        (a, b), (first, second) = self.axes, self.moments
        shear = self.young / (2.0 * (1.0 + self.poisson))
        return np.array(
            [shear * math.pi * (a * b) ** 3 / (a * a + b * b), self.young * first, self.young * second]
        )

    @property
    def inertia(self) -> Array:
        """Mass and moments of inertia of the section per length: ρS (kg/m), ρ(I₁ + I₂), ρI₁, ρI₂ (kg·m)."""
        (a, b), (first, second) = self.axes, self.moments
        return self.density * np.array([math.pi * a * b, first + second, first, second])

    @property
    def natural_strain(self) -> Array:
        """Natural strains, (elements, 3)."""
        return self._strains("natural", self.natural)

    @property
    def start_strain(self) -> Array:
        """Strains at the start, (elements, 3)."""
        return self.natural_strain if self.strain is None else self._strains("strain", self.strain)

    def _strains(self, name: str, value: npt.ArrayLike) -> Array:
        try:
            rows = np.asarray(value, dtype=float)
            rows = np.broadcast_to(rows, (self.elements, 3)).copy() if rows.ndim in (1, 2) else rows
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.shape != (self.elements, 3) or not np.isfinite(rows).all():
            raise SceneError(
                f"rod: {name} must be (twist, curvature 1, curvature 2), or a row of them for each of the "
                f"{self.elements} elements, got {value!r}"
            )
        return rows

    @property
    def frame(self) -> Array:
        """Frame of the root: columns n₀ (tangent), n₁, n₂."""
        tangent = np.array(checks.unit_vector("rod", "tangent", self.tangent, 3))
        across = np.eye(3)[int(np.argmin(np.abs(tangent)))]
        if self.normal is not None:
            across = np.array(checks.unit_vector("rod", "normal", self.normal, 3))
        normal = across - tangent * (tangent @ across)
        size = float(np.linalg.norm(normal))
        if size < 1e-8:
            raise SceneError(f"rod: normal {self.normal} must not be along the tangent {self.tangent}")
        normal /= size
        return np.column_stack((tangent, normal, np.cross(tangent, normal)))

    def load(self, name: str, time: float) -> Array:
        """A load at a time."""
        value: Any = getattr(self, name)
        return np.array(checks.vector("rod", name, value(time) if callable(value) else value, 3))
