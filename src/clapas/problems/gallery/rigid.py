"""Contact Jacobians of rigid bodies, assembled directly as sparse rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.typing import Array, Indices, Mask

CHUNK = 65536  # contacts assembled together: bounds the memory beyond that of H itself


def contact_frames(normals: Array) -> Array:
    """Complete unit normals (n, d) to right-handed orthonormal frames, (n, d, d).

    Row 0 is the normal, the others the tangents. No branch and no normalisation (Duff et al. 2017).

    Examples
    --------
    >>> contact_frames(np.array([[0.0, 0.0, 1.0]]))[0]
    array([[ 0.,  0.,  1.],
           [ 1., -0., -0.],
           [-0.,  1., -0.]])
    """
    if normals.shape[1] == 2:
        return np.stack((normals, np.column_stack((-normals[:, 1], normals[:, 0]))), axis=1)
    x, y, z = normals.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    frames = np.empty((len(normals), 3, 3))
    frames[:, 0] = normals
    frames[:, 1] = np.column_stack((1.0 + sign * x * x * a, sign * b, -sign * x))
    frames[:, 2] = np.column_stack((b, sign + y * y * a, -y))
    return frames


def contact_jacobian(
    frames: Array,
    bodies: tuple[Indices, Indices],
    arms: tuple[Array, Array],
    n_bodies: int,
    *,
    central: bool = False,
) -> sparse.csr_array:
    """H of rigid bodies: u = velocity of b minus velocity of a at the contact, in the contact frame.

    A body has the velocities (v, ω) of its centre, 6 in space and 3 in the plane; its point at the arm x
    moves at v + ω × x. Row e of a frame therefore reads ±(e, x × e) on the body's columns.

    Parameters
    ----------
    frames : array (n, d, d)
        Normal and tangents, normal from a to b.
    bodies : two arrays (n,)
        Bodies a and b; a < b, and a = −1 is the fixed world.
    arms : two arrays (n, d)
        From the centres of a and of b to the contact point (m). Ignored where a = −1.
    n_bodies : int
        Number of bodies.
    central : bool
        The arms are along the normals (spheres): the turning part of normal rows is zero and not stored.
    """
    n, d = frames.shape[:2]
    a, b = bodies
    pattern = np.ones((d, 3 * d - 3), dtype=np.bool_)
    pattern[0, d:] = not central
    moving = a >= 0
    lengths = pattern.sum(axis=1) * np.where(moving, 2, 1)[:, None]
    indptr = np.concatenate(([0], np.cumsum(lengths.ravel())))
    index = np.int32 if indptr[-1] < 2**31 else np.int64
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=index)
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        entries = slice(indptr[d * part.start], indptr[d * part.stop])
        both = np.repeat(moving[part], lengths[part].sum(axis=1))
        block_a = -_velocity_rows(frames[part][moving[part]], arms[0][part][moving[part]])
        block_b = _velocity_rows(frames[part], arms[1][part])
        of_two, of_one = moving[part], ~moving[part]
        data[entries][both] = _rows(pattern, block_a, block_b[of_two])
        data[entries][~both] = _rows(pattern, block_b[of_one])
        column_a, column_b = _columns(pattern, a[part][of_two]), _columns(pattern, b[part])
        indices[entries][both] = _rows(pattern, column_a, column_b[of_two])
        indices[entries][~both] = _rows(pattern, column_b[of_one])
    shape = (n * d, n_bodies * (3 * d - 3))
    return sparse.csr_array((data, indices, indptr.astype(index)), shape=shape)


def _velocity_rows(frames: Array, arms: Array) -> Array:
    """Rows (e, x × e) of each contact, (n, d, dof)."""
    x = arms[:, None, :]
    if frames.shape[1] == 2:
        turning = x[..., :1] * frames[..., 1:] - x[..., 1:] * frames[..., :1]
    else:
        turning = np.cross(x, frames)
    return np.concatenate((frames, turning), axis=2)


def _columns(pattern: Mask, bodies: Indices) -> Indices:
    dof = pattern.shape[1]
    columns = bodies[:, None, None] * dof + np.arange(dof)
    return np.broadcast_to(columns, (len(bodies), *pattern.shape))


def _rows(pattern: Mask, *blocks: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Stored entries of each contact, row after row, one body after the other, flat."""
    kept = [block[:, row, pattern[row]] for row in range(len(pattern)) for block in blocks]
    return np.concatenate(kept, axis=1).ravel()
