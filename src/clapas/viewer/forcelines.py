"""Contact forces drawn over a picture: chains along the branches, or arrows at the contacts.

Widths, or lengths, grow with the force; colours say how much of the friction of each contact is used, from
dark (none) to bright (about to slide).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.analysis.distributions import mobilised_friction
from clapas.analysis.instant import Instant
from clapas.errors import unknown_name
from clapas.typing import Array
from clapas.viewer.frames import spatial

if TYPE_CHECKING:
    from clapas.viewer.painting import Painter

FORCES = ("none", "chains", "arrows")
WIDEST = 5.0  # points, of the largest force
LONGEST = 0.12  # of the width of the picture, for the largest force
CROWD = (
    99.0  # percentile of the forces that is drawn widest: so that a few larger ones do not thin the others
)


def check_forces(word: str) -> None:
    """Raise an error for a word not in :data:`FORCES`."""
    if word not in FORCES:
        raise unknown_name("drawing of forces", word, FORCES)


def draw_forces(axes: Any, painter: Painter, instant: Instant, forces: str) -> Any:
    """Draw the forces of an instant on the axes that show its picture; return the artist for a colour bar."""
    from matplotlib.collections import LineCollection

    rows = np.flatnonzero(instant.carrying)
    size = np.linalg.norm(instant.force[rows], axis=1)
    largest = float(np.percentile(size, CROWD)) if len(size) else 1.0
    share = np.clip(size / (largest or 1.0), 0.0, 1.0)
    used = np.nan_to_num(mobilised_friction(instant)[rows], nan=0.0)
    point = painter.shown.cell.points(instant.point)
    if forces == "chains":
        ends = [(end + point - instant.point)[rows] for end in instant.branches]
        lines = np.stack([_projected(painter, end) for end in ends], axis=1)
        widths = 0.3 + (WIDEST - 0.3) * share
    else:
        left, right, _, _ = painter.extent
        length = LONGEST * (right - left) * share / np.where(size > 0.0, size, 1.0)
        tail = _projected(painter, point[rows])
        along = spatial(instant.force[rows]) @ painter.axes.T[:, :2]
        lines = np.stack([tail, tail + length[:, None] * along], axis=1)
        widths = np.full(len(rows), 1.6)
    drawn = LineCollection(list(lines), array=used, cmap="plasma", linewidths=widths, capstyle="round")
    drawn.set_clim(0.0, 1.0)
    axes.add_collection(drawn, autolim=False)
    if forces == "arrows" and len(rows):
        axes.scatter(*lines[:, 1].T, c=used, cmap="plasma", vmin=0.0, vmax=1.0, s=6, zorder=3)
    return drawn


def _projected(painter: Painter, points: Array) -> Array:
    """Coordinates of points along the axes of the picture, (n, 2) (m)."""
    return np.asarray(spatial(points) @ painter.axes.T[:, :2])
