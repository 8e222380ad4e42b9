"""The compiled test of certificates says yes only where the checker does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.problems import ContactProblem, gallery
from clapas.solvers.branch_and_bound.checker import ANYTHING, WIDE_ENOUGH, Domain, closing_radius
from clapas.solvers.branch_and_bound.modes import (
    BACKWARD,
    CLOSED,
    FORWARD,
    NOT_FORWARD,
    OPEN,
    QUADRANTS,
    STICK,
)
from clapas.solvers.branch_and_bound.pool import SIZE, Pool
from clapas.solvers.branch_and_bound.relaxation import Relaxation
from clapas.solvers.branch_and_bound.search import without_units


def random_domains(random: np.random.Generator, n: int, d: int) -> tuple[Domain, ...]:
    flat = (ANYTHING, OPEN, CLOSED, STICK, FORWARD, BACKWARD, NOT_FORWARD)
    low = float(random.uniform(0.0, 5.0))
    arc = Domain(False, False, (low, min(low + float(random.uniform(0.01, 1.5)), 2.0 * math.pi)))
    round_ = (ANYTHING, OPEN, CLOSED, STICK, *QUADRANTS, arc, arc._replace(opens=True))
    choices = flat if d == 2 else round_
    return tuple(choices[k] for k in random.integers(len(choices), size=n))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_checker(seed: int, d: int) -> None:
    random = np.random.default_rng(seed)
    drawn = gallery.alea(3, 1, 4, d=d, seed=seed, condition=10.0)
    mu = drawn.mu * random.choice([0.0, 1.0, 3.0], 4)
    data, _ = without_units(ContactProblem(M=drawn.M, H=drawn.H, f=drawn.f, w=drawn.w, mu=mu))
    pool, relaxation = Pool(data), Relaxation(data)
    closed = reused = 0
    for _ in range(150):
        domains = random_domains(random, 4, d)
        found = pool.find(domains)
        _, y = relaxation.solve(domains)
        if y is None:
            assert found is None
            continue
        number = pool.add(y)
        fresh = pool.find(domains, newest=1)
        assert fresh in (None, number)
        wide = closing_radius(data, y, domains) >= WIDE_ENOUGH
        assert fresh is None or wide
        closed += fresh is not None
        reused += found is not None
    assert closed > 10
    assert reused > 5


def test_forgets_the_oldest() -> None:
    data, _ = without_units(gallery.get("painleve-down-none").problem)
    pool, relaxation = Pool(data), Relaxation(data)
    _, y = relaxation.solve((STICK,))
    assert y is not None
    assert pool.add(y) == 0
    assert pool.find((STICK,)) == 0
    for _ in range(SIZE):
        pool.add(np.zeros_like(y))
    assert pool.find((STICK,)) is None
    assert pool.add(y) == SIZE + 1
    assert pool.find((STICK,)) == SIZE + 1
    pool.drop_last()
    assert pool.find((STICK,)) is None
