"""Interface of a kind of bodies: the whole contract between the engine and a kind.

A kind holds all its bodies as constant arrays and answers the questions a time step asks; what changes is a
:class:`Part`. The engine knows nothing else of it. To take part in contacts a kind has *carriers*, rigid
frames that move with it: a link of a linkage, a node of a truss, a segment of a rod. Shapes are fixed to
carriers as they are to rigid bodies, so collision detection, recordings and the viewer know carriers by their
poses alone.

Rigid bodies are the one kind that does not go through this door: millions of them are moved, detected and
solved in compiled loops over their own arrays. They meet the other kinds in the contact problem of the step.

To add a kind: a folder under ``bodies/`` with a class that has these methods, which people pass to
``scene.add_system``. Nothing else in the package names it. One that looks like more than the shapes of its
carriers also has the methods of :class:`DrawnBodies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from clapas.geometry.colliders import Colliders, Contacts
from clapas.geometry.shapes.base import Shape
from clapas.linalg.body_masses import BodyMasses
from clapas.linalg.factored_mass import FactoredMass
from clapas.typing import Array, Indices, Mask


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


class Rows(NamedTuple):
    """Velocities of material points as full rows on the velocities of the one body that each belongs to.

    Parameters
    ----------
    body : array (n,)
        The body of each point.
    entries : array (n, d, most)
        The rows; a body of fewer velocities than the largest leaves the last entries zero.
    imposed : array (n, d)
        Velocities (m/s) that do not depend on the unknowns: of supports.
    """

    body: Indices
    entries: Array
    imposed: Array


class Field(NamedTuple):
    """A quantity that viewers show in colours: its name, its unit, and what has a value of it."""

    name: str
    unit: str
    of: Literal["vertex", "cell"]


class Skin(NamedTuple):
    """What a viewer draws of a kind: vertices that move, joined by triangles or by segments.

    Parameters
    ----------
    name : str
        What it is called in recordings and viewers.
    n_vertices : int
        Number of vertices.
    cells : array (k, 3) or (k, 2)
        Vertices of the triangles of a surface, seen from where they turn counter-clockwise, or of the
        segments of bars, cables and rods.
    radius : array (k,)
        Radii of the segments (m); empty for a surface.
    fields : tuple of Field
        What it can be coloured by. A segment without a value (NaN) has a colour of its own.
    doubles_at : float
        Size of the first field at which a segment is drawn with twice its radius; 0 for widths that stay.
    """

    name: str
    n_vertices: int
    cells: Indices
    radius: Array
    fields: tuple[Field, ...] = ()
    doubles_at: float = 0.0


class Look(NamedTuple):
    """A skin at one instant: places (n_vertices, d) of the vertices (m), and a value array per field."""

    vertices: Array
    values: tuple[Array, ...] = ()


class Account(IntEnum):
    """Where the work of a link goes in the balance of energy.

    LOST with the contacts (stops, friction), GIVEN by the world (motors), or STORED in the potential energy
    that the kind reports (elastic cables).
    """

    LOST = 0
    GIVEN = 1
    STORED = 2


@dataclass(frozen=True, eq=False)
class Links:
    """Rows with a law that detection does not find: cables, stops, friction and motors in joints.

    To the contact problem a link is a contact,

        u = H v + w + C r,    K* ∋ ũ ⟂ r ∈ K    with the cone of its own mu,

    and is solved with the others. A cable that is taut at length L, longer than that by −g, is a link with
    mu = 0 whose normal row shortens it, w_N = g/h, and whose tangential rows are empty; an extensible one has
    compliance 1/(θ² h² k) along its normal. Rows that are empty need a positive compliance: they bear
    nothing then, u = C r being zero.

    Parameters
    ----------
    identity : array (n,)
        A number for each link that no other link of the kind has, increasing: impulses are carried from step
        to step by it.
    H : sparse matrix (d·n × n_dof)
        Its rows, normal and tangents, on the velocities of the kind.
    w : array (n, d)
        Imposed velocities (m/s).
    mu : array (n,)
        Friction; 0 for a unilateral row.
    compliance : array (n, d)
        Diagonal of C (m/s per N·s); positive wherever a row of H is empty.
    account : array (n,) of Account
        Where its work goes; LOST by default.

    Examples
    --------
    A cable between a node at rest and one that moves along x, taut now, in 2-D:

    >>> cable = Links(
    ...     identity=np.array([0]),
    ...     H=sparse.csr_array([[-1.0], [0.0]]),
    ...     w=np.zeros((1, 2)),
    ...     mu=np.zeros(1),
    ...     compliance=np.array([[0.0, 1.0]]),
    ... )
    >>> len(cable)
    1
    """

    identity: Indices
    H: sparse.csr_array
    w: Array
    mu: Array
    compliance: Array
    account: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.account) != len(self.identity):
            object.__setattr__(self, "account", np.full(len(self.identity), Account.LOST))

    def __len__(self) -> int:
        return len(self.identity)

    def take(self, kept: Indices) -> Links:
        """Some of the links."""
        d = self.w.shape[1]
        rows = (kept[:, None] * d + np.arange(d)).ravel()
        return Links(
            self.identity[kept],
            sparse.csr_array(self.H[rows]),
            self.w[kept],
            self.mu[kept],
            self.compliance[kept],
            self.account[kept],
        )


class Bindings(NamedTuple):
    """Bilateral rows J v + b = 0 that velocities at the end of a step obey, with multipliers of their own.

    Parameters
    ----------
    J : sparse matrix (j × n_dof)
        The rows.
    b : array (j,)
        What they impose.
    """

    J: sparse.csr_array
    b: Array


class Bodies(Protocol):
    """All bodies of one kind.

    A kind with rows of its own in the contact problem has one more method, ``links(part, span) -> Links``
    for rows with a law (:class:`LinkedBodies`), or ``bindings(part, span) -> Bindings`` for bilateral ones
    (:class:`BoundBodies`). One whose forces have kinks within a step has ``pieces(part, span) -> Pieces``
    (:class:`PiecewiseBodies`).
    """

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


@runtime_checkable
class DrawnBodies(Protocol):
    """Bodies that look like more than the shapes of their carriers: deformable ones, rods, cables."""

    def skins(self) -> Sequence[Skin]:
        """What there is to draw."""
        ...

    def looks(self, part: Part) -> Sequence[Look]:
        """Each skin as it is in a part."""
        ...


@runtime_checkable
class PressedBodies(Protocol):
    """Drawn bodies whose looks also show the forces of contacts."""

    def pressed_looks(self, part: Part, at: Touches, force: Array) -> Sequence[Look]:
        """Each skin as it is in a part, with contact forces (n, d) on it at points of its carriers (N)."""
        ...


class Gauge(NamedTuple):
    """A quantity that recordings keep of a kind, such as stresses at Gauss points."""

    name: str
    unit: str
    shape: tuple[int, ...]
    meaning: str


@runtime_checkable
class GaugedBodies(Protocol):
    """Bodies with fields to record that are not a matter of looks."""

    def gauges(self) -> Sequence[Gauge]:
        """What there is to record."""
        ...

    def readings(self, part: Part) -> Sequence[Array]:
        """The values of each gauge in a part."""
        ...


@runtime_checkable
class DoubtingBodies(Protocol):
    """Bodies that know the limits of what they assume: a run tells once, by name, when one is passed."""

    def doubt(self, part: Part) -> str | None:
        """Why a part is not to be trusted, and the way out; None where it is. Asked after each step."""
        ...


@runtime_checkable
class NonlinearBodies(Protocol):
    """Bodies whose forces at the end of a step are not linear in the velocities there.

    The step is linearised about its own answer until the forces agree.
    """

    @property
    def is_linear(self) -> bool:
        """Whether they are linear after all: then nothing is repeated."""
        ...

    def linearised(self, part: Part, span: Span, v: Array) -> tuple[sparse.csr_array, Array]:
        """M̃ and v_free as of :meth:`Bodies.free`, linearised about velocities v at the end of the step.

        M̃ (v − v_free) is then the impulse that v asks for, exactly.
        """
        ...


class LinkedBodies(Bodies, Protocol):
    """Bodies with cables, stops or other rows of their own in the contact problem."""

    def links(self, part: Part, span: Span) -> Links | None:
        """The rows that may act during the step, where the part is at its middle; None if there are none."""
        ...


class BoundBodies(Bodies, Protocol):
    """Bodies whose velocities obey rows of their own: constraints, also non-holonomic ones."""

    def bindings(self, part: Part, span: Span) -> Bindings:
        """The rows of the step, where the part is at its middle; none is a J without rows."""
        ...


class Pieces(Protocol):
    """Forces of a kind over one step that are linear in the velocities at its end, piece by piece.

    A piece is a set of members that resist: cables that are taut, say. In one piece the bodies have an
    effective mass and velocities without contact as all bodies have; the engine solves the contacts with
    these, and asks whether the velocities they leave belong to the same piece.
    """

    def free(self) -> tuple[Mask, sparse.csr_array, Array]:
        """The piece in which a step without contact ends, its M̃ and its velocities."""
        ...

    def piece(self, v: Array, last: Mask | None = None) -> Mask:
        """The piece of velocities v at the end; ``last`` itself if they belong to it, up to rounding."""
        ...

    def free_in(self, piece: Mask) -> tuple[sparse.csr_array, Array]:
        """M̃ and velocities without contact, with the forces of a piece."""
        ...

    def as_links(self) -> tuple[sparse.csr_array, Array, Links | None]:
        """M̃ and velocities without what changes from piece to piece, and that as links."""
        ...


class PiecewiseBodies(Bodies, Protocol):
    """Bodies whose forces change from piece to piece within a step: cables that go slack and catch."""

    def pieces(self, part: Part, span: Span) -> Pieces:
        """The forces of the step, where the part is at its middle; ``free`` has those of one piece."""
        ...


@runtime_checkable
class SmallBodies(Protocol):
    """Bodies of a few velocities each, coupled inside a body and nowhere else: their M̃ is a ``BodyMasses``.

    Their contact problems are assembled without sparse matrices.
    """

    def rows(self, part: Part, at: Touches) -> Rows:
        """Velocities in the world of material points."""
        ...


class Roots(NamedTuple):
    """Frames of bodies that can be fixed in a rigid body: the free ends by which rods are clamped.

    Parameters
    ----------
    position, frame : arrays (k, 3) and (k, 3, 3)
        Where they are; columns of a frame are its axes.
    J : sparse matrix (6·k × n_dof)
        Velocity and angular velocity of each, in the world.
    """

    position: Array
    frame: Array
    J: sparse.csr_array


@runtime_checkable
class RootedBodies(Protocol):
    """Bodies that can be fixed in a rigid body, which then feels them."""

    def roots(self, part: Part) -> Roots:
        """The frames by which they are fixed."""
        ...


class Anchor(NamedTuple):
    """A frame of bodies that joints hold: a node, a section, a link.

    Parameters
    ----------
    word : str
        What it is, in messages.
    place : tuple of int
        Which one it is, as the kind counts: a node, the two of a bar, a rod, a link.
    share : tuple of float
        Where on it: weights of nodes, an arc length.
    turns : bool
        Whether it has an orientation: nodes have none.
    carriers : tuple of int, or None
        The carriers that what is joined here does not collide with; None for all.
    """

    word: str
    place: tuple[int, ...]
    share: tuple[float, ...] = ()
    turns: bool = False
    carriers: tuple[int, ...] | None = None


class Anchored(NamedTuple):
    """Anchors where a part is.

    Parameters
    ----------
    position, orientation : arrays (k, d), and (k, 4) or (k, 1)
        Where they are; the orientation of those that do not turn stays the same.
    J : sparse matrix (6·k × n_dof), or (3·k × n_dof) in the plane
        Velocity in the world, and angular velocity in the frame of the anchor, as of rigid bodies.
    imposed : array (k, 6), or (k, 3)
        The same that does not depend on the velocities: of supports that move.
    """

    position: Array
    orientation: Array
    J: sparse.csr_array
    imposed: Array


@runtime_checkable
class JoinedBodies(Protocol):
    """Bodies that joints can hold."""

    def anchor(self, point: Array, carrier: int | None) -> Anchor:
        """The anchor at a point (d,) of the world, at the start; on a carrier, if one is named.

        Raises
        ------
        SceneError
            There is none at the point; the message says what is near.
        """
        ...

    def anchored(self, part: Part, anchors: Sequence[Anchor]) -> Anchored:
        """Where anchors are in a part, and how they move."""
        ...


@runtime_checkable
class ChainedBodies(Protocol):
    """Bodies whose carriers follow one another, so that a contact may slide from one to the next."""

    @property
    def chains(self) -> Indices:
        """The chain of each carrier, (carriers,); carriers of a chain are in a row."""
        ...


@runtime_checkable
class BendingBodies(Protocol):
    """Bodies whose carriers bend: what they may add to the contract.

    The shapes of their carriers are for detection only; contacts are put right on the true surface.
    """

    def during(self, part: Part, span: Span) -> Part:
        """The part as it is for the length of a step: imposed motions have the velocities of its middle."""
        ...

    def margin(self, part: Part) -> float:
        """How far the true surfaces of two of them may be out of the shapes of their carriers (m)."""
        ...

    def refine(
        self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float
    ) -> Contacts:
        """The contacts on the true surface; those that are none are left out, the order is kept.

        Those of its own with a gap beyond ``distance`` (m) may be left out, too.
        """
        ...

    def velocities(self, part: Part, at: Touches) -> Array:
        """Velocities (n, d) in the world of material points, imposed motions included."""
        ...


class Sides(NamedTuple):
    """Own carriers on both sides of contacts, (n,) each; −1 where something else is."""

    a: Indices
    b: Indices


class Neighbourhood(NamedTuple):
    """All colliders of the scene, and where the bodies are that they belong to."""

    colliders: Colliders
    poses: Poses


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
