"""Compiled projection on Tresca's sets; the reference formula is :class:`clapas.convex.TrescaSet`."""

from __future__ import annotations

import math

from clapas.compiled import kernel
from clapas.typing import Array


@kernel
def project_tresca(x: Array, s: Array, out: Array) -> None:
    """Project each row of x (n, d) on {x_N ≥ 0, |x_T| ≤ s}, into ``out`` (n, d), which may be x."""
    n, d = x.shape
    for i in range(n):
        out[i, 0] = max(x[i, 0], 0.0)
        size2 = 0.0
        for k in range(1, d):
            size2 += x[i, k] * x[i, k]
        shrink = 1.0
        if size2 > s[i] * s[i] or s[i] < 0.0:
            shrink = max(s[i], 0.0) / math.sqrt(size2) if size2 > 0.0 else 0.0
        for k in range(1, d):
            out[i, k] = shrink * x[i, k]
