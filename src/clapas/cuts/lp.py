"""Linear programs in HiGHS, kept in memory so that each solve starts from the last basis.

A cutting plane method solves the same program hundreds of times: the costs change (the basis stays primal
feasible: primal simplex), or rows are added (it stays dual feasible: dual simplex). Starting from the last
basis then takes a few pivots where a cold start takes hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, Literal

import numpy as np
from scipy import sparse

from clapas.errors import MissingDependency, ProblemError
from clapas.typing import Array, Mask

FEASIBILITY = 1e-9  # tolerance on rows, bounds and reduced costs
SIMPLEX = {"dual": 1, "primal": 4}  # HiGHS's numbers of its strategies


OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",  # it would discard the basis
    "solver": "simplex",
    "simplex_scale_strategy": 2,
    "primal_feasibility_tolerance": FEASIBILITY,
    "dual_feasibility_tolerance": FEASIBILITY,
}
# Tried in turn from a cold start if HiGHS is inconclusive; the last one has looser tolerances.
ATTEMPTS: tuple[dict[str, Any], ...] = (
    {},
    {"simplex_strategy": SIMPLEX["dual"], "simplex_scale_strategy": 4},
    {"simplex_strategy": SIMPLEX["primal"], "simplex_scale_strategy": 4},
    {"presolve": "on"},
    {"solver": "ipm"},
    {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7},
)


class Outcome(Enum):
    """Status of a linear program."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True, eq=False)
class Answer:
    """Solution of a linear program.

    Parameters
    ----------
    outcome : Outcome
        Whether there is an optimum.
    x : array (n,)
        The optimal vertex; an unbounded ray if the program is unbounded.
    value : float
        Optimal value c·x, −∞ or +∞ if there is none.
    """

    outcome: Outcome
    x: Array
    value: float


def highs() -> ModuleType:
    """The package highspy."""
    try:
        import highspy
    except ImportError:
        raise MissingDependency("highspy", "cuts", "separation by linear programs") from None
    return highspy


class LinearProgram:
    """min c·x subject to row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper.

    Parameters
    ----------
    c : array (n,)
        Costs.
    A : sparse or dense matrix (m, n)
        Rows.
    row_lower, row_upper : array (m,)
        Bounds of the rows, infinite where there are none.
    lower, upper : array (n,)
        Bounds of the variables.
    simplex : "primal" or "dual"
        "primal" where costs will change, "dual" where rows will be added.

    Examples
    --------
    >>> ones, zeros = np.ones(2), np.zeros(2)
    >>> program = LinearProgram(-ones, [[1.0, 2.0]], [-np.inf], [2.0], zeros, ones)
    >>> program.solve().x
    array([1. , 0.5])
    >>> program.solve(np.array([1.0, -1.0])).x
    array([0., 1.])
    """

    def __init__(
        self,
        c: Any,
        A: Any,
        row_lower: Any,
        row_upper: Any,
        lower: Any,
        upper: Any,
        *,
        simplex: Literal["primal", "dual"] = "primal",
    ) -> None:
        self._options = OPTIONS | {"simplex_strategy": SIMPLEX[simplex]}
        self._engine = highs().Highs()
        _set(self._engine, self._options)
        package = highs()
        columns = sparse.csc_array(A)
        model = package.HighsLp()
        model.num_row_, model.num_col_ = columns.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = _floats(c), _floats(lower), _floats(upper)
        model.row_lower_, model.row_upper_ = _floats(row_lower), _floats(row_upper)
        model.a_matrix_.format_ = package.MatrixFormat.kColwise
        model.a_matrix_.start_ = columns.indptr.astype(np.int32)
        model.a_matrix_.index_ = columns.indices.astype(np.int32)
        model.a_matrix_.value_ = columns.data.astype(float)
        if self._engine.passModel(model) == package.HighsStatus.kError:
            raise ProblemError(
                "HiGHS refused a linear program: its data must be finite and its bounds ordered"
            )
        self._columns = np.arange(model.num_col_, dtype=np.int32)

    @property
    def pivots(self) -> int:
        """Simplex iterations of the last solve."""
        return int(self._engine.getInfo().simplex_iteration_count)

    def solve(self, c: Array | None = None) -> Answer:
        """Solve from the last basis, with other costs if some are given."""
        engine, package = self._engine, highs()
        if c is not None:
            engine.changeColsCost(len(self._columns), self._columns, c)
        status = package.HighsModelStatus
        for attempt in (None, *ATTEMPTS):
            if attempt is not None:  # failure of the last basis or method
                engine.clearSolver()
                _set(engine, self._options | attempt)
            engine.run()
            model_status = engine.getModelStatus()
            if model_status in (status.kOptimal, status.kInfeasible, status.kUnbounded):
                break
        result = self._result(model_status)
        if attempt is not None:
            _set(engine, self._options)
        return result

    def _result(self, model_status: Any) -> Answer:
        engine, status = self._engine, highs().HighsModelStatus
        nothing = np.zeros(len(self._columns))
        if model_status == status.kOptimal:
            x = np.array(engine.getSolution().col_value)
            return Answer(Outcome.OPTIMAL, x, float(engine.getInfo().objective_function_value))
        if model_status == status.kInfeasible:
            return Answer(Outcome.INFEASIBLE, nothing, np.inf)
        if model_status in (status.kUnbounded, status.kUnboundedOrInfeasible):
            _, known, ray = engine.getPrimalRay()
            return Answer(Outcome.UNBOUNDED, np.array(ray, dtype=float) if known else nothing, -np.inf)
        raise ProblemError(
            f"HiGHS could not solve a linear program ({engine.modelStatusToString(model_status)}): "
            "its rows may differ too much in size"
        )

    def forget(self) -> None:
        """Drop the basis: the next solve starts cold."""
        self._engine.clearSolver()

    def bound_rows(self, places: Any, row_lower: Any, row_upper: Any) -> None:
        """Change the bounds of some rows; the basis is kept."""
        for place, low, high in zip(places, row_lower, row_upper, strict=True):
            self._engine.changeRowBounds(int(place), float(low), float(high))

    def add_rows(self, A: Any, row_lower: Any, row_upper: Any) -> None:
        """Append rows; the basis is kept."""
        rows = sparse.csr_array(A)
        self._engine.addRows(
            rows.shape[0],
            _floats(row_lower),
            _floats(row_upper),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data.astype(float),
        )

    def delete_rows(self, places: Any) -> None:
        """Delete rows by number; the basis is kept where it stays one."""
        numbers = np.asarray(places, dtype=np.int32)
        if len(numbers):
            self._engine.deleteRows(len(numbers), numbers)

    def nonbasic(self) -> tuple[Mask, Mask, Mask, Mask]:
        """Nonbasic columns at their lower and upper bounds, and rows likewise."""
        basis, status = self._engine.getBasis(), highs().HighsBasisStatus
        low = (status.kLower, status.kZero)
        columns, rows = list(basis.col_status), list(basis.row_status)
        return (
            np.array([each in low for each in columns], dtype=bool),
            np.array([each == status.kUpper for each in columns], dtype=bool),
            np.array([each in low for each in rows], dtype=bool),
            np.array([each == status.kUpper for each in rows], dtype=bool),
        )


def _set(engine: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        engine.setOptionValue(name, value)


def _floats(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=float)
