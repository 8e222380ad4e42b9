"""Stability at rest: stiffening of mechanisms by prestress.

Three statements, from the weakest to the strongest:

* *tangent stability*: K + K_G is positive definite on the free displacements (rigid motions aside);
* *prestress stability*: K_G is positive definite on the internal mechanisms; then a soft structure becomes
  stable for every small enough prestress of that pattern;
* *super-stability*: the stress matrix Ω is positive semidefinite of rank n − d − 1 and the member directions
  lie on no conic at infinity; then the structure is stable for every material and every level of prestress
  (Connelly 1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.kinematics import Kinematics, kinematics
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.linalg.saddles import definite_factor
from clapas.typing import Array

FLAT = 1e-9  # eigenvalue, relative to the largest, that counts as zero
DENSE = 1500


class Unstable(ProblemError):
    """A structure that can move freely; :attr:`mechanism` (n × d) is that motion, largest value 1."""

    def __init__(self, message: str, truss: Truss, mechanism: Array) -> None:
        super().__init__(message)
        self.truss, self.mechanism = truss, mechanism


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability at rest.

    Parameters
    ----------
    kinematics : Kinematics
        Self-stress states and mechanisms.
    mechanism_stiffness : array (i,)
        Eigenvalues of K_G on the internal mechanisms (N/m), ascending.
    smallest : float
        Smallest eigenvalue of K + K_G (N/m) apart from rigid motions.
    mode : array (n × d)
        The displacements of that eigenvalue, largest component 1.
    """

    kinematics: Kinematics
    mechanism_stiffness: Array
    smallest: float
    mode: Array

    @property
    def is_prestress_stable(self) -> bool:
        """K_G is positive on every internal mechanism (true where there is none)."""
        return bool((self.mechanism_stiffness > 0.0).all())

    @property
    def is_stable(self) -> bool:
        """K + K_G is positive definite apart from rigid motions."""
        return self.smallest > 0.0


def stability(truss: Truss) -> Stability:
    """Examine the stability of the prestressed shape without loads.

    Examples
    --------
    Prestress stiffens the three mechanisms of the half-cuboctahedron module:

    >>> from clapas.bodies.trusses.generators import module
    >>> stability(module()).mechanism_stiffness.round()
    array([3333., 6857., 8000.])
    """
    kernels = kinematics(truss)
    assembly = Assembly(truss)
    K_G = assembly.geometric()
    internal = kernels.internal
    values = np.linalg.eigvalsh(internal.T @ (K_G @ internal)) if internal.shape[1] else np.zeros(0)
    scale = float(np.abs(K_G.diagonal()).max(initial=0.0))
    values = np.where(np.abs(values) <= FLAT * scale, 0.0, values)
    smallest, mode = _smallest((assembly.material() + K_G).tocsc(), kernels.rigid)
    shape = truss.displacements(mode)
    top = float(np.abs(shape).max(initial=0.0))
    return Stability(kernels, values, smallest, shape / top if top else shape)


def _smallest(K: sparse.csc_array, rigid: Array) -> tuple[float, Array]:
    """Smallest eigenvalue of K orthogonal to the rigid motions, with its vector; zero when it is rounding."""
    size = K.shape[0]
    if size <= rigid.shape[1]:
        return np.inf, np.zeros(size)
    top = float(abs(K).sum(axis=0).max())
    if size <= DENSE:
        values, vectors = np.linalg.eigh(K.toarray() + top * rigid @ rigid.T)
        value, vector = float(values[0]), vectors[:, 0]
    else:
        start = np.random.default_rng(0).standard_normal(size)
        count = min(rigid.shape[1] + 2, size - 1)
        # About a shift below all of them, the smallest eigenvalues come first.
        shift = definite_factor(K, 1e-8 * top, 1e-8 * top)[1]
        values, vectors = sparse_linalg.eigsh(K, k=count, sigma=-shift, v0=start)
        share = np.linalg.norm(rigid.T @ vectors, axis=0) if rigid.shape[1] else np.zeros(count)
        values = np.where(share > 0.9, np.inf, values)
        place = int(np.argmin(values))
        value, vector = float(values[place]), vectors[:, place]
    return (0.0 if abs(value) <= 1e-13 * top else value), vector


def require_stable(truss: Truss, *, may_float: bool = False) -> Stability:
    """Raise :class:`Unstable`, which carries the mechanism, unless the structure is stable at rest.

    Rigid motions that the supports allow count as mechanisms, since nothing would carry a load along them,
    unless the structure is free-standing (``may_float``).
    """
    report = stability(truss)
    if report.kinematics.rigid.shape[1] and not may_float:
        motion = truss.displacements(report.kinematics.rigid[:, 0])
        motion = motion / np.abs(motion).max()
        raise Unstable(
            f"the supports leave {report.kinematics.rigid.shape[1]} rigid motions of the whole free: block "
            f"at least {3 if truss.d == 2 else 6} displacement components that hold it",
            truss,
            motion,
        )
    if not report.is_stable:
        raise Unstable(_instability_message(truss, report), truss, report.mode)
    return report


def _instability_message(truss: Truss, result: Stability) -> str:
    amplitude = np.linalg.norm(result.mode, axis=1)
    most = [
        truss.label(int(node)) for node in np.argsort(-amplitude, kind="stable")[:4] if amplitude[node] > 0.1
    ]
    count = result.kinematics.internal.shape[1]
    cause = (
        f"it has {count} mechanism{'s' * (count != 1)} and no prestress"
        if not truss.prestress.any()
        else f"its prestress does not stiffen its {count} mechanism{'s' * (count != 1)}"
        if count
        else "its compression exceeds what its stiffness can hold"
    )
    return (
        f"the structure is unstable: {cause}; the softest motion moves node{'s' * (len(most) != 1)} "
        f"{', '.join(most)} most (stiffness {result.smallest:.3g} N/m). Add members or supports there, or a "
        "self-stress that stiffens it (clapas.bodies.trusses.feasible_self_stress, --tension in the shell); "
        "error.mechanism holds the motion"
    )


def stress_matrix(truss: Truss) -> Array:
    """The stress matrix Ω (n × n, N/m): the graph Laplacian weighted by the force densities t⁰/l."""
    density = truss.prestress / truss.lengths
    a, b = truss.members.T
    omega = np.zeros((truss.n_nodes, truss.n_nodes))
    np.add.at(omega, (a, a), density)
    np.add.at(omega, (b, b), density)
    np.add.at(omega, (a, b), -density)
    np.add.at(omega, (b, a), -density)
    return omega


def is_super_stable(truss: Truss) -> bool:
    """Whether a free-standing structure is stable for every material and level of its prestress.

    Ω must be positive semidefinite, its kernel must be the affine maps of the nodes only (rank n − d − 1),
    and no affine motion may keep all member lengths.

    Examples
    --------
    >>> from clapas.bodies.trusses.generators import mast_of_prisms, prism
    >>> is_super_stable(prism(3)), is_super_stable(mast_of_prisms(2))
    (True, False)

    References: Connelly 1982; Zhang, Ohsaki 2007.
    """
    if truss.is_blocked.any():
        raise ProblemError(
            "super-stability is a statement about free-standing structures: this one has supports; remove "
            "them (truss.with_(is_blocked=None)) or use stability()"
        )
    values = np.linalg.eigvalsh(stress_matrix(truss))
    top = np.abs(values).max(initial=0.0)
    zero = np.abs(values) <= FLAT * top
    if values[0] < -FLAT * top or int(zero.sum()) != truss.d + 1:
        return False
    # An affine motion x ↦ S x keeps the lengths when cᵀ S c = 0 for every member direction c, S symmetric.
    c = truss.vectors / truss.lengths[:, None]
    upper = np.triu_indices(truss.d)
    conic = (c[:, :, None] * c[:, None, :])[:, upper[0], upper[1]]
    return int(np.linalg.matrix_rank(conic)) == len(upper[0])
