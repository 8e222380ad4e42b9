"""What viewers draw of a kind, and what recordings keep of it beside its coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from clapas.bodies.kind import Part, Touches
from clapas.typing import Array, Indices


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
