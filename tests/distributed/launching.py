"""Start programs under mpirun, or skip."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BESIDE = Path(sys.executable).with_name("mpirun")
MPIRUN = str(BESIDE) if BESIDE.exists() else shutil.which("mpirun")

needs_mpi = pytest.mark.skipif(
    MPIRUN is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpi4py and mpirun: pip install 'clapas[mpi]'",
)


def environment() -> dict[str, str]:
    """Root may run, more ranks than cores may too, and ranks that wait leave the core to others."""
    return os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "NUMBA_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def command(ranks: int, *words: object) -> list[str]:
    assert MPIRUN is not None
    return [MPIRUN, "-n", str(ranks), sys.executable, *map(str, words)]


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
