"""Mixed complementarity: equations with free unknowns beside complementarity conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from clapas.errors import ProblemError
from clapas.linalg.norms import norm
from clapas.problems import validation
from clapas.problems.lcp import LCP
from clapas.typing import Array, Mask, MatrixLike

SINGULAR = 1e-13  # reciprocal condition number of the equations
ROUNDING = 4.0 * float(np.finfo(float).eps)  # per unknown eliminated, of the numbers that are subtracted


class MixedLCP:
    """Find z such that w = M z + q obeys w_i = 0 for equations and 0 ≤ w_i ⟂ z_i ≥ 0 otherwise.

    The unknown of an equation is free. Joints beside contacts lead to such problems.

    Parameters
    ----------
    M : matrix (n × n), dense or sparse
        Stored full.
    q : array (n,)
        What w would be at z = 0.
    is_equation : array of bool (n,)
        Which rows are equations.

    Examples
    --------
    One equation z_0 + z_1 = 2 and one condition 0 ≤ z_1 − z_0 ⟂ z_1 ≥ 0:

    >>> problem = MixedLCP([[1.0, 1.0], [-1.0, 1.0]], [-2.0, 0.0], [True, False])
    >>> problem.reduced().M, problem.reduced().q
    (array([[2.]]), array([-2.]))
    >>> problem.expand([1.0])
    array([1., 1.])
    >>> problem.residual([1.0, 1.0])
    0.0
    """

    def __init__(self, M: MatrixLike, q: npt.ArrayLike, is_equation: npt.ArrayLike) -> None:
        self.size = validation.square("M", M)
        self.M: Array = validation.matrix("M", M).toarray()
        self.q = validation.vector("q", q, self.size)
        self.is_equation: Mask = np.asarray(is_equation, dtype=bool)
        if self.is_equation.shape != (self.size,):
            raise ProblemError(f"is_equation has shape {self.is_equation.shape}, expected ({self.size},)")

    def __repr__(self) -> str:
        equations = int(self.is_equation.sum())
        return f"MixedLCP({self.size} unknowns, {equations} of them with equations)"

    def residual(self, z: npt.ArrayLike) -> float:
        """|w_i| over equations and |min(w_i, λ_i z_i)| elsewhere, relative to |q|."""
        values = np.asarray(z, dtype=float)
        whole = LCP(self.M, self.q)
        w = whole.slack(values)
        violation = np.where(self.is_equation, w, whole.natural_map(values, w))
        return norm(violation) / (norm(self.q) or 1.0)

    def reduced(self) -> LCP:
        """The LCP left when the equations are solved for their unknowns.

        What the subtraction leaves of numbers that cancel is rounding, and becomes zero: an unknown of 1e16
        would solve a condition whose true coefficient is zero.

        Raises
        ------
        ProblemError
            The equations do not determine the free unknowns; :meth:`split` still applies.
        """
        inside = ~self.is_equation
        M = _difference(self.M[np.ix_(inside, inside)], self._coupling, self._elimination)
        return LCP(M, _difference(self.q[inside], self._coupling, self._offset))

    def expand(self, z: npt.ArrayLike) -> Array:
        """All unknowns (n,), from those of the reduced LCP."""
        values = np.asarray(z, dtype=float)
        result = np.empty(self.size)
        result[~self.is_equation] = values
        result[self.is_equation] = -self._offset - self._elimination @ values
        return result

    def split(self) -> Split:
        """The LCP with each free unknown written as a difference of two nonnegative ones.

        Larger than :meth:`reduced`, but no equation need be solved; its solutions are never unique.
        """
        equations = np.flatnonzero(self.is_equation)
        rows = np.concatenate((np.arange(self.size), equations))
        sign = np.concatenate((np.ones(self.size), -np.ones(len(equations))))
        M = sign[:, None] * self.M[np.ix_(rows, rows)] * sign
        return Split(LCP(M, sign * self.q[rows]), equations)

    def as_lcp(self) -> tuple[LCP, Callable[[Array], Array]]:
        """An LCP and the map back from its unknowns: :meth:`reduced`, or :meth:`split` where it must be."""
        try:
            return self.reduced(), self.expand
        except ProblemError:
            parts = self.split()
            return parts.lcp, parts.unknowns

    @cached_property
    def _coupling(self) -> Array:
        return self.M[np.ix_(~self.is_equation, self.is_equation)]

    @cached_property
    def _equations(self) -> Any:
        block = self.M[np.ix_(self.is_equation, self.is_equation)]
        if len(block) and not 1.0 / np.linalg.cond(block) > SINGULAR:
            raise ProblemError(
                "the equations do not determine their free unknowns (their block of M is singular): "
                "use split(), or give M so that it is invertible on them"
            )
        return linalg.lu_factor(block)

    @cached_property
    def _elimination(self) -> Array:
        return self._solve(self.M[np.ix_(self.is_equation, ~self.is_equation)])

    @cached_property
    def _offset(self) -> Array:
        return self._solve(self.q[self.is_equation])

    def _solve(self, right: Array) -> Array:
        return np.asarray(linalg.lu_solve(self._equations, right)) if right.size else right


def _difference(whole: Array, coupling: Array, eliminated: Array) -> Array:
    """``whole − coupling @ eliminated``, zero where nothing but rounding is left."""
    left = whole - coupling @ eliminated
    terms = np.abs(whole) + np.abs(coupling) @ np.abs(eliminated)
    left[np.abs(left) <= ROUNDING * len(eliminated) * terms] = 0.0
    return np.asarray(left)


@dataclass(frozen=True, eq=False)
class Split:
    """A mixed problem whose free unknowns were split: the LCP, and the map back to its unknowns."""

    lcp: LCP
    equations: npt.NDArray[np.int64]

    def unknowns(self, z: npt.ArrayLike) -> Array:
        """The unknowns of the mixed problem, from those of the LCP."""
        values = np.asarray(z, dtype=float)
        n = self.lcp.size - len(self.equations)
        result = values[:n].copy()
        result[self.equations] -= values[n:]
        return result
