"""The coarse problem: macro forces of all interfaces and rigid motions of all substructures at once.

With c_E the signs of the macro forces, f_E = c_E f, and the macro displacements of a substructure
u_E = L_E f_E + K*⁺g_E + R_E α_E, continuity Σ c_Eᵀu_E = 0 and solvability R_Eᵀ(f_E + g_E) = 0 are

    [ Σ cᵀL c + 2/κ   N ] [ f ]     [ Σ cᵀK*⁺g − (2/κ) f̂ ]
    [ Nᵀ              0 ] [ α ] = − [ R_Eᵀ g_E           ],      N = [… cᵀR_E …]

factorised once. κ = d^M/d is the macro search direction: infinite by default, where macro displacements are
continuous after each linear stage. With a finite one the jump is only reduced,
Σ c_Eᵀu_E + (2/κ)(f − f̂) = 0 with f̂ = f − ½κ Σ c_Eᵀu_E of the local stage.

References: LMGC thesis on tensegrity, (5.35), (5.46).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from clapas.errors import ProblemError
from clapas.multiscale.bordered import Bordered
from clapas.multiscale.substructure import Substructure
from clapas.multiscale.team import Share, one_by_one
from clapas.typing import Array, Indices

MANY = 800  # unknowns from which the problem is cut into groups, shared by threads
GROUPS = 4
BORDER = 0.2  # largest fraction of the unknowns in the border, which one thread solves as a dense system


class CoarseProblem:
    """The coarse problem, factorised once; each iteration is one solve.

    Parameters
    ----------
    parts : list of Substructure
        Homogenised.
    places : list of index arrays
        Indices of the macro components of each substructure among all.
    size : int
        Number of macro components of all interfaces.
    kappa : float
        Macro direction relative to the micro one.
    """

    def __init__(self, parts: list[Substructure], places: list[Indices], size: int, kappa: float) -> None:
        self.places, self.size, self.kappa = places, size, kappa
        kernels = np.cumsum([0] + [part.rigid.shape[1] for part in parts])
        self.rigid_parts = [slice(size + a, size + b) for a, b in pairwise(kernels)]
        self.n_rigid = int(kernels[-1])
        self.f, self.f_hat = np.zeros(size), np.zeros(size)
        # Macro components and rigid parts of each substructure, concatenated in the order of their exchange,
        # and the slice of each: only four operations are sequential.
        own = [
            np.concatenate((place, np.arange(rigid.start, rigid.stop)))
            for place, rigid in zip(places, self.rigid_parts, strict=True)
        ]
        self._all: Indices = np.concatenate([np.zeros(0, dtype=np.int64), *own])
        self.slices = [slice(a, b) for a, b in pairwise(np.cumsum([0] + [len(each) for each in own]))]
        self._macro: Indices = np.concatenate([np.zeros(0, dtype=np.int64), *places])
        self._groups: Bordered | None = None
        if not size:
            return
        rows, columns, values = [], [], []
        for part, place, rigid in zip(parts, places, self.rigid_parts, strict=True):
            own = part.signs[:, None] * part.homogenised * part.signs
            motions = part.signs[:, None] * part.rigid
            numbers = np.arange(rigid.start, rigid.stop)
            for block, i, j in ((own, place, place), (motions, place, numbers), (motions.T, numbers, place)):
                rows.append(np.repeat(i, len(j)))
                columns.append(np.tile(j, len(i)))
                values.append(block.ravel())
        total = size + self.n_rigid
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        matrix = sparse.coo_array(entries, shape=(total, total)).tocsc()
        if math.isfinite(kappa):
            pull = np.concatenate((np.full(size, 2.0 / kappa), np.zeros(self.n_rigid)))
            matrix = sparse.csc_array(matrix + sparse.diags_array(pull))
        self._groups = self._in_groups(matrix) if total >= MANY else None
        if self._groups is not None:
            return
        try:
            self._factor = sparse_linalg.splu(matrix)
        except RuntimeError:
            raise ProblemError(
                "the coarse problem is singular: the structure can move as a whole. Add supports, or an M"
            ) from None

    def _in_groups(self, matrix: sparse.csc_array) -> Bordered | None:
        """The factor by groups of substructures, or None if the groups do not suit.

        Groups are coupled by the macro forces of the interfaces between them. A group without them is
        free to move rigidly, so that the rigid parts of one substructure of each belong to the border too.
        """
        n = len(self.places)
        sides: list[list[int]] = [[] for _ in range(self.size)]
        for number, place in enumerate(self.places):
            for component in place:
                sides[component].append(number)
        pairs = np.array([side for side in sides if len(side) == 2], dtype=np.int64).reshape(-1, 2)
        best: Indices | None = None
        for order in (np.arange(n), _spectral_order(pairs, n)):
            group_of = np.empty(n, dtype=np.int64)
            group_of[order] = GROUPS * np.arange(n) // n
            group = np.full(self.size + self.n_rigid, -1)
            for number, place in enumerate(self.places):
                group[place] = group_of[number]
                group[self.rigid_parts[number]] = group_of[number]
            group[[c for c, side in enumerate(sides) if len({*group_of[side]}) > 1]] = -1
            for each in range(GROUPS):
                group[self.rigid_parts[int(np.flatnonzero(group_of == each)[0])]] = -1
            if best is None or (group < 0).sum() < (best < 0).sum():
                best = group
        if best is None or (best < 0).sum() > BORDER * len(best):
            return None
        try:
            return Bordered(matrix, best)
        except ProblemError:
            return None

    def solve(self, predictions: list[Array], share: Share = one_by_one) -> Array:
        """Macro forces f and rigid parts α by substructure, from the results of their first halves.

        Those of substructure i are in the slice ``slices[i]``. A large problem is in groups, which ``share``
        distributes.
        """
        if not self.size:
            return np.zeros(0)
        total = self.size + self.n_rigid
        sums = np.bincount(self._all, weights=np.concatenate(predictions), minlength=total)
        right: Array = -sums.astype(np.float64, copy=False)
        if math.isfinite(self.kappa):
            right[: self.size] += (2.0 / self.kappa) * self.f_hat
        solution = self._factor.solve(right) if self._groups is None else self._groups.solve(right, share)
        self.f = solution[: self.size]
        return np.asarray(solution[self._all])

    def local(self, displacements: list[Array], relaxation: float) -> None:
        """Local stage of the macro forces, from the signed macro displacements of each substructure.

        Nothing to do where the macro direction is infinite.
        """
        if not self.size or not math.isfinite(self.kappa):
            return
        jump = np.bincount(self._macro, weights=np.concatenate(displacements), minlength=self.size)
        # f̂ of the local stage enters the next linear stage through f̂ − ½κ[u], as h does.
        self.f_hat = self.f_hat + relaxation * (self.f - 0.5 * self.kappa * jump - self.f_hat)


def _spectral_order(pairs: Indices, n: int) -> Indices:
    """Order (n,) of substructures with neighbours close together: by the Fiedler vector of their graph."""
    adjacency = sparse.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)).toarray()
    adjacency = np.minimum(adjacency + adjacency.T, 1.0)
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    return np.argsort(np.linalg.eigh(laplacian)[1][:, min(1, n - 1)], kind="stable")
