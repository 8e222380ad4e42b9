"""Two linearisations of x∘y = σ e and their search directions.

Both have the form P dx + A dy = relation(g), one block per contact, where g is the required change of the
product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from clapas.convex.jordan import arrow, product
from clapas.solvers.interior_point import lorentz
from clapas.typing import Array


class Linearisation(ABC):
    """The equation x∘y = σ e near a pair x, y inside the cones.

    ``P`` and ``A`` (n, d, d) multiply dx and dy; ``product`` (n, d) is x∘y, or its scaled form.
    """

    P: Array
    A: Array
    product: Array

    @abstractmethod
    def P_inverse(self) -> Array:
        """Inverse of P in closed form: at the boundary of a cone a general inverse loses all digits."""

    @abstractmethod
    def relation(self, g: Array) -> Array:
        """Right-hand side of the linear relation when the product is to change by g."""

    @abstractmethod
    def second_order(self, dx: Array, dy: Array) -> Array:
        """Second-order change of the product after a step dx, dy."""


class PlainDirection(Linearisation):
    """The unscaled direction: y∘dx + x∘dy = σ e − x∘y (Alizadeh, Haeberly and Overton).

    Converges quadratically, down to rounding. Far from the path its matrix may be singular.
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.P, self.A, self.product, self._y = arrow(y), arrow(x), product(x, y), y

    def P_inverse(self) -> Array:
        """Inverse of L(y)."""
        return lorentz.arrow_inverse(self._y)

    def relation(self, g: Array) -> Array:
        """The change itself."""
        return g

    def second_order(self, dx: Array, dy: Array) -> Array:
        """dx∘dy."""
        return product(dx, dy)


class ScaledDirection(Linearisation):
    """After Nesterov and Todd's scaling, V y = V⁻¹x = z:  z∘(V⁻¹dx + V dy) = σ e − z∘z.

    That is V⁻² dx + dy = V⁻¹ z', where z' solves z∘z' = g. It exists at every pair inside the cones, but lets
    the iterates drift away from the path, where the residual is √gap and not gap: it is used where the plain
    direction gives short steps.
    """

    def __init__(self, x: Array, y: Array) -> None:
        self._scaling = lorentz.scaling(x, y)
        self._middle = self._scaling.apply(y)
        self.P = self._scaling.inverse_square()
        self.A = np.broadcast_to(np.eye(x.shape[1]), self.P.shape)
        self.product = product(self._middle, self._middle)

    def P_inverse(self) -> Array:
        """V²."""
        return self._scaling.square()

    def relation(self, g: Array) -> Array:
        """V⁻¹ of the quotient of g by z."""
        return self._scaling.undo(lorentz.divide(g, self._middle))

    def second_order(self, dx: Array, dy: Array) -> Array:
        """(V⁻¹dx)∘(V dy)."""
        return product(self._scaling.undo(dx), self._scaling.apply(dy))
