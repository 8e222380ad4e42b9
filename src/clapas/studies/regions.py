"""Newton's method on equations that are linear by regions, as a map from regions to regions.

An iterate depends only on the region its predecessor lay in, so all paths and all cycles of the method can
be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from clapas.solvers.newton.piecewise import PiecewiseLinear, Region
from clapas.typing import Array


@dataclass(frozen=True)
class Step:
    """Newton iterate from any point of a region: a point, and its region."""

    point: Array
    region: Region


Steps = dict[Region, Step]


def steps(equation: PiecewiseLinear, size: float = 3.0) -> Steps:
    """The step from every region seen on a coarse grid of points, |x_i| ≤ ``size``, or reached from there."""
    line = (-size, 0.0, size)
    pending = [equation.region(np.array(x)) for x in product(line, repeat=equation.size)]
    newton_steps: Steps = {}
    while pending:
        region = pending.pop()
        if region not in newton_steps:
            matrix, constant = equation.piece(region)
            point: Array = np.asarray(np.linalg.solve(matrix, -constant), dtype=np.float64)
            newton_steps[region] = Step(point, equation.region(point))
            pending.append(newton_steps[region].region)
    return newton_steps


def cycles(map_: Steps) -> list[tuple[Region, ...]]:
    """Closed paths of more than one region; a region that leads to itself holds a solution."""
    loops: dict[frozenset[Region], tuple[Region, ...]] = {}
    for start in map_:
        path = path_from(start, map_)
        loop = tuple(path[path.index(path[-1]) : -1])
        if len(loop) > 1:
            loops[frozenset(loop)] = loop
    return list(loops.values())


def solutions(map_: Steps) -> int:
    """Number of regions that hold their own iterate."""
    return sum(region == step.region for region, step in map_.items())


def path_from(region: Region, map_: Steps) -> list[Region]:
    """The regions visited, up to the first repeated one, inclusive."""
    path = [region]
    while map_[path[-1]].region not in path:
        path.append(map_[path[-1]].region)
    return [*path, map_[path[-1]].region]


def has_cycle(equations: Iterable[PiecewiseLinear]) -> bool:
    """Whether Newton's method cycles on one of the equations from some start."""
    return any(cycles(steps(equation)) for equation in equations)


def threshold(happens: Callable[[float], bool], low: float, high: float, accuracy: float = 1e-4) -> float:
    """Threshold of a condition, by bisection."""
    while high - low > accuracy * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happens(middle) else (middle, high)
    return 0.5 * (low + high)
