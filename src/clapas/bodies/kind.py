"""Interface of a kind of bodies: the whole contract between the engine and a kind.

A kind holds all its bodies as constant arrays and has the methods that a time step calls; what changes is a
:class:`Part`. The engine knows nothing else of it. To take part in contacts a kind has *carriers*, rigid
frames that move with it: a link of a linkage, a node of a truss, a segment of a rod. Shapes are fixed to
carriers as they are to rigid bodies, so collision detection, recordings and the viewer know carriers by their
poses alone.

Rigid bodies are the one kind that does not use this interface: millions of them are moved, detected and
solved in compiled loops over their own arrays. They meet the other kinds in the contact problem of the step.

To add a kind: a folder under ``bodies/`` with a class that has the methods of :class:`ShapedBodies`, which
people pass to ``scene.add_system``. Nothing else in the package names it. More methods bring more:

=================================  ==================================================================
:mod:`clapas.bodies.links`         rows of its own in the contact problem: cables, stops, constraints
:mod:`clapas.bodies.nonlinear`     forces that are not linear in the velocities within a step
:mod:`clapas.bodies.joined`        frames that joints and rigid bodies can hold
:mod:`clapas.bodies.touched`       contacts on surfaces that bend, or of many small bodies
:mod:`clapas.bodies.drawn`         skins that viewers draw, quantities that recordings keep
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
        Coordinates, as the kind counts them.
    v : array (n_dof,)
        Velocities. ``drift`` and ``advance`` say how they move q.
    """

    q: Array
    v: Array


class Span(NamedTuple):
    """The step that a kind is asked about.

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
    """Where carriers are: positions (k, d) in m, and unit quaternions (k, 4), or angles (k, 1) in 2-D."""

    position: Array
    orientation: Array


class Touches(NamedTuple):
    """Material points of carriers.

    Parameters
    ----------
    carrier : array (n,)
        Carrier of each point.
    point : array (n, d)
        Where it is, in the world (m).
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
        """Velocities."""
        ...

    @property
    def n_carriers(self) -> int:
        """Frames to which shapes are fixed."""
        ...

    def start(self) -> Part:
        """Where and how fast they are at the start."""
        ...

    def drift(self, part: Part, h: float) -> Part:
        """The part after h seconds at its velocities, q ⊕ h v."""
        ...

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array | BodyMasses | FactoredMass, Array]:
        """Effective mass M̃ (symmetric, positive definite) and velocities at the end without contact.

        A ``FactoredMass`` brings its inverse along, and is not factorised again.

        With internal damping C and stiffness K treated implicitly, M̃ = M + θhC + θ²h²K and
        v_free = v + M̃⁻¹ h [f − N − C v − K(q + θ h v)], all at the middle of the step.
        """
        ...

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """The part with velocities v, after h seconds at them."""
        ...

    def poses(self, part: Part) -> Poses:
        """Where its carriers are."""
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
    """What a person adds to a scene: bodies of one kind with the shapes of their carriers."""

    @property
    def shapes(self) -> Sequence[tuple[int, Shape]]:
        """Carrier and shape of all that takes part in contacts."""
        ...

    @property
    def link_names(self) -> Sequence[str]:
        """Names of the carriers; may be empty."""
        ...


@runtime_checkable
class DoubtingBodies(Protocol):
    """Bodies that know the limits of their assumptions: a run warns once, by name, when one is passed."""

    def doubt(self, part: Part) -> str | None:
        """Why a part is not to be trusted, and what to do; None where it is. Called after each step."""
        ...
