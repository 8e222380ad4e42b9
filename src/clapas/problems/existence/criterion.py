"""Cadoux's criterion for one problem: conic programs, verified certificates, wedges."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError, SettingsError
from clapas.linalg import exact
from clapas.linalg.factor import factorise
from clapas.linalg.norms import SAFE
from clapas.problems.contact import ContactProblem
from clapas.problems.existence.factor import factor_of
from clapas.problems.existence.programs import (
    Method,
    Reach,
    Widest,
    is_coulomb,
    least_power,
    reach_of,
    widest,
)
from clapas.problems.existence.verdict import Existence, Verdict
from clapas.problems.validation import SYMMETRY
from clapas.typing import Array

ROUNDING = 1e-11  # of velocities, relative to the largest imposed one
UNIT = float(np.finfo(float).eps) / 2  # relative error of one operation
RANK = 1e-11  # singular values of H below this fraction of the largest count as zero
INDEFINITE = 1e-10  # of an eigenvalue of W with a unit diagonal, below which W is not semidefinite
FAR_ENOUGH = 1e9  # size of motions that a wedge must exclude, relative to the imposed one
DISTANT = 100.0  # size of motions, relative to the imposed one, beyond which the best may be at infinity
SUPPORT = 1e-9  # impulses of a wedge below this fraction of the largest count as zero
EXACT = 80  # rows up to which definiteness is decided exactly
SINGULAR = 1e-10  # smallest pivot of H Hᵀ over the largest, below which rows count as dependent
DENSE = 1000  # rows up to which full matrices are factorised
SMALL = 400  # contacts up to which a failed solve runs the check by itself


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
        Relative margin below which (H) and its failure are not distinguished: the verdict is FRAGILE.
    method : "exact", "inscribed" or "least-squares"
        In space: the true cones by an interior-point method; or a linear program on inscribed polyhedra of 16
        facets, which certifies a little less (margins are then lower bounds) and is faster up to some fifty
        contacts only; or the least motion that keeps contacts inside K* by a given margin (3.38), whose
        margins are lower bounds too. In the plane the first two are the same.
    time_limit : float
        Seconds for the at most three programs together; UNKNOWN when exceeded.
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
    if method not in get_args(Method):
        raise SettingsError(f"method must be 'exact', 'inscribed' or 'least-squares', got '{method}'")
    existence = Criterion(problem, tol, method, time_limit).decide(quick)
    if not problem.is_definite and existence.verdict is not Verdict.IMPOSSIBLE:
        return _equilibrium_verdict(problem, existence, time_limit)
    reason = _why_theorem_fails(problem)
    if reason and existence.verdict in (Verdict.CERTIFIED, Verdict.FRAGILE):
        return replace(existence, verdict=Verdict.UNKNOWN, reason=f"{reason}, outside the theorem")
    return existence


def advice(problem: ContactProblem, time_limit: float = 1.0) -> str:
    """One sentence on existence after a solver failed; empty where deciding would take long.

    Takes about ``time_limit`` seconds at most: beyond, the sentence says that it was not decided.
    """
    if not is_coulomb(problem) or problem.n_contacts > SMALL:
        return ""
    existence = check(problem, time_limit=time_limit, quick=True)
    if existence.verdict is Verdict.UNKNOWN and existence.r is None:
        return "It is not known whether a solution exists: Cadoux's criterion could not be decided."
    return {
        Verdict.CERTIFIED: "A solution is known to exist (Cadoux's criterion).",
        Verdict.FRAGILE: "A solution exists if the data are exact, just so (Cadoux's criterion).",
        Verdict.UNKNOWN: "It is not known whether a solution exists: Cadoux's criterion does not hold.",
        Verdict.IMPOSSIBLE: "No solution exists: the imposed velocities force the bodies to penetrate.",
    }[existence.verdict]


def _equilibrium_verdict(problem: ContactProblem, existence: Existence, time_limit: float) -> Existence:
    """Verdict where M is singular: decided by equilibrium, since the theorem does not apply.

    See :mod:`clapas.problems.existence.balance`.
    """
    from clapas.problems.existence.balance import holding, mechanism

    driven = mechanism(problem, time_limit)
    if driven is not None and driven.is_proof:
        return replace(
            existence, verdict=Verdict.IMPOSSIBLE, reason=driven.sentence, excluded=driven.excluded
        )
    still = existence.margin == 0.0 and existence.v is not None  # a motion that cancels the imposed one
    v = existence.v if still else np.zeros(problem.n_dof) if not problem.w.any() else None
    if (
        v is not None
        and problem.b is not None
        and problem.J is not None
        and (problem.J @ v + problem.b).any()
    ):
        v = None
    r = None if v is None or problem.compliance is not None else holding(problem, v, time_limit)
    if r is not None:
        reason = "impulses in the cones balance the loads, and all contacts rest"
        return replace(existence, verdict=Verdict.CERTIFIED, reason=reason, v=v, r=r)
    return replace(
        existence, verdict=Verdict.UNKNOWN, reason="M is singular, outside the theorem", v=None, r=None
    )


def _why_theorem_fails(problem: ContactProblem) -> str:
    """Why W cannot be of the form H M⁻¹ Hᵀ, in words; empty if it can."""
    if problem.form == "global" or problem.n_contacts == 0:
        return ""
    W = sparse.csr_array(problem.W)
    if float(abs(W - W.T).max()) > SYMMETRY * float(abs(W).max()):
        return "W is not symmetric"
    diagonal = W.diagonal()
    unit = sparse.diags_array(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, abs(W).max())))
    scaled = (unit @ W @ unit).tocsr()
    if scaled.shape[0] <= DENSE:
        dense = scaled.toarray()
        lowest = float(linalg.eigvalsh(0.5 * (dense + dense.T), subset_by_index=(0, 0))[0])
        return "W is not positive semidefinite" if lowest < -INDEFINITE * len(dense) else ""
    try:
        size = scaled.shape[0]
        factorise(sparse.csr_array(scaled + INDEFINITE * size * sparse.eye_array(size)))
    except ProblemError:
        return "W is not positive semidefinite"
    return ""


class _Units(NamedTuple):
    """Powers of two by which rows of G and velocities were divided, so that they can be squared."""

    rows: float = 1.0
    velocities: float = 1.0

    def undo(self, existence: Existence) -> Existence:
        """The verdict in the given units; unknown where the motion that certifies it is no number there."""
        if self == _Units():
            return existence
        speed, v = self.velocities, existence.v
        v = None if v is None else np.asarray(v * speed / self.rows)
        result = replace(
            existence,
            margin=speed * existence.margin,
            speed=speed * existence.speed,
            excluded=speed * existence.excluded,
            v=v,
        )
        if v is None or np.isfinite(v).all():
            return result
        reason = f"the motion is too large for a number: {existence.reason}"
        return replace(result, verdict=Verdict.UNKNOWN, reason=reason, v=None)


def _of_ordinary_size(reach: Reach) -> tuple[Reach, _Units]:
    """The same motions with entries that can be squared, and the units that this takes."""
    units = _Units(_unit(reach.G.data), _unit(reach.b))
    if units == _Units():
        return reach, units
    G = reach.G.copy()
    G.data = G.data / units.rows
    return reach._replace(G=G, b=reach.b / units.velocities), units


def _unit(entries: Array) -> float:
    """A power of two near the largest entry if this cannot be squared, else 1."""
    largest = float(np.max(np.abs(entries), initial=0.0))
    if largest == 0.0 or SAFE < largest < 1.0 / SAFE:
        return 1.0
    return float(exact.nearest_power_of_two(largest))


class Criterion:
    """One dimensionless problem: velocities are divided by ``speed``, columns of H by their lengths.

    In the reduced form a factor of W takes the place of H, where there is one; what is found with it is
    told and checked with W.
    """

    def __init__(self, problem: ContactProblem, tol: float, method: Method, time_limit: float) -> None:
        self.n = problem.n_contacts
        self.tol, self.method = tol, method
        self._end = time.perf_counter() + time_limit
        data, self._units_taken = _of_ordinary_size(reach_of(problem))
        self.is_global = problem.form == "global"
        self.data = data
        is_small = not self.is_global and 0 < data.G.shape[0] <= DENSE
        self._factor = factor_of(data.G) if is_small else None
        G = self._factor.G if self._factor else data.G
        self.lengths = _lengths(G)
        self.G = sparse.csr_array(G / self.lengths)

    def _given(self, motion: Array) -> Array:
        """A motion in the unknowns of the data: velocities of the bodies, or impulses."""
        v = motion / self.lengths
        return self._factor.impulses(v) if self._factor else v

    @cached_property
    def _square(self) -> Array | None:
        """Cholesky factor of G Gᵀ if G is onto; None if not, or if it is large."""
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
        """The smallest motion with velocities u (flat) at the contacts, H being onto."""
        assert self._square is not None
        return np.asarray(self.G.T @ linalg.cho_solve((self._square, True), u))

    @cached_property
    def rest(self) -> tuple[Array, Array]:
        """The motion that best cancels the imposed velocities, and their remainder (n, d)."""
        b = self.data.b
        if not b.any():
            return np.zeros(self.G.shape[1]), b
        if self.is_onto:
            undo = self._preimage(-b.ravel())
        elif b.size <= DENSE:
            # Without a rank tolerance, impulses of 1e15 would appear in the kernel of a singular W.
            undo = linalg.lstsq(self.G.toarray(), -b.ravel(), cond=RANK, lapack_driver="gelsy")[0]
        else:
            undo = sparse_linalg.lsmr(self.G, -b.ravel(), atol=1e-14, btol=1e-14, conlim=1e12)[0]
        remainder = b + (self.G @ undo).reshape(b.shape)
        # Contacts may differ in scale: each must be at rest relative to its own velocities.
        local = ROUNDING * np.minimum(self._whole.terms(undo), np.abs(b).max())
        still = bool(np.all(np.abs(remainder).max(axis=1) <= local))
        return undo, np.zeros_like(b) if still else remainder

    @property
    def _whole(self) -> Reach:
        """The given data with columns of length one."""
        return Reach(self.G, self.data.b, self.data.mu)

    @cached_property
    def speed(self) -> float:
        """Norm of the imposed velocities that no motion can cancel (m/s)."""
        return float(np.linalg.norm(self.rest[1]))

    @cached_property
    def reach(self) -> Reach:
        """Velocities in units of ``speed``, relative to the motion that cancels most of w."""
        return Reach(self.G, self.rest[1] / (self.speed or 1.0), self.data.mu)

    def decide(self, quick: bool) -> Existence:
        """Decide the criterion; ``quick`` stops at the first proof."""
        with np.errstate(over="ignore"):
            return self._units_taken.undo(self._decide(quick))

    def _decide(self, quick: bool) -> Existence:
        if self.n == 0:
            return self._certified("there is no contact", math.inf, math.inf, np.zeros(self.G.shape[1]))
        remainder = self.rest[1]
        if quick and not remainder.any():
            return self._rigid(math.nan)
        opening_motion = self._opening()
        opening = opening_motion.sigma if opening_motion else 0.0
        if opening_motion and opening > self.tol:
            return self._opens(opening_motion)
        if not remainder.any():
            return self._rigid(opening)
        best = self._widest(self.reach)
        if best is None:
            return self._undecided("the program was not solved", -math.inf, opening)
        return self._judge(best, opening)

    def _opening(self) -> Widest | None:
        """Largest rate at which all contacts can be opened; explicit if H is onto."""
        if self.is_onto:
            v = self._preimage(np.tile(np.eye(self.data.d)[0], self.n))
            v /= np.abs(v).max()
            reached = self.reach.at_rest().margin(v)
            if reached > self.tol:
                return Widest(reached, v, np.zeros_like(self.data.b))
        return self._widest(self.reach.at_rest(), 1.0)

    def _widest(self, reach: Reach, bound: float = math.inf) -> Widest | None:
        """The widest margin, within the remaining time; None where the program was not solved."""
        seconds = self._end - time.perf_counter()
        return widest(reach, bound, self.method, seconds) if seconds > 0.0 else None

    def _rigid(self, opening: float) -> Existence:
        """Verdict where a motion cancels all imposed velocities: contacts at rest, on the boundary of K*."""
        reason = "the imposed motion is rigid" if self.data.b.any() else "nothing is imposed (w = 0)"
        return self._certified(reason, 0.0, opening, self.rest[0])

    def _opens(self, opening_motion: Widest) -> Existence:
        """Follow a motion that opens all contacts until the imposed velocities do not matter."""
        b = self.reach.b
        closing_speed = float(np.max(self.data.mu * np.linalg.norm(b[:, 1:], axis=1) - b[:, 0]))
        far = (1.0 + max(0.0, closing_speed)) / opening_motion.sigma
        reason = "H has full row rank" if self.is_onto else "the bodies can move so that every contact opens"
        return self._certified(
            reason,
            math.inf,
            opening_motion.sigma,
            self.rest[0] + (self.speed or 1.0) * far * opening_motion.v,
        )

    def _judge(self, best: Widest, opening: float) -> Existence:
        """The verdict from the widest margin: certified by a motion, else refuted by a wedge."""
        motion = self.rest[0] + self.speed * best.v
        if best.sigma >= self.tol:
            least = self._least_power() if np.abs(best.v).max() > DISTANT else None
            margin = self.speed * (max(best.sigma, least.sigma) if least else best.sigma)
            return self._certified("some motion keeps every contact inside K*", margin, opening, motion)
        if best.sigma > -self.tol:
            return self._fragile("some motion keeps the contacts in K*, none inside it", best, opening)
        if self._is_definite:
            return self._definite(opening)
        # The best motion may be at infinity. Impulses are bounded: the dual tells how near K* motions come.
        least = self._least_power()
        if least is not None and least.sigma > -self.tol:
            return self._fragile("motions come as near to K* as one likes (theorem 3.1)", least, opening)
        margin = self.speed * (best.sigma if least is None else max(best.sigma, least.sigma))
        flat = self._widest(self.reach.of_normals())
        if flat is not None:
            r, excluded = self._wedge(flat.r, np.zeros_like(self.data.mu))
            if excluded >= FAR_ENOUGH * self.speed:
                largest = excluded * self._units_taken.velocities
                size = f" up to {largest:.0e} m/s" if math.isfinite(excluded) else ""
                return Existence(
                    verdict=Verdict.IMPOSSIBLE,
                    reason=f"no motion{size} avoids penetration",
                    margin=margin,
                    speed=self.speed,
                    opening=opening,
                    r=r,
                    excluded=excluded,
                )
        reason = "no motion keeps the contacts in K*"
        for multiplier in (best.r, least.r if least is not None else None):
            if multiplier is not None:
                r, excluded = self._wedge(multiplier, self.data.mu)
                if excluded >= self.speed / self.tol:
                    return self._undecided(reason, margin, opening, r, excluded)
        return self._undecided(reason, margin, opening)

    @cached_property
    def _is_definite(self) -> bool:
        """Whether a small W is positive definite by more than its own rounding, however close to singular.

        True for stacks of light and heavy bodies: the margin is then infinite, though no double can hold the
        impulses that open the contacts.
        """
        size = self.G.shape[0]
        if self.is_global or size > EXACT:
            return False
        W = self.data.G.toarray()
        return exact.is_positive_definite(W - np.diag(8.0 * size * UNIT * np.diag(W)))

    def _least_power(self) -> Widest | None:
        """The dual program in space, within the remaining time; None where it adds nothing."""
        seconds = self._end - time.perf_counter()
        if self.data.d == 2 or self.method == "inscribed" or seconds <= 0.0:
            return None
        return least_power(self.reach, seconds)

    def _wedge(self, r: Array, mu: Array) -> tuple[Array, float]:
        """Impulses projected on the cone and balanced, and the largest motion (m/s) they exclude.

        For any motion v, u = G v + b gives r·u ≤ Σ |Gᵀr|_j |v_j| + b·r, which is negative while |v| is small
        enough; but r·u ≥ 0 in K*. The imbalance Gᵀr and the power b·r are computed from the given data, with
        a bound on their rounding errors.
        """
        r = _into_cones(r, mu)
        size = float(np.abs(r).max(initial=0.0))
        used = np.abs(r).ravel() > SUPPORT * size
        if size == 0.0 or used.sum() > DENSE:
            return r, 0.0
        columns = self.G[used].T.toarray()
        balanced = r.ravel().copy()
        for _ in range(2):
            balanced[used] -= linalg.lstsq(columns, columns @ balanced[used], cond=RANK)[0]
        candidates = (r, _into_cones(balanced.reshape(r.shape), mu))
        return max(((each, self._excluded(each)) for each in candidates), key=lambda pair: pair[1])

    @cached_property
    def _units(self) -> Array:
        """Unit of motion along each unknown, per m/s of motion that a wedge must exclude.

        In the reduced form motions are impulses x, whose scale may differ between contacts. Those that
        cancel the imposed velocities, |x_j| √W_jj of the size of |q_i| / √W_ii anywhere, count as one.
        """
        units = 1.0 / _lengths(self.data.G)
        if self.is_global or not self.speed > 0.0:
            return units
        d = self.data.d
        response = np.repeat(self.data.G.diagonal().reshape(-1, d).mean(axis=1), d)
        scale = np.where(response > 0.0, response, 1.0) ** -0.5
        return np.maximum(units, scale * (np.linalg.norm(scale * self.data.b.ravel()) / self.speed))

    def _excluded(self, r: Array) -> float:
        """The largest motion (m/s) that the wedge r excludes, rounding errors included."""
        G, b, flat = self.data.G, self.data.b.ravel(), r.ravel()
        rounding = 2.0 * (flat.size + 4) * UNIT
        imbalance = np.abs(G.T @ flat) + rounding * (abs(G).T @ np.abs(flat))
        power = float(b @ flat) + rounding * float(np.abs(b) @ np.abs(flat))
        resistance = float(np.sum(imbalance * self._units)) * (1.0 + rounding)
        if power >= 0.0:
            return 0.0
        return -power / resistance if resistance > 0.0 else math.inf

    def _fragile(self, reason: str, best: Widest, opening: float) -> Existence:
        return Existence(
            verdict=Verdict.FRAGILE,
            reason=reason,
            margin=self.speed * best.sigma,
            speed=self.speed,
            opening=opening,
            v=self._given(self.rest[0] + self.speed * best.v),
        )

    def _certified(self, reason: str, margin: float, opening: float, motion: Array) -> Existence:
        v = self._given(motion)
        # A motion that cancels w leaves u = 0 up to rounding: the boundary of K*, which is enough.
        sizes = np.minimum(self.data.terms(v), np.abs(self.data.b).max(initial=0.0))
        if np.any(self.data.margins(v) < -ROUNDING * sizes * (1.0 + self.data.mu)):
            if self._is_definite:
                return self._definite(opening)
            return self._undecided(f"a certificate failed its check: {reason}", margin, opening)
        return Existence(
            verdict=Verdict.CERTIFIED,
            reason=reason,
            margin=margin,
            speed=self.speed,
            opening=opening,
            v=v,
        )

    def _definite(self, opening: float) -> Existence:
        """Certified without a motion, since W has an inverse though doubles may not hold what it gives."""
        return Existence(
            verdict=Verdict.CERTIFIED,
            reason="W is positive definite (in exact arithmetic)",
            margin=math.inf,
            speed=self.speed,
            opening=opening,
        )

    def _undecided(
        self, reason: str, margin: float, opening: float, r: Array | None = None, excluded: float = 0.0
    ) -> Existence:
        return Existence(
            verdict=Verdict.UNKNOWN,
            reason=reason,
            margin=margin,
            speed=self.speed,
            opening=opening,
            r=r,
            excluded=excluded,
        )


def _lengths(G: sparse.csr_array) -> Array:
    """Lengths of the columns, one where a column is zero."""
    lengths = np.asarray(sparse_linalg.norm(G, axis=0)) if G.nnz else np.zeros(G.shape[1])
    return np.where(lengths > 0.0, lengths, 1.0)


def _into_cones(r: Array, mu: Array) -> Array:
    """Impulses moved into the cones: r_N ≥ 0 and |r_T| ≤ mu r_N hold even after rounding."""
    result = r.copy()
    result[:, 0] = np.maximum(r[:, 0], 0.0)
    allowed = (1.0 - 8.0 * UNIT) * mu * result[:, 0]
    size = np.linalg.norm(r[:, 1:], axis=1)
    result[:, 1:] *= np.where(size > allowed, allowed / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
    return result
