"""Contacts of rods, refined from capsules to the curve.

Detection finds pairs by capsules about short segments of the rods. Here each pair is refined on the
helical arcs: the nearest points of two arcs, or of an arc and another surface. A pair of a segment
and another body has one contact at a time, so the segment identifies it along the rod, and impulses are
warm-started as long as the contact stays in it.

A nearest point at the end of a segment is not a contact where the distance decreases beyond that end, by more
than a small part of the radius over the length of a segment: it belongs to the next segment. Where it
decreases by less, along flat contact, each segment keeps a contact.

Other surfaces are spheres, capsules, planes, sides of cylinders and boxes in closed form; polyhedra,
triangles and the ends of cylinders count as their tangent plane at the point that detection found.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from clapas.bodies.rods.arcs import Arc, arc_at, arc_through
from clapas.bodies.rods.helix import Frame, Vec, add, dot, frame_of, less, plus, times, vec
from clapas.bodies.rods.kinematics import Segments
from clapas.compiled import inlined, subroutine, uncounted_kernel
from clapas.geometry.colliders import Kind
from clapas.typing import Array, Indices

SPHERE, PLANE, CAPSULE = int(Kind.SPHERE), int(Kind.PLANE), int(Kind.CAPSULE)
BOX, CYLINDER = int(Kind.BOX), int(Kind.CYLINDER)

FLAT = 1e-9  # slope of the distance along a rod below which it does not change
FALLS = 0.05  # part of the radius: smallest decrease of the distance beyond the end of a segment
PARALLEL = 0.999  # cosine
ALIKE = 0.94  # cosine of normals above which contacts are duplicates
END = 1.0 - 1e-9  # of the half length: points beyond are at the end
STEPS = 60
SETTLED = 1e-12  # of the half length of a segment
SQUARED = 1e-8  # Newton steps this short converge quadratically: the next is negligible


class Arcs(NamedTuple):
    """The segments as arcs in the world: middles, frames and strains there, and their continuation."""

    segments: Segments
    middle: Array
    axes: Array
    strain: Array
    goes_on: Indices


class Found(NamedTuple):
    """Contacts as found by detection; ``own_a`` and ``own_b`` are segments, −1 on the side of others."""

    a: Indices
    b: Indices
    own_a: Indices
    own_b: Indices
    point: Array
    normal: Array
    gap: Array
    shift: Array


class Others(NamedTuple):
    """The other side of each contact: kind, sizes, centre and frame in the world."""

    kind: Indices
    size: Array
    centre: Array
    frame: Array


@inlined
def arc_of(arcs: Arcs, k: int) -> Arc:
    """Segment k."""
    s = arcs.segments
    return arc_through(
        vec(arcs.middle, k), frame_of(arcs.axes, k), vec(arcs.strain, s.element[k]), s.half[k], s.radius[k]
    )


@inlined
def sagitta(arcs: Arcs, k: int) -> float:
    """Largest distance of a segment from its tangent at the middle: ½ κ half² (m)."""
    u, half = vec(arcs.strain, arcs.segments.element[k]), arcs.segments.half[k]
    return float(0.5 * math.sqrt(u[1] * u[1] + u[2] * u[2]) * half * half)


@subroutine
def surface(kind: int, size: Vec, c: Vec, R: Frame, y: Vec, p: Vec, n: Vec) -> tuple[float, Vec]:
    """Distance of y from a surface, and outward normal; from the tangent plane at p if not in closed form."""
    x = less(y, c)
    if kind == PLANE:
        return dot(x, R[2]), R[2]
    if kind in (SPHERE, CAPSULE):
        if kind == CAPSULE:
            along = min(max(dot(x, R[2]), -size[1]), size[1])
            x = plus(x, -along, R[2])
        length = math.sqrt(dot(x, x))
        if length > 0.0:
            return length - size[0], times(1.0 / length, x)
    elif kind == CYLINDER:
        along = dot(x, R[2])
        if abs(along) <= size[1]:
            x = plus(x, -along, R[2])
            length = math.sqrt(dot(x, x))
            if length > 0.0:
                return length - size[0], times(1.0 / length, x)
    elif kind == BOX:
        out = (0.0, 0.0, 0.0)
        for i in range(3):
            at = dot(x, R[i])
            out = plus(out, at - min(max(at, -size[i]), size[i]), R[i])
        length = math.sqrt(dot(out, out))
        if length > 0.0:
            return length, times(1.0 / length, out)
    return dot(less(y, p), n), n


@subroutine
def nearest_on_arc(
    arc: Arc, shift: Vec, kind: int, size: Vec, c: Vec, R: Frame, p: Vec, n: Vec
) -> tuple[float, float, float]:
    """Arc length of the point nearest to a surface, and the slopes of the distance at both ends."""
    half = arc.half
    x, t, _ = arc_at(arc, -half)
    at_start, out = surface(kind, size, c, R, add(x, shift), p, n)
    start = dot(out, t)
    x, t, _ = arc_at(arc, half)
    at_end, out = surface(kind, size, c, R, add(x, shift), p, n)
    end = dot(out, t)
    if abs(start) <= FLAT and abs(end) <= FLAT:
        return 0.0, start, end
    if not (start < 0.0 < end):
        return (-half if at_start <= at_end else half), start, end
    low, high, f, g = -half, half, start, end
    s = 0.0
    for step in range(STEPS):  # regula falsi, halved every third time
        s = 0.5 * (low + high) if step % 3 == 2 else (low * g - high * f) / (g - f)
        x, t, _ = arc_at(arc, s)
        slope = dot(surface(kind, size, c, R, add(x, shift), p, n)[1], t)
        if slope < 0.0:
            low, f = s, slope
        else:
            high, g = s, slope
        if abs(slope) <= 1e-14 or high - low <= SETTLED * half:
            break
    return s, start, end


@subroutine
def nearest_of_arcs(first: Arc, second: Arc, shift: Vec, point: Vec) -> tuple[float, float]:
    """Arc lengths of the nearest points of two segments; the second is moved by a shift.

    Newton's method on half the squared distance within both ends, damped until the distance falls.
    """
    ha, hb = first.half, second.half
    a, ta, _ = arc_at(first, 0.0)
    b, tb, _ = arc_at(second, 0.0)
    b = add(b, shift)
    c = dot(ta, tb)
    if abs(c) > PARALLEL:  # the middle of their overlap
        at = dot(less(b, a), ta)
        s = 0.5 * (max(at - hb, -ha) + min(at + hb, ha))
        t = (1.0 if c > 0.0 else -1.0) * (s - at)
    else:
        s, t = dot(less(point, a), ta), dot(less(point, b), tb)
    s, t = min(max(s, -ha), ha), min(max(t, -hb), hb)
    a, ta, ca = arc_at(first, s)
    b, tb, cb = arc_at(second, t)
    d = less(add(b, shift), a)
    damping = 1e-9
    for _ in range(STEPS):
        gs, gt = -dot(d, ta), dot(d, tb)
        held_s = (s <= -ha and gs > 0.0) or (s >= ha and gs < 0.0)
        held_t = (t <= -hb and gt > 0.0) or (t >= hb and gt < 0.0)
        ss, tt, st = 1.0 - dot(d, ca), 1.0 + dot(d, cb), -dot(ta, tb)
        if held_s or held_t:
            ss, tt, st = max(ss, 0.05), max(tt, 0.05), 0.0
        # The lower eigenvalue is made positive, towards a minimum and not a maximum of the distance.
        # Parallel arcs have one near zero, and their nearest points are mostly at an end: long steps.
        mean, spread = 0.5 * (ss + tt), math.sqrt(0.25 * (ss - tt) ** 2 + st * st)
        high, low = mean + spread, mean - spread
        if spread > 0.0:
            share = (abs(low) + damping - low) / (2.0 * spread)
            ss, tt, st = ss + share * (high - ss), tt + share * (high - tt), (1.0 - share) * st
        ss, tt = ss + damping, tt + damping
        det = ss * tt - st * st
        ds = 0.0 if held_s else -(gs * tt - gt * st) / det
        dt = 0.0 if held_t else -(gt * ss - gs * st) / det
        # Where an end truncates one step, the other is recomputed for the truncated one.
        s1, t1 = min(max(s + ds, -ha), ha), min(max(t + dt, -hb), hb)
        if s1 != s + ds and not held_t:
            t1 = min(max(t - (gt + st * (s1 - s)) / tt, -hb), hb)
        elif t1 != t + dt and not held_s:
            s1 = min(max(s - (gs + st * (t1 - t)) / ss, -ha), ha)
        a1, ta1, ca1 = arc_at(first, s1)
        b1, tb1, cb1 = arc_at(second, t1)
        d1 = less(add(b1, shift), a1)
        moved = max(abs(s1 - s) / ha, abs(t1 - t) / hb)
        if dot(d1, d1) > dot(d, d):
            if moved <= 1e-9:
                break
            damping = max(16.0 * damping, 1e-3)
            continue
        s, t, ta, tb, ca, cb, d = s1, t1, ta1, tb1, ca1, cb1, d1
        damping *= 0.25
        if moved <= SQUARED:
            break
    return s, t


@subroutine
def passes_end(arc: Arc, goes_on: int, s: float, slope: float, both: bool) -> bool:
    """Whether a nearest point at the end of a segment belongs to the next one.

    ``goes_on`` is that of ``Arcs``, ``slope`` that of the distance along the rod; ``both`` says whether the
    other point is at an end, too.
    """
    half = arc.half
    limit = FALLS * arc.radius
    if s >= END * half:
        return bool(goes_on & 2 != 0 and -slope * 2.0 * half > limit)
    if s <= -END * half and goes_on & 1 != 0:
        return bool(slope * 2.0 * half > limit or abs(slope) <= FLAT or both)
    return False


@inlined
def between_segments(arcs: Arcs, i: int, j: int, shift: Vec, p: Vec, n: Vec) -> tuple[bool, float, Vec, Vec]:
    """Whether two segments have a contact; its gap, point and normal.

    Segments side by side on one rod have none.
    """
    same = arcs.segments.rod[i] == arcs.segments.rod[j]
    if same and abs(i - j) <= 1:
        return False, 0.0, p, n
    one, two = arc_of(arcs, i), arc_of(arcs, j)
    s, t = nearest_of_arcs(one, two, shift, p)
    a, ta, _ = arc_at(one, s)
    b, tb, _ = arc_at(two, t)
    d = less(add(b, shift), a)
    length = math.sqrt(dot(d, d))
    # Closer along the rod than half the tightest possible turn: not a contact.
    apart = abs(arcs.segments.place[i] + s - arcs.segments.place[j] - t)
    if same and apart <= math.pi * one.radius:
        return False, 0.0, p, n
    if length > 0.0:
        n = times(1.0 / length, d)
    both = abs(s) >= END * one.half and abs(t) >= END * two.half
    if passes_end(one, arcs.goes_on[i], s, -dot(n, ta), both):
        return False, 0.0, p, n
    if passes_end(two, arcs.goes_on[j], t, dot(n, tb), both):
        return False, 0.0, p, n
    g = length - one.radius - two.radius
    return True, g, plus(a, one.radius + 0.5 * g, n), n


@subroutine
def on_other(
    arcs: Arcs, k: int, sign: float, others: Others, row: int, shift: Vec, g: float, p: Vec, n: Vec
) -> tuple[bool, float, Vec, Vec]:
    """Whether segment k has a contact with another surface; its gap, point and normal.

    Normals go from the segment to the other with sign 1, back with −1; the side that is b is moved by the
    shift.
    """
    own = (0.0, 0.0, 0.0) if sign > 0.0 else shift
    c = add(vec(others.centre, row), shift) if sign > 0.0 else vec(others.centre, row)
    R, size, kind = frame_of(others.frame, row), vec(others.size, row), others.kind[row]
    one = arc_of(arcs, k)
    touched, out = plus(p, 0.5 * g * sign, n), times(-sign, n)
    s, start, end = nearest_on_arc(one, own, kind, size, c, R, touched, out)
    x = add(arc_at(one, s)[0], own)
    g, out = surface(kind, size, c, R, x, touched, out)
    g -= one.radius
    if passes_end(one, arcs.goes_on[k], s, start if s < 0.0 else end, False):
        return False, g, p, n
    return True, g, plus(x, -(one.radius + 0.5 * g), out), times(-sign, out)


@uncounted_kernel
def refine(
    found: Found,
    others: Others,
    arcs: Arcs,
    distance: float,
    kept: Indices,
    point: Array,
    normal: Array,
    gap: Array,
) -> int:
    """Write the contacts on the curves, and the rows that they come from; returns how many there are.

    Rows are sorted by pairs of bodies. Rows without a segment are kept as they are. Those that cannot be
    within ``distance`` are skipped: an arc is within ½ κ half² of the axis of its capsule. Of several with
    one pair and direction the deepest is kept.
    """
    count, first = 0, 0
    for row in range(len(found.gap)):
        if row == 0 or found.a[row] != found.a[row - 1] or found.b[row] != found.b[row - 1]:
            first = count
        i, j = found.own_a[row], found.own_b[row]
        n, p, g = vec(found.normal, row), vec(found.point, row), found.gap[row]
        shift = vec(found.shift, row)
        at = count
        if i >= 0 or j >= 0:
            bend = (sagitta(arcs, i) if i >= 0 else 0.0) + (sagitta(arcs, j) if j >= 0 else 0.0)
            if g > distance + bend:
                continue
            if i >= 0 and j >= 0:
                touches, g, p, n = between_segments(arcs, i, j, shift, p, n)
            else:
                k, sign = (i, 1.0) if i >= 0 else (j, -1.0)
                touches, g, p, n = on_other(arcs, k, sign, others, row, shift, g, p, n)
            if not touches:
                continue
            for old in range(first, count):
                if dot(vec(normal, old), n) > ALIKE:
                    at = old if g < gap[old] else -1
                    break
            if at < 0:
                continue
        if at == count:
            kept[count] = row
            count += 1
        for l in range(3):
            point[at, l], normal[at, l] = p[l], n[l]
        gap[at] = g
    return count
