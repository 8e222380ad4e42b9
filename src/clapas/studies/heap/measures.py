"""Measures of a heap, each computed once: surface, packing, speeds, cuts, pressure on the ground, cost."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.cells import fraction_below
from clapas.analysis.ground import RingPressure, average, ring_pressure
from clapas.analysis.measures import heap_slope
from clapas.analysis.ribbons import ForceDensity, Reciprocity, reciprocity
from clapas.analysis.surface import Slope, slope, surface_samples
from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.studies.heap.cost import Cost, cost
from clapas.studies.heap.layers import Alignments, alignments, on_cylinders, places
from clapas.typing import Array

RINGS = 12
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)  # of the construction, at which forces and layers are compared as well
SLOW = 0.05  # m/s: faster grains are not part of the surface
STILL = 0.02  # m/s: faster grains flow with a layer
SKIN = 1.5  # grain diameters between the surface and interior measures


class Measures:
    """Measures of a heap, each computed once.

    Parameters
    ----------
    recording : Recording
        A run of the scene ``heap``.
    others : tuple of str
        Runs that differ by their seed.
    relaxed : Recording, optional
        The relaxation of a run that was stopped before it.
    """

    def __init__(
        self, recording: Recording, others: tuple[str, ...] = (), relaxed: Recording | None = None
    ) -> None:
        self.recording, self.others, self.relaxed = recording, others, relaxed or recording
        model = recording.model
        times = recording.times
        if len(times) == 0:
            raise SettingsError(f"{recording.path}: no frame is complete, so there is nothing to measure")
        births = model.birth[np.isfinite(model.birth) & (model.birth <= times[-1])]
        if model.d != 3 or len(births) == 0:
            raise SettingsError(f"{recording.path}: not a heap; no grain is laid on the way in 3-D")
        self.deposit_end = float(births[-1])
        self.end = Instant.of_recording(self.relaxed)
        while_laying = int(np.searchsorted(times, self.deposit_end)) - 1
        self.laying = Instant.of_recording(recording, -1 if relaxed else max(0, while_laying))
        self.grain = 2 * float(self.end.reach[self.end.movable].mean())
        self.density = float(self.end.mass[self.end.movable].sum() / self.end.volume[self.end.movable].sum())

    @cached_property
    def largest_speeds(self) -> Array:
        """Largest speed of a grain in each frame kept while grains are laid, from a tenth of it on (m/s)."""
        model, fastest = self.recording.model, []
        for frame in self.recording.frames():
            if frame.state.time > self.deposit_end:
                break
            if frame.state.time >= 0.1 * self.deposit_end:
                velocity = frame.state.velocity[model.movable[: frame.state.n_bodies], : model.d]
                fastest.append(float(np.linalg.norm(velocity, axis=1).max(initial=0.0)))
        return np.array(fastest or [0.0])

    @cached_property
    def before(self) -> Slope:
        """Slope of the free surface when the last grains are laid."""
        return self._surface(self.laying)

    @cached_property
    def before_at_rest(self) -> Slope | None:
        """Slope of nearly static grains, below the flowing layer; None if they are too few."""
        try:
            return self._surface(self.laying, STILL)
        except SettingsError:
            return None

    @cached_property
    def samples(self) -> Array:
        """Points of the free surface of the relaxed heap."""
        return surface_samples(self.end, 1.5 * self.grain, slowest=SLOW)

    @cached_property
    def slope(self) -> Slope:
        """Slope of the relaxed heap above the tops of the pavement."""
        return heap_slope(self.end)

    @cached_property
    def fraction(self) -> float:
        """Packing fraction inside."""
        skin = min(SKIN * self.grain, 0.3 * self.slope.summit)
        return fraction_below(self.end, self.slope.summit, self.slope.foot, skin)

    def height_of_cone(self, slope: float) -> float:
        """Height (m) of a cone with this slope (rad) made of the same grains, packed as they are here."""
        volume = float(self.end.volume[self.end.movable].sum()) / self.fraction
        return float((3.0 * volume * math.tan(slope) ** 2 / math.pi) ** (1.0 / 3.0))

    @property
    def hydrostatic(self) -> float:
        """Pressure under a liquid as high as the heap and as dense as its grains packed (Pa)."""
        return self.fraction * self.density * 9.81 * self.slope.top

    @property
    def grains(self) -> int:
        """Number of grains deposited."""
        return int(self.end.movable.sum())

    @cached_property
    def carried(self) -> float:
        """Vertical force on the ground, over the weight of the grains."""
        wide = ring_pressure(self.end, 1e3, 1)
        weight = self.end.mass[self.end.movable].sum() * 9.81
        return float(wide.pressure[0] * math.pi * 1e6 / weight)

    @cached_property
    def deepest(self) -> float:
        """Deepest overlap at the end (m)."""
        return -float(self.relaxed.frame(-1).contacts.gap.min(initial=0.0))

    @cached_property
    def cost(self) -> Cost:
        """Cost of a step while the heap grew."""
        return cost(self.recording, self.deposit_end)

    @cached_property
    def grounds(self) -> list[RingPressure]:
        """Pressure on the ground, on the same rings in every heap."""
        width = self.slope.foot / RINGS
        pressures = [ring_pressure(self.end, width, RINGS)]
        for path in self.others:
            with Recording(path) as recording:
                pressures.append(ring_pressure(Instant.of_recording(recording), width, RINGS))
        return pressures

    @property
    def ground(self) -> RingPressure:
        """Pressure on the ground, mean over the heaps."""
        return average(self.grounds)

    @cached_property
    def places(self) -> list[tuple[float, float]]:
        """Middles (r, z) of cuts, well inside."""
        return list(places(self.slope, self._cut))

    @property
    def _cut(self) -> float:
        return max(2.5 * self.grain, 0.15 * self.slope.summit)

    @cached_property
    def reciprocities(self) -> list[Reciprocity]:
        """Reciprocal cuts at each place where both are possible."""
        return [reciprocity(self.end, place, self._cut) for place in self.places if place[0] > self._cut / 2]

    @cached_property
    def cylinders(self) -> list[ForceDensity]:
        """Force densities on cylindrical cuts, before the heap is relaxed (as in figure 5)."""
        return on_cylinders(self.laying, self.places, self._cut)

    @cached_property
    def instants(self) -> list[Instant]:
        """The heap at several times of the second half of its construction, the last one included."""
        times = self.recording.times
        frames = np.unique(np.searchsorted(times, np.array(SHARES) * self.deposit_end)).tolist()
        kept = [frame for frame in frames if frame > 0 and times[frame] < self.laying.time]
        return [*(Instant.of_recording(self.recording, frame) for frame in kept), self.laying]

    @cached_property
    def alignments(self) -> list[Alignments]:
        """Forces and fossil layers at those instants, in all heaps, never relaxed.

        Instants at which the heap has no flanks yet are left out.
        """
        cuts = []
        for instant in self.instants:
            try:
                surface = self._surface(instant)
            except SettingsError:
                continue
            cut = max(2.5 * self.grain, 0.15 * surface.summit)
            cuts.append(alignments(instant, min(instant.time, self.deposit_end), surface, cut))
        for path in self.others:
            with Recording(path) as recording:
                cuts += Measures(recording).alignments
        return cuts

    def _surface(self, instant: Instant, slowest: float = SLOW) -> Slope:
        """Slope of the free surface during the deposition, without moving grains."""
        return slope(surface_samples(instant, 1.5 * self.grain, slowest=slowest), ground=self.grain / 2)
