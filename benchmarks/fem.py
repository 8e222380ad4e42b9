"""Finite elements in contact: growth with size, factorisations on one matrix, a block on a block.

    clapas bench fem [--largest 200000] [--space 50000]

Part 1: an elastic block pushed on a rigid disc, 1 000 to 200 000 displacements: Newton iterations and the
share of the time in sparse factorisation. Part 2: one matrix by each engine. Part 3: two blocks in space, one
increment with friction.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.elastic import (
    Elastic,
    Obstacle,
    RigidContact,
    Solid,
    Support,
    SurfaceContact,
    block,
    join,
)
from clapas.geometry.shapes import Disk
from clapas.linalg.symmetric_pattern import SymmetricPattern
from clapas.statics.elastic import ElasticContact, OneLoopNewton
from clapas.statics.elastic.matrix import Workspace
from clapas.studies.report import markdown_table

STEEL = Elastic(young=1.0, poisson=0.3)
SHORT = 10_000  # displacements up to which a run takes less than a second


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="clapas bench fem", description=__doc__)
    parser.add_argument(
        "--largest", type=int, default=200_000, help="displacements of the largest plane problem"
    )
    parser.add_argument(
        "--space", type=int, default=50_000, help="displacements of the blocks in space; 0 leaves out"
    )
    parser.add_argument(
        "--engine", choices=["superlu", "multifrontal"], help="by default superlu in the plane"
    )
    options = parser.parse_args(argv)
    growth(options.largest, options.engine)
    engines(min(options.largest, 20_000))
    if options.space:
        in_space(options.space, options.engine)
    return 0


def obstacle(n_dof: int, mu: float = 0.0) -> ElasticContact:
    """A block twice as wide as high on a rigid disc."""
    n = max(4, round((n_dof / 4) ** 0.5))
    solid = Solid(mesh=block((2.0, 1.0), (2 * n, n)), material=STEEL)
    disc = RigidContact(
        surface="bottom", obstacle=Obstacle(Disk(3.0), (1.0, -3.0)), mu=mu, motion=(0.0, 0.02)
    )
    return ElasticContact(solid=solid, supports=[Support("top", "xy")], contacts=[disc])


class Watch:
    """Process time spent in the analysis and the factorisations of a run."""

    def __init__(self) -> None:
        self.analysis = self.solves = 0.0

    def __enter__(self) -> Watch:
        self._init, self._solve = SymmetricPattern.__init__, SymmetricPattern.solve

        def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def inner(*given: Any, **named: Any) -> Any:
                began = time.process_time()
                try:
                    return call(*given, **named)
                finally:
                    setattr(self, name, getattr(self, name) + time.process_time() - began)

            return inner

        SymmetricPattern.__init__ = timed("analysis", self._init)  # type: ignore[method-assign]
        SymmetricPattern.solve = timed("solves", self._solve)  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        SymmetricPattern.__init__ = self._init  # type: ignore[method-assign]
        SymmetricPattern.solve = self._solve  # type: ignore[method-assign]


class Row(NamedTuple):
    """A problem solved, and the processor time it took (s)."""

    displacements: int
    contacts: int
    iterations: int
    assembly: float
    analysis: float
    solves: float
    newton: float


def _timed(n_dof: int, engine: Any) -> Row:
    stage = obstacle(n_dof)
    began = time.process_time()
    _ = stage.solid.stiffness
    assembly = time.process_time() - began
    began = time.process_time()
    with Watch() as watch:
        state = OneLoopNewton(engine=engine).solve(stage)
    newton = time.process_time() - began
    sizes = stage.solid.n_dof, len(state.r), state.iterations
    return Row(*sizes, assembly, watch.analysis, watch.solves, newton)


def growth(largest: int, engine: Any) -> None:
    """The problem from 1 000 displacements on; the best of several runs of those that take milliseconds."""
    rows = []
    for n_dof in (1_000, 3_000, 10_000, 30_000, 100_000, 200_000):
        if n_dof > largest:
            break
        repeats = 1 if n_dof > SHORT else 20
        row = min((_timed(n_dof, engine) for _ in range(repeats)), key=lambda row: row.assembly + row.newton)
        rows.append(
            [
                f"{row.displacements}",
                f"{row.contacts}",
                f"{row.iterations}",
                *(f"{1e3 * seconds:.1f}" for seconds in (row.assembly, row.analysis, row.solves, row.newton)),
                f"{100 * (row.solves + row.analysis) / (row.newton + row.assembly):.0f}",
            ]
        )
    print(
        markdown_table(
            [
                "displacements",
                "contacts",
                "iterations",
                "assembly (ms)",
                "analysis (ms)",
                "factorise and solve (ms)",
                "Newton (ms)",
                "factorisation (%)",
            ],
            rows,
        )
    )


def engines(n_dof: int) -> None:
    """One matrix of the Newton method by each engine."""
    rows = []
    for label, stage in (("plane", obstacle(n_dof)), ("space", blocks(n_dof))):
        increment = stage.toward(stage.start(), 1.0)
        contacts = increment.rows(np.zeros(stage.solid.n_dof))
        K = stage.solid.stiffness
        for engine in ("superlu", "multifrontal"):
            began = time.process_time()
            entries = Workspace().prepared(K, increment, contacts.dofs, engine)  # type: ignore[arg-type]
            analysis = time.process_time() - began
            values, right = _closed(entries, K, contacts)
            best = np.inf
            for _ in range(3):
                began = time.process_time()
                entries.pattern.solve(values, right)
                best = min(best, time.process_time() - began)
            rows.append([label, f"{len(right)}", engine, f"{analysis:.2f}", f"{best:.2f}"])
        began = time.process_time()
        A = entries.pattern.matrix(values)
        sparse_linalg.splu(A).solve(right)
        rows.append([label, f"{len(right)}", "SciPy's default", "-", f"{time.process_time() - began:.2f}"])
    print(markdown_table(["matrix", "unknowns", "engine", "analysis (s)", "factorise and solve (s)"], rows))


def _closed(entries: Any, K: Any, contacts: Any) -> tuple[Any, Any]:
    """Entries with all contacts closed and sticking."""
    n, d, m = contacts.H.shape
    unit = float(K.diagonal().mean())
    zero = np.zeros((n, m, m))
    column = -unit * contacts.H
    values = np.concatenate((zero.ravel(), column.ravel(), unit * contacts.H.ravel(), np.zeros(n * d * d)))
    data = np.concatenate((K.data[entries.keep_K], values[entries.keep_contact]))
    return data, np.ones(entries.pattern.size)


def blocks(n_dof: int, mu: float = 0.3) -> ElasticContact:
    """A block on a block in space, flat, with matching meshes: a contact per 48 displacements."""
    n = max(4, round((n_dof / 48) ** 0.5) - 1)
    high = max(1, round(n_dof / (6 * (n + 1) ** 2)) - 1)
    lower = block((1.0, 1.0, 0.25), (n, n, high))
    upper = block((1.0, 1.0, 0.25), (n, n, high), origin=(0.0, 0.0, 0.25))
    mesh = join({"lower": lower, "upper": upper})
    return ElasticContact(
        solid=Solid(mesh=mesh, material=STEEL),
        supports=[
            Support("lower/bottom", "xyz"),
            Support("upper/top", "x", 0.002),
            Support("upper/top", "y"),
            Support("upper/top", "z", -0.005),
        ],
        contacts=[SurfaceContact(surface="upper/bottom", other="lower/top", mu=mu)],
    )


def in_space(n_dof: int, engine: Any) -> None:
    stage = blocks(n_dof)
    began = time.process_time()
    with Watch() as watch:
        state = OneLoopNewton(engine=engine, tol=1e-8).solve(stage)
    total = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"blocks in space: {stage.solid.n_dof} displacements, {len(state.r)} contacts with friction: "
        f"{state.iterations} iterations, {total:.1f} s ({watch.analysis:.1f} s analysis, "
        f"{watch.solves:.1f} s factorisations), largest memory {memory:.2f} GB"
    )


if __name__ == "__main__":
    raise SystemExit(main())
