"""Noticing cycles."""

from __future__ import annotations

import numpy as np

from clapas.solvers.newton.cycles import CycleWatch


def visits(watch: CycleWatch, *visited: tuple[int, float]) -> list[int | None]:
    return [watch.order(np.array([region], dtype=np.int8), merit) for region, merit in visited]


def test_order_of_a_cycle():
    assert visits(CycleWatch(), (0, 1.0), (1, 2.0), (0, 1.0)) == [None, None, 2]
    assert visits(CycleWatch(), (7, 1.0), (0, 1.0), (1, 2.0), (2, 3.0), (0, 1.0))[-1] == 3


def test_staying_in_a_region_is_no_cycle():
    assert visits(CycleWatch(), (0, 1.0), (0, 1.0)) == [None, None]


def test_coming_back_nearer_is_no_cycle():
    assert visits(CycleWatch(), (0, 1.0), (1, 2.0), (0, 0.5)) == [None, None, None]


def test_forgetting():
    watch = CycleWatch()
    visits(watch, (0, 1.0), (1, 1.0))
    watch.forget()
    assert visits(watch, (0, 1.0)) == [None]
