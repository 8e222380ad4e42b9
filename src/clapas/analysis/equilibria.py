"""All the ways in which contact forces can hold bodies at rest.

For bodies at rest under the loads −f the forces at the contacts obey

    Hᵀ r = f,     r ∈ K        (|r_T| ≤ mu r_N at each contact),

a convex set, usually much more than one point. The largest and the smallest value of one force over it, and
the largest load it can bear, are linear programs in 2-D (friction cones are angles) and second-order cone
programs in 3-D. This is static limit analysis: what it calls impossible falls. What it calls possible *may*
stand: with Coulomb's friction, whose sliding is not normal to the cone, it may also slip away.

References: Moreau 2003, section 8; Livesley 1978; Drucker 1954 (why friction breaks the theorems of limit
analysis).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from clapas.errors import MissingDependency, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.dynamics.scene import Scene

INFEASIBLE, UNBOUNDED = 2, 3  # of HiGHS
EXACT = 1e-10  # what is asked of the conic engine


@dataclass(frozen=True)
class Equilibria:
    """The set {r ∈ K : Hᵀ r = f}.

    Parameters
    ----------
    H : matrix (d·n × m)
        Contact Jacobian.
    f : array (m,)
        Minus the loads on the bodies (N, N·m).
    mu : array (n,)
        Coefficients of friction.

    Examples
    --------
    A particle of 10 N in a groove at 45° with mu = 0.5: each face may carry more or less.

    >>> c = math.sqrt(0.5)
    >>> H = np.array([[c, c], [c, -c], [-c, c], [-c, -c]])
    >>> held = Equilibria(H, np.array([0.0, 10.0]), np.full(2, 0.5))
    >>> [round(bound, 3) for bound in held.range(0)]
    [2.828, 14.142]
    """

    H: Array | sparse.csr_array
    f: Array
    mu: Array

    @staticmethod
    def of_problem(problem: ContactProblem) -> Equilibria:
        """Those of a contact problem in global form, as impulses over its step."""
        return Equilibria(problem.H, problem.f, problem.mu)

    @property
    def n_contacts(self) -> int:
        """Number of contacts n."""
        return len(self.mu)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return int(self.H.shape[0] // max(1, self.n_contacts)) if self.n_contacts else 2

    def one(self) -> Array | None:
        """An equilibrium (n, d), or None if there is none."""
        return self._best(np.zeros((self.n_contacts, self.d)))[0]

    def range(self, contact: int, component: int = 0) -> tuple[float, float]:
        """Smallest and largest value of one component of one force; ±inf where nothing bounds it."""
        goal = np.zeros((self.n_contacts, self.d))
        goal[contact, component] = 1.0
        if self.one() is None:
            raise SettingsError("there is no equilibrium: no force has a range")
        return self._best(goal)[1], -self._best(-goal)[1]

    def largest_load(self, live: npt.ArrayLike) -> float:
        """Largest factor λ ≥ 0 such that the loads −f and λ live, (m,), can be borne together.

        −inf if the loads −f alone cannot be borne, inf if there is no limit.
        """
        row = sparse.csr_array(np.asarray(live, dtype=float)[None, :])
        both = sparse.vstack((sparse.csr_array(self.H), row)).tocsr()
        return -_minimum(both, self.f, self.mu, np.append(np.zeros(self.n_contacts * self.d), -1.0), self.d)[
            1
        ]

    def _best(self, goal: Array) -> tuple[Array | None, float]:
        r, value = _minimum(sparse.csr_array(self.H), self.f, self.mu, goal.ravel(), self.d)
        return (None if r is None else r.reshape(self.n_contacts, self.d)), value


def at_rest(scene: Scene, margin: float = 1e-9) -> ContactProblem:
    """The contact problem of a scene where it stands, over one second: impulses are then forces (N).

    Parameters
    ----------
    scene : Scene
        Bodies at rest.
    margin : float
        Bodies closer than this touch (m).
    """
    from clapas.dynamics.assembly import step_problem
    from clapas.dynamics.births import initial_state
    from clapas.dynamics.compilation import compile_scene
    from clapas.dynamics.stepping import free_motion
    from clapas.dynamics.surroundings import Surroundings

    model = compile_scene(scene)
    state = initial_state(model)
    contacts = Surroundings(model).detect(state, margin)
    return step_problem(model, state, contacts, free_motion(model, state, 1.0), 1.0).problem


def bisect(holds: Callable[[float], bool], low: float, high: float, accuracy: float) -> float:
    """The number between ``low``, which does not hold, and ``high``, which does, where holding begins."""
    if holds(low) or not holds(high):
        raise SettingsError(f"the limit is not between {low} and {high}")
    while high - low > accuracy:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _minimum(H: sparse.csr_array, f: Array, mu: Array, goal: Array, d: int) -> tuple[Array | None, float]:
    """Least goal·r over Hᵀ r = f with r ∈ K, and where; rows of H after those of contacts are free loads ≥ 0.

    (None, inf) where there is no such r, (None, −inf) where goal·r has no bound.
    """
    scale = float(np.abs(f).max(initial=0.0)) or 1.0
    solver = _linear if d == 2 else _conic
    r, value = solver(sparse.csc_array(H.T), f / scale, mu, goal, d)
    return (None if r is None else scale * r), scale * value


def _linear(
    balance: sparse.csc_array, f: Array, mu: Array, goal: Array, d: int
) -> tuple[Array | None, float]:
    """Unknowns are the parts along the two edges of each friction cone."""
    size = np.maximum(1.0, mu)
    n, loads = len(mu), len(goal) - 2 * len(mu)
    column, normal = np.arange(n), 2 * np.arange(n)
    entries = np.concatenate((1 / size, 1 / size, mu / size, -mu / size, np.ones(loads)))
    rows = np.concatenate((normal, normal, normal + 1, normal + 1, 2 * n + np.arange(loads)))
    columns = np.concatenate((column, n + column, column, n + column, 2 * n + np.arange(loads)))
    edges = sparse.csr_array(sparse.coo_array((entries, (rows, columns)), shape=(2 * n + loads,) * 2))
    found = linprog(edges.T @ goal, A_eq=balance @ edges, b_eq=f, bounds=(0, None), method="highs")
    if found.status == INFEASIBLE:
        return None, math.inf
    if found.status == UNBOUNDED:
        return None, -math.inf
    if found.status != 0 and goal.any():  # HiGHS may not tell which of the two: a goal of zero has a bound
        nothing = _linear(balance, f, mu, np.zeros_like(goal), d)[0] is None
        return None, math.inf if nothing else -math.inf
    return (None, math.inf) if found.x is None else (edges @ found.x, float(found.fun))


def _conic(balance: sparse.csc_array, f: Array, mu: Array, goal: Array, d: int) -> tuple[Array | None, float]:
    """Unknowns are the forces, (mu r_N, r_T) in Lorentz cones."""
    engine = _engine()
    n, size = len(mu), len(goal)
    weights = np.ones(size)
    weights[: d * n : d] = mu
    cones = [engine.ZeroConeT(len(f)), *(engine.SecondOrderConeT(d) for _ in range(n))]
    if size > d * n:
        cones.append(engine.NonnegativeConeT(size - d * n))
    rows = sparse.vstack((balance, -sparse.diags_array(weights)))
    bounds = np.concatenate((f, np.zeros(size)))
    options = engine.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = EXACT
    nothing = sparse.csc_matrix((size, size))
    found = engine.DefaultSolver(nothing, goal, sparse.csc_matrix(rows), bounds, cones, options).solve()
    status = str(found.status)
    if "PrimalInfeasible" in status:
        return None, math.inf
    if "DualInfeasible" in status:
        return None, -math.inf
    return np.array(found.x), float(found.obj_val)


def _engine() -> Any:
    try:
        return import_module("clarabel")
    except ImportError:
        raise MissingDependency("clarabel", "conic", "Limit analysis in 3-D") from None
