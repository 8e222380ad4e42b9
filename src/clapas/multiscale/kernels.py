"""Compiled sparse products of a substructure, one pass each.

Interpreted, they are a dozen operations on some hundred numbers, where the interpreter takes longer than the
arithmetic and threads cannot run in parallel. A compiled pass releases the interpreter.
"""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array, Indices, Mask


@kernel
def interior_load(
    F: Array,
    start: Indices,
    column: Indices,
    value: Array,
    a: Array,
    dofs: Indices,
    scale: Array,
    h: Array,
    load: Array,
) -> None:
    """F − Bᵀa + Cᵀh, with Bᵀ by rows and C the scaled trace on the interfaces."""
    for i in range(len(F)):
        total = F[i]
        for p in range(start[i], start[i + 1]):
            total -= value[p] * a[column[p]]
        load[i] = total
    for i in range(len(dofs)):
        load[dofs[i]] += scale[i] * h[i]


@kernel
def macro_correction(
    f: Array,
    alpha: Array,
    signs: Array,
    g: Array,
    U0: Array,
    flexibility: Array,
    rigid: Array,
    spread: Array,
    U: Array,
) -> None:
    """U = U⁰ + K⁻¹CᵀR u*, with u* = K*⁺ (f + g) + rigid α and f signed for this side."""
    n = len(g)
    u_star, force = np.empty(n), np.empty(n)
    for i in range(n):
        force[i] = signs[i] * f[i] + g[i]
    np.dot(flexibility, force, u_star)
    for i in range(n):
        for j in range(len(alpha)):
            u_star[i] += rigid[i, j] * alpha[j]
    np.dot(spread, u_star, U)
    for i in range(len(U)):
        U[i] += U0[i]


@kernel
def link_forces(
    start: Indices, column: Indices, value: Array, U: Array, a: Array, l: Array, e: Array, t: Array
) -> None:
    """Elongations e = B U with B by rows, and forces t = a + l e."""
    for i in range(len(e)):
        total = 0.0
        for p in range(start[i], start[i + 1]):
            total += value[p] * U[column[p]]
        e[i] = total
        t[i] = a[i] + l[i] * total


@kernel
def split_trace(
    U: Array,
    dofs: Indices,
    scale: Array,
    R: Array,
    h: Array,
    U_macro: Array,
    U_micro: Array,
    F_micro: Array,
) -> None:
    """Macro components Rᵀ C U of the scaled trace, the micro rest of it, and the micro forces h − U_m."""
    for i in range(len(dofs)):
        U_micro[i] = scale[i] * U[dofs[i]]
    np.dot(R.T, U_micro, U_macro)
    np.dot(R, U_macro, F_micro)
    for i in range(len(dofs)):
        U_micro[i] -= F_micro[i]
        F_micro[i] = h[i] - U_micro[i]


@kernel
def local_stage_springs(
    k: Array,
    t0: Array,
    is_cable: Mask,
    t: Array,
    e: Array,
    l: Array,
    relaxation: float,
    t_hat: Array,
    e_hat: Array,
    a: Array,
) -> None:
    """Local stage of bars and cables (:class:`~clapas.multiscale.laws.Springs`); ``a`` is updated."""
    for i in range(len(k)):
        s = t[i] + l[i] * e[i]
        force = (k[i] * s + l[i] * t0[i]) / (k[i] + l[i])
        if is_cable[i] and force < 0.0:
            force = 0.0
        t_hat[i] = force
        e_hat[i] = (s - force) / l[i]
        a[i] += relaxation * (2.0 * force - s - a[i])


@kernel
def local_stage_interfaces(
    message: Array, relaxation: float, U_micro: Array, F_micro: Array, sent: Array, h: Array
) -> None:
    """Local stage of perfect interfaces: h moves towards the vector sent by the other side."""
    for i in range(len(h)):
        sent[i] = U_micro[i] - F_micro[i]
        h[i] += relaxation * (message[i] - h[i])
