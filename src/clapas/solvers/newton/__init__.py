"""Generalised Newton methods on all contacts at once, with the law written as an equation."""

from __future__ import annotations

from clapas.solvers.newton.augmentation import Elastoplastic
from clapas.solvers.newton.levenberg_marquardt import LevenbergMarquardt
from clapas.solvers.newton.line_searches import (
    Armijo,
    FullStep,
    GoldsteinPrice,
    Katzenelson,
    LineSearch,
    Nonmonotone,
)
from clapas.solvers.newton.maps import (
    AlartCurnierMap,
    ContactMap,
    FischerBurmeisterMap,
    JeanMoreauMap,
    NaturalMap,
)
from clapas.solvers.newton.semismooth import SemismoothNewton
from clapas.solvers.newton.smoothed import SmoothedNewton

__all__ = [
    "AlartCurnierMap",
    "Armijo",
    "ContactMap",
    "Elastoplastic",
    "FischerBurmeisterMap",
    "FullStep",
    "GoldsteinPrice",
    "JeanMoreauMap",
    "Katzenelson",
    "LevenbergMarquardt",
    "LineSearch",
    "NaturalMap",
    "Nonmonotone",
    "SemismoothNewton",
    "SmoothedNewton",
]
