"""Compiled projections on the sets of the convex problem, which dominate the inner methods.

A vectorised NumPy projection costs fifty times the compiled loop on a hundred contacts, and more than all the
rest of an iteration. The readable formulas, references of the tests, are in :mod:`clapas.convex`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clapas.convex import CoulombCone, TrescaSet
from clapas.convex.base import FrictionCone
from clapas.typing import Array

Projection = Callable[[Array], Array]


def projection(admissible: FrictionCone | TrescaSet, scale: Array) -> Projection:
    """The projection of points (n, d) whose contacts were multiplied by ``scale`` (n,).

    A cone does not depend on the scale; a threshold s becomes scale·s.

    Examples
    --------
    >>> onto = projection(TrescaSet([1.0]), np.array([2.0]))
    >>> onto(np.array([[-1.0, 3.0, 4.0]]))
    array([[0. , 1.2, 1.6]])
    """
    # Kernels are imported on demand: naming a solver must not load the compiler.
    from clapas.convex.coulomb_kernels import project_contacts
    from clapas.solvers.convex.kernels import project_tresca

    kernel: Callable[[Array, Array, Array], None]
    if isinstance(admissible, TrescaSet):
        kernel, parameter = project_tresca, admissible.s * scale
    elif isinstance(admissible, CoulombCone):
        kernel, parameter = project_contacts, np.asarray(admissible.mu)
    else:
        return admissible.project

    def project(x: Array) -> Array:
        out = np.empty_like(x)
        kernel(np.ascontiguousarray(x), parameter, out)
        return out

    return project
