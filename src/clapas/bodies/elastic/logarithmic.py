"""Plasticity at large strain, in logarithmic strains.

With C = FᵀF and the Hencky strain E = ½ ln C, the small-strain law of von Mises is applied to E: its
stress T is conjugate to E, and the second Piola-Kirchhoff stress and its tangent follow by the chain rule,

    S = 2 T : ∂E/∂C,        2 ∂S/∂C = 4 (∂E/∂C : D : ∂E/∂C + T : ∂²E/∂C∂C),        P = F S.

A traceless plastic strain preserves volume exactly, as tr E = ln J. Superposed rotations have no
effect. Under loads along fixed axes this is the multiplicative theory F = F_e F_p; where principal axes turn
while the material flows the two differ a little (Miehe, Apel, Lambrecht 2002).

The derivatives of the logarithm of a matrix are its divided differences in the frame of its eigenvectors
(Daleckii, Krein): with λ the eigenvalues of C and f = ½ ln,

    (∂E/∂C)[X]_ij = f[λ_i, λ_j] X_ij,      (∂²E/∂C²)[X, Y]_ij = Σ_k f[λ_i, λ_k, λ_j] (X_ik Y_kj + Y_ik X_kj).

References
----------
Miehe, Apel, Lambrecht 2002 (the framework); Higham 2008, 3.2 (derivatives of matrix functions).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from clapas.bodies.elastic.materials import (
    History,
    Measure,
    VonMises,
    components,
    deformation,
    stress_on_deformed,
)
from clapas.bodies.elastic.plane_stress import condensed, without_normal_stress
from clapas.typing import Array

CLOSE = 1e-4  # relative distance of eigenvalues below which divided differences are series
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))  # components of strains
_ROWS, _COLUMNS = np.array(_PAIRS).T


@dataclass(frozen=True, kw_only=True)
class FiniteVonMises(VonMises):
    """Elastoplasticity of von Mises at large strain: :class:`VonMises` in logarithmic strains.

    The yield stress is that of the stress conjugate to ½ ln C: for principal axes that do not turn, that of
    Kirchhoff's stress. In small strains it is :class:`VonMises` with the same constants. B-bar does not
    apply, so linear cells lock in plastic flow: use Q8 or T6.

    Parameters
    ----------
    young, poisson, density, yield_stress, isotropic, kinematic : float
        As of :class:`VonMises`.

    Examples
    --------
    A cube stretched to twice its length without hardening carries the yield stress on its reduced section:

    >>> metal = FiniteVonMises(young=1000.0, poisson=0.3, yield_stress=1.0)
    >>> stretch, across = 2.0, 2.0**-0.5
    >>> gradient = np.diag([stretch - 1, across - 1, across - 1]).reshape(1, 9)
    >>> P, _, _ = metal.respond(gradient, metal.history(1, 9), False)
    >>> round(float(P[0, 0] - P[0, 4] * across / stretch), 6)  # (τ₁ − τ₂) / stretch
    0.5
    """

    measure: ClassVar[Measure] = "gradient"

    @property
    def small(self) -> VonMises:
        """The law between T and E."""
        return VonMises(**{constant.name: getattr(self, constant.name) for constant in fields(VonMises)})

    def history(self, points: int, components: int) -> History:
        """As of :class:`VonMises`, in six components."""
        return super().history(points, 6)

    def respond(self, measure: Array, history: History, flat: bool) -> tuple[Array, Array, History]:
        """P, ∂P/∂F and the history after a return in logarithmic strains; not a number where J ≤ 0."""
        if not flat:
            return self._piola(measure, history)
        stress, tangent, new = self._piola(self._thinned(measure, history), history)
        return *condensed(stress, tangent, 4), new

    def cauchy(self, measure: Array, history: History, flat: bool) -> Array:
        """Cauchy's stress in the components of strains."""
        full = self._thinned(measure, history) if flat else measure
        return stress_on_deformed(full, self._piola(full, history)[0])

    def stored(self, measure: Array, history: History, flat: bool) -> Array:
        """That of :class:`VonMises` at E."""
        full = self._thinned(measure, history) if flat else measure
        F = deformation(full)
        values, axes = np.linalg.eigh(F.transpose(0, 2, 1) @ F)
        return self.small.stored(_hencky(values, axes), history, False)

    def _thinned(self, measure: Array, history: History) -> Array:
        guess = -self.poisson / (1.0 - self.poisson) * (measure[:, 0] + measure[:, 3])
        guess = np.maximum(guess + history["plastic_strain"][:, 2], -0.9)
        return without_normal_stress(
            lambda gradient: self._piola(gradient, history)[:2], measure, 4, guess, -1.0
        )

    def _piola(self, measure: Array, history: History) -> tuple[Array, Array, History]:
        n, s = measure.shape
        F, places = deformation(measure), components(s)
        if not (np.linalg.det(F) > 0.0).all():
            return np.full((n, s), np.nan), np.zeros((n, s, s)), history
        values, axes = np.linalg.eigh(F.transpose(0, 2, 1) @ F)
        T, D, new = self.small.respond(_hencky(values, axes), history, False)
        first, second = divided_differences(values)
        turned = np.einsum("nia,nij,njb->nab", axes, tensor(T), axes, optimize=True)
        S = 2.0 * np.einsum("nia,nab,njb->nij", axes, first * turned, axes, optimize=True)
        # 𝔻 = 2 ∂S/∂C in the frame of the eigenvectors, with D turned into it.
        frame = np.einsum("nia,njb->nijab", axes, axes)
        symmetric = frame[:, _ROWS, _COLUMNS]  # (n, 6, 3, 3)
        symmetric = 0.5 * (symmetric + symmetric.transpose(0, 1, 3, 2))
        weighted = np.where(np.arange(6) < 3, 1.0, 2.0)[:, None, None] * symmetric * first[:, None]
        material = np.einsum("npab,npq,nqcd->nabcd", weighted, D, weighted, optimize=True)
        geometric = np.einsum("bc,nad,nabd->nabcd", np.eye(3), turned, second)
        geometric = geometric + geometric.transpose(0, 3, 4, 1, 2)
        geometric = geometric + geometric.transpose(0, 2, 1, 3, 4)
        geometric = 0.25 * (geometric + geometric.transpose(0, 1, 2, 4, 3))
        tangent = 4.0 * (material + geometric)
        turn = np.einsum("niM,nMa->nia", F, axes)  # F V
        A = np.einsum("nia,nJb,nabcd,nLc,nkd->niJkL", turn, axes, tangent, axes, turn, optimize=True)
        A += np.einsum("ik,nJL->niJkL", np.eye(3), S)
        P = (F @ S).reshape(n, 9)[:, places]
        return P, A.reshape(n, 9, 9)[:, places][:, :, places], new


def _hencky(values: Array, axes: Array) -> Array:
    """½ ln C in the six components of strains, shears doubled."""
    E = np.einsum("nia,na,nja->nij", axes, 0.5 * np.log(values), axes)
    return np.asarray(E[:, _ROWS, _COLUMNS] * np.where(np.arange(6) < 3, 1.0, 2.0))


def tensor(stress: Array) -> Array:
    """Symmetric tensors (n, 3, 3) of stresses in 4 or 6 components."""
    T = np.zeros((len(stress), 3, 3))
    for column, (i, j) in enumerate(_PAIRS[: stress.shape[1]]):
        T[:, i, j] = T[:, j, i] = stress[:, column]
    return T


def divided_differences(values: Array) -> tuple[Array, Array]:
    """First and second divided differences of ½ ln at eigenvalues (n, 3), (n, 3, 3) and (n, 3, 3, 3)."""
    a, b = values[:, :, None], values[:, None, :]
    first = _slope(a, b)
    three = np.stack(
        np.broadcast_arrays(values[:, :, None, None], values[:, None, :, None], values[:, None, None, :]),
        axis=-1,
    )
    ordered = np.sort(three, axis=-1)  # they are symmetric: the outer two are the farthest apart
    low, middle, high = np.moveaxis(ordered, -1, 0)
    mean = ordered.mean(axis=-1)
    apart = (high - low) > CLOSE * mean
    span = np.where(apart, high - low, 1.0)
    exact = (_slope(high, middle) - _slope(middle, low)) / span
    # Σ f⁽ᵏ⁺²⁾(mean)/(k+2)! h_k with h₁ = 0 and h₂ = ½ Σ (λ − mean)²
    squares = ((ordered - mean[..., None]) ** 2).sum(axis=-1)
    series = -0.25 / mean**2 - 0.125 / mean**4 * 0.5 * squares
    return first, np.where(apart, exact, series)


def _slope(a: Array, b: Array) -> Array:
    """½ (ln a − ln b)/(a − b)."""
    x = (a - b) / b
    small = np.abs(x) < CLOSE
    safe = np.where(small, 1.0, x)
    ratio = np.where(small, 1.0 - x / 2.0 + x**2 / 3.0 - x**3 / 4.0, np.log1p(safe) / safe)
    return np.asarray(0.5 * ratio / b)
