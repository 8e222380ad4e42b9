"""A still picture of a recording, without a display."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from clapas.geometry.colliders import Kind
from clapas.io.recording import Recording
from clapas.io.vtk import Surfaces
from clapas.typing import Array

GREYS = 5


def draw(recording: Recording, path: str | os.PathLike[str], frame: int = -1) -> Path:
    """Draw one frame as a PNG: bodies seen from the side, coloured by speed.

    Spheres are drawn as discs from back to front, flat faces as polygons. For a look around, export
    to ParaView.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import EllipseCollection, PolyCollection
    from matplotlib.figure import Figure

    model, kept = recording.model, recording.frame(frame)
    state, d = kept.state, model.d
    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    speed = np.linalg.norm(state.velocity[:, :d], axis=1)
    top = max(float(speed.max(initial=0.0)), 1e-12)
    surfaces = Surfaces(model).of_frame(kept)
    if surfaces.triangles is not None and len(surfaces.triangles):
        corners = _seen(surfaces.points, d)[surfaces.triangles]
        depth = surfaces.points[surfaces.triangles].mean(axis=1)[:, 1] if d == 3 else np.zeros(len(corners))
        order = np.argsort(-depth)
        shade = speed[surfaces.arrays["body"][surfaces.triangles[:, 0]]]
        axes.add_collection(
            PolyCollection(
                list(corners[order]),
                array=shade[order],
                cmap="viridis",
                edgecolors="0.3",
                linewidths=0.3,
                clim=(0, top),
            )
        )
    rows = np.flatnonzero((model.colliders.kind == Kind.SPHERE) & (model.colliders.body < state.n_bodies))
    if len(rows):
        body = model.colliders.body[rows]
        centre = _centres(model.colliders.position[rows], state.position[body], state.orientation[body])
        order = np.argsort(-centre[:, 1]) if d == 3 else np.arange(len(rows))
        size = 2 * model.colliders.size[rows, 0][order]
        discs = EllipseCollection(
            size,
            size,
            np.zeros(len(rows)),
            units="xy",
            offsets=_seen(centre, d)[order],
            transOffset=axes.transData,
            array=speed[body][order],
            cmap="viridis",
            edgecolors="k",
            linewidths=0.2,
            clim=(0, top),
        )
        axes.add_collection(discs)
        reach = size[:, None] / 2  # matplotlib counts the centres only
        axes.update_datalim(
            np.concatenate((_seen(centre, d)[order] - reach, _seen(centre, d)[order] + reach))
        )
        figure.colorbar(discs, ax=axes, label="speed (m/s)", shrink=0.7)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.margins(0.05)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("z (m)" if d == 3 else "y (m)")
    axes.set_title(f"{state.n_bodies} bodies, {len(kept.contacts)} contacts, t = {state.time:.4g} s")
    figure.savefig(path, dpi=120)
    return Path(path)


def _seen(points: Array, d: int) -> Array:
    """What the eye sees: x and z from the front, x and y of a plane scene."""
    return points[:, [0, 2]] if d == 3 else points[:, :2]


def _centres(local: Array, position: Array, orientation: Array) -> Array:
    from clapas.geometry import rotations

    return position + rotations.rotate(orientation, local)
