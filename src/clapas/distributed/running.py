"""A run on many ranks from its start to its end: the loop of :mod:`clapas.scenes.running`.

Recorded steps are gathered on rank 0, which writes one file with the format and guarantees of a run on one
rank.
"""

from __future__ import annotations

from typing import Any

from clapas.distributed.communication import Ranks
from clapas.distributed.simulation import RankSimulation
from clapas.distributed.stepping import RankStep
from clapas.dynamics.model import Model
from clapas.dynamics.probe_readings import read
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.state import State
from clapas.errors import Error, NotSolved
from clapas.scenes.recorders import RecordedStep, Recorder, Summary, Watcher
from clapas.scenes.running import run_steps
from clapas.scenes.settings import OnUnsolved, check_run
from clapas.scenes.simulation import energy
from clapas.solvers.loop import Solver


class RecordedRun:
    """A run on many ranks whose kept steps rank 0 writes; all ranks call its methods together.

    Parameters
    ----------
    sim : RankSimulation
        The simulation.
    recorder : Recorder, or None
        On rank 0; None on the others.
    every : int
        Steps between two recorded ones.
    work, external_work : float
        Work at the start of the run (J).
    """

    def __init__(
        self, sim: RankSimulation, recorder: Recorder | None, every: int, work: float, external_work: float
    ) -> None:
        self._sim, self._recorder, self._every = sim, recorder, every
        self._work, self._external_work = work, external_work
        self._kept = -1  # the last recorded step

    @property
    def state(self) -> State:
        """The bodies known here."""
        return self._sim.state

    @property
    def last(self) -> RankStep | None:
        """The last step on this rank."""
        return self._sim.last

    @property
    def unsolved(self) -> int:
        """Steps whose contact problem stayed above the tolerance."""
        return self._sim.unsolved

    @property
    def worst(self) -> float:
        """The largest residual."""
        return self._sim.worst

    @property
    def work(self) -> float:
        """Work of the contacts of all ranks since the start (J)."""
        return self._work + float(self._sim.ranks.total(self._sim.work)[0])

    @property
    def external_work(self) -> float:
        """Work of loads, guides and walls that move, of all ranks, since the start (J)."""
        return self._external_work + float(self._sim.ranks.total(self._sim.external_work)[0])

    def step(self) -> None:
        """Advance by one time step, and record it if due: one in ``every``, or unsolved."""
        unsolved: NotSolved | None = None
        try:
            self._sim.step()
        except NotSolved as error:
            unsolved = error
        is_due = unsolved is not None or self.state.step % self._every == 0
        if is_due or self._sim.model.probes:
            self.record(is_due)
        if unsolved is not None:
            raise unsolved

    def record(self, is_due: bool = True) -> None:
        """Write probes, and the step if due, on rank 0; a full disk ends the run on all ranks."""
        failure = None
        try:
            if self._sim.model.probes:
                self._note()
            if is_due:
                self._keep()
        except (Error, OSError) as error:
            failure = error
        self._sim.ranks.agree(failure)

    def record_end(self, first: int) -> None:
        """Record the last step of a run that began at step ``first``, unless already recorded."""
        if self.state.step not in (self._kept, first):
            self.record()

    def _note(self) -> None:
        gathered, state = self._sim.gathered()
        if self._recorder is not None and state is not None:
            steps: Any = [] if gathered is None else [gathered]
            self._recorder.note(read(self._sim.model, steps, state))

    def _keep(self) -> None:
        self._kept = self.state.step
        (gathered, state), work, external_work = self._sim.gathered(), self.work, self.external_work
        if self._recorder is not None and state is not None:
            step: Any = gathered
            now = energy(self._sim.model, state)
            worst = self._sim.worst_since()
            self._recorder.keep(RecordedStep(step, state, now, work, external_work, worst))


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
    """Run a model on all ranks, which call this together, and record its steps.

    It is :func:`clapas.scenes.simulation.simulate` with the same settings. The recorder is None
    except on rank 0; ``state``, to resume from, is the same on all ranks.
    """
    check_run(duration, dt, every, on_unsolved)
    sim = RankSimulation(
        model, dt, ranks, solver, scheme, sleeping=sleeping, on_unsolved=on_unsolved, state=state
    )
    run, first = RecordedRun(sim, recorder, every, work, given), sim.state.step
    if state is None:
        run.record()
    summary = run_steps(run, round(duration / dt), progress, ranks.any)
    run.record_end(first)
    return summary
