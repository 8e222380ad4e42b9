"""Alart's elementary problems: one elastic node with friction, and frictionless elastic rows.

All are static: v is a displacement, M a stiffness, u the displacement or the gap at the contact, r a force.
Alart studies the behaviour of the generalised Newton method on them. What concerns the methods and not
the problem is documented with the solvers: his augmentation parameter and its bounds (57), (60), (74), the
cycles, and the problems whose law is not Coulomb's (Tresca friction (38)-(60), elastoplastic oscillator
(76)-(77)).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import GalleryProblem, Known, only
from clapas.problems.gallery.one_contact import plane_solutions
from clapas.typing import Array

ROWS = {
    2: [[2.582, -0.878], [-0.878, 2.582]],
    3: [[2.214, -0.1424, -0.0714], [-0.1424, 0.8916, -0.1424], [-0.0714, -0.1424, 2.214]],
    4: [
        [2.2, -0.145, 0.0246, -0.041],
        [-0.145, 0.89, -0.075, 0.0246],
        [0.0246, -0.075, 0.89, -0.145],
        [-0.041, 0.0246, -0.145, 2.2],
    ],
}
"""Normal flexibilities Nᵀ K⁻¹ N of rows of 1, 2, 3 elements by their contact nodes (Alart 1997, figure 3)."""


def uniqueness_bound(A: npt.ArrayLike) -> float:
    """Friction below which one node has exactly one solution: mu < n·A⁻¹n / |n·A⁻¹t|.

    ``A`` is the stiffness (2, 2) of the node, normal component first (Alart 1997, equation 66).

    Examples
    --------
    >>> round(uniqueness_bound(np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])), 12)
    1.25
    """
    c = np.linalg.inv(np.asarray(A, dtype=float))
    return float(c[0, 0] / abs(c[0, 1])) if c[0, 1] else np.inf


def elastic_node(
    A: npt.ArrayLike, load: npt.ArrayLike, mu: float, name: str = "elastic-node"
) -> GalleryProblem:
    """One node of an elastic truss on a rigid plane with friction: A u = load + r.

    Parameters
    ----------
    A : array (2, 2)
        Stiffness of the node, symmetric positive definite, normal component first (N/m).
    load : array (2,)
        Force on the node (N); a negative normal component presses it on the plane.
    mu : float
        Coefficient of friction; unique solution below :func:`uniqueness_bound`.
    name : str
        Name of the problem.

    References
    ----------
    Alart 1997, equations 61 to 75.

    Examples
    --------
    >>> stiffness = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])
    >>> [len(elastic_node(stiffness, [-0.75, 1.05], mu).known.solutions) for mu in (1.0, 2.0)]
    [1, 3]
    """
    stiffness, force = np.asarray(A, dtype=float), np.asarray(load, dtype=float)
    flexibility = np.linalg.inv(stiffness)
    free = flexibility @ force
    critical = flexibility[0, 0] == mu * abs(flexibility[0, 1]) and free[0] == 0
    return GalleryProblem(
        name=name,
        problem=ContactProblem(M=stiffness, H=np.eye(2), f=-force, w=np.zeros((1, 2)), mu=[mu], name=name),
        reference="Alart 1997, equations 61-66",
        description=f"One node of an elastic truss meets a rigid plane, mu = {mu:g}.",
        known=Known(exists=True, solutions=plane_solutions(flexibility, free, mu), complete=not critical),
    )


def elastic_row(nodes: int, free: npt.ArrayLike, name: str = "elastic-row") -> GalleryProblem:
    """A row of elastic elements pressed on a smooth plane at its 2, 3 or 4 bottom nodes.

    Only the normal flexibility is published, and only it matters without friction: tangential rows of W
    are zero.

    Parameters
    ----------
    nodes : 2, 3 or 4
        Number of contact nodes.
    free : array (nodes,)
        Normal displacements that the load would cause without the plane (m).
    name : str
        Name of the problem.

    References
    ----------
    Alart 1997, equation 22 and figure 3 (unit square Q4 elements in a row, ratio of Poisson 0.3).
    """
    C = np.array(ROWS[nodes])
    gap = np.asarray(free, dtype=float)
    W = np.zeros((nodes, 2, nodes, 2))
    W[:, 0, :, 0] = C
    q = np.column_stack((gap, np.zeros(nodes)))
    problem = ContactProblem(W=W.reshape(2 * nodes, 2 * nodes), q=q, mu=np.zeros(nodes), d=2, name=name)
    return GalleryProblem(
        name=name,
        problem=problem,
        reference="Alart 1997, figure 3",
        description=f"A row of elastic elements meets a smooth plane by {nodes} nodes.",
        known=only(np.column_stack((_frictionless(C, gap), np.zeros(nodes)))),
    )


def _frictionless(C: Array, free: Array) -> Array:
    """Solve 0 ≤ C r + free ⟂ r ≥ 0 by trying every active set; C positive definite, so one fits."""
    for choice in product((True, False), repeat=len(free)):
        active = np.array(choice)
        r = np.zeros(len(free))
        r[active] = np.linalg.solve(C[np.ix_(active, active)], -free[active])
        if r.min() >= 0 and (C @ r + free)[~active].min(initial=0.0) >= 0:
            return r
    raise AssertionError("a positive definite complementarity problem has a solution")


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Named nodes and rows."""
    stiffness = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])
    nodes: dict[str, tuple[list[float], float]] = {
        "elastic-node-open": ([0.5, 0.2], 0.5),
        "elastic-node-stick": ([-1.0, 0.3], 0.5),
        "elastic-node-slide": ([-1.0, 1.2], 0.5),
        "elastic-node-three": ([-0.75, 1.05], 2.0),
        "elastic-node-one-beyond": ([-1.0, -1.0], 2.0),
    }
    rows = {2: [-1.0, 0.2], 3: [-1.0, 0.5, -0.4], 4: [-1.0, -0.5, 0.1, -1.0]}
    entries: dict[str, Callable[[], GalleryProblem]] = {
        name: partial(elastic_node, stiffness, load, mu, name) for name, (load, mu) in nodes.items()
    }
    return entries | {
        f"elastic-row-{count}": partial(elastic_row, count, free, f"elastic-row-{count}")
        for count, free in rows.items()
    }
