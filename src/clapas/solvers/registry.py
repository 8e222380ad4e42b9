"""Registry of the solvers by name, for the command line, tables and benchmarks.

A new method is added by one line here. In Python a solver is simply called: ``NSGS(tol=1e-10)``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from clapas.errors import require_settings, unknown_name
from clapas.solvers.accelerated_projection import AcceleratedProjection
from clapas.solvers.admm import ADMM
from clapas.solvers.alart_curnier_fixed_point import AlartCurnierFixedPoint
from clapas.solvers.auto import Auto
from clapas.solvers.branch_and_bound import BranchAndBound
from clapas.solvers.conic_fixed_point import ConicFixedPoint
from clapas.solvers.conjugate_gradient import ConjugateGradient
from clapas.solvers.contact_groups import ContactGroups
from clapas.solvers.de_saxce_fixed_point import DeSaxceFixedPoint
from clapas.solvers.dense import DenseNewton
from clapas.solvers.enumeration import Enumeration
from clapas.solvers.extragradient import Extragradient
from clapas.solvers.haslinger import Haslinger
from clapas.solvers.interior_point import InteriorPoint
from clapas.solvers.latin import LATIN
from clapas.solvers.loop import Solver
from clapas.solvers.micro_macro import MicroMacro
from clapas.solvers.minimisation import Bipotential, FischerBurmeister, MeritFunction
from clapas.solvers.models import Associated, FrozenSlip, Lagged, Pyramid, Staggered
from clapas.solvers.newton import LevenbergMarquardt, SemismoothNewton, SmoothedNewton
from clapas.solvers.nsgs import NSGS
from clapas.solvers.projected_jacobi import ProjectedJacobi
from clapas.solvers.proximal_point import ProximalPoint


@dataclass(frozen=True)
class Entry:
    """A solver under its name.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens.
    solver : type
        The class: a frozen dataclass whose fields are its settings.
    summary : str
        What it does, in one sentence.
    when : str
        When to use it, and when not.
    """

    name: str
    solver: type[Any]
    summary: str
    when: str


_ENTRIES = (
    Entry(
        "auto",
        Auto,
        "A portfolio: Gauss-Seidel, then others where it stalls; tells what it tried.",
        "The default. Choose another when you know your problem.",
    ),
    Entry(
        "nsgs",
        NSGS,
        "Nonsmooth Gauss-Seidel: solves the contacts one after another, in sweeps.",
        "Large packings, moderate accuracy, warm starts. Slow on walls, stacks and large mass ratios.",
    ),
    Entry(
        "dense-newton",
        DenseNewton,
        "Rounds of Gauss-Seidel sweeps and Newton steps on W written in full, compiled.",
        "Up to a hundred contacts: the fastest there. Not for large problems, nor for tall stacks.",
    ),
    Entry(
        "accelerated-projection",
        AcceleratedProjection,
        "De Saxcé's projection with Nesterov's momentum: one product by W per iteration.",
        "Packings and stacks of any size, cold start; the first to try where Gauss-Seidel crawls.",
    ),
    Entry(
        "interior-point",
        InteriorPoint,
        "All contacts at once through the inside of the cones; proximal steps where it is stuck.",
        "High accuracy on walls, stacks, towers, any conditioning. Gauss-Seidel is faster on packings.",
    ),
    Entry(
        "proximal-point",
        ProximalPoint,
        "Regularised problems, each nearer to the true one, solved by semismooth Newton steps.",
        "Tight tolerance on rigid structures; impulses need not be unique.",
    ),
    Entry(
        "conic-fixed-point",
        ConicFixedPoint,
        "Cadoux's fixed point: cone programs at frozen sliding speeds, updated until they agree.",
        "Hyperstatic walls, towers and stacks at tight tolerance; ill-conditioned problems.",
    ),
    Entry(
        "haslinger",
        Haslinger,
        "Haslinger's fixed point: Tresca friction whose thresholds are updated until it is Coulomb's.",
        "Structures that press firmly; keeps u_N ≥ 0 when stopped early. May cycle where contacts slide.",
    ),
    Entry(
        "semismooth-newton",
        SemismoothNewton,
        "Newton's method on Coulomb's law written as an equation; several equations and line searches.",
        "Deformable bodies, small problems, warm starts; quadratic at the end. Local convergence.",
    ),
    Entry(
        "levenberg-marquardt",
        LevenbergMarquardt,
        "Damped Newton steps that need no regular matrix.",
        "Singular problems of moderate size, as a reference.",
    ),
    Entry(
        "smoothed-newton",
        SmoothedNewton,
        "Newton's method on a smoothed law that sharpens under way (Fischer-Burmeister).",
        "Problems on which the plain Newton method cycles; moderate size.",
    ),
    Entry(
        "admm",
        ADMM,
        "Moves all bodies at once, then projects each contact; one factorisation for many iterations.",
        "Walls and mass ratios at moderate accuracy; warm starts.",
    ),
    Entry(
        "conjugate-gradient",
        ConjugateGradient,
        "Conjugate projected gradient with friction thresholds updated at each step.",
        "Large packings, moderate accuracy.",
    ),
    Entry(
        "extragradient",
        Extragradient,
        "Two projections per iteration on the variational inequality, with a self-adaptive step.",
        "A robust reference at moderate accuracy; slow.",
    ),
    Entry(
        "de-saxce-fixed-point",
        DeSaxceFixedPoint,
        "De Saxcé and Feng's projection of all contacts at once, with a self-adaptive step.",
        "A reference of the literature; slower than its accelerated form.",
    ),
    Entry(
        "alart-curnier-fixed-point",
        AlartCurnierFixedPoint,
        "Alart and Curnier's map iterated on all contacts at once.",
        "A reference of the literature.",
    ),
    Entry(
        "contact-groups",
        ContactGroups,
        "Gauss-Seidel on groups of contacts for which a solution always exists.",
        "A reference: fewer sweeps than contact by contact, four times on two blocks, each dearer.",
    ),
    Entry(
        "projected-jacobi",
        ProjectedJacobi,
        "Solves each contact as if the others stood still, then relaxes.",
        "A reference for parallel machines; slower than Gauss-Seidel.",
    ),
    Entry(
        "latin",
        LATIN,
        "Goes to and fro between dynamics and Coulomb's law along a fixed direction k.",
        "A reference of the literature; one factorisation, the direction wants tuning.",
    ),
    Entry(
        "micro-macro",
        MicroMacro,
        "LATIN on substructures that share bodies, tied by a coarse problem of their mean motions.",
        "Walls and stacks at moderate accuracy, memory linear in the size; slow on loose packings.",
    ),
    Entry(
        "bipotential",
        Bipotential,
        "De Saxcé's bipotential minimised under its constraints, by augmented Lagrangians and L-BFGS.",
        "A reference of the literature; slow, and it may end in a local minimum.",
    ),
    Entry(
        "fischer-burmeister",
        FischerBurmeister,
        "The Fischer-Burmeister merit function minimised by BFGS.",
        "A reference of the literature; very slow beyond some ten contacts.",
    ),
    Entry(
        "merit-function",
        MeritFunction,
        "Half the square of the natural map, or of Alart and Curnier's function, minimised by BFGS.",
        "A reference of the literature; ends in local minima beyond a few contacts.",
    ),
    Entry(
        "branch-and-bound",
        BranchAndBound,
        "Searches the modes of the contacts: a solution, or a checked proof that there is none.",
        "Last resort: some tens of contacts in 2-D, about ten in 3-D; exponential in the worst case.",
    ),
    Entry(
        "enumeration",
        Enumeration,
        "Tries every mode of every contact: all solutions, or the proof that there is none (in 2-D).",
        "At most 10 contacts in 2-D, 4 in 3-D; the oracle of the others.",
    ),
)
_MODELS = (
    Entry(
        "associated",
        Associated,
        "Friction made convex: K* ∋ u ⟂ r ∈ K.",
        "To compare. What slides is lifted, u_N = mu |u_T|.",
    ),
    Entry(
        "pyramid",
        Pyramid,
        "A pyramid for the friction cone, linear complementarity by Lemke's method.",
        "To compare, some hundred contacts. Friction is not opposite to the slip.",
    ),
    Entry(
        "lagged",
        Lagged,
        "Lötstedt: friction with the thresholds of the step before.",
        "To compare. Too much or too little friction where normal impulses change.",
    ),
    Entry(
        "staggered",
        Staggered,
        "Kaufman: normal impulses without friction, then friction without normal impulses.",
        "To compare. Friction drives bodies into each other.",
    ),
    Entry(
        "frozen-slip",
        FrozenSlip,
        "Baraff: contacts slide or stick as they would without impulses.",
        "To compare. Friction throws slow contacts back instead of stopping them.",
    ),
)
_BY_NAME = {entry.name: entry for entry in _ENTRIES}
_MODELS_BY_NAME = {entry.name: entry for entry in _MODELS}


def names() -> tuple[str, ...]:
    """Names of the solvers.

    Examples
    --------
    >>> "nsgs" in names()
    True
    """
    return tuple(_BY_NAME)


def entries() -> tuple[Entry, ...]:
    """Every solver with its name and its use."""
    return _ENTRIES


def models() -> tuple[Entry, ...]:
    """Models of friction that may be chosen in place of a solver: laws other than Coulomb's."""
    return _MODELS


def find(name: str) -> Entry:
    """The solver, or model of friction, of that name.

    Examples
    --------
    >>> find("nsgs").solver.__name__
    'NSGS'
    """
    known = _BY_NAME | _MODELS_BY_NAME
    if name not in known:
        raise unknown_name("solver", name, known)
    return known[name]


def make(name: str, **settings: Any) -> Solver:
    """A solver from its name and settings.

    Examples
    --------
    >>> make("nsgs", tol=1e-12).tol
    1e-12
    """
    kind = find(name).solver
    require_settings(name, settings, [field.name for field in fields(kind) if field.init])
    solver: Solver = kind(**settings)
    return solver
