"""Verdicts on the numbers of section 9."""

from __future__ import annotations

import math

from clapas.analysis.surface import Slope
from clapas.studies.heap.comparison import PRINTED_GRAINS, PRINTED_SLOPE, scaled_height
from clapas.studies.heap.dip import Dip, dip
from clapas.studies.heap.layers import Spread, spread
from clapas.studies.heap.measures import Measures
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, REPRODUCED, UNDETERMINED, WITHIN, Verdict, of_number

FULL = 0.9  # least share of the printed number of grains for a comparison


def judge(report: Report, measured: Measures) -> None:
    """Verdicts on the numbers of section 9."""
    grains = measured.grains
    full = grains >= FULL * PRINTED_GRAINS
    smaller = "" if full else f"{grains} grains instead of {PRINTED_GRAINS}"
    angle = math.degrees(measured.slope.angle)
    report.judge(
        of_number("Moreau 2003, 9.2", "slope of the heap", "26", angle, within=0.06, unit="°", why=smaller)
    )
    height = 100 * scaled_height(grains)
    scaled = f"height, scaled by (grains/{PRINTED_GRAINS})^⅓"
    top = 100 * measured.slope.top
    heights = [100 * measured.height_of_cone(slope) for slope in (measured.slope.angle, PRINTED_SLOPE)]
    lower = (
        f"a cone of these grains is {heights[0]:.2f} cm high with the slope found, {heights[1]:.2f} with 26°"
    )
    report.judge(
        of_number(
            "Moreau 2003, 9.3", scaled, f"{height:.2f}", top, within=0.06, unit="cm", why=smaller or lower
        )
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
    report.judge(_of_change(measured.before, measured.slope, measured.before_at_rest))
    found = measured.alignments
    cylinders, cones = [each.angle for each in found], [each.leaning_outside for each in found]
    for source, quantity, printed, samples in (
        ("Moreau 2003, figure 5", "force on cylinders against fossil layers", "parallel", cylinders),
        ("Moreau 2003, 9.3", "force on cones along the outer slope", "vertical", cones),
    ):
        angles = spread(samples)
        if angles is not None and angles.instants > 1:
            report.judge(_of_angles(source, quantity, printed, angles))
    report.judge(_of_dip(dip(measured.ground), smaller))


def _of_change(before: Slope, after: Slope, at_rest: Slope | None) -> Verdict:
    """The same slope before and after relaxation, within the errors of both (95 %)."""
    change = math.degrees(before.angle - after.angle)
    error = math.degrees(math.hypot(before.high - before.angle, after.high - after.angle))
    is_same = abs(change) <= error
    below = ""
    if at_rest is not None:
        half = math.degrees(at_rest.high - at_rest.angle)
        below = f"; grains below 2 cm/s alone have {math.degrees(at_rest.angle):.1f}° ± {half:.1f}°"
    return Verdict(
        source="Moreau 2003, 9.2",
        quantity="slope while laying less that after relaxation",
        printed="none seen",
        found=f"{change:+.1f}° ± {error:.1f}°",
        grade=f"{WITHIN} {error:.1f}° (95 %)" if is_same else NOT_REPRODUCED,
        why="" if is_same else f"a layer flows down the flanks{below}",
    )


def _of_dip(found: Dip, smaller: str) -> Verdict:
    """A dip counts if it is more than two standard errors."""
    is_sure = found.depth > 2.0 * found.error
    beyond = "" if is_sure else "less than two standard errors, by the sectors of the inner ring"
    return Verdict(
        source="Moreau 2003, figure 6",
        quantity="local minimum of pressure under the summit",
        printed="present",
        found=f"{found.depth:.0f} ± {found.error:.0f} Pa less than around it",
        grade=(f"{WITHIN} the errors stated" if smaller else REPRODUCED) if is_sure else NOT_REPRODUCED,
        why="; ".join(filter(None, (beyond, smaller))),
    )


def _of_angles(source: str, quantity: str, printed: str, angles: Spread) -> Verdict:
    """Angles that should scatter around zero."""
    is_zero = abs(angles.mean) <= 2.0 * angles.error
    cuts = f"{angles.cuts} cuts at {angles.instants} instants"
    return Verdict(
        source=source,
        quantity=quantity,
        printed=printed,
        found=f"{angles.mean:+.0f}° ± {angles.error:.0f}° over {cuts}",
        grade=f"{WITHIN} {2 * angles.error:.0f}° (two standard errors)" if is_zero else NOT_REPRODUCED,
        why="" if is_zero else "off by more than two standard errors",
    )
