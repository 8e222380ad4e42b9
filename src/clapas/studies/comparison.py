"""Comparison of solvers on given problems: success and time, judged by one residual.

Every solver starts from zero on every problem. A result counts if ``problem.residual``, recomputed from the
data, is at most the tolerance. Where kernels had to be compiled the problem is solved a second time, and the
time of compilation is listed separately; short runs are repeated too, and the better time counts. With t the
time of a solver and t* the best of all on the same problem, the performance profile is the share of problems
solved with t ≤ τ t*, against τ.

Reference: Dolan, Moré 2002 (performance profiles).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clapas.compiled import on_compile
from clapas.errors import ProblemError, SettingsError
from clapas.problems import ContactProblem
from clapas.solvers import History, registry, solve
from clapas.typing import Array

SHORT = 2.0  # seconds
USUAL = ("auto", "nsgs", "accelerated-projection", "interior-point")


@dataclass(frozen=True)
class Attempt:
    """One solver on one problem.

    Parameters
    ----------
    problem, solver : str
        Their names.
    contacts : int
        Size of the problem.
    status : str
        Final status; REFUSED if the solver does not support such contacts.
    residual : float
        Recomputed from the data; NaN if it was refused.
    is_solved : bool
        Whether the residual is within the tolerance.
    iterations : int
        Number of iterations.
    seconds : float
        Wall time without compilation.
    compilation : float
        Wall time of compiling its kernels, 0 where they were cached (s).
    history : History
        Residual against iterations and seconds.
    """

    problem: str
    solver: str
    contacts: int
    status: str
    residual: float
    is_solved: bool
    iterations: int
    seconds: float
    compilation: float
    history: History


@dataclass(frozen=True)
class Comparison:
    """All attempts with one tolerance."""

    attempts: Sequence[Attempt]
    tol: float

    @property
    def solvers(self) -> list[str]:
        """Names of the solvers, in their order."""
        return list(dict.fromkeys(each.solver for each in self.attempts))

    @property
    def problems(self) -> list[str]:
        """Names of the problems, in their order."""
        return list(dict.fromkeys(each.problem for each in self.attempts))

    def ratios(self) -> dict[str, Array]:
        """Time over the best time on each problem, by solver; infinite where it was not solved."""
        times = {
            (each.solver, each.problem): each.seconds if each.is_solved else math.inf
            for each in self.attempts
        }
        best = {p: min(times[s, p] for s in self.solvers) for p in self.problems}
        return {
            s: np.array(
                [times[s, p] / best[p] if times[s, p] < math.inf else math.inf for p in self.problems]
            )
            for s in self.solvers
        }


def compare(
    problems: Mapping[str, ContactProblem],
    solvers: Sequence[str] = USUAL,
    *,
    tol: float = 1e-6,
    time_limit: float = 10.0,
    progress: Callable[[str, str], None] | None = None,
) -> Comparison:
    """Solve every problem by every solver.

    Parameters
    ----------
    problems : mapping from names to ContactProblem
        The problems.
    solvers : sequence of str
        Names of solvers, as ``clapas solvers`` lists them.
    tol : float
        Largest residual accepted.
    time_limit : float
        Time limit for one solver on one problem (s).
    progress : callable, optional
        Called with the names of the problem and of the solver before each attempt.

    Examples
    --------
    >>> from clapas.problems import gallery
    >>> found = compare({"stack": gallery.get("box-stack-10").problem}, ["nsgs", "interior-point"])
    >>> [attempt.is_solved for attempt in found.attempts]
    [True, True]
    """
    if not problems or not solvers:
        raise SettingsError("nothing to compare: give at least one problem and one solver")
    methods: list[Any] = [registry.make(name, tol=tol) for name in solvers]
    attempts = []
    for label, problem in problems.items():
        for name, solver in zip(solvers, methods, strict=True):
            if progress is not None:
                progress(label, name)
            limited = replace(solver, time_limit=time_limit) if hasattr(solver, "time_limit") else solver
            attempts.append(_attempt(label, name, problem, limited))
    return Comparison(attempts, tol)


def _attempt(label: str, name: str, problem: ContactProblem, solver: Any) -> Attempt:
    compiled = False

    def note() -> None:
        nonlocal compiled
        compiled = True

    try:
        start = time.perf_counter()
        with on_compile(note):
            solution = solve(problem, solver, check=False)
        seconds, compilation = time.perf_counter() - start, 0.0
        if compiled or seconds < SHORT:  # short ones may include the loading of kernels from disk
            start = time.perf_counter()
            solution = solve(problem, solver, check=False)
            again = time.perf_counter() - start
            seconds, compilation = min(again, seconds), max(0.0, seconds - again) if compiled else 0.0
    except ProblemError:
        return Attempt(label, name, problem.n_contacts, "REFUSED", math.nan, False, 0, 0.0, 0.0, History())
    residual = problem.residual(solution.r)
    return Attempt(
        label,
        name,
        problem.n_contacts,
        solution.status.name,
        residual,
        residual <= solver.tol,
        solution.iterations,
        seconds,
        compilation,
        solution.history,
    )


def draw_profile(axes: Any, comparison: Comparison) -> None:
    """Draw the performance profile."""
    for name, ratio in comparison.ratios().items():
        solved = np.sort(ratio[np.isfinite(ratio)])
        share = np.arange(1, len(solved) + 1) / len(comparison.problems)
        end = max(10.0, float(solved.max(initial=1.0)) * 1.2)
        x, y = np.concatenate(([1.0], solved, [end])), np.concatenate(([0.0], share, share[-1:]))
        if len(solved):
            axes.step(x, y, where="post", label=name)
        else:
            axes.plot([1.0, 10.0], [0.0, 0.0], label=name)
    axes.set(xscale="log", ylim=(-0.03, 1.05), xlabel="time / best time", ylabel="share of problems solved")
    axes.legend(fontsize="small")


def draw_history(axes: Any, comparison: Comparison, problem: str) -> None:
    """Draw the residual against time of every solver on one problem."""
    for each in comparison.attempts:
        if each.problem == problem and len(each.history):
            axes.plot(each.history.seconds, each.history.residuals, ".-", label=each.solver, linewidth=1)
    axes.axhline(comparison.tol, color="0.5", linewidth=0.8, linestyle="--")
    axes.set(xscale="log", yscale="log", xlabel="time (s)", ylabel="residual", title=problem)
    axes.legend(fontsize="small")
