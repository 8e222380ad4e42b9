"""Carried impulses against dictionaries and matrix products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.compiled.threads import Worker
from clapas.dynamics.warm_start import carry, carry_to_spheres, match, to_world
from clapas.problems.blocks import frames

identity = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3))
identities = st.sets(identity, max_size=25).map(sorted)


def columns(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return [np.ascontiguousarray(column) for column in table.T]


@given(old=identities, new=identities)
def test_places_are_those_of_a_dictionary(
    old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    place = np.full(len(new), -1, dtype=np.int64)
    match(*columns(old), *columns(new), place)
    where = {key: k for k, key in enumerate(old)}
    assert place.tolist() == [where.get(key, -1) for key in new]


def unit_normals(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    normal = rng.normal(size=(n, d))
    return normal / np.linalg.norm(normal, axis=1)[:, None]


@pytest.mark.parametrize("couples", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_unknowns_are_impulses_in_the_new_frames(d: int, couples: bool) -> None:
    """Expected: r = (ratio F f + cohesion e_N) / scale; couples likewise, and zero where a scale is zero."""
    rng = np.random.default_rng(d)
    n, ratio, size = 12, 1.7, d + couples * (1 if d == 2 else 3)
    f, couple = rng.normal(size=(20, d)), rng.normal(size=(20, 1 if d == 2 else 3))
    place = rng.integers(-1, 20, n)
    frame, cohesion = frames(unit_normals(rng, n, d)), rng.uniform(0.0, 1.0, n)
    scale = rng.uniform(0.5, 2.0, (n, size))
    scale[3, 1] = 0.0
    r = np.zeros((n, size))
    carry(place, ratio, f, couple, frame, cohesion, scale, r)
    for i in range(n):
        expected = np.zeros(size)
        if place[i] >= 0:
            turned = couple[place[i]] if d == 2 else frame[i] @ couple[place[i]]
            expected = ratio * np.concatenate((frame[i] @ f[place[i]], turned))[:size]
            expected[0] += cohesion[i]
            expected = np.divide(expected, scale[i], out=np.zeros(size), where=scale[i] > 0.0)
        np.testing.assert_allclose(r[i], expected, rtol=1e-13, atol=1e-14)


def test_one_row_of_scales_serves_all_contacts() -> None:
    rng = np.random.default_rng(0)
    place, frame = np.arange(5), frames(unit_normals(rng, 5, 3))
    f, scale = rng.normal(size=(5, 3)), np.array([[1.0, 2.0, 4.0]])
    one, all_of_them = np.zeros((5, 3)), np.zeros((5, 3))
    carry(place, 1.0, f, np.zeros((5, 3)), frame, np.zeros(5), scale, one)
    carry(place, 1.0, f, np.zeros((5, 3)), frame, np.zeros(5), np.tile(scale, (5, 1)), all_of_them)
    np.testing.assert_array_equal(one, all_of_them)


@pytest.mark.parametrize("size", [1, 2, 5])
@given(old=identities, new=identities)
def test_spheres_use_the_frames_of_their_normals(
    size: int, old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    """Whatever the number of threads that share the contacts."""
    rng = np.random.default_rng(1)
    n, ratio = len(new), 0.6
    normal, f, cohesion = unit_normals(rng, n, 3), rng.normal(size=(len(old), 3)), rng.uniform(size=n)
    if n > 1:
        normal[0], normal[1] = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
    r = np.full((n, 3), np.nan)
    for rank in range(size):
        worker = Worker(rank, size, np.zeros(1, dtype=np.int64))
        carry_to_spheres(worker, *columns(old), f, *columns(new), normal, ratio, cohesion, r)
    expected = np.zeros((n, 3))
    for i in (i for i in range(n) if new[i] in old):
        expected[i] = ratio * frames(normal[i : i + 1])[0] @ f[old.index(new[i])]
        expected[i, 0] += cohesion[i]
    np.testing.assert_allclose(r, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_to_the_world_and_back(d: int) -> None:
    rng = np.random.default_rng(d)
    frame, r, world = frames(unit_normals(rng, 9, d)), rng.normal(size=(9, d)), np.empty((9, d))
    to_world(frame, r, world)
    np.testing.assert_allclose(world, np.einsum("nij,ni->nj", frame, r), rtol=1e-13, atol=1e-14)
    back = np.zeros((9, d))
    carry(
        np.arange(9), 1.0, world, np.zeros((9, 1 if d == 2 else 3)), frame, np.zeros(9), np.ones((1, d)), back
    )
    np.testing.assert_allclose(back, r, rtol=1e-13, atol=1e-14)


def test_nothing_to_carry() -> None:
    r = np.empty((0, 3))
    to_world(np.empty((0, 3, 3)), r, r)
    assert r.shape == (0, 3)
