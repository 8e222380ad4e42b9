"""Disjunctions for tests: a drawn program, a corner, and points of branches to try cuts on."""

from __future__ import annotations

import numpy as np

from clapas.cuts import Disjunction
from clapas.cuts.lp import LinearProgram
from clapas.typing import Array

# max x₂ under 3x₁ + 2x₂ ≤ 6, −3x₁ + 2x₂ ≤ 0, x ≥ 0, attained at (1, 3/2).
TRIANGLE = (np.array([[3.0, 2.0], [-3.0, 2.0], [-1.0, 0.0], [0.0, -1.0]]), np.array([6.0, 0.0, 0.0, 0.0]))


def triangle() -> Disjunction:
    """x₂ ≤ 1 or x₂ ≥ 2, seen from the top of the triangle; the second branch is empty."""
    return Disjunction.split(*TRIANGLE, [1.0, 1.5], 1)


def drawn(n: int, seed: int) -> Disjunction:
    """The most fractional variable at the optimum of a dense random program, as in Cadoux 2009, 7.4."""
    random = np.random.default_rng(seed)
    A = random.uniform(size=(n, n))
    rows, right = np.vstack((A, -np.eye(n))), np.concatenate((A.sum(axis=1) / 2.0, np.zeros(n)))
    x = vertex(rows, right, -random.uniform(size=n))
    return Disjunction.split(rows, right, x, int(np.argmin(np.abs(x - np.floor(x) - 0.5))))


def vertex(A: Array, b: Array, c: Array) -> Array:
    """The vertex of {A x ≤ b} that minimises c·x."""
    free = np.full(A.shape[1], np.inf)
    return LinearProgram(c, A, np.full(len(b), -np.inf), b, -free, free).solve().x


def branch_points(disjunction: Disjunction, count: int) -> Array:
    """Vertices of the two branches in random directions, counted from the point of the disjunction."""
    random = np.random.default_rng(7)
    points = []
    for i in (0, 1):
        C, h = disjunction.branch(i)
        n = C.shape[1]
        free = np.full(n, 1e3)
        program = LinearProgram(np.zeros(n), C, np.full(len(h), -np.inf), h, -free, free)
        for _ in range(count):
            answer = program.solve(random.standard_normal(n))
            if np.isfinite(answer.value):
                points.append(answer.x)
    return np.array(points)
