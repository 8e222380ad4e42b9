"""A layer on a slope: the angle of repose grows with friction."""

from __future__ import annotations

from clapas.io.simulation import simulate
from clapas.scenes.examples.layers import tilted_layer


def final_speed(angle: float, mu: float) -> float:
    """Mean speed down the slope at the end (m/s)."""
    with simulate(tilted_layer(angle, mu, length=10, depth=4), duration=0.6) as run:
        return float(run.frame(-1).state.velocity[run.model.movable, 0].mean())


def test_the_angle_of_repose_grows_with_friction() -> None:
    assert final_speed(11.0, mu=0.5) < 1e-3
    assert final_speed(16.0, mu=0.0) > 0.1


def test_a_steep_layer_flows_in_spite_of_friction() -> None:
    assert final_speed(24.0, mu=0.5) > 0.1
