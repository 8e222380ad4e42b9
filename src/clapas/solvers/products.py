"""Products W r in the cheapest way, in variables without unit.

Methods that iterate on all contacts at once do little else than multiply by W. The unit of contact i is
taken out of it by its response λ_i (velocity per impulse) and out of the problem by its free velocity |q|:

    x_i = √λ_i r_i / |q|,    g_i = u_i / (√λ_i |q|),    g = W̃ x + b̃,    W̃ = D W D,  D = diag(1/√λ_i).

W̃ has unit diagonal blocks, roughly; steps are numbers near 1 in any system of units, and contacts of light
and of heavy bodies are treated alike. The sets keep their shape since each contact is scaled as a whole: the
cones do not change at all, and Tresca's thresholds are scaled with the impulses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clapas.linalg.factor import BlockDiagonalFactor
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.typing import Array

POWERS, MARGIN = 30, 1.1  # power iterations, and what they may miss
DENSE_ROWS = 300  # below, a full matrix is faster than a sparse one: the product is all overhead


Product = Callable[[Array], Array]


class ScaledDelassus:
    """W̃ = D W D and the changes of unit between (r, u) and (x, g).

    Parameters
    ----------
    problem : ContactProblem
        In the global form W is not formed when there are many contacts.

    Examples
    --------
    >>> problem = ContactProblem(W=4 * np.eye(3), q=[[-2.0, 0.0, 0.0]], mu=[0.5])
    >>> scaled = ScaledDelassus(problem)
    >>> x = scaled.from_impulses(np.array([[0.5, 0.0, 0.0]]))
    >>> x, scaled.product(x)
    (array([[0.5, 0. , 0. ]]), array([[0.5, 0. , 0. ]]))
    """

    def __init__(self, problem: ContactProblem) -> None:
        self.problem = problem
        self.root = np.sqrt(problem.response)[:, None]  # √λ_i, (n, 1)
        self.speed = float(np.linalg.norm(problem.q)) or 1.0
        self.shape = (problem.n_contacts, problem.d)
        scale = np.repeat(1.0 / self.root.ravel(), problem.d)
        self._product, self._transposed = _products(problem, scale)

    def product(self, x: Array) -> Array:
        """W̃ x, (n, d)."""
        return self._product(x.ravel()).reshape(self.shape)

    def product_transposed(self, x: Array) -> Array:
        """W̃ᵀ x, (n, d): not W̃ x where a file brought a skew part."""
        return self._transposed(x.ravel()).reshape(self.shape)

    @cached_property
    def norm(self) -> float:
        """Largest eigenvalue of W̃, by power iteration, a little above rather than below."""
        if 0 in self.shape:
            return 1.0
        # A fixed start without symmetry: the same bits for the same problem.
        x = 1.0 + 0.5 * np.sin(np.arange(1.0, 1.0 + self.shape[0] * self.shape[1])).reshape(self.shape)
        size = 1.0
        for _ in range(POWERS):
            x = self.product(x / np.linalg.norm(x))
            size = float(np.linalg.norm(x))
        return MARGIN * size

    def from_impulses(self, r: Array) -> Array:
        """The variable x of an impulse r."""
        scaled: Array = r * (self.root / self.speed)
        return scaled

    def to_impulses(self, x: Array) -> Array:
        """The impulse r of a variable x."""
        impulses: Array = x * (self.speed / self.root)
        return impulses

    def from_velocities(self, u: Array) -> Array:
        """The variable g of a velocity u."""
        scaled: Array = u / (self.root * self.speed)
        return scaled

    def to_velocities(self, g: Array) -> Array:
        """The velocity u of a variable g."""
        velocities: Array = g * (self.root * self.speed)
        return velocities

    def size(self, missed: Array) -> float:
        """|√λ_i missed_i|: a miss of the natural map in the variable x, on the ruler of the residuals."""
        weighted = self.root * missed
        return float(np.sqrt(np.vdot(weighted, weighted)))


def _products(problem: ContactProblem, scale: Array) -> tuple[Product, Product]:
    """The products by D W D and by its transpose, on flat vectors."""
    small = problem.n_contacts * problem.d <= DENSE_ROWS
    if problem.form == "reduced" or small:
        return _matrix_products(reduce(problem).W, scale, small)
    if not isinstance(problem.mass, BlockDiagonalFactor):

        def through_bodies(x: Array) -> Array:
            return np.asarray(scale * problem.apply_delassus(scale * x).ravel())

        return through_bodies, through_bodies
    # W = G Gᵀ with G = H R: about as cheap as the best of W and H, and symmetric to the last bit.
    G = (sparse.diags_array(scale) @ problem.H @ problem.mass.inverse_root).tocsr()
    back = G.T.tocsr()

    def through_root(x: Array) -> Array:
        return np.asarray(G @ (back @ x))

    return through_root, through_root


def _matrix_products(W: Any, scale: Array, small: bool) -> tuple[Product, Product]:
    D = sparse.diags_array(scale)
    scaled = (D @ W.tocsr() @ D).tocsr()
    matrix = scaled.toarray() if small else scaled
    return lambda x: np.asarray(matrix @ x), lambda x: np.asarray(matrix.T @ x)
