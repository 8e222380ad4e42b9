"""Selection of cuts: deep, not parallel to each other, sparse ones first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clapas.errors import SettingsError
from clapas.typing import Array, Indices

ZERO = 1e-9  # coefficient of a unit-length cut that counts as zero


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Greedy choice by depth, each cut at an angle to those before it.

    Parameters
    ----------
    max_cuts : int
        Cuts kept in a round.
    min_depth : float
        Least distance of a cut from the point.
    max_parallelism : float
        Largest cosine between two cuts that are kept.
    sparsity : float
        Weight of the share of zeros: cuts come in the order of depth·(1 + sparsity·zeros/n).

    References
    ----------
    Wesselmann, Suhl 2012; Cadoux 2009, 7.4 (which suggests such a choice).

    Examples
    --------
    >>> d = np.array([[1.0, 0.0], [0.9999, 0.0141], [0.0, 1.0], [0.6, 0.8]])
    >>> Selection(max_parallelism=0.9).choose(d, np.array([0.5, 0.49, 0.1, 1e-9]))
    array([0, 2])
    """

    max_cuts: int = 100
    min_depth: float = 1e-6
    max_parallelism: float = 0.99
    sparsity: float = 0.1

    def __post_init__(self) -> None:
        if self.max_cuts < 1 or self.min_depth < 0.0 or self.sparsity < 0.0:
            raise SettingsError(
                "max_cuts must be at least 1, min_depth and sparsity at least 0, "
                f"got {self.max_cuts}, {self.min_depth} and {self.sparsity}"
            )
        if not 0.0 < self.max_parallelism <= 1.0:
            raise SettingsError(f"max_parallelism must be in (0, 1], got {self.max_parallelism}")

    def choose(self, d: Array, depth: Array) -> Indices:
        """Numbers of the cuts to keep; d (k, n) of length one, depth (k,)."""
        zeros = (np.abs(d) <= ZERO).mean(axis=1) if d.size else np.zeros(len(d))
        kept: list[int] = []
        for k in np.argsort(-depth * (1.0 + self.sparsity * zeros), kind="stable"):
            if len(kept) == self.max_cuts:
                break
            if depth[k] >= self.min_depth and (not kept or (d[kept] @ d[k]).max() <= self.max_parallelism):
                kept.append(int(k))
        return np.array(sorted(kept), dtype=int)
