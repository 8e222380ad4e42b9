"""Polyhedral cones: friction cones replaced by pyramids, and anisotropic friction.

A polyhedral cone is described by its edges (generators) or by its faces (facets); polarity exchanges the
two, so that either description is enough to project. The projection is exact up to rounding: a small
nonnegative least-squares problem per contact, whose optimality is checked. It costs a few microseconds per
contact, which suits checks, linear programs and small problems; use the round cone for large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from clapas.convex.base import Cone, length_and_direction, require_contacts
from clapas.errors import ProblemError
from clapas.typing import Array, Mask

# Errors relative to |x|: ROUNDING is a few times that of one sum of rows, the conditions of optimality must
# hold to OPTIMALITY. Angles: a row lies on a face when it is orthogonal to its normal to FACE. Singular
# values of rows of length one: below SPREAD the span is uncertain, below RANK a direction counts as absent.
ROUNDING = 2e-15
OPTIMALITY = 1e-10
FACE = 1e-14
SPREAD = 1e-11
RANK = 1e-12


@dataclass(frozen=True, eq=False)
class PolyhedralCone(Cone):
    """A polyhedral cone, given by its edges, its faces, or both.

        K = {Σ a_j g_j : a ≥ 0}  (rows g_j of ``generators``)  =  {x : A x ≤ 0}  (rows of ``facets``)

    Arrays of shape (k, d) describe the same cone at every contact, arrays of shape (n, k, d) one cone per
    contact. When both descriptions are given they must describe the same cone; only an edge outside
    a face is detected. Rows are normalised.

    Parameters
    ----------
    generators : array (k, d) or (n, k, d), optional
        Edges of the cone.
    facets : array (k, d) or (n, k, d), optional
        Outward normals of the faces.

    Examples
    --------
    >>> quadrant = PolyhedralCone(generators=[[1.0, 0.0], [0.0, 1.0]])
    >>> quadrant.project(np.array([[2.0, -1.0]]))
    array([[2., 0.]])
    >>> quadrant.polar().project(np.array([[2.0, -1.0]]))
    array([[ 0., -1.]])
    """

    generators: Array | None = None
    facets: Array | None = None

    def __post_init__(self) -> None:
        generators = _unit_rows("generators", self.generators)
        facets = _unit_rows("facets", self.facets)
        if generators is None and facets is None:
            raise ProblemError("a polyhedral cone needs its generators or its facets, got neither")
        if generators is not None and facets is not None:
            _require_same_cone(generators, facets)
        object.__setattr__(self, "generators", generators)
        object.__setattr__(self, "facets", facets)

    @classmethod
    def inscribed(cls, mu: npt.ArrayLike, facets: int = 8, d: int = 3) -> Self:
        """Pyramid inside the friction cone, its edges on the cone.

        Parameters
        ----------
        mu : float or array (n,)
            Coefficient of friction, shared by all contacts or one each; finite and ≥ 0.
        facets : int
            Number of faces, at least 3. In the plane the cone has two faces and is exact.
        d : 2 or 3
            Components per contact.

        Examples
        --------
        >>> PolyhedralCone.inscribed(1.0, facets=4).project(np.array([[1.0, 1.0, 1.0]])).round(6)
        array([[1.333333, 0.666667, 0.666667]])
        """
        return cls._pyramid(mu, facets, d, around=False)

    @classmethod
    def circumscribed(cls, mu: npt.ArrayLike, facets: int = 8, d: int = 3) -> Self:
        """Pyramid around the friction cone, its faces tangent to it.

        Parameters as for :meth:`inscribed`.
        """
        return cls._pyramid(mu, facets, d, around=True)

    @classmethod
    def _pyramid(cls, mu: npt.ArrayLike, facets: int, d: int, *, around: bool) -> Self:
        friction = np.asarray(mu, dtype=float)
        if not (np.isfinite(friction) & (friction >= 0.0)).all() or friction.ndim > 1:
            raise ProblemError(f"mu must be a number or an array (n,), finite and ≥ 0, got {friction}")
        if d not in (2, 3) or (d == 3 and facets < 3):
            raise ProblemError(
                f"a pyramid needs d = 2, or d = 3 and at least 3 facets; got d = {d}, facets = {facets}"
            )
        corners, middles, apothem = _section(facets, d)
        slope = friction[..., None] / (apothem if around else 1.0)
        one, zero = np.ones_like(slope), np.zeros_like(slope)
        edges = _cone_rows(one, slope, corners)
        sides = _cone_rows(-apothem * slope, one, middles)
        floor = _cone_rows(-one, zero, middles[:1])  # x_N ≥ 0 follows from the sides, except when mu = 0
        return cls(generators=edges, facets=np.concatenate((sides, floor), axis=-2))

    def project(self, x: Array) -> Array:
        """Nearest point: x itself inside, 0 in the polar cone, else by nonnegative least squares."""
        return self._nearest(x)[0]

    def jacobian(self, x: Array) -> Array:
        """Orthogonal projector on the span of the face where the projection falls, (n, d, d).

        Let x = p + z with p = P(x). The generators identify the face as the one orthogonal to z, the facets
        as the one that contains p; at kinks the first is the largest of the possible faces, the second the
        smallest, and both spans are limits of derivatives nearby. When both descriptions are known the
        longer of p and z decides, being the more accurate, and a point of the cone counts as inside.

        Edges are distinguished by angles above 1e-14: in a pyramid of mu = 1e-8 or 1e8, whose edges differ by
        1e-8, kinks are therefore located only to one part in a million.
        """
        p, noise = self._nearest(x)
        size = length_and_direction(x)[0][:, None]
        size = np.where(size > 0.0, size, 1.0)
        p, z = p / size, (x - p) / size
        if self.facets is None:
            assert self.generators is not None
            return _span(self.generators, z, noise)
        by_facets = np.eye(x.shape[1]) - _span(self.facets, p, noise)
        if self.generators is None:
            return by_facets
        size_p, size_z = length_and_direction(p)[0], length_and_direction(z)[0]
        by_edge = (size_z >= size_p) | ((size_z == 0.0) & _well_spread(self.generators))
        return np.where(by_edge[:, None, None], _span(self.generators, z, noise), by_facets)

    def dual(self) -> PolyhedralCone:
        """Dual cone: its generators are the inward normals of the faces, and conversely."""
        return PolyhedralCone(
            generators=None if self.facets is None else -self.facets,
            facets=None if self.generators is None else -self.generators,
        )

    def polar(self) -> PolyhedralCone:
        """Polar cone: generators and facets change places."""
        return PolyhedralCone(generators=self.facets, facets=self.generators)

    def _nearest(self, x: Array) -> tuple[Array, Array]:
        """Projection (n, d), and its rounding error relative to |x|, (n,)."""
        self._require_points(x)
        result, noise = x.copy(), np.full(len(x), ROUNDING)
        inside, polar = _all_nonpositive(self.facets, x), _all_nonpositive(self.generators, x)
        result[polar & ~inside] = 0.0
        for i in np.flatnonzero(~inside & ~polar):
            result[i], noise[i] = self._nearest_one(x[i], int(i))
        return result, noise

    def _nearest_one(self, x: Array, contact: int) -> tuple[Array, float]:
        """Project with the generators, or with the facets (Moreau's decomposition) where more accurate.

        The edges of a wide cone are nearly opposite and cancel in the sum; those of its polar are not. A
        part of x that is only rounding is set to zero.
        """
        size = np.max(np.abs(x))
        p, error, noise = x, np.inf, 0.0
        for rows, of_polar in ((self.generators, False), (self.facets, True)):
            if rows is None or error <= ROUNDING:
                continue
            part, defect, rounding = _combine(rows if rows.ndim == 2 else rows[contact], x / size)
            if defect < error:
                part = x if np.linalg.norm(x / size - part) <= rounding else size * part
                p, error, noise = (x - part if of_polar else part), defect, rounding
        if not error <= OPTIMALITY:
            raise ProblemError(
                f"contact {contact}: projection on the polyhedral cone is optimal to {error:.1e} only; "
                "points must be finite, a very wide cone needs its facets, a very narrow one its generators"
            )
        return p, noise

    def _require_points(self, x: Array) -> None:
        for rows in (self.generators, self.facets):
            if rows is not None:
                require_contacts(x, len(rows) if rows.ndim == 3 else len(x), rows.shape[-1])


def _section(facets: int, d: int) -> tuple[Array, Array, float]:
    """Regular polygon of radius one: corners, directions of the sides, distance of the sides."""
    if d == 2:
        both = np.array([[1.0], [-1.0]])
        return both, both, 1.0
    angle = 2.0 * np.pi * np.arange(facets) / facets
    half = np.pi / facets
    corners = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    middles = np.stack((np.cos(angle + half), np.sin(angle + half)), axis=1)
    return corners, middles, float(np.cos(half))


def _cone_rows(normal: Array, tangential: Array, directions: Array) -> Array:
    """Rows (normal, tangential·direction) of length one, (k, d) or (n, k, d)."""
    size = np.hypot(normal, tangential)
    ones = np.ones((len(directions), 1))
    return np.concatenate(
        ((normal / size)[..., None] * ones, (tangential / size)[..., None] * directions), axis=-1
    )


def _unit_rows(name: str, rows: npt.ArrayLike | None) -> Array | None:
    if rows is None:
        return None
    array = np.array(rows, dtype=float)
    if array.ndim not in (2, 3) or not np.isfinite(array).all():
        raise ProblemError(f"{name} must be finite, of shape (k, d) or (n, k, d), got {array.shape}")
    _, unit = length_and_direction(array.reshape(-1, array.shape[-1]))
    unit = unit.reshape(array.shape)
    unit.flags.writeable = False
    return unit


def _require_same_cone(generators: Array, facets: Array) -> None:
    if generators.shape[-1] != facets.shape[-1]:
        raise ProblemError(
            f"generators have {generators.shape[-1]} components, facets {facets.shape[-1]}: they must agree"
        )
    out = np.max(facets @ np.swapaxes(generators, -1, -2), initial=0.0)
    if out > OPTIMALITY:
        raise ProblemError(
            f"a generator sticks out of a facet by {out:.1e} (both of length one): facets must be outward "
            "normals, A x ≤ 0, of the cone that the generators span"
        )


def _products(rows: Array, x: Array) -> Array:
    """All scalar products row·x, (n, k)."""
    products: Array = np.matmul(rows, x[:, :, None])[:, :, 0]
    return products


def _all_nonpositive(rows: Array | None, x: Array) -> Mask:
    """Whether all products row·x are ≤ 0, (n,); False when the rows are not known."""
    if rows is None:
        return np.zeros(len(x), dtype=bool)
    return np.asarray((_products(rows, x) <= 0.0).all(axis=1))


def _combine(rows: Array, x: Array) -> tuple[Array, float, float]:
    """Nearest point p to x among the nonnegative combinations of the rows, its defect and its rounding error.

    Optimality means row·(x − p) ≤ 0 for each row and p·(x − p) = 0: the defect is their largest violation.
    """
    from scipy.optimize import nnls  # slow to load, and only this set needs it

    try:
        coefficients, _ = nnls(rows.T, x)
    except (RuntimeError, ValueError):  # iterations ran out, or x is not finite
        return x, np.inf, 0.0
    p: Array = rows.T @ coefficients
    defect = max(float(np.max(rows @ (x - p), initial=0.0)), abs(float(p @ (x - p))))
    return p, defect, ROUNDING * (1.0 + float(coefficients.sum()))


def _span(rows: Array, normal: Array, noise: Array) -> Array:
    """Projector on the span of the rows orthogonal to ``normal``, itself known to ``noise``, (n, d, d)."""
    size = length_and_direction(normal)[0]
    on_face = np.abs(_products(rows, normal)) <= (FACE * size + noise)[:, None]
    kept = np.where(on_face[:, :, None], rows, 0.0)
    _, values, axes = np.linalg.svd(kept, full_matrices=False)
    basis = axes * (values > RANK)[:, :, None]
    projector: Array = np.swapaxes(basis, 1, 2) @ basis
    return projector


def _well_spread(rows: Array) -> Mask:
    """Whether the span of the rows is numerically certain, for each cone."""
    values = np.linalg.svd(rows, compute_uv=False)
    return np.asarray(values[..., -1] > SPREAD * values[..., 0])
