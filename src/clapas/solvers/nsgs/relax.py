"""Over- or under-relaxation of one contact, brought back into its cone."""

from __future__ import annotations

from clapas.compiled import inlined
from clapas.convex.coulomb_kernels import project_3d


@inlined
def relaxed(
    omega: float, mu: float, r_n: float, r_1: float, r_2: float, n: float, t_1: float, t_2: float
) -> tuple[float, float, float]:
    """P_K(r + ω (r_new − r)): solutions stay fixed for any ω in ]0, 2[."""
    x_n = r_n + omega * (n - r_n)
    x_1 = r_1 + omega * (t_1 - r_1)
    x_2 = r_2 + omega * (t_2 - r_2)
    return project_3d(x_n, x_1, x_2, mu)
