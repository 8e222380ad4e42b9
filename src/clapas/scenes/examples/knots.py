"""A knot in an elastic rope: friction decides whether it holds."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from clapas.bodies.rods import Rod
from clapas.bodies.rods.fitting import fitted
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.typing import Array

SCALE, TAIL = 0.01, 0.05  # of the knot, and length of its straight ends (m)
RADIUS, YOUNG = 1e-3, 1e8
TREFOIL = 0.492  # the constant σ of Audoly, Clauvelin and Neukirch for the overhand knot


@ranged
def knot(
    mu: Mu = 0.4,
    pull: Annotated[float, Range(0.0, 10.0, "force on the free end", "N")] = 0.17,
    elements: Annotated[int, Range(24, 400, "helices of the rope")] = 48,
) -> Scene:
    """An overhand knot in an elastic rope, clamped at one end and pulled at the other.

    In equilibrium (Audoly, Clauvelin, Neukirch 2007, for a loose knot) a loop of radius R in a rope of
    radius r and bending stiffness B bears pulls T with

        |T r²/B − ε⁴/8| ≤ mu σ ε³,    ε² = 2 r/R,    σ = 0.492,

    so without pull it holds if mu ≥ ε/(8 σ), about 0.09 for the loop of this scene, and else slips open.
    """
    length, strain, tangent, normal = fitted(_curve(), elements)
    rope = Rod(
        length=length,
        radius=RADIUS,
        density=1e3,
        young=YOUNG,
        elements=elements,
        natural=(0.0, 0.0, 0.0),
        strain=strain,
        position=_curve()[0],
        tangent=tangent,
        normal=normal,
        damping=0.01,
        drag=400.0 * 1e3 * math.pi * RADIUS**2,  # slow: what counts is whether it slips
        tip_force=tuple(pull * tangent),
        segments=2,
    )
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=mu)
    scene.add_rods(rope, name="rope")
    scene.run = Run(
        duration=0.3, dt=1e-3, every=10, scheme={"name": "moreau-jean", "theta": 1.0, "reach": 1e-3}
    )
    return scene


def least_friction(curvature: float) -> float:
    """The coefficient of friction from which a loop of this curvature (1/m) holds without pull."""
    return math.sqrt(2.0 * RADIUS * curvature) / (8.0 * TREFOIL)


def _curve() -> Array:
    """Points of a long trefoil knot, the polynomial curve (t³ − 3t, t⁴ − 4t², t⁵/5 − 2t), with tails."""
    t = np.linspace(-2.1, 2.1, 4001)
    points = SCALE * np.stack((t**3 - 3.0 * t, t**4 - 4.0 * t**2, t**5 / 5.0 - 2.0 * t), axis=1)
    before, after = points[0] - points[1], points[-1] - points[-2]
    away = np.linspace(0.0, TAIL, 400)[1:, None]
    root = points[0] + away[::-1] * before / np.linalg.norm(before)
    tip = points[-1] + away * after / np.linalg.norm(after)
    return np.concatenate((root, points, tip))
