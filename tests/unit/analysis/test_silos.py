"""Silo and hopper: Janssen's and Beverloo's laws on the shipped scenes."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.analysis import Instant
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes.examples.silos import flat_hopper, janssen, silo
from clapas.typing import Array


def floor_share(run: Recording) -> tuple[float, float]:
    """Share of the weight on the floor over the last frames, and the height of the filling."""
    floor = run.model.names.index("floor")
    shares = []
    for frame in range(-5, 0):
        instant = Instant.of_recording(run, frame)
        upward = np.where(instant.a == floor, 1.0, -1.0) * instant.force[:, 1]
        own = (instant.a == floor) | (instant.b == floor)
        shares.append(upward[own].sum() / (instant.mass[instant.movable].sum() * 9.81))
    heights = instant.centre[instant.movable, 1] - instant.centre[floor, 1] - 0.01
    return float(np.mean(shares)), float(np.quantile(heights, 0.98))


def test_the_walls_of_a_silo_carry_weight() -> None:
    with simulate(silo(count=120)) as run:
        share, height = floor_share(run)
    assert janssen(height, 0.08, 0.5, 1.2) < share < janssen(height, 0.08, 0.5, 0.35)
    assert share < 0.75


def passed(run: Recording) -> Array:
    """Grains below the floor in each frame."""
    return np.array([(frame.state.position[:, 1] < -0.03).sum() for frame in run.frames()])


@pytest.mark.slow
def test_a_hopper_flows_by_beverloos_law() -> None:
    """Narrow mouths flow in spurts: the mean of several samples tells."""
    rates = {4.0: 0.0, 7.0: 0.0}
    for mouth in rates:
        for seed in range(4):
            with simulate(flat_hopper(200, 12.0, mouth, seed=seed), duration=0.5) as run:
                count, times = passed(run), run.times
            flowing = (times > 0.28) & (count < 120)
            rates[mouth] += np.polyfit(times[flowing], count[flowing], 1)[0]
    expected = ((7.0 - 1.4) / (4.0 - 1.4)) ** 1.5
    assert rates[7.0] / rates[4.0] == pytest.approx(expected, rel=0.25)
