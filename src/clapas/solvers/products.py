"""Products W r in the cheapest form, in dimensionless variables.

Methods that iterate on all contacts at once mostly multiply by W. The unit of contact i is
eliminated by its response λ_i (velocity per impulse) and that of the problem by its free velocity |q|:

    x_i = √λ_i r_i / |q|,    g_i = u_i / (√λ_i |q|),    g = W̃ x + b̃,    W̃ = D W D,  D = diag(1/√λ_i).

W̃ has unit diagonal blocks, roughly; steps are numbers near 1 in any system of units, and contacts of light
and of heavy bodies are treated alike. The sets keep their shape since each contact is scaled as a whole: the
cones do not change at all, and Tresca's thresholds are scaled with the impulses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import delassus_matrix
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.problems.blocks import BodyBlocks

POWERS, MARGIN = 30, 1.1  # power iterations, and a factor for their error
DENSE_ROWS = 300  # below, a full matrix is faster than a sparse one, whose product is dominated by overhead


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
        self._product, self._transposed = _products(problem, 1.0 / self.root.ravel())

    def product(self, x: Array) -> Array:
        """W̃ x, (n, d)."""
        return self._product(x)

    def product_transposed(self, x: Array) -> Array:
        """W̃ᵀ x, (n, d): differs from W̃ x where W from a file has a skew part."""
        return self._transposed(x)

    @cached_property
    def norm(self) -> float:
        """Largest eigenvalue of W̃, by power iteration, slightly overestimated."""
        if 0 in self.shape:
            return 1.0
        # A fixed start without symmetry, for reproducible results.
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

    def size(self, error: Array) -> float:
        """|√λ_i e_i|: norm of an error e of the natural map in x, in the scale of the residuals."""
        weighted = self.root * error
        return float(np.sqrt(np.vdot(weighted, weighted)))


def _products(problem: ContactProblem, scale: Array) -> tuple[Product, Product]:
    """The products by D W D and by its transpose, on arrays (n, d); ``scale`` is 1/√λ_i, (n,)."""
    small = problem.n_contacts * problem.d <= DENSE_ROWS
    if small:
        return _full_products(delassus_matrix(problem), scale, problem.d)
    if problem.form == "reduced":
        W, d = problem.W, problem.d
        product = _block_product(W, scale, d)
        return product, _block_product(sparse.bsr_array(W.T, blocksize=(d, d)), scale, d)
    if problem.blocks is not None:
        product = _body_product(problem.blocks, scale)
    else:

        def product(x: Array) -> Array:
            return np.asarray(scale[:, None] * problem.apply_delassus(scale[:, None] * x))

    return product, product


def _full_products(matrix: Any, scale: Array, d: int) -> tuple[Product, Product]:
    row_scale = np.repeat(scale, d)
    W = row_scale[:, None] * matrix.toarray() * row_scale

    def product(x: Array) -> Array:
        return np.asarray(W @ x.ravel()).reshape(x.shape)

    def transposed(x: Array) -> Array:
        return np.asarray(x.ravel() @ W).reshape(x.shape)

    return product, transposed


def _block_product(W: Any, scale: Array, d: int) -> Product:
    from clapas.solvers.product_kernels import multiply_blocks  # kernels load the compiler

    row = np.repeat(np.arange(len(scale)), np.diff(W.indptr))
    blocks = np.ascontiguousarray(W.data * (scale[row] * scale[W.indices])[:, None, None]).reshape(-1, d * d)
    indptr, indices = W.indptr.astype(np.int64), W.indices.astype(np.uint32)
    components = (0,) * d

    def product(x: Array) -> Array:
        out = np.empty_like(x)
        multiply_blocks(indptr, indices, blocks, x, components, out)
        return out

    return product


def _body_product(blocks: BodyBlocks, scale: Array) -> Product:
    """W̃ = G̃ G̃ᵀ, through the velocities of bodies."""
    from clapas.problems.blocks import add_impulses, contact_velocities  # kernels load the compiler

    G = blocks.G * scale[:, None, None, None]
    rows, size = blocks.n_bodies + 1, G.shape[3]

    def product(x: Array) -> Array:
        y = np.zeros((rows, size))
        add_impulses(G, blocks.bodies, x, y)
        return contact_velocities(G, blocks.bodies, y, np.zeros_like(x))

    return product
