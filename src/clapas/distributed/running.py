"""A run on many ranks from its start to its end: the loop of :mod:`clapas.scenes.simulation`, shared.

Steps that are kept are gathered on rank 0, which writes them: one file, in the format and with the promises
of a run on one rank.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from clapas.distributed.communication import Ranks
from clapas.distributed.simulation import RankSimulation
from clapas.dynamics.model import Model, State
from clapas.dynamics.probe_readings import read
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.stepping import MoreauJean
from clapas.errors import Error, NotSolved
from clapas.scenes.recorders import RecordedStep, Recorder, StepProgress, Summary, Watcher
from clapas.scenes.settings import OnUnsolved, check_run
from clapas.scenes.simulation import energy, interrupts
from clapas.solvers.loop import Solver
from clapas.status import Status
from clapas.typing import Array


class GatheredRecording:
    """What rank 0 writes of a run; all ranks call its methods together.

    Parameters
    ----------
    sim : RankSimulation
        The run.
    recorder : Recorder, or None
        That of rank 0; None on the others.
    work, external_work : float
        Accounts at the start of the run (J).
    """

    def __init__(
        self, sim: RankSimulation, recorder: Recorder | None, work: float, external_work: float
    ) -> None:
        self._sim, self._recorder, self._before = sim, recorder, np.array([work, external_work])
        self.last = -1  # the step that was kept last

    @property
    def accounts(self) -> Array:
        """Work of the contacts and of the world since the start, of all ranks (J)."""
        return self._before + self._sim.ranks.total([self._sim.work, self._sim.external_work])

    def record(self, due: bool) -> None:
        """Let rank 0 write probes, and the step if it is due; a full disk ends the run on all ranks."""
        failure = None
        try:
            if self._sim.model.probes:
                self._note()
            if due:
                self._keep()
        except (Error, OSError) as error:
            failure = error
        self._sim.ranks.agree(failure)

    def _note(self) -> None:
        done, state = self._sim.gathered()
        if self._recorder is not None and state is not None:
            steps: Any = [] if done is None else [done]
            self._recorder.note(read(self._sim.model, steps, state))

    def _keep(self) -> None:
        self.last = self._sim.state.step
        (done, state), (work, given) = self._sim.gathered(), self.accounts
        if self._recorder is not None and state is not None:
            step: Any = done
            now = energy(self._sim.model, state)
            self._recorder.keep(
                RecordedStep(step, state, now, float(work), float(given), self._sim.worst_since())
            )


def simulate_on_ranks(
    model: Model,
    duration: float,
    dt: float,
    ranks: Ranks,
    solver: Solver | None = None,
    *,
    scheme: MoreauJean | None = None,
    sleeping: Sleeping | None = None,
    every: int = 1,
    on_unsolved: OnUnsolved = "raise",
    recorder: Recorder | None = None,
    state: State | None = None,
    work: float = 0.0,
    given: float = 0.0,
    progress: Watcher | None = None,
) -> Summary:
    """Run a model on all ranks, which call this together, and keep every so many steps.

    It is :func:`clapas.scenes.simulation.simulate` with the same settings. The recorder is that of rank 0,
    None on the others; ``state``, where to go on from, is the same on all.
    """
    check_run(duration, dt, every, on_unsolved)
    began = time.perf_counter()
    sim = RankSimulation(
        model, dt, ranks, solver, scheme, sleeping=sleeping, on_unsolved=on_unsolved, state=state
    )
    first, steps = sim.state.step, round(duration / dt)
    recording = GatheredRecording(sim, recorder, work, given)
    if state is None:
        recording.record(due=True)
    stopped = False
    with interrupts() as interrupted:
        while sim.state.step < steps and not stopped:
            unsolved: NotSolved | None = None
            try:
                sim.step()
            except NotSolved as error:
                unsolved = error
            due = unsolved is not None or sim.state.step % every == 0
            if due or model.probes:
                recording.record(due)
            if unsolved is not None:
                raise unsolved
            wish = interrupted.is_set()
            if progress is not None:
                wish |= bool(progress(_progress(sim, steps, time.perf_counter() - began)))
            stopped = ranks.largest(float(wish)) > 0.0
    if recording.last != sim.state.step and sim.state.step > first:
        recording.record(due=True)
    status = Status.ALMOST_SOLVED if sim.unsolved else Status.SOLVED
    if sim.state.step < steps:
        status = Status.STOPPED
    done = sim.state, sim.state.step - first, sim.unsolved, sim.worst
    total, outside = recording.accounts
    return Summary(*done, float(total), float(outside), status, time.perf_counter() - began)


def _progress(sim: RankSimulation, steps: int, seconds: float) -> StepProgress:
    done = sim.last
    assert done is not None
    return StepProgress(sim.state.step, steps, sim.state.time, done.n_contacts, done.residual, seconds)
