"""Interface of convex sets: membership, projection, and its derivative.

Every set here is a product of n small sets, one per contact. Points are arrays of shape (n, d), normal
component first, and each result is given contact by contact.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError
from clapas.typing import Array, Mask


class ConvexSet(Protocol):
    """A closed convex set C, the product of one set per contact.

    A new set defines :meth:`project` and :meth:`jacobian`; the other two methods follow from them.
    """

    def project(self, x: Array) -> Array:
        """Nearest point of the set, P(x) = argmin {|y − x| : y ∈ C}, same shape as x."""
        ...

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection at each contact, (n, d, d).

        Where P is not differentiable (it is 1-Lipschitz everywhere) this is one element of Clarke's
        generalised Jacobian, a limit of the derivatives at smooth points nearby. Unless a set says
        otherwise, a point on the boundary of C counts as inside.
        """
        ...

    def distance(self, x: Array) -> Array:
        """Distance |x − P(x)| from x to the set, (n,), in the unit of x."""
        offset = x - self.project(x)
        return length_and_direction(offset if offset.ndim == 2 else offset[:, None])[0]

    def contains(self, x: Array, tol: float = 0.0) -> Mask:
        """Whether x is in the set, or at a distance of at most ``tol``, for each contact, (n,)."""
        inside: Mask = self.distance(x) <= tol
        return inside


class Cone(ConvexSet, Protocol):
    """A closed convex cone: with x it contains every a·x, a ≥ 0."""

    def dual(self) -> Cone:
        """Dual cone K* = {y : x·y ≥ 0 for all x ∈ K}."""
        ...

    def polar(self) -> Cone:
        """Polar cone K° = −K*. Moreau: x = P_K(x) + P_K°(x), and the two parts are orthogonal."""
        return Opposite(self.dual())


class FrictionCone(Cone):
    """The cone of a dry friction law, whose section at r_N = 1 is a convex set S around the origin.

        K = {r : r_T ∈ r_N S},        K* ∋ ũ ⟂ r ∈ K,   ũ = u + σ(−u_T) e_N

    states that u_N and r_N are complementary and that r_T resists the motion as much as it can in r_N S;
    σ is the support function of S (mu |u_T| for a disc).
    """

    d: int
    """Components at a contact."""

    @abstractmethod
    def shift(self, u: Array) -> Array:
        """De Saxcé's shift σ(−u_T) of each contact, (n,), a velocity."""

    @abstractmethod
    def violation(self, u: Array, x: Array) -> Array:
        """Velocity by which each part of the law is violated, (n, d), given impulses as velocities x = λ r.

        e_N = min(u_N, x_N) and e_T = x_T − P(x_T − u_T), P the projection on x_N S.
        """


@dataclass(frozen=True, eq=False)
class Opposite(Cone):
    """The cone −K, the opposite of a cone K.

    Examples
    --------
    >>> from clapas.convex import CoulombCone
    >>> Opposite(CoulombCone([0.5], d=2)).contains(np.array([[-2.0, 1.0]]))
    array([ True])
    """

    cone: Cone

    def project(self, x: Array) -> Array:
        """Nearest point, −P_K(−x)."""
        return -self.cone.project(-x)

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection on K, taken at −x."""
        return self.cone.jacobian(-x)

    def dual(self) -> Cone:
        """The opposite of the dual, (−K)* = −K*."""
        return Opposite(self.cone.dual())

    def polar(self) -> Cone:
        """The dual of K, (−K)° = K*."""
        return self.cone.dual()


@dataclass(frozen=True, eq=False)
class DualCone(Cone):
    """Dual of a cone K, projected by Moreau's decomposition, P_{K*}(x) = x + P_K(−x)."""

    cone: Cone

    def project(self, x: Array) -> Array:
        """Nearest point."""
        return np.asarray(x + self.cone.project(-x))

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection, I − DP_K(−x)."""
        return np.asarray(np.eye(x.shape[1]) - self.cone.jacobian(-x))

    def dual(self) -> Cone:
        """K itself."""
        return self.cone

    def polar(self) -> Cone:
        """The opposite of K."""
        return Opposite(self.cone)


def length_and_direction(x: Array) -> tuple[Array, Array]:
    """Length |x| (n,) and direction x/|x| (n, k) of each row; the direction of a zero row is zero.

    Rows are first divided by their largest component, so that squares neither overflow nor underflow.

    Examples
    --------
    >>> length, direction = length_and_direction(np.array([[3e200, 4e200], [0.0, 0.0]]))
    >>> length
    array([5.e+200, 0.e+000])
    >>> direction
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    size = np.max(np.abs(x), axis=1, initial=0.0)
    scaled = x / np.where(size > 0.0, size, 1.0)[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return size * length, scaled / np.where(length > 0.0, length, 1.0)[:, None]


def one_per_contact(name: str, value: npt.ArrayLike) -> Array:
    """Read one coefficient per contact (n,), or a single number for one contact, as a read-only array."""
    result = np.array(value, dtype=float, ndmin=1)
    if result.ndim != 1:
        raise ProblemError(f"{name} must have shape (n,), one number per contact, got {result.shape}")
    if np.isnan(result).any():
        raise ProblemError(f"{name} of contact {int(np.argmax(np.isnan(result)))} is NaN")
    result.flags.writeable = False
    return result


def require_contacts(x: Array, n: int, d: int | None = None) -> None:
    """Raise an error unless x is an array (n, d); without d, any number of components is accepted."""
    right_shape = x.ndim == 2 and len(x) == n and d in (None, x.shape[1])
    if not right_shape:
        raise ProblemError(
            f"the set has {n} contacts: points must have shape ({n}, {d or 'd'}), got {x.shape}"
        )
