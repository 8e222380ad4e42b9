"""Contact detection: place the colliders, list the pairs near each other, compute the contacts of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clapas.collision.candidates import Candidates, default_skin
from clapas.collision.collider_records import Local, collider_shapes
from clapas.collision.contact_table import (
    ContactRows,
    Numbering,
    Pairs,
    Table,
    add_images,
    deliver,
    deliver_all,
    places_by_pair,
    sort_features,
)
from clapas.collision.grid import Rules
from clapas.collision.narrow.touching import touch_pairs
from clapas.collision.pair_kernels import WORK, Group, PairKernels
from clapas.collision.records import ROW, Records, Shapes, float_view
from clapas.collision.transforms import Frames, Placement, put_colliders, reach_of_bodies
from clapas.compiled import WORTH_THREADS, bound
from clapas.compiled.teams import run_on_threads
from clapas.compiled.threads import Worker, thread_count
from clapas.errors import ProblemError, SceneError
from clapas.geometry.colliders import Colliders, Contacts
from clapas.typing import Array, Indices, Mask


class Detector:
    """Contact detection for a set of moving colliders.

    :meth:`detect` places the colliders, finds the pairs near each other (:mod:`grid`, kept in a list
    while bodies have moved little: :mod:`candidates`) and measures each pair exactly (:mod:`narrow`).
    The result depends only on the positions: not on the list, nor on the threads that share the pairs when
    there are many.

    Parameters
    ----------
    colliders : Colliders
        The table. Colliders of one body never touch.
    movable : array (n_bodies,) of bool, optional
        Bodies that can move; two that cannot never touch. By default all can.
    period : tuple
        Lengths of the periodic cell along x and y (m), or None. Positions may be inside the cell or
        not. A body that can move must be smaller than the cell, a plane parallel to the direction.
    exclude : iterable of (int, int)
        Pairs of bodies that never touch.
    skin : float, optional
        Margin of the list of pairs beyond the largest gap (m): it changes the speed, never the result. By
        default a fifth of the median bound of the movable colliders.
    radix : int, optional
        Base of the feature numbers. For part of a larger table, :func:`radix_of` that table gives its numbers.

    Notes
    -----
    *Methods.* Spheres, capsules and planes by formulas; boxes, polyhedra and triangles by GJK
    when apart and separating axes when they overlap, with the corners of the common part of the faces as
    contact points (at most eight, plus the nearest point if it is not among them); cylinders as prisms refined
    where they touch (error of the gap about 10⁻⁹ of the radius, of the normal some 10⁻⁵), with exact normals
    against cylinders and capsules. Triangles have contacts on both sides, and shared edges add none
    (:mod:`meshes`): a mesh has the contacts of the solid that it bounds.

    *Compilation.* Only the kernels of the pairs in the scene are compiled (:mod:`pair_kernels`), and the grid
    only for more than a few colliders.

    *Degenerate positions.* Coincident centres of spheres give the last axis as normal; a sphere centred on
    the axis of a capsule or a cylinder, a direction fixed to that body; a centre in the plane of a
    triangle, its front.

    Examples
    --------
    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> from clapas.geometry.table import collider_table
    >>> detector = Detector(collider_table(3, [(0, Plane(), 0), (1, Sphere(0.5), 0)]))
    >>> contacts = detector.detect([(0, 0, 0), (2, 0, 0.4)], [(1, 0, 0, 0)] * 2)
    >>> contacts.normal, contacts.gap.round(12)
    (array([[0., 0., 1.]]), array([-0.1]))
    """

    def __init__(
        self,
        colliders: Colliders,
        *,
        movable: npt.ArrayLike | None = None,
        period: tuple[float | None, float | None] = (None, None),
        exclude: Iterable[tuple[int, int]] = (),
        skin: float | None = None,
        radix: int | None = None,
    ) -> None:
        self.colliders = colliders
        self.d = colliders.d
        free = _movable(colliders, movable)
        self._n_bodies = len(free)
        self._rules = Rules(free, _excluded(exclude, len(free)), _period(period))
        self._is_periodic = bool(self._rules.period.any())
        self._shapes, local = collider_shapes(colliders)
        self._placer = ColliderPlacer(self._shapes, local, self.d)
        pieces, centres = self._shapes.pieces, local.centres
        _refuse_bodies_beyond_period(pieces, centres, self._rules)
        self._are_bodies = np.array_equal(pieces["body"], np.arange(len(pieces)))
        if skin is None:
            skin = default_skin(pieces, self._rules)
        elif not 0.0 <= skin < np.inf:
            raise SceneError(f"skin must be a length, zero or more, got {skin}")
        reach = reach_of_bodies(pieces, centres, self._n_bodies)
        self._candidates = Candidates(self._shapes, self._rules, reach, self.d, skin)
        self._radix = _radix(pieces) if radix is None else radix
        self._pair_kernels = [PairKernels(self._shapes, self.d, self._radix)]
        self._numbering = self._number()
        self._capacity: dict[tuple[Group, int], int] = {}  # rows to allocate, from the last count
        no_rows = np.empty(0, dtype=np.int32)
        self._plan = SerialPlan(0, False, self._pairs(), [], no_rows, np.empty(64, dtype=ROW))
        self._fill_table: Any = None

    @property
    def skin(self) -> float:
        """Margin of the list of pairs beyond the largest gap (m)."""
        return self._candidates.skin

    @property
    def n_candidates(self) -> int:
        """Pairs in the list."""
        return len(self._candidates.pairs)

    @property
    def n_lists(self) -> int:
        """How many times the list was built."""
        return self._candidates.n_made

    def detect(self, position: npt.ArrayLike, orientation: npt.ArrayLike, distance: float = 0.0) -> Contacts:
        """All contacts with gap ≤ ``distance``, sorted by (a, b, feature).

        Parameters
        ----------
        position : array (n_bodies, d)
            Centres of the bodies (m).
        orientation : array (n_bodies, 4), or (n_bodies, 1) in 2-D
            Quaternions (w, x, y, z), or angles (rad).
        distance : float
            Largest gap (m).
        """
        a, b, feature = (table := self.find(position, orientation, distance)).identity
        colliders = (a, b) if self._are_bodies else table.colliders
        return Contacts(a, b, *colliders, feature, *table[2:])  # type: ignore[call-arg]

    def find(self, position: npt.ArrayLike, orientation: npt.ArrayLike, distance: float = 0.0) -> Table:
        """The same contacts as a table of columns."""
        if not math.isfinite(distance):
            raise ProblemError(f"distance must be a number, got {distance}")
        self._candidates.update(self._place(position, orientation), max(distance, 0.0))
        if self._plan.list_number != self._candidates.n_made:
            self._plan = self._new_plan()
        if self._plan.is_serial:
            return self._touch_serially(distance)
        pairs = self._pairs()
        batches: list[ContactRows] = []
        for group, selected in self._candidates.rows.items():
            batches += self._touch(group, selected, pairs, distance)
        return self._gather(batches, pairs, distance)

    def _place(self, position: npt.ArrayLike, orientation: npt.ArrayLike) -> Frames:
        n, angles = self._n_bodies, 4 if self.d == 3 else 1
        x, q = np.asarray(position, dtype=np.float64), np.asarray(orientation, dtype=np.float64)
        if x.shape != (n, self.d) or q.shape != (n, angles):
            raise ProblemError(
                f"positions {x.shape} and orientations {q.shape} do not fit {n} bodies in {self.d}-D: "
                f"expected ({n}, {self.d}) and ({n}, {angles})"
            )
        frames = Frames(_in_space(x, 3), _in_space(q, 4))
        bad = self._placer.put(frames)
        if bad >= 0:
            raise ProblemError(
                f"body {bad}: position {x[bad].tolist()}, orientation {q[bad].tolist()} is no place; "
                "a number is not finite, or the quaternion is zero"
            )
        return frames

    def _pairs(self) -> Pairs:
        candidates = self._candidates
        return Pairs(candidates.pairs, candidates.wraps, self._rules.period, self._is_periodic)

    def _new_plan(self) -> SerialPlan:
        """Plan for the groups of pairs of the current list."""
        groups, pairs, rows = self._candidates.rows, self._pairs(), self._plan.rows
        work = [WORK.get(group, 1.0) * len(selected) for group, selected in groups.items()]
        is_serial = max(work, default=0.0) < WORTH_THREADS and not self._is_periodic
        calls = []
        for group, selected in groups.items() if is_serial else ():
            method = self._pair_kernels[0].of(group, self._candidates.separated)
            calls.append(
                (selected, method, bound(touch_pairs, selected, pairs, self._shapes, 0.0, method, rows, 0))
            )
        starts = np.empty(len(pairs.listed) + 1 if is_serial else 0, dtype=np.int32)
        return SerialPlan(self._candidates.n_made, is_serial, pairs, calls, starts, rows)

    def _touch_serially(self, distance: float) -> Table:
        """Contacts of all groups on one thread."""
        plan, shapes = self._plan, self._shapes
        pairs, distance = plan.pairs, float(distance)
        while True:
            count = 0
            for selected, method, touch in plan.calls:
                count = touch(selected, pairs, shapes, distance, method, plan.rows, count)
            if count <= len(plan.rows):
                break
            plan = self._plan = plan._replace(rows=np.empty(count + count // 4, dtype=ROW))
        table = self._blank_table(count)
        if count:
            arguments = plan.rows, count, plan.starts, pairs, shapes, self._numbering, table
            self._fill_table = self._fill_table or bound(deliver_all, *arguments)
            if self._fill_table(*arguments):
                table = sort_features(table)
        return table

    def _touch(self, group: Group, selected: Indices, pairs: Pairs, distance: float) -> list[ContactRows]:
        """Contacts of one group of pairs, on several threads if there are many."""
        n = thread_count(None, int(WORK.get(group, 1.0) * len(selected)), len(selected))
        while len(self._pair_kernels) < n:
            self._pair_kernels.append(PairKernels(self._shapes, self.d, self._radix))
        parts = np.array_split(selected, n) if n > 1 else [selected]
        batches: list[ContactRows] = [(np.empty(0, dtype=ROW), 0)] * n

        def touch(worker: Worker) -> None:
            k = worker.rank
            batches[k] = self._touch_part(group, k, parts[k], pairs, distance)

        run_on_threads(n, touch)
        return batches

    def _touch_part(
        self, group: Group, part: int, selected: Indices, pairs: Pairs, distance: float
    ) -> ContactRows:
        """Contacts of part of a group; the array grows until they fit."""
        method = self._pair_kernels[part].of(group, self._candidates.separated)
        key = group, part
        while True:
            rows = np.empty(self._capacity.get(key, len(selected) // 2 + 16), dtype=ROW)
            count = touch_pairs(selected, pairs, self._shapes, distance, method, rows, 0)
            self._capacity[key] = count + count // 16 + 16
            if count <= len(rows):
                return rows, count

    def _gather(self, batches: list[ContactRows], pairs: Pairs, distance: float) -> Table:
        """One sorted table of the contacts of all groups."""
        if not batches:
            return self._blank_table(0)
        n = sum(count for _, count in batches)
        table, places = self._blank_table(n), places_by_pair(batches)

        def put(worker: Worker) -> None:
            for k in range(worker.rank, len(batches), worker.size):
                arguments = batches[k][0], places[k], pairs, self._shapes
                deliver(*arguments, self._numbering, table)
                if pairs.is_periodic:
                    add_images(*arguments, distance, self._numbering, table)

        run_on_threads(thread_count(None, n, len(batches)), put)
        return sort_features(table)

    def _blank_table(self, n: int) -> Table:
        """Empty table of n contacts; colliders share the columns of bodies if numbered alike."""
        identity, d = np.empty((3, n), dtype=np.int64), self.d
        colliders = identity[:2] if self._are_bodies else np.empty((2, n), dtype=np.int64)
        shift = np.zeros((n if self._is_periodic else 0, d))
        return Table(identity, colliders, np.empty((n, d)), np.empty((n, d)), np.empty(n), shift)

    def _number(self) -> Numbering:
        body = self._shapes.pieces["body"]
        first = np.searchsorted(body, np.arange(self._n_bodies)).astype(np.int32)
        count = np.bincount(body, minlength=self._n_bodies).astype(np.int32)
        n_codes = 5 * self._radix**2
        most = np.sort(count)[-2:].astype(object).prod() if len(count) else 0
        if most * 10 * n_codes >= 2**63:
            raise SceneError(
                f"two bodies of {np.sort(count)[-2:].tolist()} colliders, and hulls of up to "
                f"{self._radix - 1} corners or edges, make too many contacts to number: use simpler hulls"
            )
        if count.max(initial=0) <= 1:
            first = count = np.empty(0, dtype=np.int32)
        return Numbering(first, count, n_codes)


class SerialPlan(NamedTuple):
    """Calls that find the contacts of all groups of pairs on one thread.

    Parameters
    ----------
    list_number : int
        Number of the list of pairs it was made for.
    is_serial : bool
        Whether one thread is enough; if not, there are no calls.
    pairs : Pairs
        The list of pairs.
    calls : list
        For each group: row numbers of its pairs, pair method, bound kernel.
    starts : array (n_pairs + 1,)
        Work space to sort contacts.
    rows : records
        Work space for contacts.
    """

    list_number: int
    is_serial: bool
    pairs: Pairs
    calls: list[tuple[Indices, Any, Any]]
    starts: Indices
    rows: Records


class ColliderPlacer:
    """Update of the colliders from the positions of their bodies.

    Parameters
    ----------
    shapes : Shapes
        The colliders to update.
    local : Local
        Their centres, corners and normals in the frames of the bodies.
    d : 2 or 3
        Dimension.
    """

    def __init__(self, shapes: Shapes, local: Local, d: int) -> None:
        self._shapes, self._local, self._d = shapes, local, d
        self._put: Any = None
        pieces = shapes.pieces
        off_centre = np.flatnonzero(local.centres.any(axis=1)).astype(np.int32)
        solids = np.flatnonzero(pieces["n_faces"]).astype(np.int32)
        placed = np.tile([1.0 if d == 3 else 0.0, 0.0, 0.0, 0.0], (len(solids), 1))
        self._placement = Placement(np.ascontiguousarray(pieces["body"]), off_centre, solids, placed)
        float_view(shapes.vertices, "x", "y", "z")[:] = local.vertices
        float_view(shapes.faces, "x", "y", "z")[:] = local.normals

    def put(self, frames: Frames) -> int:
        """Move all colliders with their bodies, and rotate those whose orientation has changed.

        Returns −1; or, without moving anything, the first body whose position or orientation is not finite,
        or whose quaternion is zero.
        """
        arguments = frames, self._d, self._placement, self._local, self._shapes
        self._put = self._put or bound(put_colliders, *arguments)
        return self._put(*arguments)


def radix_of(colliders: Colliders) -> int:
    """Base of the feature numbers: one more than the corners, or edges, of the largest hull."""
    _, first_rows = np.unique(np.column_stack((colliders.kind, colliders.hull)), axis=0, return_index=True)
    columns = "body kind position orientation size bound material hull".split()
    one_of_each = {name: getattr(colliders, name)[np.sort(first_rows)] for name in columns}
    one_of_each["body"] = np.arange(len(first_rows))
    return _radix(collider_shapes(replace(colliders, **one_of_each))[0].pieces)


def _radix(pieces: Records) -> int:
    return int(max(pieces["n_vertices"].max(initial=1), pieces["n_edges"].max(initial=1))) + 1


def _movable(colliders: Colliders, movable: npt.ArrayLike | None) -> Mask:
    needed = int(colliders.body.max()) + 1 if len(colliders) else 0
    if np.any(np.diff(colliders.body) < 0) or np.any(colliders.body < 0):
        raise SceneError("the rows of the collider table must be sorted by body, bodies numbered from 0")
    if movable is None:
        return np.ones(needed, dtype=bool)
    free = np.array(movable, dtype=bool)
    if free.ndim != 1 or len(free) < needed:
        raise SceneError(
            f"movable has shape {free.shape}; expected one entry for each of {needed} bodies or more"
        )
    return free


def _in_space(columns: Array, width: int) -> Array:
    """Rows padded with zeros to the width they have in space.

    Always contiguous and writeable: kernels are compiled for that layout only.
    """
    if columns.shape[1] == width:
        flags = columns.flags
        is_plain = flags.c_contiguous and flags.writeable
        return columns if is_plain else np.require(columns, requirements=("C", "W"))
    wide = np.zeros((len(columns), width))
    wide[:, : columns.shape[1]] = columns
    return wide


def _excluded(exclude: Iterable[tuple[int, int]], n_bodies: int) -> Indices:
    pairs = np.array([sorted(pair) for pair in exclude], dtype=np.int64).reshape(-1, 2)
    if np.any(pairs < 0) or np.any(pairs >= n_bodies):
        raise SceneError(f"excluded pairs must name bodies from 0 to {n_bodies - 1}, got {pairs.tolist()}")
    return np.unique(pairs[:, 0] * n_bodies + pairs[:, 1])


def _period(period: tuple[float | None, float | None]) -> Array:
    lengths = np.zeros(2)
    for m, length in enumerate(period):
        if length is not None:
            if not 0.0 < length < np.inf:
                raise SceneError(f"the period along {'xy'[m]} must be a positive length, got {length}")
            lengths[m] = length
    return lengths


def _refuse_bodies_beyond_period(pieces: Records, centres: Array, rules: Rules) -> None:
    if not rules.period.any():
        return
    shortest = rules.period[rules.period > 0.0].min()
    far = np.linalg.norm(centres, axis=1) + pieces["bound"]
    wide = np.flatnonzero(rules.movable[pieces["body"]] & (2.0 * far >= shortest) & np.isfinite(far))
    if wide.size:
        raise SceneError(
            f"body {pieces['body'][wide[0]]} reaches {far[wide[0]]:.6g} m from its centre and would meet its "
            f"own image in a period of {shortest:.6g} m: make the cell longer than twice that"
        )
