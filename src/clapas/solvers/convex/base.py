"""The convex problem with frozen friction, and the interface of its solvers.

Coulomb's law is not the optimality condition of a minimisation. With one frozen number per
contact it becomes that of a convex problem, of the same form in both cases:

    min { ½ rᵀW r + bᵀr : r ∈ C },     gradient  u = W r + b.

* Cadoux freezes the sliding speed s_i = |u_T,i|: b = q + E s with E = diag(mu_i e_N), C = K the product of
  the friction cones, and the gradient is the shifted velocity ũ ∈ K*.
* Haslinger freezes the threshold s_i = mu_i r_N,i: b = q, C = T(s) = {r_N ≥ 0, |r_T| ≤ s}.

A fixed point on s then gives the law. The methods in this folder solve the convex problem; the fixed
points use one of them. :class:`ConvexProblem` states the problem and measures the residual,
:class:`ConvexSolver` holds the settings, :class:`ConvexMethod` is the method running on one contact problem,
which keeps its data (factorisations, steps, scalings) from one value of s to the next.

*W must be symmetric here*: a skew part has no energy. Published files hold skew parts up to 1e-3 of W
(gyroscopic terms treated implicitly), small enough to be lagged: W r = S r + A r with S = ½(W + Wᵀ), the
minimisation is posed with S, and A r of the last outer iteration is added to b. :func:`symmetric_part` gives
both. Ignored, the skew part bounds every inner residual from below; lagged, it costs nothing: the error it
leaves shrinks by about |A|/|S| at each outer iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from clapas.convex import CoulombCone, TrescaSet
from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.typing import Array

ROUNDING = 1e-15  # a skew part below this, relative to W, is attributed to rounding


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    """A contact problem with frozen friction: min {½ rᵀW r + bᵀr : r ∈ C}.

    Build it with :meth:`conic` or :meth:`tresca`.

    Parameters
    ----------
    contacts : ContactProblem
        Gives W, symmetric (through products only), and the scales: the responses λ_i and |q|.
    b : array (n, d)
        Velocity at the contacts when r = 0. Unit: m/s.
    admissible : CoulombCone or TrescaSet
        The set C, a product of one set per contact.

    Examples
    --------
    A particle pressed on the floor and pushed sideways, its sliding speed frozen at 2 m/s:

    >>> particle = ContactProblem(W=np.eye(3), q=[[-1.0, 3.0, 0.0]], mu=[0.5])
    >>> frozen = ConvexProblem.conic(particle, np.array([2.0]))
    >>> frozen.b
    array([[0., 3., 0.]])
    >>> frozen.residual(np.array([[1.2, -0.6, 0.0]])) < 1e-15
    True
    """

    contacts: ContactProblem
    b: Array
    admissible: CoulombCone | TrescaSet

    @classmethod
    def conic(cls, contacts: ContactProblem, s: Array, lag: Array | float = 0.0) -> ConvexProblem:
        """Freeze the sliding speeds s (n,), in m/s: b = q + E s + lag on the friction cones (Cadoux)."""
        b = contacts.q + lag
        b[:, 0] += contacts.mu * s
        return cls(contacts, b, CoulombCone(contacts.mu, contacts.d))

    @classmethod
    def tresca(cls, contacts: ContactProblem, s: Array, lag: Array | float = 0.0) -> ConvexProblem:
        """Freeze the thresholds s (n,), in N·s: b = q + lag on {r_N ≥ 0, |r_T| ≤ s} (Haslinger)."""
        return cls(contacts, contacts.q + lag, TrescaSet(s))

    @property
    def is_conic(self) -> bool:
        """True on the friction cones, False on the sets of Tresca."""
        return isinstance(self.admissible, CoulombCone)

    @cached_property
    def scale(self) -> float:
        """Velocity scale of residuals: |q|, as for the contact problem (or |b|, or 1)."""
        return float(np.linalg.norm(self.contacts.q)) or float(np.linalg.norm(self.b)) or 1.0

    def velocity(self, r: Array) -> Array:
        """Gradient u = W r + b, (n, d)."""
        return self.contacts.apply_delassus(r) + self.b

    def energy(self, r: Array, u: Array) -> float:
        """Value ½ rᵀW r + bᵀr, from the velocity u = W r + b."""
        return 0.5 * float(np.vdot(r, u + self.b))

    def natural_map(self, r: Array, u: Array) -> Array:
        """Distance from optimality at each contact, as a velocity: λ_i (r_i − P_C(r_i − u_i / λ_i))."""
        response = self.contacts.response[:, None]
        error: Array = response * (r - self.admissible.project(r - u / response))
        return error

    def residual(self, r: Array, u: Array | None = None) -> float:
        """Distance of r from the minimum, relative to |q|: no unit, zero exactly at minimisers.

        The same scale as ``ContactProblem.residual``: where s is the fixed point, the two numbers of
        the conic problem are equal.
        """
        u = self.velocity(r) if u is None else u
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(self.natural_map(r, u))) / self.scale


class ConvexSolution(NamedTuple):
    """Result of a convex method.

    ``r`` is always in C, however early the method stopped. ``u`` is W r + b for this r, and
    ``residual`` is measured on both by :meth:`ConvexProblem.residual`: it may exceed the accuracy requested.
    """

    r: Array
    u: Array
    residual: float
    iterations: int


class ConvexMethod(Protocol):
    """A method running on the convex problems of one contact problem."""

    def solve(self, frozen: ConvexProblem, guess: Array, accuracy: float) -> ConvexSolution:
        """Minimise from a guess (n, d), not necessarily in C, down to a residual of ``accuracy``.

        Never raises an error if the accuracy is not reached (too few iterations, rounding): it returns
        the best point. ``frozen.contacts`` is the problem the method was started on.
        """
        ...


class ConvexSolver(Protocol):
    """Settings of a convex method: a frozen dataclass."""

    def start(self, contacts: ContactProblem) -> ConvexMethod:
        """Prepare all that depends on W alone: factorisations, scalings, an estimate of its norm."""
        ...


def symmetric_part(contacts: ContactProblem) -> tuple[ContactProblem, sparse.csr_array | None]:
    """The problem with S = ½(W + Wᵀ) for W, and the skew part A = W − S: None when W is symmetric.

    Examples
    --------
    >>> turning = ContactProblem(W=[[2.0, 1e-10], [-1e-10, 1.0]], q=[-1.0, 0.0], mu=[0.5])
    >>> symmetric, A = symmetric_part(turning)
    >>> A.toarray()
    array([[ 0.e+00,  1.e-10],
           [-1.e-10,  0.e+00]])
    """
    if contacts.form == "global":
        return contacts, None
    W = contacts.W.tocsr()
    skew = ((W - W.T) * 0.5).tocsr()
    skew.eliminate_zeros()
    if np.abs(skew.data).max(initial=0.0) <= ROUNDING * np.abs(W.data).max(initial=0.0):
        return contacts, None
    q, mu, d, name = contacts.q, contacts.mu, contacts.d, contacts.name
    return ContactProblem(W=W, q=q, mu=mu, d=d, name=name, symmetrise=True), skew


def admissible_solution(frozen: ConvexProblem, r: Array, iterations: int) -> ConvexSolution:
    """Project r on C and measure it, for methods that do not compute the velocity."""
    r = frozen.admissible.project(r)
    u = frozen.velocity(r)
    return ConvexSolution(r, u, frozen.residual(r, u), iterations)


def require_conic(frozen: ConvexProblem, method: str) -> None:
    """Raise an error for Tresca's sets, for a method restricted to cones."""
    if not frozen.is_conic:
        raise ProblemError(
            f"{method} minimises over friction cones only, not over Tresca's sets: take another inner "
            "solver (AcceleratedGradient, SpectralGradient), or the conic fixed point"
        )
