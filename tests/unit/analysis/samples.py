"""Instants made by hand, whose measures are known on paper."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clapas.analysis import Instant
from clapas.typing import Array


def spheres(
    centre: npt.ArrayLike,
    radius: npt.ArrayLike,
    pairs: npt.ArrayLike = (),
    force: npt.ArrayLike = (),
    *,
    point: npt.ArrayLike | None = None,
    fixed: tuple[int, ...] = (),
    birth: npt.ArrayLike | None = None,
    mu: float = 0.5,
) -> Instant:
    """Spheres (disks) and given forces on the second of each pair; they touch in the middle by default."""
    where = np.array(centre, dtype=float)
    n, d = where.shape
    size = np.broadcast_to(np.asarray(radius, dtype=float), (n,))
    touching = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    a, b = touching.T
    branch = where[b] - where[a]
    length = np.linalg.norm(branch, axis=1)[:, None]
    movable = np.ones(n, dtype=bool)
    movable[list(fixed)] = False
    return Instant(
        time=1.0,
        gravity=np.eye(d)[-1] * -9.81,
        mass=np.ones(n),
        volume=4 / 3 * np.pi * size**3 if d == 3 else np.pi * size**2,
        reach=size,
        movable=movable,
        birth=np.full(n, -np.inf) if birth is None else np.asarray(birth, dtype=float),
        centre=where,
        velocity=np.zeros((n, d)),
        spin=np.zeros((n, 3 if d == 3 else 1)),
        a=a,
        b=b,
        point=where[a] + size[a][:, None] * branch / length
        if point is None
        else np.array(point, dtype=float),
        normal=branch / length,
        force=np.array(force, dtype=float).reshape(-1, d),
        mu=np.full(len(a), mu),
        shift=np.zeros((len(a), d)),
    )


def cubic(side: int, radius: float, pressure: tuple[float, float, float]) -> Instant:
    """A cube of spheres on a cubic lattice from the origin, under a uniform principal stress."""
    sites = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(side**3).reshape((side,) * 3)
    pairs, force = [], []
    for axis in range(3):
        low = np.moveaxis(number, axis, 0)[:-1].ravel()
        high = np.moveaxis(number, axis, 0)[1:].ravel()
        pairs.append(np.column_stack((low, high)))
        force.append(np.tile(np.eye(3)[axis] * pressure[axis] * (2 * radius) ** 2, (len(low), 1)))
    return spheres(2 * radius * sites, radius, np.concatenate(pairs), np.concatenate(force))


def column(count: int, radius: float, weight: float) -> Instant:
    """Spheres on a fixed one, each bearing the weight of those above."""
    centre = [(0.0, 0.0, 2 * radius * k) for k in range(count + 1)]
    pairs = [(k, k + 1) for k in range(count)]
    force = [(0.0, 0.0, weight * (count - k)) for k in range(count)]
    return spheres(centre, radius, pairs, force, fixed=(0,))


def uniform(stress: Array, count: int, reach: float, branch: float, seed: int = 0) -> Instant:
    """Contacts at random in a box of half side ``reach`` with the mean stress given.

    With forces f = c σ l on branches of length l in even directions, the mean of f ⊗ l is c l²/3 σ: c makes
    it the stress times the volume.
    """
    random = np.random.default_rng(seed)
    point = random.uniform(-reach, reach, (count, 3))
    direction = random.normal(size=(count, 3))
    direction *= branch / np.linalg.norm(direction, axis=1)[:, None]
    centre = np.concatenate((point - direction / 2, point + direction / 2))
    force = 3.0 / branch**2 * (2 * reach) ** 3 / count * direction @ stress
    pairs = np.column_stack((np.arange(count), np.arange(count) + count))
    return spheres(centre, branch / 2, pairs, force, point=point)
