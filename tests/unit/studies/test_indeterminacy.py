"""The polygon of the wedged bar, and what its samples say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clapas.analysis.indeterminacy import random_starts
from clapas.errors import SettingsError
from clapas.problems import gallery
from clapas.studies.indeterminacy import SLOPE, Indeterminacy, friction_polygon, meeting_points


def test_forces_meet_inside_the_polygon() -> None:
    problem = gallery.wedged_bar(SLOPE, 0.5).problem
    cloud = random_starts(problem, 20, largest=5 * float(problem.f[1]))
    heights = meeting_points(cloud)
    top = friction_polygon(0.5)[3, 1]
    assert len(heights) > 0
    assert np.all((heights > 0) & (heights <= top * (1 + 1e-6)))


def test_the_polygon_is_symmetric_and_made_of_cone_edges() -> None:
    A, below, B, above = friction_polygon(0.5)
    assert np.allclose(A, -B)
    assert math.atan2(above[1], 0.5) == pytest.approx(math.atan(0.5) - SLOPE)
    assert math.atan2(-below[1], 0.5) == pytest.approx(math.atan(0.5) + SLOPE)


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="samples"):
        Indeterminacy(samples=0)
    with pytest.raises(SettingsError, match="mu must exceed"):
        Indeterminacy(mu=0.1)
