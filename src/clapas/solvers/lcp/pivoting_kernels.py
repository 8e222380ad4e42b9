"""Products and exchanges with the inverse of a basis, of which few columns differ from the identity."""

from __future__ import annotations

import numpy as np

from clapas.compiled import kernel
from clapas.typing import Array, Mask


@kernel
def multiply(columns: Array, is_changed: Mask, c: Array) -> Array:
    """B⁻¹ c, where row k of ``columns`` is column k of B⁻¹ and equals e_k unless it is changed."""
    result = np.where(is_changed, 0.0, c)
    for k in range(len(c)):
        if is_changed[k] and c[k] != 0.0:
            result += c[k] * columns[k]
    return result


@kernel
def exchange(columns: Array, is_changed: Mask, direction: Array, row: int) -> None:
    """Replace the basic variable of a row by one whose column is B times ``direction``."""
    is_changed[row] = True
    for k in range(len(direction)):
        if is_changed[k] and columns[k, row] != 0.0:
            factor = columns[k, row] / direction[row]
            columns[k] -= factor * direction
            columns[k, row] = factor
