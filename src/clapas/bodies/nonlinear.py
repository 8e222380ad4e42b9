"""Bodies whose forces are not linear in the velocities at the end of a step: smooth, or piece by piece."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from scipy import sparse

from clapas.bodies.kind import Bodies, Part, Span
from clapas.bodies.links import Links
from clapas.typing import Array, Mask


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

    def rounding(self, part: Part, span: Span) -> float:
        """Size of the impulses (N·s) that the rounding of positions makes in a step."""
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
