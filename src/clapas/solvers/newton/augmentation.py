"""The augmentation parameter rho that combines impulse and velocity, and Alart's bounds on it.

Newton's method on r − P(r − ρ u) depends on impulse and velocity through r − ρ u alone. The size of ρ decides
into which region (open, stick, slide) a pair (u, r) falls, and with too large a ρ the iterates end in
cycles. ρ has the unit of an inverse flexibility, and Alart determined how large it may be on small elastic
problems A u = f − λ, where A⁻¹ has the role of W:

========================================  ===============================================  ======
problem                                   bound                                            number
========================================  ===============================================  ======
one spring with friction                  ρ < 2 a                                          (57)
Uzawa's method, any number                ρ < 2 / λ_max(A⁻¹)                               (59)
two springs in line with friction         ρ < 2 max(1/(A⁻¹)₁₁, 1/(A⁻¹)₂₂)                  (60)
one node, contact with friction           ρ < 2 / (c_tt − c_nt²/c_nn),  c = A⁻¹            (74)
friction on an elastoplastic spring       ρ < 2k / (1 + S₀K / (mu r_N (K + k)))            (77)
========================================  ===============================================  ======

(57), (59) and (74) ensure global convergence. (60) is stated for the load of one example and fails
under others, where 2 min(…) is safe. (77) excludes the one cycle Alart considers; none was found below it.
With several nodes no bound is known to suffice; (74) taken contact by contact is used in practice,
with a reduction when a cycle is detected. Uniqueness itself needs mu < c_nn / |c_nt| (66).

References
----------
Alart 1997, equations 57 to 77.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clapas.errors import SettingsError
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

# A tangential response below this fraction of the normal one does not bound ρ: the contact cannot slide by
# itself.
NO_RESPONSE = 1e-12

SMALLEST = 1e-3  # smallest factor of a safeguard on ρ: at ρ = 0 the law would have no effect


def one_spring_bound(a: float) -> float:
    """Largest ρ for one spring of stiffness ``a`` with friction: 2 a (Alart 1997, equation 57).

    Above it Newton's iterates alternate forever between the two directions of sliding when the solution
    sticks.
    """
    return 2.0 * a


def uzawa_bound(A: npt.ArrayLike) -> float:
    """Largest ρ for which Uzawa's fixed point contracts: 2 / λ_max(A⁻¹) (Alart 1997, equation 59).

    Examples
    --------
    >>> round(uzawa_bound([[2.0, -1.0], [-1.0, 1.0]]), 12) == round(3 - 5**0.5, 12)
    True
    """
    return 2.0 * float(np.linalg.eigvalsh(np.asarray(A, dtype=float))[0])


def two_springs_bound(A: npt.ArrayLike) -> float:
    """Largest ρ for two degrees of freedom with friction (Alart 1997, equation 60).

        ρ < 2 max(1/(A⁻¹)₁₁, 1/(A⁻¹)₂₂)

    As printed, for the load of the example. Under other loads cycles occur from 2 min(1/(A⁻¹)₁₁, 1/(A⁻¹)₂₂)
    on, as the tests show; below that none was found.

    Examples
    --------
    >>> two_springs_bound([[2.0, -1.0], [-1.0, 1.0]])
    2.0
    """
    flexibility = np.diag(np.linalg.inv(np.asarray(A, dtype=float)))
    return float(2.0 / flexibility.min())


def node_bound(blocks: Array) -> Array:
    """Largest ρ for each contact taken alone, (n,): 2 / (c_tt − c_nt²/c_nn) (Alart 1997, equation 74).

    The bracket is the tangential response with the normal velocity held (Schur complement). In space it is
    a matrix, W_TT − W_TN W_NT / W_NN, whose largest eigenvalue is taken.

    Parameters
    ----------
    blocks : array (n, d, d)
        Responses W_ii of the contacts, normal component first.

    Examples
    --------
    >>> node_bound(np.array([[[1.0, 0.8], [0.8, 1.0]]])).round(12)
    array([5.55555556])
    """
    normal = blocks[:, 0, 0]
    schur = blocks[:, 1:, 1:] - blocks[:, 1:, :1] * blocks[:, :1, 1:] / normal[:, None, None]
    largest = np.linalg.eigvalsh(0.5 * (schur + schur.transpose(0, 2, 1))).max(axis=1, initial=-np.inf)
    bounded = largest > NO_RESPONSE * normal
    return np.where(bounded, 2.0 / np.where(bounded, largest, 1.0), np.inf)


def friction_bound(blocks: Array) -> Array:
    """Friction below which each contact alone has one solution, (n,): c_nn / |c_nt| (Alart 1997, 66).

    Infinite where normal and tangent do not interact.
    """
    coupling = np.linalg.norm(blocks[:, 0, 1:], axis=1)
    safe = np.where(coupling > 0.0, coupling, 1.0)
    return np.where(coupling > 0.0, blocks[:, 0, 0] / safe, np.inf)


@dataclass(frozen=True, kw_only=True)
class Elastoplastic:
    """Yielding material at the contacts: ρ is kept small where they are lightly pressed.

        ρ < 2 k / (1 + S₀ K / (mu r_N (K + k)))

    The bound tends to zero with the normal force r_N: where contact is light and the material flows (the
    start of flow-in in deep drawing) ρ must be small, or the iterates jump between yielding in tension with
    forward sliding and yielding in compression with backward sliding.

    Parameters
    ----------
    stiffness : float
        Stiffness K of the branch that yields (N/m).
    hardening : float
        Stiffness k of the spring beside it, which remains after yielding (N/m): the slope is K + k before
        and k after.
    yield_force : float
        Force S₀ at which the whole yields (N).

    References
    ----------
    Alart 1997, equations 76 and 77.

    Examples
    --------
    >>> Elastoplastic(stiffness=2, hardening=1, yield_force=3).bound(0.5, np.array([4, 0.04])).round(3)
    array([1.  , 0.02])
    """

    stiffness: float
    hardening: float
    yield_force: float

    def __post_init__(self) -> None:
        require_kinds(self)
        for name in ("stiffness", "hardening", "yield_force"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise SettingsError(f"Elastoplastic: {name} must be positive, got {value}")

    def bound(self, mu: Array | float, normal_force: Array | float) -> Array:
        """Largest ρ at normal forces r_N ≥ 0 (Alart 1997, equation 77)."""
        K, k = self.stiffness, self.hardening
        threshold = np.multiply(mu, normal_force) * (K + k)
        return np.asarray(2.0 * k * threshold / (threshold + self.yield_force * K))


@dataclass(frozen=True)
class Augmentation:
    """The augmentation of each contact, for its normal and for its tangents.

    Parameters
    ----------
    normal, tangent : arrays (n,)
        ρ_N and ρ_T, impulse per velocity.
    """

    normal: Array
    tangent: Array

    @classmethod
    def from_blocks(cls, blocks: Array, share: float = 0.5) -> Augmentation:
        """A fraction ``share`` of the bound of each contact: 2/W_NN for the normal, (74) for the tangents.

        Where the bound is infinite, the tangent takes the value of the normal.

        Examples
        --------
        >>> Augmentation.from_blocks(np.array([[[2.0, 0.0], [0.0, 4.0]]]))
        Augmentation(normal=array([0.5]), tangent=array([0.25]))
        """
        normal = 2.0 * share / blocks[:, 0, 0]
        bound = share * node_bound(blocks)
        return cls(normal, np.where(np.isfinite(bound), bound, normal))

    @property
    def single(self) -> Array:
        """One ρ per contact, for functions that treat normal and tangent alike, (n,)."""
        return np.minimum(self.normal, self.tangent)

    def limited(self, bound: Array) -> Augmentation:
        """The same, with tangents limited by a bound (n,), but not reduced by more than a factor SMALLEST."""
        return Augmentation(self.normal, np.clip(bound, SMALLEST * self.tangent, self.tangent))
