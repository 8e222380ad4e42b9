"""Levenberg-Marquardt: least squares on Coulomb's law written as an equation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.loop import Halt, Iteration, IterativeSolver
from clapas.solvers.newton.maps import ContactMap, FischerBurmeisterMap
from clapas.status import Status
from clapas.typing import Array

FULL = 400  # unknowns up to which full matrices are faster
CROWDED, CROWDED_SIZE = 0.05, 3000  # density from which they are faster too, up to this size
LARGEST, SMALLEST = 1e10, 1e-8  # bounds on the factor ν
ENOUGH, GOOD = (
    1e-3,
    0.75,
)  # ratios to the predicted decrease from which a step is accepted, and the damping reduced


@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt(IterativeSolver):
    """Least squares on the law: minimise ½|Φ(r)|² by damped Gauss-Newton steps.

    With J = ∂Φ/∂u W + ∂Φ/∂r each iteration solves

        (JᵀJ + λ) dr = −JᵀΦ,      λ = ν |Φ|,

    accepts the step if |Φ|² decreases by a fraction of the prediction, and adapts ν. The damping allows a
    singular J, so that hyperstatic problems need nothing special; proportional to |Φ| it vanishes fast enough
    for quadratic convergence even where the solutions form a continuum.

    Suits small problems where a decrease at every step is desired. It may end at a local minimum of |Φ|,
    which is no solution (STALLED). JᵀJ is denser and worse conditioned than J: :class:`SemismoothNewton` is
    faster where it converges.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`. An iteration is one factorisation, which is not
        interrupted: one that would take longer than the remaining time is not started.
    function : AlartCurnierMap, JeanMoreauMap, NaturalMap or FischerBurmeisterMap
        The equation that states the law.
    augmentation : float
        ρ of each contact as a fraction of Alart's bound (74).
    damping : float
        ν at the start.

    References
    ----------
    Cadoux 2009, section 4.5.2; Fan, Yuan 2005 (λ = |Φ|).

    Examples
    --------
    >>> from clapas import gallery, solve
    >>> from clapas.solvers.newton import LevenbergMarquardt
    >>> solve(gallery.box_stack(2).problem, LevenbergMarquardt(tol=1e-8)).status.name
    'SOLVED'
    """

    max_iterations: int = 500
    function: ContactMap = field(default_factory=FischerBurmeisterMap)
    augmentation: float = 0.5
    damping: float = 1.0

    measures_each_iteration: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.augmentation < np.inf:
            raise SettingsError(f"augmentation must be positive, got {self.augmentation}")
        if not 0 < self.damping < np.inf:
            raise SettingsError(f"damping must be positive, got {self.damping}")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Form W and start from a guess (n, d)."""
        return _LevenbergMarquardtIteration(self, problem, guess)


class _LevenbergMarquardtIteration(Iteration):
    """Least squares on one problem, in dimensionless variables."""

    def __init__(self, settings: LevenbergMarquardt, problem: ContactProblem, guess: Array) -> None:
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.solvers.newton.equations import Equations

        problem = reduce(problem)
        self._settings = settings
        self._equations = equations = Equations(problem)
        self._rho = equations.augmentation(settings.augmentation)
        unit = sparse.diags_array(np.repeat(1.0 / equations.scaled.root.ravel(), problem.d))
        self._W = (unit @ problem.W.tocsr() @ unit).tocsr()
        self._x = equations.scaled.from_impulses(guess)
        self._damping = settings.damping
        self._deadline = time.perf_counter() + settings.time_limit
        self._duration = 0.0  # s, of a factorisation

    def impulses(self) -> Array:
        """The current iterate r."""
        return self._equations.scaled.to_impulses(self._x)

    def advance(self, count: int) -> None:
        """Do ``count`` steps, accepted or not."""
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        equations, function = self._equations, self._settings.function
        tangent = function.linearise(equations.velocity(self._x), self._x, equations.mu, self._rho)
        value = tangent.value.ravel()
        if not np.isfinite(value).all():
            raise Halt(Status.NUMERICAL_ERROR)
        J = _blocks(tangent.by_u) @ self._W + _blocks(tangent.by_r)
        size = float(np.linalg.norm(value))
        while True:
            # A factorisation of a large problem takes seconds: one that would end too late is not started.
            begin = time.perf_counter()
            if begin + self._duration > self._deadline:
                raise Halt(Status.TIME_LIMIT)
            dx = _damped(J, value, self._damping * size)
            self._duration = time.perf_counter() - begin
            x = self._x + dx.reshape(self._x.shape)
            new = function.value(equations.velocity(x), x, equations.mu, self._rho).ravel()
            predicted = size**2 - float(np.linalg.norm(value + J @ dx)) ** 2
            gain = (size**2 - float(np.vdot(new, new))) / predicted if predicted > 0.0 else -1.0
            if gain >= ENOUGH:
                break
            self._damping *= 4.0
            if self._damping > LARGEST:
                raise Halt(Status.STALLED)
        if gain > GOOD:
            self._damping = max(SMALLEST, 0.1 * self._damping)
        self._x = x


def _blocks(blocks: Array) -> sparse.csr_array:
    """Block diagonal matrix of blocks (n, d, d)."""
    n, d, _ = blocks.shape
    places = np.arange(n), np.arange(n + 1)
    return sparse.bsr_array((blocks, *places), shape=(n * d, n * d)).tocsr()


def _damped(J: sparse.csr_array, value: Array, damping: float) -> Array:
    """Solve (JᵀJ + λ) dx = −JᵀΦ without forming JᵀJ, which would square the condition number."""
    size = len(value)
    is_crowded = size <= CROWDED_SIZE and J.nnz > CROWDED * size**2
    solve = _by_orthogonal_factors if size <= FULL or is_crowded else _by_sparse_factors
    dx = solve(J, value, damping)
    if not np.isfinite(dx).all():
        raise Halt(Status.NUMERICAL_ERROR)
    return dx


def _by_orthogonal_factors(J: sparse.csr_array, value: Array, damping: float) -> Array:
    """The least-squares problem (J; √λ) dx ≈ (−Φ; 0), by QR of the matrix with its right-hand side."""
    size = len(value)
    system = np.zeros((2 * size, size + 1))
    system[:size, :size] = J.toarray()
    system[:size, size] = -value
    system[size + np.arange(size), np.arange(size)] = np.sqrt(damping)
    R: Array = np.asarray(np.linalg.qr(system, mode="r"))
    return np.asarray(linalg.solve_triangular(R[:size, :size], R[:size, size], check_finite=False))


def _by_sparse_factors(J: sparse.csr_array, value: Array, damping: float) -> Array:
    """The symmetric system [1, J; Jᵀ, −λ] (s, dx) = (−Φ, 0)."""
    size = len(value)
    one = sparse.eye_array(size)
    system = sparse.block_array([[one, J], [J.T, -damping * one]], format="csc")
    try:
        solution = sparse_linalg.splu(system).solve(np.concatenate((-value, np.zeros(size))))
    except RuntimeError:
        raise Halt(Status.NUMERICAL_ERROR) from None
    return np.asarray(solution[size:])
