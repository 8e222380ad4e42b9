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

SOFT = 1e-9  # added to Newton's matrix, whose entries are near 1: what nothing holds goes far, not for ever
ENOUGH = 1e-4  # share of the decrease its slope promises that a step must bring
HALVINGS = 8
STIFFER, STIFFEST = 100.0, 1.0  # what is added grows by this factor where a step is vain, up to this
BALANCED = 1e-12  # of the load: the rest is rounding
MOST_WORK = 3e6  # multiplications of a factorisation, per contact: beyond, products by W are cheaper


class Dual(Iteration):
    """The motion z (n_bodies + 1, size) of the bodies, and the impulses P_K(G z + r̄) it would call forth."""

    def __init__(self, problem: ContactProblem, slack: float, preload: float, near: Array | None) -> None:
        blocks = problem.blocks
        assert isinstance(blocks, BodyBlocks)
        w = problem.imposed
        self._bears = np.ones(len(blocks.G), dtype=bool)
        if w is not None:
            self._bears = np.abs(w).max(axis=1, initial=0.0) <= slack * problem.free_speeds[1]
        self._bodies, self._mu = blocks.bodies[self._bears], problem.mu[self._bears]
        self._scale = 1.0 / np.sqrt(problem.response)[self._bears, None]
        self._G = blocks.G[self._bears] * self._scale[:, :, None, None]
        self._load = -blocks.y_free
        touched = np.zeros(blocks.n_bodies + 1, dtype=bool)
        touched[self._bodies] = True
        self._load[~touched] = 0.0  # what touches nothing falls, whatever the others do
        self._graph = problem.kept.of(KeptGraph).of(self._bodies, blocks.n_bodies, blocks.size)
        self._z = np.zeros_like(self._load)
        self._r = np.zeros((len(self._G), problem.d))
        self._shape = (problem.n_contacts, problem.d)
        self._preload, self._even, self._wanted = np.zeros_like(self._r), False, preload
        self._energy, self._stiffness = 0.0, SOFT
        # All contacts hold at first, even by pulling: this first step is the least square solution.
        self._slope = np.zeros((len(self._G), problem.d, problem.d))
        self._slope[:, 0, 0] = 1.0
        for k in range(1, problem.d):
            self._slope[self._mu > 0.0, k, k] = 1.0
        if near is not None:
            self._preload, self._even = near[self._bears] / self._scale, True
            self._stand(self._z, *self._springs(self._z))

    @property
    def work(self) -> float:
        """Multiplications and additions of one factorisation."""
        return self._graph.flops

    def impulses(self) -> Array:
        """The impulses of the current motion."""
        impulses = np.zeros(self._shape)
        impulses[self._bears] = self._scale * self._r
        return impulses

    def advance(self, count: int) -> None:
        """Do ``count`` Newton steps."""
        if self._graph.flops > MOST_WORK * max(len(self._G), 1):
            raise Halt(Status.STALLED)
        for _ in range(count):
            self._step()

    def _step(self) -> None:
        missing = self._balance(self._r)
        if float(np.linalg.norm(missing)) <= BALANCED * float(np.linalg.norm(self._load)):
            raise Halt(Status.STALLED)  # what is left of the residual is slack
        while not self._goes(missing):
            self._stiffness *= STIFFER
            if self._stiffness > STIFFEST:
                raise Halt(Status.STALLED)
        self._stiffness = max(self._stiffness / STIFFER, SOFT)
        if self._wanted > 0.0 and not self._even:  # the first step says how large impulses are
            self._preload[:, 0], self._even = self._wanted * np.abs(self._r[:, 0]).mean(), True
            self._stand(self._z, *self._springs(self._z))

    def _goes(self, missing: Array) -> bool:
        """Take a Newton step, the matrix being made stiffer by as much as was needed; False if it is vain."""
        solve = self._graph.factorise(self._G, self._slope, self._stiffness)
        dz = np.zeros_like(self._z)
        dz[:-1] = solve(missing[:-1])
        promised, left = -float(np.vdot(missing, dz)), float(np.linalg.norm(missing))
        length = 1.0
        for _ in range(HALVINGS):
            z = self._z + length * dz
            x, r, energy = self._springs(z)
            falls = energy <= self._energy + ENOUGH * length * promised
            # Near the end the energy no longer changes in its last figure; the balance still tells.
            if falls or float(np.linalg.norm(self._balance(r))) <= 0.5 * left:
                self._stand(z, x, r, energy)
                return True
            length *= 0.5
        return False

    def _springs(self, z: Array) -> tuple[Array, Array, float]:
        """Of a motion z: what contacts would bear if they could pull, the impulses r, the dual function."""
        x = contact_velocities(self._G, self._bodies, z, self._preload)
        r = np.empty_like(x)
        project_contacts(x, self._mu, r)
        return x, r, 0.5 * float(np.vdot(r, r)) - float(np.vdot(self._load, z))

    def _stand(self, z: Array, x: Array, r: Array, energy: float) -> None:
        self._z, self._r, self._energy = z, r, energy
        jacobian_contacts(x, self._mu, self._slope)

    def _balance(self, r: Array) -> Array:
        """What the impulses r leave unbalanced on the bodies, −(Gᵀ r + y_free)."""
        carried = np.zeros_like(self._load)
        add_impulses(self._G, self._bodies, r, carried)
        carried[-1] = 0.0
        return np.asarray(self._load - carried)
