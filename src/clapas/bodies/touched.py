"""Contacts of bodies that are more than the rigid shapes of their carriers: bending, chained, or small."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from clapas.bodies.kind import Part, Poses, Span, Touches
from clapas.geometry.colliders import Colliders, Contacts
from clapas.typing import Array, Indices


class Sides(NamedTuple):
    """Carriers of a kind on both sides of contacts, (n,) each; −1 where the body is another."""

    a: Indices
    b: Indices


class Neighbourhood(NamedTuple):
    """All colliders of the scene, and the poses of their bodies."""

    colliders: Colliders
    poses: Poses


@runtime_checkable
class BendingBodies(Protocol):
    """Bodies whose carriers bend.

    The shapes of their carriers are for detection only; contacts are then moved to the true surface.
    """

    def during(self, part: Part, span: Span) -> Part:
        """The part during a step, with the velocities of imposed motions at its middle."""
        ...

    def margin(self, part: Part) -> float:
        """Largest distance of the true surfaces of two of them beyond the shapes of their carriers (m)."""
        ...

    def refine(
        self, part: Part, contacts: Contacts, own: Sides, others: Neighbourhood, distance: float
    ) -> Contacts:
        """The contacts on the true surface, in the same order, without those that are not contacts there.

        Those of the kind itself with a gap beyond ``distance`` (m) may be left out, too.
        """
        ...

    def velocities(self, part: Part, at: Touches) -> Array:
        """Velocities (n, d) in the world of material points, imposed motions included."""
        ...


@runtime_checkable
class ChainedBodies(Protocol):
    """Bodies whose carriers form chains, so that a contact may slide from one to the next."""

    @property
    def chains(self) -> Indices:
        """The chain of each carrier, (carriers,); carriers of a chain are consecutive."""
        ...


class Rows(NamedTuple):
    """Velocities of material points as dense rows on the velocities of the body of each.

    Parameters
    ----------
    body : array (n,)
        The body of each point.
    entries : array (n, d, most)
        The rows; a body of fewer velocities than the largest leaves the last entries zero.
    imposed : array (n, d)
        Velocities (m/s) that do not depend on the unknowns, due to supports.
    """

    body: Indices
    entries: Array
    imposed: Array


@runtime_checkable
class SmallBodies(Protocol):
    """Bodies of a few velocities each, coupled only within a body: their M̃ is a ``BodyMasses``.

    Their contact problems are assembled without sparse matrices.
    """

    def rows(self, part: Part, at: Touches) -> Rows:
        """Velocities in the world of material points."""
        ...
