"""Different sets at different contacts of one problem.

The product runs over contacts, not over components: laws alternate from contact to contact in the order of
detection, so each part lists its contacts and they need not be sorted by law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from clapas.convex.base import Cone, ConvexSet, require_contacts
from clapas.errors import ProblemError
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class ProductSet(ConvexSet):
    """Several convex sets, each at its own contacts.

    Parameters
    ----------
    parts : sequence of sets
        All with the same number d of components.
    contacts : sequence of index arrays
        ``contacts[k]`` are the contacts of ``parts[k]``; together they are 0 … n−1, each once.

    Examples
    --------
    Contact 1 has a threshold, contacts 0 and 2 obey Coulomb's law:

    >>> from clapas.convex import CoulombCone, TrescaSet
    >>> both = ProductSet((CoulombCone([0.5, 0.0], d=2), TrescaSet([1.0])), ([0, 2], [1]))
    >>> both.project(np.array([[2.0, 1.0], [3.0, 4.0], [3.0, 4.0]]))
    array([[2., 1.],
           [3., 1.],
           [3., 0.]])
    """

    parts: tuple[ConvexSet, ...]
    contacts: tuple[Indices, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        contacts = tuple(np.asarray(rows, dtype=np.int64).reshape(-1) for rows in self.contacts)
        if len(parts) != len(contacts):
            raise ProblemError(f"{len(parts)} sets need as many lists of contacts, got {len(contacts)}")
        listed = np.sort(np.concatenate((np.empty(0, np.int64), *contacts)))
        if not np.array_equal(listed, np.arange(len(listed))):
            raise ProblemError(
                f"the lists of contacts must contain 0 to {len(listed) - 1} once each, got {listed.tolist()}"
            )
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "contacts", contacts)

    @classmethod
    def consecutive(cls, parts: Sequence[ConvexSet], sizes: Sequence[int]) -> Self:
        """Assign the first ``sizes[0]`` contacts to the first set, the next ones to the second, and so on."""
        ends = np.cumsum(sizes, dtype=np.int64)
        rows = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        return cls(tuple(parts), tuple(rows))

    @property
    def n_contacts(self) -> int:
        """Number of contacts, all parts together."""
        return sum(len(rows) for rows in self.contacts)

    def project(self, x: Array) -> Array:
        """Nearest point, each part at its contacts."""
        require_contacts(x, self.n_contacts)
        result = np.empty_like(x)
        for part, rows in zip(self.parts, self.contacts, strict=True):
            result[rows] = part.project(x[rows])
        return result

    def jacobian(self, x: Array) -> Array:
        """Derivative of the projection, each part at its contacts, (n, d, d)."""
        require_contacts(x, self.n_contacts)
        result = np.empty((*x.shape, x.shape[1]))
        for part, rows in zip(self.parts, self.contacts, strict=True):
            result[rows] = part.jacobian(x[rows])
        return result

    def distance(self, x: Array) -> Array:
        """Distance to the set of each contact, (n,)."""
        require_contacts(x, self.n_contacts)
        result = np.empty(len(x))
        for part, rows in zip(self.parts, self.contacts, strict=True):
            result[rows] = part.distance(x[rows])
        return result


@dataclass(frozen=True, eq=False)
class ProductCone(ProductSet, Cone):
    """Several cones, each at its own contacts; the dual is the product of the duals.

    Examples
    --------
    >>> from clapas.convex import CoulombCone, Orthant
    >>> cone = ProductCone.consecutive((Orthant(), CoulombCone([0.5], d=2)), (1, 1))
    >>> cone.dual().contains(np.array([[1.0, 2.0], [1.0, 2.0]]))
    array([ True,  True])
    """

    parts: tuple[Cone, ...]

    def dual(self) -> ProductCone:
        """The duals of the parts at the same contacts."""
        return ProductCone(tuple(part.dual() for part in self.parts), self.contacts)
