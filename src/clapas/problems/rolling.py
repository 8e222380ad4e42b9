"""Contacts that resist rolling and spinning, beside sliding."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from clapas.convex import rolling
from clapas.linalg.norms import norm
from clapas.problems import coulomb
from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ROUNDING, ContactProblem
from clapas.problems.report import Report, measure
from clapas.typing import Array


class RollingProblem(ContactProblem):
    """Find impulses and couples at contacts that resist sliding, rolling and spinning.

    At a contact the bodies turn against each other by ω: spin ω_S about the normal, rolling ω_R across
    it. The couple resists both, by at most ℓ_S r_N and ℓ_R r_N (lengths in m), against the rotation, as
    friction resists sliding. Rotations and couples are measured at the ends of these lengths,

        u_S = ℓ_S ω_S,   u_R = ℓ_R ω_R   (m/s),        r_S, r_R = couples / lengths   (N·s),

    so that the law is one law of all components, of which Coulomb's is the part without couples:

        K = {|r_T| ≤ mu r_N, |r_S| ≤ r_N, |r_R| ≤ r_N}
        K* ∋ ũ ⟂ r ∈ K,    ũ = u + (mu |u_T| + |u_S| + |u_R|) e_N.

    The same shift as De Saxcé's makes the law exact: a rolling body does not lift. Nothing is frozen or
    lagged; the residual is that of Coulomb's law with a slider for each part of the couple, and an answer
    that passes obeys the coupled law.

    Components are (N, T, R) in the plane and (N, T_1, T_2, S, R_1, R_2) in space: ``d`` is 3 or 6. Make
    one with :meth:`from_blocks`, from blocks with that many rows. A length of zero is a row of zeros:
    there the couple, whatever r says, does nothing.

    NSGS solves it. Moreau 2003, section 3.3, names couples as an extension.
    """

    @cached_property
    def response(self) -> Array:
        """Mean diagonal of the normal and tangential part of W_ii, (n,)."""
        sliding = rolling.DISCS[self.d][0].stop
        return np.asarray(self._diagonals[:, :sliding].mean(axis=1))

    def violation(self, r: npt.ArrayLike, u: Array | None = None) -> Array:
        """Velocity by which each part of the law is violated: one slider per part of the couple.

        With the one λ of the contact for all components: the couples are scaled by their lengths, short
        against the bodies, so that their own response is less.
        """
        r = self.impulse(r)
        u = self.velocity(r) if u is None else u
        moves = self._diagonals > 0.0  # False for a length of zero
        x = moves * self.response[:, None] * r
        result = np.empty_like(x)
        result[:, 0] = np.minimum(u[:, 0], x[:, 0])
        radii = rolling.coefficients(self.mu, self.d) * np.maximum(x[:, :1], 0.0)
        for k, part in enumerate(rolling.DISCS[self.d]):
            result[:, part] = coulomb.disc_violation(u[:, part], x[:, part], radii[:, k])
        return np.asarray(moves * result)

    def sliding_part(self, r: npt.ArrayLike) -> tuple[ContactProblem, Array]:
        """The problem of the impulses alone, the couples of r held as loads, and its unknown."""
        r, blocks = self.impulse(r), self.blocks
        assert blocks is not None
        d = rolling.DISCS[self.d][0].stop
        couples = r.copy()
        couples[:, :d] = 0.0
        held = BodyBlocks(
            np.ascontiguousarray(blocks.G[:, :, :d]), blocks.bodies, blocks.motion(couples), blocks.root
        )
        problem = ContactProblem.from_blocks(held, mu=self.mu, w=self.w[:, :d], name=self.name)
        return problem, np.ascontiguousarray(r[:, :d])

    def report(self, r: npt.ArrayLike) -> Report:
        """The impulses measured by every known form of Coulomb's law, the couples held as loads."""
        return measure(*self.sliding_part(r))

    @cached_property
    def _diagonals(self) -> Array:
        return np.diagonal(self.local_blocks, axis1=1, axis2=2)

    def _violation_norm(self, r: Array) -> float:
        hidden = ROUNDING * norm(self.response[:, None] * r)
        return max(norm(self.violation(r)), hidden)
