"""Random granular packings: spheres in a box, or disks in a frame, under their weight.

How a packing is made
---------------------
Spheres of random sizes are put on the sites of a dense lattice (face-centred cubic; hexagonal in the plane),
each displaced at random. Then all are inflated by one factor until exactly the number of contacts
requested is reached: pairs and walls are sorted by the factor at which they touch. Contacts made early
overlap at the end, by some hundredths of a radius; the contact point is put in the middle of the overlap.
Spheres that touch nothing are removed. No dynamics: a million contacts take some seconds.

The graph, the normals and the lever arms are those of a granular medium (about 4 contacts per
sphere, random normals, walls); the force history is not, and the grains are not in equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import EXISTS, GalleryProblem
from clapas.problems.gallery.rigid import contact_frames, contact_jacobian
from clapas.typing import Array, Indices

GRAVITY = 9.81
DENSITY = 2600.0
SPREAD = 0.03  # half-width of the radii, relative to their mean
SHAKE = 0.015  # largest shift of a centre along each axis, relative to the lattice distance

LARGEST_COORDINATION = {2: 5.0, 3: 10.0}  # a dense packing has 6 and 12

Order = Literal["layers", "morton", "random"]

# Sites are integer points with an even sum of coordinates. Neighbours, each pair once, and the axes' steps in
# units of the distance between neighbours.
FORWARD = {
    2: np.array([[2, 0], [1, 1], [-1, 1]]),
    3: np.array([[1, 1, 0], [-1, 1, 0], [1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]]),
}
STEP = {2: np.array([0.5, np.sqrt(0.75)]), 3: np.full(3, np.sqrt(0.5))}


@dataclass(frozen=True, eq=False, kw_only=True)
class SpherePacking:
    """Spheres (or disks) in contact, and the contact problem of one step.

    Parameters
    ----------
    problem : ContactProblem
        Global form; velocities (translation, rotation) of each body, 6 in space and 3 in the plane.
    centres : array (n_bodies, d)
        (m), gravity along the last axis, floor at 0.
    radii : array (n_bodies,)
        (m).
    body_a, body_b : arrays (n_contacts,)
        Bodies of each contact, a < b; a = −1 is the floor or a wall.
    points : array (n_contacts, d)
        Contact points (m).
    normals : array (n_contacts, d)
        Unit vectors from a to b.
    """

    problem: ContactProblem
    centres: Array
    radii: Array
    body_a: Indices
    body_b: Indices
    points: Array
    normals: Array


def sphere_packing(
    n_contacts: int,
    seed: int = 0,
    *,
    mu: float = 0.5,
    d: int = 3,
    coordination: float = 4.0,
    radius: float = 0.01,
    dt: float = 1e-3,
    agitation: float = 0.3,
    order: Order = "layers",
    name: str = "",
) -> SpherePacking:
    """Make a random packing with a given number of contacts, settling under gravity for one step.

    f holds the momentum of random velocities and of gravity over dt: at r = 0 all spheres on the floor
    approach it. Walls are fixed, so a solution exists (Cadoux 2009, 3.4.6).

    Parameters
    ----------
    n_contacts : int
        Exact number of contacts, floor and walls included.
    seed : int
        Seed of NumPy's PCG64 generator; the same seed gives the same packing.
    mu : float
        Coefficient of friction.
    d : 2 or 3
        Disks or spheres.
    coordination : float
        Approximate number of contacts per sphere, before the spheres without contact are removed.
    radius : float
        Mean radius (m); the radii spread by 3 % about it.
    dt : float
        Step (s).
    agitation : float
        Largest random velocity along an axis, relative to g dt; below 1.
    order : "layers", "morton" or "random"
        Numbering of the spheres: layer by layer, along a Morton curve (neighbours close in memory), or
        shuffled. Contacts follow their spheres.
    name : str
        Name of the problem; "packing-n" unless given.

    Examples
    --------
    >>> packing = sphere_packing(1000, seed=3)
    >>> packing.problem.n_contacts, len(packing.radii)
    (1000, 468)
    """
    _check(n_contacts, d, coordination, agitation)
    _require_positive(radius=radius, dt=dt)
    random = np.random.Generator(np.random.PCG64(seed))
    sites, shape = _lattice(n_contacts, d, coordination)
    sites = sites[_ordering(random, sites, order)]
    centres = sites * STEP[d] + 0.5 + random.uniform(-SHAKE, SHAKE, sites.shape)
    radii = random.uniform(1.0 - SPREAD, 1.0 + SPREAD, len(sites))
    a, b = _neighbours(sites, shape)
    distance = _distances(centres, shape, a, b)
    # Pairs touch when the radii are multiplied by distance / (sum of radii); a wall has radius zero.
    factor = distance / (radii[b] + _radii_or_zero(radii, a))
    chosen, inflation = _first(factor, n_contacts)
    touching = np.union1d(a[chosen][a[chosen] >= 0], b[chosen]) if n_contacts else np.arange(1)
    a, b = _renumber(a[chosen], touching), _renumber(b[chosen], touching)
    in_order = np.lexsort((a, b, np.where(a >= 0, a, b)))
    radii = radii[touching] * inflation
    scale = radius / radii.mean()
    return _settling(
        random,
        (centres[touching] * scale, radii * scale),
        (a[in_order], b[in_order], distance[chosen][in_order] * scale),
        (mu, dt, agitation),
        name or f"packing-{n_contacts}",
    )


def _check(n_contacts: int, d: int, coordination: float, agitation: float) -> None:
    if n_contacts < 0:
        raise ProblemError(f"n_contacts must be at least 0, got {n_contacts}")
    if d not in (2, 3):
        raise ProblemError(f"d must be 2 (disks) or 3 (spheres), got {d}")
    if not 0 < coordination <= LARGEST_COORDINATION[d]:
        raise ProblemError(
            f"coordination must be in ]0, {LARGEST_COORDINATION[d]}] for d = {d}, got {coordination}"
        )
    if not 0 <= agitation < 1:
        raise ProblemError(
            f"agitation must be in [0, 1[ (1 would lift spheres off the floor), got {agitation}"
        )


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ProblemError(f"{name} must be positive, got {value}")


def _lattice(n_contacts: int, d: int, coordination: float) -> tuple[Indices, tuple[int, ...]]:
    """Sites filling a box from its floor up, enough of them, and the extent of the box along each axis."""
    count = max(1, round(2.0 * n_contacts / coordination))
    while True:
        sites, shape = _sites(count, d)
        if len(_neighbours(sites, shape)[0]) >= n_contacts:
            return sites, shape
        count += max(1, count // 8)  # many sites of a small box lie on its surface


def _sites(count: int, d: int) -> tuple[Indices, tuple[int, ...]]:
    side = (2.0 * count * np.prod(STEP[d])) ** (1.0 / d)
    shape = np.maximum(1, np.round(side / STEP[d])).astype(int)
    shape[-1] = 2 * -(-count // np.prod(shape[:-1]))  # high enough: half of the grid points are sites
    points = np.indices(shape[::-1]).reshape(d, -1)[::-1].T
    return points[points.sum(axis=1) % 2 == 0][:count], tuple(shape.tolist())


def _ordering(random: np.random.Generator, sites: Indices, order: Order) -> Indices:
    if order == "layers":
        return np.arange(len(sites))
    if order == "random":
        return random.permutation(len(sites))
    if order != "morton":
        raise ProblemError(f"order must be 'layers', 'morton' or 'random', got {order!r}")
    n, d = sites.shape
    code = np.zeros(n, dtype=np.int64)
    for bit in range(int(sites.max()).bit_length()):
        for axis in range(d):
            code |= (sites[:, axis] >> bit & 1) << (d * bit + axis)
    return np.argsort(code)


def _neighbours(sites: Indices, shape: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Neighbours a < b on the lattice, then spheres b beside the wall −1 − a."""
    d = len(shape)
    # The grid has a rim of two empty points, so that neighbours never fall outside.
    number = np.full([extent + 4 for extent in shape], -1)
    number[tuple((sites + 2).T)] = np.arange(len(sites))
    a, b = [], []
    for offset in FORWARD[d]:
        other = number[tuple((sites + 2 + offset).T)]
        here = np.flatnonzero(other >= 0)
        a.append(np.minimum(here, other[here]))
        b.append(np.maximum(here, other[here]))
    for wall, normal in enumerate(_wall_normals(d)):
        axis = int(np.flatnonzero(normal)[0])
        last = shape[axis] - 1 if normal[axis] < 0 else 0
        b.append(np.flatnonzero(sites[:, axis] == last))
        a.append(np.full(len(b[-1]), -1 - wall))
    return np.concatenate(a), np.concatenate(b)


def _distances(centres: Array, shape: tuple[int, ...], a: Indices, b: Indices) -> Array:
    """From centre to centre, or from the wall to the centre."""
    between = a >= 0
    distance = np.empty(len(a))
    distance[between] = np.linalg.norm(centres[b[between]] - centres[a[between]], axis=1)
    normals = _wall_normals(len(shape))
    # A wall is half a lattice distance outside the last sites; the near ones pass through the origin.
    corner = (np.array(shape) - 1) * STEP[len(shape)] + 1.0
    places = np.minimum(normals, 0.0) @ corner
    wall = -1 - a[~between]
    distance[~between] = np.sum(normals[wall] * centres[b[~between]], axis=1) - places[wall]
    return distance


def _first(factor: Array, n_contacts: int) -> tuple[Indices, float]:
    """The pairs that touch first when the spheres are inflated, and the inflation needed."""
    if n_contacts == 0:
        return np.arange(0), 0.5 * float(factor.min())
    chosen = np.argpartition(factor, n_contacts - 1)[:n_contacts]
    return chosen, float(factor[chosen].max())


def _wall_normals(d: int) -> Array:
    """Inward normals of the floor, then of the side walls; the box is open at the top."""
    axes = np.eye(d)
    return np.vstack((axes[-1:], axes[:-1], -axes[:-1]))


def _radii_or_zero(radii: Array, bodies: Indices) -> Array:
    """Radii of the bodies, zero for walls."""
    return np.where(bodies >= 0, radii[np.maximum(bodies, 0)], 0.0)


def _renumber(bodies: Indices, kept: Indices) -> Indices:
    """Indices of the bodies among the kept ones; walls keep their numbers."""
    return np.where(bodies >= 0, np.searchsorted(kept, bodies), bodies)


def _settling(
    random: np.random.Generator,
    spheres: tuple[Array, Array],
    contacts: tuple[Indices, Indices, Array],
    physics: tuple[float, float, float],
    name: str,
) -> SpherePacking:
    """The contact problem of one step of falling spheres with random velocities."""
    centres, radii = spheres
    a, b, distance = contacts
    mu, dt, agitation = physics
    n_bodies, d = centres.shape
    between = a >= 0
    normals = np.empty((len(a), d))
    normals[between] = (centres[b[between]] - centres[a[between]]) / distance[between, None]
    normals[~between] = _wall_normals(d)[-1 - a[~between]]
    radius_a = _radii_or_zero(radii, a)
    half_overlap = 0.5 * (radius_a + radii[b] - distance)
    arm_a = (radius_a - half_overlap)[:, None] * normals
    arm_b = (half_overlap - radii[b])[:, None] * normals
    a = np.where(between, a, -1)
    masses = DENSITY * (np.pi * radii**2 if d == 2 else 4.0 / 3.0 * np.pi * radii**3)
    inertia = (0.5 if d == 2 else 0.4) * masses * radii**2
    M = np.column_stack([masses] * d + [inertia] * (2 * d - 3))
    velocity = agitation * GRAVITY * dt * random.uniform(-1.0, 1.0, M.shape)
    velocity[:, d:] /= radii[:, None]
    velocity[:, d - 1] -= GRAVITY * dt
    problem = ContactProblem(
        M=sparse.diags_array(M.ravel()).tocsr(),
        H=contact_jacobian(contact_frames(normals), (a, b), (arm_a, arm_b), n_bodies, central=True),
        f=-(M * velocity).ravel(),
        mu=np.full(len(a), mu),
        d=d,
        name=name,
    )
    return SpherePacking(
        problem=problem,
        centres=centres,
        radii=radii,
        body_a=a,
        body_b=b,
        points=centres[b] + arm_b,
        normals=normals,
    )


def _entry(n_contacts: int, d: int, name: str) -> GalleryProblem:
    packing = sphere_packing(n_contacts, d=d, name=name)
    grains = "spheres" if d == 3 else "disks"
    return GalleryProblem(
        name=name,
        problem=packing.problem,
        reference="",
        description=f"{len(packing.radii)} {grains} settle in a box: {n_contacts} contacts.",
        known=EXISTS,
    )


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Named packings."""
    named = {f"packing-{n}": (n, 3) for n in (100, 1000, 10000)}
    named |= {f"packing-plane-{n}": (n, 2) for n in (100, 1000)}
    return {name: partial(_entry, n, d, name) for name, (n, d) in named.items()}
