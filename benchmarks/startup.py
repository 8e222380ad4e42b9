"""What a new process pays before its first answer: import, compilation, loading from the cache.

Each number comes from a fresh process. Run as ``python -m benchmarks.startup CHAPTER`` it is that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
CONTACTS = 2000


@dataclass(frozen=True)
class Startup:
    """Seconds in fresh processes.

    Parameters
    ----------
    clapas_import : float
        ``import clapas`` (names load when first used).
    names_import : float
        The import of the solver, the problem and the gallery by name.
    first_solve : float
        Import, build a packing of 2000 contacts, ten sweeps of the default NSGS; kernels in the cache.
    first_solve_cold : float
        The same with an empty cache.
    every_kernel_cold : float
        All forms, orders and local solvers of NSGS in 3-D and 2-D with an empty cache.
    """

    clapas_import: float
    names_import: float
    first_solve: float
    first_solve_cold: float
    every_kernel_cold: float


def measure(repeats: int) -> Startup:
    """Start processes and time them; cold ones once."""
    with TemporaryDirectory(prefix="clapas-benchmark-") as first, TemporaryDirectory() as second:
        cold = _seconds("solve", first)
        return Startup(
            clapas_import=min(_seconds("import", first) for _ in range(repeats)),
            names_import=min(_seconds("names", first) for _ in range(repeats)),
            first_solve=min(_seconds("solve", first) for _ in range(repeats)),
            first_solve_cold=cold,
            every_kernel_cold=_seconds("everything", second),
        )


def _seconds(chapter: str, cache: str) -> float:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-m", "benchmarks.startup", chapter]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def _solve() -> None:
    import clapas
    from clapas.problems.gallery import sphere_packing

    clapas.solve(sphere_packing(CONTACTS).problem, clapas.NSGS(max_iterations=10), check=False)


def _everything() -> None:
    import numpy as np

    from benchmarks.layouts import LOCALS
    from clapas.problems.gallery import sphere_packing
    from clapas.solvers import NSGS, Coloured, Given

    for d in (3, 2):
        problem = sphere_packing(CONTACTS, d=d).problem
        guess = np.zeros((CONTACTS, d))
        problem.residual(guess)
        for local in LOCALS:
            for order in (Given(), Coloured()):
                NSGS(form="bodies", order=order, local=local).start(problem, guess).advance(1)
                NSGS(form="delassus", order=order, local=local).start(problem, guess).advance(1)


def _import() -> None:
    import clapas  # noqa: F401


def _names() -> None:
    from clapas import NSGS, ContactProblem, gallery, solve  # noqa: F401


def main() -> None:
    """Do one chapter and print its seconds."""
    chapters = {"import": _import, "names": _names, "solve": _solve, "everything": _everything}
    start = time.perf_counter()
    chapters[sys.argv[1]]()
    print(json.dumps(time.perf_counter() - start))


if __name__ == "__main__":
    main()
