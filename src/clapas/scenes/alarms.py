"""What a run tells of itself while it goes on: each kind of trouble once, as a warning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.bodies.kind import Energy
from clapas.dynamics.joints.commands import Commands
from clapas.dynamics.joints.missed import missed_rates
from clapas.dynamics.model import Model
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult
from clapas.errors import warn
from clapas.scenes.overlaps import deepest_birth
from clapas.solvers.loop import rounding_floor, rounding_words
from clapas.solvers.solution import Solution

MOTORS_EVERY = 64  # steps: what contradicts does so for long, and looking costs as much as a step
MOST_NAMED = 4  # joints in a warning
GAINED = 0.5  # of the kinetic energy: more than this from nowhere is told


@dataclass
class Alarms:
    """What has been told so far."""

    doubted: frozenset[str] = frozenset()
    has_told_rounding: bool = False
    has_told_births: bool = False
    has_told_energy: bool = False
    has_told_motors: bool = False
    _start: float | None = None  # energy when the run began (J)
    _fastest: float = 0.0  # largest kinetic energy since (J)

    def doubts(self, model: Model, state: State) -> None:
        """Warn of each system whose assumptions are violated."""
        for system, part in zip(model.systems, state.parts, strict=True):
            if system.doubting is not None and system.name not in self.doubted:
                doubt = system.doubting.doubt(part, state.dt)
                if doubt is not None:
                    self.doubted = self.doubted | {system.name}
                    warn(f"{system.bodies.word} '{system.name}' at t = {state.time:.6g} s: {doubt}")

    def rounding(self, state: State, solution: Solution) -> None:
        """Warn of a solution that is limited by rounding."""
        if self.has_told_rounding:
            return
        self.has_told_rounding = True
        words = rounding_words(rounding_floor(solution.problem, solution.r), solution.solver.tol)
        warn(
            f"t = {state.time:.6g} s: {words}. Bodies of very unlike masses touch; the run goes on "
            "and counts such steps as unsolved. A tol some ten times above that is met more evenly"
        )

    def births(self, model: Model, part: StepResult, alive: int) -> None:
        """Warn of a grain that has appeared inside another body, in a step before which ``alive`` lived."""
        if self.has_told_births:
            return
        middle = part.middle
        deepest = deepest_birth(model, part.contacts, middle.velocity, part.state.dt, alive)
        if deepest is not None:
            self.has_told_births = True
            warn(deepest.words(model, middle.time))

    def motors(self, model: Model, part: StepResult, commands: Commands | None, tol: float) -> None:
        """Warn of motors that other conditions keep from their rates; looked for in some of the steps."""
        joints, state = model.joints, part.state
        is_due = state.step % MOTORS_EVERY == 1 and part.status.is_answered
        if self.has_told_motors or not is_due or joints is None or not len(joints.drives.exact):
            return
        which, missed = missed_rates(model, state, commands, tol)
        if len(which):
            self.has_told_motors = True
            names = [f"'{joints.drives.names[k]}'" for k in which[:MOST_NAMED]]
            more = f" and {len(which) - MOST_NAMED} more" if len(which) > MOST_NAMED else ""
            warn(
                f"t = {state.time:.6g} s: velocity motors of {', '.join(names)}{more} miss their rates by up "
                f"to {missed.max():.3g}: they have no bound, and contradict each other or what else holds "
                "their joints (gears, joints, walls that move). Give them a bound, "
                "VelocityMotor(rate, max_torque=…), or leave one out"
            )

    def restart(self) -> None:
        """The run begins anew from another state: its energy is that of the start."""
        self._start, self._fastest = None, 0.0

    def gained_energy(self, model: Model, state: State, energy: Energy, received: float) -> None:
        """Warn where passive systems have more energy than they started with and have ``received``.

        Their inertia and stiffness are those of the start of a step: in steps that are too long for them
        energy grows. Runs with births are left out, since grains bring energy.
        """
        is_passive = bool(model.systems) and all(system.is_passive for system in model.systems)
        if not is_passive or (model.birth > -np.inf).any():
            return
        own = energy.kinetic + energy.potential - received
        if self._start is None:
            self._start = own
        self._fastest = max(self._fastest, energy.kinetic)
        gained = own - self._start
        if gained > GAINED * self._fastest and not self.has_told_energy:
            self.has_told_energy = True
            warn(
                f"t = {state.time:.6g} s: {gained:.3g} J of energy come from steps that are too long, not "
                f"from forces (the kinetic energy is {energy.kinetic:.3g} J): take dt well below "
                f"{state.dt:g} s, or damping"
            )
