"""A contact problem that encodes subset sum: solvable exactly when some integers sum to a target.

k rods touch a base that slides without friction and is pulled by the force 2 F0. Each rod has two
possible states, as Painlevé's with gravity up: to take off, or to slide and push the base by 2 f_i. Two more
rods, one on each side, prevent any motion of the base. So the forces of the rods that push must
sum to F0: the contact problem contains the subset-sum problem and is NP-hard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from clapas.errors import ProblemError
from clapas.problems.contact import ContactProblem
from clapas.problems.gallery.entry import NO_SOLUTION, GalleryProblem, Known
from clapas.typing import Array

MU = 2.0


def subset_sum(f: Sequence[int], total: int, name: str = "", max_listed: int = 1000) -> GalleryProblem:
    """Build the contact problem that is solvable iff some of the integers f sum to ``total``.

    Unknowns v = (v_1 … v_k, v_left, v_right, v_base), M = I, mu = 2; normal component first::

        u_i     = (v_i, v_i − v_base + 1)              rods on top of the base
        u_left  = (v_left + v_base, v_left + 1)        rods at its sides
        u_right = (v_right − v_base, v_right + 1)

    A subset δ ∈ {0, 1}ᵏ with Σ δ_i f_i = total gives the solution r_i = δ_i f_i (1, −2), zero at the
    sides, and there is no other.

    Parameters
    ----------
    f : sequence of int
        Positive integers: the forces that lift the rods.
    total : int
        Positive target F0.
    name : str
        Name of the problem.
    max_listed : int
        Maximum number of solutions listed; ``known.complete`` tells whether some were left out.

    References
    ----------
    Cadoux 2009, 1.4.6 and lemma 1.4, after Baraff 1991; the kinematics (1.49) is corrected for the sides.

    Examples
    --------
    >>> [len(subset_sum((1, 2, 3), total).known.solutions) for total in (3, 5, 7)]
    [2, 1, 0]
    >>> subset_sum((1, 3), 2).known.exists
    False
    """
    if not f or min(f) < 1 or total < 1:
        raise ProblemError(f"f and total must be positive integers, got f = {tuple(f)}, total = {total}")
    k = len(f)
    name = name or f"subset-sum-{'-'.join(map(str, f))}-to-{total}"
    chosen = list(islice(_subsets(tuple(f), total), max_listed + 1))
    solutions = tuple(_impulses(f, subset) for subset in chosen[:max_listed])
    complete = len(chosen) <= max_listed
    return GalleryProblem(
        name=name,
        problem=ContactProblem(
            M=np.eye(k + 3),
            H=_jacobian(k),
            f=np.concatenate((-np.asarray(f, dtype=float), [0.0, 0.0, 2.0 * total])),
            w=np.tile([0.0, 1.0], (k + 2, 1)),
            mu=np.full(k + 2, MU),
            name=name,
        ),
        reference="Cadoux 2009, 1.4.6",
        description=f"{k} rods push a base that must not move: some of {tuple(f)} must sum to {total}.",
        known=Known(exists=True, solutions=solutions, complete=complete) if solutions else NO_SOLUTION,
    )


def _jacobian(k: int) -> Array:
    H = np.zeros((k + 2, 2, k + 3))
    rods = np.arange(k + 2)
    H[rods, :, rods] = 1.0
    H[:k, 1, -1] = -1.0
    H[k, 0, -1] = 1.0
    H[k + 1, 0, -1] = -1.0
    return H.reshape(2 * (k + 2), k + 3)


def _impulses(f: Sequence[int], subset: tuple[bool, ...]) -> Array:
    r = np.zeros((len(f) + 2, 2))
    pushing = np.where(subset, np.asarray(f, dtype=float), 0.0)
    r[:-2] = pushing[:, None] * [1.0, -MU]
    return r


def _subsets(f: tuple[int, ...], total: int) -> Iterator[tuple[bool, ...]]:
    """Every subset of f that sums to total.

    Bit t of reachable[i] tells whether some of f[i:] sum to t: the search enters no dead end, so its cost
    is proportional to the number of solutions (and pseudo-polynomial, k · total, when there is none).
    """
    reachable = [1] * (len(f) + 1)
    for i in reversed(range(len(f))):
        reachable[i] = reachable[i + 1] | (reachable[i + 1] << f[i])

    def search(i: int, rest: int) -> Iterator[tuple[bool, ...]]:
        if rest < 0 or not (reachable[i] >> rest) & 1:
            return
        if i == len(f):
            yield ()
            return
        for taken in (True, False):
            for tail in search(i + 1, rest - f[i] * taken):
                yield (taken, *tail)

    return search(0, total)


def catalogue() -> dict[str, Callable[[], GalleryProblem]]:
    """Named members of the family, solvable and not."""
    first_twelve = tuple(range(1, 13))
    cases: dict[str, tuple[tuple[int, ...], int]] = {
        "subset-sum-both": ((1, 2), 3),
        "subset-sum-first": ((1, 2), 1),
        "subset-sum-none": ((1, 3), 2),
        "subset-sum-none-below": ((2, 3), 4),
        "subset-sum-two-ways": ((1, 2, 3), 3),
        "subset-sum-six": ((3, 34, 4, 12, 5, 2), 9),
        "subset-sum-six-none": ((3, 34, 4, 12, 5, 2), 30),
        "subset-sum-twelve": (first_twelve, 39),
    }
    return {name: partial(subset_sum, f, total, name) for name, (f, total) in cases.items()}
