"""Sizes, densities and structure of a contact problem."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clapas.problems import ContactProblem


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """Numbers that describe a problem.

    Parameters
    ----------
    form : "global" or "reduced"
        Stated by M, H, f, w or by W, q.
    contacts, d, dofs : int
        Number of contacts, dimension, degrees of freedom (None in the reduced form).
    mu : (float, float) or None
        Smallest and largest coefficient of friction; None without contacts.
    law : str
        The law of the contacts, in words.
    free_velocity : float
        |q|, the scale of the residual (m/s).
    approaching : int
        Contacts with q_N < 0: those that would close without an impulse.
    response : (float, float) or None
        Smallest and largest mean diagonal of the blocks W_ii (1/kg). A large ratio makes a hard problem.
    density : dict
        Share of nonzero entries of W, and of M and H in the global form; W is left out where it is large.
    ratio : float or None
        n d / m, equations at contacts per degree of freedom: from 1 on W is singular (None in the reduced
        form).
    condition : float or None
        Condition number of W; None where W is large.
    asymmetry : dict
        |A − Aᵀ| / |A| (largest entries) of W or M.
    components : int
        Sets of contacts that share no body: each can be solved alone.
    mass_blocks : dict or None
        Number of diagonal blocks of M by their size; None in the reduced form.
    """

    form: str
    contacts: int
    d: int
    dofs: int | None
    mu: tuple[float, float] | None
    law: str
    free_velocity: float
    approaching: int
    response: tuple[float, float] | None
    density: dict[str, float]
    ratio: float | None
    condition: float | None
    asymmetry: dict[str, float]
    components: int
    mass_blocks: dict[int, int] | None


def dissect(problem: ContactProblem) -> Anatomy:
    """Describe a problem."""
    import numpy as np

    from clapas.problems import component_labels
    from clapas.problems.spectrum import describe

    is_global = problem.form == "global"
    square = {"M": problem.M} if is_global else {"W": problem.W.tocsr()}
    matrices = square | ({"H": problem.H} if is_global else {})
    spectrum = describe(problem)
    densities = {name: _density(matrix) for name, matrix in matrices.items()}
    if is_global and spectrum.density is not None:
        densities["W"] = spectrum.density
    return Anatomy(
        form=problem.form,
        contacts=problem.n_contacts,
        d=problem.d if not problem.has_couples else 2 if problem.d == 3 else 3,
        dofs=problem.n_dof if is_global else None,
        mu=_range(problem.mu),
        law=_law(problem),
        free_velocity=float(np.linalg.norm(problem.q)),
        approaching=int((problem.q[:, 0] < 0).sum()),
        response=_range(problem.response),
        density=densities,
        ratio=spectrum.ratio,
        condition=spectrum.condition,
        asymmetry={name: _asymmetry(matrix) for name, matrix in square.items()},
        components=np.unique(component_labels(problem)[0]).size,
        mass_blocks=_block_sizes(problem.M) if is_global else None,
    )


def _law(problem: ContactProblem) -> str:
    """The contact law in words: direction-dependent friction, couples."""
    from clapas.convex import Ellipses, Polygons

    section, n = problem.section, problem.n_contacts
    if isinstance(section, Polygons):
        straight = n if section.is_round is None else int((~section.is_round).sum())
        return f"Coulomb, sections of up to {section.vertices.shape[1]} corners at {straight} of {n} contacts"
    if isinstance(section, Ellipses):
        return "Coulomb, sections that are ellipses"
    if section is not None:
        return f"Coulomb, sections of the kind {type(section).__name__}"
    if problem.has_couples:
        moves = problem.local_blocks.diagonal(axis1=1, axis2=2) > 0.0
        spin = int(moves[:, 3].sum()) if problem.d == 6 else 0
        rolling = int(moves[:, 4 if problem.d == 6 else 2 :].any(axis=1).sum())
        return f"Coulomb, with couples against rolling at {rolling} and spinning at {spin} of {n} contacts"
    return "Coulomb"


def _range(values: Any) -> tuple[float, float] | None:
    return (float(values.min()), float(values.max())) if values.size else None


def _density(matrix: Any) -> float:
    size = matrix.shape[0] * matrix.shape[1]
    return int(matrix.count_nonzero()) / size if size else 0.0


def _asymmetry(matrix: Any) -> float:
    largest = float(abs(matrix).max()) if matrix.nnz else 0.0
    return float(abs(matrix - matrix.T).max()) / largest if largest else 0.0


def _block_sizes(M: Any) -> dict[int, int]:
    import numpy as np
    from scipy.sparse import csgraph

    if M.shape[0] == 0:
        return {}
    sizes = np.bincount(csgraph.connected_components(M, directed=False)[1])
    return dict(sorted(Counter(sizes.tolist()).items()))
