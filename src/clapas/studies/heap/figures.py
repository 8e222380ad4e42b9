"""The figures of section 9, from the measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.analysis import Instant
from clapas.analysis.fossils import draw_slice, in_slice, layer
from clapas.analysis.ground import draw_rings
from clapas.analysis.oblique import draw_oblique
from clapas.analysis.ribbons import draw_densities
from clapas.analysis.surface import Slope, draw_surface, surface_samples
from clapas.studies.heap.cost import draw_cost
from clapas.studies.heap.measures import SLOW, Measures
from clapas.studies.report import Report

FOSSIL = (15.5 / 72, 18.7 / 72)  # interval of the deposition of the grains in black, as shares of it
TWO_LAYERS = ((0.12, 0.18), (0.5, 0.56))


def draw_all(report: Report, measured: Measures) -> None:
    """Figures 2 to 6, the free surface, and the cost of a step."""
    _draw_construction(report, measured)
    _draw_fossils(report, measured)
    _draw_surface(report, measured)
    _draw_reciprocal_cuts(report, measured)
    _draw_layers_and_forces(report, measured)
    _draw_ground(report, measured)
    _draw_cost(report, measured)


def _draw_construction(report: Report, measured: Measures) -> None:
    with report.figure(
        "construction", "Figure 2: the heap while grains are laid, darker when faster"
    ) as figure:
        draw_oblique(figure.subplots(), measured.laying)


def _draw_fossils(report: Report, measured: Measures) -> None:
    recording = measured.recording
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


def _draw_cost(report: Report, measured: Measures) -> None:
    found = measured.cost
    if len(found.grains) < 3:
        return
    with report.figure("cost", "Contacts and sweeps of a step while the heap grows") as figure:
        draw_cost(figure.subplots(), found)
    powers = [found.power(each) for each in (found.contacts, found.sweeps, found.visits)]
    if not np.isnan(powers).any():
        report.say(
            f"With the number of grains contacts grow to the power {powers[0]:.2f}, sweeps {powers[1]:.2f}, "
            f"and their product, the cost of a step, {powers[2]:.2f}; at the end a step has "
            f"{found.contacts[-1]:.0f} contacts and takes {np.median(found.sweeps[-20:]):.0f} sweeps."
        )


def _outline(axes: Any, found: Slope) -> None:
    axes.plot([0, found.foot], [found.summit, 0], "k:", lw=1)
