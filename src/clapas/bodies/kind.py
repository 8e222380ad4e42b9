"""Interface between the engine and a kind of bodies.

A kind holds all its bodies as constant arrays and has the methods that a time step calls; its state is a
:class:`Part`. The engine uses nothing else of it. To take part in contacts a kind has *carriers*, rigid
frames that move with it: a link of a linkage, a node of a truss, a segment of a rod. Shapes are fixed to
carriers as they are to rigid bodies, so collision detection, recordings and the viewer only need the poses of
carriers.

Rigid bodies are the one kind that does not use this interface: millions of them are moved, detected and
solved in compiled loops over their own arrays. They are coupled to the other kinds in the contact problem of
the step.

To add a kind: a folder under ``bodies/`` with a class that has the methods of :class:`ShapedBodies`, which
people pass to ``scene.add_system``. Nothing else in the package names it. Further protocols are optional:

=================================  ==================================================================
:mod:`clapas.bodies.links`         rows of its own in the contact problem: cables, stops, constraints
:mod:`clapas.bodies.nonlinear`     forces that are not linear in the velocities within a step
:mod:`clapas.bodies.joined`        frames that joints and rigid bodies can hold
:mod:`clapas.bodies.touched`       contacts on surfaces that bend, or of many small bodies
:mod:`clapas.bodies.drawn`         skins that viewers draw, quantities that recordings store
=================================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from scipy import sparse

from clapas.geometry.shapes.base import Shape
from clapas.linalg.body_masses import BodyMasses
from clapas.linalg.factored_mass import FactoredMass
from clapas.typing import Array, Indices


@dataclass(frozen=True)
class Part:
    """Positions and velocities of one kind.

    Parameters
    ----------
    q : array (n_q,)
        Coordinates, as defined by the kind.
    v : array (n_dof,)
        Velocities. ``drift`` and ``advance`` define how q changes with them.
    """

    q: Array
    v: Array


class Span(NamedTuple):
    """A time step, as passed to the methods of a kind.

    Parameters
    ----------
    time : float
        Middle of the step (s).
    h : float
        Length (s).
    theta : float
        Parameter θ of the scheme: forces are taken at q + θ h v where the kind treats them implicitly.
    gravity : array (d,)
        Acceleration of gravity (m/s²).
    """

    time: float
    h: float
    theta: float
    gravity: Array


class Energy(NamedTuple):
    """Energies (J)."""

    kinetic: float
    potential: float


class Poses(NamedTuple):
    """Poses of carriers: positions (k, d) in m, and unit quaternions (k, 4), or angles (k, 1) in 2-D."""

    position: Array
    orientation: Array


class Touches(NamedTuple):
    """Material points of carriers.

    Parameters
    ----------
    carrier : array (n,)
        Carrier of each point.
    point : array (n, d)
        Its position in the world (m).
    """

    carrier: Indices
    point: Array


class Bodies(Protocol):
    """All bodies of one kind."""

    word: ClassVar[str]
    """Name of the kind in files and messages."""

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        ...

    @property
    def n_dof(self) -> int:
        """Number of velocities."""
        ...

    @property
    def n_carriers(self) -> int:
        """Number of frames to which shapes are fixed."""
        ...

    def start(self) -> Part:
        """Initial coordinates and velocities."""
        ...

    def drift(self, part: Part, h: float) -> Part:
        """The part after h seconds at its velocities, q ⊕ h v."""
        ...

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array | BodyMasses | FactoredMass, Array]:
        """Effective mass M̃ (symmetric, positive definite) and velocities at the end without contact.

        A ``FactoredMass`` contains its factors and is not factorised again.

        With internal damping C and stiffness K treated implicitly, M̃ = M + θhC + θ²h²K and
        v_free = v + M̃⁻¹ h [f − N − C v − K(q + θ h v)], all at the middle of the step.
        """
        ...

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """The part with velocities v, after h seconds at them."""
        ...

    def poses(self, part: Part) -> Poses:
        """Poses of its carriers."""
        ...

    def twists(self, part: Part) -> Array:
        """Velocities of the carriers at the velocities of the part, (k, 6), or (k, 3) in the plane.

        Velocity of the origin in the world, angular velocity in the carrier's own frame, as of rigid bodies.
        """
        ...

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities in the world of material points, (d·n × n_dof), as a matrix on the velocities."""
        ...

    def energy(self, part: Part, gravity: Array) -> Energy:
        """Kinetic and potential energy."""
        ...


class ShapedBodies(Bodies, Protocol):
    """Bodies of one kind with the shapes of their carriers, as added to a scene."""

    @property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """Carrier and shape of everything that takes part in contacts."""
        ...

    @property
    def link_names(self) -> Sequence[str]:
        """Names of the carriers; may be empty."""
        ...


@runtime_checkable
class DoubtingBodies(Protocol):
    """Bodies that check the limits of their assumptions: a run warns once, by name, when one is exceeded."""

    def doubt(self, part: Part, h: float) -> str | None:
        """Why a part exceeds these limits, and what to do; None if it does not.

        Called after each step, of h seconds.
        """
        ...


@runtime_checkable
class PassiveBodies(Protocol):
    """Bodies that can tell whether only contacts, joints and loads of the scene give them energy."""

    @property
    def is_passive(self) -> bool:
        """Whether what they get is all in the balance of a run: a run warns if they gain more."""
        ...
