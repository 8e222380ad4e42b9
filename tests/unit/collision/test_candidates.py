"""The list of near pairs: how long it lasts, and that what is found does not depend on it."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.collision import Detector
from clapas.collision.candidates import WIDEST
from clapas.geometry.shapes import Sphere
from clapas.geometry.table import collider_table

COUNT, STEPS = 200, 120


def flight(speed: float) -> tuple[Detector, float, list[np.ndarray]]:
    """Spheres at random through which one flies; the detector, the skin it began with, places by step."""
    rng = np.random.default_rng(3)
    table = collider_table(3, [(k, Sphere(0.1), 0) for k in range(COUNT)])
    places = rng.uniform(0.0, 1.5, (COUNT, 3))
    path = []
    for k in range(STEPS):
        places = places.copy()
        places[0] = (speed * k, 0.7, 0.7)
        path.append(places)
    detector = Detector(table)
    return detector, detector.skin, path


def test_contacts_are_found_as_by_a_new_detector_whatever_the_skin() -> None:
    kept, narrow, path = flight(0.005)
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1))
    for places in path:
        found, fresh = (which.detect(places, turned) for which in (kept, Detector(kept.colliders)))
        for name in ("a", "b", "point", "normal", "gap"):
            np.testing.assert_array_equal(getattr(found, name), getattr(fresh, name))
    assert kept.skin > narrow


def test_the_skin_grows_where_something_is_fast_up_to_a_bound() -> None:
    """A path of 120 steps of a quarter of the skin: 60 lists with the skin of the start."""
    kept, narrow, path = flight(0.005)
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1))
    for places in path:
        kept.detect(places, turned)
    assert kept.n_lists < 25
    assert kept.skin <= WIDEST * narrow * (1 + 1e-12)


def test_the_skin_shrinks_again_where_all_are_slow() -> None:
    kept, narrow, path = flight(0.005)
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1))
    for places in path:
        kept.detect(places, turned)
    wide, places = kept.skin, path[-1].copy()
    for _ in range(600):
        places[0, 0] += 0.0004
        kept.detect(places, turned)
    assert narrow <= kept.skin < wide


@pytest.mark.parametrize("share_fixed", [0.0, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("period", [None, 3.0])
def test_pairs_of_movable_and_fixed_are_found_from_whichever_are_fewer(
    share_fixed: float, period: float | None
) -> None:
    """All pairs of overlapping spheres of two sizes, counted one by one, but those of two fixed ones."""
    rng = np.random.default_rng(7)
    radius = rng.choice([0.1, 0.35], COUNT, p=[0.9, 0.1])
    movable = rng.random(COUNT) >= share_fixed
    places = rng.uniform(0.0, 1.8, (COUNT, 3))
    table = collider_table(3, [(k, Sphere(radius[k]), 0) for k in range(COUNT)])
    detector = Detector(table, movable=movable, period=(period, None))
    found = detector.detect(places, np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1)))
    away = places[:, None] - places[None]
    if period is not None:
        away[..., 0] -= period * np.round(away[..., 0] / period)
    close = np.linalg.norm(away, axis=2) <= radius[:, None] + radius[None]
    close &= movable[:, None] | movable[None]
    a, b = np.nonzero(np.triu(close, 1))
    np.testing.assert_array_equal(np.column_stack((found.a, found.b)), np.column_stack((a, b)))


def test_a_detector_that_takes_over_begins_with_the_skin_that_has_come_to_suit() -> None:
    kept, narrow, path = flight(0.005)
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1))
    for places in path:
        kept.detect(places, turned)
    heir = Detector(kept.colliders, stretch=kept.next_stretch)
    assert heir.skin == pytest.approx(kept.next_stretch * narrow)
    assert heir.next_stretch == pytest.approx(kept.next_stretch)
    assert heir.next_stretch > 1.0
    found, fresh = (which.detect(path[-1], turned) for which in (heir, Detector(kept.colliders)))
    np.testing.assert_array_equal(found.gap, fresh.gap)
    assert Detector(kept.colliders, skin=0.0, stretch=4.0).next_stretch == 1.0
