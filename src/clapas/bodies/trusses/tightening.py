"""Forces of bars and cables over one time step: linear in the velocities at its end, as long as no cable goes
slack or taut.

The impulse of member m, of stiffness k, over a step of length h is

    r_m = s_m B_m v⁺ + p_m,    s = h k a,    p = h k (e − (1 − θ) ((1 − θ) h − τ) B v),    a = θ² h + θ τ

(notation of :mod:`clapas.bodies.trusses.moving`), and zero in a cable where this is negative. With M̂ the
mass plus the geometric term of stretched members, and f̂ the momentum without members, v⁺ minimises

    ½ v⁺·M̂ v⁺ − f̂·v⁺ + Σ_bars r²/2s + Σ_cables ⟨r⟩₊²/2s,

which is strictly convex and piecewise quadratic: Newton's method with an exact search ends after a finite
number of steps, mostly one, since few cables change within a time step. Each is a factorisation of
M̂ + Bᵀ diag(s 1_taut) B, whose pattern never changes.

A *piece* is a set of taut cables. Contacts see the bodies in one piece, as bodies with this effective mass;
if the velocities after contacts belong to another piece, the step is repeated in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.links import Links
from clapas.bodies.trusses.assembly import Assembly
from clapas.bodies.trusses.line_search import exact_step
from clapas.bodies.trusses.members import Members, Shapes
from clapas.bodies.trusses.structure import Truss
from clapas.linalg.factor import Factor, factorise
from clapas.linalg.ldl import SparsePattern
from clapas.typing import Array, Mask

COMPILED = 2500  # velocities up to which one compiled pass factorises faster than SuperLU
NEGLIGIBLE = 1e-12  # of the largest impulse: below, rounding decides between slack and taut
MOST_PIECES = 200


class Factoriser:
    """Matrices M + Σ of blocks of members, factorised repeatedly with one pattern.

    Parameters
    ----------
    truss : Truss
        The structure.
    mass : sparse matrix (n_dof × n_dof)
        M (kg).
    """

    def __init__(self, truss: Truss, members: Members, mass: sparse.csr_array) -> None:
        self.truss, self.members, self.mass = truss, members, mass

    @cached_property
    def _assembly(self) -> Assembly:
        return Assembly(self.truss)

    def matrix(self, blocks: Array) -> sparse.csr_array:
        """M and the blocks (m × d × d)."""
        return sparse.csr_array(self.mass + self._assembly.matrix(blocks))

    def factor(self, blocks: Array) -> Factor:
        """The factor of that matrix."""
        if self.mass.shape[0] > COMPILED:
            return factorise(self.matrix(blocks), self._assembly.order)
        _, _, number, sign = self.members.entries
        return self._pattern.factorise(
            np.concatenate((sign * blocks.ravel()[number], self._mass_entries.data))
        )

    @cached_property
    def _mass_entries(self) -> sparse.coo_array:
        return sparse.coo_array(sparse.tril(self.mass))

    @cached_property
    def _pattern(self) -> SparsePattern:
        row, column, _, _ = self.members.entries
        rows, columns = (
            np.concatenate((row, self._mass_entries.row)),
            np.concatenate((column, self._mass_entries.col)),
        )
        return SparsePattern(rows.astype(np.int64), columns.astype(np.int64), self.mass.shape[0])


@dataclass(frozen=True, eq=False)
class StepForces:
    """The members of a truss over one step.

    Parameters
    ----------
    factoriser : Factoriser
        For matrices on the velocities of the truss.
    shapes : Shapes
        Members at the middle of the step.
    slope, offset : arrays (m,)
        s and p.
    density : array (m,)
        θ² h² t₊/l (kg): geometric term of stretched members.
    momentum : array (n_dof,)
        f̂ (N·s).
    start : array (n_dof,)
        Velocities at the start of the step (m/s).
    is_cable, is_left_out : arrays (m,) of bool
        Which members never push, and which are not treated here.
    rows : callable
        Makes the links of the truss with its cables among them.
    """

    factoriser: Factoriser
    shapes: Shapes
    slope: Array
    offset: Array
    density: Array
    momentum: Array
    start: Array
    is_cable: Mask
    is_left_out: Mask
    rows: Callable[[], Links | None]

    def impulses(self, v: Array) -> Array:
        """Impulses (m,) (N·s) for velocities v at the end, if all members were bilateral."""
        return self.slope * self.factoriser.members.rates(self.shapes.direction, v) + self.offset

    def piece(self, v: Array, last: Mask | None = None) -> Mask:
        """The members that resist (m,) at velocities v; ``last`` itself if they differ by rounding only."""
        r = self.impulses(v)
        taut = np.where(self.is_cable, r > 0.0, True) & ~self.is_left_out
        if last is not None:
            differ = taut != last
            if not differ.any() or np.abs(r[differ]).max() <= NEGLIGIBLE * self._size(v):
                return last
        return np.asarray(taut)

    def free(self) -> tuple[Mask, sparse.csr_array, Array]:
        """The piece, effective mass and velocities of a step without contacts."""
        v = self.start
        piece = self.piece(v)
        for _ in range(MOST_PIECES):
            solution = self._velocities(piece)
            after = self.piece(solution, piece)
            if after is piece:
                break
            v = self._search(v, solution - v)
            new = self.piece(v)
            piece = after if np.array_equal(new, piece) else new
        return piece, self.matrix(piece), solution

    def free_in(self, piece: Mask) -> tuple[sparse.csr_array, Array]:
        """The effective mass, and the velocities without contacts if the forces were those of this piece."""
        return self.matrix(piece), self._velocities(piece)

    def as_links(self) -> tuple[sparse.csr_array, Array, Links | None]:
        """The effective mass and the velocities with bars alone, and the links with the cables."""
        return *self.free_in(~self.is_cable), self.rows()

    def matrix(self, piece: Mask) -> sparse.csr_array:
        """M̂ + Bᵀ diag(s) B over the members of a piece."""
        return self.factoriser.matrix(self._blocks(piece))

    def _velocities(self, piece: Mask) -> Array:
        right = self._momentum(np.where(piece, self.offset, 0.0))
        factor = self.factoriser.factor(self._blocks(piece))
        v = factor.solve(right)
        return v + factor.solve(
            right - self._times(piece, v)
        )  # iterative refinement: stiff members lose digits

    def _times(self, piece: Mask, v: Array) -> Array:
        """The matrix of a piece times velocities."""
        members, c = self.factoriser.members, self.shapes.direction
        across = members.across(v)
        along = np.einsum("mi,mi->m", c, across)
        pull = (np.where(piece, self.slope, 0.0) - self.density)[:, None] * along[:, None] * c
        pull += self.density[:, None] * across
        return np.asarray(self.factoriser.mass @ v + members.sum(pull))

    def _momentum(self, r: Array) -> Array:
        """f̂ minus the impulses (m,) of the members."""
        return self.momentum - self.factoriser.members.sum(r[:, None] * self.shapes.direction)

    def _search(self, v: Array, direction: Array) -> Array:
        """The velocities of least energy along a direction."""
        members = self.factoriser.members
        none = np.zeros(len(self.slope), dtype=bool)
        stretch = members.rates(self.shapes.direction, direction)
        rest = self._times(none, v) - self.momentum
        value, rate = float(rest @ direction), float(self._times(none, direction) @ direction)
        at = ~self.is_left_out
        r, slope = self.impulses(v)[at], (self.slope * stretch)[at]
        return v + exact_step(r, slope, stretch[at], self.is_cable[at], value, rate) * direction

    def _blocks(self, piece: Mask) -> Array:
        stiffness = np.where(piece, self.slope, 0.0) - self.density
        turning = self.density[:, None, None] * np.eye(self.shapes.direction.shape[1])
        return np.asarray(stiffness[:, None, None] * self._along + turning)

    @cached_property
    def _along(self) -> Array:
        c = self.shapes.direction
        return c[:, :, None] * c[:, None, :]

    def _size(self, v: Array) -> float:
        """Largest term of the impulses."""
        rates = self.factoriser.members.rates(self.shapes.direction, v)
        return float(np.max(np.maximum(np.abs(self.slope * rates), np.abs(self.offset)), initial=0.0))
