"""Surfaces of a kind of bodies for viewers, and quantities stored in recordings besides coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from clapas.bodies.kind import Part, Touches
from clapas.typing import Array, Indices


class Field(NamedTuple):
    """A quantity that viewers show in colours: its name, its unit, and whether vertices or cells have it."""

    name: str
    unit: str
    of: Literal["vertex", "cell"]


class Skin(NamedTuple):
    """Geometry of a kind for viewers: moving vertices connected by triangles or segments.

    Parameters
    ----------
    name : str
        Name in recordings and viewers.
    n_vertices : int
        Number of vertices.
    cells : array (k, 3) or (k, 2)
        Vertices of the triangles of a surface, counterclockwise seen from outside, or of the segments of
        bars, cables and rods.
    radius : array (k,)
        Radii of the segments (m); empty for a surface.
    fields : tuple of Field
        Quantities to colour it by. A segment without a value (NaN) has a separate colour.
    doubles_at : float
        Magnitude of the first field at which a segment is drawn with twice its radius; 0 for constant radii.
    """

    name: str
    n_vertices: int
    cells: Indices
    radius: Array
    fields: tuple[Field, ...] = ()
    doubles_at: float = 0.0


class Look(NamedTuple):
    """A skin at one instant: positions (n_vertices, d) of the vertices (m), and a value array per field."""

    vertices: Array
    values: tuple[Array, ...] = ()


@runtime_checkable
class DrawnBodies(Protocol):
    """Bodies drawn by more than the shapes of their carriers: deformable ones, rods, cables."""

    def skins(self) -> Sequence[Skin]:
        """The skins to draw."""
        ...

    def looks(self, part: Part) -> Sequence[Look]:
        """Each skin at the positions of a part."""
        ...


@runtime_checkable
class PressedBodies(Protocol):
    """Drawn bodies whose looks also depend on contact forces."""

    def pressed_looks(self, part: Part, at: Touches, force: Array) -> Sequence[Look]:
        """Each skin at the positions of a part, under contact forces (n, d) at points of its carriers (N)."""
        ...


class Gauge(NamedTuple):
    """A quantity of a kind that recordings store, such as stresses at Gauss points."""

    name: str
    unit: str
    shape: tuple[int, ...]
    meaning: str


@runtime_checkable
class GaugedBodies(Protocol):
    """Bodies with fields to record that are not drawn."""

    def gauges(self) -> Sequence[Gauge]:
        """The quantities to record."""
        ...

    def readings(self, part: Part) -> Sequence[Array]:
        """The values of each gauge in a part."""
        ...
