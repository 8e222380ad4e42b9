"""Friction cones whose section is any convex set with a projection: polygons, ellipses, or user-defined.

    K = {r : r_T ∈ mu r_N S},        S convex, around the origin

The law K* ∋ ũ ⟂ r ∈ K with ũ = u + mu σ(−u_T) e_N, σ the support function of S, says that u_N and r_N are
complementary and that r_T resists the slip as much as it can in mu r_N S (maximal dissipation): for a disc
it is Coulomb's law; for a polygon the friction of surfaces with a lay, of treads and of crystals.

The projection on K reduces to one scalar equation. With p(ν) = P_{νS}(x_T), the projection on the section
scaled by ν = mu n, the normal component n ≥ 0 of the nearest point is the root of the increasing function

    g(n) = n − x_N − mu σ(x_T − p(mu n)),

or zero where g(0) ≥ 0. It is found by bisection between 0 and max(x_N, 0) + mu σ(x_T), to the last digit. The
cone of a polygon has finitely many faces and edges: there the root is a formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from clapas.convex.base import Cone, DualCone, FrictionCone, length_and_direction, require_contacts
from clapas.convex.coulomb import project as onto_coulomb_cone
from clapas.errors import ProblemError
from clapas.typing import Array, Indices, Mask

NEWTON_STEPS = 100  # convergence is quadratic: five to ten suffice
HALVINGS = 100  # enough to reach the last digit of any number between 0 and the upper bound


class Section(Protocol):
    """Convex sets S_i around the origin, one per contact, in the tangent plane."""

    def project(self, x: Array, scale: Array) -> Array:
        """Nearest points (n, k) of scale_i S_i."""
        ...

    def support(self, z: Array) -> Array:
        """Support function σ(z) = max {s·z : s ∈ S}, (n,)."""
        ...

    def jacobian(self, x: Array, scale: Array) -> Array:
        """Derivative of the projection with respect to x, (n, k, k)."""
        ...

    def take(self, contacts: Indices) -> Section:
        """The sets of some contacts."""
        ...


@dataclass(frozen=True, eq=False)
class Polygons(Section):
    """Convex polygons (in space) or intervals (in the plane), one per contact, and discs of radius one.

    Parameters
    ----------
    vertices : array (n, k, 2), or (n, 2, 1) in the plane
        Corners counter-clockwise; a polygon with fewer than k repeats its last. In the plane the two ends of
        an interval.
    is_round : array (n,) of bool, optional
        Contacts whose section is the disc of radius one, whatever their corners.

    Examples
    --------
    >>> square = Polygons(np.array([[[1.0, -1], [1, 1], [-1, 1], [-1, -1]]]))
    >>> square.project(np.array([[3.0, 0.5]]), np.array([2.0])), square.support(np.array([[1.0, 1.0]]))
    (array([[2. , 0.5]]), array([2.]))
    """

    vertices: Array
    is_round: Mask | None = None

    def __post_init__(self) -> None:
        vertices = np.array(self.vertices, dtype=float)
        if vertices.ndim != 3 or vertices.shape[2] not in (1, 2):
            raise ProblemError(
                f"sections have corners (n, k, 2), or (n, 2, 1) in the plane, got {vertices.shape}"
            )
        _require_convex(vertices, self.is_round)
        object.__setattr__(self, "vertices", vertices)

    @classmethod
    def same(cls, corners: npt.ArrayLike, n: int) -> Polygons:
        """One polygon (k, 2) for all n contacts."""
        shape = np.asarray(corners, dtype=float)
        if shape.ndim != 2:
            raise ProblemError(f"the corners of a section have shape (k, 2), or (2, 1), got {shape.shape}")
        return cls(np.tile(shape, (n, 1, 1)))

    def take(self, contacts: Indices) -> Polygons:
        """The sets of some contacts."""
        return Polygons(self.vertices[contacts], None if self.is_round is None else self.is_round[contacts])

    def project(self, x: Array, scale: Array) -> Array:
        """Nearest points of scale S: x inside, else on the nearest side."""
        if x.shape[1] == 1:
            ends = np.sort(scale[:, None] * self.vertices[:, :, 0], axis=1)
            nearest = np.clip(x, ends[:, :1], ends[:, -1:])
        else:
            nearest = np.where(self._contain(x, scale)[:, None], x, self._on_sides(x, scale)[0])
        if self.is_round is not None and self.is_round.any():
            length, direction = length_and_direction(x)
            on_disc = np.where((length > scale)[:, None], scale[:, None] * direction, x)
            nearest = np.where(self.is_round[:, None], on_disc, nearest)
        return np.asarray(nearest)

    def support(self, z: Array) -> Array:
        """Largest s·z over the corners."""
        best = np.einsum("nkj,nj->nk", self.vertices, z).max(axis=1, initial=-np.inf)
        if self.is_round is not None and self.is_round.any():
            best = np.where(self.is_round, length_and_direction(z)[0], best)
        return np.asarray(best)

    def jacobian(self, x: Array, scale: Array) -> Array:
        """I inside, the projector on a side where the nearest point is on one, 0 at corners."""
        k = x.shape[1]
        eye = np.eye(k)
        if k == 1:
            result = (self.project(x, scale) == x)[:, :, None] * eye
        else:
            _, side, inner = self._on_sides(x, scale)
            result = np.where(inner[:, None, None], side[:, :, None] * side[:, None, :], 0.0)
            result = np.where(self._contain(x, scale)[:, None, None], eye, result)
        if self.is_round is not None and self.is_round.any():
            length, along = length_and_direction(x)
            shrink = np.minimum(scale / np.where(length > 0.0, length, 1.0), 1.0)
            across = shrink[:, None, None] * (eye - along[:, :, None] * along[:, None, :])
            disc = np.where((length > scale)[:, None, None], across, eye)
            result = np.where(self.is_round[:, None, None], disc, result)
        return np.asarray(result)

    def height_on_cone(self, x: Array, mu: Array) -> Array:
        """Normal components (n,) of the nearest points of the cones, for x (n, d) that is not inside.

        Feet on faces and edges are in the cone, and of points c with c·(x − c) = 0 the longest is nearest.
        """
        corner = mu[:, None, None] * self.vertices
        on_edge = 1.0 + np.einsum("nkj,nkj->nk", corner, corner)
        along = x[:, :1] + np.einsum("nkj,nj->nk", corner, x[:, 1:])
        heights = np.maximum(along / on_edge, 0.0)
        lengths = heights**2 * on_edge
        if x.shape[1] == 3:  # a face is spanned by the direction of its side and the foot of the axis on it
            edge = np.roll(corner, -1, axis=1) - corner
            size = np.sqrt(np.einsum("nkj,nkj->nk", edge, edge))
            side = edge / np.where(size > 0.0, size, 1.0)[..., None]
            first = np.einsum("nkj,nkj->nk", corner, side)
            foot = corner - first[..., None] * side
            across = 1.0 + np.einsum("nkj,nkj->nk", foot, foot)
            height = (x[:, :1] + np.einsum("nkj,nj->nk", foot, x[:, 1:])) / across
            slid = np.einsum("nkj,nj->nk", side, x[:, 1:])
            is_on = (
                (height > 0.0) & (slid >= height * first) & (slid <= height * (first + size)) & (size > 0.0)
            )
            heights = np.concatenate((heights, height), axis=1)
            lengths = np.concatenate((lengths, np.where(is_on, height**2 * across + slid**2, -1.0)), axis=1)
        result = heights[np.arange(len(x)), np.argmax(lengths, axis=1)]
        if self.is_round is not None and self.is_round.any():
            result = np.where(self.is_round, onto_coulomb_cone(x, mu)[:, 0], result)
        return np.asarray(result)

    def _sides(self, scale: Array) -> tuple[Array, Array]:
        """First corner and edge of each side, (n, k, 2) each."""
        corners = scale[:, None, None] * self.vertices
        return corners, np.roll(corners, -1, axis=1) - corners

    def _contain(self, x: Array, scale: Array) -> Mask:
        corner, edge = self._sides(scale)
        offset = x[:, None] - corner
        # Counter-clockwise, the inside is to the left of every side; sides of zero length do not matter.
        return np.asarray(
            (edge[..., 0] * offset[..., 1] - edge[..., 1] * offset[..., 0] >= 0.0).all(axis=1)
        ) & (scale > 0.0)

    def _on_sides(self, x: Array, scale: Array) -> tuple[Array, Array, Mask]:
        """Nearest point of the boundary, the direction of its side, and whether it is not a corner."""
        corner, edge = self._sides(scale)
        square = np.einsum("nkj,nkj->nk", edge, edge)
        along = np.einsum("nkj,nkj->nk", x[:, None] - corner, edge) / np.where(square > 0.0, square, 1.0)
        share = np.clip(along, 0.0, 1.0)
        points = corner + share[..., None] * edge
        distance = np.einsum("nkj,nkj->nk", x[:, None] - points, x[:, None] - points)
        rows, best = np.arange(len(x)), np.argmin(distance, axis=1)
        direction = length_and_direction(edge[rows, best])[1]
        inner = (along[rows, best] > 0.0) & (along[rows, best] < 1.0)
        return points[rows, best], direction, inner


def _require_convex(vertices: Array, is_round: Mask | None) -> None:
    """Require convex polygons with counter-clockwise corners and the origin inside."""
    straight = np.ones(len(vertices), dtype=bool) if is_round is None else ~is_round
    if not np.isfinite(vertices[straight]).all():
        raise ProblemError("the corners of sections must be finite")
    if vertices.shape[2] == 1:
        wrong = straight & ~((vertices[:, :, 0].min(axis=1) < 0.0) & (vertices[:, :, 0].max(axis=1) > 0.0))
        if wrong.any():
            ends = vertices[int(np.argmax(wrong)), :, 0].tolist()
            raise ProblemError(
                f"contact {int(np.argmax(wrong))}: zero must be inside its interval, got {ends}"
            )
        return
    edge = np.roll(vertices, -1, axis=1) - vertices
    turn = edge[..., 0] * np.roll(edge, -1, axis=1)[..., 1] - edge[..., 1] * np.roll(edge, -1, axis=1)[..., 0]
    off = edge[..., 0] * -vertices[..., 1] + edge[..., 1] * vertices[..., 0]
    length = np.einsum("nkj,nkj->nk", edge, edge)
    valid = (turn >= -1e-12 * length).all(axis=1) & ((off > 0.0) | (length == 0.0)).all(axis=1)
    valid &= (length > 0.0).sum(axis=1) >= 3
    if (straight & ~valid).any():
        i = int(np.argmax(straight & ~valid))
        raise ProblemError(
            f"contact {i}: a section must be a convex polygon of at least three corners, given against the "
            f"clock, with the origin inside; got {vertices[i].tolist()}"
        )


@dataclass(frozen=True, eq=False)
class Ellipses(Section):
    """Ellipses (in space) or symmetric intervals (in the plane), one per contact.

    An ellipse is the disc of radius one, stretched: friction on it is Coulomb's in stretched tangents, which
    is how sweeps treat it (:mod:`clapas.solvers.nsgs.updates`).

    Parameters
    ----------
    axes : array (n, 2), or (n, 1) in the plane
        Half-lengths of the axes, positive, in units of mu.
    angle : array (n,), optional
        Angle (rad) from the first tangent to the first axis; zero by default.

    Examples
    --------
    >>> lengthwise = Ellipses(np.array([[2.0, 1.0]]))
    >>> lengthwise.project(np.array([[5.0, 0.0]]), np.array([0.5]))
    array([[1., 0.]])
    >>> lengthwise.support(np.array([[0.0, 3.0]]))
    array([3.])
    """

    axes: Array
    angle: Array | None = None

    def __post_init__(self) -> None:
        axes = np.array(self.axes, dtype=float)
        if axes.ndim != 2 or axes.shape[1] not in (1, 2):
            raise ProblemError(f"ellipses have axes (n, 2), or (n, 1) in the plane, got {axes.shape}")
        angle = np.zeros(len(axes)) if self.angle is None else np.array(self.angle, dtype=float)
        if angle.shape != (len(axes),):
            raise ProblemError(f"ellipses have one angle each, ({len(axes)},), got {angle.shape}")
        wrong = ~((axes > 0.0) & np.isfinite(axes)).all(axis=1) | ~np.isfinite(angle)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ProblemError(
                f"contact {i}: the axes of an ellipse must be positive and its angle finite, got "
                f"{axes[i].tolist()} and {float(angle[i])}"
            )
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "angle", angle)

    @classmethod
    def same(cls, axes: npt.ArrayLike, n: int, angle: float = 0.0) -> Ellipses:
        """One ellipse for all n contacts."""
        return cls(np.tile(np.asarray(axes, dtype=float), (n, 1)), np.full(n, angle))

    def take(self, contacts: Indices) -> Ellipses:
        """The sets of some contacts."""
        assert self.angle is not None
        return Ellipses(self.axes[contacts], self.angle[contacts])

    @property
    def stretch(self) -> Array:
        """Maps A (n, k, k) of the disc to the ellipse."""
        return self._turn() * self.axes[:, None, :]

    def project(self, x: Array, scale: Array) -> Array:
        """Nearest points of scale S."""
        turn = self._turn()
        z = np.einsum("nij,ni->nj", turn, x)
        a = scale[:, None] * self.axes
        outside, _, p = _nearest_on_ellipse(z, a)
        return np.where(outside[:, None], np.einsum("nij,nj->ni", turn, p), x)

    def support(self, z: Array) -> Array:
        """The length of z in stretched axes, |Aᵀ z|."""
        return length_and_direction(np.einsum("nij,ni->nj", self.stretch, z))[0]

    def jacobian(self, x: Array, scale: Array) -> Array:
        """I inside; outside the derivative of p = a² z / (a² + t), with t from |p / a| = 1."""
        turn, k = self._turn(), x.shape[1]
        z = np.einsum("nij,ni->nj", turn, x)
        a = scale[:, None] * self.axes
        outside, t, _ = _nearest_on_ellipse(z, a)
        below = np.where((outside & (scale > 0.0))[:, None], a * a + t[:, None], 1.0)
        g = a * a * z / below**2
        h = np.sum(a * a * z * z / below**3, axis=1)
        J = (a * a / below)[:, :, None] * np.eye(k)
        J = J - g[:, :, None] * g[:, None, :] / np.where(h > 0.0, h, 1.0)[:, None, None]
        J = np.einsum("nij,njk,nlk->nil", turn, J, turn)
        return np.where(outside[:, None, None], J, np.eye(k))

    def _turn(self) -> Array:
        """Directions of the axes, columns of (n, k, k)."""
        assert self.angle is not None
        if self.axes.shape[1] == 1:
            return np.ones((len(self.axes), 1, 1))
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return np.stack((np.stack((cosine, -sine), axis=1), np.stack((sine, cosine), axis=1)), axis=1)


def _nearest_on_ellipse(z: Array, a: Array) -> tuple[Mask, Array, Array]:
    """Points outside ellipses of half-axes a (n, k), the root t of each, and the nearest points.

    The nearest point is p = a² z / (a² + t), where F(t) = |a z / (a² + t)|² = 1. F falls and is convex, so
    that Newton steps from the left of the root never overshoot it. They start where one term alone is 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = ~(np.sum(np.where(z == 0.0, 0.0, z / a) ** 2, axis=1) <= 1.0)
        t = np.maximum((a * np.abs(z) - a * a).max(axis=1), 0.0)
        for _ in range(NEWTON_STEPS):
            below = a * a + t[:, None]
            terms = np.where(z == 0.0, 0.0, a * z / below) ** 2
            step = 0.5 * (terms.sum(axis=1) - 1.0) / np.where(terms > 0.0, terms / below, 0.0).sum(axis=1)
            following = np.where(outside & (step > 0.0), t + step, t)
            if (following == t).all():
                break
            t = following
        p = np.where(a > 0.0, a * a * z / (a * a + t[:, None]), 0.0)
    return outside, t, p


@dataclass(frozen=True, eq=False)
class SectionCone(FrictionCone):
    """Cone of friction with a section of any convex shape, K = {r : r_T ∈ mu r_N S}.

    Parameters
    ----------
    mu : array (n,)
        Coefficients of friction, finite and ≥ 0: they scale the sections.
    section : Section
        The sets S, in units of mu.
    d : 2 or 3
        Components per contact.

    Examples
    --------
    >>> square = Polygons.same([[1.0, -1], [1, 1], [-1, 1], [-1, -1]], 1)
    >>> cone = SectionCone(np.array([0.5]), square, d=3)
    >>> cone.contains(np.array([[2.0, 1.0, 1.0]])), cone.shift(np.array([[0.0, 1.0, 1.0]]))
    (array([ True]), array([1.]))
    """

    mu: Array
    section: Section
    d: int

    def project(self, x: Array) -> Array:
        """Nearest point: the root of g, then the projection on that section."""
        require_contacts(x, len(self.mu), self.d)
        if isinstance(self.section, Polygons):
            normal = self.section.height_on_cone(x, self.mu)
        else:
            normal = self._height(x)
        # Inside, no search is needed, which also avoids its rounding.
        tangent, normal_part = x[:, 1:], np.maximum(x[:, 0], 0.0)
        inside = (self.section.project(tangent, self.mu * normal_part) == tangent).all(axis=1) & (
            x[:, 0] >= 0.0
        )
        normal = np.where(inside, x[:, 0], normal)
        return np.column_stack((normal, self.section.project(tangent, self.mu * normal)))

    def _height(self, x: Array) -> Array:
        """The root of g by bisection."""
        tangent = x[:, 1:]
        low, high = np.zeros(len(x)), np.maximum(x[:, 0], 0.0) + self.mu * self.section.support(tangent)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if ((middle == low) | (middle == high)).all():
                break
            is_above = self._slope(x, middle) > 0.0
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        return np.where(self._slope(x, np.zeros(len(x))) >= 0.0, 0.0, 0.5 * (low + high))

    def _slope(self, x: Array, normal: Array) -> Array:
        remainder = x[:, 1:] - self.section.project(x[:, 1:], self.mu * normal)
        return np.asarray(normal - x[:, 0] - self.mu * self.section.support(remainder))

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection, (n, d, d), from g = 0 and the homogeneity of p.

        With J the derivative of the projection on the section at ν = mu n, a = p/n the corner or point that
        gives the support and c = (p − J x_T)/n: (1 + a·c) dn = dx_N + a·(I − J) dx_T, dp = J dx_T + c dn.
        """
        nearest = self.project(x)
        n, p = nearest[:, 0], nearest[:, 1:]
        has_friction = self.mu > 0.0  # a cone without is a ray: nothing tangential stays on it
        J = np.where(has_friction[:, None, None], self.section.jacobian(x[:, 1:], self.mu * n), 0.0)
        safe = np.where(n > 0.0, n, 1.0)[:, None]
        a, c = p / safe, (p - np.einsum("nij,nj->ni", J, x[:, 1:])) / safe
        row = np.empty_like(x)
        row[:, 0] = 1.0
        row[:, 1:] = a - np.einsum("ni,nij->nj", a, J)
        row /= (1.0 + np.sum(a * c, axis=1))[:, None]
        inside = (nearest == x).all(axis=1) & has_friction
        row[inside] = np.eye(self.d)[0]
        result = np.zeros((len(x), self.d, self.d))
        result[:, 0] = row
        result[:, 1:] = c[:, :, None] * row[:, None, :]
        result[:, 1:, 1:] += J
        result[inside] = np.eye(self.d)
        return np.where((n > 0.0)[:, None, None], result, 0.0)

    def dual(self) -> Cone:
        """Dual cone {mu σ(−x_T) ≤ x_N}: through Moreau's decomposition."""
        return DualCone(self)

    def shift(self, u: Array) -> Array:
        """De Saxcé's shift mu σ(−u_T)."""
        return np.asarray(self.mu * self.section.support(-u[:, 1:]))

    def violation(self, u: Array, x: Array) -> Array:
        """Velocity by which each part of the law is violated."""
        result = np.empty_like(x)
        result[:, 0] = np.minimum(u[:, 0], x[:, 0])
        nearest = self.section.project(x[:, 1:] - u[:, 1:], self.mu * np.maximum(x[:, 0], 0.0))
        result[:, 1:] = x[:, 1:] - nearest
        return result
