"""All solutions in the plane, exactly: one polyhedron of impulses per choice of modes.

A contact has four modes, each two equations and two inequalities in (u, r):

    open       r = 0                              u_N ≥ 0
    stick      u = 0                              |r_T| ≤ mu r_N
    slide+     u_N = 0,  r_T = −mu r_N            r_N ≥ 0,  u_T ≥ 0
    slide−     u_N = 0,  r_T = +mu r_N            r_N ≥ 0,  u_T ≤ 0

(without friction two: open, and slide with r_T = 0 and u_T free). With u = W r + q all are linear in r. A
choice for every contact leaves a square system; where it is regular its solution is tested, where it is
singular linear programs find the polyhedron. Before all contacts are chosen, those left obey at least r ∈ K
and u_N ≥ 0: if no such r exists, no choice for them can succeed.

All is computed in the dimensionless variables λ_i r_i / |q| and u / |q|. Inequalities may be violated
by rounding, and with a large mu a normal impulse of that size allows friction of any size: points are kept
only if the residual is small, and beyond mu = 1e8 the result is not called complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from clapas.problems.contact import ContactProblem
from clapas.solvers.enumeration.families import Family, SolutionSet, distinct, unit_length
from clapas.typing import Array

OPEN, STICK, FORWARD, BACKWARD, SLIPPERY = "open", "stick", "slide+", "slide-", "slide"
SLACK = 1e-9  # by which inequalities may be violated
REGULAR = 1e-10  # smallest singular value of a regular system
SAME = 1e-7  # distance below which two solutions are one
TRUE = 1e-7  # residual of a solution
ROUGHEST = 1e8  # friction up to which rounding leaves all choices of modes decidable
PRUNED_FROM = 3  # contacts from which partial choices are tested for infeasibility


@dataclass(frozen=True)
class Polyhedron:
    """Points x with E x = e and G x ≤ g."""

    E: Array
    e: Array
    G: Array
    g: Array

    def maximum(self, c: Array) -> Array | None:
        """A point where c·x is largest; None if there is no point, or if it is unbounded."""
        result = optimize.linprog(
            -c,
            A_ub=self.G,
            b_ub=self.g,
            A_eq=self.E if len(self.E) else None,
            b_eq=self.e if len(self.E) else None,
            bounds=(None, None),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        return np.asarray(result.x) if result.status == 0 else None

    def with_bound(self, size: float) -> Polyhedron:
        """The same within the box |x_i| ≤ size."""
        unit = np.eye(self.G.shape[1])
        G = np.concatenate((self.G, unit, -unit))
        return Polyhedron(self.E, self.e, G, np.append(self.g, np.full(2 * len(unit), size)))

    def contains(self, x: Array, slack: float) -> bool:
        """Membership, with rows violated by at most ``slack``."""
        return bool((np.abs(self.E @ x - self.e) <= slack).all() and (self.G @ x <= self.g + slack).all())


def solutions(problem: ContactProblem, choices: Iterable[tuple[str, ...]] | None = None) -> SolutionSet:
    """All the solutions of a reduced problem in the plane, or those among some choices of modes."""
    size = float(np.linalg.norm(problem.q)) or 1.0
    unit = np.repeat(size / problem.response, 2)  # impulse of one unit
    W = problem.W.toarray() * unit / size
    data = _Data(W, problem.q / size, problem.mu)
    points: list[Array] = []
    families: list[tuple[Polyhedron, Family]] = []
    for modes in _choices(data, ()) if choices is None else choices:
        shape = data.polyhedron(modes)
        x = _regular_solution(shape)
        if x is not None:
            if shape.contains(x, SLACK) and problem.residual((x * unit).reshape(-1, 2)) <= TRUE:
                points.append(x)
            continue
        part = _describe(shape, modes, unit) if data.may_exist(modes) else None
        if isinstance(part, Family):
            families.append((shape, part))
        elif part is not None:
            points.append(part)
    kept = _largest(families, unit)
    isolated = distinct([x for x in points if not any(shape.contains(x, SAME) for shape, _ in kept)], SAME)
    return SolutionSet(
        isolated=tuple((x * unit).reshape(-1, 2) + 0.0 for x in isolated),
        continua=tuple(family for _, family in kept),
        complete=bool(problem.mu.max(initial=0.0) <= ROUGHEST),
    )


@dataclass(frozen=True)
class _Data:
    """A dimensionless problem."""

    W: Array
    q: Array
    mu: Array

    def modes(self, i: int) -> tuple[str, ...]:
        return (OPEN, STICK, FORWARD, BACKWARD) if self.mu[i] > 0 else (OPEN, SLIPPERY)

    def polyhedron(self, modes: tuple[str, ...]) -> Polyhedron:
        """Impulses that obey these modes at the first contacts and, at the others, r ∈ K and u_N ≥ 0."""
        equations: list[tuple[Array, float]] = []
        inequalities: list[tuple[Array, float]] = []
        for i in range(len(self.q)):
            mode = modes[i] if i < len(modes) else ""
            rows_equal, rows_below = self._rows(i, mode)
            equations += rows_equal
            inequalities += rows_below
        E, e = _stack(equations, len(self.W))
        G, g = _stack(inequalities, len(self.W))
        return Polyhedron(E, e, G, g)

    def may_exist(self, modes: tuple[str, ...]) -> bool:
        """False if no impulse can obey these modes at the first contacts, whatever the others do.

        Every impulse in a cone is a positive sum of its two edges, so the question is whether nonnegative
        numbers (these sums and the slacks of the inequalities) satisfy linear equations, decided by least
        squares.
        """
        rows: list[Array] = []
        values: list[float] = []
        slack: list[bool] = []
        edges: list[Array] = []
        for i in range(len(self.q)):
            mode = modes[i] if i < len(modes) else ""
            normal, tangent = np.eye(len(self.W))[2 * i : 2 * i + 2]
            if mode not in (OPEN, FORWARD):
                edges.append(normal + self.mu[i] * tangent)
            if mode not in (OPEN, BACKWARD):
                edges.append(normal - self.mu[i] * tangent)
            rows.append(self.W[2 * i])
            values.append(-self.q[i, 0])
            slack.append(mode in (OPEN, ""))
            if mode in (STICK, FORWARD, BACKWARD):
                sign = -1.0 if mode == BACKWARD else 1.0
                rows.append(sign * self.W[2 * i + 1])
                values.append(-sign * self.q[i, 1])
                slack.append(mode != STICK)
        A = np.column_stack(
            (np.array(rows) @ np.array(edges).reshape(-1, len(self.W)).T, -np.eye(len(rows))[:, slack])
        )
        b = np.array(values)
        if A.shape[1] == 0:
            return bool(np.abs(b).max(initial=0.0) <= SLACK)
        length = np.linalg.norm(A, axis=0)
        try:
            residual = optimize.nnls(A / np.where(length > 0.0, length, 1.0), b)[1]
        except RuntimeError:  # too many iterations: undecided
            return True
        return bool(residual <= SLACK)

    def _rows(self, i: int, mode: str) -> tuple[list[tuple[Array, float]], list[tuple[Array, float]]]:
        """Equations (a, b): a·r = b and inequalities a·r ≤ b of contact i."""
        normal, tangent = np.eye(len(self.W))[2 * i : 2 * i + 2]
        u_normal, u_tangent = self.W[2 * i : 2 * i + 2]
        q_normal, q_tangent = self.q[i]
        edge = self.mu[i] * normal
        leaves, parts = (u_normal, -q_normal), (-u_normal, q_normal)
        in_cone = [(tangent - edge, 0.0), (-tangent - edge, 0.0), (-normal, 0.0)]
        if mode == OPEN:
            return [(normal, 0.0), (tangent, 0.0)], [parts]
        if mode == STICK:
            return [leaves, (u_tangent, -q_tangent)], in_cone
        if mode == FORWARD:
            return [leaves, (tangent + edge, 0.0)], [(-normal, 0.0), (-u_tangent, q_tangent)]
        if mode == BACKWARD:
            return [leaves, (tangent - edge, 0.0)], [(-normal, 0.0), (u_tangent, -q_tangent)]
        if mode == SLIPPERY:
            return [leaves, (tangent, 0.0)], [(-normal, 0.0)]
        return [], [*in_cone, parts]


def _stack(rows: list[tuple[Array, float]], width: int) -> tuple[Array, Array]:
    """Rows as a matrix and a right-hand side, each row of length one (rows of zeros as they are)."""
    if not rows:
        return np.zeros((0, width)), np.zeros(0)
    A, b = np.array([row for row, _ in rows]), np.array([value for _, value in rows])
    length = np.linalg.norm(A, axis=1)
    length = np.where(length > 0.0, length, 1.0)
    return A / length[:, None], b / length


def _choices(data: _Data, modes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Choices of modes that may have a solution, one contact after the other."""
    n = len(data.q)
    if len(modes) == n:
        yield modes
        return
    if n >= PRUNED_FROM and modes and not data.may_exist(modes):
        return
    for mode in data.modes(len(modes)):
        yield from _choices(data, (*modes, mode))


def _regular_solution(shape: Polyhedron) -> Array | None:
    """The one point where the equations hold; None if the system is singular."""
    values = linalg.svdvals(shape.E)
    if values[-1] <= REGULAR * max(1.0, values[0]):
        return None
    return np.asarray(np.linalg.solve(shape.E, shape.e))


def _describe(shape: Polyhedron, modes: tuple[str, ...], unit: Array) -> Family | Array | None:
    """Content of a polyhedron with singular equations: a point, a family or nothing."""
    start = shape.maximum(np.zeros(shape.E.shape[1]))
    if start is None:
        return None
    start = _centre(shape, start)
    directions = _directions(shape, start)
    if len(directions) == 0:
        return start
    size = 10.0 * (1.0 + float(np.abs(start).max()))
    box = shape.with_bound(size)
    corners = [box.maximum(sign * c) for c in directions for sign in (-1.0, 1.0)]
    extremes = distinct([corner for corner in corners if corner is not None], SAME)
    bounded = all(np.abs(x).max() < 0.999 * size for x in extremes)
    members = sorted([start, *(_nearest(shape, x) for x in extremes)], key=lambda x: float(directions[0] @ x))
    return Family(
        modes=modes,
        dimension=len(directions),
        samples=tuple((x * unit).reshape(-1, 2) + 0.0 for x in distinct(members, SAME)),
        directions=unit_length(directions * unit).reshape(len(directions), -1, 2),
        is_bounded=bounded,
        contains=lambda r, slack: shape.contains(r.ravel() / unit, slack / float(unit.min())),
    )


def _centre(shape: Polyhedron, start: Array) -> Array:
    """A point of a polyhedron away from as many faces as possible."""
    box = shape.with_bound(10.0 * (1.0 + float(np.abs(start).max())))
    farthest = [box.maximum(-row) for row in shape.G]
    points = [start, *(x for x in farthest if x is not None)]
    return _nearest(shape, np.mean(points, axis=0))


def _nearest(shape: Polyhedron, x: Array) -> Array:
    """Correct the rounding of a linear program: the nearest point where the equations hold."""
    return np.asarray(x - np.linalg.lstsq(shape.E, shape.E @ x - shape.e, rcond=REGULAR)[0])


def _directions(shape: Polyhedron, centre: Array) -> Array:
    """Basis of the directions in which one can move within a polyhedron from its centre."""
    tight = shape.G[shape.g - shape.G @ centre <= SAME]
    return np.asarray(linalg.null_space(np.concatenate((shape.E, tight)), rcond=REGULAR).T)


def _largest(families: list[tuple[Polyhedron, Family]], unit: Array) -> list[tuple[Polyhedron, Family]]:
    """Drop the families contained in another (boundaries between modes are found twice)."""
    kept: list[tuple[Polyhedron, Family]] = []
    for shape, family in sorted(families, key=lambda pair: -pair[1].dimension):
        points = [r.ravel() / unit for r in family.samples]
        if not any(all(other.contains(x, SAME) for x in points) for other, _ in kept):
            kept.append((shape, family))
    return kept
