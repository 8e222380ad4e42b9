"""Contact detection: place the colliders, list the pairs near each other, compute the contacts of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clapas.collision.candidates import Candidates, default_skin
from clapas.collision.collider_records import Local, collider_shapes
from clapas.collision.contact_table import Numbering, Table, sorted_by_feature
from clapas.collision.grid import Rules
from clapas.collision.records import Records, Shapes, float_view
from clapas.collision.shared_pairs import SharedPairs
from clapas.collision.transforms import Frames, Placement, put_colliders, reach_of_bodies
from clapas.compiled import bound
from clapas.compiled.memory import keep_freed_memory
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
    stretch : float
        ``next_stretch`` of the detector whose place this one takes: its first list has a margin to suit the motion.

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
        stretch: float = 1.0,
    ) -> None:
        keep_freed_memory()
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
        self._candidates = Candidates(self._shapes, self._rules, reach, self.d, skin, stretch)
        self._radix = _radix(pieces) if radix is None else radix
        self._shared = SharedPairs(self._shapes, self._number(), self.d, self._radix)

    @property
    def skin(self) -> float:
        """Margin of the list of pairs beyond the largest gap (m)."""
        return self._candidates.skin

    @property
    def next_stretch(self) -> float:
        """How much wider than the narrowest the skin of the next list would be."""
        return self._candidates.next_stretch

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
        candidates, distance = self._candidates, float(distance)
        candidates.update(self._place(position, orientation), max(distance, 0.0))
        shared = self._shared.of(candidates)
        table = self._blank_table(shared.touch(distance))
        return sorted_by_feature(table) if shared.deliver(distance, table) else table

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
        return Numbering(np.ascontiguousarray(body), first, count, n_codes)


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
