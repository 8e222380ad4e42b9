"""The list of near pairs: how long it lasts, and that what is found does not depend on it."""

from __future__ import annotations

import numpy as np

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
