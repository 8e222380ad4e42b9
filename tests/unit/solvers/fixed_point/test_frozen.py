"""Cadoux's map at one point: duality, monotony, slopes."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.errors import ProblemError
from clapas.problems import gallery, reduce
from clapas.solvers.fixed_point.frozen import contraction, frozen, slopes
from tests.random_problems import random_global


@pytest.mark.parametrize("seed", range(3))
def test_duality_3_17(seed: int) -> None:
    problem = random_global(seed, n=4, d=3)
    s = np.random.default_rng(seed).uniform(0.0, 1.0, 4)
    at = frozen(problem, s)
    constant = 0.5 * float(problem.f @ np.linalg.solve(problem.M.toarray(), problem.f))
    assert at.p + at.q + constant == pytest.approx(0.0, abs=1e-8 * (1.0 + constant))


def test_lemmas_3_3_and_3_9() -> None:
    """C(s) grows with s, so p falls and q rises; q is the least of affine functions of s: concave."""
    problem = gallery.get("alea-42-5").problem
    low, high = np.full(5, 0.1), np.array([0.1, 0.5, 0.3, 0.9, 0.2])
    here, there, middle = (frozen(problem, s) for s in (low, high, 0.5 * (low + high)))
    assert there.p <= here.p + 1e-9
    assert there.q >= here.q - 1e-9
    assert middle.q >= 0.5 * (here.q + there.q) - 1e-9


def test_slopes_of_the_rod() -> None:
    rod = gallery.get("painleve-up-two").problem
    assert contraction(rod, [1.0]) == pytest.approx(2.0, rel=1e-4)
    assert contraction(rod, [1.5]) == pytest.approx(0.0, abs=1e-6)
    reduced = frozen(reduce(rod), [1.2])
    assert reduced.value == pytest.approx([1.4])
    assert slopes(rod, [0.0]).shape == (1, 1)


def test_bad_speeds_are_refused() -> None:
    rod = gallery.get("painleve-up-two").problem
    with pytest.raises(ProblemError, match="s must be 1 speeds"):
        frozen(rod, [1.0, 2.0])
    with pytest.raises(ProblemError, match="s must be 1 speeds"):
        frozen(rod, [-1.0])
