"""The four ways NSGS sweeps a problem, each with its rival in C and the bytes it streams.

Array names with an underscore are those of the iterations of clapas: the benchmark looks inside to
count bytes and to hand the very same arrays to its rivals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.reading import Reader, read_bodies, read_delassus
from benchmarks.reference import Reference
from benchmarks.rivals import BodyRival, DelassusRival, in_given_order, in_slab_order
from clapas.problems import ContactProblem, reduce
from clapas.solvers import NSGS, AlartCurnier, Coloured, DeSaxce, Exact, Given
from clapas.solvers.local import LocalSolver
from clapas.solvers.loop import Iteration
from clapas.typing import Array

LOCALS: tuple[LocalSolver, ...] = (Exact(), AlartCurnier(), DeSaxce())

# Makes an iteration for a local solver and a number of threads.
Maker = Callable[[LocalSolver, int], Iteration]


@dataclass(frozen=True)
class Layout:
    """One form and order of visits of one problem.

    Parameters
    ----------
    problem : ContactProblem
        The problem, in the form the iterations need.
    form, order : str
        "bodies" or "delassus"; "given" or "coloured".
    threads : tuple of int
        Numbers of threads to measure.
    ours, rival : functions (local, threads) -> iteration
        Those of clapas and of the C reference (None without a C compiler).
    bytes_per_contact : float
        Bytes of contact data a sweep streams: everything stored by contact once, and the write of r. The
        velocities or impulses looked up at other places are mostly in cache and not counted.
    reader, n_items : function, int
        Reads the same data; see ``reading``.
    """

    problem: ContactProblem
    form: str
    order: str
    threads: tuple[int, ...]
    ours: Maker
    rival: Maker | None
    bytes_per_contact: float
    reader: Reader
    n_items: int

    @property
    def footprint(self) -> int:
        """Bytes a sweep streams."""
        return round(self.bytes_per_contact * self.problem.n_contacts)


def layouts(problem: ContactProblem, reference: Reference | None, threads: int) -> Iterator[Layout]:
    """The four layouts of a problem of spheres, made one after another to bound the memory."""
    several = tuple(range(1, threads + 1)) if threads <= 2 else (1, threads)
    yield _bodies_given(problem, reference)
    yield _bodies_coloured(problem, reference, several)
    reduced = reduce(problem)
    yield _delassus(reduced, reference, "given", (1,))
    yield _delassus(reduced, reference, "coloured", several)


def _starter(problem: ContactProblem, form: Any, order: str) -> Maker:
    def start(local: LocalSolver, threads: int) -> Iteration:
        visits = Coloured(threads=threads) if order == "coloured" else Given()
        solver = NSGS(form=form, local=local, order=visits, acceleration=0)
        return solver.start(problem, np.zeros((problem.n_contacts, problem.d)))

    return start


def _bodies_given(problem: ContactProblem, reference: Reference | None) -> Layout:
    n, data = problem.n_contacts, in_given_order(problem)
    G, rest, r = data.G.reshape(n, -1), np.hstack((data.w, data.coefficients)), np.zeros((n, 3))
    return Layout(
        problem=problem,
        form="bodies",
        order="given",
        threads=(1,),
        ours=_starter(problem, "bodies", "given"),
        rival=partial(BodyRival, reference, data) if reference else None,
        bytes_per_contact=_per_contact(n, G, data.bodies, rest, r, r),
        reader=_bound(read_bodies, (G, rest, r), data.bodies, data.y_free),
        n_items=n,
    )


def _bodies_coloured(
    problem: ContactProblem, reference: Reference | None, threads: tuple[int, ...]
) -> Layout:
    n, ours = problem.n_contacts, _starter(problem, "bodies", "coloured")
    it: Any = ours(Exact(), 1)
    n_blocks = len(it._data)
    data, bodies, r = (array.reshape(n_blocks, -1) for array in (it._data, it._bodies, it.r))
    return Layout(
        problem=problem,
        form="bodies",
        order="coloured",
        threads=threads,
        ours=ours,
        rival=partial(BodyRival, reference, in_slab_order(problem)) if reference else None,
        bytes_per_contact=_per_contact(n, data, bodies, r, r),
        reader=_bound(read_bodies, (data, r), bodies, it._y_free),
        n_items=n_blocks,
    )


def _delassus(
    problem: ContactProblem, reference: Reference | None, order: str, threads: tuple[int, ...]
) -> Layout:
    n, ours = problem.n_contacts, _starter(problem, "delassus", order)
    it: Any = ours(Exact(), 1)
    rest, blocks = np.hstack((it._q, it._cones.coefficients)), it._blocks.reshape(-1, 9)

    def rival(local: LocalSolver, count: int) -> Iteration:
        assert reference is not None
        return DelassusRival(reference, it, local, count)

    return Layout(
        problem=problem,
        form="delassus",
        order=order,
        threads=threads,
        ours=ours,
        rival=rival if reference else None,
        bytes_per_contact=_per_contact(n, blocks, it._indices, it._indptr, rest, it.r, it.r),
        reader=_bound(read_delassus, (rest, it.r), it._indptr, it._indices, blocks, it.r),
        n_items=n,
    )


def _bound(kernel: Any, *arrays: Any) -> Reader:
    def read(count: int, start: int, stop: int) -> float:
        return float(kernel(count, start, stop, *arrays))

    return read


def _per_contact(n: int, *arrays: npt.NDArray[Any]) -> float:
    return sum(array.nbytes for array in arrays) / max(n, 1)


def held_bytes(thing: Any) -> int:
    """Bytes of all the arrays an object holds, each counted once."""
    return sum(buffer.nbytes for buffer in _buffers(thing).values())


def _buffers(thing: Any) -> dict[int, Array]:
    if isinstance(thing, np.ndarray):
        while isinstance(thing.base, np.ndarray):
            thing = thing.base
        return {id(thing): thing}
    if isinstance(thing, (tuple, list)):
        inside = list(thing)
    elif isinstance(thing, dict):
        inside = list(thing.values())
    elif is_dataclass(thing):
        inside = [getattr(thing, field.name) for field in fields(thing)]
    else:
        inside = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    found: dict[int, Array] = {}
    for part in inside:
        found |= _buffers(part)
    return found
