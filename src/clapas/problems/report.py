"""Measures of impulses by every known form of Coulomb's law.

The residual decides; the other numbers say *how* a solution is wrong.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clapas.convex.threshold import ThresholdFriction, Thresholds
from clapas.linalg.exact import nearest_power_of_two
from clapas.linalg.norms import SAFE, norm
from clapas.problems import coulomb
from clapas.typing import Array, Mask

if TYPE_CHECKING:
    from clapas.problems.contact import ContactProblem

SLOW = 1e-6


@dataclass(frozen=True, kw_only=True)
class Report:
    """Measures of impulses r. Units: impulses in N·s and velocities in m/s when the data are SI.

    Parameters
    ----------
    residual : float
        Size of the violation of the law relative to |q|, no unit: the judge (``ContactProblem.residual``).
    natural_map : float
        The same with the natural map λ (r − P_K(r − ũ/λ)) in place of the violation, no unit.
    thesis_criterion : float
        Stopping rule (5.1) of Cadoux 2009, |f_AC|² / (2 n d) with ρ = 1. It depends on the units.
    bipotential_gap : float
        Σ u·r + mu r_N |u_T| (J): zero at a solution; its sign is meaningful for u_N ≥ 0 and r ∈ K.
    penetration : float
        Largest approach velocity max(0, −u_N) (m/s).
    cone_violation : float
        Largest distance of an impulse outside its friction cone, |r − P_K(r)| (N·s).
    complementarity : float
        Largest |u_N r_N| (J).
    slip_direction_error : float
        Largest angle between r_T and −u_T over the sliding contacts (rad) that slide faster than
        1e-6 of the largest free velocity: slower ones have no direction to compare with.
    dissipation : float
        Energy taken by friction, −Σ u_T·r_T (J); at least 0 at a solution.
    open, sticking, sliding : int
        Number of contacts in each mode.
    """

    residual: float
    natural_map: float
    thesis_criterion: float
    bipotential_gap: float
    penetration: float
    cone_violation: float
    complementarity: float
    slip_direction_error: float
    dissipation: float
    open: int
    sticking: int
    sliding: int

    def as_dict(self) -> dict[str, float | int]:
        """The measures by name."""
        return asdict(self)

    def __str__(self) -> str:
        n = self.open + self.sticking + self.sliding
        modes = f"{self.open} open, {self.sticking} sticking, {self.sliding} sliding"
        lines = [f"{n} contact{'s' * (n != 1)}: {modes}"]
        rows = [
            ("residual", self.residual, "relative to |q|"),
            ("natural map", self.natural_map, "relative to |q|"),
            ("|f_AC|²/(2nd), rho = 1", self.thesis_criterion, "unit-dependent"),
            ("bipotential gap", self.bipotential_gap, "J"),
            ("penetration velocity", self.penetration, "m/s"),
            ("cone violation", self.cone_violation, "N·s"),
            ("complementarity |u_N r_N|", self.complementarity, "J"),
            ("slip direction error", self.slip_direction_error, "rad"),
            ("dissipation by friction", self.dissipation, "J"),
        ]
        lines += [f"  {name:<27}{value + 0.0: .3e}  {unit}" for name, value, unit in rows]
        return "\n".join(lines)


def measure(problem: ContactProblem, r: Array, v: npt.ArrayLike | None = None) -> Report:
    """Measure the impulses r (n, d) on a problem; where M is singular, with the velocities v."""
    u, mu = problem.velocity(r, v), problem.mu
    scaled = (
        problem if problem.semidefinite is None else problem.semidefinite.unit
    )  # sets the scale of the residual
    is_open, sticking, sliding = modes(scaled, r, u)
    response = scaled.response
    # Both residuals share one scale, that of ContactProblem.residual.
    scale = scaled.free_speed or norm(response[:, None] * r) or 1.0
    # Squares of velocities and impulses must neither overflow nor vanish: the law does not depend on units.
    x = response[:, None] * r
    speed, size = _unit(max(norm(u), norm(x))), _unit(norm(r))
    natural = coulomb.natural_map(u / speed, x / speed, mu, np.ones_like(mu))
    gap = float(coulomb.bipotential(u / speed, r / size, mu).sum())
    angle = _slip_angle(u / speed, x / speed)
    with np.errstate(over="ignore", invalid="ignore"):  # powers beyond any number are told as infinite
        f_thesis = float(np.sum(coulomb.alart_curnier(u, r, mu, np.ones_like(mu)) ** 2))
        complementarity = np.abs(u[:, 0] * r[:, 0])
        dissipation = -np.sum(u[:, 1:] * r[:, 1:])
    return Report(
        residual=problem.residual(r, v),
        natural_map=norm(natural) / (scale / speed),
        thesis_criterion=f_thesis / max(1, 2 * r.size),
        bipotential_gap=gap * speed * size,
        penetration=float(np.max(-u[:, 0], initial=0.0)),
        cone_violation=size * _largest_norm((r - problem.cone.project(r)) / size),
        complementarity=float(np.max(complementarity, initial=0.0)),
        slip_direction_error=float(np.max(angle[sliding & _slips(scaled, u)], initial=0.0)),
        dissipation=float(dissipation),
        open=int(is_open.sum()),
        sticking=int(sticking.sum()),
        sliding=int(sliding.sum()),
    )


def _unit(size: float) -> float:
    """A power of two near a size whose square is no number, else 1."""
    if size == 0.0 or not math.isfinite(size) or SAFE < size < 1.0 / SAFE:
        return 1.0
    return float(nearest_power_of_two(size))


def modes(problem: ContactProblem, r: Array, u: Array | None = None) -> tuple[Mask, Mask, Mask]:
    """Which contacts are open, sticking, sliding.

    Decided as the judge does: open where λ r_N ≤ u_N, else sticking where λ r_T − u_T lies in the disc
    of radius mu λ r_N, else sliding. At a solution this is the mode; near one it does not depend on a
    threshold except for a rounding margin that counts degenerate contacts as sticking.
    """
    u = problem.velocity(r) if u is None else u
    mu = problem.mu
    x = problem.response[:, None] * r
    size = max(float(np.abs(x).max(initial=0.0)), float(np.abs(u).max(initial=0.0)))
    if (
        problem.section is None and size > 0.0 and not SAFE < size < 1.0 / SAFE
    ):  # squares would overflow or underflow
        x, u = x / size, u / size
    trial = x[:, 1:] - u[:, 1:]
    tangential = np.linalg.norm(trial, axis=1)
    margin = 1e-12 * (np.abs(x[:, 0]) + tangential)
    is_open = x[:, 0] <= u[:, 0]
    if isinstance(problem.section, Thresholds):
        law = problem.cone
        assert isinstance(law, ThresholdFriction)
        excess = tangential - law.radius(x)
        is_open &= problem.section.is_round | (
            tangential == 0.0
        )  # an open contact has friction up to its threshold
    elif problem.section is None:
        excess = tangential - mu * x[:, 0]
    else:
        nearest = problem.section.project(trial, mu * np.maximum(x[:, 0], 0.0))
        excess = np.linalg.norm(trial - nearest, axis=1)
    sticking = ~is_open & (excess <= margin)
    return is_open, sticking, ~is_open & ~sticking


def _slips(problem: ContactProblem, u: Array) -> Mask:
    unit = _unit(max(norm(u), problem.free_speed))
    fastest = np.max(np.linalg.norm(problem.q / unit, axis=1), initial=0.0)
    return np.asarray(np.linalg.norm(u[:, 1:] / unit, axis=1) > SLOW * fastest)


def _slip_angle(u: Array, r: Array) -> Array:
    """Angle between r_T and −u_T; zero where one of them vanishes."""
    r_T, u_T = r[:, 1:], u[:, 1:]
    sizes = np.linalg.norm(r_T, axis=1) * np.linalg.norm(u_T, axis=1)
    along = -np.sum(r_T * u_T, axis=1)
    # |r_T × u_T| and r_T·u_T together keep small angles accurate, unlike arccos.
    across = r_T[:, 0] * u_T[:, 1] - r_T[:, 1] * u_T[:, 0] if r_T.shape[1] == 2 else np.zeros(len(r))
    return np.where(sizes > 0, np.arctan2(np.abs(across), along), 0.0)


def _largest_norm(vectors: Array) -> float:
    return float(np.max(np.linalg.norm(vectors, axis=1), initial=0.0))
