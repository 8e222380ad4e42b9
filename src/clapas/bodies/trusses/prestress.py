"""Feasible self-stress: forces in balance without loads, tension in every cable.

The states of self-stress of a structure with many of them form a cone; a program selects one:

    linear       maximise s  under  Bᵀ t = 0,  s ≤ t_c ≤ 1     the smallest cable force is largest
    quadratic    minimise Σ (t_c − 1)²  under  Bᵀ t = 0,  t_c ≥ 0     forces as even as possible

then it is scaled. Members of one class share one unknown: groups, or orbits of the symmetries of the
structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array, Indices

LEAST = 1e-7  # smallest cable force, relative to the largest, that counts as tension
COINCIDENT = 1e-6  # distance, relative to the size, at which a moved node is the other


def feasible_self_stress(
    truss: Truss,
    *,
    tension: float = 1.0,
    classes: npt.ArrayLike | None = None,
    method: Literal["linear", "quadratic"] = "linear",
) -> Array:
    """A self-stress (m,) with tension in every cable, its largest cable force equal to ``tension`` (N).

    Parameters
    ----------
    truss : Truss
        The structure; its prestress is ignored.
    tension : float
        Largest cable force (N).
    classes : array (m,) of int, optional
        Members with the same number get the same force; every member is alone by default. ``truss.group`` and
        :func:`orbits` give classes.
    method : "linear" or "quadratic"
        Criterion for the choice among feasible states.

    Raises
    ------
    ProblemError
        There is no self-stress, or none with tension in all cables (the error names the cables that no state
        stretches).

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import module
    >>> t = feasible_self_stress(module(), tension=2828.4271, method="quadratic")
    >>> bool(np.allclose(t, module().prestress))
    True
    """
    if tension <= 0.0:
        raise ProblemError(f"tension must be positive, got {tension:g} N")
    if not truss.n_cables:
        raise ProblemError(
            "a structure without cables has no sign to ask for: take kinematics(truss).self_stress instead"
        )
    spread = spread_classes(truss, classes)
    balance = (truss.B.T @ spread).tocsr()
    cables = spread[np.flatnonzero(truss.is_cable)]
    cables = (
        cables[np.unique(cables.indices, return_index=True)[1]]
        if spread.shape[1] < truss.n_members
        else cables
    )
    unknowns = _evenest(balance, cables) if method == "quadratic" else _widest(balance, cables)
    forces = np.asarray(spread @ unknowns)
    cable_forces = forces[truss.is_cable]
    if cable_forces.min() <= LEAST * max(cable_forces.max(), 0.0) or cable_forces.max() <= 0.0:
        raise ProblemError(_infeasibility_message(truss, spread, balance))
    forces = forces * (tension / cable_forces.max())
    return _cleaned(truss, forces)


def spread_classes(truss: Truss, classes: npt.ArrayLike | None) -> sparse.csr_array:
    """From one force per class to one per member (m × classes)."""
    m = truss.n_members
    number = (
        np.arange(m) if classes is None else np.unique(np.asarray(classes), return_inverse=True)[1].ravel()
    )
    if number.shape != (m,):
        raise ProblemError(f"classes: {m} members need {m} numbers, got {number.shape}")
    mixed = np.bincount(number, weights=truss.is_cable) * np.bincount(number, weights=~truss.is_cable)
    if mixed.any():
        raise ProblemError(
            f"class {int(np.argmax(mixed))} holds bars and cables: they cannot share one force, split it"
        )
    return sparse.csr_array((np.ones(m), (np.arange(m), number)), shape=(m, int(number.max()) + 1))


def _widest(balance: sparse.csr_array, cables: sparse.csr_array) -> Array:
    """Maximise the smallest cable force with the largest at most one: a linear program."""
    size, count = balance.shape[1], cables.shape[0]
    column = sparse.csr_array(np.ones((count, 1)))
    above = sparse.hstack((-cables, column))
    below = sparse.hstack((cables, sparse.csr_array((count, 1))))
    program = optimize.linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=sparse.vstack((above, below)).tocsr(),
        b_ub=np.concatenate((np.zeros(count), np.ones(count))),
        A_eq=sparse.hstack((balance, sparse.csr_array((balance.shape[0], 1)))).tocsr(),
        b_eq=np.zeros(balance.shape[0]),
        bounds=[(None, None)] * (size + 1),
        method="highs",
    )
    return np.zeros(size) if program.x is None else np.asarray(program.x[:size])


def _evenest(balance: sparse.csr_array, cables: sparse.csr_array) -> Array:
    """Cable forces nearest to one: a quadratic program."""
    size, count = balance.shape[1], cables.shape[0]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(cables.T @ cables)),
        -np.asarray(cables.sum(axis=0)).ravel(),
        sparse.csc_matrix(sparse.vstack((balance, -cables))),
        np.zeros(balance.shape[0] + count),
        [clarabel.ZeroConeT(balance.shape[0]), clarabel.NonnegativeConeT(count)],
        settings,
    )
    return np.asarray(solver.solve().x)[:size]


def _cleaned(truss: Truss, forces: Array) -> Array:
    """The nearest forces in exact balance, without the rounding of the program."""
    balance = truss.B.T.tocsr()
    correction = sparse.linalg.lsqr(balance, balance @ forces, atol=1e-15, btol=1e-15)[0]
    balanced = forces - correction
    return np.asarray(np.where(truss.is_cable, np.maximum(balanced, 0.0), balanced))


def _infeasibility_message(truss: Truss, spread: sparse.csr_array, balance: sparse.csr_array) -> str:
    """Why there is no feasible state: no state at all, or cables that none of them stretches."""
    if spread.shape[1] - np.linalg.matrix_rank(balance.toarray()) == 0:
        return (
            "the structure has no state of self-stress (with these classes): it cannot be prestressed. Add "
            "members, or take smaller classes"
        )
    cables = np.flatnonzero(truss.is_cable)
    total = np.asarray(spread[cables].sum(axis=0)).ravel()
    program = optimize.linprog(  # maximise the number of stretched cables, each force at most one
        -np.minimum(total, 1.0),
        A_eq=balance,
        b_eq=np.zeros(balance.shape[0]),
        bounds=[(0.0, 1.0) if count else (None, None) for count in total],
        method="highs",
    )
    stretched = np.zeros(truss.n_members) if program.x is None else spread @ program.x
    slack = [int(member) for member in cables if stretched[member] <= LEAST]
    if not slack:
        return (
            "no self-stress puts all cables in tension at once: take the quadratic method, or smaller classes"
        )
    names = sorted({truss.groups[truss.group[member]].name for member in slack})
    return (
        f"no self-stress stretches all cables: {len(slack)} of {len(cables)} cannot be tight (group "
        f"{', '.join(names)}; member {slack[0]} first). Make them bars, remove them, or leave them without "
        "prestress"
    )


def orbits(truss: Truss, operations: Sequence[npt.ArrayLike]) -> Indices:
    """Classes of members that symmetries exchange (m,): number the orbits.

    Parameters
    ----------
    truss : Truss
        The structure.
    operations : sequence of arrays (d × d)
        Orthogonal matrices that map the structure, about its centre, onto itself; products are
        implied.

    Raises
    ------
    ProblemError
        An operation moves a node or a member to where there is none of its group.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import module
    >>> quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    >>> np.bincount(orbits(module(), [quarter]))  # four orbits of four members
    array([4, 4, 4, 4])
    """
    from scipy.sparse import csgraph
    from scipy.spatial import cKDTree

    x = truss.nodes - truss.nodes.mean(axis=0)
    tree, size = cKDTree(x), float(np.abs(x).max())
    number = {
        (min(a, b), max(a, b), g): k
        for k, ((a, b), g) in enumerate(zip(truss.members, truss.group, strict=True))
    }
    links = []
    for place, operation in enumerate(operations):
        distance, image = tree.query(x @ np.asarray(operation, dtype=np.float64).T)
        if distance.max() > COINCIDENT * size:
            node = truss.label(int(np.argmax(distance)))
            raise ProblemError(
                f"operation {place} is no symmetry: it moves node {node} to where there is none"
            )
        ends = np.sort(image[truss.members], axis=1)
        for k, (a, b) in enumerate(ends):
            key = (int(a), int(b), int(truss.group[k]))
            if key not in number:
                raise ProblemError(
                    f"operation {place} is no symmetry: it moves member {k} to where there is none of its "
                    "group"
                )
            links.append((k, number[key]))
    rows, columns = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(truss.n_members,) * 2)
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)
