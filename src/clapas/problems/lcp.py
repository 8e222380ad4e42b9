"""Linear complementarity problems (LCP): data, residual (the judge) and diagnostics, without algorithms."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg import exact
from clapas.linalg.norms import norm
from clapas.problems import matrix_classes, validation
from clapas.typing import Array, MatrixLike
from clapas.units import counted

ROUNDING = float(np.finfo(float).eps)
WIDE_ENOUGH = 1e10  # radius required of a proof: no solution up to this multiple of the size that q suggests
EXACT = 60  # unknowns up to which proofs are checked in integer arithmetic
NEARLY = 1e-7  # fraction of its terms below which a sum counts as zero when a proof is sharpened
LARGEST_SHARPENED = 1500  # unknowns
NEGLIGIBLE = 1e-12  # a diagonal entry below this fraction of its row does not define the scale of w against z


class LCP:
    """Find z ≥ 0 such that w = M z + q ≥ 0 and one of z_i, w_i vanishes for each i.

        w = M z + q,    0 ≤ w ⟂ z ≥ 0

    Unilateral contact without friction is one (z pressures, w separations), friction in the plane too, and so
    are the optimality conditions of quadratic programs.

    Parameters
    ----------
    M : matrix (n × n), dense or sparse
        Kept full or sparse, as given; it need not be symmetric.
    q : array (n,)
        What w would be at z = 0.
    name : str
        Name of the problem in reports.

    Examples
    --------
    >>> problem = LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    >>> problem
    LCP(2 unknowns, dense)
    >>> problem.residual([4 / 3, 7 / 3]) < 1e-15
    True
    >>> problem.slack([0.0, 3.0])
    array([-2.,  0.])

    References
    ----------
    Cottle, Pang, Stone 2009.
    """

    def __init__(self, M: MatrixLike, q: npt.ArrayLike, *, name: str = "") -> None:
        self.size = validation.square("M", M)
        self.name = name
        self.M: Array | sparse.csr_array
        if sparse.issparse(M):
            self.M = validation.matrix("M", M)
        else:
            self.M = np.array(validation.numbers("M", M))
            validation.refuse_nonfinite("M", self.M)
        self.q = validation.vector("q", q, self.size)

    def __repr__(self) -> str:
        unknowns = counted(self.size, "unknown")
        name = f"'{self.name}', " if self.name else ""
        return f"LCP({name}{unknowns}, {'sparse' if self.is_sparse else 'dense'})"

    @property
    def is_sparse(self) -> bool:
        """Whether M is stored sparse."""
        return bool(sparse.issparse(self.M))

    @cached_property
    def dense(self) -> Array:
        """M as a full matrix."""
        return np.asarray(self.M.toarray() if isinstance(self.M, sparse.csr_array) else self.M)

    @cached_property
    def response(self) -> Array:
        """Scale λ_i > 0 of w_i against z_i, (n,): the diagonal of M.

        Where the diagonal is zero or negative (games, friction), the largest entry of the row is used,
        then that of the column, then 1.
        """
        diagonal, largest = np.array(self.M.diagonal()), abs(self.M)
        row, column = (_largest(largest, axis) for axis in (1, 0))
        other = np.where(row > 0.0, row, np.where(column > 0.0, column, 1.0))
        return np.where(diagonal > NEGLIGIBLE * other, diagonal, other)

    def unknowns(self, z: npt.ArrayLike) -> Array:
        """Read z as an array (n,)."""
        values = np.ascontiguousarray(validation.numbers("z", z)).ravel()
        if values.shape != (self.size,):
            raise ProblemError(f"z has {values.size} values, expected {self.size}, one per unknown")
        return values

    def slack(self, z: npt.ArrayLike) -> Array:
        """The slacks w = M z + q, (n,)."""
        return np.asarray(self.M @ self.unknowns(z) + self.q)

    def natural_map(self, z: npt.ArrayLike, w: Array | None = None) -> Array:
        """Distance from complementarity, in the unit of w: min(w_i, λ_i z_i)."""
        z = self.unknowns(z)
        return np.minimum(self.slack(z) if w is None else w, self.response * z)

    def residual(self, z: npt.ArrayLike) -> float:
        """Residual |min(w, λ z)| / |q| of z, zero at solutions up to rounding.

        The same number in any unit of z, and in any unit of w, however large or small: no square is formed
        that a double cannot hold. It is never below the rounding error of z; with q = 0 it is relative to
        |λ z|; it is infinite where M z is.
        """
        z = self.unknowns(z)
        with np.errstate(over="ignore", invalid="ignore"):
            size = norm(self.response * z)
            scale = norm(self.q) or size or 1.0
            violation = norm(self.natural_map(z))
        if not (math.isfinite(violation) and math.isfinite(size)):
            return math.inf  # overflow
        return max(violation / scale, ROUNDING * (size / scale))

    def rounding_floor(self, z: npt.ArrayLike) -> float:
        """The lowest residual that rounding allows at z: that of λ z, or of the terms summed in M z + q."""
        z = np.abs(self.unknowns(z))
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.maximum(abs(self.M) @ z + np.abs(self.q), self.response * z)
            scale = norm(self.q) or norm(self.response * z) or 1.0
            return ROUNDING * (norm(terms) / scale)

    def energy_distance(self, z: npt.ArrayLike, reference: npt.ArrayLike) -> float:
        """η = √[(z − z*)ᵀM(z − z*) / z*ᵀM z*] to a reference z*, by which the thesis compares methods.

        Differences in the kernel of M do not count. Infinite where z* has no energy and z has some.
        """
        known = self.unknowns(reference)
        gap = self.unknowns(z) - known
        energy, reference_energy = float(gap @ (self.M @ gap)), float(known @ (self.M @ known))
        if reference_energy <= 0.0:
            return 0.0 if energy <= 0.0 else float("inf")
        return float(np.sqrt(max(energy, 0.0) / reference_energy))

    def report(self, z: npt.ArrayLike, reference: npt.ArrayLike | None = None) -> LCPReport:
        """All measures of z; with the energy distance to a reference if there is one."""
        z = self.unknowns(z)
        w = self.slack(z)
        return LCPReport(
            residual=self.residual(z),
            smallest_z=float(np.min(z, initial=np.inf)),
            smallest_w=float(np.min(w, initial=np.inf)),
            complementarity=float(z @ w),
            active=int((self.response * z > w).sum()),
            distance=None if reference is None else self.energy_distance(z, reference),
        )

    def traits(self) -> Traits:
        """Properties of the matrix, hence of the solutions. Costs a few factorisations of M."""
        M = self.dense
        semidefinite = matrix_classes.is_positive_semidefinite(M)
        return Traits(
            is_symmetric=matrix_classes.is_symmetric(M),
            is_positive_semidefinite=semidefinite,
            is_p_matrix=matrix_classes.is_p_matrix(M),
            is_copositive_plus=matrix_classes.is_copositive_plus(M),
            condition=float(np.linalg.cond(M)) if self.size else 1.0,
        )


@dataclass(frozen=True, kw_only=True)
class LCPReport:
    """Measures of unknowns z.

    Parameters
    ----------
    residual : float
        |min(w, λ z)| / |q|, the judge.
    smallest_z, smallest_w : float
        At least 0 at a solution; infinite without unknowns.
    complementarity : float
        zᵀw, zero at a solution.
    active : int
        Number of unknowns for which w_i rather than z_i is taken as zero.
    distance : float or None
        Energy distance η to the reference, when there is one.
    """

    residual: float
    smallest_z: float
    smallest_w: float
    complementarity: float
    active: int
    distance: float | None = None

    def as_dict(self) -> dict[str, float | int | None]:
        """The measures by name."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [
            ("natural-map residual", self.residual),
            ("smallest z", self.smallest_z),
            ("smallest w", self.smallest_w),
            ("complementarity zᵀw", self.complementarity),
        ]
        if self.distance is not None:
            rows.append(("energy distance", self.distance))
        head = f"{self.active} unknown{'s' * (self.active != 1)} where w rather than z is to vanish"
        return "\n".join([head, *(f"  {name:<22}{value + 0.0: .3e}" for name, value in rows)])


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Classes the matrix belongs to; None where it was not decided.

    A P-matrix has exactly one solution for every q. With a positive semidefinite or copositive-plus matrix, a
    solution exists as soon as some z ≥ 0 has M z + q ≥ 0, and Lemke's method finds it.

    Parameters
    ----------
    is_symmetric, is_positive_semidefinite : bool
        Decided up to rounding; the second on the symmetric part.
    is_p_matrix, is_copositive_plus : bool or None
        See :mod:`clapas.problems.matrix_classes`.
    condition : float
        Ratio of the extreme singular values.
    """

    is_symmetric: bool
    is_positive_semidefinite: bool
    is_p_matrix: bool | None
    is_copositive_plus: bool | None
    condition: float

    def as_dict(self) -> dict[str, bool | float | None]:
        """The traits by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Proof that no z ≥ 0 has M z + q ≥ 0, hence that the LCP has no solution (Farkas).

    A vector y with y ≥ 0, Mᵀy ≤ 0 and qᵀy < 0: for such z one would have 0 ≤ yᵀ(M z + q) ≤ qᵀy < 0.

    Examples
    --------
    >>> Infeasibility(np.array([1.0])).proves(LCP([[0.0]], [-1.0]))
    True
    >>> Infeasibility(np.array([1.0])).proves(LCP([[1.0]], [-1.0]))
    False
    """

    y: Array

    def proves(self, problem: LCP, tol: float = 1e-9) -> bool:
        """Check the three inequalities, exactly where M is small enough.

        The numbers y are doubles, so that Mᵀy ≤ 0 holds only up to rounding: the proof excludes
        solutions up to :meth:`radius`, which must be at least 1e10. Where M is positive definite by more than
        its own rounding a solution exists, and no such proof is accepted.

        ``tol`` bounds Mᵀy relative to the terms summed, in a first quick test.
        """
        y = problem.unknowns(self.y)
        if not np.isfinite(y).all() or y.min(initial=0.0) < 0.0:
            return False
        product, sizes = problem.M.T @ y, abs(problem.M).T @ y
        if not (product <= tol * sizes).all() or not float(problem.q @ y) < 0.0:
            return False
        radius = self.radius(problem)
        if radius < WIDE_ENOUGH:
            return False
        return math.isinf(radius) or not is_surely_definite(problem)

    def established(self, problem: LCP, tol: float = 1e-9) -> Infeasibility | None:
        """Return a valid proof: y itself, or sharpened; None if neither is valid.

        ``tol`` bounds Mᵀy relative to the terms summed, above which sharpening is not tried.
        """
        y = problem.unknowns(self.y)
        if not np.isfinite(y).all():
            return None
        if not (problem.M.T @ y <= tol * (abs(problem.M).T @ y)).all() or not float(problem.q @ y) < 0.0:
            return None
        candidates = (self, self.sharpened(problem))
        return next((each for each in candidates if each.proves(problem)), None)

    def radius(self, problem: LCP) -> float:
        """Largest Σ λ_i z_i / |q| of the solutions that are excluded; infinite if Mᵀy ≤ 0 holds exactly.

        For z ≥ 0, 0 ≤ yᵀ(M z + q) ≤ Σ max(0, Mᵀy)_i z_i + qᵀy is impossible while z is small enough. The
        products are computed in integers, or with a bound on their rounding where M is large.
        """
        y = problem.unknowns(self.y)
        if not y.any() or y.min() < 0.0:
            return 0.0
        if problem.size <= EXACT:
            integer_y = exact.integers(y)
            product = (exact.integers(problem.dense.T) @ integer_y).nearest()
            gain = -float((exact.integers(problem.q[None, :]) @ integer_y).nearest()[0])
        else:
            rounding = 2.0 * (problem.size + 4) * ROUNDING
            product = problem.M.T @ y + rounding * (abs(problem.M).T @ y)
            gain = -float(problem.q @ y) - rounding * float(np.abs(problem.q) @ y)
        slope = float(np.max(product / problem.response, initial=0.0)) * (1.0 + 8.0 * ROUNDING)
        if gain <= 0.0:
            return 0.0
        return gain / norm(problem.q) / slope if slope > 0.0 else math.inf

    def sharpened(self, problem: LCP) -> Infeasibility:
        """The same proof with (Mᵀy)_i set to zero where it nearly is: the last digits fix its radius."""
        y = problem.unknowns(self.y)
        used = np.flatnonzero(y > NEGLIGIBLE * float(np.max(y, initial=0.0)))
        if not 0 < len(used) <= LARGEST_SHARPENED:
            return self
        rows = problem.M[used]
        rows = np.asarray(rows.toarray() if isinstance(rows, sparse.csr_array) else rows)
        terms = np.abs(rows) * y[used, None]
        tight = np.flatnonzero((rows * y[used, None]).sum(axis=0) > -NEARLY * terms.sum(axis=0))
        equations = rows[:, tight].T * y[used]  # unknowns relative to y
        share = np.ones(len(used))
        for _ in range(2):
            share -= np.linalg.lstsq(equations, equations @ share, rcond=NEGLIGIBLE)[0]
        result = np.zeros_like(y)
        result[used] = np.maximum(y[used] * share, 0.0)
        return Infeasibility(result)


def is_surely_definite(problem: LCP) -> bool:
    """Whether a small M is positive definite by more than its own rounding, decided exactly."""
    if problem.size > EXACT:
        return False
    M = problem.dense
    margin = 8.0 * problem.size * ROUNDING * np.abs(np.diag(M))
    return exact.is_positive_definite(M - np.diag(margin))


def _largest(entries: Array | sparse.csr_array, axis: int) -> Array:
    if 0 in entries.shape:
        return np.zeros(entries.shape[0])
    largest = entries.max(axis=axis)
    return np.asarray(largest.toarray() if sparse.issparse(largest) else largest).ravel()
