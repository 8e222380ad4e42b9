"""Piecewise linear equations, and two methods for them: Newton's and Katzenelson's.

F(x) = 0 where space is divided by hyperplanes (*faces*) into regions, in each of which F(x) = J x + b.
Newton's iterate depends on the region alone, so that the method either converges in a finite number of steps
or ends in a cycle; Katzenelson's path stops at each boundary and follows a straight segment in the image.

This module has the two methods and the elementary problems on which Alart studies them, all of the form

    A u + λ = f,    λ = proj(λ + r u)

with the forces λ that the obstacle receives, r the augmentation, and γ = λ + r u:

* :func:`obstacle`: contact without friction;
* :func:`springs_with_friction`: Tresca's friction at every degree of freedom;
* :func:`node_with_friction`: one node in contact with Coulomb's friction;
* :func:`elastoplastic_spring`: friction on a spring that yields.

The notation is that of the reference; with r = −λ and u reversed it is that of this package.

References
----------
Alart 1997; Katzenelson 1965.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clapas.errors import ProblemError
from clapas.solvers.newton.augmentation import Elastoplastic
from clapas.typing import Array, Mask

Region: TypeAlias = tuple[bool, ...]

ROUNDING = 1e-11  # of F relative to the size of its terms, counted as zero
MEET = 1e-12  # faces crossed within this fraction of a step are crossed together


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """The equation F(x) = 0, linear in each region.

    Parameters
    ----------
    faces, offsets : arrays (k, size) and (k,)
        Region of x: for each face, whether faces·x + offsets is positive.
    piece : callable region → (J, b)
        Matrix (size, size) and constant (size,) of F in a region.
    gamma : array (n, size)
        γ = gamma x, the augmented unknown that defines the regions.
    """

    faces: Array
    offsets: Array
    piece: Callable[[Region], tuple[Array, Array]]
    gamma: Array

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.faces.shape[1])

    def region(self, x: Array) -> Region:
        """Region of a point."""
        return tuple(bool(positive) for positive in self.heights(x) > 0.0)

    def heights(self, x: Array) -> Array:
        """Signed heights over the faces, (k,)."""
        return np.asarray(self.faces @ x + self.offsets)

    def value(self, x: Array) -> Array:
        """F(x)."""
        matrix, constant = self.piece(self.region(x))
        return matrix @ x + constant

    def is_zero(self, x: Array) -> bool:
        """Whether F(x) vanishes, to the rounding of its terms."""
        matrix, constant = self.piece(self.region(x))
        terms = np.abs(matrix) @ np.abs(x) + np.abs(constant)
        return bool(np.all(np.abs(matrix @ x + constant) <= ROUNDING * terms.max(initial=0.0)))


@dataclass
class Path:
    """The iterates of a method on a piecewise linear equation.

    Parameters
    ----------
    points : list of arrays
        Iterates, the first given.
    regions : list
        Region of each iterate (for Katzenelson's method, the region it moves in next).
    is_solved : bool
        The last iterate solves the equation.
    cycle : int
        Number of iterates in the cycle; 0 without a cycle.
    """

    points: list[Array]
    regions: list[Region] = field(default_factory=list)
    is_solved: bool = False
    cycle: int = 0

    @property
    def iterations(self) -> int:
        """Steps done."""
        return len(self.points) - 1

    @property
    def end(self) -> Array:
        """The last iterate."""
        return self.points[-1]


def newton_path(equation: PiecewiseLinear, start: npt.ArrayLike, max_iterations: int = 1000) -> Path:
    """Iterates of Newton's method from a point until it converges, cycles or reaches the limit.

    Examples
    --------
    One spring of stiffness a = 1 and friction 1, at rest: beyond r = 2a the iterates jump between the two
    directions of sliding.

    >>> for r in (1.9, 2.1):
    ...     path = newton_path(springs_with_friction([[1.0]], [0.0], 1.0, r), [5.0, 0.0])
    ...     print(path.is_solved, path.cycle)
    True 0
    False 2
    """
    path = Path([np.asarray(start, dtype=float)])
    path.regions.append(equation.region(path.end))
    visited = {path.regions[0]: 0}
    while not equation.is_zero(path.end) and path.iterations < max_iterations:
        matrix, constant = equation.piece(path.regions[-1])
        path.points.append(_solve(matrix, -constant))
        path.regions.append(equation.region(path.end))
        if equation.is_zero(path.end):
            break
        previous = visited.setdefault(path.regions[-1], path.iterations)
        if previous < path.iterations:
            path.cycle = path.iterations - previous
            return path
    path.is_solved = equation.is_zero(path.end)
    return path


def katzenelson_path(equation: PiecewiseLinear, start: npt.ArrayLike, max_iterations: int = 1000) -> Path:
    """Iterates of Katzenelson's method: stop at each face, then continue with the matrix of the next region.

    Examples
    --------
    >>> equation = springs_with_friction([[1.0]], [0.0], 1.0, r=2.1)
    >>> katzenelson_path(equation, [5.0, 0.0]).is_solved
    True
    """
    path = Path([np.asarray(start, dtype=float)])
    region = equation.region(path.end)
    path.regions.append(region)
    while path.iterations < max_iterations:
        matrix, constant = equation.piece(region)
        x = path.end
        step = _solve(matrix, -(matrix @ x + constant))
        t, crossed = first_crossing(equation.heights(x), equation.faces @ step, np.array(region, dtype=bool))
        if t >= 1.0:
            path.points.append(x + step)
            path.regions.append(region)
            path.is_solved = True
            return path
        region = tuple(side != flips for side, flips in zip(region, crossed, strict=True))
        path.points.append(x + t * step)
        path.regions.append(region)
    return path


def _solve(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def first_crossing(heights: Array, slopes: Array, sides: Mask) -> tuple[float, Mask]:
    """First crossing of a face by a moving point, and the faces crossed there.

    Parameters
    ----------
    heights, slopes : arrays
        Height over each face, and its change over the whole step.
    sides : array of bool, same shape
        Side of the point: True above. It decides where the height is zero.

    Returns
    -------
    float
        Fraction of the step; infinite when no face is crossed.
    array of bool
        Faces crossed at that moment.

    Examples
    --------
    >>> heights, slopes = np.array([1.0, -1.0, 0.0]), np.array([-2.0, 1.0, 1.0])
    >>> first_crossing(heights, slopes, np.array([True, False, True]))
    (0.5, array([ True, False, False]))
    """
    crosses = np.where(sides, slopes < 0.0, slopes > 0.0)
    times = np.full(heights.shape, np.inf)
    np.divide(-heights, slopes, out=times, where=crosses)
    times = np.maximum(times, 0.0)
    first = float(times.min(initial=np.inf))
    return first, crosses & (times <= first + MEET)


# ---------------------------------------------------------------- Alart's elementary problems


def obstacle(A: npt.ArrayLike, f: npt.ArrayLike, r: float) -> PiecewiseLinear:
    """Contact with obstacles without friction: u ≥ 0, λ ≤ 0, u·λ = 0 (Alart 1997, equation 2).

        A u + λ = f,    λ_i = min(0, λ_i + r u_i)

    Parameters
    ----------
    A : array (n, n)
        Stiffness, symmetric positive definite.
    f : array (n,)
        Loads.
    r : float
        Augmentation; here it does not change the iterates.

    Examples
    --------
    >>> path = newton_path(obstacle([[2.0, -1.0], [-1.0, 2.0]], [-3.0, 1.0], r=1.0), np.zeros(4))
    >>> path.end.round(12) + 0.0
    array([ 0. ,  0.5, -2.5,  0. ])
    """
    stiffness, load, gamma = _springs(A, f, r)
    n = len(load)

    def piece(region: Region) -> tuple[Array, Array]:
        law = np.zeros((n, 2 * n))
        for i, is_free in enumerate(region):
            law[i, n + i if is_free else i] = 1.0 if is_free else -r
        return _with_equilibrium(stiffness, load, law, np.zeros(n))

    return PiecewiseLinear(gamma, np.zeros(n), piece, gamma)


def reduced_obstacle(A: npt.ArrayLike, f: npt.ArrayLike, r: float) -> PiecewiseLinear:
    """The obstacle problem in γ = λ + r u alone (Alart 1997, equations 3 and 4).

        G(γ) = (I − r A⁻¹)⁻¹ γ + g − min(0, γ) = 0,    g = −r (A − r I)⁻¹ f

    Newton's method on it and on :func:`obstacle` give the same γ, since the eliminated equations are linear.
    G is convex; where its matrices have inverses without negative entries Newton's iterates decrease (theorem
    1). r must not be an eigenvalue of A (the print has: of A⁻¹).

    Examples
    --------
    >>> A, f = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([-3.0, 1.0])
    >>> newton_path(reduced_obstacle(A, f, r=0.5), np.ones(2)).end.round(12)  # u = (0, ½), λ = (−2.5, 0)
    array([-2.5 ,  0.25])
    """
    load = np.asarray(f, dtype=float)
    B, g = _reduction(A, load, r)

    def piece(region: Region) -> tuple[Array, Array]:
        return B - np.diag(np.where(region, 0.0, 1.0)), g

    return PiecewiseLinear(np.eye(len(load)), np.zeros(len(load)), piece, np.eye(len(load)))


def reduced_springs(A: npt.ArrayLike, f: npt.ArrayLike, threshold: float, r: float) -> PiecewiseLinear:
    """The springs with friction in γ = λ + r u alone (Alart 1997, equation 40).

        G(γ) = (I − r A⁻¹)⁻¹ γ + g − proj(γ, [−threshold, threshold]) = 0

    For one spring G is a graph of three straight pieces: of the first kind for r < a (slopes least in the
    middle), of the second for r > a (Alart's figures 4 and 5).
    """
    load = np.asarray(f, dtype=float)
    n = len(load)
    B, g = _reduction(A, load, r)

    def piece(region: Region) -> tuple[Array, Array]:
        above, beyond = np.array(region[:n]), np.array(region[n:])
        limit = np.where(beyond, threshold, np.where(above, 0.0, -threshold))
        return B - np.diag((above & ~beyond).astype(float)), g - limit

    return PiecewiseLinear(
        np.vstack((np.eye(n), np.eye(n))), np.repeat([threshold, -threshold], n), piece, np.eye(n)
    )


def _reduction(A: npt.ArrayLike, load: Array, r: float) -> tuple[Array, Array]:
    """(I − r A⁻¹)⁻¹ = A (A − r I)⁻¹ and g."""
    stiffness = np.asarray(A, dtype=float)
    shifted = stiffness - r * np.eye(len(load))
    if abs(np.linalg.det(shifted)) <= ROUNDING * np.linalg.norm(stiffness) ** len(load):
        raise ProblemError(
            f"r = {r:g} is an eigenvalue of A: the equation in γ alone does not exist; take another r, or "
            "the equations in (u, λ)"
        )
    inverse = np.linalg.inv(shifted)
    return np.asarray(stiffness @ inverse), np.asarray(-r * inverse @ load)


def springs_with_friction(A: npt.ArrayLike, f: npt.ArrayLike, threshold: float, r: float) -> PiecewiseLinear:
    """Tresca's friction at every degree of freedom: |λ_i| ≤ threshold (Alart 1997, equation 39).

        A u + λ = f,    λ_i = proj(λ_i + r u_i, [−threshold, threshold])

    Each degree of freedom slides back, sticks or slides on: 3ⁿ regions.
    """
    stiffness, load, gamma = _springs(A, f, r)
    n = len(load)
    faces = np.vstack((gamma, gamma))
    offsets = np.repeat([threshold, -threshold], n)

    def piece(region: Region) -> tuple[Array, Array]:
        law, constant = np.zeros((n, 2 * n)), np.zeros(n)
        for i in range(n):
            above, beyond = region[i], region[n + i]
            if above and not beyond:
                law[i, i] = -r
            else:
                law[i, n + i] = 1.0
                constant[i] = -threshold if beyond else threshold
        return _with_equilibrium(stiffness, load, law, constant)

    return PiecewiseLinear(faces, offsets, piece, gamma)


def node_with_friction(A: npt.ArrayLike, f: npt.ArrayLike, mu: float, r: float) -> PiecewiseLinear:
    """One node on a plane with Coulomb's friction (Alart 1997, equations 61 to 63).

        A u + λ = f,    λ_n = min(0, γ_n),   λ_t = proj(γ_t, [mu λ_n, −mu λ_n])

    Unknowns (u_n, u_t, λ_n, λ_t), normal component first; pressing means λ_n < 0. Four regions: gap, stick,
    slide on, slide back.
    """
    stiffness, load, gamma = _springs(A, f, r)
    normal, tangent = gamma
    faces = np.vstack((normal, tangent + mu * normal, tangent - mu * normal))

    def piece(region: Region) -> tuple[Array, Array]:
        is_apart, beyond, above = region
        law = np.zeros((2, 4))
        law[0] = [0.0, 0.0, 1.0, 0.0] if is_apart else [-r, 0.0, 0.0, 0.0]
        law[1, 3] = 1.0
        if not is_apart and beyond:
            law[1] += mu * normal
        elif not is_apart and not above:
            law[1] -= mu * normal
        elif not is_apart:
            law[1] = [0.0, -r, 0.0, 0.0]
        return _with_equilibrium(stiffness, load, law, np.zeros(2))

    return PiecewiseLinear(faces, np.zeros(3), piece, gamma)


def elastoplastic_spring(material: Elastoplastic, threshold: float, load: float, r: float) -> PiecewiseLinear:
    """Friction on a spring that yields (Alart 1997, equation 76): nine regions.

        A(u) + λ = load,    λ = proj(λ + r u, [−threshold, threshold])

    A(u) has slope K + k up to the yield force S₀ and slope k beyond, in tension and in compression.
    """
    K, k = material.stiffness, material.hardening
    limit = material.yield_force / (K + k)
    jump = limit * K  # where the plastic lines cut the axis of forces
    gamma = np.array([[r, 1.0]])
    faces = np.array([[1.0, 0.0], [1.0, 0.0], [r, 1.0], [r, 1.0]])
    offsets = np.array([limit, -limit, threshold, -threshold])

    def piece(region: Region) -> tuple[Array, Array]:
        not_back, tense, above, beyond = region
        is_elastic, sticks = not_back and not tense, above and not beyond
        law = [-r, 0.0] if sticks else [0.0, 1.0]
        matrix = np.array([[K + k if is_elastic else k, 1.0], law])
        plastic = 0.0 if is_elastic else (jump if tense else -jump)
        slide = 0.0 if sticks else (-threshold if beyond else threshold)
        return matrix, np.array([plastic - load, slide])

    return PiecewiseLinear(faces, offsets, piece, gamma)


def _springs(A: npt.ArrayLike, f: npt.ArrayLike, r: float) -> tuple[Array, Array, Array]:
    """Stiffness, load, and the matrix of γ = λ + r u on x = (u, λ)."""
    stiffness, load = np.asarray(A, dtype=float), np.asarray(f, dtype=float)
    return stiffness, load, np.hstack((r * np.eye(len(load)), np.eye(len(load))))


def _with_equilibrium(stiffness: Array, load: Array, law: Array, constant: Array) -> tuple[Array, Array]:
    equilibrium = np.hstack((stiffness, np.eye(len(load))))
    return np.vstack((equilibrium, law)), np.concatenate((-load, constant))
