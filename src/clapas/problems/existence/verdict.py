"""The verdict on existence of a solution, with its proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from clapas.typing import Array


class Verdict(Enum):
    """Verdict on the existence of a solution; ``verdict.meaning`` is one sentence."""

    CERTIFIED = "A solution exists."
    FRAGILE = "A solution exists if the data are exact; the smallest change of them may destroy it."
    UNKNOWN = "The criterion does not tell: a solution may exist or not."
    IMPOSSIBLE = "No solution exists: penetration cannot be avoided by motions of any size that could be."

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return self.value


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Existence:
    """The verdict on existence of a solution, with its proof.

    Parameters
    ----------
    verdict : Verdict
        What is known.
    reason : str
        Why, in a few words.
    margin : float
        σ* (m/s): the largest σ such that some motion gives u_N − mu |u_T| ≥ σ at every contact. Positive
        under (H), zero under (H̄) alone, negative if both fail, infinite if motions can open all contacts
        without limit.
    speed : float
        Scale of the margin (m/s): length of the part of w that no motion of the bodies can undo.
    opening : float
        Rate at which all contacts can be opened at once, per unit of motion: max τ with H v − τ e_N in K*,
        |v|_∞ ≤ 1, columns of H scaled to length one. Above zero (H) holds for every w.
    v : array (m,) or None
        A motion that reaches K* (in the reduced form an impulse x, (n·d,), with u = W x + q).
    r : array (n, d) or None
        Self-balanced impulses that prove that none does.
    excluded : float
        Largest motion (m/s; |v_j| times the length of column j of H) for which r proves it.
    """

    verdict: Verdict
    reason: str
    margin: float
    speed: float
    opening: float
    v: Array | None = None
    r: Array | None = None
    excluded: float = 0.0

    @property
    def exists(self) -> bool | None:
        """Whether a solution exists; None if the criterion does not decide."""
        return {Verdict.CERTIFIED: True, Verdict.IMPOSSIBLE: False}.get(self.verdict)

    @property
    def relative_margin(self) -> float:
        """The margin without unit: σ* / speed."""
        return self.margin / self.speed if self.speed > 0 else self.margin

    def __repr__(self) -> str:
        unit = " m/s" if math.isfinite(self.margin) else ""
        return f"Existence({self.verdict.name}: {self.reason}; margin {self.margin:.4g}{unit})"
