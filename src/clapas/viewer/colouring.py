"""Colours of bodies and skins by their state, for pictures; the page uses the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clapas.analysis.instant import carries
from clapas.bodies.drawn import Field
from clapas.errors import SettingsError
from clapas.io.recording import Frame
from clapas.typing import Array
from clapas.viewer import skins
from clapas.viewer.frames import forces, mean_pressure, middles
from clapas.viewer.source import Shown

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap, Normalize

HEAT = ("#e2dccf", "#f2c078", "#e07a3f", "#b02a45", "#4a1158")
DEPTH = ("#e4e6e3", "#a9cbd6", "#5b9ec0", "#2c64a3", "#1c2f6e")
LAYERS = ("#e9c46a", "#2a6f97", "#e76f51", "#7fb069", "#6d597a", "#f4a6a0", "#468189", "#bc6c25")
GREYS = ("#f2f2f2", "#c4c4c4", "#8e8e8e", "#585858", "#141414")
SIGNED = ("#1f4e8c", "#7fa9cf", "#e8e4da", "#e08a5c", "#9a2234")
FIXED, PLAIN = "#b9b4a8", "#c9b79c"
VOID = "#27ae60"  # cells of a skin without a value of its field: slack cables
STEPS = 0.18  # the thresholds of Moreau's grey levels are its powers


@dataclass(frozen=True)
class Colouring:
    """A quantity of each body and its colour scale.

    Parameters
    ----------
    title : str
        Title with unit.
    values : callable
        Numbers (N,) of a frame.
    stops : tuple of str
        Colours from the lowest to the highest.
    is_stepped : bool
        One flat colour per stop instead of interpolation.
    """

    title: str
    values: Callable[[Shown, Frame], Array]
    stops: tuple[str, ...]
    is_stepped: bool = False


def _speed(shown: Shown, frame: Frame) -> Array:
    return np.asarray(np.linalg.norm(frame.state.velocity[:, : shown.recording.model.d], axis=1))


def _spin(shown: Shown, frame: Frame) -> Array:
    return np.asarray(np.linalg.norm(frame.state.velocity[:, shown.recording.model.d :], axis=1))


def _pressure(shown: Shown, frame: Frame) -> Array:
    model = shown.recording.model
    place = middles(frame, shown.theta)
    return mean_pressure(frame.contacts, forces(frame), place, model, shown.volume)


def _contacts(shown: Shown, frame: Frame) -> Array:
    carrying = carries(frame.state.impulses.impulse)
    ends = np.concatenate((frame.contacts.a[carrying], frame.contacts.b[carrying]))
    return np.bincount(ends, minlength=frame.state.n_bodies).astype(float)


def _birth(shown: Shown, frame: Frame) -> Array:
    return shown.recording.model.birth[: frame.state.n_bodies]


COLOURINGS = {
    "speed": Colouring("speed (m/s)", _speed, HEAT),
    "greys": Colouring("speed (m/s)", _speed, GREYS, is_stepped=True),
    "spin": Colouring("angular speed (rad/s)", _spin, HEAT),
    "pressure": Colouring("mean pressure (Pa)", _pressure, DEPTH),
    "contacts": Colouring("contacts that carry", _contacts, DEPTH),
    "birth": Colouring("birth time (s)", _birth, LAYERS, is_stepped=True),
}


def named(name: str, fields: Iterable[Field] = ()) -> Colouring:
    """The colouring of that name, or by the field of that name on skins."""
    by_name = {field.name: field for field in fields}
    if name in by_name:
        title = f"{name} ({by_name[name].unit})" if by_name[name].unit not in ("", "1") else name
        return Colouring(title, lambda shown, frame: np.full(frame.state.n_bodies, np.nan), HEAT)
    if name not in COLOURINGS:
        known = ", ".join([*COLOURINGS, *by_name])
        raise SettingsError(f"no colouring is called '{name}': expected one of {known}")
    return COLOURINGS[name]


class Palette:
    """A colouring with the scale fixed for all frames of a run.

    Parameters
    ----------
    shown : Shown
        The recording.
    name : str
        A key of :data:`COLOURINGS`, or the name of a field on skins; one of both signs has its zero in the
        middle.
    frames : list of Frame
        Frames that set the scale: up to the largest value except for a few outliers.
    """

    def __init__(self, shown: Shown, name: str, frames: list[Frame]) -> None:
        from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap, ListedColormap, Normalize

        self.skins = skins.worn(shown.recording.systems)
        fields = [field for skin in self.skins for field in skin.fields]
        self.shown, self.name, self.colouring = shown, name, named(name, fields)
        samples = [self._of_movable(frame) for frame in frames]
        samples += [values for frame in frames for values in self._of_field(frame) if values is not None]
        finite = (
            np.concatenate([values[np.isfinite(values)] for values in samples]) if samples else np.empty(0)
        )
        low = float(finite.min()) if name == "birth" and len(finite) else 0.0
        high = float(np.quantile(finite, 0.985)) if len(finite) else 1.0
        high = max(high, low + self._least())
        stops = self.colouring.stops
        if name in (field.name for field in fields) and finite.min(initial=0.0) < -1e-3 * abs(high):
            high = max(high, -float(np.quantile(finite, 0.015)))
            low, stops = -high, SIGNED
        self.norm: Normalize
        self.map: LinearSegmentedColormap | ListedColormap
        if name == "greys":
            self.norm = BoundaryNorm(
                [0.0, *(high * STEPS**k for k in (4, 3, 2, 1)), high], len(stops), clip=True
            )
        elif self.colouring.is_stepped:
            self.norm = BoundaryNorm(np.linspace(low, high, len(stops) + 1), len(stops), clip=True)
        else:
            self.norm = Normalize(low, high, clip=True)
        self.map = (
            ListedColormap(stops)
            if self.colouring.is_stepped
            else LinearSegmentedColormap.from_list(name, list(stops))
        )

    @property
    def title(self) -> str | None:
        """Title of the scale; None where nothing has a colour of it."""
        title, has_rigid = self.colouring.title, bool(self.shown.recording.model.movable.any())
        if not self.skins or any(field.name == self.name for skin in self.skins for field in skin.fields):
            return title
        return f"{title}, rigid bodies" if has_rigid else None  # skins are plain

    def colours(self, frame: Frame) -> Array:
        """Colours (N, 3) of the bodies in a frame; fixed ones are grey."""
        from matplotlib.colors import to_rgb

        values = self.colouring.values(self.shown, frame)
        plain = ~(self.shown.recording.model.movable[: len(values)] & np.isfinite(values))
        colours = np.asarray(self.map(self.norm(np.where(plain, 0.0, values))))[:, :3]
        colours[plain] = to_rgb(FIXED)
        return colours

    def of_skins(self, frame: Frame) -> list[Array]:
        """Colours (k, 3) of the cells of each skin in a frame; plain without the field."""
        from matplotlib.colors import to_rgb

        colours = []
        for skin, values in zip(self.skins, self._of_field(frame), strict=True):
            if values is None:
                colours.append(np.tile(to_rgb(PLAIN), (len(skin.cells), 1)))
            else:
                void = np.isnan(values)
                colours.append(np.asarray(self.map(self.norm(np.where(void, 0.0, values))))[:, :3])
                colours[-1][void] = to_rgb(VOID)
        return colours

    def _of_field(self, frame: Frame) -> list[Array | None]:
        """Values (k,) of the field on the cells of each skin: means over their vertices."""
        by_skin: list[Array | None] = []
        for skin, look in zip(self.skins, skins.seen(frame), strict=True):
            chosen = [i for i, field in enumerate(skin.fields) if field.name == self.name]
            values = look.values[chosen[0]] if chosen else None
            if values is not None and skin.fields[chosen[0]].of == "vertex":
                values = values[skin.cells].mean(axis=1)
            by_skin.append(values)
        return by_skin

    def _of_movable(self, frame: Frame) -> Array:
        values = self.colouring.values(self.shown, frame)
        return values[self.shown.recording.model.movable[: len(values)]]

    def _least(self) -> float:
        """Least upper end of the scale, so that rounding is not shown as motion: 1 % of √(g × body size)."""
        model = self.shown.recording.model
        reach = self.shown.reach[model.movable & (self.shown.reach > 0.0)]  # some bodies have no shape
        size = float(np.median(reach)) if len(reach) else 1.0
        speed = 0.01 * float(np.sqrt(model.acceleration * size))
        return {"speed": speed, "greys": speed, "spin": speed / size}.get(self.name, 0.0) or 1e-12
