"""Oblique view of grains, shaded by speed.

Reference: Moreau 2003, figure 2: five greys, their thresholds powers of 0.18 of the largest speed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.analysis.instant import Instant
from clapas.errors import SettingsError
from clapas.typing import Indices

GREYS = ("1.0", "0.75", "0.5", "0.25", "0.0")  # from rest to the largest speed
RATIO = 0.18
TILT = 0.5  # height in the picture per unit of depth


def speed_levels(instant: Instant) -> Indices:
    """Grey of each body, 0 (at rest) to 4, (N,): speeds above 0.18, 0.18², 0.18³, 0.18⁴ of the largest."""
    speed = np.linalg.norm(instant.velocity, axis=1)
    largest = float(speed[instant.movable].max(initial=0.0))
    thresholds = largest * RATIO ** np.arange(len(GREYS) - 1, 0, -1)
    levels = np.digitize(speed, thresholds)
    return np.where(largest > 0.0, levels, 0)


def draw_oblique(axes: Any, instant: Instant) -> None:
    """Draw the grains from the front and above, fixed ones outlined, moving ones the darker the faster."""
    from matplotlib.collections import EllipseCollection

    if instant.d != 3:
        raise SettingsError("an oblique view is one of a scene in 3-D, this one is in 2-D: take draw_profile")
    shown = np.flatnonzero(np.isfinite(instant.reach))
    centre = instant.centre[shown]
    depth = centre[:, 1] - TILT * centre[:, 2]
    order = np.argsort(-depth, kind="stable")
    shown, centre = shown[order], centre[order]
    place = np.column_stack((centre[:, 0], centre[:, 2] + TILT * centre[:, 1]))
    size = 2 * instant.reach[shown]
    greys = np.array(GREYS)[speed_levels(instant)[shown]]
    axes.add_collection(
        EllipseCollection(
            size,
            size,
            np.zeros(len(shown)),
            units="xy",
            offsets=place,
            transOffset=axes.transData,
            facecolors=np.where(instant.movable[shown], greys, "0.9").tolist(),
            edgecolors=np.where(instant.movable[shown], "0.2", "0.75").tolist(),
            linewidths=0.3,
        )
    )
    axes.update_datalim(np.concatenate((place - size[:, None] / 2, place + size[:, None] / 2)))
    axes.autoscale_view()
    axes.set(aspect="equal", xticks=[], yticks=[], title=f"t = {instant.time:.3g} s")
