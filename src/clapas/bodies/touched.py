"""Contacts of bodies that are not the rigid frames of their carriers: bent, in chains, or small."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from clapas.bodies.kind import Part, Poses, Span, Touches
from clapas.geometry.colliders import Colliders, Contacts
from clapas.typing import Array, Indices


class Sides(NamedTuple):
    """Own carriers on both sides of contacts, (n,) each; −1 where something else is."""

    a: Indices
    b: Indices


class Neighbourhood(NamedTuple):
    """All colliders of the scene, and where the bodies are that they belong to."""

    colliders: Colliders
    poses: Poses


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


@runtime_checkable
class ChainedBodies(Protocol):
    """Bodies whose carriers follow one another, so that a contact may slide from one to the next."""

    @property
    def chains(self) -> Indices:
        """The chain of each carrier, (carriers,); carriers of a chain are in a row."""
        ...


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


@runtime_checkable
class SmallBodies(Protocol):
    """Bodies of a few velocities each, coupled inside a body and nowhere else: their M̃ is a ``BodyMasses``.

    Their contact problems are assembled without sparse matrices.
    """

    def rows(self, part: Part, at: Touches) -> Rows:
        """Velocities in the world of material points."""
        ...
