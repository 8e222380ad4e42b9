"""Rounds of sweeps and Newton steps in one compiled call, for kernels that solve small problems.

The same method as :class:`clapas.solvers.dense.DenseNewton`, whose rounds call LAPACK from Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.compiled import put, subroutine
from clapas.solvers.dense import COMPLIANCE, FIRST_SWEEPS, MAX_FAILURES, MORE, NEWTON_STEPS
from clapas.solvers.dense.kernels import Dense, linearise, measure, sweep
from clapas.typing import Array


@subroutine
def few_rounds(count: int, goal: float, data: Dense, part: Any, r: Array) -> tuple[int, float]:
    """Do rounds from impulses r (n, d), in place, until the law is violated by at most ``goal`` (m/s).

    Return the number of sweeps and Newton steps, and the violation.
    """
    violation, done, sweeps = measure(data, r), 0, FIRST_SWEEPS
    for _ in range(count):
        if violation <= goal:
            break
        swept, violation = sweep(sweeps, goal, data, part, r)
        done, sweeps = done + swept, MORE * sweeps
        if violation > goal:
            steps, violation = newton(goal, violation, data, r)
            done += steps
    return done, violation


@subroutine
def newton(goal: float, violation: float, data: Dense, r: Array) -> tuple[int, float]:
    """Newton steps from impulses r (n, d), replaced by the best; returns their number and the violation."""
    trial, done, failures = np.empty(r.shape), 0, 0
    put(r, trial)
    while done < NEWTON_STEPS:
        done += 1
        J, F = linearise(data, trial, COMPLIANCE)
        if not solve_full(J, F):
            break
        d = r.shape[1]
        for i in range(len(r)):
            for k in range(d):
                trial[i, k] -= F[i * d + k]
        trial_violation = measure(data, trial)
        if trial_violation < violation:
            violation, failures = trial_violation, 0
            put(trial, r)
        else:
            failures += 1
        if violation <= goal or failures == MAX_FAILURES or not np.isfinite(trial_violation):
            break
    return done, violation


@subroutine
def solve_full(A: Array, x: Array) -> bool:
    """Solve A y = x in place, with partial pivoting; False if A, which is overwritten, is singular."""
    n = len(x)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > 0.0:
            return False
        if pivot != k:
            x[k], x[pivot] = x[pivot], x[k]
            for j in range(k, n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]
    return True
