"""Relays: laws that switch between two bounds, as Tresca friction does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.errors import ProblemError
from clapas.linalg.norms import norm
from clapas.problems import validation
from clapas.problems.lcp import LCP
from clapas.typing import Array, MatrixLike

Kind = Literal["primal", "dual"]


class Relay:
    """Find z and w = M z + q such that one of them is a relay of minus the other.

        primal:  −w ∈ N_[l,u](z)      z = l where w > 0, z = u where w < 0, between where w = 0
        dual:    −z ∈ N_[l,u](w)      the same with z and w exchanged

    Tresca friction in the plane is a relay: primal with z the friction and w the sliding velocity, dual
    with z the velocity and w the friction.

    Parameters
    ----------
    M : matrix (n × n), dense or sparse
        Kept sparse.
    q : array (n,)
        What w would be at z = 0.
    lower, upper : array (n,) or float
        Finite bounds l ≤ u.
    kind : "primal" or "dual"
        Which of the two is bounded: z or w.

    Examples
    --------
    A block pushed at 3 m/s is held back by a friction of at most 1 N·s, another at 0.5 m/s is stopped:

    >>> relay = Relay(np.eye(2), [3.0, 0.5], -1.0, 1.0)
    >>> relay.residual([-1.0, -0.5])
    0.0
    >>> relay.lcp()
    LCP(4 unknowns, sparse)

    References
    ----------
    Acary, Brogliato 2008, section 9.5.
    """

    def __init__(
        self,
        M: MatrixLike,
        q: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        kind: Kind = "primal",
    ) -> None:
        if kind not in get_args(Kind):
            raise ProblemError(f"kind must be 'primal' or 'dual', got {kind!r}")
        self.size = validation.square("M", M)
        self.M = validation.matrix("M", M)
        self.q = validation.vector("q", q, self.size)
        self.lower, self.upper = (
            validation.vector(name, np.full(self.size, bound) if np.size(bound) == 1 else bound, self.size)
            for name, bound in (("lower", lower), ("upper", upper))
        )
        self.kind: Kind = kind
        if (self.lower > self.upper).any():
            worst = int(np.argmax(self.lower - self.upper))
            raise ProblemError(
                f"unknown {worst}: lower must be at most upper, got {self.lower[worst]} > {self.upper[worst]}"
            )

    def __repr__(self) -> str:
        return f"Relay({self.size} unknowns, {self.kind})"

    def residual(self, z: npt.ArrayLike) -> float:
        """Distance from the law in the unit of w, λ (z − P(z − w/λ)) or w − P(w − λ z), relative to |q|."""
        values = np.asarray(z, dtype=float)
        whole = LCP(self.M, self.q)
        w, response = whole.slack(values), whole.response
        if self.kind == "primal":
            violation = response * (values - np.clip(values - w / response, self.lower, self.upper))
        else:
            violation = w - np.clip(w - response * values, self.lower, self.upper)
        return norm(violation) / (norm(self.q) or 1.0)

    def lcp(self) -> LCP:
        """The same as an LCP of twice the size.

        primal:  x = z − l,  0 ≤ M x + M l + q + y ⟂ x ≥ 0,  0 ≤ u − l − x ⟂ y ≥ 0
        dual:    z = x − y,  0 ≤ w − l ⟂ x ≥ 0,  0 ≤ u − w ⟂ y ≥ 0
        """
        if self.kind == "primal":
            one = sparse.eye_array(self.size)
            M = sparse.block_array([[self.M, one], [-one, None]])
            return LCP(M, np.concatenate((self.M @ self.lower + self.q, self.upper - self.lower)))
        M = sparse.block_array([[self.M, -self.M], [-self.M, self.M]])
        return LCP(M, np.concatenate((self.q - self.lower, self.upper - self.q)))

    def as_lcp(self) -> tuple[LCP, Callable[[Array], Array]]:
        """The LCP and the map back from its unknowns."""
        return self.lcp(), self.unknowns

    def unknowns(self, z: npt.ArrayLike) -> Array:
        """The unknowns of the relay, from those of its LCP."""
        x, y = np.split(np.asarray(z, dtype=float), 2)
        return x + self.lower if self.kind == "primal" else x - y
