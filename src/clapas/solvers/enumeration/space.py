"""Solutions in space, for each choice of modes, from many starting points.

A contact is open (r = 0, u_N ≥ 0), sticks (u = 0, r ∈ K) or slides in an unknown direction t:

    r = r_N (1, −mu t),   u = (0, s t),   |t| = 1,   r_N ≥ 0,  s ≥ 0.

For each choice the unknowns are r at the sticking contacts and (|r|, s, the angle of t) at the sliding ones;
the equations say that u = W r + q. Violated inequalities are added to the equations as they are, max(0, ·),
and all starting points are improved together by Levenberg and Marquardt's damped Newton steps. Where the
Jacobian of a solution is singular the solution is not isolated: those of one choice of modes are reported as
a family.

Variables are λ_i r_i / |q| and u / |q|, dimensionless. This is a search, not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from clapas.problems.contact import ContactProblem
from clapas.solvers.enumeration.families import Family, SolutionSet, distinct, unit_length
from clapas.typing import Array

OPEN, STICK, SLIDE, SLIPPERY = "open", "stick", "slide", "slide0"
STEPS = 40
HOPELESS = 1e8  # damping from which a starting point is abandoned
SOLVED = 1e-10  # residual of a solution
SAME = 1e-6
SINGULAR = 1e-7


def solutions(problem: ContactProblem, starts: int, random: np.random.Generator) -> SolutionSet:
    """Solutions of a reduced problem in space found by the search."""
    size = float(np.linalg.norm(problem.q)) or 1.0
    unit = np.repeat(size / problem.response, 3)
    W, q = problem.W.toarray() * unit / size, problem.q.ravel() / size
    isolated: list[Array] = []
    families: list[Family] = []
    # With large mu the residual amplifies the rounding of |u_T|.
    accepted = SOLVED + 1e-14 * float(problem.mu.max())
    kinds = [(OPEN, STICK, SLIDE) if mu > 0 else (OPEN, SLIPPERY) for mu in problem.mu]
    for modes in product(*kinds):
        system = _System(modes, W, q, problem.mu)
        found = [
            (r, null)
            for r, null in _search(system, starts, random)
            if problem.residual((r * unit).reshape(-1, 3)) <= accepted
        ]
        moving = [r for r, null in found if len(null)]
        isolated += [r for r, null in found if not len(null)]
        if moving:
            families.append(_family(system, moving, next(null for _, null in found if len(null)), unit))
    kept = _largest(families, unit)
    outside = [
        r for r in isolated if not any(f.contains((r * unit).reshape(-1, 3), SAME * unit.min()) for f in kept)
    ]
    return SolutionSet(
        isolated=tuple((r * unit).reshape(-1, 3) + 0.0 for r in distinct(outside, SAME)),
        continua=tuple(kept),
        complete=False,
    )


class _State(NamedTuple):
    """Impulses r and velocities u (B, 3n) at a batch of points z, and their derivatives (B, 3n, k)."""

    r: Array
    r_by_z: Array
    u: Array
    u_by_z: Array


@dataclass(frozen=True)
class _System:
    """Equations and inequalities of one choice of modes, for a batch of points z (B, k)."""

    modes: tuple[str, ...]
    W: Array
    q: Array
    mu: Array

    @property
    def unknowns(self) -> int:
        sizes = {OPEN: 0, STICK: 3, SLIDE: 3, SLIPPERY: 1}
        return sum(sizes[mode] for mode in self.modes)

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """Random starting points of the typical size of the problem."""
        columns: list[Array] = []
        for mode, mu in zip(self.modes, self.mu, strict=True):
            if mode == OPEN:
                continue
            normal = np.exp(random.normal(0.0, 1.5, count))
            angle = random.uniform(0.0, 2.0 * np.pi, count)
            columns.append(normal)
            if mode == STICK:
                reach = min(mu, 3.0) * normal * np.sqrt(random.random(count))
                columns += [reach * np.cos(angle), reach * np.sin(angle)]
            elif mode == SLIDE:
                columns += [np.abs(random.normal(0.0, 1.0, count)), angle]
        return np.column_stack(columns) if columns else np.zeros((count, 0))

    def impulses(self, z: Array) -> tuple[Array, Array]:
        """Impulses (B, 3n) and their derivatives (B, 3n, k)."""
        r = np.zeros((len(z), len(self.q)))
        by_z = np.zeros((len(z), len(self.q), z.shape[1]))
        at = 0
        for i, (mode, mu) in enumerate(zip(self.modes, self.mu, strict=True)):
            row = 3 * i
            if mode == STICK:
                r[:, row : row + 3] = z[:, at : at + 3]
                by_z[:, [row, row + 1, row + 2], [at, at + 1, at + 2]] = 1.0
                at += 3
            elif mode == SLIDE:
                length, angle = z[:, at], z[:, at + 2]
                cos, sin = 1.0 / np.hypot(1.0, mu), mu / np.hypot(1.0, mu)
                t, turned = _unit_and_turned(angle)
                r[:, row] = cos * length
                r[:, row + 1 : row + 3] = -sin * length[:, None] * t
                by_z[:, row, at] = cos
                by_z[:, row + 1 : row + 3, at] = -sin * t
                by_z[:, row + 1 : row + 3, at + 2] = -sin * length[:, None] * turned
                at += 3
            elif mode == SLIPPERY:
                r[:, row] = z[:, at]
                by_z[:, row, at] = 1.0
                at += 1
        return r, by_z

    def state(self, z: Array) -> _State:
        """Impulses and velocities with their derivatives."""
        r, r_by_z = self.impulses(z)
        return _State(r, r_by_z, r @ self.W.T + self.q, self.W @ r_by_z)

    def equations(self, z: Array, state: _State) -> tuple[Array, Array]:
        """Left-hand sides (B, k), zero at solutions, and their derivatives (B, k, k)."""
        _, _, u, u_by_z = state
        values: list[Array] = []
        slopes: list[Array] = []
        at = 0
        for i, mode in enumerate(self.modes):
            rows = slice(3 * i, 3 * i + (1 if mode == SLIPPERY else 3))
            if mode == OPEN:
                continue
            value, slope = u[:, rows].copy(), u_by_z[:, rows].copy()
            if mode == SLIDE:
                speed = z[:, at + 1]
                t, turned = _unit_and_turned(z[:, at + 2])
                value[:, 1:] -= speed[:, None] * t
                slope[:, 1:, at + 1] -= t
                slope[:, 1:, at + 2] -= speed[:, None] * turned
            values.append(value)
            slopes.append(slope)
            at += value.shape[1]
        if not values:
            return np.zeros((len(z), 0)), np.zeros((len(z), 0, 0))
        return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)

    def violations(self, z: Array, state: _State) -> tuple[Array, Array]:
        """Inequalities, positive where violated, and their derivatives."""
        r, r_by_z, u, u_by_z = state
        values: list[Array] = []
        slopes: list[Array] = []
        at = 0
        for i, (mode, mu) in enumerate(zip(self.modes, self.mu, strict=True)):
            row = 3 * i
            if mode == OPEN:
                values.append(-u[:, row])
                slopes.append(-u_by_z[:, row])
                continue
            values.append(-r[:, row])
            slopes.append(-r_by_z[:, row])
            if mode == STICK:
                tangential = r[:, row + 1 : row + 3]
                length = np.linalg.norm(tangential, axis=1)
                direction = tangential / np.where(length > 0.0, length, 1.0)[:, None]
                along = np.einsum("bi,bik->bk", direction, r_by_z[:, row + 1 : row + 3])
                values.append((length - mu * r[:, row]) / np.hypot(1.0, mu))
                slopes.append((along - mu * r_by_z[:, row]) / np.hypot(1.0, mu))
            elif mode == SLIDE:
                speed = np.zeros_like(z)
                speed[:, at + 1] = -1.0
                values.append(-z[:, at + 1])
                slopes.append(speed)
            at += 1 if mode == SLIPPERY else 3
        return np.stack(values, axis=1), np.stack(slopes, axis=1)

    def least_squares(self, z: Array) -> tuple[Array, Array]:
        """Equations and violated inequalities together, with derivatives."""
        state = self.state(z)
        value, slope = self.equations(z, state)
        excess, by_z = self.violations(z, state)
        violated = excess > 0.0
        return (
            np.concatenate((value, np.where(violated, excess, 0.0)), axis=1),
            np.concatenate((slope, np.where(violated[:, :, None], by_z, 0.0)), axis=1),
        )

    def contains(self, r: Array, slack: float) -> bool:
        """Whether dimensionless impulses obey the law in these modes."""
        u = (self.W @ r + self.q).reshape(-1, 3)
        return all(
            _obeys(mode, mu, u_i, r_i, slack)
            for mode, mu, u_i, r_i in zip(self.modes, self.mu, u, r.reshape(-1, 3), strict=True)
        )


def _unit_and_turned(angle: Array) -> tuple[Array, Array]:
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack((c, s)), np.column_stack((-s, c))


def _obeys(mode: str, mu: float, u: Array, r: Array, slack: float) -> bool:
    if mode == OPEN:
        return bool(np.abs(r).max() <= slack and u[0] >= -slack)
    if r[0] < -slack or abs(u[0]) > slack:
        return False
    length, speed = float(np.linalg.norm(r[1:])), float(np.linalg.norm(u[1:]))
    if mode == STICK:
        return bool(speed <= slack and length <= mu * r[0] + slack)
    if speed <= slack:
        return bool(abs(length - mu * r[0]) <= slack)
    return float(np.abs(r[1:] + mu * r[0] * u[1:] / speed).max()) <= slack


def _search(system: _System, starts: int, random: np.random.Generator) -> list[tuple[Array, Array]]:
    """Impulses that satisfy a choice of modes, with the directions (k, 3n) in which they can move."""
    if system.unknowns == 0:
        starts = 1
    z = _improve(system, system.draw(starts, random))
    value, _ = system.least_squares(z)
    solved = np.linalg.norm(value, axis=1) <= SOLVED
    z = z[solved]
    state = system.state(z)
    _, slope = system.equations(z, state)
    solutions: list[tuple[Array, Array]] = []
    for point, by_z, jacobian in zip(state.r, state.r_by_z, slope, strict=True):
        solutions.append((point, _null_directions(jacobian) @ by_z.T))
    # A singular system may still have a unique solution: then all starts lead to it.
    separate = distinct([point for point, _ in solutions], SAME)
    if len(separate) == 1:
        return [(separate[0], np.zeros((0, len(system.q))))]
    return solutions


def _null_directions(jacobian: Array) -> Array:
    if jacobian.size == 0:
        return np.zeros((0, len(jacobian)))
    _, values, rows = np.linalg.svd(jacobian)
    return np.asarray(rows[values <= SINGULAR * values[0]])


def _improve(system: _System, z: Array) -> Array:
    """Levenberg and Marquardt's steps for all points at once, except those that have converged."""
    z = z.copy()
    damping = np.full(len(z), 1e-2)
    size = np.linalg.norm(system.least_squares(z)[0], axis=1)
    for _ in range(STEPS):
        active = np.flatnonzero((size > 1e-3 * SOLVED) & (damping < HOPELESS))
        if len(active) == 0 or z.shape[1] == 0:
            break
        value, slope = system.least_squares(z[active])
        normal = np.swapaxes(slope, 1, 2) @ slope
        diagonal = np.arange(z.shape[1])
        weight = damping[active] * size[active] + 1e-14 * np.trace(normal, axis1=1, axis2=2)
        normal[:, diagonal, diagonal] += weight[:, None] + 1e-300
        gradient = np.einsum("bmk,bm->bk", slope, value)
        trial = z[active] - np.linalg.solve(normal, gradient[:, :, None])[:, :, 0]
        trial_size = np.linalg.norm(system.least_squares(trial)[0], axis=1)
        better = trial_size < size[active]
        z[active[better]] = trial[better]
        size[active[better]] = trial_size[better]
        damping[active] *= np.where(better, 0.2, 5.0)
        damping = np.maximum(damping, 1e-10)
    return z


def _family(system: _System, points: list[Array], directions: Array, unit: Array) -> Family:
    return Family(
        modes=tuple(SLIDE if mode == SLIPPERY else mode for mode in system.modes),
        dimension=len(directions),
        samples=tuple((r * unit).reshape(-1, 3) + 0.0 for r in distinct(points, SAME)),
        directions=unit_length(directions * unit).reshape(len(directions), -1, 3),
        is_bounded=None,
        contains=lambda r, slack: system.contains(r.ravel() / unit, slack / float(unit.min())),
    )


def _largest(families: list[Family], unit: Array) -> list[Family]:
    kept: list[Family] = []
    slack = SAME * float(unit.min())
    for family in sorted(families, key=lambda family: -family.dimension):
        if not any(all(other.contains(r, slack) for r in family.samples) for other in kept):
            kept.append(family)
    return kept
