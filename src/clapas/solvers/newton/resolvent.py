"""Response of a contact with a small compliance, for which Coulomb's law is single-valued.

With a compliance α at contact i, its velocity is g + α (r − r₀), where g is that of the bodies.
The law then has exactly one solution r for each g, in closed form. With z = r₀ − g/α,

    open    z_N ≤ 0:                r = 0
    stick   |z_T| ≤ mu z_N:         r = z
    slide   otherwise:              r_N = z_N,  r_T = mu z_N z_T/|z_T|,

the projection in Alart and Curnier's function for ρ = 1/α (:class:`AlartCurnierMap`, the reference of
the tests).
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array


@kernel
def resolvent(z: Array, mu: Array, r: Array) -> None:
    """Write the resolvent of each z (n, d) into r (n, d)."""
    n, d = z.shape
    for i in range(n):
        normal = z[i, 0]
        if normal <= 0.0:
            r[i, :] = 0.0
            continue
        square = 0.0
        for k in range(1, d):
            square += z[i, k] * z[i, k]
        length, radius = np.sqrt(square), mu[i] * normal
        shrink = 1.0 if length <= radius else radius / length
        r[i, 0] = normal
        for k in range(1, d):
            r[i, k] = shrink * z[i, k]


@kernel
def resolvent_derivative(z: Array, mu: Array, by_z: Array) -> None:
    """Write the derivative of the resolvent with respect to z into by_z (n, d, d)."""
    n, d = z.shape
    for i in range(n):
        normal = z[i, 0]
        by_z[i, :, :] = 0.0
        if normal <= 0.0:
            continue
        square = 0.0
        for k in range(1, d):
            square += z[i, k] * z[i, k]
        length, radius = np.sqrt(square), mu[i] * normal
        by_z[i, 0, 0] = 1.0
        if length <= radius:
            for k in range(1, d):
                by_z[i, k, k] = 1.0
            continue
        shrink = radius / length
        for k in range(1, d):
            side = z[i, k] / length
            by_z[i, k, 0] = mu[i] * side
            by_z[i, k, k] += shrink
            for l in range(1, d):
                by_z[i, k, l] -= shrink * side * z[i, l] / length
