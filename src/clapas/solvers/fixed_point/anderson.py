"""Anderson acceleration: extrapolate from the last steps of a fixed point."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.problems.contact import ContactProblem
from clapas.solvers.fixed_point.base import Evaluation, Search
from clapas.solvers.kinds import require_kinds
from clapas.typing import Array

# Relative singular value below which differences of gaps are dropped. Large, because the map is known only
# up to the accuracy of the minimisations, and extrapolating their noise is harmful.
DEPENDENT = 0.1
WORSE = 1.5  # growth of the gap that empties the memory


@dataclass(frozen=True, kw_only=True)
class Anderson:
    """Anderson acceleration: the combination of past values whose gaps cancel best.

    With g_k = F(s_k) − s_k and the differences of the last ``depth`` points in the columns of ΔF, ΔG,

        s⁺ = F(s) − ΔF γ,    γ = argmin |g − ΔG γ|.

    The memory is emptied when the gap has grown by half since its best: the plain iteration continues.
    The cost is negligible beside a minimisation, and where F contracts slowly or oscillates around the fixed
    point it saves most of the iterations.

    Parameters
    ----------
    depth : int
        Number of points kept.

    References
    ----------
    Anderson 1965; Walker, Ni 2011.
    """

    depth: int = 5

    def __post_init__(self) -> None:
        require_kinds(self)
        if self.depth < 1:
            raise SettingsError(f"depth must be at least 1, got {self.depth}")

    def start(self, problem: ContactProblem) -> Search:
        """Start with an empty memory."""
        return _Mixing(self.depth)


class _Mixing:
    def __init__(self, depth: int) -> None:
        self.past: deque[Evaluation] = deque(maxlen=depth + 1)
        self.best = np.inf

    def advance(self, last: Evaluation, evaluate: Callable[[Array], Evaluation]) -> Array:
        size = float(np.linalg.norm(last.gap))
        if size > WORSE * self.best:
            self.past.clear()
            self.best = size
        self.best = min(self.best, size)
        self.past.append(last)
        if len(self.past) < 2:
            return last.value
        gaps = np.diff([point.gap for point in self.past], axis=0).T
        values = np.diff([point.value for point in self.past], axis=0).T
        weights = np.linalg.lstsq(gaps, last.gap, rcond=DEPENDENT)[0]
        return np.asarray(last.value - values @ weights)
