"""Status of a solver at its end: a name, a cause and advice."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solver ended. ``status.cause`` and ``status.advice`` are one sentence each."""

    SOLVED = (
        "The residual of the answer is at most the tolerance.",
        "Nothing to do.",
    )
    ALMOST_SOLVED = (
        "The residual is above the tolerance, but within the margin allowed or at the limit of rounding.",
        "Use the answer with its residual in mind, or continue from it as a guess.",
    )
    MAX_ITERATIONS = (
        "The iterations ran out while the residual was still above the tolerance.",
        "Raise max_iterations, start from this answer as a guess, or loosen tol.",
    )
    TIME_LIMIT = (
        "The time limit ran out while the residual was still above the tolerance.",
        "Raise time_limit, or start again from this answer as a guess.",
    )
    STALLED = (
        "The iterate stopped moving although the residual is above the tolerance.",
        "Loosen tol if it is near the rounding of the data, take another method (Auto tries several), or see "
        "with 'clapas exists' whether there is a solution.",
    )
    NUMERICAL_ERROR = (
        "The iterates overflowed, became NaN or are lost in rounding; the best finite one was kept.",
        "The method diverges on this problem: lower the relaxation or take another method.",
    )
    NO_SOLUTION = (
        "It is proved that nothing satisfies the law with these data, up to a size where the notes give one.",
        "Change the data: imposed velocities that crush a body, or a friction too large.",
    )
    STOPPED = (
        "The run was stopped from outside before the tolerance was reached.",
        "Start again from this answer as a guess.",
    )

    OTHER_LAW = (
        "The law of the model that was asked for holds, not Coulomb's, of which the residual tells.",
        "Take a method of 'clapas solvers' for Coulomb's law, or defects(solution) for what is violated.",
    )

    def __init__(self, cause: str, advice: str) -> None:
        self.cause = cause
        self.advice = advice

    @property
    def is_solved(self) -> bool:
        """True for SOLVED only: the residual was measured and is within the tolerance."""
        return self is Status.SOLVED

    @property
    def is_answered(self) -> bool:
        """Whether the requested law holds: Coulomb's, or that of a model of friction."""
        return self in (Status.SOLVED, Status.OTHER_LAW)
