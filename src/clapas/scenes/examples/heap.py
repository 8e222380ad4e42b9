"""Moreau's heap: grains laid one by one near an axis, on a floor paved with grains of the same sizes.

Each grain is laid at rest on what lies below a point drawn at random within 8 mm of the axis, 200 a second.

Reference: Moreau 2003, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.shapes import Plane, Sphere
from clapas.scenes.examples.parameters import Grains, Mu, Range, Relaxation, Seed, ranged
from clapas.scenes.regions import DiscRegion
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

SLOPE = math.radians(26.0)  # printed: where to expect the summit, and how wide a floor to pave
PACKING_FRACTION = 0.615  # printed


@dataclass(frozen=True, kw_only=True)
class Deposit:
    """How the grains of a heap are deposited.

    Parameters
    ----------
    grains : int
        How many.
    rate : float
        Grains per second.
    smallest, largest : float
        Diameters, spread evenly between them (m).
    spread : float
        Radius about the axis within which they are laid (m).
    """

    grains: int
    rate: float
    smallest: float
    largest: float
    spread: float

    def __post_init__(self) -> None:
        if self.grains < 1:
            raise SceneError(f"heap: grains must be at least 1, got {self.grains}")
        if not (self.rate > 0 and self.spread > 0):
            raise SceneError(f"heap: rate and spread must be positive, got {self.rate} and {self.spread}")
        if not 0 < self.smallest <= self.largest:
            raise SceneError(
                f"heap: diameters must be positive, smallest first, got {self.smallest} and {self.largest}"
            )

    @property
    def summit(self) -> float:
        """Height of the cone that the grains should make (m)."""
        low, high = self.smallest, self.largest
        cubes = (low**2 + high**2) * (low + high) / 4  # mean of d³ for d spread evenly
        volume = self.grains * math.pi / 6 * cubes / PACKING_FRACTION
        return float((3.0 * volume * math.tan(SLOPE) ** 2 / math.pi) ** (1 / 3))


@ranged
def heap(
    grains: Grains = 1000,
    rate: Annotated[float, Range(1e-3, 1e6, "grains that appear in a second", "1/s")] = 200.0,
    smallest: Annotated[float, Range(1e-6, 1e3, "smallest diameter", "m")] = 2.5e-3,
    largest: Annotated[float, Range(1e-6, 1e3, "largest diameter", "m")] = 5e-3,
    mu: Mu = 0.4,
    density: Annotated[float, Range(1e-3, 1e6, "density", "kg/m³")] = 1000.0,
    spread: Annotated[float, Range(1e-9, 1e3, "radius within which grains appear", "m")] = 8e-3,
    seed: Seed = 1,
    relaxation: Relaxation = 1.0,
) -> Scene:
    """Grains laid one by one on a rough floor build a heap (Moreau's experiment; his had 14 000).

    Its flanks settle at about 26° for mu = 0.4, and the ground feels less pressure under the summit than
    further out (Moreau 2003). After the last grain it has ``relaxation`` seconds to come to rest.
    ``clapas study heap RUN`` measures it.
    """
    deposit = Deposit(grains=grains, rate=rate, smallest=smallest, largest=largest, spread=spread)
    scene = Scene(seed=seed)
    scene.material("grain", density=density)
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    _pave(scene, 1.4 * deposit.summit / math.tan(SLOPE) + spread, deposit)
    above = DiscRegion((0.0, 0.0, 2.0 * deposit.summit + 4.0 * largest), spread)
    sizes = (smallest / 2, largest / 2)
    scene.source(above, rate=rate, number=grains, radius=sizes, material="grain", name="grain", laid=True)
    end = grains / rate
    scene.run = Run(
        duration=end + relaxation,
        dt=2e-4,
        every=500,
        on_unsolved="record",
        solver={"name": "nsgs", "tol": 1e-3, "max_iterations": 2000},
    )
    return scene


def _pave(scene: Scene, radius: float, deposit: Deposit) -> None:
    """Fixed grains of the same sizes, half sunk in the floor: a triangular lattice, shaken."""
    random = np.random.default_rng([scene.seed, 1])
    pitch = (deposit.smallest + deposit.largest) / 2
    half = math.ceil(radius / pitch * 2 / math.sqrt(3)) + 1
    for j in range(-half, half + 1):
        for i in range(-half, half + 1):
            shake = random.uniform(-0.25, 0.25, 2) * pitch
            diameter = random.uniform(deposit.smallest, deposit.largest)
            x, y = pitch * (i + 0.5 * (j % 2)) + shake[0], pitch * math.sqrt(3) / 2 * j + shake[1]
            if math.hypot(x, y) <= radius:
                scene.add(
                    Sphere(diameter / 2), position=(x, y, 0.0), fixed=True, material="grain", group="pavement"
                )
