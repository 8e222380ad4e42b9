"""Mixed-integer linear programs: MPS and LP files, and their solution by HiGHS."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from clapas.cuts.lp import highs
from clapas.errors import FormatError, ProblemError
from clapas.typing import Array, Mask

SUFFIXES = (".mps", ".lp", ".mps.gz", ".lp.gz")


@dataclass(frozen=True, eq=False)
class MILP:
    """min c·x + offset subject to row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper, some x_k integer.

    Parameters
    ----------
    c : array (n,)
        Costs, of the minimisation.
    A : sparse matrix (m, n)
        Rows.
    row_lower, row_upper : array (m,)
        Infinite where there is no bound.
    lower, upper : array (n,)
        Infinite where there is no bound; those of integer variables are rounded inwards.
    is_integer : array (n,) of bool
        Which variables are integers.
    offset : float
        Constant of the objective.
    maximise : bool
        The file asks for a maximum: values are reported with the opposite sign.
    name : str
        For reports.
    """

    c: Array
    A: sparse.csr_array
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    is_integer: Mask
    offset: float = 0.0
    maximise: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        m, n = self.A.shape
        sizes = [len(each) for each in (self.c, self.lower, self.upper, self.is_integer)]
        if sizes != [n] * 4 or len(self.row_lower) != m or len(self.row_upper) != m:
            raise ProblemError(f"A is {m} by {n}: costs, bounds and marks of integers must fit, got {sizes}")
        for name in ("lower", "upper"):
            values = np.array(getattr(self, name), dtype=float)
            # A bound slightly outside an integer is that integer, not the next one inwards.
            inwards = np.ceil(values - 1e-9) if name == "lower" else np.floor(values + 1e-9)
            object.__setattr__(self, name, np.where(self.is_integer, inwards, values))

    def __repr__(self) -> str:
        m, n = self.A.shape
        label = f"'{self.name}', " if self.name else ""
        return f"MILP({label}{n} variables, {int(self.is_integer.sum())} of them integer, {m} rows)"

    def value(self, x: Array) -> float:
        """Objective at a point, in the sense of the file."""
        return self.in_its_sense(float(self.c @ x) + self.offset)

    def in_its_sense(self, value: float) -> float:
        """A value of the minimisation in the sense of the file."""
        return -value if self.maximise else value


def read_milp(path: Path | str) -> MILP:
    """Read an MPS or LP file (also compressed by gzip), through HiGHS.

    Raises
    ------
    ProblemError
        There is no such file, or the problem is not supported: a quadratic objective or
        semi-continuous variables.
    FormatError
        HiGHS cannot read it.
    """
    file = Path(path)
    if not file.is_file():
        raise ProblemError(f"there is no file '{file}'")
    if not file.name.lower().endswith(SUFFIXES):
        raise FormatError(f"'{file.name}': expected one of {', '.join(SUFFIXES)}")
    engine, package = _engine(), highs()
    if engine.readModel(str(file)) == package.HighsStatus.kError:
        raise FormatError(
            f"'{file}' is not a mixed-integer program that HiGHS can read: is it MPS or LP text?"
        )
    model = engine.getLp()
    if engine.getHessianNumNz():
        raise ProblemError(f"'{file}' has a quadratic objective: cuts are for linear ones")
    n, m = model.num_col_, model.num_row_
    if n == 0:
        raise FormatError(f"'{file}' has no variables: is it MPS or LP text?")
    kinds = list(model.integrality_) or [package.HighsVarType.kContinuous] * n
    known = (package.HighsVarType.kContinuous, package.HighsVarType.kInteger)
    if any(kind not in known for kind in kinds):
        raise ProblemError(f"'{file}' has semi-continuous variables: write them with binary ones")
    maximise = model.sense_ == package.ObjSense.kMaximize
    sign = -1.0 if maximise else 1.0
    matrix = model.a_matrix_
    by_columns = matrix.format_ == package.MatrixFormat.kColwise
    entries = (np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_))
    rows = sparse.csc_array(entries, shape=(m, n)) if by_columns else sparse.csr_array(entries, shape=(m, n))
    return MILP(
        c=sign * np.array(model.col_cost_),
        A=sparse.csr_array(rows),
        row_lower=np.array(model.row_lower_),
        row_upper=np.array(model.row_upper_),
        lower=np.array(model.col_lower_),
        upper=np.array(model.col_upper_),
        is_integer=np.array([kind == package.HighsVarType.kInteger for kind in kinds], dtype=bool),
        offset=sign * model.offset_,
        maximise=maximise,
        name=file.name.split(".")[0],
    )


def write_milp(path: Path | str, problem: MILP) -> None:
    """Write an MPS or LP file, by its suffix."""
    engine = _engine()
    engine.passModel(_model(problem))
    if engine.writeModel(str(path)) == highs().HighsStatus.kError:
        raise FormatError(
            f"'{path}' could not be written: expected one of {', '.join(SUFFIXES)} in a folder that exists"
        )


@dataclass(frozen=True, eq=False)
class Verdict:
    """Result of HiGHS.

    Parameters
    ----------
    bound : float
        Lower bound of the minimisation.
    best : float
        Value of the best integer solution; infinite if none was found.
    x : array (n,) or None
        That solution.
    nodes : int
        Nodes of the tree.
    seconds : float
        Wall time.
    """

    bound: float
    best: float
    x: Array | None
    nodes: int
    seconds: float

    @property
    def is_optimal(self) -> bool:
        """The best solution is proved optimal, to HiGHS's tolerance of 1e-4 relative."""
        return math.isfinite(self.best) and self.best - self.bound <= 1e-4 * max(1.0, abs(self.best))


def solve_by_highs(
    problem: MILP, *, time_limit: float = 60.0, nodes: int | None = None, bare: bool = False
) -> Verdict:
    """Branch, bound and cut by HiGHS, in one thread.

    Parameters
    ----------
    problem : MILP
        The problem.
    time_limit : float
        Seconds.
    nodes : int, optional
        Nodes allowed; 1 leaves the root with its cuts.
    bare : bool
        Without presolve and heuristics: at the root, only cuts and reduced costs.
    """
    engine, package = _engine(), highs()
    options: dict[str, Any] = {"time_limit": time_limit, "threads": 1}
    if nodes is not None:
        options["mip_max_nodes"] = nodes
    if bare:
        options |= {"presolve": "off", "mip_heuristic_effort": 0.0}
    for key, value in options.items():
        engine.setOptionValue(key, value)
    engine.passModel(_model(problem))
    start = time.perf_counter()
    engine.run()
    seconds = time.perf_counter() - start
    info, status = engine.getInfo(), engine.getModelStatus()
    if status in (package.HighsModelStatus.kInfeasible, package.HighsModelStatus.kUnboundedOrInfeasible):
        return Verdict(math.inf, math.inf, None, 0, seconds)
    has_solution = info.primal_solution_status == package.kSolutionStatusFeasible
    x = np.array(engine.getSolution().col_value) if has_solution else None
    best = float(problem.c @ x) + problem.offset if x is not None else math.inf
    is_mixed = bool(problem.is_integer.any())
    bound = float(info.mip_dual_bound) if is_mixed else best
    return Verdict(bound, best, x, int(info.mip_node_count) if is_mixed else 0, seconds)


def _engine() -> Any:
    engine = highs().Highs()
    engine.setOptionValue("output_flag", False)
    return engine


def _model(problem: MILP) -> Any:
    package = highs()
    columns = sparse.csc_array(problem.A)
    model = package.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_, model.offset_ = problem.c, problem.offset
    model.col_lower_, model.col_upper_ = problem.lower, problem.upper
    model.row_lower_, model.row_upper_ = problem.row_lower, problem.row_upper
    model.a_matrix_.format_ = package.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr.astype(np.int32)
    model.a_matrix_.index_ = columns.indices.astype(np.int32)
    model.a_matrix_.value_ = columns.data.astype(float)
    kinds = (package.HighsVarType.kContinuous, package.HighsVarType.kInteger)
    model.integrality_ = [kinds[int(each)] for each in problem.is_integer]
    return model
