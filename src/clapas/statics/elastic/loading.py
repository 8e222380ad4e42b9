"""Incremental loading with adaptive increments and restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from clapas.errors import SettingsError
from clapas.statics.elastic.matrix import Workspace
from clapas.statics.elastic.newton import OneLoopNewton
from clapas.statics.elastic.problem import ElasticContact, IncrementFailed, State

EASY = 6  # Newton iterations up to which the next increment may be longer
GROWTH, REDUCTION = 1.5, 0.5


@dataclass(frozen=True, eq=False)
class History:
    """Equilibria of a stage, in order.

    Parameters
    ----------
    shares : list of float
        Load fraction at each; the last is 1 if the stage was completed.
    states : list of State
        The equilibria; ``states[0]`` is the one it started from.
    """

    shares: list[float] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    @property
    def last(self) -> State:
        """The last equilibrium: where a next stage starts."""
        return self.states[-1]

    @property
    def iterations(self) -> int:
        """Newton iterations of all increments."""
        return sum(state.iterations for state in self.states[1:])


def follow(
    stage: ElasticContact,
    state: State | None = None,
    *,
    reached: float = 0.0,
    increments: int = 10,
    smallest: float = 1e-4,
    newton: OneLoopNewton | None = None,
    watch: Callable[[float, State], None] | None = None,
) -> History:
    """Reach a stage in increments of load; friction and plasticity depend on each equilibrium.

    Starts with equal increments. A failed one is halved and repeated; after easy ones the length grows again,
    up to its initial value.

    Parameters
    ----------
    stage : ElasticContact
        The stage.
    state : State, optional
        Initial state; the undeformed solid by default. The last state of a history starts the next stage.
    reached : float
        Fraction of the stage already reached by the state, when continuing.
    increments : int
        Number of increments, if all converge.
    smallest : float
        Shortest increment tried, as a share of the stage.
    newton : OneLoopNewton, optional
        The method of each increment.
    watch : callable, optional
        Receives (share, state) after each increment.

    Raises
    ------
    IncrementFailed
        No equilibrium was found for an increment of the smallest length. ``error.state`` is the
        last equilibrium and ``error.reached`` its share.

    Examples
    --------
    >>> from clapas.bodies.elastic.contact import RigidContact
    >>> from clapas.bodies.elastic.generators import block
    >>> from clapas.bodies.elastic.materials import Elastic
    >>> from clapas.bodies.elastic.obstacles import Obstacle
    >>> from clapas.bodies.elastic.solid import Solid
    >>> from clapas.bodies.elastic.supports import Support
    >>> from clapas.geometry.shapes import HalfPlane
    >>> solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
    >>> floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=0.2)
    >>> press = ElasticContact(solid=solid, supports=[Support("top", "y", -0.1), Support("top", "x")],
    ...                        contacts=[floor])
    >>> drag = ElasticContact(solid=solid, supports=[Support("top", "y", -0.1), Support("top", "x", 0.5)],
    ...                       contacts=[floor])
    >>> dragged = follow(drag, follow(press, increments=1).last, increments=5).last
    >>> pull, press = dragged.forces.sum(axis=0)
    >>> round(float(pull / press), 9)  # sliding: the full cone
    -0.2
    """
    if increments < 1 or not 0.0 < smallest <= 1.0:
        raise SettingsError(
            f"increments must be at least 1 and smallest in (0, 1], got {increments!r} and {smallest!r}"
        )
    method = OneLoopNewton() if newton is None else newton
    if state is None:
        state = stage.start()
        stage.check_start(state)
    history = History([reached], [state])
    workspace = Workspace()
    longest = length = 1.0 / increments
    while reached < 1.0:
        end = min(1.0, reached + length)
        if 1.0 - end < 1e-9:
            end = 1.0
        trial = method.solve(stage, state, end, reached=reached, check=False, workspace=workspace)
        if not trial.status.is_solved:
            length *= REDUCTION
            if length < smallest:
                raise IncrementFailed(
                    f"no equilibrium found beyond {reached:.6g} of the stage: {trial.status.name}, residual "
                    f"{trial.residual:.3e} after {trial.iterations} iterations with increments of "
                    f"{length / REDUCTION:.1e}. error.state holds the last equilibrium: follow(stage, "
                    "error.state, reached=error.reached, smallest=…) goes on from it; a structure that has "
                    "lost its stability, or that nothing holds, has no equilibrium to find",
                    state,
                    reached,
                )
            continue
        state, reached = trial, end
        history.shares.append(reached)
        history.states.append(state)
        if watch is not None:
            watch(reached, state)
        if trial.iterations <= EASY:
            length = min(longest, GROWTH * length)
    return history
