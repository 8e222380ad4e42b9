"""A row of elastic elements on a plane: the contact problem of Alart's Figure 3."""

from __future__ import annotations

from itertools import product

import numpy as np

from clapas.problems import ContactProblem
from clapas.typing import Array


def strip(
    elements: int, press: float = 1.0, shear: float = 0.0, mu: float = 0.0, nu: float = 0.3
) -> ContactProblem:
    """A row of unit square elements held at its upper side and pushed on a plane by its lower nodes.

    Bilinear elements in plane strain, Young's modulus 1, Poisson's ratio ``nu``. A static problem: M is the
    stiffness, v a displacement, r a force. The lower nodes are pushed down and up in waves of height
    ``press`` and sideways by ``shear``: nodes open, stick and slide.

    Examples
    --------
    >>> from clapas.problems import reduce
    >>> reduce(strip(2)).W.toarray()[::2, ::2].round(4)
    array([[ 2.2143, -0.1424, -0.0714],
           [-0.1424,  0.8916, -0.1424],
           [-0.0714, -0.1424,  2.2143]])
    """
    K = _stiffness(elements, _element(nu))
    nodes = elements + 1
    lower = 2 * nodes  # unknowns: two displacements of each lower node; the upper ones are held
    H = np.zeros((lower, lower))
    H[0::2, 1::2] = np.eye(nodes)  # normal: upwards
    H[1::2, 0::2] = np.eye(nodes)
    place = np.linspace(-1.0, 1.0, nodes)
    load = np.column_stack((np.full(nodes, shear), -press * (0.3 + np.cos(2.5 * np.pi * place))))
    return ContactProblem(
        M=K, H=H, f=-load.ravel(), w=np.zeros((nodes, 2)), mu=mu, d=2, name=f"strip-{elements}"
    )


def _stiffness(elements: int, element: Array) -> Array:
    """Stiffness of the lower nodes: those above do not move."""
    K = np.zeros((2 * elements + 2, 2 * elements + 2))
    for first in range(elements):
        at = slice(2 * first, 2 * first + 4)
        K[at, at] += element[:4, :4]
    return K


def _element(nu: float) -> Array:
    """Stiffness (8, 8) of the unit square, by two Gauss points per direction."""
    elasticity = np.array([[1 - nu, nu, 0], [nu, 1 - nu, 0], [0, 0, 0.5 - nu]]) / ((1 + nu) * (1 - 2 * nu))
    gauss = 0.5 + 0.5 * np.array([-1.0, 1.0]) / np.sqrt(3.0)
    K = np.zeros((8, 8))
    for x, y in product(gauss, gauss):
        by_x = np.array([-(1 - y), 1 - y, y, -y])
        by_y = np.array([-(1 - x), -x, x, 1 - x])
        B = np.zeros((3, 8))
        B[0, 0::2], B[1, 1::2] = by_x, by_y
        B[2, 0::2], B[2, 1::2] = by_y, by_x
        K += 0.25 * B.T @ elasticity @ B
    return K
