"""Derivatives by finite differences: the independent witness of every Jacobian here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.typing import Array


def central_differences(function: Callable[[Array], Array], x: Array, h: float = 1e-6) -> Array:
    """Derivative (n, d, d) of a function that acts row by row."""
    columns = []
    for e in np.eye(x.shape[1]):
        columns.append((function(x + h * e) - function(x - h * e)) / (2.0 * h))
    return np.stack(columns, axis=2)


def around(x: Array, radius: float, count: int, seed: int) -> Array:
    """Random points at distance ``radius`` from one point x (d,), an array (count, d)."""
    step = np.random.default_rng(seed).normal(size=(count, len(x)))
    return x + radius * step / np.linalg.norm(step, axis=1, keepdims=True)
