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
    """Where Newton's method goes from anywhere in a region: a point, and its region."""

    point: Array
    region: Region


Steps = dict[Region, Step]


def steps(equation: PiecewiseLinear, size: float = 3.0) -> Steps:
    """The step from every region met on a coarse grid of points, |x_i| ≤ ``size``, or reached from there."""
    line = (-size, 0.0, size)
    ahead = [equation.region(np.array(x)) for x in product(line, repeat=equation.size)]
    found: Steps = {}
    while ahead:
        region = ahead.pop()
        if region not in found:
            matrix, constant = equation.piece(region)
            point: Array = np.asarray(np.linalg.solve(matrix, -constant), dtype=np.float64)
            found[region] = Step(point, equation.region(point))
            ahead.append(found[region].region)
    return found


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
    """The regions visited, up to and with the first that repeats."""
    path = [region]
    while map_[path[-1]].region not in path:
        path.append(map_[path[-1]].region)
    return [*path, map_[path[-1]].region]


def has_cycle(equations: Iterable[PiecewiseLinear]) -> bool:
    """Tell whether Newton's method cycles on one of the equations from some start."""
    return any(cycles(steps(equation)) for equation in equations)


def threshold(happens: Callable[[float], bool], low: float, high: float, accuracy: float = 1e-4) -> float:
    """The smallest number from which something happens, by bisection."""
    while high - low > accuracy * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happens(middle) else (middle, high)
    return 0.5 * (low + high)
