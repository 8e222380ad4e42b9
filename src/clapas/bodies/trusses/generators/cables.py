"""Structures whose cables hang on supports: guyed masts and cable nets."""

from __future__ import annotations

import numpy as np

from clapas.bodies.trusses.form_finding import force_densities
from clapas.bodies.trusses.generators.plane import BARS, CABLES
from clapas.bodies.trusses.prestress import feasible_self_stress
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError


def guyed_mast(
    *,
    left: float = 30.0,
    right: float = 50.0,
    height: float = 1.0,
    tension: float = 1000.0,
    load: float = 100.0,
) -> Truss:
    """A plane mast: one bar and two guys at the angles ``left`` and ``right`` (degrees) from it.

    The cases "side" and "top" push the top along x and along the bar by ``load`` newtons (downward).

    Examples
    --------
    >>> guyed_mast().n_dof
    2
    """
    reach = height * np.tan(np.radians([left, right]))
    nodes = np.array([[0.0, height], [0.0, 0.0], [-reach[0], 0.0], [reach[1], 0.0]])
    return _mast(nodes, tension, load)


def guyed_mast_3d(
    guys: int = 3, *, angle: float = 35.0, height: float = 1.0, tension: float = 1000.0, load: float = 100.0
) -> Truss:
    """A mast in space: one bar and some guys evenly around it at an angle (degrees) from it."""
    if guys < 3:
        raise ProblemError(f"a mast in space needs at least three guys, got {guys}")
    phi = 2.0 * np.pi * np.arange(guys) / guys
    reach = height * np.tan(np.radians(angle))
    anchors = np.column_stack((reach * np.cos(phi), reach * np.sin(phi), np.zeros(guys)))
    return _mast(np.concatenate(([[0.0, 0.0, height], [0.0, 0.0, 0.0]], anchors)), tension, load)


def _mast(nodes: np.ndarray[tuple[int, int], np.dtype[np.float64]], tension: float, load: float) -> Truss:
    n = len(nodes)
    blocked = np.ones(nodes.shape, dtype=bool)
    blocked[0] = False
    side, top = np.zeros(nodes.shape), np.zeros(nodes.shape)
    side[0, 0], top[0, -1] = load, -load
    truss = Truss(
        nodes=nodes,
        members=np.column_stack((np.zeros(n - 1, dtype=int), np.arange(1, n))),
        groups=(BARS, CABLES),
        group=np.repeat([0, 1], [1, n - 2]),
        is_blocked=blocked,
        cases={"side": side, "top": top},
        name="guyed mast",
    )
    return truss.with_(prestress=feasible_self_stress(truss, tension=tension))


def cable_net(
    n: int = 10,
    m: int | None = None,
    *,
    span: float = 10.0,
    rise: float = 2.0,
    density: float = 1000.0,
    load: float = 100.0,
) -> Truss:
    """A saddle net of n × m meshes on a square rim, its shape found by force densities.

    Parameters
    ----------
    n, m : int
        Meshes along x and y; at least 2.
    span, rise : float
        Side of the plan and height of two opposite corners above the other two (m).
    density : float
        Force per length of all cables (N/m).
    load : float
        The case "snow": newtons downward on each free node.

    Examples
    --------
    >>> net = cable_net(4)
    >>> net
    Truss(cable net: 21 nodes, 0 bars, 24 cables, 27 free displacements, cases: snow)
    >>> net.imbalance() < 1e-9
    True
    """
    m = n if m is None else m
    if n < 2 or m < 2:
        raise ProblemError(f"a net needs at least 2 meshes in each direction, got {n} × {m}")
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, n + 1), np.linspace(-0.5, 0.5, m + 1), indexing="ij")
    nodes = np.column_stack((span * x.ravel(), span * y.ravel(), 2.0 * rise * (x * y).ravel() + 0.5 * rise))
    number = np.arange(nodes.shape[0]).reshape(n + 1, m + 1)
    along = np.stack((number[:-1, 1:-1].ravel(), number[1:, 1:-1].ravel()), axis=1)
    across = np.stack((number[1:-1, :-1].ravel(), number[1:-1, 1:].ravel()), axis=1)
    rim = np.ones((n + 1, m + 1), dtype=bool)
    rim[1:-1, 1:-1] = False
    kept = np.ones((n + 1, m + 1), dtype=bool)
    kept[[0, 0, -1, -1], [0, -1, 0, -1]] = False  # corners of the rim carry no cable
    place = np.cumsum(kept.ravel()) - 1
    rim_kept = rim.ravel()[kept.ravel()]
    nodes = nodes[kept.ravel()]
    members = place[np.concatenate((along, across))]
    snow = np.zeros(nodes.shape)
    snow[~rim_kept, 2] = -load
    plain = Truss(
        nodes=nodes,
        members=members,
        groups=(CABLES,),
        group=np.zeros(len(members), dtype=int),
        is_blocked=np.repeat(rim_kept[:, None], 3, axis=1),
        cases={"snow": snow},
        name="cable net",
    )
    return force_densities(plain, np.full(len(members), density))
