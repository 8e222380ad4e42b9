"""The one-contact problem in canonical coordinates.

With every other impulse held fixed, contact i has u = W_ii r + q̄. Write

    W_ii = W_NN (1, c)(1, c)ᵀ + diag(0, S),    c = W_TN / W_NN,   S = W_TT − W_NN c cᵀ  (Schur complement),

and rotate the tangents to the principal axes of S, which isotropic friction allows. With
S = diag(s_1, s_2) the unknown impulse depends on two quantities that need no W:

    a = r_N + c·r_T − u_N / W_NN      the normal impulse if the contact does not slide (−q̄_N / W_NN)
    b = u_T − c u_N − S r_T           the tangential velocity left when u_N = 0 and r_T = 0

for any r and its u. The law then reads

    open   a ≤ 0,  r = 0
    else   r_T = −(S + α)⁻¹ b,  r_N = a − c·r_T,  |r_T| ≤ mu r_N,  α ≥ 0, α = 0 unless |r_T| = mu r_N

(u_T = −α r_T), with α = 0 when it sticks. A row of ``coefficients`` is (1/W_NN, c_1, c_2, s_1, s_2, mu).
The tangents are rotated once per problem; the sweeps work in rotated coordinates throughout.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from clapas.compiled import inlined, kernel
from clapas.typing import Array

N_COEFFICIENTS = 6
Coefficients: TypeAlias = Array | tuple[float, float, float, float, float, float]
# Principal values of S below this fraction of trace(W_ii) count as zero: the contact cannot be
# stopped along that tangent by its own impulse.
SINGULAR = 1e-14
# Sweeps square the coefficient: it is limited to this value, which makes no difference in practice.
LARGEST_MU = 1e100


@inlined
def canonical(
    w_nn: float, w_n1: float, w_n2: float, w_11: float, w_12: float, w_22: float
) -> tuple[float, float, float, float, float, float, float]:
    """1/W_NN, c_1, c_2, s_1, s_2 of a 3-D contact, and the cosine and sine that rotate its tangents."""
    trace = w_nn + w_11 + w_22
    c_1, c_2 = w_n1 / w_nn, w_n2 / w_nn
    s_11, s_22 = w_11 - w_nn * c_1 * c_1, w_22 - w_nn * c_2 * c_2
    s_12 = w_12 - w_nn * c_1 * c_2
    cosine, sine = 1.0, 0.0
    if abs(s_12) > SINGULAR * trace:
        angle = 0.5 * np.arctan2(2.0 * s_12, s_11 - s_22)
        cosine, sine = np.cos(angle), np.sin(angle)
        difference, mean = 0.5 * (s_11 - s_22), 0.5 * (s_11 + s_22)
        radius = np.hypot(difference, s_12)
        s_11, s_22 = mean + radius, mean - radius
        c_1, c_2 = cosine * c_1 + sine * c_2, cosine * c_2 - sine * c_1
    if abs(s_11 - s_22) <= SINGULAR * trace:  # spheres: any tangents are principal
        s_11 = s_22 = 0.5 * (s_11 + s_22)
    s_1 = s_11 if s_11 > SINGULAR * trace else 0.0
    s_2 = s_22 if s_22 > SINGULAR * trace else 0.0
    return 1.0 / w_nn, c_1, c_2, s_1, s_2, cosine, sine


@kernel
def canonical_coefficients(blocks: Array, mu: Array) -> tuple[Array, Array]:
    """Coefficients (n, 6) of each contact and the (cosine, sine) (n, 2) that rotates its tangents.

    A 2-D contact is a 3-D one whose second tangent is not used: c_2 = 0, s_2 = s_1.
    """
    n, d = blocks.shape[0], blocks.shape[1]
    coefficients = np.empty((n, N_COEFFICIENTS))
    turn = np.empty((n, 2))
    for i in range(n):
        block = blocks[i]
        w_nn, w_n1, w_11 = block[0, 0], 0.5 * (block[0, 1] + block[1, 0]), block[1, 1]
        if d == 3:
            w_n2, w_12, w_22 = (
                0.5 * (block[0, 2] + block[2, 0]),
                0.5 * (block[1, 2] + block[2, 1]),
                block[2, 2],
            )
            inverse, c_1, c_2, s_1, s_2, cosine, sine = canonical(w_nn, w_n1, w_n2, w_11, w_12, w_22)
        else:
            inverse, c_1, c_2, cosine, sine = 1.0 / w_nn, w_n1 / w_nn, 0.0, 1.0, 0.0
            s_1 = w_11 - w_nn * c_1 * c_1
            s_1 = s_1 if s_1 > SINGULAR * (w_nn + w_11) else 0.0
            s_2 = s_1
        coefficients[i, 0] = inverse
        coefficients[i, 1] = c_1
        coefficients[i, 2] = c_2
        coefficients[i, 3] = s_1
        coefficients[i, 4] = s_2
        coefficients[i, 5] = min(mu[i], LARGEST_MU)
        turn[i, 0] = cosine
        turn[i, 1] = sine
    return coefficients, turn


@inlined
def coefficients_of(coefficients: Array, i: int | np.uint32) -> Coefficients:
    """Row i as scalars, which avoids the reference counting of a view at each visit."""
    return (
        coefficients[i, 0],
        coefficients[i, 1],
        coefficients[i, 2],
        coefficients[i, 3],
        coefficients[i, 4],
        coefficients[i, 5],
    )


def turn_tangents(vectors: Array, turn: Array, back: bool = False) -> Array:
    """Rotate the tangential components of one (n, 3) vector, or (n, 3, k) rows, per contact."""
    if vectors.shape[1] == 2:
        return vectors.copy()
    shape = (len(turn),) + (1,) * (vectors.ndim - 2)
    cosine, sine = turn[:, 0].reshape(shape), turn[:, 1].reshape(shape)
    if back:
        sine = -sine
    result = vectors.copy()
    result[:, 1] = cosine * vectors[:, 1] + sine * vectors[:, 2]
    result[:, 2] = cosine * vectors[:, 2] - sine * vectors[:, 1]
    return result
