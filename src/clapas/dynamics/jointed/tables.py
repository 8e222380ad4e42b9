"""The arrays the kernels of a step with joints read and write.

What belongs together is one array with a row for each quantity: a call from Python costs a tenth of a
microsecond for every array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.dynamics.model import Model
from clapas.typing import Array, Indices, Mask

NO_MOTOR, TORQUE, VELOCITY, SERVO = range(4)


class Pattern(NamedTuple):
    """Where the entries of A Aᵀ + E and of its factor are (:class:`clapas.linalg.ldl.SparsePattern`).

    ``columns`` (j,) are the columns, in the order of elimination, of each linkage one after another, from
    ``label_start`` on. ``place`` (j,) is where each column stands in its linkage, ``row_place`` (j,) where
    that of each row does.
    """

    entry_start: Indices
    entry_row: Indices
    entry: Indices
    pointers: Indices
    structure: Indices
    order: Indices
    columns: Indices
    label_start: Indices
    place: Indices
    row_place: Indices


class Linked(NamedTuple):
    """What does not change of the joints: t terms, j rows, p blocks of rows on bodies, k coordinates.

    Parameters
    ----------
    terms : array (3, t)
        Form and bodies a and b of each term (:class:`clapas.dynamics.joints.rows.JointRows`).
    frames : array (5, t, 3)
        Its ``arm_a``, ``arm_b``, ``along``, ``across`` and ``beside``.
    numbers : array (2, t)
        Its ``length`` and ``sign``.
    entries, factor : arrays (4, e) and (e,)
        Rows as sums of terms: row, term, and the blocks they add to on a and b; factors.
    offset : array (j,)
        Values of rows where they hold.
    n_closing, n_held : int
        Terms that close joints; rows that hold positions.
    blocks : array (2, p)
        Row and body of each block, sorted by row.
    products : array (2, q)
        The blocks whose products the entries of A Aᵀ are.
    by_body, body_start : arrays (p,) and (N + 1,)
        Blocks sorted by body.
    leader : array (N,)
        First body of the linkage of each body; itself without joints.
    of_label : array (labels,)
        A movable body of each linkage.
    pattern : Pattern
        Of A Aᵀ + E.
    """

    terms: Indices
    frames: Array
    numbers: Array
    entries: Indices
    factor: Array
    offset: Array
    n_closing: int
    n_held: int
    blocks: Indices
    products: Indices
    by_body: Indices
    body_start: Indices
    leader: Indices
    of_label: Indices
    pattern: Pattern

    @staticmethod
    def of(model: Model) -> Linked:
        """The arrays of a model with joints."""
        rows, plan = model.joints, model.linkages
        assert rows is not None
        row, term, factor = rows.entries
        leader, of_label = _leaders(model)
        pattern = plan.pattern
        label = plan.label[pattern.order]
        columns = np.argsort(label, kind="stable")
        label_start = np.searchsorted(label[columns], np.arange(len(of_label) + 1))
        place = np.empty(len(label), dtype=np.int64)
        place[columns] = np.arange(len(label)) - label_start[label[columns]]
        row_place = np.empty_like(place)
        row_place[pattern.order] = place
        return Linked(
            terms=np.stack((rows.form, rows.a, rows.b)),
            frames=np.stack((rows.arm_a, rows.arm_b, rows.along, rows.across, rows.beside)),
            numbers=np.stack((rows.length, rows.sign)),
            entries=np.stack((row, term, plan.block_a, plan.block_b)).astype(np.int64),
            factor=factor,
            offset=rows.offset,
            n_closing=rows.n_closing,
            n_held=rows.n_held,
            blocks=np.stack((plan.row, plan.body)),
            products=np.stack((plan.left, plan.right)),
            by_body=plan.by_body,
            body_start=plan.body_start.astype(np.int64),
            leader=leader,
            of_label=of_label,
            pattern=Pattern(
                *(
                    np.ascontiguousarray(part, dtype=np.int64)
                    for part in (
                        pattern.entry_start,
                        pattern.entry_row,
                        pattern.entry,
                        pattern.pointers,
                        pattern.structure,
                        pattern.order,
                        columns,
                        label_start,
                        place,
                        row_place,
                    )
                )
            ),
        )


def _leaders(model: Model) -> tuple[Indices, Indices]:
    """The first body of the linkage of each body, and of each linkage; −1 for rows on nothing that moves."""
    plan = model.linkages
    leader = np.arange(model.n_bodies)
    of_label = np.full(int(plan.label.max(initial=-1)) + 1, -1)
    for label, body in zip(plan.label[plan.row].tolist(), plan.body.tolist(), strict=True):
        if of_label[label] < 0:
            of_label[label] = body
        leader[body] = of_label[label]
    return leader, of_label


class DriveTable(NamedTuple):
    """What acts along the k coordinates (:class:`clapas.dynamics.joints.drives.Drives`).

    Parameters
    ----------
    numbers : array (11, k)
        Start, lower and upper limit, restitution, friction, stiffness, rest, damping, bound, stiffness and
        damping of servos.
    motor : array (k,)
        NO_MOTOR, TORQUE, VELOCITY or SERVO.
    soft : array (s,)
        Coordinates of the soft rows: springs and dampers, then motors without bound.
    n_springs : int
        How many of them are springs and dampers.
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
        numbers += [drives.servo_stiffness, drives.servo_damping]
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
    """What the world does in a step: which walls are driven, their velocities at its end, torques of loads.

    ``is_driven`` (N,) of bool; ``velocity`` (N, size); ``kick`` (N, 3), what loads change of spins (rad/s).
    """

    is_driven: Mask
    velocity: Array
    kick: Array


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
    of_a, of_b : arrays (t, size)
        Derivatives of the terms at the middle.
    along : array (4, k)
        Coordinates at the start and at the middle, rates at the start, impulses of torque motors.
    imposed : array (s,)
        What springs and motors impose on their rows.
    push : array (N, size)
        What torque motors change of the velocities.
    ahead : array (t,)
        What the rates of the terms at the end have beyond those at the middle.
    free, velocity : arrays (N, size)
        Velocities at the end without joints, and with them.
    impulse : array (j,)
        Impulses along the rows.
    active : array (k, 2) of bool
        Limits that are part of the problem.
    rows : UnitRows
        The rows at the middle.
    """

    of_a: Array
    of_b: Array
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
