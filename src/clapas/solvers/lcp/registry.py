"""Registry of the methods for linear complementarity by name. A new one is added by one line here."""

from __future__ import annotations

from typing import Any

from clapas.errors import unknown_name
from clapas.solvers.lcp.auto import Auto
from clapas.solvers.lcp.conjugate_gradient import ConjugateProjectedGradient
from clapas.solvers.lcp.enumeration import LCPEnumeration
from clapas.solvers.lcp.fischer_burmeister import FischerBurmeisterNewton
from clapas.solvers.lcp.gauss_seidel import GaussSeidel
from clapas.solvers.lcp.interior_point import InteriorPoint
from clapas.solvers.lcp.keller import PrincipalPivoting
from clapas.solvers.lcp.latin import LATIN
from clapas.solvers.lcp.lemke import Lemke
from clapas.solvers.lcp.loop import LCPSolver
from clapas.solvers.lcp.minimum_map import MinimumMap
from clapas.solvers.lcp.mixed_integer import MixedInteger
from clapas.solvers.lcp.murty import BlockPivoting
from clapas.solvers.lcp.quadratic import QuadraticProgram
from clapas.solvers.lcp.tableau import LemkeTableau
from clapas.solvers.registry import Entry

_ENTRIES = (
    Entry(
        "auto",
        Auto,
        "Lemke's pivots, then an interior point, then for few unknowns a mixed-integer program.",
        "The default: whatever the matrix.",
    ),
    Entry(
        "lemke",
        Lemke,
        "Lemke's pivots with lexicographic ties and fresh factorisations; returns its ray when it fails.",
        "The first to try up to a thousand unknowns: semidefinite and copositive-plus matrices, games.",
    ),
    Entry(
        "lemke-tableau",
        LemkeTableau,
        "Lemke's pivots on a plain tableau, in which rounding adds up.",
        "A reference of the literature: it loses digits with every pivot.",
    ),
    Entry(
        "principal-pivoting",
        PrincipalPivoting,
        "Repairs one negative slack after the other, keeping what is repaired (Keller).",
        "Semidefinite and P-matrices (row sufficient ones), few positive unknowns.",
    ),
    Entry(
        "block-pivoting",
        BlockPivoting,
        "Guesses the active set and exchanges all that is wrong; Murty's rule to fall back on.",
        "P-matrices of any size, warm starts: some ten factorisations; singular ones by proximal steps.",
    ),
    Entry(
        "gauss-seidel",
        GaussSeidel,
        "Solves the conditions one after another, in sweeps, with relaxation (NLGS, PSOR).",
        "Large sparse problems, moderate accuracy, warm starts; monotone or symmetric copositive.",
    ),
    Entry(
        "conjugate-gradient",
        ConjugateProjectedGradient,
        "Conjugate projected gradient: one product by M per iteration.",
        "Large problems with a symmetric semidefinite matrix; other monotone ones by symmetric steps.",
    ),
    Entry(
        "latin",
        LATIN,
        "Goes to and fro between the equations and the conditions along a fixed direction.",
        "Monotone problems, symmetric or not; the direction k wants tuning.",
    ),
    Entry(
        "quadratic-program",
        QuadraticProgram,
        "A quadratic program for Clarabel, polished on the active set found.",
        "Semidefinite matrices, ill-conditioned ones included; P-matrices by a sequence of programs.",
    ),
    Entry(
        "minimum-map",
        MinimumMap,
        "Newton on min(z, w): each step solves the equations of an active set.",
        "P-matrices and good guesses; singular matrices by proximal steps.",
    ),
    Entry(
        "fischer-burmeister",
        FischerBurmeisterNewton,
        "Newton on z + w − √(z² + w²), whose merit function is smooth.",
        "Monotone and P-problems up to a thousand unknowns, and often beyond.",
    ),
    Entry(
        "interior-point",
        InteriorPoint,
        "Follows the path z_i w_i = τ → 0 from inside.",
        "Monotone and P-problems of any size, sparse ones too: some twenty factorisations.",
    ),
    Entry(
        "enumeration",
        LCPEnumeration,
        "Tries every active set: all solutions, or a proof by cases that there is none.",
        "At most 14 unknowns; the oracle of the others.",
    ),
    Entry(
        "mixed-integer",
        MixedInteger,
        "A mixed-integer program without guessed bounds, by HiGHS.",
        "Any matrix, some tens of unknowns: a solution, or a proof by cases that none exists.",
    ),
)
_BY_NAME = {entry.name: entry for entry in _ENTRIES}


def names() -> tuple[str, ...]:
    """Names of the methods.

    >>> names()[:2]
    ('auto', 'lemke')
    """
    return tuple(_BY_NAME)


def entries() -> tuple[Entry, ...]:
    """Every method with its name and its use."""
    return _ENTRIES


def find(name: str) -> Entry:
    """The method of that name.

    >>> find("latin").solver.__name__
    'LATIN'
    """
    if name not in _BY_NAME:
        raise unknown_name("LCP solver", name, _BY_NAME)
    return _BY_NAME[name]


def make(name: str, **settings: Any) -> LCPSolver:
    """A method from its name and settings.

    >>> make("lemke", tol=1e-12).tol
    1e-12
    """
    solver: LCPSolver = find(name).solver(**settings)
    return solver
