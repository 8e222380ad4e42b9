"""The linear system of Newton methods on contacts: P dr + A W dr = b, with one block P_i, A_i per contact.

Linearising any form of Coulomb's law at a contact gives a relation P_i dr_i + A_i du_i = b_i between the
changes of its impulse and of its velocity; the bodies give du = W dr. The same system has two forms:

* in *contact space*, (A W + P) dr = b, of size d·n; W is full or sparse;
* in *body space*, with D = P⁻¹A and du = H dv,

      (M + Hᵀ D H) dv = Hᵀ P⁻¹ b,      dr = P⁻¹ b − D H dv,

  of the size of the bodies, sparse, where W is never formed. D is large where P is small: this form loses
  digits that refinement must recover.

:func:`contact_system` chooses the contact space, unless W would have too many entries (bodies that touch
hundreds of others). Patterns are analysed once, at the start.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import delassus_matrix
from clapas.solvers.contact_system.base import SMALL, ContactSystem, Linearised, Solve, multiply
from clapas.solvers.contact_system.bodies import BodySpace, GeneralBodySpace
from clapas.solvers.contact_system.contacts import FullContactSpace, SparseContactSpace

__all__ = ["ContactSystem", "Linearised", "Solve", "contact_system", "multiply"]

MOST_ENTRIES = 20_000_000  # entries of W above which the body space is used
FULL = 0.3  # fraction of nonzero entries of W above which it is stored as a full matrix


def contact_system(
    problem: ContactProblem, space: Literal["auto", "bodies", "contacts"] = "auto"
) -> ContactSystem:
    """Choose a method for P dr + A W dr = b by the size and structure of a problem.

    Parameters
    ----------
    problem : ContactProblem
        Global or reduced.
    space : "auto", "bodies" or "contacts"
        Where to solve; the bodies need the global form.

    Examples
    --------
    >>> problem = ContactProblem(W=2.0 * np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5])
    >>> unit = np.eye(3)[None]
    >>> contact_system(problem).factorise(Linearised(P=unit, A=unit))(np.array([[3.0, 6.0, 9.0]]))
    array([[1., 2., 3.]])
    """
    unknowns = problem.n_contacts * problem.d
    if space == "bodies" and problem.form == "reduced":
        raise ProblemError("body space needs the global form (M, H, f, w); this problem has only W and q")
    is_large = unknowns > SMALL and problem.form == "global" and entries_of_delassus(problem) > MOST_ENTRIES
    if space == "bodies" or (space == "auto" and is_large):
        blocks = problem.blocks
        return BodySpace(blocks) if blocks is not None else GeneralBodySpace(problem)
    d = problem.d
    W = sparse.bsr_array(delassus_matrix(problem), blocksize=(d, d))
    W.sort_indices()
    if unknowns <= SMALL or len(W.data) * problem.d**2 > FULL * unknowns**2:
        return FullContactSpace(W.toarray(), problem.d)
    return SparseContactSpace(W, problem.d)


def entries_of_delassus(problem: ContactProblem) -> int:
    """Upper bound on the number of entries of W, in the global form."""
    if problem.blocks is None:
        return int((problem.n_contacts * problem.d) ** 2)
    touching = np.bincount(problem.blocks.bodies.ravel(), minlength=problem.blocks.n_bodies + 1)[:-1]
    return int(np.sum(touching.astype(float) ** 2)) * problem.d**2
