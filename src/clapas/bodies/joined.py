"""Frames by which bodies of a kind are held: anchors of joints, and roots clamped in rigid bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from scipy import sparse

from clapas.bodies.kind import Part, Span
from clapas.typing import Array


class Anchor(NamedTuple):
    """A frame of bodies that joints can hold: a node, a section, a link.

    Parameters
    ----------
    word : str
        Its name in messages.
    place : tuple of int
        Its number or numbers, as defined by the kind: a node, the two of a bar, a rod, a link.
    share : tuple of float
        Position on it: weights of nodes, an arc length.
    turns : bool
        Whether it has an orientation: nodes have none.
    carriers : tuple of int, or None
        The carriers with which a body joined here has no contacts; None for all.
    """

    word: str
    place: tuple[int, ...]
    share: tuple[float, ...] = ()
    turns: bool = False
    carriers: tuple[int, ...] | None = None


class Anchored(NamedTuple):
    """Kinematics of anchors at the positions of a part.

    Parameters
    ----------
    position, orientation : arrays (k, d), and (k, 4) or (k, 1)
        Their poses; the orientation of those without rotation is constant.
    J : sparse matrix (6·k × n_dof), or (3·k × n_dof) in the plane
        Velocity in the world, and angular velocity in the frame of the anchor, as of rigid bodies.
    imposed : array (k, 6), or (k, 3)
        The part of these that does not depend on the velocities, due to moving supports.
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
        """Poses of anchors in a part, and their velocities as rows."""
        ...


@runtime_checkable
class InertialBodies(Protocol):
    """Bodies whose inertial forces depend on velocities: they must be those of a motion that joints allow."""

    def free_about(self, part: Part, span: Span, after: Array) -> Array:
        """The velocities of ``Bodies.free``, with the inertial forces of a motion that ends with others."""
        ...


class Roots(NamedTuple):
    """Frames of bodies that can be fixed in a rigid body: the free ends by which rods are clamped.

    Parameters
    ----------
    position, frame : arrays (k, 3) and (k, 3, 3)
        Their poses; the columns of a frame are its axes.
    J : sparse matrix (6·k × n_dof)
        Velocity and angular velocity of each, in the world.
    """

    position: Array
    frame: Array
    J: sparse.csr_array


@runtime_checkable
class RootedBodies(Protocol):
    """Bodies that can be clamped in a rigid body and act on it."""

    def roots(self, part: Part) -> Roots:
        """The frames by which they are fixed."""
        ...
