"""What a new process pays before its first answer: import, compilation, loading from the cache.

Each number comes from a fresh process. Run as ``python -m benchmarks.startup CHAPTER`` it is that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
CONTACTS = 2000


@dataclass(frozen=True, order=True)
class Cost:
    """Seconds of the processor and of the clock; the first hardly depends on what else runs."""

    processor: float
    clock: float


@dataclass(frozen=True)
class Startup:
    """What fresh processes take, everything before included.

    Parameters
    ----------
    clapas_import : Cost
        ``import clapas`` (names load when first used).
    names_import : Cost
        The import of the solver, the problem and the gallery by name.
    first_solve : Cost
        Import, build a packing of 2000 contacts, ten sweeps of the default NSGS; kernels in the cache.
    first_solve_cold : Cost
        The same with an empty cache.
    every_kernel_cold : Cost
        All forms, orders and local solvers of NSGS in 3-D and 2-D with an empty cache.
    """

    clapas_import: Cost
    names_import: Cost
    first_solve: Cost
    first_solve_cold: Cost
    every_kernel_cold: Cost


def measure(repeats: int) -> Startup:
    """Start processes and time them; cold ones once."""
    with TemporaryDirectory(prefix="clapas-benchmark-") as first, TemporaryDirectory() as second:
        cold = _cost("solve", first)
        return Startup(
            clapas_import=min(_cost("import", first) for _ in range(repeats)),
            names_import=min(_cost("names", first) for _ in range(repeats)),
            first_solve=min(_cost("solve", first) for _ in range(repeats)),
            first_solve_cold=cold,
            every_kernel_cold=_cost("everything", second),
        )


def _cost(chapter: str, cache: str) -> Cost:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-m", "benchmarks.startup", chapter]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return Cost(**json.loads(done.stdout))


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
                NSGS(form="bodies", order=order, local=local, acceleration=0).start(problem, guess).advance(1)
                NSGS(form="delassus", order=order, local=local, acceleration=0).start(problem, guess).advance(
                    1
                )


def _import() -> None:
    import clapas  # noqa: F401


def _names() -> None:
    from clapas import NSGS, ContactProblem, gallery, solve  # noqa: F401


def main() -> None:
    """Do one chapter and print what it took."""
    chapters = {"import": _import, "names": _names, "solve": _solve, "everything": _everything}
    processor, clock = time.process_time(), time.perf_counter()
    chapters[sys.argv[1]]()
    cost = Cost(time.process_time() - processor, time.perf_counter() - clock)
    print(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main()
