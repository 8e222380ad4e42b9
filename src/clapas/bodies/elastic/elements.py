"""Finite elements by their reference cells: nodes, shape functions, quadrature, faces.

Each element is a row of a table: the positions of its nodes on the reference cell and the monomials that span
its displacements. The shape functions follow: N_i is the combination of monomials that is one at node i and
zero at the others. Nodes are numbered as in VTK and meshio: corners first, counterclockwise, then the middles
of edges.

========  ====================  =============================================================
name      cell                  remark
========  ====================  =============================================================
T3, Tet4  linear simplex        constant strain; stiff in bending and near incompressibility
T6        quadratic triangle    curved sides
Tet10     quadratic simplex     curved sides
Q4, Hex8  (tri)linear           B-bar against volumetric locking; stiff in bending
Q8        quadratic serendipity nine Gauss points
L2, L3    line                  sides of plane elements
========  ====================  =============================================================

References
----------
Hughes 1987, chapter 3; Zienkiewicz, Taylor 2000, chapters 8 and 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import roots_jacobi

from clapas.errors import unknown_name
from clapas.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule: points (g, d) on the reference cell and weights (g,)."""

    points: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Element:
    """A finite element on its reference cell.

    Parameters
    ----------
    name : str
        As in the table of the module.
    nodes : array (k, d)
        Nodes of the reference cell.
    exponents : array (k, d) of int
        The monomials ξ^e that span its functions.
    stiffness, mass : Rule
        Quadrature of the stiffness, and of the mass (exact for straight cells).
    sides : tuple of tuples of int
        Nodes of each side, counterclockwise seen from outside; corners first.
    side : str
        The element of its sides.

    Examples
    --------
    >>> T3 = element("T3")
    >>> T3.functions(np.array([[0.25, 0.25]]))
    array([[0.5 , 0.25, 0.25]])
    """

    name: str
    nodes: Array
    exponents: Indices
    stiffness: Rule
    mass: Rule
    sides: tuple[tuple[int, ...], ...] = ()
    side: str = ""

    @property
    def d(self) -> int:
        """Dimension of the cell."""
        return int(self.nodes.shape[1])

    @property
    def n_nodes(self) -> int:
        """Nodes of one element."""
        return len(self.nodes)

    @cached_property
    def _coefficients(self) -> Array:
        return np.asarray(np.linalg.inv(_powers(self.nodes, self.exponents)), dtype=np.float64)

    def functions(self, points: Array) -> Array:
        """Shape functions at points (g, d) of the reference cell, (g, k)."""
        return np.asarray(_powers(points, self.exponents) @ self._coefficients)

    def gradients(self, points: Array) -> Array:
        """Derivatives of the shape functions by the reference coordinates, (g, k, d)."""
        slopes = np.empty((len(points), self.n_nodes, self.d))
        for axis in range(self.d):
            lowered = self.exponents.copy()
            lowered[:, axis] = np.maximum(lowered[:, axis] - 1, 0)
            slopes[:, :, axis] = (_powers(points, lowered) * self.exponents[:, axis]) @ self._coefficients
        return slopes

    @cached_property
    def extrapolation(self) -> Array:
        """From values at the points of the stiffness rule to the nodes, (k, g), by the nearest linear field.

        Stresses are most accurate at Gauss points, and largest at the surface, where there is none. A field
        of higher degree would carry spurious parts of the stress along; a single point has its value only.
        """
        points = self.stiffness.points
        if len(points) <= self.d:
            return np.full((self.n_nodes, len(points)), 1.0 / len(points))
        linear = np.vstack((np.zeros(self.d, dtype=np.int64), np.eye(self.d, dtype=np.int64)))
        return np.asarray(_powers(self.nodes, linear) @ np.linalg.pinv(_powers(points, linear)))


def _powers(points: Array, exponents: Indices) -> Array:
    return np.asarray(np.prod(points[:, None, :] ** exponents[None], axis=2))


# ------------------------------------------------------------------ quadrature


def gauss(order: int, d: int) -> Rule:
    """Gauss's rule with ``order`` points per direction on [−1, 1]^d."""
    x, w = np.polynomial.legendre.leggauss(order)
    points = np.array(list(product(x, repeat=d)))
    weights = np.array([np.prod(c) for c in product(w, repeat=d)])
    return Rule(points, weights)


def conical(order: int, d: int) -> Rule:
    """Gauss-Jacobi rule on the simplex, exact to degree 2·order − 1, with order^d positive weights."""
    sets = []
    for axis in range(d):  # ∫ (1 − t)^a dt on [0, 1], a falling from d − 1 to 0
        a = d - 1 - axis
        x, w = roots_jacobi(order, a, 0.0)
        sets.append((0.5 * (x + 1.0), w * 0.5 ** (a + 1)))
    points, weights = [], []
    for choice in product(range(order), repeat=d):
        remainder, point = 1.0, []
        for axis, i in enumerate(choice):
            point.append(remainder * sets[axis][0][i])
            remainder *= 1.0 - sets[axis][0][i]
        points.append(point)
        weights.append(np.prod([sets[axis][1][i] for axis, i in enumerate(choice)]))
    return Rule(np.array(points), np.array(weights))


def _centre(d: int) -> Rule:
    return Rule(np.full((1, d), 1.0 / (d + 1)), np.array([0.5 if d == 2 else 1.0 / 6.0]))


def _symmetric(d: int) -> Rule:
    """Degree 2 on the simplex: three points in the plane, four in space."""
    near = 2.0 / 3.0 if d == 2 else 0.58541019662496852
    far = (1.0 - near) / d
    points = np.full((d + 1, d), far)
    points[np.arange(1, d + 1), np.arange(d)] = near
    return Rule(points, np.full(d + 1, (0.5 if d == 2 else 1.0 / 6.0) / (d + 1)))


# ------------------------------------------------------------------ the table

_SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=float)
_CUBE = np.array([[*p, z] for z in (-1, 1) for p in _SQUARE], dtype=float)
_TRIANGLE = np.array([[0, 0], [1, 0], [0, 1]], dtype=float)
_TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
MIDDLES = {  # ends of the edge of each mid-edge node
    "T6": ((0, 1), (1, 2), (2, 0)),
    "Q8": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "Tet10": ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)),
    "L3": ((0, 1),),
}


def _with_middles(corners: Array, name: str) -> Array:
    return np.vstack([corners] + [corners[list(pair)].mean(axis=0) for pair in MIDDLES[name]])


def _up_to(degree: int, d: int) -> Indices:
    return np.array([e for e in product(range(degree + 1), repeat=d) if sum(e) <= degree])


def _table() -> dict[str, Element]:
    line = np.array([[-1.0], [1.0]])
    serendipity = np.vstack((_up_to(2, 2), [[2, 1], [1, 2]]))
    sides_T3 = ((0, 1), (1, 2), (2, 0))
    sides_Q4 = ((0, 1), (1, 2), (2, 3), (3, 0))
    sides_tet = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
    sides_Tet10 = ((0, 2, 1, 6, 5, 4), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6))
    sides_hex = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
    box2, box3 = np.array(list(product((0, 1), repeat=2))), np.array(list(product((0, 1), repeat=3)))
    rows = (
        Element("L2", line, _up_to(1, 1), gauss(2, 1), gauss(2, 1)),
        Element("L3", _with_middles(line, "L3"), _up_to(2, 1), gauss(3, 1), gauss(3, 1)),
        Element("T3", _TRIANGLE, _up_to(1, 2), _centre(2), _symmetric(2), sides_T3, "L2"),
        Element(
            "T6",
            _with_middles(_TRIANGLE, "T6"),
            _up_to(2, 2),
            _symmetric(2),
            conical(3, 2),
            ((0, 1, 3), (1, 2, 4), (2, 0, 5)),
            "L3",
        ),
        Element("Q4", _SQUARE, box2, gauss(2, 2), gauss(2, 2), sides_Q4, "L2"),
        Element(
            "Q8",
            _with_middles(_SQUARE, "Q8"),
            serendipity,
            gauss(3, 2),
            gauss(3, 2),
            ((0, 1, 4), (1, 2, 5), (2, 3, 6), (3, 0, 7)),
            "L3",
        ),
        Element("Tet4", _TETRAHEDRON, _up_to(1, 3), _centre(3), _symmetric(3), sides_tet, "T3"),
        Element(
            "Tet10",
            _with_middles(_TETRAHEDRON, "Tet10"),
            _up_to(2, 3),
            _symmetric(3),
            conical(3, 3),
            sides_Tet10,
            "T6",
        ),
        Element("Hex8", _CUBE, box3, gauss(2, 3), gauss(2, 3), sides_hex, "Q4"),
    )
    return {row.name: row for row in rows}


ELEMENTS = _table()
CORNERS = {"L2": 2, "L3": 2, "T3": 3, "T6": 3, "Q4": 4, "Q8": 4, "Tet4": 4, "Tet10": 4, "Hex8": 8}
SOLID_ELEMENTS = ("T3", "T6", "Q4", "Q8", "Tet4", "Tet10", "Hex8")


def element(name: str) -> Element:
    """The element of that name."""
    if name not in ELEMENTS:
        raise unknown_name("element", name, ELEMENTS)
    return ELEMENTS[name]
