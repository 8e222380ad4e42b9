"""Slow and plain answers to what the kernels compute: distances of convex sets by other means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from clapas.collision import Detector
from clapas.geometry import rotations
from clapas.geometry.colliders import Contacts
from clapas.geometry.shapes import Box, Capsule, Cylinder, Polyhedron, Shape, Sphere, TriangleMesh
from clapas.geometry.table import Frame, collider_table

RIM = 720  # points on the rim of a cylinder: it is inside by a hundred-thousandth of its radius


def random_quaternion(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def points_and_radius(shape: Shape) -> tuple[np.ndarray, float]:
    """Corners whose hull, widened by the radius, is the shape (nearly, for a cylinder)."""
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, Capsule):
        half = shape.pieces[0].size[1]
        return np.array([(0.0, 0.0, -half), (0.0, 0.0, half)]), shape.radius
    if isinstance(shape, Box):
        half = np.array(shape.pieces[0].size)
        return half * (2 * np.array(np.unravel_index(np.arange(8), (2, 2, 2))).T - 1), 0.0
    if isinstance(shape, Cylinder):
        r, half, _ = shape.pieces[0].size
        angle = 2 * np.pi * np.arange(RIM) / RIM
        rim = np.column_stack((r * np.cos(angle), r * np.sin(angle)))
        return np.concatenate([np.column_stack((rim, np.full(RIM, z))) for z in (-half, half)]), 0.0
    assert isinstance(shape, Polyhedron | TriangleMesh)
    (piece,) = shape.pieces
    return piece.hull.vertices + piece.position, 0.0


def signed_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Distance of two convex hulls; if they overlap, minus the least depth."""
    inside = np.inf
    D = (b[:, None, :] - a[None, :, :]).reshape(-1, a.shape[1])
    try:
        hull = ConvexHull(D)
        inside = hull.equations[:, -1].max()  # height of the origin over the faces
    except Exception:  # flat: no inside
        pass
    if inside <= 0.0:
        return float(inside)
    size = np.abs(D).max()
    w, _ = nnls(np.vstack((D.T / size, np.ones(len(D)))), np.append(np.zeros(a.shape[1]), 1.0))
    return float(np.linalg.norm(D.T @ w / w.sum()))


def separation(a: np.ndarray, b: np.ndarray, n: np.ndarray) -> float:
    """How far two hulls are apart along n; negative when they overlap."""
    return float((b @ n).min() - (a @ n).max())


def support(shape: Shape, position: np.ndarray, orientation: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Largest n·x over a placed shape, for directions n (m, 3): exact, also for a cylinder."""
    local = rotations.rotate(rotations.conjugate(orientation), n)
    if isinstance(shape, Cylinder):
        r, half, _ = shape.pieces[0].size
        highest = r * np.hypot(local[:, 0], local[:, 1]) + half * np.abs(local[:, 2])
    else:
        points, radius = points_and_radius(shape)
        highest = (local @ points.T).max(axis=1) + radius
    return np.asarray(n @ position + highest)


def best_separation(apart: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> float:
    """Largest value of a function of directions (m, 3): many, then ever smaller steps around the best."""
    n = rng.normal(size=(4000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    values = apart(n)
    best = -np.inf
    for start in n[np.argsort(values)[-8:]]:
        step, here, value = 0.1, start, -np.inf
        while step > 1e-11:
            tries = np.vstack((here, here + step * rng.normal(size=(40, 3))))
            tries /= np.linalg.norm(tries, axis=1)[:, None]
            found = apart(tries)
            k = int(np.argmax(found))
            step *= 1.5 if found[k] > value and k > 0 else 0.5
            here, value = tries[k], max(value, found[k])
        best = max(best, float(value))
    return best


def two_bodies(one: Shape, two: Shape, **settings: object) -> Detector:
    """Detector for two shapes, each in its own frame as body frame."""
    rows = [(0, one, 0, Frame.own(one.d)), (1, two, 0, Frame.own(two.d))]
    return Detector(collider_table(one.d, rows), **settings)


def placed(points: np.ndarray, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    return rotations.rotate(orientation, points) + position


def deepest(contacts: Contacts) -> int:
    return int(np.argmin(contacts.gap))
