"""Quasi-Newton descent (BFGS), one iteration at a time, with a line search for Wolfe's conditions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from clapas.typing import Array

Function = Callable[[Array], tuple[float, Array]]  # x ↦ value, gradient
SUFFICIENT, CURVATURE = 1e-4, 0.9


class QuasiNewton:
    """BFGS from a point x: full matrix, or the last ``memory`` pairs (L-BFGS).

    Parameters
    ----------
    function : callable
        Value and gradient.
    x : array (m,)
        Starting point.
    memory : int or None
        Number of pairs kept; None keeps the full inverse Hessian, an m×m matrix.
    line_search : int
        Trials of the Wolfe line search, which begins with the step 1.
    """

    def __init__(self, function: Function, x: Array, memory: int | None, line_search: int) -> None:
        self.function, self.line_search = function, line_search
        self.x, self.memory = x, memory
        self.value, self.gradient = function(x)
        self._last: tuple[Array, float, Array] = (x, self.value, self.gradient)
        self.model = _model(memory)

    def descend(self) -> bool:
        """Do one iteration; False if no step descends, even along the gradient."""
        direction = -self.model.apply(self.gradient)
        if not float(direction @ self.gradient) < 0.0:
            self.model = _model(self.memory)
            direction = -self.gradient
        step = self._wolfe(direction)
        if step is None and not self.model.is_identity:
            self.model = _model(self.memory)
            direction = -self.gradient
            step = self._wolfe(direction)
        if step is None:
            return False
        x = self.x + step * direction
        value, gradient = self._evaluate(x)
        self.model.update(x - self.x, gradient - self.gradient)
        self.x, self.value, self.gradient = x, value, gradient
        return True

    def _wolfe(self, direction: Array) -> float | None:
        """A step that satisfies Wolfe's conditions, by bisection from 1.

        After the last trial, the longest step with sufficient decrease; None if there was none.
        """
        slope = float(direction @ self.gradient)
        low, high, step = 0.0, math.inf, 1.0
        for _ in range(self.line_search):
            value, gradient = self._evaluate(self.x + step * direction)
            if not value <= self.value + SUFFICIENT * step * slope:
                high = step
            elif float(direction @ gradient) < CURVATURE * slope:
                low = step
            else:
                return step
            step = 0.5 * (low + high) if math.isfinite(high) else 2.0 * low
        return low or None

    def _evaluate(self, x: Array) -> tuple[float, Array]:
        """Value and gradient, kept: the line search needs both at the same points."""
        if not np.array_equal(x, self._last[0]):
            self._last = (x.copy(), *self.function(x))
        return self._last[1], self._last[2]


def _model(memory: int | None) -> FullModel | LimitedModel:
    return FullModel() if memory is None else LimitedModel(memory)


class FullModel:
    """Inverse Hessian as a full matrix."""

    def __init__(self) -> None:
        self.matrix: Array | None = None

    @property
    def is_identity(self) -> bool:
        """Whether it has no update yet: the identity."""
        return self.matrix is None

    def apply(self, g: Array) -> Array:
        """H g."""
        return g if self.matrix is None else np.asarray(self.matrix @ g)

    def update(self, s: Array, y: Array) -> None:
        """BFGS update by the step s and the change y of the gradient."""
        curvature = float(s @ y)
        if not curvature > 0.0:
            return
        if self.matrix is None:
            self.matrix = np.eye(len(s)) * (curvature / float(y @ y))
        image = self.matrix @ y
        self.matrix += np.outer(s, s) * ((curvature + float(y @ image)) / curvature**2)
        self.matrix -= (np.outer(image, s) + np.outer(s, image)) / curvature


class LimitedModel:
    """Inverse Hessian from the last pairs (two-loop recursion)."""

    def __init__(self, memory: int) -> None:
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)

    @property
    def is_identity(self) -> bool:
        """Whether it has no update yet: the identity."""
        return not self.pairs

    def apply(self, g: Array) -> Array:
        """H g."""
        if not self.pairs:
            return g
        result, weights = g.copy(), []
        for s, y, curvature in reversed(self.pairs):
            weights.append(float(s @ result) / curvature)
            result -= weights[-1] * y
        s, y, curvature = self.pairs[-1]
        result *= curvature / float(y @ y)
        for (s, y, curvature), weight in zip(self.pairs, reversed(weights), strict=True):
            result += (weight - float(y @ result) / curvature) * s
        return result

    def update(self, s: Array, y: Array) -> None:
        """Keep the pair if it shows positive curvature."""
        curvature = float(s @ y)
        if curvature > 0.0:
            self.pairs.append((s, y, curvature))
