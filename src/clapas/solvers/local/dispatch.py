"""Choice of the local solver at compile time, by the type of its part.

Inside a kernel, ``solve_contact(part, r_n, r_1, r_2, u_n, u_1, u_2, coefficients)`` calls the
method of the named tuple ``part``, without a branch in the sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clapas.compiled import chosen_by_type
from clapas.solvers.local.alart_curnier import AlartCurnierPart, solve_alart_curnier
from clapas.solvers.local.canonical import Coefficients
from clapas.solvers.local.de_saxce import DeSaxcePart, solve_de_saxce
from clapas.solvers.local.exact import ExactPart, solve_exact

METHODS: dict[type, Callable[..., tuple[float, float, float]]] = {
    ExactPart: solve_exact,
    AlartCurnierPart: solve_alart_curnier,
    DeSaxcePart: solve_de_saxce,
}


def solve_contact(
    part: Any, r_n: float, r_1: float, r_2: float, u_n: float, u_1: float, u_2: float, k: Coefficients
) -> tuple[float, float, float]:
    """New impulse of one contact (Python version of the compiled dispatch)."""
    return METHODS[type(part)](part, r_n, r_1, r_2, u_n, u_1, u_2, k)


@chosen_by_type(solve_contact, is_inlined=True)
def _select(
    part: Any, r_n: Any, r_1: Any, r_2: Any, u_n: Any, u_1: Any, u_2: Any, k: Any
) -> Callable[..., tuple[float, float, float]]:
    return METHODS[part.instance_class]
