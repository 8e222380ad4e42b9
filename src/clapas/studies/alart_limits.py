"""Smallest augmentation at which Newton's method cycles, compared with Alart's bounds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from clapas.problems import ContactProblem
from clapas.solvers import solve
from clapas.solvers.newton import AlartCurnierMap, FullStep, SemismoothNewton
from clapas.solvers.newton.augmentation import Elastoplastic, one_spring_bound, two_springs_bound, uzawa_bound
from clapas.solvers.newton.piecewise import PiecewiseLinear, elastoplastic_spring, springs_with_friction
from clapas.studies.regions import has_cycle, steps, threshold
from clapas.typing import Array

A = np.array([[2.0, -1.0], [-1.0, 1.0]])  # the double oscillator: r_uz = 3 − √5
MATERIAL = Elastoplastic(stiffness=10.0, hardening=1.0, yield_force=1.0)
UZAWA_STEPS = 3000


def one_spring(a: float) -> list[str]:
    """(57): printed bound, and smallest r at which Newton's method cycles for some load."""

    def equations(r: float) -> Iterable[PiecewiseLinear]:
        return (springs_with_friction([[a]], [f], 1.0, r) for f in np.linspace(-1.0, 1.0, 21))

    found = threshold(lambda r: has_cycle(equations(r)), 1e-3, 10 * a)
    return [f"{one_spring_bound(a):.4f}", f"{found:.4f}"]


def two_springs(loads: list[Array]) -> list[str]:
    """(60): printed bound, and smallest r at which it cycles for one of these loads."""
    found = threshold(
        lambda r: has_cycle(springs_with_friction(A, f, 1.0, r) for f in loads), 1e-3, 10.0, 1e-3
    )
    return [f"{two_springs_bound(A):.4f}", f"{found:.4f}"]


def uzawa() -> list[str]:
    """(58), by iteration: from a small start the iterates around λ = 0 shrink or grow."""
    C, start = np.linalg.inv(A), 1e-8 * np.array([1.0, 0.3])

    def grows(r: float) -> bool:
        force = start
        for _ in range(UZAWA_STEPS):
            force = np.clip(force - r * C @ force, -1.0, 1.0)  # f = 0, thresholds 1
        return float(np.linalg.norm(force)) > float(np.linalg.norm(start))

    return [f"3 − √5 = {uzawa_bound(A):.4f}", f"{threshold(grows, 1e-3, 10.0):.4f}"]


def uniqueness(C: Array) -> list[str]:
    """(66): friction from which some load has more than one solution, by all modes of the one contact."""
    angles = np.linspace(0.0, 2.0 * np.pi, 40_000, endpoint=False) + 1e-5
    q_n, q_t = C @ np.array([np.cos(angles), np.sin(angles)])

    def has_two(mu: float) -> bool:
        r_n, r_t = -np.linalg.solve(C, np.array([q_n, q_t]))
        count = (q_n > 0.0).astype(int) + (np.abs(r_t) < mu * r_n)
        for side in (-1.0, 1.0):  # slides with u_T of that sign, r_T = −side mu r_N
            push = -q_n / (C[0, 0] - side * mu * C[0, 1])
            slip = (C[0, 1] - side * mu * C[1, 1]) * push + q_t
            count = count + ((push > 0.0) & (side * slip > 0.0))
        return bool((count > 1).any())

    formula = C[0, 0] / abs(C[0, 1])  # normal component first
    return [f"{formula:.4f}", f"{threshold(has_two, 1e-3, 10 * formula, 1e-5):.4f}"]


def plastic(alpha: float) -> list[str]:
    """(77): printed bound, and smallest r at which the two slips lead to each other."""
    formula = float(MATERIAL.bound(1.0, alpha))
    found = threshold(lambda r: _jumps_between_slips(alpha, r), 1e-6, 100.0)
    return [f"{formula:.4g}", f"{found:.4g}"]


def _jumps_between_slips(alpha: float, r: float) -> bool:
    """The cycle (P−, S−) ↔ (P+, S+) of the paper."""
    map_ = steps(elastoplastic_spring(MATERIAL, alpha, 0.0, r), size=100.0)
    on, back = (True, True, True, True), (False, False, False, False)
    return map_[on].region == back and map_[back].region == on


def first_cycles(nodes: int, share: float, count: int, seed: int) -> Counter[int]:
    """Problems on which Newton's method cycles, by the order of the first cycle seen."""
    random = np.random.default_rng(seed)
    found: Counter[int] = Counter()
    newton = SemismoothNewton(
        tol=1e-10, function=AlartCurnierMap(), line_search=FullStep(), augmentation=share
    )
    for _ in range(count):
        root = random.normal(size=(2 * nodes, 2 * nodes))
        q = random.normal(size=(nodes, 2)) - [1.0, 0.0]
        problem = ContactProblem(W=root @ root.T + 0.05 * np.eye(2 * nodes), q=q, mu=0.2, d=2)
        solution = solve(problem, newton, guess=3.0 * random.normal(size=(nodes, 2)), check=False)
        cycle = re.search(r"cycle of order (\d+)", " ".join(solution.notes))
        if cycle:
            found[int(cycle[1])] += 1
    return found
