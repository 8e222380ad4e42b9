"""Paint a frame of a recording from a given side, without a display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clapas.bodies.drawn import Look, Skin
from clapas.geometry import rotations
from clapas.io.recording import Frame
from clapas.typing import Array, Mask
from clapas.viewer import skins
from clapas.viewer.drawables import Drawable, drawables
from clapas.viewer.frames import quaternions, spatial
from clapas.viewer.framing import box_of
from clapas.viewer.raster import LIGHT, Canvas, shade
from clapas.viewer.source import Shown

# Viewing direction and upward direction.
VIEWS = {
    "oblique": ((0.62, -1.5, 0.62), (0, 0, 1)),
    "front": ((0, -1, 0), (0, 0, 1)),
    "right": ((1, 0, 0), (0, 0, 1)),
    "back": ((0, 1, 0), (0, 0, 1)),
    "left": ((-1, 0, 0), (0, 0, 1)),
    "top": ((0, 0, 1), (0, 1, 0)),
}
FLAT = ((0, 0, 1), (0, 1, 0))
PAPER, GROUND, WALL = (
    np.array([0.957, 0.949, 0.929]),
    np.array([0.906, 0.886, 0.839]),
    np.array([0.6, 0.64, 0.66]),
)
WALL_LINE = np.array([0.5, 0.52, 0.53])
WALL_OPACITY = 0.25
SAMPLES = 2  # per pixel and direction
ROUND = 32  # sides of a cylinder
LINES = np.ones(3, dtype=bool)  # all sides of the triangles of a skin are shown
CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
CUBE_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@dataclass(frozen=True)
class Surface:
    """Triangles of a drawable: corners in its own frame, and which sides are visible edges."""

    vertices: Array
    triangles: Array
    edges: Mask


class Painter:
    """Paints frames of one recording, all from the same viewpoint.

    Parameters
    ----------
    shown : Shown
        The recording.
    view : str
        One of :data:`VIEWS`; a plane scene has only one.
    size : (int, int)
        Width and height (pixels).
    margin : float
        Margin around the framed box, relative to its size.
    zoom : float
        How many times larger, about the middle.
    fit : str
        What fills the picture: most, all, or names of bodies (:mod:`clapas.viewer.framing`).
    """

    def __init__(
        self,
        shown: Shown,
        view: str = "oblique",
        size: tuple[int, int] = (960, 640),
        margin: float = 0.06,
        zoom: float = 1.0,
        fit: str = "most",
    ) -> None:
        self.shown, self.size = shown, size
        model = shown.recording.model
        eye, up = (np.array(v, dtype=float) for v in (FLAT if model.d == 2 else VIEWS[view]))
        towards = eye / np.linalg.norm(eye)
        right = np.cross(up, towards) / np.linalg.norm(np.cross(up, towards))
        self.axes = np.array(
            [right, np.cross(towards, right), towards]
        )  # world to right, up, towards the eye
        low, high = shown.bounds if fit == "most" else box_of(shown.recording, shown.reach, fit)
        self.origin = (low + high) / 2.0
        corners = np.where((CUBE + 1) / 2 > 0, high, low) - self.origin
        reach = np.abs(corners @ self.axes.T).max(axis=0)
        self.scale = min(size[0] / max(reach[0], 1e-12), size[1] / max(reach[1], 1e-12)) / (2 * (1 + margin))
        self.scale *= zoom
        self.skins = skins.worn(shown.recording.systems)
        clothed = skins.clothed(shown.recording.systems)
        self.parts = drawables(model, self.origin, 4.0 * float(np.linalg.norm(high - low)) / 2, clothed)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top of the picture along its own axes (m)."""
        middle = self.axes @ self.origin
        half = np.array(self.size) / (2 * self.scale)
        return (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])

    def paint(self, frame: Frame, colours: Array, of_skins: Sequence[Array] = ()) -> Array:
        """Pixels (height, width, 3) of a frame.

        Parameters
        ----------
        frame : Frame
            What to paint.
        colours : array (N, 3)
            Colours of the bodies.
        of_skins : sequence of arrays (k, 3)
            Colours of the cells of each skin.
        """
        frame = self.shown.cell.frame(frame)
        canvas = Canvas.blank(self.size[0] * SAMPLES, self.size[1] * SAMPLES, PAPER)
        position, turn = (
            spatial(frame.state.position) - self.origin,
            quaternions(frame.state.orientation),
        )
        for skin, look, tints in zip(self.skins, skins.seen(frame), of_skins, strict=True):
            self._paint_skin(canvas, skin, look, tints)
        for part in sorted(self.parts, key=lambda part: part.kind == "surface"):  # transparent surfaces last
            for copy in np.flatnonzero(part.body < frame.state.n_bodies):
                body = part.body[copy]
                centre = position[body] + rotations.rotate(turn[body], part.position[copy])
                if part.kind == "sphere":
                    radius = float(part.arrays["radius"][copy])
                    is_flat = self.shown.recording.model.d == 2
                    canvas.ball(self._pixels(centre), radius * self._fine, colours[body], is_flat)
                else:
                    whole = rotations.product(turn[body], part.orientation[copy])
                    self._paint_faces(canvas, part, int(copy), centre, whole, colours[body])
        return np.clip(canvas.reduced(SAMPLES), 0.0, 1.0)

    def _paint_skin(self, canvas: Canvas, skin: Skin, look: Look, tints: Array) -> None:
        """Triangles lit from both sides, or segments as cylinders with a ball on each end."""
        is_flat = self.shown.recording.model.d == 2
        pixels = self._pixels(spatial(look.vertices) - self.origin)
        if skin.cells.shape[1] == 3:
            for cell, tint in zip(skin.cells, tints, strict=True):
                a, b, c = pixels[cell]
                normal = np.cross(c - a, b - a)
                facing = abs(float(normal @ LIGHT)) / max(float(np.linalg.norm(normal)), 1e-300)
                canvas.triangle(pixels[cell], tint, 1.0 if is_flat else float(shade(np.array(facing))), LINES)
            return
        for (start, end), radius, tint in zip(
            skin.cells, skins.radii(skin, look) * self._fine, tints, strict=True
        ):
            # Balls along the segment, with an error of its outline below a pixel.
            count = 2 + int(np.linalg.norm(pixels[end] - pixels[start]) / max(0.6 * radius, 1.0))
            for centre in np.linspace(pixels[start], pixels[end], count):
                canvas.ball(centre, max(float(radius), 1.2), tint)

    def _paint_faces(
        self, canvas: Canvas, part: Drawable, copy: int, centre: Array, turn: Array, colour: Array
    ) -> None:
        is_flat = self.shown.recording.model.d == 2
        tint, opacity = {"ground": (GROUND, 1.0), "surface": (WALL, WALL_OPACITY)}.get(
            part.kind, (colour, 1.0)
        )
        for surface in self._surfaces(part, copy):
            world = centre + rotations.rotate(turn, surface.vertices)
            pixels = self._pixels(world)
            for triangle, edges in zip(surface.triangles, surface.edges, strict=True):
                a, b, c = pixels[triangle]
                normal = np.cross(c - a, b - a)  # y is downwards on the canvas: the orientation is reversed
                size = float(np.linalg.norm(normal))
                is_behind = normal[2] <= 0.0 and not is_flat
                if size == 0.0 or (is_behind and part.kind != "surface"):
                    continue
                facing = float(normal @ LIGHT) / size * (-1.0 if is_behind else 1.0)
                tone = 1.0 if is_flat or part.kind == "ground" else float(shade(np.array(facing)))
                canvas.triangle(pixels[triangle], tint, tone, edges, opacity)

        if part.kind == "surface":
            pixels = self._pixels(centre + rotations.rotate(turn, part.arrays["vertices"].astype(float)))
            for start, end in part.arrays["edges"]:
                canvas.line(pixels[start], pixels[end], WALL_LINE)

    @property
    def _fine(self) -> float:
        """Pixels of the canvas per metre."""
        return float(self.scale * SAMPLES)

    def _pixels(self, points: Array) -> Array:
        """Canvas coordinates of points given relative to the origin of the drawing."""
        projected = points @ self.axes.T * self._fine
        return np.asarray(
            projected * (1, -1, 1) + (self.size[0] * SAMPLES / 2, self.size[1] * SAMPLES / 2, 0)
        )

    def _surfaces(self, part: Drawable, copy: int) -> Iterator[Surface]:
        if part.kind == "box":
            yield Surface(CUBE * part.arrays["half"][copy], self._cube.triangles, self._cube.edges)
        elif part.kind == "cylinder":
            radius, half = part.arrays["size"][copy]
            tube = self._tube
            yield Surface(tube.vertices * (radius, radius, half), tube.triangles, tube.edges)
        else:
            if id(part) not in self._surface_cache:
                self._surface_cache[id(part)] = _surface_of(part)
            yield self._surface_cache[id(part)]

    @cached_property
    def _surface_cache(self) -> dict[int, Surface]:
        return {}

    @cached_property
    def _cube(self) -> Surface:
        triangles = [t for a, b, c, d in CUBE_FACES for t in ((a, b, c), (a, c, d))]
        shown = [edges for _ in CUBE_FACES for edges in ((True, False, True), (True, True, False))]
        return Surface(CUBE, np.array(triangles), np.array(shown))

    @cached_property
    def _tube(self) -> Surface:
        """A cylinder of radius 1 from z = −1 to 1."""
        angle = 2 * np.pi * np.arange(ROUND) / ROUND
        ring = np.column_stack((np.cos(angle), np.sin(angle)))
        ends = [np.column_stack((ring, np.full(ROUND, z))) for z in (-1.0, 1.0)]
        vertices = np.concatenate((*ends, [[0, 0, -1.0], [0, 0, 1.0]]))
        here = np.arange(ROUND)
        there = (here + 1) % ROUND
        low, high = np.full(ROUND, 2 * ROUND), np.full(ROUND, 2 * ROUND + 1)
        faces = (
            (here, there, there + ROUND),
            (here, there + ROUND, here + ROUND),
            (there, here, low),
            (here + ROUND, there + ROUND, high),
        )
        triangles = np.concatenate([np.column_stack(face) for face in faces])
        return Surface(vertices, triangles, np.zeros((len(triangles), 3), dtype=bool))


def _surface_of(part: Drawable) -> Surface:
    vertices = part.arrays["vertices"].astype(float)
    if part.kind == "ground":
        n = len(vertices)
        fan = np.column_stack((np.zeros(n - 2, dtype=int), np.arange(1, n - 1), np.arange(2, n)))
        return Surface(vertices, fan, np.zeros((n - 2, 3), dtype=bool))
    triangles = part.arrays["triangles"]
    known = {tuple(sorted(pair)) for pair in part.arrays["edges"].tolist()}
    sides = [
        [tuple(sorted((int(t[(k + 1) % 3]), int(t[(k + 2) % 3])))) in known for k in range(3)]
        for t in triangles
    ]
    return Surface(vertices, triangles, np.array(sides))
