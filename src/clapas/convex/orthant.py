"""The nonnegative orthant: contact without friction, and complementarity in general."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.convex.base import Cone
from clapas.typing import Array


@dataclass(frozen=True)
class Orthant(Cone):
    """The nonnegative orthant {x : x ≥ 0}, which is its own dual.

    Points have shape (n, k), or (n,) for one component per contact.

    Examples
    --------
    >>> Orthant().project(np.array([[1.0, -2.0]]))
    array([[1., 0.]])
    >>> Orthant().contains(np.array([1.0, -2.0]))
    array([ True, False])
    """

    def project(self, x: Array) -> Array:
        """Nearest point, max(x, 0) component by component."""
        return np.maximum(x, 0.0)

    def jacobian(self, x: Array) -> Array:
        """Diagonal of ones where x ≥ 0 and zeros elsewhere, (n, k, k); (n, 1, 1) for x of shape (n,)."""
        columns = x if x.ndim == 2 else x[:, None]
        return np.eye(columns.shape[1]) * (columns >= 0.0)[:, None, :]

    def dual(self) -> Orthant:
        """The orthant itself."""
        return self
