"""Contact problems between bodies: two small blocks of H per contact, W never formed.

When M is block diagonal by bodies and each contact touches at most two of them, the whole problem
fits in small dense blocks. Velocities are measured in units where every body has unit mass: with
M = L Lᵀ, y = Lᵀ v and G = H L⁻ᵀ,

    u = G y + w,      y = Gᵀ r + y_free,      W = G Gᵀ,

so that neither M nor its inverse is needed again: a contact reads its two blocks G_a, G_b and the two
y, and an impulse adds G_aᵀ r, G_bᵀ r to them. Contact frames are built here too, from the normals alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from clapas.compiled import inlined, kernel
from clapas.compiled.sharing import share_visits
from clapas.compiled.threads import Worker, chunk
from clapas.linalg.factor import BlockDiagonalFactor
from clapas.linalg.norms import SAFE, norm
from clapas.problems.judge import violation_by_blocks
from clapas.typing import Array, Indices


def frames(normal: Array) -> Array:
    """Orthonormal right-handed frames (n, d, d) whose first row is the normal."""
    if normal.shape[1] == 2:
        return np.stack((normal, np.column_stack((-normal[:, 1], normal[:, 0]))), axis=1)
    frame = np.empty((len(normal), 3, 3))
    share_visits(len(normal), _fill_frames, normal, frame)
    return frame


@inlined
def tangents(x: float, y: float, z: float) -> tuple[float, float, float, float, float, float]:
    """Components of two tangents to a unit normal.

    Reference: Duff et al. 2017; continuous except across z = 0, no square root.
    """
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return 1.0 + sign * x * x * a, sign * b, -sign * x, b, sign + y * y * a, -y


@inlined
def write_frame(normal: Array, i: int, frame: Array) -> None:
    """Write the frame of contact i, in the plane or in space."""
    if normal.shape[1] == 2:
        frame[i, 0, 0], frame[i, 0, 1] = normal[i, 0], normal[i, 1]
        frame[i, 1, 0], frame[i, 1, 1] = -normal[i, 1], normal[i, 0]
        return
    x, y, z = normal[i, 0], normal[i, 1], normal[i, 2]
    a_x, a_y, a_z, b_x, b_y, b_z = tangents(x, y, z)
    frame[i, 0, 0], frame[i, 0, 1], frame[i, 0, 2] = x, y, z
    frame[i, 1, 0], frame[i, 1, 1], frame[i, 1, 2] = a_x, a_y, a_z
    frame[i, 2, 0], frame[i, 2, 1], frame[i, 2, 2] = b_x, b_y, b_z


@kernel
def _fill_frames(worker: Worker, normal: Array, frame: Array) -> None:
    first, last = chunk(worker, len(normal))
    for i in range(first, last):
        write_frame(normal, i, frame)


class Extent(NamedTuple):
    """Sizes: mean diagonals (n,) of W_ii, largest |G_i|, largest |y_free|, whether all are finite."""

    response: Array
    largest_row: float
    largest_y: float
    is_finite: bool


RIGID_BODY = {2: 3, 3: 6, 6: 6}  # degrees of freedom of a rigid body by components of a contact


@dataclass(frozen=True)
class BodyBlocks:
    """Blocks of a contact problem between bodies.

    Parameters
    ----------
    G : array (n, 2, d, size)
        Blocks of H L⁻ᵀ on the two bodies of each contact; zero on the ground.
    bodies : array (n, 2)
        The two bodies; the ground is body number ``n_bodies``.
    y_free : array (n_bodies + 1, size)
        Velocities without impulses, in units of unit mass; the last row is the ground's, zero.
    root : array (n_bodies, size, size)
        Inverse roots L⁻ᵀ of the mass of each body: v = root y.
    """

    G: Array
    bodies: Indices
    y_free: Array
    root: Array

    @property
    def n_bodies(self) -> int:
        """Bodies that can move."""
        return len(self.root)

    @property
    def n_contacts(self) -> int:
        """Contacts."""
        return len(self.bodies)

    @property
    def d(self) -> int:
        """Components at a contact."""
        return int(self.G.shape[2])

    @property
    def size(self) -> int:
        """Degrees of freedom of a body."""
        return int(self.G.shape[3])

    @property
    def primary_arrays(self) -> dict[str, Array]:
        """Primary arrays by name, from which all others follow."""
        return {"G": self.G, "y_free": self.y_free}

    def motion(self, r: Array) -> Array:
        """Body velocities y under the impulses r; the ground's stay zero."""
        y = self.y_free.copy()
        add_impulses(self.G, self.bodies, r, y)
        return y

    def pushed(self, r: Array) -> BodyBlocks:
        """The same bodies with the impulses r added to their free motion."""
        return self.with_free(self.motion(r))

    def with_free(self, rows: Array) -> BodyBlocks:
        """The same bodies with another free motion y_free."""
        return replace(self, y_free=rows)

    @cached_property
    def extent(self) -> Extent:
        """Sizes of the blocks and of the free velocities, computed in one pass."""
        return Extent(*extent_of(self.G, self.y_free, *compile_time(self.G)))

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite, and their squares too."""
        return self.extent.is_finite

    def largest_term(self) -> float:
        """Size of the terms that add up to the free velocities at the contacts (m/s)."""
        return self.extent.largest_row * self.extent.largest_y

    # Below, w = None stands for zero.

    def velocity(self, r: Array, w: Array | None) -> Array:
        """Velocities at the contacts, G y(r) + w."""
        return np.asarray(contact_velocities(self.G, self.bodies, self.motion(r), self._imposed(w)))

    def free_velocity(self, w: Array | None) -> Array:
        """Velocities at the contacts without impulses, G y_free + w."""
        return np.asarray(contact_velocities(self.G, self.bodies, self.y_free, self._imposed(w)))

    def free_speeds(self, w: Array | None) -> tuple[float, float]:
        """Size of the free velocities, and their largest component."""
        q = self.free_velocity(w)
        size, largest = size_and_largest(q)
        return (size if SAFE < size < 1.0 / SAFE else norm(q)), largest

    def apply_delassus(self, r: Array) -> Array:
        """W r: the change of the velocities at the contacts due to the impulses r."""
        y = np.zeros_like(self.y_free)
        add_impulses(self.G, self.bodies, r, y)
        return np.asarray(contact_velocities(self.G, self.bodies, y, np.zeros_like(r)))

    def bodies_velocity(self, r: Array) -> Array:
        """Body velocities v = root y(r), (m,)."""
        return np.asarray(np.einsum("bij,bj->bi", self.root, self.motion(r)[:-1]).ravel())

    def local_blocks(self) -> Array:
        """Diagonal blocks of W = G Gᵀ, (n, d, d)."""
        return np.asarray(diagonal_products(self.G, *compile_time(self.G)))

    @cached_property
    def response(self) -> Array:
        """Mean diagonals of these blocks, (n,)."""
        return self.extent.response

    def violation_norm(self, r: Array, w: Array | None, mu: Array, response: Array) -> float:
        """Size of the violation of the law: see :func:`clapas.problems.judge.violation_norm`."""
        arguments = self.G, self.bodies, self.motion(r), self._imposed(w), r, mu, response
        return float(violation_by_blocks(*arguments, *compile_time(self.G)))

    def _imposed(self, w: Array | None) -> Array:
        return np.zeros((self.n_contacts, self.d)) if w is None else w

    def jacobian(self) -> sparse.csr_array:
        """H, sparse."""
        n, _, d, size = self.G.shape
        lower_transposed = np.linalg.inv(self.root) if len(self.root) else self.root
        with_ground = np.append(lower_transposed, np.zeros((1, size, size)), axis=0)
        blocks = np.einsum("ncdk,nckj->ncdj", self.G, with_ground[self.bodies])
        row = np.broadcast_to(np.arange(n * d).reshape(n, 1, d, 1), blocks.shape)
        column = np.broadcast_to(self.bodies[:, :, None, None] * size + np.arange(size), blocks.shape)
        is_moving = np.broadcast_to((self.bodies < self.n_bodies)[:, :, None, None], blocks.shape)
        entries = blocks[is_moving], (row[is_moving], column[is_moving])
        return sparse.coo_array(entries, shape=(n * d, self.n_bodies * size)).tocsr()

    def mass(self) -> sparse.csr_array:
        """M = L Lᵀ, block diagonal."""
        if not len(self.root):
            return sparse.csr_array((0, 0))
        lower = np.linalg.inv(self.root).transpose(0, 2, 1)
        return sparse.csr_array(sparse.block_diag(lower @ lower.transpose(0, 2, 1), format="csr"))

    def momentum(self) -> Array:
        """Minus the free momentum, f = −L y_free, (m,)."""
        lower = np.linalg.inv(self.root).transpose(0, 2, 1)
        return np.asarray(-np.einsum("bij,bj->bi", lower, self.y_free[:-1]).ravel())


def recognise(H: sparse.csr_array, f: Array, factor: BlockDiagonalFactor, d: int) -> BodyBlocks | None:
    """The two-body structure of a global problem, or None if it has none."""
    m = len(f)
    for size in dict.fromkeys((RIGID_BODY[d], factor.largest_block)):
        if size == 0 or m % size or not _blocks_fit(factor.labels, size):
            continue
        scaled = (H @ factor.inverse_root).tocsr()
        G, bodies, fits = pack_blocks(scaled.indptr, scaled.indices, scaled.data, d, size, m // size)
        if fits:
            y_free = np.zeros((m // size + 1, size))
            y_free[:-1] = -(factor.inverse_root.T @ f).reshape(-1, size)
            return BodyBlocks(G, bodies, y_free, _roots(factor.inverse_root, size))
    return None


def _blocks_fit(labels: Indices, size: int) -> bool:
    """Whether no block of M spans two groups of ``size`` unknowns."""
    body = np.arange(labels.size) // size
    first = np.full(labels.max(initial=0) + 1, labels.size)
    last = np.zeros(labels.max(initial=0) + 1, dtype=np.int64)
    np.minimum.at(first, labels, body)
    np.maximum.at(last, labels, body)
    return bool((first == last).all())


def _roots(inverse_root: sparse.csr_array, size: int) -> Array:
    coo = inverse_root.tocoo()
    root = np.zeros((inverse_root.shape[0] // size, size, size))
    root[coo.row // size, coo.row % size, coo.col % size] = coo.data
    return root


@kernel
def pack_blocks(
    indptr: Indices, indices: Indices, data: Array, d: int, size: int, n_bodies: int
) -> tuple[Array, Indices, bool]:
    """Blocks (n, 2, d, size) and bodies (n, 2) of each contact; False if one has more than two bodies."""
    n = (len(indptr) - 1) // d
    G = np.zeros((n, 2, d, size))
    bodies = np.full((n, 2), n_bodies, dtype=np.int64)
    for i in range(n):
        for row in range(d):
            for p in range(indptr[i * d + row], indptr[i * d + row + 1]):
                body = indices[p] // size
                side = 0
                while side < 2 and bodies[i, side] != body and bodies[i, side] != n_bodies:
                    side += 1
                if side == 2:
                    return G, bodies, False
                bodies[i, side] = body
                G[i, side, row, indices[p] - body * size] = data[p]
    return G, bodies, True


def add_impulses(G: Array, bodies: Indices, r: Array, y: Array) -> None:
    """Add Gᵀ r to y."""
    add_by_blocks(G, bodies, r, y, *compile_time(G))


def contact_velocities(G: Array, bodies: Indices, y: Array, w: Array) -> Array:
    """Return G y + w."""
    return np.asarray(velocities_by_blocks(G, bodies, y, w, *compile_time(G)))


def compile_time(G: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of components and of degrees of freedom as lengths of tuples, known at compile time."""
    return (0,) * G.shape[2], (0,) * G.shape[3]


@kernel
def add_by_blocks(
    G: Array, bodies: Indices, r: Array, y: Array, components: tuple[int, ...], size: tuple[int, ...]
) -> None:
    """Add Gᵀ r to y, for sizes known at compile time."""
    for i in range(len(G)):
        for side in range(2):
            y_body = y[bodies[i, side]]
            for k in range(len(components)):
                row, amount = G[i, side, k], r[i, k]
                for j in range(len(size)):
                    y_body[j] += row[j] * amount


@kernel
def velocities_by_blocks(
    G: Array, bodies: Indices, y: Array, w: Array, components: tuple[int, ...], size: tuple[int, ...]
) -> Array:
    """Return G y + w, for sizes known at compile time."""
    u = np.empty((len(G), len(components)))
    for i in range(len(G)):
        y_a, y_b = y[bodies[i, 0]], y[bodies[i, 1]]
        for k in range(len(components)):
            row_a, row_b = G[i, 0, k], G[i, 1, k]
            velocity = w[i, k]
            for j in range(len(size)):
                velocity += row_a[j] * y_a[j] + row_b[j] * y_b[j]
            u[i, k] = velocity
    return u


@kernel
def extent_of(
    G: Array, y_free: Array, components: tuple[int, ...], size: tuple[int, ...]
) -> tuple[Array, float, float, bool]:
    """Return the fields of :class:`Extent`."""
    d, m = len(components), len(size)
    response, largest_row, largest_y, total = np.empty(len(G)), 0.0, 0.0, 0.0
    for i in range(len(G)):
        square = 0.0
        for side in range(2):
            for k in range(d):
                for j in range(m):
                    square += G[i, side, k, j] * G[i, side, k, j]
        response[i] = square / d
        largest_row = max(largest_row, square)
        total += square
    for body in range(len(y_free)):
        square = 0.0
        for j in range(m):
            square += y_free[body, j] * y_free[body, j]
        largest_y = max(largest_y, square)
        total += square
    return response, np.sqrt(largest_row), np.sqrt(largest_y), np.isfinite(total)


@kernel
def size_and_largest(q: Array) -> tuple[float, float]:
    """Return the norm |q|, without protection against overflow or underflow, and the largest |q_ij|."""
    square, largest = 0.0, 0.0
    for i in range(len(q)):
        for k in range(q.shape[1]):
            square += q[i, k] * q[i, k]
            largest = max(largest, abs(q[i, k]))
    return float(np.sqrt(square)), largest


@kernel
def diagonal_products(G: Array, components: tuple[int, ...], size: tuple[int, ...]) -> Array:
    """Diagonal d×d blocks of G Gᵀ."""
    n, d = len(G), len(components)
    blocks = np.empty((n, d, d))
    for i in range(n):
        for k in range(len(components)):
            for l in range(k + 1):
                total = 0.0
                for side in range(2):
                    for j in range(len(size)):
                        total += G[i, side, k, j] * G[i, side, l, j]
                blocks[i, k, l] = total
                blocks[i, l, k] = total
    return blocks
