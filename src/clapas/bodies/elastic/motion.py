"""Time step of an elastic body, implicit in its internal forces F.

The θ-scheme is

    M (v⁺ − v) = h [f − C v_θ − F_θ] + Hᵀ r,    v_θ = θ v⁺ + (1 − θ) v,

so that the step is limited by accuracy and not by the fastest wave through a cell. Where supports
prevent rotation F_θ = F(q_θ), and for linear materials

    M̃ = M + θhC + θ²h²K,        v_free = v + M̃⁻¹ h [f − C v − K (q + θ h v)];

with θ = ½ free motion conserves energy.

A body that may turn is described in its frames (:mod:`.frames`): F_θ = R F(θ e⁺ + (1 − θ) e) with the
displacements e in the frames of both ends and the frame R of the mean position, less its torque. A mean of
positions would suit slow rotations only: two ends of a turn by φ have a mean that is shorter by
1 − cos ½φ, and a stiff body would be stressed by that at every step. Angular momentum is conserved exactly
with θ = ½, energy to second order in the step.

Frames, and materials that are not linear, are linearised repeatedly about velocities at the end of the step,
until the forces there agree with the linearised ones: Newton's method, with a contact problem as its
linear step. Plastic strains are those of a return from the start of the step to its end.

References
----------
Simo, Tarnow 1992 (stresses at means of strains, for rotations).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from clapas.bodies.elastic.frames import Frames, frames_of
from clapas.bodies.elastic.inverse import KeptInverse, TurnedInverse
from clapas.bodies.elastic.materials import History
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Held
from clapas.bodies.kind import Energy, Span
from clapas.errors import ProblemError
from clapas.linalg.factor import factorise
from clapas.linalg.factored_mass import FactoredMass
from clapas.typing import Array, Indices

Linearised = tuple[FactoredMass, Array]


@dataclass(frozen=True, eq=False)
class Motion:
    """A solid that moves: displacements u and velocities v of the free displacements.

    Parameters
    ----------
    solid : Solid
        The solid.
    held : Held
        Its supports.
    load : array (n_dof,), or None
        Constant forces beside gravity (N).
    damping : (float, float)
        Rayleigh's a (1/s) and b (s).
    lumped : bool
        Masses at the nodes, or the consistent mass matrix.
    """

    solid: Solid
    held: Held
    load: Array | None
    damping: tuple[float, float]
    lumped: bool

    # ---------------------------------------------------------------- constants

    @cached_property
    def free(self) -> Indices:
        """Displacements that are not held."""
        return np.flatnonzero(self.held.free)

    @cached_property
    def frames(self) -> Frames | None:
        """Frames that turn with the body; None where supports prevent rotation."""
        return frames_of(self.solid, self.held)

    @cached_property
    def is_linear(self) -> bool:
        """Whether steps need no second linearisation."""
        return self.solid.is_linear and self.frames is None

    @cached_property
    def mass(self) -> sparse.csr_array:
        """M of the free displacements."""
        return self._restricted(self._mass)

    @cached_property
    def stiffness(self) -> sparse.csr_array:
        """K of the free displacements of the undeformed body."""
        return self._restricted(self.solid.stiffness)

    @cached_property
    def _mass(self) -> sparse.csr_array:
        if self.lumped:
            return sparse.csr_array(sparse.diags_array(self.solid.lumped_mass, format="csr"))
        return self.solid.mass

    # ---------------------------------------------------------------- displacements

    def everywhere(self, values: Array) -> Array:
        """Values of the free displacements as those of all, held ones zero."""
        everything = np.zeros(self.solid.n_dof)
        everything[self.free] = values
        return everything

    def seen(self, u: Array) -> Array:
        """Displacements of all nodes that strain the body: in the frames, where there are any."""
        everything = self.everywhere(u)
        return everything if self.frames is None else self.frames.at(everything).e

    def yielded(self, u: Array, history: tuple[History, ...], h: float) -> tuple[History, ...]:
        """Updated histories at displacements u reached within h seconds."""
        response = self.solid.respond(self.seen(u), history, tangent=False)
        _refuse_inside_out(response.force, h)
        return response.history

    # ---------------------------------------------------------------- steps

    def linear_step(self, middle: Array, v: Array, span: Span) -> Linearised:
        """M̃ and v_free of a linear body that does not turn; ``middle`` is q + (1 − θ) h v.

        With mean displacement θ q⁺ + (1 − θ) q, M̃ v⁺ = M v + h [f − K (q + θ (1 − θ) h v)] and q + θ h v is
        middle + (2θ − 1) h v.
        """
        h, theta = span.h, span.theta
        a, b = self.damping
        effective = self._effective(h, theta)
        ahead = middle + (2.0 * theta - 1.0) * h * v
        push = self._loads(span) - self.stiffness @ (ahead + b * v) - a * (self.mass @ v)
        return effective, v + effective.solve(h * push)

    def linearised(
        self, middle: Array, v: Array, history: tuple[History, ...], span: Span, after: Array
    ) -> Linearised:
        """M̃ and v_free linearised about velocities ``after`` at the end of the step.

        M̃ (v_free − v⁺) = M (v − v⁺) + h [f − C v_θ − F_θ], all at v⁺ = after.
        """
        if self.frames is not None:
            return self._turning(self.frames, middle, v, history, span, after)
        h, theta = span.h, span.theta
        a, b = self.damping
        q_theta = middle + h * (theta**2 * after - (1.0 - theta) ** 2 * v)
        response = self.solid.respond(self.everywhere(q_theta), history)
        _refuse_inside_out(response.force, h)
        M = (1.0 + theta * h * a) * self.mass + theta * h * b * self.stiffness
        effective = _factored(_symmetric(M + (theta * h) ** 2 * self._restricted(response.tangent)))
        mean = theta * after + (1.0 - theta) * v
        damping = a * (self.mass @ mean) + b * (self.stiffness @ mean)
        push = self.mass @ (v - after) + h * (self._loads(span) - damping - response.force[self.free])
        return effective, after + effective.solve(push)

    def _turning(
        self,
        frames: Frames,
        middle: Array,
        v: Array,
        history: tuple[History, ...],
        span: Span,
        after: Array,
    ) -> Linearised:
        """Linearisation in frames that turn. The mass is the same in all frames."""
        h, theta = span.h, span.theta
        a, b = self.damping
        first = self.everywhere(middle - (1.0 - theta) * h * v)
        last = self.everywhere(middle + theta * h * after)
        mean = frames.at(theta * last + (1.0 - theta) * first)
        e = theta * frames.at(last).e + (1.0 - theta) * frames.at(first).e
        mean_velocity = self.everywhere(theta * after + (1.0 - theta) * v)
        K = self.solid.stiffness
        inverse = None
        if self.solid.is_linear:
            effective_in_frames, inverse = self._effective_in_frames(h, theta)
            force = K @ e
        else:
            response = self.solid.respond(e, history)
            _refuse_inside_out(response.force, h)
            M = (1.0 + theta * h * a) * self._mass + theta * h * b * K
            effective_in_frames, force = _symmetric(M + (theta * h) ** 2 * response.tangent), response.force
        if b:
            force = force + b * (K @ mean.to_frames(mean_velocity))
        force = frames.without_torque(mean.to_world(force), mean)
        drag = a * (self.mass @ mean_velocity[self.free])
        push = self.mass @ (v - after) + h * (self._loads(span) - drag - force[self.free])
        matrix = _symmetric(self._restricted(mean.matrix(effective_in_frames)))
        effective = (
            _factored(matrix) if inverse is None else FactoredMass(matrix, TurnedInverse(inverse, mean))
        )
        return effective, after + effective.solve(push)

    def rounding(self, u: Array, span: Span) -> float:
        """Impulses (N·s) of a step due to rounding: the last bits of positions times the stiffness.

        Forces are differences of such numbers, and in a stiff body in free fall they are no larger.
        """
        positions = self._distances + np.abs(self.everywhere(u))
        return float(span.h * np.finfo(float).eps * (self._absolute_stiffness @ positions).max(initial=0.0))

    @cached_property
    def _distances(self) -> Array:
        """Distances of the nodes from their mean position, along the axes (n_dof,)."""
        nodes = self.solid.mesh.nodes
        return np.asarray(np.abs(nodes - nodes.mean(axis=0)).ravel())

    @cached_property
    def _absolute_stiffness(self) -> sparse.csr_array:
        return sparse.csr_array(abs(self.solid.stiffness))

    def _loads(self, span: Span) -> Array:
        force = self.solid.body_force(span.gravity) if np.any(span.gravity) else np.zeros(self.solid.n_dof)
        return (force if self.load is None else force + self.load)[self.free]

    def _effective(self, h: float, theta: float) -> FactoredMass:
        """M̃ of a linear body and its inverse, kept from step to step."""
        cache = self._effective_cache
        if (h, theta) not in cache:
            a, b = self.damping
            M = (1.0 + theta * h * a) * self.mass + (theta * h * b + theta**2 * h**2) * self.stiffness
            cache.clear()
            cache[h, theta] = _factored(_symmetric(M))
        return cache[h, theta]

    def _effective_in_frames(self, h: float, theta: float) -> tuple[sparse.csr_array, KeptInverse | None]:
        """M̃ of all displacements of a linear body in its frames; its inverse, if none of them is held."""
        if len(self.free) == self.solid.n_dof:
            whole = self._effective(h, theta)
            assert isinstance(whole.inverse, KeptInverse)
            return whole.matrix, whole.inverse
        a, b = self.damping
        M = (1.0 + theta * h * a) * self._mass
        return _symmetric(M + (theta * h * b + theta**2 * h**2) * self.solid.stiffness), None

    @cached_property
    def _effective_cache(self) -> dict[tuple[float, float], FactoredMass]:
        return {}

    def _restricted(self, matrix: sparse.csr_array) -> sparse.csr_array:
        if len(self.free) == self.solid.n_dof:
            return sparse.csr_array(matrix)
        return sparse.csr_array(matrix[self.free][:, self.free])

    # ---------------------------------------------------------------- energy

    def energy(self, u: Array, v: Array, history: tuple[History, ...], gravity: Array) -> Energy:
        """½ vᵀ M v; strain energy and the potential of weight and load."""
        strained, moved = self.seen(u), self.everywhere(u)
        if self.solid.is_linear:
            stored = 0.5 * float(strained @ (self.solid.stiffness @ strained))
        else:
            stored = self.solid.stored_energy(strained, history)
        weight = self.solid.lumped_mass.reshape(-1, self.solid.d)
        position = self.solid.mesh.nodes + moved.reshape(-1, self.solid.d)
        potential = stored - float(((weight * position) @ np.asarray(gravity)).sum())
        if self.load is not None:
            potential -= float(self.load @ moved)
        return Energy(0.5 * float(v @ (self.mass @ v)), potential)


def _factored(M: sparse.csr_array) -> FactoredMass:
    return FactoredMass(M, KeptInverse(factorise(M), M.shape[0]))


def _symmetric(M: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(0.5 * (M + M.T))


def _refuse_inside_out(force: Array, h: float) -> None:
    if not np.isfinite(force).all():
        raise ProblemError(
            f"a cell of an elastic body is turned inside out by motion within {h:g} s: take a shorter time "
            "step, or a stiffer material"
        )
