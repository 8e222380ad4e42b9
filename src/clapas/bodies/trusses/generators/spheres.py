"""Spheres: geodesic ones of bars, and the ball of six struts."""

from __future__ import annotations

import numpy as np

from clapas.bodies.trusses.generators.plane import BARS, CABLES
from clapas.bodies.trusses.prestress import feasible_self_stress
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.typing import Array, Indices


def six_strut_ball(*, strut: float = 1.0, tension: float = 1000.0) -> Truss:
    """The ball of six struts and 24 cables (expanded octahedron), the body of most tensegrity robots.

    Parallel struts are half their length apart; all cables have the length √(3/8) of a strut.

    Examples
    --------
    >>> ball = six_strut_ball()
    >>> ball
    Truss(ball of six struts: 12 nodes, 6 bars, 24 cables, 36 free displacements, cases: none)
    >>> bool(np.isclose(ball.prestress.min() / ball.prestress.max(), -np.sqrt(6)))
    True
    """
    y, z = np.meshgrid([-1.0, 1.0], [-2.0, 2.0], indexing="ij")
    face = np.column_stack((np.zeros(4), y.ravel(), z.ravel()))
    nodes = np.concatenate([np.roll(face, shift, axis=1) for shift in range(3)])
    distance = np.linalg.norm(nodes[:, None] - nodes[None], axis=2)
    struts = np.argwhere(
        np.triu(np.isclose(distance, 4.0) & (np.arange(12)[:, None] // 4 == np.arange(12) // 4))
    )
    cables = np.argwhere(np.triu(np.isclose(distance, np.sqrt(6.0))))
    truss = Truss(
        nodes=0.25 * strut * nodes,
        members=np.concatenate((struts, cables)),
        groups=(BARS, CABLES),
        group=np.repeat([0, 1], [len(struts), len(cables)]),
        name="ball of six struts",
    )
    return truss.with_(prestress=feasible_self_stress(truss, tension=tension, classes=truss.group))


def geodesic_sphere(
    frequency: int = 2, *, radius: float = 1.0, cut: float | None = None, load: float = 1.0
) -> Truss:
    """A geodesic sphere or dome of bars: the faces of an icosahedron divided and thrown onto the sphere.

    Parameters
    ----------
    frequency : int
        Divisions of an edge; 10 f² + 2 nodes and 30 f² bars.
    radius : float
        (m).
    load : float
        Weight on each free node of a dome (N).
    cut : float, optional
        Keep what lies above this share of the radius (−1 to 1) and hold the nodes of the rim: a dome, with
        the case "snow" of ``load`` newtons downward on each free node. By default the whole sphere,
        free-standing.

    Examples
    --------
    >>> geodesic_sphere(2)
    Truss(geodesic sphere: 42 nodes, 120 bars, 0 cables, 126 free displacements, cases: none)
    """
    if frequency < 1:
        raise ProblemError(f"the frequency of a geodesic sphere is at least 1, got {frequency}")
    nodes, members = _geodesic(frequency)
    blocked, cases = np.zeros(nodes.shape, dtype=bool), {}
    if cut is not None:
        if not -1.0 < cut < 1.0:
            raise ProblemError(f"cut is a share of the radius between −1 and 1, got {cut:g}")
        kept = nodes[:, 2] >= cut - 1e-9
        cutting = kept[members].sum(axis=1) == 1
        rim = np.zeros(len(nodes), dtype=bool)
        rim[members[cutting][kept[members[cutting]]]] = True
        members = members[kept[members].all(axis=1)]
        number = np.cumsum(kept) - 1
        nodes, members, rim = nodes[kept], number[members], rim[kept]
        blocked = np.repeat(rim[:, None], 3, axis=1)
        snow = np.zeros(nodes.shape)
        snow[~rim, 2] = -load
        cases = {"snow": snow}
    return Truss(
        nodes=radius * nodes,
        members=members,
        groups=(BARS,),
        group=np.zeros(len(members), dtype=int),
        is_blocked=blocked,
        cases=cases,
        name="geodesic sphere" if cut is None else "geodesic dome",
    )


def _geodesic(frequency: int) -> tuple[Array, Indices]:
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    y, z = np.meshgrid([-1.0, 1.0], [-golden, golden], indexing="ij")
    face = np.column_stack((np.zeros(4), y.ravel(), z.ravel()))
    corners = np.concatenate([np.roll(face, shift, axis=1) for shift in range(3)])
    # Stand on a corner: the axis of the first one becomes z.
    axis = corners[3] / np.linalg.norm(corners[3])
    side = np.array([1.0, 0.0, 0.0])
    corners = corners @ np.column_stack((side, np.cross(axis, side), axis))
    near = np.isclose(np.linalg.norm(corners[:, None] - corners[None], axis=2), 2.0)
    triangles = [
        (a, b, c)
        for a in range(12)
        for b in range(a)
        for c in range(b)
        if near[a, b] and near[b, c] and near[a, c]
    ]
    i, j = np.array([(i, j) for i in range(frequency + 1) for j in range(frequency + 1 - i)]).T
    number = {(a, b): place for place, (a, b) in enumerate(zip(i, j, strict=True))}
    steps = [(1, 0), (0, 1), (-1, 1)]
    edges = np.array(
        [
            (number[a, b], number[a + p, b + q])
            for a, b in number
            for p, q in steps
            if (a + p, b + q) in number
        ]
    )
    weights = np.column_stack((i, j, frequency - i - j)) / frequency
    points = np.concatenate([weights @ corners[list(triangle)] for triangle in triangles])
    _, first, place = np.unique(points.round(9), axis=0, return_index=True, return_inverse=True)
    nodes = points[first] / np.linalg.norm(points[first], axis=1)[:, None]
    shifts = len(weights) * np.arange(len(triangles))
    members = place.ravel()[(edges[None] + shifts[:, None, None]).reshape(-1, 2)]
    return nodes, np.unique(np.sort(members, axis=1), axis=0)
