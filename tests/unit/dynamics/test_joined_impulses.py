"""Impulses of several ranks in one list, sorted by the identity of their contacts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.dynamics.state import Impulses
from clapas.geometry.colliders import order_by_identity

identities = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-3, 3)), max_size=40, unique=True
)


@given(identities)
def test_contacts_come_by_bodies_then_by_feature(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    order = order_by_identity(*table.T)
    assert [tuple(row) for row in table[order]] == sorted(rows)


@pytest.mark.parametrize("has_couples", [False, True])
def test_parts_are_joined_in_order_and_zero_couples_take_no_room(has_couples: bool) -> None:
    rng = np.random.default_rng(0)
    a, b, feature = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3]), np.array([0, 5, 0, 0])
    impulse = rng.normal(size=(4, 3))
    couple = rng.normal(size=(4, 3)) if has_couples else np.empty(0)
    whole = Impulses(a, b, feature, impulse, couple)
    joined = Impulses.joined([whole.take(np.array([1, 3])), whole.take(np.array([0, 2])), Impulses.none(3)])
    for name in ("a", "b", "feature", "impulse", "couple"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert bool(joined.couple.strides[0]) == has_couples
