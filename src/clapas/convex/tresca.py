"""Sets of friction with a given threshold (Tresca): an interval, a disc, and R₊ × disc."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.convex.base import ConvexSet, length_and_direction, one_per_contact, require_contacts
from clapas.convex.orthant import Orthant
from clapas.errors import ProblemError
from clapas.typing import Array


@dataclass(frozen=True, eq=False)
class Interval(ConvexSet):
    """Numbers between two bounds, [lower, upper] at each contact; bounds may be infinite.

    Points have shape (n,), or (n, 1).

    Parameters
    ----------
    lower, upper : arrays (n,)
        Bounds, lower ≤ upper.

    Examples
    --------
    >>> Interval([-1.0, 0.0], [1.0, np.inf]).project(np.array([3.0, 3.0]))
    array([1., 3.])
    """

    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        lower, upper = one_per_contact("lower", self.lower), one_per_contact("upper", self.upper)
        if lower.shape != upper.shape:
            raise ProblemError(f"lower and upper must match, got shapes {lower.shape} and {upper.shape}")
        if (lower > upper).any():
            i = int(np.argmax(lower > upper))
            raise ProblemError(f"interval of contact {i} is empty: lower {lower[i]} > upper {upper[i]}")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def project(self, x: Array) -> Array:
        """Nearest bound, or x itself between the bounds."""
        column = self._column(x)
        return np.clip(column, self.lower[:, None], self.upper[:, None]).reshape(x.shape)

    def jacobian(self, x: Array) -> Array:
        """One inside and at the bounds, zero outside, (n, 1, 1); zero where the interval is a point."""
        inside = (self.lower <= self._column(x)[:, 0]) & (self._column(x)[:, 0] <= self.upper)
        return (inside & (self.lower < self.upper)).astype(float)[:, None, None]

    def _column(self, x: Array) -> Array:
        column = x if x.ndim == 2 else x[:, None]
        require_contacts(column, len(self.lower), 1)
        return column


@dataclass(frozen=True, eq=False)
class Disc(ConvexSet):
    """Tangential vectors of bounded length, {x : |x| ≤ radius} at each contact.

    A disc of negative radius is empty: distances to it are infinite, but by convention
    its projection is 0, as Alart and Curnier's function needs where r_N < 0.

    Points have shape (n, k): k = 1 in the plane, 2 in space.

    Parameters
    ----------
    radius : array (n,)
        Radii; may be infinite or negative.

    References
    ----------
    Cadoux 2009, (1.23)-(1.25).

    Examples
    --------
    >>> Disc([1.0, -1.0]).project(np.array([[3.0, 4.0], [3.0, 4.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    radius: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", one_per_contact("radius", self.radius))

    def project(self, x: Array) -> Array:
        """Nearest point, radius·x/|x| outside the disc; 0 if the radius is negative."""
        require_contacts(x, len(self.radius))
        length, direction = length_and_direction(x)
        with np.errstate(invalid="ignore"):  # an infinite radius times a zero direction, not used
            on_circle = np.maximum(self.radius, 0.0)[:, None] * direction
        return np.where((length <= self.radius)[:, None], x, on_circle)

    def jacobian(self, x: Array) -> Array:
        """I inside and on the circle, (radius/|x|)(I − s sᵀ) outside with s = x/|x|, (n, k, k).

        Zero where radius ≤ 0: the projection is constant.
        """
        require_contacts(x, len(self.radius))
        length, s = length_and_direction(x)
        inside = (length <= self.radius) & (self.radius > 0.0)
        outside = ~inside & (self.radius > 0.0)
        shrink = np.divide(self.radius, length, out=np.zeros_like(length), where=outside)
        outside_jacobian = shrink[:, None, None] * (np.eye(x.shape[1]) - s[:, :, None] * s[:, None, :])
        return np.where(inside[:, None, None], np.eye(x.shape[1]), outside_jacobian)

    def distance(self, x: Array) -> Array:
        """Distance max(|x| − radius, 0), (n,); infinite if the disc is empty."""
        return np.where(self.radius < 0.0, np.inf, super().distance(x))


@dataclass(frozen=True, eq=False)
class TrescaSet(ConvexSet):
    """Impulses under a friction threshold independent of the pressure, R₊ × disc(s).

        T(s) = {x : x_N ≥ 0, |x_T| ≤ s}

    Coulomb's law is the fixed point s = mu r_N of the problems posed on T(s).

    Parameters
    ----------
    s : array (n,)
        Thresholds, in the unit of x; see :class:`Disc` for the meaning of a negative one.

    References
    ----------
    Cadoux 2009, (1.26)-(1.27) and section 4.6, after Haslinger.

    Examples
    --------
    >>> TrescaSet([1.0]).project(np.array([[-2.0, 3.0, 4.0]]))
    array([[0. , 0.6, 0.8]])
    """

    s: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", one_per_contact("s", self.s))

    def project(self, x: Array) -> Array:
        """Nearest point: max(x_N, 0) and the projection of x_T on the disc."""
        require_contacts(x, len(self.s))
        return np.hstack((Orthant().project(x[:, :1]), Disc(self.s).project(x[:, 1:])))

    def jacobian(self, x: Array) -> Array:
        """Block diagonal of the derivatives of the two projections, (n, d, d)."""
        require_contacts(x, len(self.s))
        result = np.zeros((*x.shape, x.shape[1]))
        result[:, :1, :1] = Orthant().jacobian(x[:, :1])
        result[:, 1:, 1:] = Disc(self.s).jacobian(x[:, 1:])
        return result

    def distance(self, x: Array) -> Array:
        """Distance to the set, (n,); infinite if it is empty (s < 0)."""
        return np.where(self.s < 0.0, np.inf, super().distance(x))
