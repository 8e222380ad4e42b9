"""Rasterisation of balls and triangles with a depth buffer: pictures without a graphics card.

Parallel projection (no perspective). Coordinates are in pixels, x to the right, y down, depth towards
the eye.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.typing import Array, Mask

LIGHT = np.array([-0.45, -0.65, 0.61])  # from the left, above and in front
AMBIENT = 0.52
EDGE_TONE, EDGE_WIDTH = 0.45, 1.4
LARGEST = 1 << 26  # pixels


@dataclass(frozen=True)
class Canvas:
    """Colours (height, width, 3) between 0 and 1, and the depth of the visible surface (height, width)."""

    colour: Array
    depth: Array

    @staticmethod
    def blank(width: int, height: int, background: Array) -> Canvas:
        """An empty canvas."""
        assert width * height <= LARGEST
        colour = np.tile(np.asarray(background, dtype=float), (height, width, 1))
        return Canvas(colour, np.full((height, width), -np.inf))

    def ball(self, centre: Array, radius: float, colour: Array, is_flat: bool = False) -> None:
        """Draw a ball; a flat one is a disk with a rim, facing the eye."""
        patch = self._patch(centre[:2] - radius, centre[:2] + radius)
        if patch is None:
            return
        window, x, y = patch
        dx, dy = (x - centre[0]) / radius, (y - centre[1]) / radius
        square = dx * dx + dy * dy
        inside = square < 1.0
        dz = np.sqrt(np.where(inside, 1.0 - square, 0.0))
        depth = centre[2] + (0.0 if is_flat else radius) * dz
        if is_flat:
            tone = np.where(square > max(0.0, 1.0 - EDGE_WIDTH / radius) ** 2, EDGE_TONE, 1.0)
        else:
            tone = shade(dx * LIGHT[0] + dy * LIGHT[1] + dz * LIGHT[2])
        self._put(window, inside, np.broadcast_to(depth, inside.shape), tone[..., None] * colour)

    def triangle(
        self,
        corners: Array,
        colour: Array,
        tone: float = 1.0,
        edges: Mask | None = None,
        opacity: float = 1.0,
    ) -> None:
        """Draw a triangle (3, 3).

        Parameters
        ----------
        corners : array (3, 3)
            Corners, one per row.
        colour : array (3,)
            Its colour.
        tone : float
            Factor of the colour, from the lighting.
        edges : array (3,) of bool
            Which of the sides, each opposite to its corner, are drawn as dark lines.
        opacity : float
            Below 1 it is transparent and hides nothing.
        """
        patch = self._patch(corners[:, :2].min(axis=0), corners[:, :2].max(axis=0))
        a, b, c = corners[:, :2]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if patch is None or abs(area) < 1e-9:
            return
        window, x, y = patch
        weight_b = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
        weight_c = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
        weights = np.stack((1.0 - weight_b - weight_c, weight_b, weight_c))
        inside = np.asarray((weights >= -1e-12).all(axis=0))
        painted = tone * colour
        if edges is not None and edges.any():
            sides = np.linalg.norm(
                np.roll(corners, -2, axis=0)[:, :2] - np.roll(corners, -1, axis=0)[:, :2], axis=1
            )
            height = abs(area) / np.maximum(sides, 1e-12)
            near = (weights * height[:, None, None] < EDGE_WIDTH)[edges].any(axis=0)
            painted = np.where(near, EDGE_TONE, 1.0)[..., None] * painted
        self._put(window, inside, np.tensordot(corners[:, 2], weights, axes=1), painted, opacity)

    def line(self, start: Array, end: Array, colour: Array) -> None:
        """Draw a line between two points (3,), one pixel wide; it hides nothing behind it."""
        count = int(np.ceil(np.abs(end - start)[:2].max())) + 1
        height, width = self.depth.shape
        if count > 4 * (height + width):  # far beyond the picture
            return
        points = np.linspace(start, end, count)
        column, row = np.floor(points[:, :2]).astype(int).T
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        column, row, depth = column[inside], row[inside], points[inside, 2]
        visible = depth >= self.depth[row, column]
        self.colour[row[visible], column[visible]] = colour

    def reduced(self, factor: int) -> Array:
        """Colours at a lower resolution, each pixel the mean of factor × factor: smooth borders."""
        height, width, _ = self.colour.shape
        parts = self.colour.reshape(height // factor, factor, width // factor, factor, 3)
        return np.asarray(parts.mean(axis=(1, 3)))

    def _patch(self, low: Array, high: Array) -> tuple[tuple[slice, slice], Array, Array] | None:
        """The pixels of a rectangle, and the coordinates of their middles; None if it is outside."""
        height, width = self.depth.shape
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return None
        first = np.clip(np.floor(low), 0, (width, height)).astype(int)
        last = np.clip(np.ceil(high), 0, (width, height)).astype(int)
        if (first >= last).any():
            return None
        x, y = np.arange(first[0], last[0]) + 0.5, np.arange(first[1], last[1]) + 0.5
        return (slice(first[1], last[1]), slice(first[0], last[0])), x[None, :], y[:, None]

    def _put(
        self, window: tuple[slice, slice], inside: Mask, depth: Array, colour: Array, opacity: float = 1.0
    ) -> None:
        visible = inside & (depth > self.depth[window])
        painted = colour if colour.ndim == 1 else colour[visible]  # one colour for all pixels, or one each
        if opacity < 1.0:
            painted = opacity * painted + (1.0 - opacity) * self.colour[window][visible]
        self.colour[window][visible] = painted
        if opacity >= 1.0:
            self.depth[window][visible] = depth[visible]


def shade(facing: Array) -> Array:
    """Brightness of a surface by the cosine of its angle to the light."""
    return np.asarray(AMBIENT + (1.12 - AMBIENT) * np.maximum(facing, 0.0))
