"""Free vibrations about the prestressed shape: frequencies and modes.

    (K + K_G) φ = ω² M φ

Modes that are mechanisms are stiff by prestress only, so that their frequencies grow as the square root of
it; the others hardly depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError
from clapas.linalg.saddles import definite_factor
from clapas.typing import Array, Mask

DENSE = 600


@dataclass(frozen=True, eq=False)
class Modes:
    """Frequencies (Hz, ascending) and mode shapes (k × n × d, largest value 1).

    An unstable mode, ω² < 0, is given the frequency −√|ω²|/2π.
    """

    truss: Truss
    frequencies: Array
    shapes: Array

    @property
    def is_stable(self) -> bool:
        """Whether no mode is unstable."""
        return bool((self.frequencies >= 0.0).all())


def mass_matrix(
    truss: Truss, kind: Literal["consistent", "lumped"] = "consistent", extra: npt.ArrayLike | None = None
) -> sparse.csc_array:
    """M (kg) on the free displacements: members as straight lines of mass, and point masses ``extra`` (n,) at
    the nodes.

    Consistent: a member of mass m adds m/6 [[2, 1], [1, 2]] per axis; lumped: m/2 at each end.
    """
    share = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0 if kind == "consistent" else 0.5 * np.eye(2)
    if kind not in ("consistent", "lumped"):
        raise ProblemError(f"kind must be 'consistent' or 'lumped', got {kind!r}")
    n, ends = truss.n_nodes, truss.members
    rows, columns = np.repeat(ends, 2, axis=1).ravel(), np.tile(ends, (1, 2)).ravel()
    scalar = sparse.coo_array(
        ((truss.mass[:, None] * share.ravel()).ravel(), (rows, columns)), shape=(n, n)
    ).tocsr()
    if extra is not None:
        added = np.asarray(extra, dtype=np.float64)
        if added.shape != (n,) or added.min(initial=0.0) < 0.0:
            raise ProblemError(f"extra: {n} nodes need {n} masses of at least 0 kg, got shape {added.shape}")
        scalar = scalar + sparse.diags_array(added)
    return sparse.kron(scalar, np.eye(truss.d), format="csr")[truss.free][:, truss.free].tocsc()


def modes(
    truss: Truss,
    count: int = 10,
    *,
    mass: Literal["consistent", "lumped"] = "consistent",
    extra: npt.ArrayLike | None = None,
    forces: Array | None = None,
    is_tight: Mask | None = None,
) -> Modes:
    """The lowest frequencies of the prestressed structure, rigid motions included.

    Parameters
    ----------
    truss : Truss
        The structure.
    count : int
        How many.
    mass : "consistent" or "lumped"
        See :func:`mass_matrix`.
    extra : array (n,), optional
        Point masses at the nodes (kg).
    forces, is_tight : arrays (m,), optional
        Axial forces (N) and which members resist, of a loaded state; those of rest by default.

    Examples
    --------
    A string: a mass of 1 kg in the middle of 2 m of light cable under 100 N; f = √(2T/(a m))/2π:

    >>> from clapas.bodies.trusses.materials import Group, Material, Section
    >>> silk = Material(young=1e9, density=1e-9)
    >>> light = Group(name="string", kind="cable", material=silk, section=Section(area=1e-6))
    >>> string = Truss(nodes=[[0, 0], [1, 0], [2, 0]], members=[[0, 1], [1, 2]], groups=[light], group=[0, 0],
    ...                prestress=[100, 100], is_blocked=[[1, 1], [0, 0], [1, 1]])
    >>> bool(np.isclose(modes(string, 1, extra=[0, 1, 0]).frequencies[0], np.sqrt(200) / (2 * np.pi)))
    True
    """
    if not 1 <= count <= truss.n_dof:
        raise ProblemError(f"count must lie between 1 and the {truss.n_dof} free displacements, got {count}")
    assembly = Assembly(truss)
    tight = np.ones(truss.n_members, dtype=bool) if is_tight is None else is_tight
    K = assembly.material(truss.stiffness * tight) + assembly.geometric(forces)
    M = mass_matrix(truss, mass, extra)
    if truss.n_dof <= DENSE or count >= truss.n_dof - 1:
        values, vectors = linalg.eigh(K.toarray(), M.toarray(), subset_by_index=(0, count - 1))
    else:
        # About a shift below all of them, the smallest eigenvalues come first, those of unstable motions too.
        least = 1e-6 * float(K.diagonal().max() / M.diagonal().max())
        shift = -definite_factor(K.tocsc(), least, least, M=M)[1]
        start = np.random.default_rng(0).standard_normal(truss.n_dof)
        values, vectors = sparse_linalg.eigsh(K.tocsc(), k=count, M=M, sigma=shift, v0=start)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    top = float((K.diagonal() / M.diagonal()).max())
    values = np.where(np.abs(values) <= 1e-12 * top, 0.0, values)  # rigid motions: zero up to rounding
    shapes = np.stack([truss.displacements(vector) for vector in vectors.T])
    shapes /= np.abs(shapes).max(axis=(1, 2))[:, None, None]
    return Modes(truss, np.sign(values) * np.sqrt(np.abs(values)) / (2.0 * np.pi), shapes)
