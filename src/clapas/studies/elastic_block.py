"""An elastic rectangle on a rigid plane, condensed on its contact nodes: plane stress, linear triangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.problems import ContactProblem
from clapas.problems.lcp import LCP
from clapas.typing import Array, Indices

YOUNG, POISSON = 200e9, 0.33  # Pa, no unit


@dataclass(frozen=True, kw_only=True)
class ElasticBlock:
    """A rectangle of steel, one metre long, above a rigid plane.

    Parameters
    ----------
    contacts : int
        Nodes of the lower side that may touch; also the number of elements along it.
    rows : int
        Elements through the height.
    height : float
        (m).
    pressure : float
        On the loaded part of the upper side (Pa).
    loaded : (float, float)
        Where that part begins and ends (m).
    gap : float
        Distance of the unloaded block from the plane (m).
    curvature : float
        The lower side rises by this times x² (1/m): a curved foot, described by its gap alone.
    held : "clamped" or "guided"
        The left side is fixed, or free to slide vertically (then a rigid motion is left).

    Examples
    --------
    >>> block = ElasticBlock(contacts=4, rows=2)
    >>> block.frictionless()
    LCP(4 unknowns, dense)
    """

    contacts: int
    rows: int = 12
    height: float = 0.5
    pressure: float = 20e6
    loaded: tuple[float, float] = (0.8, 1.0)
    gap: float = 0.5e-3
    curvature: float = 0.0
    held: Literal["clamped", "guided"] = "clamped"

    def frictionless(self) -> LCP:
        """The separations z and the contact forces w = M z + q of a plane without friction.

        M is the stiffness condensed on the normal displacements of the contact nodes: positive definite
        when the block is clamped, singular when it is guided.
        """
        normal = 2 * self._contact_nodes() + 1
        A, f = _condense(*self._stiffness(), self._free_dofs(), normal)
        return LCP(A, -f - A @ self._gaps())

    def with_friction(self, mu: float) -> ContactProblem:
        """The same with friction from rest, in flexibilities (clamped blocks only): u = W r + q.

        Displacements stand for velocities and forces for impulses.
        """
        nodes = self._contact_nodes()
        dofs = np.column_stack((2 * nodes + 1, 2 * nodes)).ravel()
        A, f = _condense(*self._stiffness(), self._free_dofs(), dofs)
        W = np.linalg.inv(A)
        q = (W @ f).reshape(-1, 2) + np.column_stack((self._gaps(), np.zeros(len(nodes))))
        return ContactProblem(W=W, q=q, mu=mu, symmetrise=True)

    @property
    def n_dof(self) -> int:
        """Number of free displacements."""
        return len(self._free_dofs())

    def _points(self) -> Array:
        x, y = np.meshgrid(
            np.linspace(0.0, 1.0, self.contacts + 1), np.linspace(0.0, self.height, self.rows + 1)
        )
        return np.column_stack((x.ravel(), y.ravel()))

    def _contact_nodes(self) -> Indices:
        return np.arange(1, self.contacts + 1)

    def _gaps(self) -> Array:
        x = self._points()[self._contact_nodes(), 0]
        return np.asarray(self.gap + self.curvature * x**2)

    def _free_dofs(self) -> Indices:
        left = np.flatnonzero(self._points()[:, 0] == 0.0)
        fixed = 2 * left if self.held == "guided" else np.concatenate((2 * left, 2 * left + 1))
        return np.setdiff1d(np.arange(2 * (self.contacts + 1) * (self.rows + 1)), fixed)

    def _stiffness(self) -> tuple[sparse.csr_array, Array]:
        """Stiffness of all nodes, unconstrained, and the forces of the pressure."""
        points = self._points()
        K = _assemble(points, _triangles(self.contacts, self.rows))
        top = np.flatnonzero(points[:, 1] == self.height)
        begin, end = self.loaded
        middles = 0.5 * (points[top[1:], 0] + points[top[:-1], 0])
        pressed = np.flatnonzero((middles > begin) & (middles < end))
        f = np.zeros(2 * len(points))
        for edge in pressed:
            f[2 * top[edge : edge + 2] + 1] -= 0.5 * self.pressure / self.contacts
        return K, f


def _triangles(columns: int, rows: int) -> Indices:
    """Two triangles per cell, (t, 3)."""
    i, j = np.meshgrid(np.arange(columns), np.arange(rows))
    corner = (j * (columns + 1) + i).ravel()
    above = corner + columns + 1
    lower = np.column_stack((corner, corner + 1, above + 1))
    upper = np.column_stack((corner, above + 1, above))
    return np.concatenate((lower, upper))


def _assemble(points: Array, triangles: Indices) -> sparse.csr_array:
    """Stiffness of linear triangles of unit thickness in plane stress."""
    x, y = points[triangles, 0], points[triangles, 1]
    b = np.roll(y, -1, axis=1) - np.roll(y, -2, axis=1)
    c = np.roll(x, -2, axis=1) - np.roll(x, -1, axis=1)
    twice_area = (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])[:, None]
    strain = np.zeros((len(triangles), 3, 6))
    strain[:, 0, 0::2] = strain[:, 2, 1::2] = b / twice_area
    strain[:, 1, 1::2] = strain[:, 2, 0::2] = c / twice_area
    law = np.array([[1.0, POISSON, 0.0], [POISSON, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - POISSON)]])
    law *= YOUNG / (1.0 - POISSON**2)
    element = np.einsum("tki,kl,tlj->tij", strain, law, strain) * 0.5 * twice_area[:, :, None]
    dofs = np.stack((2 * triangles, 2 * triangles + 1), axis=2).reshape(-1, 6)
    row, column = np.repeat(dofs, 6, axis=1).ravel(), np.tile(dofs, (1, 6)).ravel()
    size = 2 * len(points)
    return sparse.coo_array((element.ravel(), (row, column)), shape=(size, size)).tocsr()


def _condense(K: sparse.csr_array, f: Array, free: Indices, kept: Indices) -> tuple[Array, Array]:
    """Eliminate all free displacements but those kept: A u = f + r."""
    inside = np.setdiff1d(free, kept)
    factor = sparse_linalg.splu(sparse.csc_array(K[inside][:, inside]))
    coupling = K[inside][:, kept].toarray()
    answers = factor.solve(coupling)
    A = K[kept][:, kept].toarray() - coupling.T @ answers
    return 0.5 * (A + A.T), f[kept] - answers.T @ f[inside]
