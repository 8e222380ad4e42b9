"""The rows of all joints as arrays: how far each is from holding, and its derivative.

For a row g(q) of bodies a and b, with arms r to the points P = x + r and Δ = P_b − P_a,

    point, line, distance    ġ = n·(v_b − v_a) + (r_b × n)·ω_b − (r × n)·ω_a
    angle                    ġ = (n × m)·(ω_a − ω_b)

where n is an axis of the world, a direction fixed in a, or Δ/|Δ|. A direction fixed in a turns with it, so
that for lines r is the arm of a to P_b, and r_a for the others. Angular velocities are taken in the frames of
the bodies, as everywhere. In the plane the same formulas hold with all that is out of it left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.bodies.rigid.motion import rotate, rotate_back
from clapas.compiled import kernel
from clapas.dynamics.joints.definition import Joint
from clapas.geometry.rotations import rotate_back as in_body_frame
from clapas.typing import Array, Indices, Mask

POINT, LINE, ANGLE, DISTANCE = range(4)
IN_PLANE = np.array([0, 1, 5])  # velocities of a body in the plane among those of one in space


class Linkage(NamedTuple):
    """Bodies joined through bodies that move.

    Parameters
    ----------
    rows : array (j,)
        Its rows among those of all joints.
    bodies : array (k,)
        Its movable bodies.
    a, b : arrays (j,)
        Places of the bodies of each row among these; k for a body that cannot move, and for the world.
    """

    rows: Indices
    bodies: Indices
    a: Indices
    b: Indices


class Placed(NamedTuple):
    """Rows where bodies are.

    Parameters
    ----------
    gap : array (j,)
        g, zero where the joint holds (m, or no unit for angles).
    of_a, of_b : arrays (j, 6), or (j, 3) in 2-D
        Derivatives of g by the velocities of the two bodies.
    arm_a : array (j, 3)
        From the centre of a to its point, in the world (m).
    """

    gap: Array
    of_a: Array
    of_b: Array
    arm_a: Array

    def rate(self, rows: JointRows, velocity: Array) -> Array:
        """Rates ġ (j,) at the velocities (N, size) of the bodies; the world does not move."""
        v = np.concatenate((velocity, np.zeros((1, velocity.shape[1]))))
        return np.asarray(np.sum(self.of_a * v[rows.a], axis=1) + np.sum(self.of_b * v[rows.b], axis=1))


@dataclass(frozen=True, eq=False)
class JointRows:
    """The rows of all joints of a model.

    Parameters
    ----------
    joints : tuple of Joint
        The joints.
    joint, form : arrays (j,)
        Joint of each row; POINT, LINE, ANGLE or DISTANCE.
    a, b : arrays (j,)
        Its bodies; −1 is the world.
    arm_a, arm_b : arrays (j, 3)
        Points of the joint in the frames of the two bodies (m).
    along : array (j, 3)
        n in the frame of a; in the world for points.
    across : array (j, 3)
        m in the frame of b, for angles.
    length : array (j,)
        Distance to keep (m).
    """

    joints: tuple[Joint, ...]
    joint: Indices
    form: Indices
    a: Indices
    b: Indices
    arm_a: Array
    arm_b: Array
    along: Array
    across: Array
    length: Array

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.joints[0].d

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.joints)

    def __len__(self) -> int:
        return len(self.form)

    def placed(self, position: Array, orientation: Array) -> Placed:
        """The rows where the bodies are."""
        x, turn = in_space(position, orientation)
        gap, arm = np.empty(len(self)), np.empty((len(self), 3))
        of_a, of_b = np.zeros((len(self), 6)), np.zeros((len(self), 6))
        fixed = self.form, self.a, self.b, self.arm_a, self.arm_b, self.along, self.across, self.length
        place_rows(*fixed, x, turn, gap, of_a, of_b, arm)
        if self.d == 2:
            of_a, of_b = of_a[:, IN_PLANE], of_b[:, IN_PLANE]
        return Placed(gap, of_a, of_b, arm)

    def linkages(self, movable: Mask) -> list[Linkage]:
        """The linkages among bodies of which some can move."""
        moves = np.append(movable, False)  # last the world
        n, both = len(moves), moves[self.a] & moves[self.b]
        graph = sparse.coo_array((np.ones(both.sum()), (self.a[both], self.b[both])), shape=(n, n))
        label = csgraph.connected_components(graph, directed=False)[1]
        of_row = label[np.where(moves[self.a], self.a, self.b)]
        made = []
        for k in np.unique(of_row):
            rows, bodies = np.flatnonzero(of_row == k), np.flatnonzero((label == k) & moves)
            place = np.full(n, len(bodies))
            place[bodies] = np.arange(len(bodies))
            made.append(Linkage(rows, bodies, place[self.a[rows]], place[self.b[rows]]))
        return made

    @cached_property
    def pairs(self) -> set[tuple[int, int]]:
        """Pairs of bodies, the lower number first, that are joined and do not collide."""
        return {
            (min(joint.a, joint.b), max(joint.a, joint.b))
            for joint in self.joints
            if joint.a is not None and joint.b is not None and not joint.collide
        }


def joint_rows(joints: Sequence[Joint], position: Array, orientation: Array) -> JointRows:
    """The rows of joints between bodies that start at these poses, (N, d) and (N, 4), or (N, 1) in 2-D."""
    d = position.shape[1]
    x, turn = in_space(position, orientation)
    made: list[tuple[int, int, int, int, Array, Array, Array, Array, float]] = []
    for number, joint in enumerate(joints):
        a, b = (-1 if body is None else body for body in (joint.a, joint.b))
        at, to = _out_of_plane(np.array(joint.at)), _out_of_plane(np.array(joint.to))
        arm_a, arm_b = in_body_frame(turn[a], at - x[a]), in_body_frame(turn[b], to - x[b])
        frame = joint.frame
        in_a = [in_body_frame(turn[a], direction) for direction in frame]
        in_b = [in_body_frame(turn[b], direction) for direction in frame]
        rows, nothing, kind = [], np.zeros(3), joint.rows
        if kind.point:
            rows += [(POINT, axis, nothing, 0.0) for axis in np.eye(3)[:d]]
        rows += [(LINE, in_a[k], nothing, 0.0) for k in kind.lines]
        rows += [(ANGLE, in_a[i], in_b[j], 0.0) for i, j in kind.angles]
        if kind.distance:
            rows.append((DISTANCE, nothing, nothing, float(np.linalg.norm(to - at))))
        made += [
            (number, form, a, b, arm_a, arm_b, along, across, length) for form, along, across, length in rows
        ]
    numbers, forms, first, second, *rest = zip(*made, strict=True)
    whole = [np.array(column, dtype=np.int64) for column in (numbers, forms, first, second)]
    arm_a, arm_b, along, across, length = (np.array(column, dtype=float) for column in rest)
    return JointRows(
        joints=tuple(joints),
        joint=whole[0],
        form=whole[1],
        a=whole[2],
        b=whole[3],
        arm_a=arm_a,
        arm_b=arm_b,
        along=along,
        across=across,
        length=length,
    )


def in_space(position: Array, orientation: Array) -> tuple[Array, Array]:
    """Positions (N + 1, 3) and quaternions (N + 1, 4) of bodies in 2-D or 3-D, and last of the world."""
    n, d = position.shape
    x, turn = np.zeros((n + 1, 3)), np.zeros((n + 1, 4))
    x[:n, :d] = position
    if d == 3:
        turn[:n] = orientation
    else:
        turn[:n, 0], turn[:n, 3] = np.cos(0.5 * orientation[:, 0]), np.sin(0.5 * orientation[:, 0])
    turn[n, 0] = 1.0
    return x, turn


def _out_of_plane(point: Array) -> Array:
    return point if len(point) == 3 else np.append(point, 0.0)


@kernel
def place_rows(
    form: Indices,
    a: Indices,
    b: Indices,
    arm_a: Array,
    arm_b: Array,
    along: Array,
    across: Array,
    length: Array,
    x: Array,
    turn: Array,
    gap: Array,
    of_a: Array,
    of_b: Array,
    arm: Array,
) -> None:
    """Fill gaps (j,), derivatives (j, 6) by the two bodies, and arms of a (j, 3); see the module."""
    for i in range(len(form)):
        p, q = a[i], b[i]
        r = rotate(turn[p], arm_a[i, 0], arm_a[i, 1], arm_a[i, 2])
        s = rotate(turn[q], arm_b[i, 0], arm_b[i, 1], arm_b[i, 2])
        arm[i, 0], arm[i, 1], arm[i, 2] = r
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
            n = (d_x / size, d_y / size, d_z / size)
            gap[i] = size - length[i]
        else:
            n = (along[i, 0], along[i, 1], along[i, 2])
            if form[i] == LINE:
                n = rotate(turn[p], along[i, 0], along[i, 1], along[i, 2])
                r = (r[0] + d_x, r[1] + d_y, r[2] + d_z)
            gap[i] = n[0] * d_x + n[1] * d_y + n[2] * d_z
        for k in range(3):
            of_a[i, k], of_b[i, k] = -n[k], n[k]
        c_x, c_y, c_z = r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]
        of_a[i, 3], of_a[i, 4], of_a[i, 5] = rotate_back(turn[p], -c_x, -c_y, -c_z)
        c_x, c_y, c_z = s[1] * n[2] - s[2] * n[1], s[2] * n[0] - s[0] * n[2], s[0] * n[1] - s[1] * n[0]
        of_b[i, 3], of_b[i, 4], of_b[i, 5] = rotate_back(turn[q], c_x, c_y, c_z)
