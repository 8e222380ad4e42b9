"""Does a solution exist? Cadoux's criterion, decided before or after a solver failed.

The criterion looks at the motions alone, neither at the masses nor at the forces::

    (H)   some v gives  H v + w  in the interior of K*      (H̄)   some v gives  H v + w  in K*

that is: the bodies can move so that every contact opens faster than mu times its sliding, u_N ≥ mu |u_T|. If
so, Coulomb's problem has a solution whatever M (positive definite) and f are. The converse is false: where
the criterion fails a solution may exist all the same. But where no v gives u_N ≥ 0, bodies must penetrate
and there is none.

Reduced problems, u = W r + q, are treated alike. W = G Gᵀ and H have the same image when W = H M⁻¹ Hᵀ, and q
differs from w by an element of it: the velocities q + W x are exactly the w + H v. Nothing is lost; only the
certificate v is then an impulse x, which moves the contacts as the bodies would.

The answer comes with what proves it: the velocity v, or the self-balanced impulses r (r ∈ K, Hᵀ r = 0, w·r <
0: a wedge the imposed motion works against) that show that no v exists. Both are measured in NumPy from the
data, not taken from the engine that found them.

References
----------
Cadoux 2009, chapter 3 (theorems 3.12 and 3.19; 3.4 for the special cases, 3.5 for the programs);
Klarbring, Pang 1998 (that (H̄) is enough).

>>> from clapas.problems import existence, gallery
>>> existence.check(gallery.get("painleve-down-forward").problem)
Existence(CERTIFIED: the bodies can move so that every contact opens; margin inf)
>>> existence.check(gallery.get("painleve-down-none").problem)
Existence(UNKNOWN: no motion keeps the contacts in K*; margin -1 m/s)
>>> existence.check(gallery.get("crushed-disc-rough").problem)
Existence(IMPOSSIBLE: no motion avoids penetration; margin -0.5 m/s)
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.existence.programs import Reach, Widest, widest_by_cones, widest_by_facets
from clapas.typing import Array

__all__ = ["Existence", "Method", "Verdict", "advice", "bounded_margin", "check"]

Method = Literal["exact", "inscribed"]

ROUNDING = 1e-11  # of velocities, relative to the largest imposed one
BALANCED = 1e-7  # imbalance |Hᵀr| / |r| of a wedge, H with columns of length one
SINGULAR = 1e-10  # smallest pivot of H Hᵀ over the largest, below which rows count as dependent
DENSE = 1000  # rows up to which full matrices are factorised
SMALL = 400  # contacts up to which a failed solve asks without being told to
FACETS = 16


class Verdict(Enum):
    """What is known of the existence of a solution; ``verdict.meaning`` is one sentence."""

    CERTIFIED = "A solution exists."
    FRAGILE = "A solution exists if the data are exact; the smallest change of them may destroy it."
    UNKNOWN = "The criterion does not tell: a solution may exist or not."
    IMPOSSIBLE = "No solution exists: penetration cannot be avoided."

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return self.value


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Existence:
    """The answer to "does a solution exist?", with its proof.

    Parameters
    ----------
    verdict : Verdict
        What is known.
    reason : str
        Why, in a few words.
    margin : float
        σ* (m/s): the largest σ such that some motion gives u_N − mu |u_T| ≥ σ at every contact. Positive
        under (H), zero under (H̄) alone, negative if both fail, infinite if motions can open all contacts at
        will.
    speed : float
        Scale of the margin (m/s): length of the part of w that no motion of the bodies can undo.
    opening : float
        Rate at which all contacts can be opened at once, per unit of motion: max τ with H v − τ e_N in K*,
        |v|_∞ ≤ 1, columns of H scaled to length one. Above zero (H) holds for every w.
    v : array (m,) or None
        A motion that reaches K* (in the reduced form an impulse x, (n·d,), with u = W x + q).
    r : array (n, d) or None
        Self-balanced impulses that prove that none does.
    """

    verdict: Verdict
    reason: str
    margin: float
    speed: float
    opening: float
    v: Array | None = None
    r: Array | None = None

    @property
    def exists(self) -> bool | None:
        """A solution exists, none does, or the criterion does not tell (None)."""
        return {Verdict.CERTIFIED: True, Verdict.IMPOSSIBLE: False}.get(self.verdict)

    @property
    def relative_margin(self) -> float:
        """The margin without unit: σ* / speed."""
        return self.margin / self.speed if self.speed > 0 else self.margin

    def __repr__(self) -> str:
        unit = " m/s" if math.isfinite(self.margin) else ""
        return f"Existence({self.verdict.name}: {self.reason}; margin {self.margin:.4g}{unit})"


def check(
    problem: ContactProblem,
    *,
    tol: float = 1e-7,
    method: Method = "exact",
    time_limit: float = math.inf,
    quick: bool = False,
) -> Existence:
    """Decide Cadoux's criterion for a problem.

    Parameters
    ----------
    problem : ContactProblem
        In either form.
    tol : float
        Relative margin below which (H) and its failure are not told apart: the verdict is FRAGILE.
    method : "exact" or "inscribed"
        In space: the true cones by an interior-point method, or a linear program on inscribed polyhedra of 16
        facets, which certifies a little less (margins are then lower bounds) and is faster up to some fifty
        contacts only. In the plane both are the same.
    time_limit : float
        Seconds for the at most three programs together; UNKNOWN when they run out.
    quick : bool
        Stop at the first proof: where nothing is imposed on the bodies, or one rigid motion, no program is
        solved and ``opening`` is NaN.

    Examples
    --------
    A square at rest on the floor; its contacts could open, so a solution exists for any motion of the floor:

    >>> from clapas.problems import gallery
    >>> answer = check(gallery.get("rigid-square").problem)
    >>> answer.verdict.name, answer.margin
    ('CERTIFIED', inf)
    """
    if not tol > 0:
        raise SettingsError(f"tol must be positive, got {tol}")
    if method not in ("exact", "inscribed"):
        raise SettingsError(f"method must be 'exact' or 'inscribed', got '{method}'")
    return _Question(problem, tol, method, time_limit).answer(quick)


def bounded_margin(problem: ContactProblem, bound: float, *, method: Method = "exact") -> float:
    """Margin σ* among motions with |v|_∞ ≤ bound (m/s): how well conditioned existence is.

    A margin that needs enormous velocities is of little worth; this one is finite always.

    References
    ----------
    Cadoux 2009, (3.37).

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> round(bounded_margin(gallery.get("painleve-down-forward").problem, 10.0), 5)
    3.03553
    """
    if not 0 < bound < math.inf:
        raise SettingsError(f"bound must be positive and finite, got {bound}")
    reach = _reach(problem)
    if problem.n_contacts == 0:
        return math.inf
    found = _widest(reach, bound, method, math.inf)
    return found.sigma if found else math.nan


def advice(problem: ContactProblem, time_limit: float = 1.0) -> str:
    """One sentence on existence for those whose solver failed; empty where it would take long to know.

    Takes about ``time_limit`` seconds at most: beyond, the sentence says that it was not decided.
    """
    if not _is_coulomb(problem) or problem.n_contacts > SMALL:
        return ""
    answer = check(problem, time_limit=time_limit, quick=True)
    if answer.verdict is Verdict.UNKNOWN and answer.r is None:
        return "It is not known whether a solution exists: Cadoux's criterion could not be decided."
    return {
        Verdict.CERTIFIED: "A solution is known to exist (Cadoux's criterion).",
        Verdict.FRAGILE: "A solution exists if the data are exact, just so (Cadoux's criterion).",
        Verdict.UNKNOWN: "It is not known whether a solution exists: Cadoux's criterion does not hold.",
        Verdict.IMPOSSIBLE: "No solution exists: the imposed velocities force the bodies to penetrate.",
    }[answer.verdict]


class _Question:
    """A problem without units: velocities divided by ``speed``, columns of H by their lengths."""

    def __init__(self, problem: ContactProblem, tol: float, method: Method, time_limit: float) -> None:
        self.n = problem.n_contacts
        self.tol, self.method = tol, method
        self._end = time.perf_counter() + time_limit
        given = _reach(problem)
        lengths = np.asarray(sparse_linalg.norm(given.G, axis=0)) if self.n else np.ones(given.G.shape[1])
        self.lengths = np.where(lengths > 0, lengths, 1.0)
        self.is_global = problem.form == "global"
        self.given = given
        self.G = sparse.csr_array(given.G / self.lengths)

    @cached_property
    def _square(self) -> Array | None:
        """Cholesky factor of G Gᵀ if every contact velocity can be had; None if not, or if it is large."""
        rows, columns = self.G.shape
        if rows > min(columns, DENSE):
            return None
        try:
            factor: Array = np.linalg.cholesky((self.G @ self.G.T).toarray())
        except np.linalg.LinAlgError:
            return None
        pivots = np.diag(factor) ** 2
        return factor if pivots.min() > SINGULAR * pivots.max() else None

    @property
    def is_onto(self) -> bool:
        """H has full row rank."""
        return self._square is not None

    def _preimage(self, u: Array) -> Array:
        """The smallest motion that gives the velocities u (flat) to the contacts, H being onto."""
        assert self._square is not None
        return np.asarray(self.G.T @ linalg.cho_solve((self._square, True), u))

    @cached_property
    def rest(self) -> tuple[Array, Array]:
        """The motion that best undoes the imposed velocities, and what is left of them (n, d)."""
        b = self.given.b
        if not b.any():
            return np.zeros(self.G.shape[1]), b
        if self.is_onto:
            undo = self._preimage(-b.ravel())
        elif b.size <= DENSE:
            undo = linalg.lstsq(self.G.toarray(), -b.ravel(), lapack_driver="gelsy")[0]
        else:
            undo = sparse_linalg.lsmr(self.G, -b.ravel(), atol=1e-14, btol=1e-14, conlim=1e12)[0]
        left = b + (self.G @ undo).reshape(b.shape)
        still = float(np.abs(left).max()) <= ROUNDING * float(np.abs(b).max())
        return undo, np.zeros_like(b) if still else left

    @cached_property
    def speed(self) -> float:
        return float(np.linalg.norm(self.rest[1]))

    @cached_property
    def reach(self) -> Reach:
        """Velocities in units of ``speed``, counted from the motion that undoes most of w."""
        return Reach(self.G, self.rest[1] / (self.speed or 1.0), self.given.mu)

    def answer(self, quick: bool) -> Existence:
        if self.n == 0:
            return self._certified("there is no contact", math.inf, math.inf, np.zeros(self.G.shape[1]))
        left = self.rest[1]
        if quick and not left.any():
            return self._rigid(math.nan)
        spread = self._opening()
        opening = spread.sigma if spread else 0.0
        if spread and opening > self.tol:
            return self._opens(spread)
        if not left.any():
            return self._rigid(opening)
        found = self._widest(self.reach)
        if found is None:
            return self._undecided("the program was not solved", -math.inf, opening)
        return self._judge(found, opening)

    def _opening(self) -> Widest | None:
        """How fast all contacts can be opened; explicit if every contact velocity can be had."""
        if self.is_onto:
            v = self._preimage(np.tile(np.eye(self.given.d)[0], self.n))
            v /= np.abs(v).max()
            reached = self.reach.at_rest().margin(v)
            if reached > self.tol:
                return Widest(reached, v, np.zeros_like(self.given.b))
        return self._widest(self.reach.at_rest(), 1.0)

    def _widest(self, reach: Reach, bound: float = math.inf) -> Widest | None:
        """The answer of a program, in what is left of the time."""
        left = self._end - time.perf_counter()
        return _widest(reach, bound, self.method, left) if left > 0.0 else None

    def _rigid(self, opening: float) -> Existence:
        """Some motion undoes all that is imposed: the contacts are at rest, on the border of K*."""
        reason = "the imposed motion is rigid" if self.given.b.any() else "nothing is imposed (w = 0)"
        return self._certified(reason, 0.0, opening, self.rest[0])

    def _opens(self, spread: Widest) -> Existence:
        """Go along a motion that opens all contacts until the imposed velocities do not matter."""
        b = self.reach.b
        hindrance = float(np.max(self.given.mu * np.linalg.norm(b[:, 1:], axis=1) - b[:, 0]))
        far = (1.0 + max(0.0, hindrance)) / spread.sigma
        reason = "H has full row rank" if self.is_onto else "the bodies can move so that every contact opens"
        return self._certified(
            reason, math.inf, spread.sigma, self.rest[0] + (self.speed or 1.0) * far * spread.v
        )

    def _judge(self, found: Widest, opening: float) -> Existence:
        motion = self.rest[0] + self.speed * found.v
        margin = self.speed * found.sigma
        if found.sigma >= self.tol:
            return self._certified("some motion keeps every contact inside K*", margin, opening, motion)
        if found.sigma > -self.tol:
            return Existence(
                verdict=Verdict.FRAGILE,
                reason="some motion keeps the contacts in K*, none inside it",
                margin=margin,
                speed=self.speed,
                opening=opening,
                v=motion / self.lengths,
            )
        flat = self._widest(self.reach.of_normals())
        if flat is not None and self._is_wedge(self.reach.of_normals(), flat.r):
            return Existence(
                verdict=Verdict.IMPOSSIBLE,
                reason="no motion avoids penetration",
                margin=margin,
                speed=self.speed,
                opening=opening,
                r=flat.r,
            )
        wedge = found.r if self._is_wedge(self.reach, found.r) else None
        return self._undecided("no motion keeps the contacts in K*", margin, opening, wedge)

    def _is_wedge(self, reach: Reach, r: Array) -> bool:
        """Self-balanced impulses in the cone on which the imposed motion works: then K* is out of reach."""
        size = float(np.linalg.norm(r))
        in_cone = np.linalg.norm(r[:, 1:], axis=1) <= reach.mu * r[:, 0] + BALANCED * size
        balanced = float(np.linalg.norm(reach.G.T @ r.ravel())) <= BALANCED * size
        power = float(np.sum(reach.b * r))
        return bool(size > 0 and in_cone.all() and balanced and power < -0.5 * self.tol * size)

    def _certified(self, reason: str, margin: float, opening: float, motion: Array) -> Existence:
        v = motion / self.lengths
        reached = self.given.margin(v)
        # A motion that undoes w exactly leaves u = 0 up to rounding: the border of K*, which is enough.
        slack = (
            ROUNDING * float(np.abs(self.given.b).max(initial=0.0)) * (1.0 + self.given.mu.max(initial=0.0))
        )
        if reached < -slack:
            return self._undecided(f"a certificate failed its check: {reason}", margin, opening)
        return Existence(
            verdict=Verdict.CERTIFIED,
            reason=reason,
            margin=margin,
            speed=self.speed,
            opening=opening,
            v=v,
        )

    def _undecided(self, reason: str, margin: float, opening: float, r: Array | None = None) -> Existence:
        return Existence(
            verdict=Verdict.UNKNOWN, reason=reason, margin=margin, speed=self.speed, opening=opening, r=r
        )


def _widest(reach: Reach, bound: float, method: Method, time_limit: float) -> Widest | None:
    if reach.d == 2 or method == "inscribed" or not reach.mu.any():
        return widest_by_facets(reach, bound, FACETS, time_limit)
    return widest_by_cones(reach, bound, time_limit)


def _reach(problem: ContactProblem) -> Reach:
    if not _is_coulomb(problem):
        raise ProblemError(
            f"the criterion of existence is about Coulomb's law, got a {type(problem).__name__}: "
            "drop the resistance to rolling and spinning"
        )
    if problem.form == "global":
        return Reach(sparse.csr_array(problem.H), problem.w, problem.mu)
    return Reach(sparse.csr_array(problem.W), problem.q, problem.mu)


def _is_coulomb(problem: ContactProblem) -> bool:
    return type(problem) is ContactProblem
