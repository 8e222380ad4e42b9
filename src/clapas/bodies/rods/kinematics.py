"""Positions and motion of sections of rods, and the Jacobians of their points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clapas.bodies.rods.arcs import Arc, arc_at, arc_through
from clapas.bodies.rods.helix import (
    Vec,
    add,
    arc_frame,
    arc_point_frame,
    arc_twist,
    carried,
    combined,
    cross,
    dot,
    frame_of,
    less,
    stumpff,
    times,
    turned,
    turned_frame,
    vec,
)
from clapas.bodies.rods.inertia import RodMotion, RodTable
from clapas.compiled import inlined, kernel, subroutine
from clapas.typing import Array, Indices

PROJECTIONS = 30  # largest number of Newton steps to the nearest section
SETTLED = 1e-13  # of the half length of a segment


class Chain(NamedTuple):
    """The elements of rods one after another.

    Parameters
    ----------
    start : array (elements, 3)
        Start of each, relative to the root of its rod (m).
    frame : array (elements, 3, 3)
        Its frame there.
    whole : array (elements, 3, 6)
        Twist about the root of the part beyond it, per unit of each of its strain rates.
    """

    start: Array
    frame: Array
    whole: Array


class Segments(NamedTuple):
    """Pieces of elements that take part in contacts.

    Parameters
    ----------
    rod, element : arrays (k,)
        Where each is.
    middle, half : arrays (k,)
        Arc length of its middle from the start of the element, and half its length (m).
    radius : array (k,)
        Of the surface (m).
    place : array (k,)
        Arc length of its middle from the root (m).
    """

    rod: Indices
    element: Indices
    middle: Array
    half: Array
    radius: Array
    place: Array


@kernel
def put_frame(rows: Array, k: int, F: tuple[tuple[float, float, float], ...]) -> None:
    """Write a frame as a rotation matrix."""
    for i in range(3):
        for j in range(3):
            rows[k, i, j] = F[j][i]


@kernel
def fill_chain(rods: RodTable, at: RodMotion, chain: Chain) -> None:
    """Write the frames and the twists of all elements."""
    for k in range(len(rods.free)):
        p, R = (0.0, 0.0, 0.0), frame_of(at.frame, k)
        for e in range(rods.first[k], rods.first[k + 1]):
            for i in range(3):
                chain.start[e, i] = p[i]
            put_frame(chain.frame, e, R)
            s = rods.length[e]
            f = times(s, vec(at.strain, e))
            S = stumpff(dot(f, f))
            for j in range(3):
                unit = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
                twist = carried(p, R, arc_twist(f, s, S, unit))
                for i in range(3):
                    chain.whole[e, j, i], chain.whole[e, j, 3 + i] = twist[0][i], twist[1][i]
            q, Q = arc_point_frame(f, s, S)
            p, R = add(p, turned(R, q)), turned_frame(R, Q)


@kernel
def fill_sections(
    at: RodMotion, chain: Chain, rod: Indices, element: Indices, s: Array, position: Array, frame: Array
) -> None:
    """Write points and frames of sections at arc lengths s from the start of their elements."""
    for k in range(len(s)):
        e = element[k]
        q, Q = arc_frame(vec(at.strain, e), s[k])
        R = frame_of(chain.frame, e)
        x = add(add(vec(at.position, rod[k]), vec(chain.start, e)), turned(R, q))
        for i in range(3):
            position[k, i] = x[i]
        put_frame(frame, k, turned_frame(R, Q))


@kernel
def fill_quaternions(axes: Array, orientation: Array) -> None:
    """Write the unit quaternions of carriers, whose axes are (n₁, n₂, n₀) of the sections ``axes``.

    The largest component is found first (Shepperd 1978), and is positive.
    """
    for k in range(len(axes)):
        z, x, y = frame_of(axes, k)
        trace = x[0] + y[1] + z[2]
        if trace > max(x[0], y[1], z[2]):
            q = 1.0 + trace, y[2] - z[1], z[0] - x[2], x[1] - y[0]
        elif x[0] >= max(y[1], z[2]):
            q = y[2] - z[1], 1.0 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2]
        elif y[1] >= z[2]:
            q = z[0] - x[2], x[1] + y[0], 1.0 + y[1] - z[2] - x[0], y[2] + z[1]
        else:
            q = x[1] - y[0], z[0] + x[2], y[2] + z[1], 1.0 + z[2] - x[0] - y[1]
        size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for i in range(4):
            orientation[k, i] = q[i] / size


@kernel
def fill_twists(
    rods: RodTable,
    at: RodMotion,
    chain: Chain,
    axes: Array,
    rod: Indices,
    element: Indices,
    s: Array,
    twist: Array,
) -> None:
    """Write velocities of points in the world and angular velocities along (n₁, n₂, n₀), support included.

    The sections are sorted by element; ``axes`` are their frames.
    """
    k = 0
    for b in range(len(rods.free)):
        t = at.twist[b]
        V = (t[0], t[1], t[2]), (t[3], t[4], t[5])
        for e in range(rods.first[b], rods.first[b + 1]):
            R, p, w = frame_of(chain.frame, e), vec(chain.start, e), vec(at.rate, e)
            while k < len(s) and element[k] == e:
                f = times(s[k], vec(at.strain, e))
                S = stumpff(dot(f, f))
                x = add(p, turned(R, arc_point_frame(f, s[k], S)[0]))
                own = combined(V, 1.0, carried(p, R, arc_twist(f, s[k], S, w)))
                v = add(own[0], cross(own[1], x))
                F = frame_of(axes, k)
                for i in range(3):
                    twist[k, i] = v[i]
                twist[k, 3], twist[k, 4] = dot(F[1], own[1]), dot(F[2], own[1])
                twist[k, 5] = dot(F[0], own[1])
                k += 1
            for j in range(3):
                c = chain.whole[e, j]
                V = combined(V, w[j], ((c[0], c[1], c[2]), (c[3], c[4], c[5])))


@subroutine
def nearest_section(arc: Arc, y: Vec) -> float:
    """Arc length from the middle of the section of an arc that is nearest to y.

    Newton's method on (r(s) − y)·t(s) = 0, without the curvature of the arc where it would lead to a
    maximum of the distance.
    """
    s, half = 0.0, arc.half
    for _ in range(PROJECTIONS):
        x, t, bend = arc_at(arc, s)
        away = less(x, y)
        slope = 1.0 + dot(away, bend)
        step = dot(away, t) / (slope if slope > 0.25 else 1.0)
        new = min(max(s - step, -half), half)
        change = abs(new - s)
        s = new
        if change <= SETTLED * half:
            break
    return s


@inlined
def _put(rows: Array, k: int, at: int, v: Vec) -> None:
    for i in range(3):
        rows[k, i, at] = v[i]


@kernel
def fill_rows(
    rods: RodTable,
    at: RodMotion,
    chain: Chain,
    segments: Segments,
    middle: Array,
    axes: Array,
    carrier: Indices,
    point: Array,
    rows: Array,
    imposed: Array,
) -> None:
    """Rows of material points of carriers, and the velocities their supports give them.

    A point moves with the section nearest to it, as if fixed to it: forces on the surface twist the rod.

    Parameters
    ----------
    rods, at, chain, segments
        The rods, where they are, their elements, the carriers.
    middle, axes : arrays (k, 3) and (k, 3, 3)
        Middles of the segments in the world, and frames there.
    carrier, point : arrays (n,) and (n, 3)
        The points.
    rows : array (n, 3, most)
        Velocities of the points per unit of the velocities of their rods; zero before.
    imposed : array (n, 3)
        Velocities of the points at strain rates zero, and velocity zero of free roots; zero before.
    """
    for k in range(len(carrier)):
        c = carrier[k]
        b, e = segments.rod[c], segments.element[c]
        u, y = vec(at.strain, e), vec(point, k)
        arc = arc_through(vec(middle, c), frame_of(axes, c), u, segments.half[c], segments.radius[c])
        s = nearest_section(arc, y)
        s += segments.middle[c]
        y = less(y, vec(at.position, b))  # from the root
        first, root = rods.first[b], 6 * rods.free[b]
        if root:
            for j in range(3):
                unit = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
                _put(rows, k, j, unit)
                _put(rows, k, 3 + j, cross(unit, y))
        else:
            t = at.twist[b]
            v = add((t[0], t[1], t[2]), cross((t[3], t[4], t[5]), y))
            for i in range(3):
                imposed[k, i] = v[i]
        for before in range(first, e):
            for j in range(3):
                w = chain.whole[before, j]
                v = add((w[0], w[1], w[2]), cross((w[3], w[4], w[5]), y))
                _put(rows, k, root + 3 * (before - first) + j, v)
        f = times(s, u)
        S = stumpff(dot(f, f))
        p, R = vec(chain.start, e), frame_of(chain.frame, e)
        for j in range(3):
            unit = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            own = carried(p, R, arc_twist(f, s, S, unit))
            _put(rows, k, root + 3 * (e - first) + j, add(own[0], cross(own[1], y)))


def blank_chain(elements: int) -> Chain:
    """Empty arrays for the elements."""
    return Chain(np.empty((elements, 3)), np.empty((elements, 3, 3)), np.empty((elements, 3, 6)))
