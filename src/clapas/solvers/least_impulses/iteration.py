"""The iteration on the dual problem of the least impulses; the formulas are in the package docstring."""

from __future__ import annotations

import numpy as np

from clapas.convex.coulomb_kernels import jacobian_contacts, project_contacts
from clapas.problems.blocks import BodyBlocks, add_impulses, contact_velocities
from clapas.problems.contact import ContactProblem
from clapas.solvers.contact_system.bodies import KeptGraph
from clapas.solvers.loop import Halt, Iteration
from clapas.status import Status
from clapas.typing import Array

SOFT = 1e-9  # added to Newton's matrix, whose entries are near 1: unsupported motions stay finite
ENOUGH = 1e-4  # fraction of the predicted decrease that a step must achieve
HALVINGS = 8
STIFFER, STIFFEST = 100.0, 1.0  # factor on the regularisation where a step fails, and its largest value
BALANCED = 1e-12  # imbalance relative to the load that is attributed to rounding
MOST_WORK = 3e6  # multiplications of a factorisation per contact, above which products by W are cheaper


class Dual(Iteration):
    """The motion z (n_bodies + 1, size) of the bodies, and its impulses P_K(G z + r̄)."""

    def __init__(self, problem: ContactProblem, slack: float, preload: float, near: Array | None) -> None:
        blocks = problem.blocks
        assert isinstance(blocks, BodyBlocks)
        w = problem.imposed
        self._is_loaded = np.ones(len(blocks.G), dtype=bool)
        if w is not None:
            self._is_loaded = np.abs(w).max(axis=1, initial=0.0) <= slack * problem.free_speeds[1]
        self._bodies, self._mu = blocks.bodies[self._is_loaded], problem.mu[self._is_loaded]
        self._scale = 1.0 / np.sqrt(problem.response)[self._is_loaded, None]
        self._G = blocks.G[self._is_loaded] * self._scale[:, :, None, None]
        self._load = -blocks.y_free
        touched = np.zeros(blocks.n_bodies + 1, dtype=bool)
        touched[self._bodies] = True
        self._load[~touched] = 0.0  # bodies without contact fall, whatever the others do
        self._graph = problem.kept.of(KeptGraph).of(self._bodies, blocks.n_bodies, blocks.size)
        self._z = np.zeros_like(self._load)
        self._r = np.zeros((len(self._G), problem.d))
        self._shape = (problem.n_contacts, problem.d)
        self._preload, self._has_preload, self._relative_preload = np.zeros_like(self._r), False, preload
        self._energy, self._stiffness = 0.0, SOFT
        # At first all contacts stick, even in tension: the first step is the least-squares solution.
        self._slope = np.zeros((len(self._G), problem.d, problem.d))
        self._slope[:, 0, 0] = 1.0
        for k in range(1, problem.d):
            self._slope[self._mu > 0.0, k, k] = 1.0
        if near is not None:
            self._preload, self._has_preload = near[self._is_loaded] / self._scale, True
            self._move_to(self._z, *self._springs(self._z))

    @property
    def work(self) -> float:
        """Multiplications and additions of one factorisation."""
        return self._graph.flops

    def impulses(self) -> Array:
        """The impulses of the current motion."""
        impulses = np.zeros(self._shape)
        impulses[self._is_loaded] = self._scale * self._r
        return impulses

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        if self._graph.flops > MOST_WORK * max(len(self._G), 1):
            raise Halt(Status.STALLED)
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        imbalance = self._balance(self._r)
        if float(np.linalg.norm(imbalance)) <= BALANCED * float(np.linalg.norm(self._load)):
            raise Halt(Status.STALLED)  # the remaining residual is due to the slack
        while not self._try_step(imbalance):
            self._stiffness *= STIFFER
            if self._stiffness > STIFFEST:
                raise Halt(Status.STALLED)
        self._stiffness = max(self._stiffness / STIFFER, SOFT)
        if (
            self._relative_preload > 0.0 and not self._has_preload
        ):  # the first step gives the size of impulses
            self._preload[:, 0], self._has_preload = (
                self._relative_preload * np.abs(self._r[:, 0]).mean(),
                True,
            )
            self._move_to(self._z, *self._springs(self._z))

    def _try_step(self, imbalance: Array) -> bool:
        """Try a Newton step with the current regularisation; False without sufficient decrease."""
        solve = self._graph.factorise(self._G, self._slope, self._stiffness)
        dz = np.zeros_like(self._z)
        dz[:-1] = solve(imbalance[:-1])
        slope, norm = -float(np.vdot(imbalance, dz)), float(np.linalg.norm(imbalance))
        length = 1.0
        for _ in range(HALVINGS):
            z = self._z + length * dz
            x, r, energy = self._springs(z)
            is_decreasing = energy <= self._energy + ENOUGH * length * slope
            # Near the minimum the energy no longer changes in its last digit; the imbalance still does.
            if is_decreasing or float(np.linalg.norm(self._balance(r))) <= 0.5 * norm:
                self._move_to(z, x, r, energy)
                return True
            length *= 0.5
        return False

    def _springs(self, z: Array) -> tuple[Array, Array, float]:
        """For a motion z: the unprojected impulses, the impulses r, the dual function."""
        x = contact_velocities(self._G, self._bodies, z, self._preload)
        r = np.empty_like(x)
        project_contacts(x, self._mu, r)
        return x, r, 0.5 * float(np.vdot(r, r)) - float(np.vdot(self._load, z))

    def _move_to(self, z: Array, x: Array, r: Array, energy: float) -> None:
        self._z, self._r, self._energy = z, r, energy
        jacobian_contacts(x, self._mu, self._slope)

    def _balance(self, r: Array) -> Array:
        """Imbalance of the bodies under the impulses r, −(Gᵀ r + y_free)."""
        impulses = np.zeros_like(self._load)
        add_impulses(self._G, self._bodies, r, impulses)
        impulses[-1] = 0.0
        return np.asarray(self._load - impulses)
