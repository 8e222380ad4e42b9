"""Start programs under mpirun, or skip."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from clapas.distributed.launch import launcher
from clapas.errors import MissingDependency


def _is_missing() -> bool:
    try:
        launcher(1)
    except MissingDependency:
        return True
    return False


needs_mpi = pytest.mark.skipif(_is_missing(), reason="needs mpi4py and mpirun: pip install 'clapas[mpi]'")


def environment() -> dict[str, str]:
    """What the launcher needs, ranks that leave the core to others while they wait, and one thread each."""
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return launcher(1)[1] | one | {"OMPI_MCA_mpi_yield_when_idle": "1"}


def command(ranks: int, *words: object) -> list[str]:
    return [*launcher(ranks)[0], *map(str, words)]


def mpirun(
    ranks: int, *words: object, folder: Path, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(ranks, *words),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
