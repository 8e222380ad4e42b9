"""The rows of all joints as arrays: their errors and derivatives.

A *term* is a function of the poses of two bodies a and b, with arms r to the points P = x + r and
Δ = P_b − P_a:

    point, line, distance    ġ = n·(v_b − v_a) + (r_b × n)·ω_b − (r × n)·ω_a
    angle                    ġ = (n × m)·(ω_a − ω_b)
    turn                     ġ = n·(ω_b − ω_a)
    swing                    ġ = (n × m)·(ω_b − ω_a)/|n × m|
    gimbal                   ġ = (e₂ × e₃)·(ω_b − ω_a)/det for the first of three angles, and so on

where n is an axis of the world, a direction fixed in a, or Δ/|Δ|. A direction fixed in a turns with it, so
that for lines r is the arm of a to P_b, and r_a for the others. Angular velocities are taken in the frames of
the bodies, as everywhere. In the plane the same formulas hold with all that is out of it left out.

The first terms close the joints: g = 0. The others are the coordinates of the joints that have one: a turn
about the axis, a line along it, the angle between n and m, one of three angles in a row, or a distance.
*Rows* are what bilateral conditions hold: each closing term is a row; a mimic is one made of two coordinates;
a spring, a damper or a motor without bound is one on a coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clapas.bodies.kind import Poses
from clapas.compiled import kernel
from clapas.dynamics.joints.definition import Joint, SystemEnd
from clapas.dynamics.joints.drives import Drives, drives_of
from clapas.dynamics.joints.laws import Mimic
from clapas.geometry.rotations import rotate_back as in_body_frame
from clapas.linalg.quaternions import rotate, rotate_back
from clapas.typing import Array, Indices, Mask

POINT, LINE, ANGLE, DISTANCE, TURN, SWING, FIRST, SECOND, THIRD = range(9)  # the last three of a gimbal
ALIGNED = 1e-9  # sine up to which a swing or a locked gimbal has no direction, and nothing acts along it
IN_PLANE = np.array([0, 1, 5])  # velocities of a body in the plane among those of one in space
FULL_TURN = 2.0 * np.pi


class Placed(NamedTuple):
    """Terms at given poses of the bodies.

    Parameters
    ----------
    value : array (t,)
        g of the closing terms, zero where they hold (m, or no unit for angles), and the coordinates (rad, m).
    of_a, of_b : arrays (t, 6), or (t, 3) in 2-D
        Derivatives by the velocities of the two bodies.
    arm_a : array (t, 3)
        From the centre of a to its point, in the world (m).
    turn : array (N + K + 1, 4)
        Orientations of the bodies, of the anchors on systems, and of the world.
    """

    value: Array
    of_a: Array
    of_b: Array
    arm_a: Array
    turn: Array

    def rate(self, rows: JointRows, velocity: Array, anchors: Array | None = None) -> Array:
        """Rates (t,) at the velocities (N, size) of bodies and (K, size) of anchors; the world is at rest."""
        if anchors is not None:
            velocity = np.concatenate((velocity, anchors, np.zeros((1, velocity.shape[1]))))
        rate = np.empty(len(self.value))
        term_rates(rows.a, rows.b, self.of_a, self.of_b, velocity, rate)
        return rate


@dataclass(frozen=True, eq=False)
class JointRows:
    """The terms and rows of all joints of a model.

    Parameters
    ----------
    joints : tuple of Joint
        The joints.
    mimics : tuple of Mimic
        Coordinates that follow others.
    joint, form : arrays (t,)
        Joint of each term; POINT, LINE, ANGLE, DISTANCE, TURN, SWING or FIRST, SECOND, THIRD.
    a, b : arrays (t,)
        Its bodies; −1 is the world, and the numbers before it are the anchors, −2 the last one.
    arm_a, arm_b : arrays (t, 3)
        Points of the joint in the frames of the two bodies (m).
    along : array (t, 3)
        n in the frame of a; in the world for points.
    across : array (t, 3)
        m in the frame of b, for angles and swings; for turns a direction across the axis, fixed in b; for
        gimbals the third axis.
    beside : array (t, 3)
        For turns, the direction fixed in a that the one across had at the start. For gimbals the second axis
        at the start, fixed in a, or for the third angle in b.
    length : array (t,)
        Distance to keep (m). For gimbals the sign of e₂·(e₃ × e₁), or for the second angle that from e₁ to e₃
        about e₂, at the start.
    sign : array (t,)
        −1 for coordinates of a relative to b.
    n_closing : int
        Number of closing terms; the coordinates follow.
    ends : tuple of SystemEnd
        The K anchors on bodies of other kinds.
    """

    joints: tuple[Joint, ...]
    mimics: tuple[Mimic, ...]
    joint: Indices
    form: Indices
    a: Indices
    b: Indices
    arm_a: Array
    arm_b: Array
    along: Array
    across: Array
    beside: Array
    length: Array
    sign: Array
    n_closing: int
    ends: tuple[SystemEnd, ...] = ()

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.joints[0].d

    def renumbered(self, bodies: Indices) -> JointRows:
        """The same with these bodies of the model, in increasing order, numbered from 0."""

        def place(body: int | SystemEnd | None) -> int | SystemEnd | None:
            if isinstance(body, SystemEnd):
                carrier = None if body.carrier is None else int(np.searchsorted(bodies, body.carrier))
                return body._replace(carrier=carrier)
            return None if body is None else int(np.searchsorted(bodies, body))

        joints = tuple(replace(joint, a=place(joint.a), b=place(joint.b)) for joint in self.joints)
        a, b = (np.where(side < 0, side, np.searchsorted(bodies, side)) for side in (self.a, self.b))
        return replace(self, joints=joints, a=a, b=b)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def moving(self) -> Indices:
        """The joint of each coordinate."""
        return self.joint[self.n_closing :]

    @cached_property
    def drives(self) -> Drives:
        """The laws of the coordinates."""
        return drives_of([self.joints[k] for k in self.moving])

    def __len__(self) -> int:
        return self.n_held + len(self.drives.soft)

    @property
    def n_held(self) -> int:
        """Number of rows that constrain positions: the closing ones and mimics. Springs and motors follow."""
        return self.n_closing + len(self.mimics)

    @cached_property
    def entries(self) -> tuple[Indices, Indices, Array]:
        """Rows as sums of terms: row, term and factor of each part."""
        n, k = self.n_closing, len(self.mimics)
        place = {self.names[joint]: n + c for c, joint in enumerate(self.moving)}
        follower = [place[mimic.follower] for mimic in self.mimics]
        leader = [place[mimic.leader] for mimic in self.mimics]
        soft = self.drives.soft
        row = np.concatenate((np.arange(n + k), n + np.arange(k), n + k + np.arange(len(soft))))
        term = np.concatenate((np.arange(n), follower, leader, n + soft)).astype(np.int64)
        factor = np.ones(len(row))
        factor[n + k : n + 2 * k] = [-mimic.ratio for mimic in self.mimics]
        return row, term, factor

    @cached_property
    def offset(self) -> Array:
        """Values that rows must have; nonzero only for mimics."""
        offset = np.zeros(len(self))
        offset[self.n_closing : self.n_held] = [mimic.offset for mimic in self.mimics]
        return offset

    def of_rows(self, terms: Array) -> Array:
        """Sums (j,) of the rows, from numbers (t,) of the terms."""
        row, term, factor = self.entries
        return np.asarray(np.bincount(row, factor * terms[term], len(self)), dtype=float)

    def of_terms(self, rows: Array) -> Array:
        """Impulses (t,) along the terms, from those (j,) along the rows."""
        row, term, factor = self.entries
        return np.asarray(np.bincount(term, factor * rows[row], len(self.form)), dtype=float)

    def gap(self, placed: Placed) -> Array:
        """Errors of the rows, (j,); zero for springs and motors, which do not constrain positions."""
        gap = self.of_rows(placed.value) - self.offset
        gap[self.n_held :] = 0.0
        return np.asarray(gap)

    def coordinates(self, placed: Placed) -> Array:
        """Coordinates (k,) of the joints that have one."""
        return placed.value[self.n_closing :]

    def placed(
        self, position: Array, orientation: Array, near: Array | None = None, anchors: Poses | None = None
    ) -> Placed:
        """The terms at poses of the bodies, and of the anchors if there are any.

        ``near`` (k,) are recent coordinates: angles are those within half a turn of them.
        """
        x, turn = in_space(position, orientation, anchors)
        count = len(self.form)
        value, arm = np.empty(count), np.empty((count, 3))
        of_a, of_b = np.zeros((count, 6)), np.zeros((count, 6))
        points = self.arm_a, self.arm_b, self.along, self.across, self.beside, self.length, self.sign
        place_rows(self.form, self.a, self.b, *points, x, turn, value, of_a, of_b, arm)
        if len(self.moving):
            own, start = value[self.n_closing :], self.drives.start
            own += start
            turns = counts_turns(self.form[self.n_closing :])
            off = (start if near is None else near)[turns] - own[turns]
            own[turns] += FULL_TURN * np.round(off / FULL_TURN)
        if self.d == 2:
            of_a, of_b = of_a[:, IN_PLANE], of_b[:, IN_PLANE]
        return Placed(value, of_a, of_b, arm, turn)

    @cached_property
    def pairs(self) -> Indices:
        """Pairs of bodies (p, 2), the lower number first, sorted, that are joined and do not collide."""
        found = {
            (min(joint.a, joint.b), max(joint.a, joint.b))
            for joint in self.joints
            if isinstance(joint.a, int) and isinstance(joint.b, int)
            if joint.rows.holds and not joint.collide
        }
        return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def ends_on_systems(joints: Sequence[Joint]) -> tuple[SystemEnd, ...]:
    """The anchors of joints on bodies of other kinds, each once."""
    ends = [end for joint in joints for end in (joint.a, joint.b) if isinstance(end, SystemEnd)]
    return tuple(dict.fromkeys(ends))


def joint_rows(
    joints: Sequence[Joint],
    position: Array,
    orientation: Array,
    mimics: Sequence[Mimic] = (),
    anchors: Poses | None = None,
) -> JointRows:
    """The rows of joints between bodies that start at these poses, (N, d) and (N, 4), or (N, 1) in 2-D.

    ``anchors`` are the poses of :func:`ends_on_systems`.
    """
    d = position.shape[1]
    x, turn = in_space(position, orientation, anchors)
    ends = ends_on_systems(joints)
    row_of: dict[SystemEnd | None, int] = {None: -1, **{end: k - len(ends) - 1 for k, end in enumerate(ends)}}
    closing: list[tuple[Any, ...]] = []
    coordinates: list[tuple[Any, ...]] = []
    for number, its in enumerate(joints):
        a, b = (body if isinstance(body, int) else row_of[body] for body in (its.a, its.b))
        at, to = _out_of_plane(np.array(its.at)), _out_of_plane(np.array(its.to))
        arms = in_body_frame(turn[a], at - x[a]), in_body_frame(turn[b], to - x[b])
        frame = its.frame
        in_a = [in_body_frame(turn[a], direction) for direction in frame]
        in_b = [in_body_frame(turn[b], direction) for direction in frame]
        kind, none = its.rows, np.zeros(3)
        rows: list[tuple[Any, ...]] = []  # form, along, across, beside, length
        if kind.point:
            rows += [(POINT, axis, none, none, 0.0) for axis in np.eye(3)[:d]]
        rows += [(LINE, in_a[k], none, none, 0.0) for k in kind.lines]
        rows += [(ANGLE, in_a[i], in_b[j], none, 0.0) for i, j in kind.angles]
        if kind.distance:
            rows.append((DISTANCE, none, none, none, float(np.linalg.norm(to - at))))
        closing += [(number, form, a, b, *arms, *rest, 1.0) for form, *rest in rows]
        sign = -1.0 if its.b is None else 1.0
        about, first = (2, 0) if d == 2 else (0, 1)  # the axis of a pin is out of the plane
        if kind.coordinate == "angle":
            turning = (TURN, in_a[about], in_b[first], in_a[first], 0.0)
            coordinates.append((number, turning[0], a, b, *arms, *turning[1:], sign))
        elif kind.coordinate == "displacement":
            coordinates.append((number, LINE, a, b, *arms, in_a[0], none, none, 0.0, sign))
        elif kind.coordinate == "separation":
            coordinates.append((number, DISTANCE, a, b, *arms, none, none, none, 0.0, 1.0))
        elif kind.coordinate == "swing":
            other = in_body_frame(turn[b], np.array(its.second or its.axis))
            coordinates.append((number, SWING, a, b, *arms, in_a[0], other, none, 0.0, 1.0))
        elif kind.coordinate == "gimbal":
            one, two, three = (np.array(axis) for axis in (its.axis, its.second, its.third))
            side = float(np.sign(two @ np.cross(three, one)))
            between = float(np.arctan2(two @ np.cross(one, three), one @ three))
            angle = (FIRST, SECOND, THIRD)[its.which - 1]
            middle = in_body_frame(turn[b if angle == THIRD else a], two)
            axes = in_body_frame(turn[a], one), in_body_frame(turn[b], three), middle
            told = between if angle == SECOND else side
            coordinates.append((number, angle, a, b, *arms, *axes, told, sign))
    joint, form, bodies_a, bodies_b, *rest = zip(*(closing + coordinates), strict=True)
    arm_a, arm_b, along, across, beside, length, signs = (np.array(part, dtype=float) for part in rest)
    return JointRows(
        joints=tuple(joints),
        mimics=tuple(mimics),
        joint=np.array(joint, dtype=np.int64),
        form=np.array(form, dtype=np.int64),
        a=np.array(bodies_a, dtype=np.int64),
        b=np.array(bodies_b, dtype=np.int64),
        arm_a=arm_a,
        arm_b=arm_b,
        along=along,
        across=across,
        beside=beside,
        length=length,
        sign=signs,
        n_closing=len(closing),
        ends=ends,
    )


def in_space(position: Array, orientation: Array, anchors: Poses | None = None) -> tuple[Array, Array]:
    """Positions and quaternions (N + K + 1, 4) of bodies, of anchors, and last of the world, in 3-D."""
    if anchors is not None:
        position = np.concatenate((position, anchors.position))
        orientation = np.concatenate((orientation, anchors.orientation))
    n, d = position.shape
    x, turn = np.zeros((n + 1, 3)), np.zeros((n + 1, 4))
    x[:n, :d] = position
    if d == 3:
        turn[:n] = orientation
    else:
        turn[:n, 0], turn[:n, 3] = np.cos(0.5 * orientation[:, 0]), np.sin(0.5 * orientation[:, 0])
    turn[n, 0] = 1.0
    return x, turn


def counts_turns(form: Indices) -> Mask:
    """Whether each coordinate is an unbounded angle, counted beyond a turn."""
    return np.asarray((form == TURN) | (form >= FIRST))


def _out_of_plane(point: Array) -> Array:
    return point if len(point) == 3 else np.append(point, 0.0)


@kernel
def term_rates(a: Indices, b: Indices, of_a: Array, of_b: Array, velocity: Array, rate: Array) -> None:
    """Fill the rates (t,) of the terms; −1 does not move, other negative numbers count from the end."""
    for i in range(len(a)):
        total = 0.0
        for k in range(of_a.shape[1]):
            if a[i] != -1:
                total += of_a[i, k] * velocity[a[i], k]
            if b[i] != -1:
                total += of_b[i, k] * velocity[b[i], k]
        rate[i] = total


@kernel
def place_rows(
    form: Indices,
    a: Indices,
    b: Indices,
    arm_a: Array,
    arm_b: Array,
    along: Array,
    across: Array,
    beside: Array,
    length: Array,
    sign: Array,
    x: Array,
    turn: Array,
    gap: Array,
    of_a: Array,
    of_b: Array,
    arm: Array,
) -> None:
    """Fill values (t,), derivatives (t, 6) by the two bodies, and arms of a (t, 3); see the module."""
    for i in range(len(form)):
        p, q = a[i], b[i]
        r = rotate(turn[p], arm_a[i, 0], arm_a[i, 1], arm_a[i, 2])
        s = rotate(turn[q], arm_b[i, 0], arm_b[i, 1], arm_b[i, 2])
        arm[i, 0], arm[i, 1], arm[i, 2] = r
        if form[i] == TURN:
            n = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
            m = rotate(turn[p], beside[i, 0], beside[i, 1], beside[i, 2])
            e = rotate(turn[q], across[i, 0], across[i, 1], across[i, 2])
            c_x, c_y, c_z = m[1] * e[2] - m[2] * e[1], m[2] * e[0] - m[0] * e[2], m[0] * e[1] - m[1] * e[0]
            sine = n[0] * c_x + n[1] * c_y + n[2] * c_z
            gap[i] = sign[i] * np.arctan2(sine, m[0] * e[0] + m[1] * e[1] + m[2] * e[2])
            for k in range(3):
                of_a[i, 3 + k] = -sign[i] * along[i, k]
            c_x, c_y, c_z = rotate_back(turn[q], n[0], n[1], n[2])
            of_b[i, 3], of_b[i, 4], of_b[i, 5] = sign[i] * c_x, sign[i] * c_y, sign[i] * c_z
            continue
        if form[i] >= FIRST:
            e = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
            g = rotate(turn[q], across[i, 0], across[i, 1], across[i, 2])
            f = (g[1] * e[2] - g[2] * e[1], g[2] * e[0] - g[0] * e[2], g[0] * e[1] - g[1] * e[0])
            sine = np.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
            gap[i] = 0.0
            if sine <= ALIGNED:
                continue
            side = length[i] if form[i] != SECOND else (-1.0 if length[i] > 0.0 else 1.0)
            f = (side * f[0] / sine, side * f[1] / sine, side * f[2] / sine)  # the second axis now
            if form[i] == SECOND:
                angle = np.arctan2(-side * sine, e[0] * g[0] + e[1] * g[1] + e[2] * g[2]) - length[i]
                n = f
            else:
                m = rotate(turn[p if form[i] == FIRST else q], beside[i, 0], beside[i, 1], beside[i, 2])
                c_x, c_y, c_z = (
                    m[1] * f[2] - m[2] * f[1],
                    m[2] * f[0] - m[0] * f[2],
                    m[0] * f[1] - m[1] * f[0],
                )
                cosine, det = m[0] * f[0] + m[1] * f[1] + m[2] * f[2], side * sine
                if form[i] == FIRST:
                    angle = np.arctan2(e[0] * c_x + e[1] * c_y + e[2] * c_z, cosine)
                    n = (
                        (f[1] * g[2] - f[2] * g[1]) / det,
                        (f[2] * g[0] - f[0] * g[2]) / det,
                        (f[0] * g[1] - f[1] * g[0]) / det,
                    )
                else:
                    angle = -np.arctan2(g[0] * c_x + g[1] * c_y + g[2] * c_z, cosine)
                    n = (
                        (e[1] * f[2] - e[2] * f[1]) / det,
                        (e[2] * f[0] - e[0] * f[2]) / det,
                        (e[0] * f[1] - e[1] * f[0]) / det,
                    )
            gap[i] = sign[i] * angle
            n = (sign[i] * n[0], sign[i] * n[1], sign[i] * n[2])
            of_a[i, 3], of_a[i, 4], of_a[i, 5] = rotate_back(turn[p], -n[0], -n[1], -n[2])
            of_b[i, 3], of_b[i, 4], of_b[i, 5] = rotate_back(turn[q], n[0], n[1], n[2])
            continue
        if form[i] == SWING:
            n = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
            m = rotate(turn[q], across[i, 0], across[i, 1], across[i, 2])
            c_x, c_y, c_z = n[1] * m[2] - n[2] * m[1], n[2] * m[0] - n[0] * m[2], n[0] * m[1] - n[1] * m[0]
            sine = np.sqrt(c_x * c_x + c_y * c_y + c_z * c_z)
            gap[i] = np.arctan2(sine, n[0] * m[0] + n[1] * m[1] + n[2] * m[2])
            if sine > ALIGNED:
                c_x, c_y, c_z = c_x / sine, c_y / sine, c_z / sine
                of_a[i, 3], of_a[i, 4], of_a[i, 5] = rotate_back(turn[p], -c_x, -c_y, -c_z)
                of_b[i, 3], of_b[i, 4], of_b[i, 5] = rotate_back(turn[q], c_x, c_y, c_z)
            continue
        if form[i] == ANGLE:
            n = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
            m = rotate(turn[q], across[i, 0], across[i, 1], across[i, 2])
            gap[i] = n[0] * m[0] + n[1] * m[1] + n[2] * m[2]
            c_x, c_y, c_z = n[1] * m[2] - n[2] * m[1], n[2] * m[0] - n[0] * m[2], n[0] * m[1] - n[1] * m[0]
            of_a[i, 3], of_a[i, 4], of_a[i, 5] = rotate_back(turn[p], c_x, c_y, c_z)
            of_b[i, 3], of_b[i, 4], of_b[i, 5] = rotate_back(turn[q], -c_x, -c_y, -c_z)
            continue
        d_x = x[q, 0] + s[0] - x[p, 0] - r[0]
        d_y = x[q, 1] + s[1] - x[p, 1] - r[1]
        d_z = x[q, 2] + s[2] - x[p, 2] - r[2]
        if form[i] == DISTANCE:
            size = np.sqrt(d_x * d_x + d_y * d_y + d_z * d_z)
            gap[i] = size - length[i]
            if size == 0.0:  # no direction, and nothing acts along it
                continue
            n = (d_x / size, d_y / size, d_z / size)
        else:
            n = (along[i, 0], along[i, 1], along[i, 2])
            if form[i] == LINE:
                n = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
                r = (r[0] + d_x, r[1] + d_y, r[2] + d_z)
            if sign[i] < 0.0:
                n = (-n[0], -n[1], -n[2])
            gap[i] = n[0] * d_x + n[1] * d_y + n[2] * d_z
        for k in range(3):
            of_a[i, k], of_b[i, k] = -n[k], n[k]
        c_x, c_y, c_z = r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]
        of_a[i, 3], of_a[i, 4], of_a[i, 5] = rotate_back(turn[p], -c_x, -c_y, -c_z)
        c_x, c_y, c_z = s[1] * n[2] - s[2] * n[1], s[2] * n[0] - s[0] * n[2], s[0] * n[1] - s[1] * n[0]
        of_b[i, 3], of_b[i, 4], of_b[i, 5] = rotate_back(turn[q], c_x, c_y, c_z)
