"""Materials: stress and consistent tangent from strain, at all Gauss points at once.

A material gives stresses in the components of its *measure*:

* ``"strain"``: (xx, yy, zz, xy) in the plane, where zz is the hoop in axisymmetric models, and
  (xx, yy, zz, xy, yz, zx) in space. Shears are γ = 2ε. The stress is Cauchy's, displacements are small.
* ``"gradient"``: the displacement gradient (11, 12, 21, 22, 33), or its nine components by rows in space.
  The stress is the first Piola-Kirchhoff stress P on the undeformed body (total Lagrangian).

The consistent tangent is the derivative of the stress computed by the *algorithm*, not of the rate equation:
with it Newton's method converges quadratically (Simo, Taylor 1985).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from clapas.bodies.elastic.plane_stress import condensed, without_normal_stress
from clapas.errors import SceneError
from clapas.geometry import checks
from clapas.typing import Array, Indices

History = dict[str, Array]
Measure = Literal["strain", "gradient"]


class Material(Protocol):
    """Interface of a material."""

    measure: ClassVar[Measure]
    is_linear: ClassVar[bool]

    @property
    def density(self) -> float:
        """Mass per volume (kg/m³)."""
        ...

    def history(self, points: int, components: int) -> History:
        """Internal variables of an undeformed body at so many Gauss points."""
        ...

    def respond(self, measure: Array, history: History, flat: bool) -> tuple[Array, Array, History]:
        """Stress (n, s), tangent (n, s, s) and new history at measures (n, s).

        ``flat`` asks for plane stress, σ_zz = 0.
        """
        ...

    def cauchy(self, measure: Array, history: History, flat: bool) -> Array:
        """Cauchy's stress (n, 4) or (n, 6) in the components of strains."""
        ...

    def stored(self, measure: Array, history: History, flat: bool) -> Array:
        """Recoverable energy per undeformed volume (n,) (J/m³), at the end of an increment."""
        ...


def _check_elastic(word: str, young: float, poisson: float, density: float) -> None:
    for name, value in {"young": young, "poisson": poisson, "density": density}.items():
        checks.number(word, name, value)
    if not young > 0.0 or not -1.0 < poisson < 0.5 or not density >= 0.0:
        raise SceneError(
            f"{word}: needs young > 0, −1 < poisson < 0.5 and density ≥ 0, got young={young!r}, "
            f"poisson={poisson!r}, density={density!r}. Incompressible material: poisson = 0.4999 and "
            "Q4 or Hex8 with B-bar"
        )


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """Isotropic linear elasticity, σ = λ tr(ε) I + 2 G ε.

    Parameters
    ----------
    young : float
        Young's modulus E (Pa).
    poisson : float
        Poisson's ratio ν, −1 < ν < ½.
    density : float
        Mass per volume (kg/m³).

    Examples
    --------
    >>> steel = Elastic(young=210e9, poisson=0.3, density=7800.0)
    >>> round(steel.wave_speed)
    5189
    """

    young: float
    poisson: float = 0.0
    density: float = 0.0

    measure: ClassVar[Measure] = "strain"
    is_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_elastic("elastic material", self.young, self.poisson, self.density)

    @property
    def shear(self) -> float:
        """Shear modulus G = E / 2(1 + ν) (Pa)."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def bulk(self) -> float:
        """Bulk modulus E / 3(1 − 2ν) (Pa)."""
        return self.young / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def wave_speed(self) -> float:
        """Speed of waves in a thin bar, √(E/ρ) (m/s)."""
        return float(np.sqrt(self.young / self.density))

    def moduli(self, components: int, flat: bool = False) -> Array:
        """Matrix of σ = D ε in 4 or 6 components; ``flat`` for plane stress, without zz."""
        if flat:
            E, nu = self.young, self.poisson
            D = np.zeros((4, 4))
            D[:2, :2] = E / (1.0 - nu**2) * np.array([[1.0, nu], [nu, 1.0]])
            D[3, 3] = self.shear
            return D
        G = self.shear
        D = np.diag([2.0 * G] * 3 + [G] * (components - 3))
        D[:3, :3] += self.bulk - 2.0 / 3.0 * G
        return D

    def history(self, points: int, components: int) -> History:
        """None."""
        return {}

    def respond(self, measure: Array, history: History, flat: bool) -> tuple[Array, Array, History]:
        """Stress D ε and the tangent D."""
        n, s = measure.shape
        D = self.moduli(s, flat)
        return measure @ D, np.broadcast_to(D, (n, s, s)), history

    def cauchy(self, measure: Array, history: History, flat: bool) -> Array:
        """The stress itself: displacements are small."""
        return self.respond(measure, history, flat)[0]

    def stored(self, measure: Array, history: History, flat: bool) -> Array:
        """½ ε·D ε."""
        return np.asarray(0.5 * ((measure @ self.moduli(measure.shape[1], flat)) * measure).sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class VonMises:
    """Elastoplasticity with von Mises's yield surface, isotropic and kinematic linear hardening.

    Yield: √(3/2) |dev σ − X| ≤ S₀ + H p, with back stress X' = (2/3) C ε_p' and p' = √(2/3) |ε_p'|.

    One implicit step from the last equilibrium is Moreau's *catching-up*: the elastic trial stress is
    projected on the convex set of admissible stresses, in the norm of the elastic energy. For this surface
    the projection is along the deviator (radial return), and its derivative is the consistent tangent.

    Parameters
    ----------
    young, poisson, density : float
        As of :class:`Elastic`.
    yield_stress : float
        S₀ in simple tension (Pa).
    isotropic, kinematic : float
        Hardening moduli H and C (Pa): stress per plastic strain in simple tension.

    References
    ----------
    Simo, Hughes 1998, box 3.2; Moreau 1976 (catching-up).
    """

    young: float
    poisson: float = 0.3
    density: float = 0.0
    yield_stress: float
    isotropic: float = 0.0
    kinematic: float = 0.0

    measure: ClassVar[Measure] = "strain"
    is_linear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_elastic("von Mises material", self.young, self.poisson, self.density)
        for name in ("yield_stress", "isotropic", "kinematic"):
            if name != "yield_stress" or self.yield_stress != np.inf:  # a material that never yields
                checks.number("von Mises material", name, getattr(self, name))
        if not self.yield_stress > 0.0 or self.isotropic < 0.0 or self.kinematic < 0.0:
            raise SceneError(
                "von Mises material: needs yield_stress > 0 and hardening ≥ 0, got "
                f"yield_stress={self.yield_stress!r}, isotropic={self.isotropic!r}, "
                f"kinematic={self.kinematic!r}"
            )

    @property
    def elastic(self) -> Elastic:
        """The elastic part of the law."""
        return Elastic(young=self.young, poisson=self.poisson, density=self.density)

    def history(self, points: int, components: int) -> History:
        """No plastic strain (shears as γ), no back stress, no accumulated plastic strain p."""
        return {
            "plastic_strain": np.zeros((points, components)),
            "back_stress": np.zeros((points, components)),
            "accumulated": np.zeros(points),
        }

    def respond(self, measure: Array, history: History, flat: bool) -> tuple[Array, Array, History]:
        """Radial return from the last equilibrium."""
        if not flat:
            return self._returned(measure, history)
        elastic = measure - history["plastic_strain"]
        guess = history["plastic_strain"][:, 2] - self.poisson / (1.0 - self.poisson) * (
            elastic[:, 0] + elastic[:, 1]
        )
        full = without_normal_stress(
            lambda strain: self._returned(strain, history)[:2], measure, 2, guess, -np.inf
        )
        stress, tangent, new = self._returned(full, history)
        return *condensed(stress, tangent, 2), new

    def cauchy(self, measure: Array, history: History, flat: bool) -> Array:
        """The stress itself: displacements are small."""
        return self.respond(measure, history, flat)[0]

    def stored(self, measure: Array, history: History, flat: bool) -> Array:
        """Elastic energy, and that of hardening: ½ H p² and ⅓ C |ε_p|²."""
        plastic = history["plastic_strain"]
        stress = self.respond(measure, history, flat)[0]  # σ_zz = 0 where the thickness is free
        half = np.where(np.arange(measure.shape[1]) < 3, 1.0, 0.5)
        hardened = 0.5 * self.isotropic * history["accumulated"] ** 2
        hardened += self.kinematic / 3.0 * (plastic**2 * half).sum(axis=1)
        return np.asarray(0.5 * (stress * (measure - plastic)).sum(axis=1) + hardened)

    def _returned(self, measure: Array, history: History) -> tuple[Array, Array, History]:
        s = measure.shape[1]
        G, D = self.elastic.shear, self.elastic.moduli(s)
        trial = (measure - history["plastic_strain"]) @ D
        relative = trial - history["back_stress"]
        relative[:, :3] -= relative[:, :3].mean(axis=1)[:, None]
        twice = np.where(np.arange(s) < 3, 1.0, 2.0)  # shears count twice in |·|² of a symmetric tensor
        length = np.sqrt((relative**2 * twice).sum(axis=1))
        radius = np.sqrt(2.0 / 3.0) * (self.yield_stress + self.isotropic * history["accumulated"])
        excess = np.maximum(length - radius, 0.0)
        hardening = 2.0 / 3.0 * (self.isotropic + self.kinematic)
        slip = excess / (2.0 * G + hardening)  # |ε_p increment| as a tensor
        direction = relative / np.where(length > 0.0, length, 1.0)[:, None]
        stress = trial - 2.0 * G * slip[:, None] * direction
        flows = excess > 0.0
        share = 2.0 * G * slip / np.where(length > 0.0, length, 1.0)
        # D_ep = D − 2G share I_dev − 2G (2G/(2G + h) − share) d ⊗ d where it yields, in stress components
        # against engineering strains: I_dev maps γ to γ/2.
        deviator = np.diag(np.where(np.arange(s) < 3, 1.0, 0.5))
        deviator[:3, :3] -= 1.0 / 3.0
        rate = np.where(flows, 2.0 * G / (2.0 * G + hardening) - share, 0.0)
        tangent = (
            D
            - (2.0 * G * share)[:, None, None] * deviator
            - (2.0 * G * rate)[:, None, None] * direction[:, :, None] * direction[:, None, :]
        )
        new = {
            "plastic_strain": history["plastic_strain"] + slip[:, None] * direction * twice,
            "back_stress": history["back_stress"] + 2.0 / 3.0 * self.kinematic * slip[:, None] * direction,
            "accumulated": history["accumulated"] + np.sqrt(2.0 / 3.0) * slip,
        }
        return stress, tangent, new


@dataclass(frozen=True, kw_only=True)
class NeoHookean:
    """A rubber-like material for large deformation, compressible neo-Hookean.

        W(F) = ½ G (tr FᵀF − 3 − 2 ln J) + ½ λ (ln J)²,      P = G (F − F⁻ᵀ) + λ ln J F⁻ᵀ,     J = det F.

    In small strains it is :class:`Elastic` with the same constants.

    References
    ----------
    Bonet, Wood 2008, 6.4.3.
    """

    young: float
    poisson: float = 0.3
    density: float = 0.0

    measure: ClassVar[Measure] = "gradient"
    is_linear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_elastic("neo-Hookean material", self.young, self.poisson, self.density)

    @property
    def elastic(self) -> Elastic:
        """Its behaviour in small strains."""
        return Elastic(young=self.young, poisson=self.poisson, density=self.density)

    def history(self, points: int, components: int) -> History:
        """None."""
        return {}

    def respond(self, measure: Array, history: History, flat: bool) -> tuple[Array, Array, History]:
        """P and ∂P/∂F. Where a cell is turned inside out (J ≤ 0) the stress is not a number."""
        if not flat:
            return *self._piola(measure), history
        stress, tangent = self._piola(self._thinned(measure))
        return *condensed(stress, tangent, 4), history

    def cauchy(self, measure: Array, history: History, flat: bool) -> Array:
        """σ = P Fᵀ / J."""
        full = self._thinned(measure) if flat else measure
        return stress_on_deformed(full, self._piola(full)[0])

    def stored(self, measure: Array, history: History, flat: bool) -> Array:
        """W."""
        F = deformation(self._thinned(measure) if flat else measure)
        G, lame = self.elastic.shear, self.elastic.bulk - 2.0 / 3.0 * self.elastic.shear
        log = np.log(np.linalg.det(F))
        return np.asarray(0.5 * G * ((F**2).sum(axis=(1, 2)) - 3.0 - 2.0 * log) + 0.5 * lame * log**2)

    def _thinned(self, measure: Array) -> Array:
        """The gradients with the stretch through the thickness at zero normal stress."""
        guess = -self.poisson / (1.0 - self.poisson) * (measure[:, 0] + measure[:, 3])
        return without_normal_stress(self._piola, measure, 4, guess, -1.0)

    def _piola(self, measure: Array) -> tuple[Array, Array]:
        n, s = measure.shape
        F, places = deformation(measure), components(s)
        J = np.linalg.det(F)
        if not (J > 0.0).all():
            return np.full((n, s), np.nan), np.zeros((n, s, s))
        G, lame = self.elastic.shear, self.elastic.bulk - 2.0 / 3.0 * self.elastic.shear
        inverse = np.linalg.inv(F)
        transposed = inverse.transpose(0, 2, 1)
        spread = G - lame * np.log(J)
        P = G * F - spread[:, None, None] * transposed
        # ∂P_iJ/∂F_kL = G δ_ik δ_JL + λ F⁻¹_Ji F⁻¹_Lk + (G − λ ln J) F⁻¹_Jk F⁻¹_Li
        A = np.einsum("nJk,nLi->niJkL", inverse, inverse) * spread[:, None, None, None, None]
        A += lame * np.einsum("nJi,nLk->niJkL", inverse, inverse)
        A = A.reshape(n, 9, 9) + G * np.eye(9)
        return P.reshape(n, 9)[:, places], A[:, places][:, :, places]


def components(s: int) -> Indices:
    """Components of a gradient, of nine by rows, in a measure of s components."""
    return np.arange(9) if s == 9 else np.array([0, 1, 3, 4, 8])


def deformation(measure: Array) -> Array:
    """Deformation gradients F = I + ∂u/∂X (n, 3, 3) from displacement gradients (n, 5) or (n, 9)."""
    n, s = measure.shape
    F = np.zeros((n, 9))
    F[:, components(s)] = measure
    return F.reshape(n, 3, 3) + np.eye(3)


def stress_on_deformed(measure: Array, stress: Array) -> Array:
    """Cauchy's stress σ = P Fᵀ / J in the components of strains, from displacement gradients and P."""
    n, s = measure.shape
    F, P = deformation(measure), np.zeros((n, 9))
    P[:, components(s)] = stress
    sigma = P.reshape(n, 3, 3) @ F.transpose(0, 2, 1) / np.linalg.det(F)[:, None, None]
    rows, columns = ([0, 1, 2, 0], [0, 1, 2, 1]) if s == 5 else ([0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0])
    return np.asarray(sigma[:, rows, columns])


def von_mises(stress: Array) -> Array:
    """Equivalent stress √(3/2) |dev σ| of stresses (n, 4) or (n, 6).

    Examples
    --------
    >>> von_mises(np.array([[3.0, 0.0, 0.0, 0.0]]))
    array([3.])
    """
    deviator = stress.copy()
    deviator[:, :3] -= stress[:, :3].mean(axis=1)[:, None]
    return np.asarray(
        np.sqrt(1.5 * (deviator[:, :3] ** 2).sum(axis=1) + 3.0 * (stress[:, 3:] ** 2).sum(axis=1))
    )
