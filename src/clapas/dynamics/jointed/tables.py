"""The arrays that the kernels of a step with joints read and write.

Related quantities are rows of one array: a call from Python costs a tenth of a microsecond for every array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.compiled import plain
from clapas.dynamics.model import Model
from clapas.typing import Array, Indices, Mask

NO_MOTOR, TORQUE, VELOCITY, SERVO = range(4)


class Terms(NamedTuple):
    """The t terms, functions of poses (:class:`clapas.dynamics.joints.rows.JointRows`), k being coordinates.

    Parameters
    ----------
    ends : array (3, t)
        Form and bodies a and b of each.
    frames : array (5, t, 3)
        Its ``arm_a``, ``arm_b``, ``along``, ``across`` and ``beside``.
    numbers : array (2, t)
        Its ``length`` and ``sign``.
    start : array (k,)
        Coordinates where bodies were placed.
    n_closing : int
        Terms that close joints; the coordinates follow.
    """

    ends: Indices
    frames: Array
    numbers: Array
    start: Array
    n_closing: int


class Sums(NamedTuple):
    """The j rows as sums of terms.

    Parameters
    ----------
    entries, factor : arrays (4, e) and (e,)
        Row, term, and the blocks they add to on a and b; factors.
    offset : array (j,)
        Values that rows must have.
    n_held : int
        Rows that constrain positions; those of springs and motors follow.
    """

    entries: Indices
    factor: Array
    offset: Array
    n_held: int


class Filling(NamedTuple):
    """Places of the entries of A Aᵀ + E (:class:`clapas.linalg.ldl.SparsePattern`).

    Each entry is the product of two blocks, ``products`` (2, q).
    """

    products: Indices
    start: Indices
    row: Indices
    entry: Indices


class Elimination(NamedTuple):
    """The pattern of the factor L, column by column in the order of elimination."""

    pointers: Indices
    structure: Indices
    order: Indices


class Trees(NamedTuple):
    """Bodies and rows of each linkage.

    Parameters
    ----------
    columns, label_start : arrays (j,) and (labels + 1,)
        Columns of L, in the order of elimination, of each linkage one after another.
    place, row_place : arrays (j,)
        Index of each column in its linkage, and that of the column of each row.
    by_body, body_start : arrays (p,) and (N + 1,)
        Blocks sorted by body.
    leader : array (N,)
        First body of the linkage of each body; itself without joints.
    of_label : array (labels,)
        A movable body of each linkage.
    """

    columns: Indices
    label_start: Indices
    place: Indices
    row_place: Indices
    by_body: Indices
    body_start: Indices
    leader: Indices
    of_label: Indices


class Linked(NamedTuple):
    """Constant data of the joints.

    Kernels take only the parts that they read: each array argument adds to their compile time.
    ``blocks`` (2, p) are the row and the body of each block of A, sorted by row.
    """

    terms: Terms
    sums: Sums
    blocks: Indices
    filling: Filling
    elimination: Elimination
    trees: Trees

    @staticmethod
    def of(model: Model) -> Linked:
        """The arrays of a model with joints."""
        rows, plan = model.joints, model.linkages
        assert rows is not None
        row, term, factor = rows.entries
        pattern = plan.pattern
        return Linked(
            Terms(
                np.stack((rows.form, rows.a, rows.b)),
                np.stack((rows.arm_a, rows.arm_b, rows.along, rows.across, rows.beside)),
                np.stack((rows.length, rows.sign)),
                rows.drives.start,
                rows.n_closing,
            ),
            Sums(
                np.stack((row, term, plan.block_a, plan.block_b)).astype(np.int64),
                factor,
                rows.offset,
                rows.n_held,
            ),
            np.stack((plan.row, plan.body)),
            Filling(
                np.stack((plan.left, plan.right)),
                *(plain(part, np.int64) for part in (pattern.entry_start, pattern.entry_row, pattern.entry)),
            ),
            Elimination(
                *(plain(part, np.int64) for part in (pattern.pointers, pattern.structure, pattern.order))
            ),
            _trees(model),
        )


def _trees(model: Model) -> Trees:
    plan = model.linkages
    leader, of_label = _leaders(model)
    label = plan.label[plan.pattern.order]
    columns = np.argsort(label, kind="stable")
    label_start = np.searchsorted(label[columns], np.arange(len(of_label) + 1))
    place = np.empty(len(label), dtype=np.int64)
    place[columns] = np.arange(len(label)) - label_start[label[columns]]
    row_place = np.empty_like(place)
    row_place[plan.pattern.order] = place
    parts = columns, label_start, place, row_place, plan.by_body, plan.body_start, leader, of_label
    return Trees(*(plain(part, np.int64) for part in parts))


def _leaders(model: Model) -> tuple[Indices, Indices]:
    """The first body of the linkage of each body, and of each linkage; −1 for rows without movable bodies."""
    plan = model.linkages
    leader = np.arange(model.n_bodies)
    of_label = np.full(int(plan.label.max(initial=-1)) + 1, -1)
    for label, body in zip(plan.label[plan.row].tolist(), plan.body.tolist(), strict=True):
        if of_label[label] < 0:
            of_label[label] = body
        leader[body] = of_label[label]
    return leader, of_label


class DriveTable(NamedTuple):
    """Laws of the k coordinates (:class:`clapas.dynamics.joints.drives.Drives`).

    Parameters
    ----------
    numbers : array (12, k)
        Start, lower and upper limit, restitution, friction, stiffness, rest, damping, bound, stiffness and
        damping of servos, armature.
    motor : array (k,)
        NO_MOTOR, TORQUE, VELOCITY or SERVO.
    soft : array (s,)
        Coordinates of the soft rows: springs, dampers and rotors, then motors without bound.
    n_springs : int
        Number of springs, dampers and rotors among them.
    has_links : bool
        Whether there is a limit, friction or a bounded motor.
    """

    numbers: Array
    motor: Indices
    soft: Indices
    n_springs: int
    has_links: bool

    @staticmethod
    def of(model: Model) -> DriveTable:
        """The arrays of a model with joints."""
        assert model.joints is not None
        drives = model.joints.drives
        names = "start lower upper restitution friction stiffness rest damping bound"
        numbers = [getattr(drives, name) for name in names.split()]
        numbers += [drives.servo_stiffness, drives.servo_damping, drives.armature]
        kinds = ((TORQUE, drives.is_torque), (VELOCITY, drives.is_velocity), (SERVO, drives.is_servo))
        motor = sum(word * which for word, which in kinds)
        return DriveTable(
            np.stack(numbers),
            np.asarray(motor, dtype=np.int64),
            drives.soft.astype(np.int64),
            len(drives.springs),
            drives.has_links,
        )


class Driven(NamedTuple):
    """Driven walls in a step, their velocities at its end, and torques of loads.

    ``is_driven`` (N,) of bool; ``velocity`` (N, size); ``spin_change`` (N, 3), by loads (rad/s).
    """

    is_driven: Mask
    velocity: Array
    spin_change: Array


class UnitRows(NamedTuple):
    """Rows in units of unit mass and size, A, and A Aᵀ + E = L D Lᵀ.

    ``A`` (p, size) are its blocks, ``length`` (j,) the sizes of rows, ``inverse`` (j,) that of D.
    """

    A: Array
    length: Array
    L: Array
    inverse: Array


class Held(NamedTuple):
    """The joints in a step, and the motion without contact.

    Parameters
    ----------
    of : array (2, t, size)
        Derivatives of the terms at the middle, by the velocities of a and of b.
    along : array (4, k)
        Coordinates at the start and at the middle, rates at the start, impulses of torque motors.
    imposed : array (s,)
        Rates that springs and motors impose on their rows.
    push : array (N, size)
        Changes of the velocities by torque motors.
    ahead : array (t,)
        Rates of the terms at the end minus those at the middle.
    free, velocity : arrays (N, size)
        Velocities at the end without joints, and with them.
    impulse : array (j,)
        Impulses along the rows.
    active : array (k, 2) of bool
        Limits that are part of the problem.
    rows : UnitRows
        The rows at the middle.
    """

    of: Array
    along: Array
    imposed: Array
    push: Array
    ahead: Array
    free: Array
    velocity: Array
    impulse: Array
    active: Mask
    rows: UnitRows


class Scheme(NamedTuple):
    """Part of the step before its middle and after, θ h; the step h (s); θ; whether bodies gyrate."""

    before: float
    after: float
    dt: float
    theta: float
    gyrates: bool
