"""Dry masonry at rest: stacks, walls, towers and pyramids of boxes under their weight.

Boxes are axis-aligned; two that lie on one another touch over a rectangle, represented by its four
corners. Three of them would carry any load, so every joint adds to the hyperstaticity: the impulses are
far from unique, W is singular, and the whole set of solutions is known (see :mod:`.equilibrium`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery import equilibrium
from clapas.problems.gallery.entry import GalleryProblem
from clapas.problems.gallery.rigid import contact_frames, contact_jacobian
from clapas.typing import Array, Indices

GRAVITY = 9.81
DENSITY = 2000.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Masonry:
    """Boxes at rest on a floor, and the contact problem of one step under gravity.

    Parameters
    ----------
    problem : ContactProblem
        Global form; six velocities per box (translation, rotation).
    centres, half_sizes : arrays (n_bodies, 3)
        Geometry of the boxes (m).
    masses : array (n_bodies,)
        (kg).
    body_a, body_b : arrays (n_contacts,)
        Lower and upper box of each contact; −1 is the floor. Four consecutive contacts make a joint.
    points : array (n_contacts, 3)
        Contact points (m).
    hydrostatic : array (n_contacts, 3)
        A frictionless solution: each vertical column transmits its own weight down (N·s).
    """

    problem: ContactProblem
    centres: Array
    half_sizes: Array
    masses: Array
    body_a: Indices
    body_b: Indices
    points: Array
    hydrostatic: Array

    def squeezed(self, share: float) -> Array:
        """A solution where friction squeezes each joint, by the given fraction of what the cones allow.

        The two corners on a side along x push each other with opposite forces, which balance.
        """
        r = self.hydrostatic.copy()
        r[:, 1] = share * self.problem.mu * self._spare() * np.resize([1.0, -1.0, -1.0, 1.0], len(r))
        return r

    def warped(self, share: float) -> Array:
        """A solution where each joint bears more on one diagonal, by the given fraction of the maximum."""
        r = self.hydrostatic.copy()
        r[:, 0] += share * self._spare() * np.resize([1.0, -1.0, 1.0, -1.0], len(r))
        return r

    def _spare(self) -> Array:
        """Smallest normal impulse in the joint of each contact."""
        return np.repeat(self.hydrostatic[:, 0].reshape(-1, 4).min(axis=1), 4)


def box_stack(
    n_boxes: int,
    *,
    mu: float = 0.5,
    dt: float = 0.01,
    size: tuple[float, float, float] = (1.0, 1.0, 1.0),
    mass_ratio: float = 1.0,
    name: str = "",
) -> Masonry:
    """Stack boxes on one another, each on the four corners of the one below.

    Parameters
    ----------
    n_boxes : int
        Number of boxes; 4 contacts each.
    mu : float
        Coefficient of friction.
    dt : float
        Step over which gravity acts (s).
    size : three floats
        Edges of a box along x, y, z (m).
    mass_ratio : float
        Mass of the top box over that of the bottom box; geometric in between. Large is hard.
    name : str
        Name of the problem.

    Examples
    --------
    >>> stack = box_stack(3)
    >>> stack.problem
    ContactProblem('box-stack-3', 12 contacts in 3-D, global, 18 dof)
    >>> stack.problem.residual(stack.hydrostatic) < 1e-12
    True
    """
    _require_positive(n_boxes=n_boxes, dt=dt, mass_ratio=mass_ratio, size=min(size))
    level = np.arange(n_boxes)
    half = 0.5 * np.asarray(size)
    centres = np.zeros((n_boxes, 3))
    centres[:, 2] = (2 * level + 1) * half[2]
    masses = DENSITY * np.prod(size) * mass_ratio ** (level / max(1, n_boxes - 1))
    above = np.cumsum(masses[::-1])[::-1]
    return _masonry(
        centres,
        np.tile(half, (n_boxes, 1)),
        masses,
        (level - 1, level),
        _centred(GRAVITY * dt * above),
        mu,
        dt,
        name or f"box-stack-{n_boxes}",
    )


def brick_wall(
    courses: int,
    bricks_per_course: int,
    *,
    mu: float = 0.6,
    dt: float = 0.01,
    size: tuple[float, float, float] = (0.2, 0.1, 0.06),
    name: str = "",
) -> Masonry:
    """Build a wall in running bond: each brick covers the joint between two bricks below.

    Every second course begins and ends with half a brick, so that the ends are straight. Neighbours in a
    course do not touch. Parameters as for :func:`box_stack`.

    Examples
    --------
    >>> wall = brick_wall(3, 4)
    >>> wall.problem.n_contacts, wall.problem.n_dof // 6
    (80, 13)
    """
    _require_positive(courses=courses, bricks_per_course=bricks_per_course, dt=dt, size=min(size))
    width = 2 * bricks_per_course
    first = np.zeros(courses, dtype=np.int64)
    return _running_bond(
        first, first + width, size, mu, dt, name or f"brick-wall-{courses}-{bricks_per_course}"
    )


def pyramid(
    courses: int,
    *,
    mu: float = 0.6,
    dt: float = 0.01,
    size: tuple[float, float, float] = (0.2, 0.1, 0.06),
    name: str = "",
) -> Masonry:
    """Build a flat pyramid: each course has one brick less and is shifted by half a brick.

    Parameters as for :func:`box_stack`.

    Examples
    --------
    >>> pyramid(4).problem.n_contacts
    64
    """
    _require_positive(courses=courses, dt=dt, size=min(size))
    level = np.arange(courses)
    return _running_bond(level, 2 * courses - level, size, mu, dt, name or f"pyramid-{courses}")


def tower(
    levels: int,
    *,
    mu: float = 0.5,
    dt: float = 0.01,
    size: tuple[float, float, float] = (0.12, 0.024, 0.008),
    name: str = "",
) -> Masonry:
    """Build a tower of planks, two per level, crosswise from level to level.

    ``size`` is that of a plank: length, width, thickness. Other parameters as for :func:`box_stack`.

    Examples
    --------
    >>> tower(3).problem.n_contacts
    40
    """
    _require_positive(levels=levels, dt=dt, size=min(size))
    length, width, thickness = size
    offset = 0.5 * (length - width)
    if offset <= 0:
        raise ProblemError(f"size: planks must be longer than wide, got length {length} and width {width}")
    level, side = np.divmod(np.arange(2 * levels), 2)
    shift = np.where(side == 0, -offset, offset)
    along_x = level % 2 == 0
    centres = np.column_stack(
        (np.where(along_x, 0.0, shift), np.where(along_x, shift, 0.0), (level + 0.5) * thickness)
    )
    half = 0.5 * np.where(along_x[:, None], [length, width, thickness], [width, length, thickness])
    masses = np.full(2 * levels, DENSITY * length * width * thickness)
    # On the floor a plank has one joint, higher up one with each of the two planks it crosses.
    upper = np.concatenate(([0, 1], np.repeat(np.arange(2, 2 * levels), 2)))
    lower = np.concatenate(([-1, -1], (2 * (level[2:, None] - 1) + [0, 1]).ravel()))
    joints = np.where(lower < 0, 2, 4)
    load = GRAVITY * dt * masses[0] * 2 * (levels - level[upper]) / joints
    return _masonry(centres, half, masses, (lower, upper), _centred(load), mu, dt, name or f"tower-{levels}")


def _running_bond(
    first: Indices, last: Indices, size: tuple[float, float, float], mu: float, dt: float, name: str
) -> Masonry:
    """Lay courses of bricks over the half-brick columns first[k] to last[k] of course k.

    Bricks of course k begin at columns of the parity of k, half bricks fill the ends. A brick is two
    columns glued together, and each column transmits its own weight down: an exact frictionless balance.
    """
    length, width, height = size
    column, level = _cells(first, last)
    starts = ((column + level) % 2 == 0) | (column == first[level])
    brick = np.cumsum(starts) - 1
    count = np.bincount(brick)
    left = column[starts]
    centres = np.column_stack(
        ((left + 0.5 * count) * 0.5 * length, np.zeros(len(left)), (level[starts] + 0.5) * height)
    )
    half = 0.5 * np.column_stack(
        (0.5 * length * count, np.full(len(left), width), np.full(len(left), height))
    )
    masses = DENSITY * 8.0 * half.prod(axis=1)
    table = np.full((len(first) + 1, int(last.max())), -1)
    table[level + 1, column] = brick
    top = (table[1:] >= 0).sum(axis=0)
    weight = GRAVITY * dt * DENSITY * 0.5 * length * width * height * (top[column] - level)
    # A joint has one column, or both columns of a brick on the floor: then each bears on the corners of the
    # joint as a force at the middle of its half, three quarters on its own side.
    pairs = np.column_stack((brick, table[level, column]))
    joint, index = np.unique(pairs, axis=0, return_inverse=True)
    index = index.ravel()
    on_left = np.where(np.bincount(index)[index] == 1, 0.5, np.where(starts, 0.75, 0.25))
    load = np.zeros((len(joint), 2))
    np.add.at(load, index, weight[:, None] * np.column_stack((on_left, 1.0 - on_left)))
    return _masonry(centres, half, masses, (joint[:, 1], joint[:, 0]), load, mu, dt, name)


def _cells(first: Indices, last: Indices) -> tuple[Indices, Indices]:
    """Half-brick cells of all courses, from left to right and from bottom to top: column, course."""
    count = last - first
    level = np.repeat(np.arange(len(first)), count)
    column = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[level]
    return column, level


def _masonry(
    centres: Array,
    half: Array,
    masses: Array,
    joints: tuple[Indices, Indices],
    load: Array,
    mu: float,
    dt: float,
    name: str,
) -> Masonry:
    """Boxes with their joints (lower, upper); load (n_joints, 2) on the corners of low and high x (N·s)."""
    lower, upper = joints
    points = _corners(centres, half, lower, upper)
    a, b = np.repeat(lower, 4), np.repeat(upper, 4)
    n, n_bodies = len(a), len(centres)
    frames = contact_frames(np.tile([0.0, 0.0, 1.0], (n, 1)))
    arms = points - centres[a], points - centres[b]
    inertia = masses[:, None] / 3.0 * ((half**2).sum(axis=1, keepdims=True) - half**2)
    mass_matrix = sparse.diags_array(np.hstack((np.repeat(masses[:, None], 3, axis=1), inertia)).ravel())
    f = np.zeros((n_bodies, 6))
    f[:, 2] = masses * GRAVITY * dt
    problem = ContactProblem(
        M=mass_matrix.tocsr(),
        H=contact_jacobian(frames, (a, b), arms, n_bodies),
        f=f.ravel(),
        mu=np.full(n, mu),
        d=3,
        name=name,
    )
    hydrostatic = np.zeros((n, 3))
    hydrostatic[:, 0] = 0.5 * load[:, [0, 1, 1, 0]].ravel()
    return Masonry(
        problem=problem,
        centres=centres,
        half_sizes=half,
        masses=masses,
        body_a=a,
        body_b=b,
        points=points,
        hydrostatic=hydrostatic,
    )


def _centred(load: Array) -> Array:
    return np.repeat(0.5 * load[:, None], 2, axis=1)


def _corners(centres: Array, half: Array, lower: Indices, upper: Indices) -> Array:
    """Four corners of each joint, counter-clockwise from the smallest x and y, (4 n_joints, 3)."""
    low, high = centres[upper] - half[upper], centres[upper] + half[upper]
    on_box = (lower >= 0)[:, None]
    low_xy = np.where(on_box, np.maximum(low, centres[lower] - half[lower]), low)[:, :2]
    high_xy = np.where(on_box, np.minimum(high, centres[lower] + half[lower]), high)[:, :2]
    corners = np.empty((len(upper), 4, 3))
    corners[:, [0, 3], 0], corners[:, [1, 2], 0] = low_xy[:, :1], high_xy[:, :1]
    corners[:, [0, 1], 1], corners[:, [2, 3], 1] = low_xy[:, 1:], high_xy[:, 1:]
    corners[:, :, 2] = low[:, 2:]
    return corners.reshape(-1, 3)


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ProblemError(f"{name} must be positive, got {value}")


def _entry(
    name: str, description: str, build: Callable[..., Masonry], precision: float = 1e-12
) -> GalleryProblem:
    structure = build(name=name)
    known = equilibrium.at_rest(
        structure.problem,
        structure.hydrostatic,
        structure.squeezed(0.9),
        structure.warped(-0.5),
        precision=precision,
    )
    return GalleryProblem(
        name=name, problem=structure.problem, reference="", description=description, known=known
    )


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Named structures."""
    cases: dict[str, tuple[str, Callable[..., Masonry]]] = {
        "block-on-floor": ("A block rests on the floor by four corners.", partial(box_stack, 1)),
        "two-blocks": ("A block rests on another.", partial(box_stack, 2)),
        "box-stack-10": ("Ten boxes are piled on one another.", partial(box_stack, 10)),
        "mass-ratio-1e6": (
            "A block rests on another a million times lighter.",
            partial(box_stack, 2, mass_ratio=1e6),
        ),
        "brick-wall-6-5": ("A dry wall of six courses in running bond.", partial(brick_wall, 6, 5)),
        "brick-wall-30-20": ("A dry wall of thirty courses in running bond.", partial(brick_wall, 30, 20)),
        "pyramid-8": ("A flat pyramid of eight courses of bricks.", partial(pyramid, 8)),
        "tower-10": ("Planks are piled crosswise, two per level.", partial(tower, 10)),
    }
    digits = {"mass-ratio-1e6": 1e-9}  # a million times the rounding of one
    return {
        name: partial(_entry, name, text, build, digits.get(name, 1e-12))
        for name, (text, build) in cases.items()
    }
