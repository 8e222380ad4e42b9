"""Coulomb's law as an equation Φ(u, r) = 0 at each contact, with its generalised derivatives.

Four functions, all zero exactly when (u, r) obeys the law; with z = r − ρ u:

* :class:`AlartCurnierMap`: r_N − max(0, z_N) and r_T − P_disc(mu max(0, z_N))(z_T);
* :class:`JeanMoreauMap`: the same with the disc of radius mu max(0, r_N);
* :class:`NaturalMap`: r − P_K(r − ρ ũ), De Saxcé's form;
* :class:`FischerBurmeisterMap`: x + y − √(x∘x + y∘y) on scaled r and ũ, smooth except at a few points.

Each gives Φ, its derivatives with respect to u and to r (elements of Clarke's generalised Jacobian), and
the *regions* of the contacts: open, stick, slide. In the plane the first two are linear in each region.

References
----------
Alart, Curnier 1991; Jean, Moreau 1987; De Saxcé, Feng 1998; Fukushima, Luo, Tseng 2002 (the functions);
Acary, Brémond, Huber 2018 (their comparison); Cadoux 2009, appendix D (derivatives).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from clapas.convex import coulomb, jordan
from clapas.convex.base import length_and_direction
from clapas.problems.coulomb import shifted
from clapas.solvers.newton.augmentation import Augmentation
from clapas.typing import Array, Mask

Regions: TypeAlias = npt.NDArray[np.int8]

OPEN, STICK, SLIDE, SLIDE_BACK = 0, 1, 2, 3
"""Regions of a contact. Sliding back is distinguished from sliding in the plane only."""
PRESSED = 4
"""Added to the region of the tangents where the normal part is pressed (Jean-Moreau)."""


class Tangent(NamedTuple):
    """Value and derivatives of a function of (u, r) at each contact.

    ``value`` is Φ (n, d); ``by_u`` and ``by_r`` are ∂Φ/∂u and ∂Φ/∂r, (n, d, d).
    """

    value: Array
    by_u: Array
    by_r: Array


class ContactMap(Protocol):
    """A function Φ(u, r), zero exactly where Coulomb's law holds; any object with these methods."""

    def value(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Array:
        """Φ at each contact, (n, d)."""
        ...

    def linearise(
        self, u: Array, r: Array, mu: Array, rho: Augmentation, regions: Regions | None = None
    ) -> Tangent:
        """Φ and its derivatives; on a boundary between regions, those of ``regions``."""
        ...

    def regions(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Regions:
        """Region of each contact, (n,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class AlartCurnierMap:
    """Alart and Curnier's function: the disc of friction follows the augmented normal impulse.

        Φ_N = r_N − max(0, z_N),   Φ_T = r_T − P_disc(mu max(0, z_N))(z_T),    z = r − ρ u

    In the plane it is linear in each of four regions: open, stick, slide, slide back.

    References
    ----------
    Alart, Curnier 1991; Alart 1997, equation 63.
    """

    def value(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Array:
        """Φ at each contact, (n, d)."""
        z = _augmented(u, r, rho)
        pressed = np.maximum(z[:, 0], 0.0)
        projected = np.column_stack((pressed, _on_disc(z[:, 1:], mu * pressed)))
        return np.asarray(r - projected)

    def linearise(
        self, u: Array, r: Array, mu: Array, rho: Augmentation, regions: Regions | None = None
    ) -> Tangent:
        """Φ and its derivatives."""
        z = _augmented(u, r, rho)
        regions = self.regions(u, r, mu, rho) if regions is None else regions
        pressed = regions != OPEN
        disc = _Disc.at(z[:, 1:], mu * z[:, 0], regions)
        by_z = np.zeros((*r.shape, r.shape[1]))
        by_z[:, 0, 0] = pressed
        by_z[:, 1:, 1:] = disc.by_trial
        by_z[:, 1:, 0] = mu[:, None] * disc.by_radius
        projected = np.column_stack((np.where(pressed, z[:, 0], 0.0), disc.point))
        return _tangent(r - projected, by_z, np.eye(r.shape[1]) - by_z, rho)

    def regions(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Regions:
        """OPEN where z_N ≤ 0, else STICK where |z_T| ≤ mu z_N, else SLIDE (or SLIDE_BACK in the plane)."""
        z = _augmented(u, r, rho)
        return _tangent_regions(z[:, 1:], mu * z[:, 0], z[:, 0] <= 0.0)


@dataclass(frozen=True, kw_only=True)
class JeanMoreauMap:
    """Jean and Moreau's function: the disc of friction follows the normal impulse itself.

        Φ_N = r_N − max(0, z_N),   Φ_T = r_T − P_disc(mu max(0, r_N))(z_T),    z = r − ρ u

    Cadoux calls it Alart-Curnier's function. In the plane it is piecewise linear.

    References
    ----------
    Jean, Moreau 1987; Cadoux 2009, equations 1.23 to 1.25.
    """

    def value(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Array:
        """Φ at each contact, (n, d)."""
        z = _augmented(u, r, rho)
        radius = mu * np.maximum(r[:, 0], 0.0)
        projected = np.column_stack((np.maximum(z[:, 0], 0.0), _on_disc(z[:, 1:], radius)))
        return np.asarray(r - projected)

    def linearise(
        self, u: Array, r: Array, mu: Array, rho: Augmentation, regions: Regions | None = None
    ) -> Tangent:
        """Φ and its derivatives."""
        z = _augmented(u, r, rho)
        regions = self.regions(u, r, mu, rho) if regions is None else regions
        pressed = regions >= PRESSED
        disc = _Disc.at(z[:, 1:], mu * r[:, 0], regions % PRESSED)
        by_z = np.zeros((*r.shape, r.shape[1]))
        by_z[:, 0, 0] = pressed
        by_z[:, 1:, 1:] = disc.by_trial
        by_r = np.eye(r.shape[1]) - by_z
        by_r[:, 1:, 0] = -mu[:, None] * disc.by_radius
        projected = np.column_stack((np.where(pressed, z[:, 0], 0.0), disc.point))
        return _tangent(r - projected, by_z, by_r, rho)

    def regions(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Regions:
        """Region of the tangents under mu r_N, plus PRESSED where z_N > 0."""
        z = _augmented(u, r, rho)
        pressed = np.where(z[:, 0] > 0.0, PRESSED, 0).astype(np.int8)
        return _tangent_regions(z[:, 1:], mu * r[:, 0], r[:, 0] <= 0.0) + pressed


@dataclass(frozen=True, kw_only=True)
class NaturalMap:
    """De Saxcé's form: the distance from r to the projection of r − ρ ũ on the cone.

        Φ = r − P_K(r − ρ ũ),    ũ = u + mu |u_T| e_N

    |u_T| has a kink where the contact sticks; the
    derivative taken there is zero.

    References
    ----------
    De Saxcé, Feng 1998; Cadoux 2009, equations 4.8 and D.1.
    """

    def value(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Array:
        """Φ at each contact, (n, d)."""
        return r - coulomb.project(r - rho.single[:, None] * shifted(u, mu), mu)

    def linearise(
        self, u: Array, r: Array, mu: Array, rho: Augmentation, regions: Regions | None = None
    ) -> Tangent:
        """Φ and its derivatives."""
        single = rho.single
        trial = r - single[:, None] * shifted(u, mu)
        by_trial = coulomb.jacobian(trial, mu)
        by_u = single[:, None, None] * by_trial @ _shift_derivative(u, mu, 0.0)
        return Tangent(r - coulomb.project(trial, mu), by_u, np.eye(r.shape[1]) - by_trial)

    def regions(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Regions:
        """STICK inside the cone, OPEN inside its polar, else SLIDE or SLIDE_BACK."""
        trial = r - rho.single[:, None] * shifted(u, mu)
        polar = mu * np.linalg.norm(trial[:, 1:], axis=1) <= -trial[:, 0]
        return _tangent_regions(trial[:, 1:], mu * trial[:, 0], polar)


@dataclass(frozen=True, kw_only=True)
class FischerBurmeisterMap:
    """Fischer and Burmeister's function on the Lorentz cone.

        Φ = x + y − √(x∘x + y∘y + 2 ε² e),   x = T r,  y = ρ T⁻¹ ũ,   T = diag(√mu, 1/√mu)

    T maps the cones of r and ũ to the Lorentz cone and leaves r·ũ unchanged. Half the square of Φ is
    smooth, which suits line searches. Without friction it is r_N + ρu_N − √(r_N² + ρ²u_N²) and r_T.

    Parameters
    ----------
    smoothing : float
        ε, in the unit of r: with ε > 0 everything is smooth, |u_T| too, and Φ = 0 means x∘y = ε² e.

    References
    ----------
    Fukushima, Luo, Tseng 2002; Cadoux 2009, section 4.2.3 (for mu = 1).
    """

    smoothing: float = 0.0

    def value(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Array:
        """Φ at each contact, (n, d)."""
        rough = mu > 0.0
        result = np.empty_like(r)
        x, y, _, _ = self._lorentz(u[rough], r[rough], mu[rough], rho.single[rough])
        result[rough] = jordan.fischer_burmeister(x, y, self.smoothing)
        smooth = self._frictionless(u[~rough], r[~rough], rho.normal[~rough])
        result[~rough] = smooth.value
        return result

    def linearise(
        self, u: Array, r: Array, mu: Array, rho: Augmentation, regions: Regions | None = None
    ) -> Tangent:
        """Φ and its derivatives."""
        n, d = r.shape
        rough = mu > 0.0
        result = Tangent(np.empty((n, d)), np.empty((n, d, d)), np.empty((n, d, d)))
        single = rho.single[rough]
        x, y, of_r, of_u = self._lorentz(u[rough], r[rough], mu[rough], single)
        by_x, by_y = jordan.fischer_burmeister_jacobian(x, y, self.smoothing)
        shift = _shift_derivative(u[rough], mu[rough], self.smoothing / single)
        result.value[rough] = jordan.fischer_burmeister(x, y, self.smoothing)
        result.by_u[rough] = by_y @ (of_u[:, :, None] * shift)
        result.by_r[rough] = by_x * of_r[:, None, :]
        for whole, part in zip(
            result, self._frictionless(u[~rough], r[~rough], rho.normal[~rough]), strict=True
        ):
            whole[~rough] = part
        return result

    def regions(self, u: Array, r: Array, mu: Array, rho: Augmentation) -> Regions:
        """The same everywhere: the function has no regions."""
        return np.zeros(len(r), dtype=np.int8)

    def _lorentz(self, u: Array, r: Array, mu: Array, rho: Array) -> tuple[Array, Array, Array, Array]:
        """The vectors x and y, and the diagonals T and ρ T⁻¹, (n, d)."""
        of_r = np.repeat(1.0 / np.sqrt(mu)[:, None], r.shape[1], axis=1)
        of_r[:, 0] = np.sqrt(mu)
        of_u = rho[:, None] / of_r
        smooth = u.copy()
        slip = np.sqrt(np.sum(u[:, 1:] ** 2, axis=1) + (self.smoothing / rho) ** 2)
        smooth[:, 0] += mu * slip
        return of_r * r, of_u * smooth, of_r, of_u

    def _frictionless(self, u: Array, r: Array, rho: Array) -> Tangent:
        """The scalar function of r_N and u_N, and r_T."""
        a, b = r[:, 0], rho * u[:, 0]
        root = np.sqrt(a**2 + b**2 + 2.0 * self.smoothing**2)
        safe = np.where(root > 0.0, root, 1.0)
        # At a = b = 0 the limit along a = b, as for the cone.
        by_a = 1.0 - np.where(root > 0.0, a / safe, np.sqrt(0.5))
        by_b = 1.0 - np.where(root > 0.0, b / safe, np.sqrt(0.5))
        value = r.copy()
        value[:, 0] = a + b - root
        by_u = np.zeros((*r.shape, r.shape[1]))
        by_u[:, 0, 0] = rho * by_b
        by_r = np.zeros_like(by_u) + np.eye(r.shape[1])
        by_r[:, 0, 0] = by_a
        return Tangent(value, by_u, by_r)


class _Disc(NamedTuple):
    """Projection of tangential trial impulses on discs, and its derivatives.

    ``point`` (n, k); ``by_trial`` (n, k, k); ``by_radius`` (n, k), the unit direction where it slides.
    """

    point: Array
    by_trial: Array
    by_radius: Array

    @classmethod
    def at(cls, trial: Array, radius: Array, regions: Regions) -> _Disc:
        """Projection by the formulas of ``regions``, whether or not the point is in them."""
        k = trial.shape[1]
        length, s = length_and_direction(trial)
        if k == 1:  # the region gives the side, also where the trial is zero
            s = np.where(regions == SLIDE_BACK, -1.0, 1.0)[:, None]
        stick, slide = regions == STICK, (regions == SLIDE) | (regions == SLIDE_BACK)
        shrink = np.where(slide & (length > 0.0), radius / np.where(length > 0.0, length, 1.0), 0.0)
        across = shrink[:, None, None] * (np.eye(k) - s[:, :, None] * s[:, None, :])
        point = np.where(stick[:, None], trial, np.where(slide[:, None], radius[:, None] * s, 0.0))
        by_trial = np.where(stick[:, None, None], np.eye(k), np.where(slide[:, None, None], across, 0.0))
        return cls(point, by_trial, np.where(slide[:, None], s, 0.0))


def _augmented(u: Array, r: Array, rho: Augmentation) -> Array:
    """The argument z = r − ρ u of the projections."""
    z = r - rho.tangent[:, None] * u
    z[:, 0] = r[:, 0] - rho.normal * u[:, 0]
    return z


def _on_disc(trial: Array, radius: Array) -> Array:
    length = np.linalg.norm(trial, axis=1)
    outside = length > radius
    shrink = np.where(outside, radius / np.where(outside, length, 1.0), 1.0)
    projected: Array = shrink[:, None] * trial
    return projected


def _tangent_regions(trial: Array, radius: Array, is_open: Mask) -> Regions:
    """STICK in the disc, else SLIDE (in a disc of radius zero, without friction, everything slides)."""
    sticks = (np.linalg.norm(trial, axis=1) <= radius) & (radius > 0.0)
    result = np.full(len(trial), SLIDE, dtype=np.int8)
    if trial.shape[1] == 1:
        result[trial[:, 0] < 0.0] = SLIDE_BACK
    result[sticks] = STICK
    result[is_open] = OPEN
    return result


def _tangent(value: Array, by_z: Array, by_r: Array, rho: Augmentation) -> Tangent:
    """Derivatives with respect to u from those with respect to z = r − ρ u: ∂Φ/∂u = ρ ∂P/∂z."""
    scale = np.repeat(rho.tangent[:, None], by_z.shape[2], axis=1)
    scale[:, 0] = rho.normal
    return Tangent(value, by_z * scale[:, None, :], by_r)


def _shift_derivative(u: Array, mu: Array, smoothing: Array | float) -> Array:
    """Derivative of ũ with respect to u, (n, d, d): I with mu u_T/|u_T| in the first row."""
    d = u.shape[1]
    slip = np.sqrt(np.sum(u[:, 1:] ** 2, axis=1) + np.square(smoothing))
    safe = np.where(slip > 0.0, slip, 1.0)
    result = np.zeros((len(u), d, d)) + np.eye(d)
    result[:, 0, 1:] = (mu / safe)[:, None] * u[:, 1:]
    return result
