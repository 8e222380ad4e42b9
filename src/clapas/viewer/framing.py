"""Framing of a picture: a box around the relevant part of a recording.

Escaped grains and large floors must not make everything else small. With *most*, a picture shows the moving
bodies, without those far away from the others, and the fixed parts around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clapas.errors import SettingsError, unknown_name
from clapas.typing import Array, Mask
from clapas.viewer import skins
from clapas.viewer.cell import Cell
from clapas.viewer.frames import spatial

if TYPE_CHECKING:
    from clapas.io.recording import Frame, Recording

SAMPLES = 5  # frames sampled
CROWD = (10.0, 90.0)  # percentiles between which the bulk of the bodies lies
FAR = 2.0  # distance from the bulk, in sizes of the bulk, beyond which bodies are outliers
AROUND = 0.35  # margin for fixed parts, relative to the diagonal of the moving ones


def box_of(recording: Recording, reach: Array, fit: str = "most") -> tuple[Array, Array]:
    """Corners (3,), (3,) of the box shown in a picture of a recording (m).

    Parameters
    ----------
    recording : Recording
        The run; some of its frames are sampled.
    reach : array (N,)
        Radius about the centre of each body that holds all of it (m); infinite for half-spaces.
    fit : str
        ``most`` (what moves, without the few that went far), ``all``, or names of bodies separated by commas.
    """
    bounded = np.isfinite(reach) & (reach > 0.0)
    chosen = np.unique(np.linspace(0, recording.n_frames - 1, SAMPLES).astype(int))
    cell = Cell.of(recording, reach)
    frames = [cell.frame(recording.frame(int(index))) for index in chosen]
    if fit == "most":
        movable = bounded & recording.model.movable
        low, high = _without_outliers(*_extents(frames, reach, movable, with_skins=True))
        fixed_low, fixed_high = _extents(frames, reach, bounded & ~movable, with_skins=False)
        if not np.isfinite(low).all():
            low, high = _bounding_box(fixed_low, fixed_high)
        else:
            around = AROUND * float(np.linalg.norm(high - low))
            near = ((fixed_high > low - around) & (fixed_low < high + around)).all(axis=1)
            fixed_low = np.maximum(fixed_low[near], low - around)
            fixed_high = np.minimum(fixed_high[near], high + around)
            low, high = _bounding_box(np.vstack([low, fixed_low]), np.vstack([high, fixed_high]))
    elif fit == "all":
        low, high = _bounding_box(*_extents(frames, reach, bounded, with_skins=True))
    else:
        named = _named(recording, fit)
        if not (named & bounded).any():
            raise SettingsError(f"fit: '{fit}' has no end to fit the picture to; name bodies with a size")
        low, high = _bounding_box(*_extents(frames, reach, named & bounded, with_skins=False))
    if not np.isfinite(low).all():  # nothing but half-spaces
        low, high = -np.ones(3), np.ones(3)
    if recording.model.d == 2:
        low[2] = high[2] = 0.0
    return low, high


def _named(recording: Recording, fit: str) -> Mask:
    names = recording.model.names
    chosen = np.zeros(len(names), dtype=bool)
    for name in (part.strip() for part in fit.split(",")):
        rows = [k for k, known in enumerate(names) if known == name]
        if not rows:
            raise unknown_name(
                "body to fit the picture to", name, ["most", "all", *dict.fromkeys(filter(None, names))]
            )
        chosen[rows] = True
    return chosen


def _extents(frames: Sequence[Frame], reach: Array, chosen: Mask, *, with_skins: bool) -> tuple[Array, Array]:
    """Lower and upper corners (k, 3) of the chosen bodies in some frames."""
    lows, highs = [np.empty((0, 3))], [np.empty((0, 3))]
    for frame in frames:
        state = frame.state
        rows = chosen[: state.n_bodies] & np.isfinite(state.position).all(axis=1)
        where, radius = spatial(state.position[rows]), reach[: state.n_bodies][rows, None]
        lows.append(where - radius)
        highs.append(where + radius)
        if with_skins:
            for look in skins.seen(frame):
                points = spatial(look.vertices)
                lows.append(points)
                highs.append(points)
    return np.concatenate(lows), np.concatenate(highs)


def _without_outliers(low: Array, high: Array) -> tuple[Array, Array]:
    """The bounding box without outliers."""
    if len(low) == 0:
        return _bounding_box(low, high)
    first, last = np.percentile((low + high) / 2.0, CROWD, axis=0)
    # the bulk of a row of bodies is flat: use the size of the bodies
    size = np.maximum(last - first, np.median(high - low, axis=0))
    near = ((high >= first - FAR * size) & (low <= last + FAR * size)).all(axis=1)
    return _bounding_box(low[near], high[near])


def _bounding_box(low: Array, high: Array) -> tuple[Array, Array]:
    if len(low) == 0:
        return np.full(3, np.inf), np.full(3, -np.inf)
    return low.min(axis=0), high.max(axis=0)
