"""Comparison of the numbers of a heap with those of section 9."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from clapas.analysis.distributions import friction_distribution
from clapas.analysis.structure import coordination
from clapas.studies.heap.dip import around, dip, from_heap_to_heap
from clapas.studies.heap.layers import spread
from clapas.studies.heap.measures import Measures
from clapas.studies.report import Report

PRINTED_GRAINS, PRINTED_HEIGHT, PRINTED_SLOPE = 14_000, 0.055, math.radians(26.0)


def scaled_height(grains: int) -> float:
    """The printed height scaled to a number of grains (m)."""
    return float(PRINTED_HEIGHT * (grains / PRINTED_GRAINS) ** (1 / 3))


def say_what_ran(report: Report, measured: Measures) -> None:
    """Report size and steps of the heap, and the accuracy of their solution."""
    recording = measured.recording
    residual = recording.column("residual")
    report.say(
        f"{measured.grains} grains laid until t = {measured.deposit_end:.4g} s, relaxed until "
        f"{measured.end.time:.4g} s; dt = {recording.dt:g} s (printed: {PRINTED_GRAINS} grains, 72 s, 2e-4 "
        f"s). Residual of the contact problems: median {np.median(residual):.1e}, {residual.max():.1e} at "
        f"most, {measured.relaxed.column('residual')[-1]:.1e} at the end. Deepest "
        f"overlap at the end: {measured.deepest / measured.grain:.1e} of a grain."
    )


def compare(report: Report, measured: Measures) -> None:
    """Compare our numbers with the printed ones."""
    found, ground, end = measured.slope, measured.ground, measured.end
    grains, height = measured.grains, scaled_height(measured.grains)
    beside = around(ground)
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
            *_below_the_flow(measured),
            ["top while laying", f"{100 * before.top:.2f} cm", "rounds off when relaxed"],
            [
                "height, relaxed",
                f"{100 * found.top:.2f} cm",
                f"5.5 cm, {100 * height:.2f} cm scaled to {grains} grains",
            ],
            [
                "a cone of these grains",
                f"{100 * measured.height_of_cone(found.angle):.2f} cm high with the slope found",
                f"{100 * measured.height_of_cone(PRINTED_SLOPE):.2f} cm with 26°",
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
            ["from there to half the foot", f"{beside[0]:.0f} ± {beside[1]:.0f} Pa", ""],
            [
                "largest pressure",
                f"{ground.pressure[highest]:.0f} ± {ground.error[highest]:.0f} Pa "
                f"at r = {100 * ground.radius[highest]:.1f} cm",
                "away from the axis",
            ],
            ["dip: around less inner ring", str(dip(ground)), "a local minimum, no error given"],
            ["the same from heap to heap", from_heap_to_heap(measured.grounds), ""],
            ["load on the ground / weight", f"{measured.carried:.3f}", ""],
            *_along_layers(measured),
            ["contacts per grain", f"{coordination(end).mean:.2f}", ""],
            ["friction used, on average", f"{friction_distribution(end).mean:.2f}", ""],
        ],
    )


def _below_the_flow(measured: Measures) -> Iterator[list[str]]:
    if (found := measured.before_at_rest) is not None:
        half = math.degrees(found.high - found.angle)
        yield ["the same, grains below 2 cm/s", f"{math.degrees(found.angle):.1f}° ± {half:.1f}° (95 %)", ""]


def _along_layers(measured: Measures) -> Iterator[list[str]]:
    """Forces on cylinders against fossil layers, also by depth, and on cones against the vertical."""
    found = measured.alignments
    rows = [("force on cylinders against layers", [each.angle for each in found], "parallel")]
    for name, low, high in (("lower", 0.0, 0.5), ("upper", 0.5, 1.0)):
        chosen = [each.angle[(low <= each.height) & (each.height < high)] for each in found]
        rows.append((f"the same, {name} half", chosen, ""))
    rows.append(("force on cones along the surface", [each.leaning for each in found], ""))
    outside = [each.leaning_outside for each in found]
    rows.append(("the same, outer half", outside, "vertical in the outer slope"))
    for name, samples, printed in rows:
        if (told := spread(samples)) is not None:
            yield [name, str(told), printed]
