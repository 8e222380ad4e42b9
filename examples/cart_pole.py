"""Balance a pole on a cart: a Gymnasium environment around :class:`clapas.Simulation`.

A cart of 1 kg slides along a rail, a pole of 0.1 kg and 1 m is hinged to it, and the agent pushes the cart
with 10 N to the left or to the right every 20 ms (Barto, Sutton, Anderson 1983). Joints are exact: the rail
and the hinge hold to rounding. Left alone, the pole falls as exp(λ t) with

    λ² = g / (l (4/3 − m/(M + m))),    λ = 3.97 1/s,

l half its length. That is the number that ``main`` measures.

``pip install clapas gymnasium``, then ``python examples/cart_pole.py``.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np

import clapas

G, CART, POLE, HALF = 9.81, 1.0, 0.1, 0.5
PUSH, HOLD, DT = 10.0, 10, 2e-3  # N; steps of DT seconds between two decisions
OFF_RAIL, FALLEN = 2.4, math.radians(12)


def scene() -> clapas.Scene:
    """The cart on its rail and the pole on the cart; nothing touches anything."""
    made = clapas.Scene(d=2)
    made.law(mu=0.0)
    made.add(clapas.Polygon([(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)]), mass=CART, name="cart")
    pole = clapas.Polygon([(-0.02, -HALF), (0.02, -HALF), (0.02, HALF), (-0.02, HALF)])
    made.add(pole, (0, HALF), mass=POLE, inertia=POLE * HALF**2 / 3, name="pole")
    made.join("slider", None, "cart", at=(0, 0), axis=(1, 0), name="rail")
    made.join("pin", "cart", "pole", at=(0, 0), name="hinge")
    return made


class CartPole(gymnasium.Env[np.ndarray[Any, Any], int]):
    """Observation: place and speed of the cart, angle and rate of the pole. Reward: 1 for each decision."""

    def __init__(self) -> None:
        self.simulation = clapas.Simulation(scene(), dt=DT)
        self.action_space = gymnasium.spaces.Discrete(2)
        high = np.array([2 * OFF_RAIL, 1e3, math.pi, 1e3], dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(-high, high, dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """Back to the start; a small random push of the pole makes episodes differ."""
        super().reset(seed=seed)
        self.simulation.reset()
        self.simulation.body("pole").apply(torque=self.np_random.uniform(-1.0, 1.0))
        self.simulation.step()
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Push to the left (0) or to the right (1) for 20 ms."""
        for _ in range(HOLD):
            self.simulation.joint("rail").apply(PUSH if action == 1 else -PUSH)
            self.simulation.step()
        seen = self._seen()
        return seen, 1.0, bool(abs(seen[0]) > OFF_RAIL or abs(seen[2]) > FALLEN), False, {}

    def _seen(self) -> np.ndarray[Any, Any]:
        rail, hinge = self.simulation.joint("rail"), self.simulation.joint("hinge")
        return np.array([rail.position, rail.rate, hinge.angle, hinge.rate], dtype=np.float32)


def main() -> float:
    """Rate λ (1/s) at which a pole that is not held falls, from two angles 0.2 s apart."""
    env = CartPole()
    env.reset(seed=1)
    env.simulation.step(round(0.6 / DT))  # the part that decays has gone
    before = env.simulation.joint("hinge").angle
    env.simulation.step(round(0.2 / DT))
    return math.log(env.simulation.joint("hinge").angle / before) / 0.2


if __name__ == "__main__":
    expected = math.sqrt(G / (HALF * (4 / 3 - POLE / (CART + POLE))))
    print(f"the pole falls at {main():.3f} 1/s, expected {expected:.3f}")
