"""Moreau's heap: slope, density, fossil layers, reciprocal cuts and the pressure on the ground.

Reference: Moreau 2003, section 9, figures 2 to 6.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.cells import fraction_below
from clapas.analysis.distributions import friction_distribution
from clapas.analysis.fossils import LayerProfile, draw_slice, in_slice, layer, layer_profile
from clapas.analysis.ground import RingPressure, average, draw_rings, ring_pressure
from clapas.analysis.measures import heap_slope
from clapas.analysis.oblique import draw_oblique
from clapas.analysis.ribbons import (
    ForceDensity,
    Reciprocity,
    Ribbon,
    draw_densities,
    force_density,
    reciprocity,
)
from clapas.analysis.structure import coordination
from clapas.analysis.surface import Slope, draw_surface, slope, surface_samples
from clapas.errors import SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict, of_number
from clapas.typing import Array

PRINTED_GRAINS, PRINTED_HEIGHT = 14_000, 0.055
FOSSIL = (15.5 / 72, 18.7 / 72)  # share of the deposit during which the grains in black were laid
TWO_LAYERS = ((0.12, 0.18), (0.5, 0.56))
RINGS = 12
SLOW = 0.05  # m/s: faster grains are on their way
SKIN = 1.5  # grain diameters kept from the surface when something is measured inside


@dataclass(frozen=True, kw_only=True)
class Heap:
    """How forces travel in a heap laid grain by grain: Moreau's figures and numbers, ours beside his.

    Parameters
    ----------
    recording : str
        A recording of the scene ``heap``; by default a heap is run first.
    others : str
        Recordings of heaps that differ by their seed, separated as the system separates paths (``:``, or
        ``;`` on Windows): the pressure on the ground is the mean over all.
    grains, rate, relaxation, dt
        Of the heap that is run.
    """

    recording: str = ""
    others: str = ""
    grains: int = 1000
    rate: float = 200.0
    relaxation: float = 1.0
    dt: float = 2e-4

    title: ClassVar[str] = "The heap (Moreau 2003, section 9)"
    quick: ClassVar[dict[str, int | float]] = {"grains": 200, "rate": 400.0, "relaxation": 0.2, "dt": 1e-3}

    def __post_init__(self) -> None:
        for path in filter(None, (self.recording, *self.others.split(os.pathsep))):
            if not Path(path).is_file():
                raise SettingsError(f"there is no recording '{path}': 'clapas run heap' makes one")

    def run(self, report: Report) -> None:
        """Measure the heap and draw the figures."""
        with self._opened(report) as recording:
            measured = Measures(recording, tuple(filter(None, self.others.split(os.pathsep))))
            _say_what_ran(report, recording, measured)
            _draw_construction(report, measured)
            _draw_fossils(report, recording, measured)
            _draw_surface(report, measured)
            _draw_reciprocal_cuts(report, measured)
            _draw_layers_and_forces(report, measured)
            _draw_ground(report, measured)
            _compare(report, measured)
            _judge(report, measured)

    def _opened(self, report: Report) -> Recording:
        if self.recording:
            return Recording(self.recording)
        from clapas.scenes.examples.heap import heap

        report.tell(f"running a heap of {self.grains} grains")
        scene = heap(grains=self.grains, rate=self.rate, relaxation=self.relaxation)
        return simulate(scene, dt=self.dt, every=max(1, round(0.05 / self.dt)), out=report.folder / "heap.h5")


class Measures:
    """What is measured on a heap, each once.

    Parameters
    ----------
    recording : Recording
        A run of the scene ``heap``, with its relaxation.
    others : tuple of str
        Runs that differ by their seed.
    """

    def __init__(self, recording: Recording, others: tuple[str, ...] = ()) -> None:
        self.recording, self.others = recording, others
        model = recording.model
        times = recording.times
        if len(times) == 0:
            raise SettingsError(f"{recording.path}: no frame is complete, so there is nothing to measure")
        births = model.birth[np.isfinite(model.birth) & (model.birth <= times[-1])]
        if model.d != 3 or len(births) == 0:
            raise SettingsError(f"{recording.path}: not a heap; no grain is laid on the way in 3-D")
        self.deposit_end = float(births[-1])
        self.end = Instant.of_recording(recording)
        self.laying = Instant.of_recording(
            recording, max(0, int(np.searchsorted(times, self.deposit_end)) - 1)
        )
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
        """Slope of the free surface when the last grains are laid, grains on their way left out."""
        return slope(surface_samples(self.laying, 1.5 * self.grain, slowest=SLOW), ground=self.grain / 2)

    @cached_property
    def samples(self) -> Array:
        """Points of the free surface of the relaxed heap."""
        return surface_samples(self.end, 1.5 * self.grain, slowest=SLOW)

    @cached_property
    def slope(self) -> Slope:
        """Its slope above the tops of the pavement."""
        return heap_slope(self.end)

    @cached_property
    def fraction(self) -> float:
        """Packing fraction inside."""
        skin = min(SKIN * self.grain, 0.3 * self.slope.summit)
        return fraction_below(self.end, self.slope.summit, self.slope.foot, skin)

    @property
    def hydrostatic(self) -> float:
        """Pressure under a liquid as high as the heap and as dense as its grains packed (Pa)."""
        return self.fraction * self.density * 9.81 * self.slope.top

    @cached_property
    def grounds(self) -> list[RingPressure]:
        """Pressure on the ground, on the same rings in every heap."""
        width = self.slope.foot / RINGS
        found = [ring_pressure(self.end, width, RINGS)]
        for path in self.others:
            with Recording(path) as recording:
                found.append(ring_pressure(Instant.of_recording(recording), width, RINGS))
        return found

    @property
    def ground(self) -> RingPressure:
        """Its mean over the heaps."""
        return average(self.grounds)

    @cached_property
    def places(self) -> list[tuple[float, float]]:
        """Middles (r, z) of cuts, well inside."""
        return list(_places(self.slope, self._cut))

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
        return _on_cylinders(self.laying, self.places, self._cut)

    @cached_property
    def cones(self) -> list[ForceDensity]:
        """Force densities on conical cuts parallel to the free surface, at the same places."""
        steep = math.pi / 2 - self.slope.angle
        cuts = [Ribbon.about(place, steep, self._cut) for place in self.places if place[0] > self._cut / 2]
        return [force_density(self.laying, ribbon) for ribbon in cuts]

    @cached_property
    def leanings(self) -> Array:
        """Angles from the vertical of the forces on those cones, positive outward (rad)."""
        return np.array([math.atan2(*each.density) for each in self.cones if each.contacts])

    @cached_property
    def misalignments(self) -> list[Misalignments]:
        """Angles between forces on cylinders and fossil layers, heap by heap, each before its relaxation."""
        found = [_misalignments(self.laying, self.deposit_end, self.cylinders, self.slope.foot, self._cut)]
        for path in self.others:
            with Recording(path) as recording:
                other = Measures(recording)
                cylinders = _on_cylinders(other.laying, self.places, self._cut)
                foot = self.slope.foot
                found.append(_misalignments(other.laying, other.deposit_end, cylinders, foot, self._cut))
        return found


class Misalignments(NamedTuple):
    """Cuts of one heap: their heights, and the angles between the force and the fossil layer there (rad)."""

    height: Array
    angle: Array


def _on_cylinders(instant: Instant, places: Sequence[tuple[float, float]], cut: float) -> list[ForceDensity]:
    return [force_density(instant, Ribbon.about(place, 0.0, cut)) for place in places]


def _misalignments(
    instant: Instant, deposit_end: float, cylinders: Sequence[ForceDensity], foot: float, cut: float
) -> Misalignments:
    """Angles on each cylinder through which layers pass, nine of equal duration being followed."""
    rings = np.linspace(0.0, foot, RINGS + 1)
    profiles = [
        layer_profile(
            instant, layer(instant, (share - 0.05) * deposit_end, (share + 0.05) * deposit_end), rings
        )
        for share in np.linspace(0.1, 0.9, 9)
    ]
    heights, angles = [], []
    for each in cylinders:
        r, z = each.ribbon.middle
        steep = [_steepness(profile, r, z, cut) for profile in profiles]
        near = [angle for angle in steep if not math.isnan(angle)]
        if near and each.contacts:
            heights.append(z)
            angles.append(math.atan2(-each.density[1], each.density[0]) - float(np.mean(near)))
    return Misalignments(np.array(heights), np.array(angles))


def _steepness(profile: LayerProfile, r: float, z: float, reach: float) -> float:
    """Slope of a layer where it passes within ``reach`` of a place, else NaN."""
    away = np.hypot(profile.radius - r, profile.height - z)
    if np.isnan(away).all():
        return math.nan
    nearest = int(np.nanargmin(away))
    return float(profile.slope[nearest]) if away[nearest] <= reach / 2 else math.nan


def _places(found: Slope, cut: float) -> Iterator[tuple[float, float]]:
    """A lattice of places whose cuts, whatever their direction, lie inside the heap."""
    columns = int(found.foot / (1.2 * cut))
    for i in range(columns):
        r, z = (0.6 + 1.2 * i) * cut, 0.6 * cut
        while z + 0.6 * cut < found.summit * (1.0 - (r + 0.3 * cut) / found.foot):
            yield r, z
            z += 1.2 * cut


def _say_what_ran(report: Report, recording: Recording, measured: Measures) -> None:
    grains = int(measured.end.movable.sum())
    residual = recording.column("residual")
    report.say(
        f"{grains} grains laid until t = {measured.deposit_end:.3g} s, relaxed until {measured.end.time:.3g} "
        f"s; dt = {recording.dt:g} s (printed: {PRINTED_GRAINS} grains, 72 s, 2e-4 s). Residual of the "
        f"contact problems: median {np.median(residual):.1e}, {residual[-1]:.1e} at the end. Deepest "
        f"overlap at the end: {_deepest(recording) / measured.grain:.1e} of a grain."
    )


def _deepest(recording: Recording) -> float:
    return -float(recording.frame(-1).contacts.gap.min(initial=0.0))


def _draw_construction(report: Report, measured: Measures) -> None:
    with report.figure(
        "construction", "Figure 2: the heap while grains are laid, darker when faster"
    ) as figure:
        draw_oblique(figure.subplots(), measured.laying)


def _draw_fossils(report: Report, recording: Recording, measured: Measures) -> None:
    first, last = (share * measured.deposit_end for share in FOSSIL)
    instants = np.linspace(last, measured.deposit_end, 4)
    caption = f"Figure 3: slices at four instants; in black the grains laid from {first:.3g} to {last:.3g} s"
    with report.figure("fossils", caption, size=(7, 9)) as figure:
        for axes, time in zip(figure.subplots(4, 1, sharex=True, sharey=True), instants, strict=True):
            frame = min(int(np.searchsorted(recording.times, time)), recording.n_frames - 1)
            instant = Instant.of_recording(recording, frame)
            draw_slice(axes, instant, _thickness(measured), layer(instant, first, last))


def _thickness(measured: Measures) -> float:
    """Two centimetres in the paper: about five grains."""
    return 5.3 * measured.grain


def _draw_surface(report: Report, measured: Measures) -> None:
    caption = "The free surface and the cone fitted to its flanks, before (left) and after relaxation"
    with report.figure("surface", caption, size=(11, 4)) as figure:
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        samples = surface_samples(measured.laying, 1.5 * measured.grain, slowest=SLOW)
        draw_surface(left, samples, measured.before)
        draw_surface(right, measured.samples, measured.slope)


def _draw_reciprocal_cuts(report: Report, measured: Measures) -> None:
    cuts = measured.reciprocities
    with report.figure("reciprocal-cuts", "Figure 4: cuts, and the force densities through them") as figure:
        axes = figure.subplots()
        draw_densities(axes, [cut for both in cuts for cut in (both.first, both.second)])
        _outline(axes, measured.slope)
    if cuts:
        errors = np.array([both.error for both in cuts])
        report.say(
            f"Reciprocity |n·T′ − n′·T| relative to the mean of |T| and |T′| over {len(cuts)} pairs of cuts: "
            f"median {np.median(errors):.2f}, largest {errors.max():.2f}."
        )


def _draw_layers_and_forces(report: Report, measured: Measures) -> None:
    caption = "Figure 5: two fossil layers and force densities on cylindrical cuts, before relaxation"
    with report.figure("layers-and-forces", caption, size=(9, 4.5)) as figure:
        axes = figure.subplots()
        dark = np.zeros(measured.laying.n_bodies, dtype=bool)
        for share in TWO_LAYERS:
            dark |= layer(measured.laying, share[0] * measured.deposit_end, share[1] * measured.deposit_end)
        draw_slice(
            axes,
            measured.laying,
            _thickness(measured),
            dark & in_slice(measured.laying, _thickness(measured)),
        )
        draw_densities(axes, measured.cylinders)
        axes.set(xlabel="r (m)")


def _draw_ground(report: Report, measured: Measures) -> None:
    heaps = len(measured.grounds)
    caption = "Figure 6: pressure on the ground by rings; bars: standard error over six sectors"
    if heaps > 1:
        caption += f" of {heaps} heaps, each of which is a thin line"
    with report.figure("ground", caption) as figure:
        axes = figure.subplots()
        draw_rings(axes, measured.ground, measured.hydrostatic)
        for each in measured.grounds if heaps > 1 else ():
            axes.plot(each.radius, each.pressure, lw=0.6, color="0.6")


def _outline(axes: object, found: Slope) -> None:
    axes.plot([0, found.foot], [found.summit, 0], "k:", lw=1)  # type: ignore[attr-defined]


def _compare(report: Report, measured: Measures) -> None:
    """Our numbers beside the printed ones."""
    found, ground, end = measured.slope, measured.ground, measured.end
    grains = int(end.movable.sum())
    height = PRINTED_HEIGHT * (grains / PRINTED_GRAINS) ** (1 / 3)
    around = _around(ground)
    highest = int(np.argmax(ground.pressure))
    half = math.degrees(found.high - found.angle)
    before, speeds = measured.before, 100 * measured.largest_speeds
    steps = math.degrees(before.high - before.angle)
    report.say("## Numbers")
    report.table(
        ["quantity", "here", "printed"],
        [
            ["slope, relaxed", f"{math.degrees(found.angle):.1f}° ± {half:.1f}° (95 %)", "about 26°"],
            ["slope, while laying", f"{math.degrees(before.angle):.1f}° ± {steps:.1f}° (95 %)", "the same"],
            ["top while laying", f"{100 * before.top:.2f} cm", "rounds off when relaxed"],
            [
                "height, relaxed",
                f"{100 * found.top:.2f} cm",
                f"5.5 cm, {100 * height:.2f} cm scaled to {grains} grains",
            ],
            ["packing fraction", f"{measured.fraction:.3f}", "mass density 0.615 g/cm³, of grains not given"],
            [
                "largest speed in a frame, while laying",
                f"{speeds.min():.1f} to {speeds.max():.1f} cm/s over {len(speeds)} frames, "
                f"median {np.median(speeds):.1f}",
                "23.6 cm/s in one picture",
            ],
            ["hydrostatic pressure", f"{measured.hydrostatic:.0f} Pa", "332 Pa (at 5.5 cm)"],
            [
                "pressure on the inner ring",
                f"{ground.pressure[0]:.0f} ± {ground.error[0]:.0f} Pa",
                "well below hydrostatic",
            ],
            ["from there to half the foot", f"{around[0]:.0f} ± {around[1]:.0f} Pa", ""],
            [
                "largest pressure",
                f"{ground.pressure[highest]:.0f} ± {ground.error[highest]:.0f} Pa "
                f"at r = {100 * ground.radius[highest]:.1f} cm",
                "away from the axis",
            ],
            ["dip: around less inner ring", _dip(ground), "a local minimum, no error given"],
            ["the same from heap to heap", _dips(measured.grounds), ""],
            ["load on the ground / weight", f"{_carried(measured):.3f}", ""],
            ["force on cylinders against layers, all heaps", _spread(_all_angles(measured)), "parallel"],
            *_by_depth(measured),
            ["force on cones along the surface", _spread(np.degrees(measured.leanings)), "vertical"],
            ["contacts per grain", f"{coordination(end).mean:.2f}", ""],
            ["friction used, on average", f"{friction_distribution(end).mean:.2f}", ""],
        ],
    )


def _all_angles(measured: Measures) -> Array:
    """Misalignments of all heaps (degrees)."""
    return np.asarray(np.degrees(np.concatenate([each.angle for each in measured.misalignments])))


def _by_depth(measured: Measures) -> Iterator[list[str]]:
    """The same, cuts in the lower and in the upper half of the heap."""
    heights = np.concatenate([each.height for each in measured.misalignments])
    angles = _all_angles(measured)
    low = heights < 0.5 * measured.slope.summit
    for name, chosen in (("lower", low), ("upper", ~low)):
        if chosen.any():
            yield [f"the same, {name} half", _spread(angles[chosen]), ""]


def _judge(report: Report, measured: Measures) -> None:
    """Verdicts on the numbers of section 9."""
    grains = int(measured.end.movable.sum())
    full = grains >= 0.9 * PRINTED_GRAINS
    smaller = "" if full else f"{grains} grains instead of {PRINTED_GRAINS}"
    angle = math.degrees(measured.slope.angle)
    report.judge(
        of_number("Moreau 2003, 9.2", "slope of the heap", "26", angle, within=0.06, unit="°", why=smaller)
    )
    height = 100 * PRINTED_HEIGHT * (grains / PRINTED_GRAINS) ** (1 / 3)
    scaled = f"height, scaled by (grains/{PRINTED_GRAINS})^⅓"
    top = 100 * measured.slope.top
    report.judge(
        of_number("Moreau 2003, 9.3", scaled, f"{height:.2f}", top, within=0.06, unit="cm", why=smaller)
    )
    report.judge(
        Verdict(
            source="Moreau 2003, 9.3",
            quantity="mean mass density of the heap",
            printed="0.615 g/cm³",
            found=f"packing fraction {measured.fraction:.3f}",
            grade=UNDETERMINED,
            why="the density of the grains is not given; equal to the fraction if it is 1 g/cm³",
        )
    )
    speeds = 100 * measured.largest_speeds
    inside = speeds.min() <= 23.6 <= speeds.max()
    report.judge(
        Verdict(
            source="Moreau 2003, figure 2",
            quantity="largest speed in one picture",
            printed="23.6 cm/s",
            found=f"{speeds.min():.1f} to {speeds.max():.1f} cm/s over {len(speeds)} frames",
            grade=f"{WITHIN} the scatter of frames" if inside else NOT_REPRODUCED,
            why=f"one frame proves nothing; {smaller or 'same size'}",
        )
    )
    change = math.degrees(measured.before.angle - measured.slope.angle)
    report.judge(
        Verdict(
            source="Moreau 2003, 9.2",
            quantity="change of the slope by relaxation",
            printed="none seen",
            found=f"{change:+.1f}°",
            grade=REPRODUCED if abs(change) <= 1.0 else f"{WITHIN} {abs(change):.1f}°",
            why="" if abs(change) <= 1.0 else "flanks move little, the top sinks",
        )
    )
    angles, leaning = _all_angles(measured), np.degrees(measured.leanings)
    for source, quantity, printed, values in (
        ("Moreau 2003, figure 5", "force on cylinders against fossil layers", "parallel", angles),
        ("Moreau 2003, 9.3", "force on cones parallel to the surface", "vertical", leaning),
    ):
        if len(values) > 1:
            report.judge(_of_angles(source, quantity, printed, values))
    around, _ = _around(measured.ground)
    depth = around - float(measured.ground.pressure[0])
    sure = depth > 0.0
    report.judge(
        Verdict(
            source="Moreau 2003, figure 6",
            quantity="local minimum of pressure under the summit",
            printed="present",
            found=f"{depth:.0f} Pa less than around it",
            grade=(REPRODUCED if full else f"{WITHIN} the errors stated") if sure else NOT_REPRODUCED,
            why=smaller if sure else "no dip in this heap",
        )
    )


def _of_angles(source: str, quantity: str, printed: str, angles: Array) -> Verdict:
    """Angles that should scatter around zero (degrees)."""
    mean, error = float(angles.mean()), float(angles.std(ddof=1) / math.sqrt(len(angles)))
    is_zero = abs(mean) <= 2.0 * error
    return Verdict(
        source=source,
        quantity=quantity,
        printed=printed,
        found=f"{mean:+.0f}° ± {error:.0f}° over {len(angles)} cuts",
        grade=f"{WITHIN} {2 * error:.0f}° (two standard errors)" if is_zero else NOT_REPRODUCED,
        why="" if is_zero else "off by more than two standard errors",
    )


def _around(ground: RingPressure) -> tuple[float, float]:
    """Mean pressure from the second ring to half the foot of the heap, and its standard error (Pa).

    All rings there, not the highest one: among noisy rings one is always high.
    """
    last = max(2, int(np.searchsorted(ground.radius, 0.5 * ground.edges[-1])))
    area = np.diff(ground.edges[1 : last + 1] ** 2)
    weight = area / area.sum()
    return float(weight @ ground.pressure[1:last]), float(np.linalg.norm(weight * ground.error[1:last]))


def _dip(ground: RingPressure) -> str:
    """How much less the inner ring bears than those around it, and in standard errors."""
    around, error = _around(ground)
    depth = around - float(ground.pressure[0])
    return f"{depth:.0f} Pa, {depth / math.hypot(ground.error[0], error):.1f} standard errors"


def _dips(grounds: Sequence[RingPressure]) -> str:
    """The mean dip of several heaps, with the standard error that their spread gives."""
    depths = np.array([_around(ground)[0] - ground.pressure[0] for ground in grounds])
    if len(depths) < 2:
        return "one heap"
    error = depths.std(ddof=1) / math.sqrt(len(depths))
    return f"{depths.mean():.0f} ± {error:.0f} Pa ({', '.join(f'{depth:.0f}' for depth in depths)})"


def _carried(measured: Measures) -> float:
    """Vertical force on the ground, over the weight of the grains."""
    end = measured.end
    wide = ring_pressure(end, 1e3, 1)
    return float(wide.pressure[0] * math.pi * 1e6 / (end.mass[end.movable].sum() * 9.81))


def _spread(angles: Array) -> str:
    if len(angles) == 0:
        return "no cut inside"
    return f"{angles.mean():+.0f}° on average, ± {angles.std():.0f}° over {len(angles)} cuts"
