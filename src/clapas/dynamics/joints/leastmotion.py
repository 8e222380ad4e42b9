"""Impulses along the rows of joints for prescribed changes of the rows, and the resulting motion.

Impulses λ along the rows change J v. With soft rows, of compliance E (zero for joints),

    (J M⁻¹ Jᵀ + E) λ = t,    w = M⁻¹ Jᵀ λ,

which without soft rows is the motion w of least kinetic energy with J w = t. Rows are taken in units of unit
mass and unit size, A = D J M^(−1/2), so that A Aᵀ has a unit diagonal. It is as sparse as the linkages are:
its pattern is analysed once, and a factorisation is one compiled pass (:mod:`clapas.linalg.ldl`), linear in
the length of a chain.

Redundant rows of a linkage are detected by a pivot that vanishes. The linkage is then treated separately by
the singular values of its rows, A = U S Vᵀ: λ is the smallest solution, and where t is inconsistent A w is as
near to it as possible. Redundant linkages with very many rows keep the sparse factor without the redundant
rows.

Within a step of a pose in which rows become redundant, such as that of a parallelogram linkage all in one
line, a singular value is so small that it changes sign before the step ends. The motion that belongs to it is
then free for that step: :meth:`LeastMotion.letting_go` leaves out the singular values below a larger bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from clapas.compiled import kernel
from clapas.dynamics.joints.anchors import Grips
from clapas.dynamics.joints.rows import JointRows, Placed
from clapas.linalg.ldl import LDL, SparsePattern
from clapas.typing import Array, Indices, Mask

if TYPE_CHECKING:
    from clapas.dynamics.model import Model

RANK = 1e-11  # singular values below this part of the largest are redundant rows
NOTHING = 1e-26  # squared, of the longest row: a shorter one is rounding, and not scaled to unit size
WEAK = 1e-9  # of the unit diagonal: a smaller pivot is that of a nearly redundant row
DENSE = 400  # most rows of a redundant linkage with full matrices
CHUNK = 256  # contacts treated together: bounds the memory


@dataclass(frozen=True, eq=False)
class Linkages:
    """Constant structure of the rows of a model: connections, and places of the entries.

    A *block* is the part of a row on one movable body.

    Parameters
    ----------
    n_rows : int
        Rows.
    label : array (j,)
        Linkage of each row, numbered from 0.
    bodies : array (k,)
        Movable bodies that are joined.
    row, body : arrays (p,)
        Row and body of each block, sorted by row.
    block_a, block_b : arrays (e,)
        The block that each part of a row (``JointRows.entries``) adds to, on its two bodies; −1 for none.
    pattern : SparsePattern
        Of A Aᵀ + E.
    left, right : arrays (q,)
        The blocks whose products its first entries are; the diagonal follows.
    by_body, body_start : arrays (p,) and (N + K + 1,)
        Blocks sorted by body: those of body k are at ``body_start[k]`` to ``body_start[k + 1]``.
    on_anchors : AnchorBlocks
        The parts of rows on anchors.
    """

    n_rows: int
    label: Indices
    bodies: Indices
    row: Indices
    body: Indices
    block_a: Indices
    block_b: Indices
    pattern: SparsePattern
    left: Indices
    right: Indices
    by_body: Indices
    body_start: Indices
    on_anchors: AnchorBlocks


class AnchorBlocks(NamedTuple):
    """Parts of rows on anchors, which reach all anchors of the same system, arrays (m,).

    Parameters
    ----------
    entry, side : arrays
        Part of a row (``JointRows.entries``), and 0 for its body a, 1 for b.
    held, reached : arrays
        The anchor that it is on, and the one that it affects.
    block : array
        The block it adds to.
    """

    entry: Indices
    side: Indices
    held: Indices
    reached: Indices
    block: Indices


def linkages(rows: JointRows, movable: Mask) -> Linkages:
    """Analyse the rows of bodies of which some can move; anchors are numbered after them."""
    row, term, _ = rows.entries
    n = len(movable) + len(rows.ends)
    moves = np.concatenate((movable, np.zeros(len(rows.ends) + 1, dtype=bool)))  # last the world
    keys = []
    for body in (rows.a[term], rows.b[term]):
        keys.append(np.where(moves[body], row * (n + 1) + body, -1))
    reaching = _on_anchors(rows)
    keys.append(row[reaching.entry] * (n + 1) + len(movable) + reaching.reached)
    blocks = np.unique(np.concatenate(keys))
    blocks = blocks[blocks >= 0]
    block_a, block_b, on_anchor = (np.where(key >= 0, np.searchsorted(blocks, key), -1) for key in keys)
    of_row, of_body = blocks // (n + 1), blocks % (n + 1)
    # Rows are coupled by bodies: A Aᵀ has an entry for each pair of blocks of one body.
    incidence = sparse.csr_array((np.ones(len(blocks)), (np.arange(len(blocks)), of_body)), (len(blocks), n))
    pairs = sparse.tril(incidence @ incidence.T, format="coo")
    left, right = (np.asarray(side, dtype=np.int64) for side in pairs.coords)
    diagonal, count = np.arange(len(rows)), len(rows)
    places = (
        np.concatenate((of_row[left], diagonal)),
        np.concatenate((of_row[right], diagonal)),
    )
    graph = sparse.coo_array((np.ones(len(places[0])), places), shape=(count, count))
    label = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return Linkages(
        n_rows=count,
        label=label,
        bodies=np.unique(of_body[of_body < len(movable)]),
        row=of_row,
        body=of_body,
        block_a=block_a,
        block_b=block_b,
        pattern=SparsePattern(*places, count),
        left=left,
        right=right,
        by_body=np.argsort(of_body, kind="stable"),
        body_start=np.searchsorted(np.sort(of_body), np.arange(n + 1)),
        on_anchors=reaching._replace(block=on_anchor),
    )


def _on_anchors(rows: JointRows) -> AnchorBlocks:
    """The parts of rows on anchors, their blocks not yet known."""
    term, count = rows.entries[1], len(rows.ends)
    system = np.array([end.system for end in rows.ends], dtype=np.int64)
    parts = [
        (entry, side, held, reached)
        for side, body in enumerate((rows.a[term], rows.b[term]))
        for entry in np.flatnonzero(body < -1)
        for held in (int(body[entry]) + count + 1,)
        for reached in np.flatnonzero(system == system[held])
    ]
    entry, side, held, reached = np.array(parts, dtype=np.int64).reshape(-1, 4).T
    return AnchorBlocks(entry, side, held, reached, np.empty(0, dtype=np.int64))


class RedundantLinkage(NamedTuple):
    """The rows of a linkage, and their singular values and vectors without those that vanish."""

    rows: Indices
    U: Array
    S: Array


@dataclass(frozen=True, eq=False)
class LeastMotion:
    """Rows of joints at given poses, and the motion by impulses along them.

    Velocities are those of all bodies, (N, size); only those of movable bodies matter. Those of the systems
    that joints hold are separate: ``others``.

    Parameters
    ----------
    model : Model
        The bodies.
    rows : JointRows
        The rows of the joints.
    placed : Placed
        The terms at the poses of the bodies.
    soft : array
        Compliances of the last rows; the others have none.
    grips : Grips, optional
        The systems that joints hold; None if they hold only rigid bodies.
    rank : float
        Singular values below this part of the largest are left out.
    """

    model: Model
    rows: JointRows
    placed: Placed
    soft: Array
    grips: Grips | None = None
    rank: float = RANK

    def letting_go(self, rank: float) -> LeastMotion:
        """The same rows without the motions whose singular values are below this part of the largest."""
        return replace(self, rank=rank)

    def rate(self, velocity: Array, others: Sequence[Array] = ()) -> Array:
        """J v (j,), of movable bodies and systems."""
        if self.grips is not None:
            changes = np.where(self.model.inverse_root > 0.0, velocity, 0.0)
            return self.rows.of_rows(self.placed.rate(self.rows, changes, self.grips.anchors.changes(others)))
        rate = np.empty(self._plan.n_rows)
        along_rows(self._plan.row, self._plan.body, self._A, velocity * self.model.mass_root, rate)
        return np.asarray(rate * self._length)

    def multipliers(self, target: Array) -> Array:
        """Impulses λ (j,) with (J M⁻¹ Jᵀ + E) λ = target (j,)."""
        return self.in_units(self.solve_unit(target / self._length))

    def solve_unit(self, right: Array) -> Array:
        """Solve (A Aᵀ + E) x = right, (j,) or (j, k), for rows of unit size."""
        x = self._factor.solve(right)
        for part in self._redundant:
            coefficients = part.U.T @ right[part.rows]
            x[part.rows] = part.U @ ((coefficients.T / part.S**2).T)
        return x

    def in_units(self, unit: Array) -> Array:
        """Impulses (j,) along the rows, from those along rows of unit size."""
        return np.asarray(unit / self._length)

    def push_along(self, unit: Array, y: Array) -> None:
        """Add Aᵀ x to velocities y (N, size) in units of unit mass."""
        along_bodies(self._plan.row, self._plan.body, self._A, unit, y)

    def add_coupling(self, G: Array, bodies: Indices, T: Array) -> None:
        """Add A Gᵀ to T (j × n d), for blocks G (n, 2, d, size) on bodies (n, 2); −1 for none."""
        plan = self._plan
        add_row_coupling(plan.row, plan.by_body, plan.body_start, self._A, G, bodies, T)

    def motion(self, multipliers: Array) -> Array:
        """Velocities M⁻¹ Jᵀ λ (N, size)."""
        n, size = self.model.mass_root.shape
        y = np.zeros((n + len(self.rows.ends), size))
        along_bodies(self._plan.row, self._plan.body, self._A, multipliers * self._length, y)
        return np.asarray(y[:n] * self.model.inverse_root)

    def others(self, multipliers: Array) -> tuple[Array, ...]:
        """Velocities M̃⁻¹ Jᵀ λ of the systems; none if joints hold only rigid bodies."""
        return self.moved_along(self.rows.of_terms(multipliers))

    def moved_along(self, impulse: Array) -> tuple[Array, ...]:
        """Velocities of the systems from impulses (t,) along the terms."""
        if self.grips is None:
            return ()
        rows, placed, n = self.rows, self.placed, self.model.n_bodies
        on = np.zeros((n + len(rows.ends) + 1, placed.of_a.shape[1]))
        np.add.at(on, rows.a, impulse[:, None] * placed.of_a)
        np.add.at(on, rows.b, impulse[:, None] * placed.of_b)
        return self.grips.moved(on[n:-1])

    def reach(self, target: Array) -> Array:
        """The least velocities w (N, size) with J w = target (j,)."""
        return self.motion(self.multipliers(target))

    def held(self, velocity: Array) -> Array:
        """The velocities nearest to v, in the metric of the masses, with J v = 0."""
        return np.asarray(velocity - self.reach(self.rate(velocity)))

    def consistent(self, b: Array) -> Array:
        """The consistent part of b (j,) for redundant rows, in the sense of least squares."""
        if not self._redundant:
            return b
        unit = b / self._length
        for part in self._redundant:
            unit[part.rows] = part.U @ (part.U.T @ unit[part.rows])
        return np.asarray(unit * self._length)

    def smallest(self, multipliers: Array) -> Array:
        """The smallest impulses (j,) along rows of unit size with the same effect as these."""
        if not self._redundant:
            return multipliers
        unit = multipliers * self._length
        for part in self._redundant:
            unit[part.rows] = part.U @ (part.U.T @ unit[part.rows])
        return self.in_units(unit)

    def response_lost(self, H: sparse.csr_array) -> Array:
        """Reduction by the joints of the response of each row of H (n × m) to an impulse along it, (n,)."""
        lost = np.zeros(H.shape[0])
        scaled = sparse.csr_array(self.rigid_J @ sparse.diags_array(self._inverse_masses))
        product = sparse.csr_array(H @ scaled.T)
        touching = np.flatnonzero(np.diff(product.indptr))
        for start in range(0, len(touching), CHUNK):
            chunk = touching[start : start + CHUNK]
            right = product[chunk].toarray() / self._length
            lost[chunk] = np.sum(right.T * self.solve_unit(right.T), axis=0)
        return lost

    @cached_property
    def J(self) -> sparse.csr_array:
        """The rows (j × m) on the velocities of the movable bodies, and of systems if joints hold some."""
        if self.grips is None:
            return self.rigid_J
        row, term, factor = self.rows.entries
        count, size = len(self.rows.ends), self.placed.of_a.shape[1]
        on = np.zeros((self._plan.n_rows, count, size))
        for body, of in ((self.rows.a[term], self.placed.of_a), (self.rows.b[term], self.placed.of_b)):
            anchored = np.flatnonzero(body < -1)
            place = row[anchored], body[anchored] + count + 1
            np.add.at(on, place, factor[anchored, None] * of[term[anchored]])
        anchors = self.grips.anchors
        on_systems = [
            sparse.csr_array(on[:, chosen].reshape(len(on), -1)) @ J
            for chosen, J in zip(anchors.of, anchors.J, strict=True)
        ]
        return sparse.csr_array(sparse.hstack([self.rigid_J, *on_systems], format="csr"))

    @cached_property
    def rigid_J(self) -> sparse.csr_array:
        """The rows (j × m) on the velocities of the movable bodies."""
        plan, size = self._plan, self.model.mass_root.shape[1]
        rigid = slice(None) if self.grips is None else np.flatnonzero(plan.body < self.model.n_bodies)
        row, body = plan.row[rigid], plan.body[rigid]
        data = self._A[rigid] * self._length[row, None] * self.model.mass_root[body]
        columns = self.model.number[body][:, None] * size + np.arange(size)
        starts = size * np.searchsorted(row, np.arange(plan.n_rows + 1))
        shape = (plan.n_rows, len(self.model.roots) * size)
        return sparse.csr_array((data.ravel(), columns.ravel(), starts), shape=shape)

    @property
    def _inverse_masses(self) -> Array:
        return np.asarray((self.model.inverse_root[self.model.movable] ** 2).ravel())

    @property
    def _plan(self) -> Linkages:
        return self.model.linkages

    @property
    def _A(self) -> Array:
        return self._unit[0]

    @property
    def _length(self) -> Array:
        return self._unit[1]

    @cached_property
    def _unit(self) -> tuple[Array, Array, Array]:
        """Blocks of A, the lengths by which rows were divided, and the entries of A Aᵀ + E."""
        plan, rows = self._plan, self.rows
        _, term, factor = rows.entries
        A, length = np.zeros((len(plan.row), self.placed.of_a.shape[1])), np.zeros(plan.n_rows)
        entries = np.zeros(len(plan.left) + plan.n_rows)
        E = np.zeros(plan.n_rows)
        E[plan.n_rows - len(self.soft) :] = self.soft
        of = self.placed.of_a, self.placed.of_b
        if self.grips is not None:
            on = plan.on_anchors
            rows_on = np.stack(of)[on.side, term[on.entry]] * factor[on.entry, None]
            np.add.at(A, on.block, np.einsum("mi,mij->mj", rows_on, self.grips.root[on.held, on.reached]))
        parts = term, factor, rows.a, rows.b, plan.block_a, plan.block_b
        fill_unit_rows(
            *parts, *of, self.model.inverse_root, plan.row, plan.left, plan.right, E, A, length, entries
        )
        return A, length, entries

    @cached_property
    def _factor(self) -> LDL:
        return self._plan.pattern.factorise(self._unit[2], WEAK)

    @cached_property
    def _redundant(self) -> list[RedundantLinkage]:
        """The linkages whose rows are not independent, by singular values."""
        weak, redundant = self._factor.left_out, []
        among = self._plan.label[weak] if self.rank == RANK else self._plan.label
        for label in np.unique(among):
            rows = np.flatnonzero(self._plan.label == label)
            if len(rows) <= DENSE:
                U, S, _ = np.linalg.svd(self._full(rows), full_matrices=False)
                kept = S > self.rank * S.max(initial=0.0)
                redundant.append(RedundantLinkage(rows, U[:, kept], S[kept]))
        return redundant

    def _full(self, rows: Indices) -> Array:
        """A as a full matrix on some rows, with a column for each soft one."""
        plan, size = self._plan, self._A.shape[1]
        place = np.full(plan.n_rows, -1)
        place[rows] = np.arange(len(rows))
        blocks = np.flatnonzero(place[plan.row] >= 0)
        bodies, column = np.unique(plan.body[blocks], return_inverse=True)
        A = np.zeros((len(rows), len(bodies), size))
        A[place[plan.row[blocks]], column] = self._A[blocks]
        E = np.zeros(plan.n_rows)
        E[plan.n_rows - len(self.soft) :] = self.soft
        return np.hstack((A.reshape(len(rows), -1), np.diag(np.sqrt(E[rows]) / self._length[rows])))


@kernel
def fill_unit_rows(
    term: Indices,
    factor: Array,
    a: Indices,
    b: Indices,
    block_a: Indices,
    block_b: Indices,
    of_a: Array,
    of_b: Array,
    inverse_root: Array,
    row: Indices,
    left: Indices,
    right: Indices,
    E: Array,
    A: Array,
    length: Array,
    entries: Array,
) -> None:
    """Fill the blocks of A, the lengths of rows in units of unit mass, and the entries of A Aᵀ + E.

    The last entries are the diagonal of E. A row that moves nothing has length 1 and a unit diagonal: its
    impulse is zero. It is one without movable bodies, or one along which a system cannot move, such as the
    tip of a straight rod along itself.
    """
    size = A.shape[1]
    for e in range(len(term)):
        t = term[e]
        for k in range(size):
            if block_a[e] >= 0:
                A[block_a[e], k] += factor[e] * of_a[t, k] * inverse_root[a[t], k]
            if block_b[e] >= 0:
                A[block_b[e], k] += factor[e] * of_b[t, k] * inverse_root[b[t], k]
    for p in range(len(row)):
        for k in range(size):
            length[row[p]] += A[p, k] * A[p, k]
    longest = 0.0
    for j in range(len(length)):
        longest = max(longest, length[j])
    for j in range(len(length)):
        idle = length[j] <= NOTHING * longest
        length[j] = 1.0 if idle else np.sqrt(length[j])
        entries[len(left) + j] = 1.0 if idle else E[j] / (length[j] * length[j])
    for p in range(len(row)):
        for k in range(size):
            A[p, k] /= length[row[p]]
    for q in range(len(left)):
        total = 0.0
        for k in range(size):
            total += A[left[q], k] * A[right[q], k]
        entries[q] = total


@kernel
def along_rows(row: Indices, body: Indices, A: Array, y: Array, rate: Array) -> None:
    """Write A y (j,) for velocities y (N, size) in units of unit mass."""
    rate[:] = 0.0
    for p in range(len(row)):
        for k in range(A.shape[1]):
            rate[row[p]] += A[p, k] * y[body[p], k]


@kernel
def along_bodies(row: Indices, body: Indices, A: Array, impulse: Array, y: Array) -> None:
    """Add Aᵀ λ to velocities y (N, size) in units of unit mass."""
    for p in range(len(row)):
        for k in range(A.shape[1]):
            y[body[p], k] += A[p, k] * impulse[row[p]]


@kernel
def add_row_coupling(
    row: Indices, by_body: Indices, body_start: Indices, A: Array, G: Array, bodies: Indices, T: Array
) -> None:
    """Add A Gᵀ to T; see :meth:`LeastMotion.add_coupling`."""
    n, _, d, size = G.shape
    for i in range(n):
        for s in range(2):
            body = bodies[i, s]
            if body < 0:
                continue
            for e in range(body_start[body], body_start[body + 1]):
                p = by_body[e]
                for k in range(d):
                    total = 0.0
                    for m in range(size):
                        total += A[p, m] * G[i, s, k, m]
                    T[row[p], i * d + k] += total
