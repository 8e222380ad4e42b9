"""Problems of mixed bodies and mixed laws: what the few that are different cost the many that are alike.

    python -m benchmarks.mixed            # or: clapas bench mixed

* *one of 90*: 2 000 rigid bodies and one body of 90 degrees of freedom, 4 000 contacts;
* *rods and a block*: 400 rigid bodies, 40 of 18 degrees of freedom and one of 2 187 (a block of 9×9×9 nodes),
  1 200 contacts;
* *one that rolls*: 6 000 contacts between 2 000 rigid bodies, of which one resists rolling; beside it the
  same problem without couples, and with all contacts visited one by one.

Each is formed and solved to 1e-8 (sweeps of the last one to 1e-4), kernels loaded; the best processor time of
some repetitions, and the largest memory of the process, are reported. Contacts are drawn at random; masses
are those of bodies of unit size.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clapas.problems.blocks import BodyBlocks
from clapas.problems.contact import ContactProblem
from clapas.problems.rolling import RollingProblem
from clapas.solvers import NSGS, Auto, Given, Solution, solve
from clapas.studies.report import markdown_table
from clapas.typing import Array

TOL = 1e-8
TOUCHED = 3  # degrees of freedom of a large body that a contact touches: a node


@dataclass(frozen=True)
class Measured:
    """What a case cost."""

    name: str
    contacts: int
    form_seconds: float
    solve_seconds: float
    residual: float
    method: str
    megabytes: float


def grid_mass(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Mass and stiffness of a cube of n×n×n nodes, three displacements each, springs between neighbours."""
    line = sparse.diags_array([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    eye = sparse.eye_array(n)
    laplacian = (
        sparse.kron(sparse.kron(line, eye), eye)
        + sparse.kron(sparse.kron(eye, line), eye)
        + sparse.kron(sparse.kron(eye, eye), line)
    )
    stiff = sparse.kron(laplacian, sparse.eye_array(3))
    return sparse.csr_array(stiff + sparse.diags_array(rng.uniform(1.0, 2.0, stiff.shape[0])))


def mixed_bodies(sizes: Sequence[int], contacts: int, seed: int = 0) -> dict[str, object]:
    """Data of contacts between random pairs of bodies of these sizes; bodies above 100 are cubes of nodes."""
    rng = np.random.default_rng(seed)
    masses = []
    for size in sizes:
        if size > 100:
            masses.append(grid_mass(round((size / 3) ** (1 / 3)), rng))
        else:
            A = rng.normal(size=(size, size))
            masses.append(sparse.csr_array(A @ A.T / size + np.eye(size)))
    first = np.concatenate(([0], np.cumsum(sizes)))
    rows, columns, values = [], [], []
    large = np.flatnonzero(np.asarray(sizes) > min(sizes))
    for i in range(contacts):
        a = rng.integers(len(sizes)) if i % 10 or not len(large) else rng.choice(large)
        b = rng.integers(len(sizes))
        for sign, body in ((-1.0, a), (1.0, b if b != a else (a + 1) % len(sizes))):
            size = sizes[body]
            at = (
                np.arange(size) if size == 6 else TOUCHED * rng.integers(size // TOUCHED) + np.arange(TOUCHED)
            )
            block = sign * rng.normal(size=(3, len(at))) / np.sqrt(len(at))
            block[:, :3] += sign * np.eye(3)[:, : min(3, len(at))]
            rows.append(np.repeat(3 * i + np.arange(3), len(at)))
            columns.append(np.tile(first[body] + at, 3))
            values.append(block.ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    H = sparse.coo_array(entries, shape=(3 * contacts, int(first[-1]))).tocsr()
    return {
        "M": sparse.block_diag(masses, format="csr"),
        "H": H,
        "f": rng.normal(size=int(first[-1])),
        "w": np.zeros((contacts, 3)),
        "mu": rng.uniform(0.1, 0.8, contacts),
    }


def rolling_pair(contacts: int, bodies: int, seed: int = 0) -> tuple[BodyBlocks, Array]:
    """Blocks of random contacts between rigid bodies, six rows each, of which the first alone has couples."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(bodies, size=(contacts, 2))
    pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 0] + 1) % bodies, pairs[:, 1])
    pairs[: contacts // 20, 1] = bodies  # on the ground
    G = rng.normal(size=(contacts, 2, 6, 6)) * 0.3
    G[:, 0, :3, :3] -= np.eye(3)
    G[:, 1, :3, :3] += np.eye(3)
    G[pairs == bodies] = 0.0
    G[1:, :, 3:] = 0.0
    y = np.zeros((bodies + 1, 6))
    y[:-1] = rng.normal(size=(bodies, 6))
    return BodyBlocks(G, pairs, y, np.tile(np.eye(6), (bodies, 1, 1))), rng.uniform(0.1, 0.8, contacts)


def measured(
    name: str, form: Callable[[], ContactProblem], solver: Auto | NSGS, repeats: int
) -> tuple[Measured, Solution]:
    """Form and solve some times; the best processor times."""
    best_form = best_solve = float("inf")
    solution = solve(form(), solver, check=False)  # loads the kernels
    for _ in range(repeats):
        start = time.process_time()
        problem = form()
        formed = time.process_time()
        solution = solve(problem, solver, check=False)
        best_form = min(best_form, formed - start)
        best_solve = min(best_solve, time.process_time() - formed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    n = solution.problem.n_contacts
    return (
        Measured(name, n, best_form, best_solve, solution.residual, solution.method, memory),
        solution,
    )


def cases(repeats: int) -> list[Measured]:
    """All measurements."""
    found = []
    for name, sizes, contacts in (
        ("one of 90", [6] * 2000 + [90], 4000),
        ("rods and a block", [6] * 400 + [18] * 40 + [2187], 1200),
    ):
        data = mixed_bodies(sizes, contacts)
        made = lambda data=data: ContactProblem(**data)  # type: ignore[misc, arg-type]  # noqa: E731
        found.append(measured(name, made, Auto(tol=TOL), repeats)[0])
    blocks, mu = rolling_pair(6000, 2000)
    plain = BodyBlocks(np.ascontiguousarray(blocks.G[:, :, :3]), blocks.bodies, blocks.y_free, blocks.root)
    sweeps, in_order = NSGS(tol=1e-4), NSGS(tol=1e-4, order=Given())
    for name, form, solver in (
        ("no couples", lambda: ContactProblem.from_blocks(plain, mu=mu), sweeps),
        ("one that rolls", lambda: RollingProblem.from_blocks(blocks, mu=mu), sweeps),
        ("the same, one by one", lambda: RollingProblem.from_blocks(blocks, mu=mu), in_order),
    ):
        found.append(measured(name, form, solver, repeats)[0])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    rows = [
        (
            case.name,
            str(case.contacts),
            f"{case.form_seconds:.3f}",
            f"{case.solve_seconds:.3f}",
            f"{case.residual:.1e}",
            case.method,
            f"{case.megabytes:.0f}",
        )
        for case in cases(options.repeats)
    ]
    print(markdown_table(("case", "contacts", "form (s)", "solve (s)", "residual", "method", "MB"), rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
