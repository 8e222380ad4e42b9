"""Impulses in the lanes of blocked sweeps."""

from __future__ import annotations

from clapas.compiled import inlined, kernel
from clapas.simd import WIDTH, load
from clapas.solvers.nsgs.lanes import Triple
from clapas.typing import Array, Indices


@kernel
def write_impulses(stored: Indices, turn: Array, given: Array, r: Array) -> None:
    """Put the impulses (n, d) in their lanes, tangents turned to canonical coordinates."""
    for place in range(len(stored)):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            continue
        r[block, 0, l] = given[i, 0]
        if given.shape[1] == 2:
            r[block, 1, l] = given[i, 1]
        else:
            r[block, 1, l] = turn[i, 0] * given[i, 1] + turn[i, 1] * given[i, 2]
            r[block, 2, l] = turn[i, 0] * given[i, 2] - turn[i, 1] * given[i, 1]


@kernel
def read_impulses(stored: Indices, turn: Array, r: Array, wanted: Array) -> None:
    """Take the impulses (n, d) from their lanes, tangents turned back."""
    for place in range(len(stored)):
        i, block, l = stored[place], place // WIDTH, place % WIDTH
        if i < 0:
            continue
        wanted[i, 0] = r[block, 0, l]
        if wanted.shape[1] == 2:
            wanted[i, 1] = r[block, 1, l]
        else:
            wanted[i, 1] = turn[i, 0] * r[block, 1, l] - turn[i, 1] * r[block, 2, l]
            wanted[i, 2] = turn[i, 0] * r[block, 2, l] + turn[i, 1] * r[block, 1, l]


@inlined
def impulse_of(r: Array, block: int) -> Triple:
    """The impulses of a block."""
    at = 3 * block * WIDTH
    return load(r, at), load(r, at + WIDTH), load(r, at + 2 * WIDTH)
