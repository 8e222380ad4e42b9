"""Elevations of structures of blocks: outlines, the forces between blocks, hinges.

A structure in space is seen along the shorter of its horizontal axes. Forces are drawn at their
points of application, with length proportional to size and coloured by mobilised friction: dark for little,
bright for joints about to slide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from clapas.analysis.masonry import JointForce
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.geometry import rotations
from clapas.geometry.colliders import Kind
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.analysis.settlement import MovedJoint

LENGTH = 0.22  # of the largest force, as a share of the size of the picture
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def picture_axes(model: Model, state: State) -> tuple[int, int]:
    """The two axes of the elevation: the longer horizontal one, and the vertical."""
    if model.d == 2:
        return 0, 1
    spread = np.ptp(state.position[model.movable], axis=0)
    return (0, 2) if spread[0] >= spread[1] else (1, 2)


def outlines(model: Model, state: State, axes: tuple[int, int]) -> list[tuple[int, Array]]:
    """Body and outline (k, 2), seen along the third axis, of every block: polyhedra, polygons and boxes."""
    table, shapes = model.colliders, []
    for row in range(len(table)):
        body = int(table.body[row])
        if table.kind[row] == Kind.POLYHEDRON:
            start, end = table.hulls.vertex_start[table.hull[row] : table.hull[row] + 2]
            local = table.hulls.vertices[start:end, : model.d]
        elif table.kind[row] == Kind.BOX:
            local = CORNERS * table.size[row]
        else:
            continue
        local = table.position[row] + rotations.rotate(table.orientation[row], local)
        world = state.position[body] + rotations.rotate(state.orientation[body], local)
        flat = world[:, list(axes)]
        try:
            shapes.append((body, flat[ConvexHull(flat).vertices]))
        except QhullError:
            continue
    return shapes


def draw(
    axes: Any,
    model: Model,
    state: State,
    forces: Sequence[JointForce] = (),
    hinges: Iterable[MovedJoint] = (),
    *,
    with_bar: bool = True,
) -> None:
    """Draw a structure on the axes of a figure of matplotlib.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    model, state : Model, State
        The bodies and their positions.
    forces : sequence of JointForce
        Resultants at the joints, see :meth:`~clapas.analysis.masonry.Masonry.joint_forces`.
    hinges : iterable of MovedJoint
        Joints that have opened, see :func:`~clapas.analysis.settlement.settle`.
    with_bar : bool
        Whether to explain the colours of forces in a bar.
    """
    from matplotlib.collections import LineCollection, PolyCollection

    plane = picture_axes(model, state)
    shapes = outlines(model, state, plane)
    moving = [outline for body, outline in shapes if model.movable[body]]
    still = [outline for body, outline in shapes if not model.movable[body]]
    axes.add_collection(PolyCollection(still, facecolors="0.62", edgecolors="0.4", linewidths=0.6))
    axes.add_collection(PolyCollection(moving, facecolors="#efe9dc", edgecolors="0.25", linewidths=0.7))
    corners = np.concatenate([outline for _, outline in shapes])
    size = float(np.ptp(corners, axis=0).max())
    if forces:
        largest = max(float(np.linalg.norm(each.force)) for each in forces)
        middle = np.array([each.point[list(plane)] for each in forces])
        half = 0.5 * LENGTH * size / largest * np.array([each.force[list(plane)] for each in forces])
        used = np.array([each.mobilised for each in forces])
        lines = LineCollection(
            list(np.stack((middle - half, middle + half), axis=1)), array=used, cmap="plasma", linewidths=2.2
        )
        lines.set_clim(0.0, 1.0)
        axes.add_collection(lines)
        if with_bar:
            axes.figure.colorbar(lines, ax=axes, label="friction used, |F_T| / (mu F_N)", shrink=0.7)
    marks = np.array([hinge.point[list(plane)] for hinge in hinges]).reshape(-1, 2)
    axes.scatter(*marks.T, s=60, facecolors="white", edgecolors="tab:red", linewidths=1.8, zorder=4)
    low, high = corners.min(axis=0) - 0.06 * size, corners.max(axis=0) + 0.06 * size
    names = "xyz"
    axes.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        aspect="equal",
        xlabel=f"{names[plane[0]]} (m)",
        ylabel=f"{names[plane[1]]} (m)",
    )
