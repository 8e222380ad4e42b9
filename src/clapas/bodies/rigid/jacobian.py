"""Contact rows of rigid bodies.

At a contact with frame F (rows: normal, tangents) and point p, the velocity of b relative to a is
u = F (v_b + ω_b × l_b − v_a − ω_a × l_a), l = p − centre. The angular columns of H are therefore the
rows of l × F, written in the body frame. They are scaled here to units of unit mass (see
``clapas.problems.blocks``). Bodies that are not movable are the ground; their velocity at the contact
goes into w.

Where the contact carries a couple, further rows give the rotation of b relative to a along the frame,
F (ω_b − ω_a): spin about the normal, then rolling about the tangents; in 2-D rolling alone.
"""

from __future__ import annotations

from clapas.compiled import kernel
from clapas.linalg.quaternions import rotate, rotate_back
from clapas.typing import Array, Indices, Mask


@kernel
def fill_blocks_3d(
    bodies: Indices,
    point: Array,
    shift: Array,
    frame: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the blocks G (n, 2, d, size) of each contact and the velocity w (n, d) of the walls.

    ``shift`` has no rows where there are no periodic images.
    """
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            l_x = point[i, 0] - position[body, 0]
            l_y = point[i, 1] - position[body, 1]
            l_z = point[i, 2] - position[body, 2]
            if side == 1 and len(shift) > 0:
                l_x, l_y, l_z = l_x - shift[i, 0], l_y - shift[i, 1], l_z - shift[i, 2]
            q, scale, v = orientation[body], inverse_root[body], velocity[body]
            for k in range(3):
                f_x, f_y, f_z = sign * frame[i, k, 0], sign * frame[i, k, 1], sign * frame[i, k, 2]
                m_x, m_y, m_z = l_y * f_z - l_z * f_y, l_z * f_x - l_x * f_z, l_x * f_y - l_y * f_x
                b_x, b_y, b_z = rotate_back(q, m_x, m_y, m_z)
                if movable[body]:
                    row = G[i, side, k]
                    row[0], row[1], row[2] = f_x * scale[0], f_y * scale[1], f_z * scale[2]
                    row[3], row[4], row[5] = b_x * scale[3], b_y * scale[4], b_z * scale[5]
                else:
                    w[i, k] += f_x * v[0] + f_y * v[1] + f_z * v[2] + b_x * v[3] + b_y * v[4] + b_z * v[5]


@kernel
def fill_blocks_2d(
    bodies: Indices,
    point: Array,
    shift: Array,
    frame: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the blocks G (n, 2, d, size) of each contact and the velocity w (n, d) of the walls.

    ``shift`` has no rows where there are no periodic images.
    """
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            l_x, l_y = point[i, 0] - position[body, 0], point[i, 1] - position[body, 1]
            if side == 1 and len(shift) > 0:
                l_x, l_y = l_x - shift[i, 0], l_y - shift[i, 1]
            scale, v = inverse_root[body], velocity[body]
            for k in range(2):
                f_x, f_y = sign * frame[i, k, 0], sign * frame[i, k, 1]
                moment = l_x * f_y - l_y * f_x
                if movable[body]:
                    row = G[i, side, k]
                    row[0], row[1], row[2] = f_x * scale[0], f_y * scale[1], moment * scale[2]
                else:
                    w[i, k] += f_x * v[0] + f_y * v[1] + moment * v[2]


@kernel
def fill_couples_3d(
    bodies: Indices,
    frame: Array,
    orientation: Array,
    velocity: Array,
    inverse_root: Array,
    movable: Mask,
    G: Array,
    w: Array,
) -> None:
    """Fill the rows 3 to 5 of G (n, 2, 6, 6) and w (n, 6): how b turns against a about the frame's axes."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            q, scale, v = orientation[body], inverse_root[body], velocity[body]
            for k in range(3):
                b_x, b_y, b_z = rotate_back(
                    q, sign * frame[i, k, 0], sign * frame[i, k, 1], sign * frame[i, k, 2]
                )
                if movable[body]:
                    row = G[i, side, 3 + k]
                    row[3], row[4], row[5] = b_x * scale[3], b_y * scale[4], b_z * scale[5]
                else:
                    w[i, 3 + k] += b_x * v[3] + b_y * v[4] + b_z * v[5]


@kernel
def fill_couples_2d(
    bodies: Indices, velocity: Array, inverse_root: Array, movable: Mask, G: Array, w: Array
) -> None:
    """Fill the row 2 of G (n, 2, 3, 3) and w (n, 3): how b turns against a."""
    for i in range(len(bodies)):
        for side in range(2):
            body = bodies[i, side]
            sign = 1.0 if side == 1 else -1.0
            if movable[body]:
                G[i, side, 2, 2] = sign * inverse_root[body, 2]
            else:
                w[i, 2] += sign * velocity[body, 2]


@kernel
def fill_normal_velocities(
    bodies: Indices,
    point: Array,
    shift: Array,
    normal: Array,
    position: Array,
    orientation: Array,
    velocity: Array,
    speed: Array,
) -> None:
    """Fill the normal velocities (n,) of b relative to a, movable or not: positive when parting.

    ``shift`` has no rows where there are no periodic images.
    """
    d = normal.shape[1]
    for i in range(len(bodies)):
        total = 0.0
        for side in range(2):
            body = bodies[i, side]
            v, sign = velocity[body], 1.0 if side == 1 else -1.0
            image = side == 1 and len(shift) > 0
            l_x = point[i, 0] - position[body, 0] - (shift[i, 0] if image else 0.0)
            l_y = point[i, 1] - position[body, 1] - (shift[i, 1] if image else 0.0)
            if d == 2:
                total += sign * (normal[i, 0] * (v[0] - v[2] * l_y) + normal[i, 1] * (v[1] + v[2] * l_x))
                continue
            l_z = point[i, 2] - position[body, 2] - (shift[i, 2] if image else 0.0)
            x, y, z = rotate(orientation[body], v[3], v[4], v[5])
            total += sign * normal[i, 0] * (v[0] + y * l_z - z * l_y)
            total += sign * normal[i, 1] * (v[1] + z * l_x - x * l_z)
            total += sign * normal[i, 2] * (v[2] + x * l_y - y * l_x)
        speed[i] = total
