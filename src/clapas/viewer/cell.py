"""Periodic cells drawn as one cell: grains that left on one side are shown where they come in on the other.

Recorded positions go on growing across periods, so that displacements can be read from them. Drawn as they
are, a layer that flows becomes a thin trail of scattered grains. Contacts are drawn in the cell likewise,
each by its point. Walls stay where they were put; driven ones are drawn within half a period of their start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clapas.typing import Array, Mask

if TYPE_CHECKING:
    from clapas.dynamics.model import Model
    from clapas.io.recording import Frame, Recording


@dataclass(frozen=True)
class Cell:
    """The cell that is drawn.

    Parameters
    ----------
    axes : tuple of int
        Along which it repeats; none in a scene without periods.
    low, length : arrays (axes,)
        Where it begins, and the periods (m).
    start : array (N, d)
        Centres of the bodies at the start, or where they appear (m).
    is_grain : array (N,) of bool
        Bodies that are drawn inside the cell; others are drawn near their start.
    """

    axes: tuple[int, ...]
    low: Array
    length: Array
    start: Array
    is_grain: Mask

    @staticmethod
    def of(recording: Recording, reach: Array) -> Cell:
        """The cell of a run; ``reach`` is the radius of each body, infinite for half-spaces (m)."""
        model = recording.model
        is_grain = model.movable & ~model.is_wall
        # The skins of deformable bodies are not cut at the border of a cell: such runs are drawn as they are.
        axes = () if recording.systems else tuple(k for k, p in enumerate(model.period) if p is not None)
        length = np.array([model.period[axis] for axis in axes], dtype=float)
        middle = [_middle(model, axis, is_grain, reach) for axis in axes]
        return Cell(axes, np.array(middle) - length / 2.0, length, model.position, is_grain)

    def points(self, points: Array) -> Array:
        """Points (n, d) moved into the cell by whole periods."""
        if not self.axes:
            return points
        moved = points.copy()
        for axis, low, length in zip(self.axes, self.low, self.length, strict=True):
            moved[:, axis] -= length * np.floor((moved[:, axis] - low) / length)
        return moved

    def frame(self, frame: Frame) -> Frame:
        """A frame with the bodies and the contact points where they are drawn."""
        if not self.axes:
            return frame
        n = frame.state.n_bodies
        position = np.where(self.is_grain[:n, None], self.points(frame.state.position), frame.state.position)
        for axis, length in zip(self.axes, self.length, strict=True):
            travelled = position[:, axis] - self.start[:n, axis]
            periods = np.where(self.is_grain[:n], 0.0, np.round(travelled / length))
            position[:, axis] -= length * periods
        contacts = replace(frame.contacts, point=self.points(frame.contacts.point))
        return replace(frame, state=replace(frame.state, position=position), contacts=contacts)


def _middle(model: Model, axis: int, is_grain: Mask, reach: Array) -> float:
    """Where the cell has its middle: that of all bodies if they fit in it, else that of the grains (m)."""
    bounded = np.isfinite(reach) & (reach > 0.0)
    for bodies in (bounded, is_grain):
        where = model.position[bodies, axis]
        if len(where) and np.ptp(where) <= model.period[axis]:
            break
    return float(where.min() + where.max()) / 2.0 if len(where) else 0.0
