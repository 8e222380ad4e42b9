"""Components of solvers: the classes that implement each protocol used as a setting.

A setting such as ``scheme: Scheme`` takes any object with the methods of the protocol. Those that ship with
the package are listed here, so that the command line can name them. A new one is added to the table.
"""

from __future__ import annotations

from typing import Any

from clapas.solvers.backends import SCS, Clarabel
from clapas.solvers.convex import (
    AcceleratedGradient,
    ConvexSolver,
    Fallback,
    ProjectedGradient,
    SpectralGradient,
)
from clapas.solvers.fixed_point import Anderson, Broyden, Newton, Picard, Scheme
from clapas.solvers.interior_point import ConvexInteriorPoint
from clapas.solvers.newton import (
    AlartCurnierMap,
    Armijo,
    ContactMap,
    FischerBurmeisterMap,
    FullStep,
    GoldsteinPrice,
    JeanMoreauMap,
    LineSearch,
    NaturalMap,
    Nonmonotone,
)
from clapas.solvers.steps import AdaptiveStep, FixedStep, StepRule

_PARTS: dict[type[Any], tuple[type[Any], ...]] = {
    Scheme: (Picard, Anderson, Broyden, Newton),
    ConvexSolver: (
        AcceleratedGradient,
        ProjectedGradient,
        SpectralGradient,
        ConvexInteriorPoint,
        Clarabel,
        SCS,
        Fallback,
    ),
    ContactMap: (AlartCurnierMap, JeanMoreauMap, NaturalMap, FischerBurmeisterMap),
    LineSearch: (FullStep, Armijo, Nonmonotone, GoldsteinPrice),
    StepRule: (AdaptiveStep, FixedStep),
}


def parts_of(kind: type[Any]) -> tuple[type[Any], ...]:
    """The classes that implement a protocol; empty for anything else.

    Examples
    --------
    >>> [part.__name__ for part in parts_of(Scheme)]
    ['Picard', 'Anderson', 'Broyden', 'Newton']
    >>> parts_of(float)
    ()
    """
    return _PARTS.get(kind, ())
