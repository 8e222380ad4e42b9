"""Detection of a start by ``mpirun``, and its communicator.

MPI is detected by the environment variables of launchers, not by importing it: without a launcher MPI is not
loaded.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clapas.distributed.communication import EndedElsewhere
from clapas.errors import Error, MissingDependency

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE")
PATIENCE = 1.0  # seconds that other ranks wait while rank 0 reports a common error


def launched_size() -> int:
    """Number of processes that a launcher of MPI started together; 1 without a launcher."""
    for name in SIZES:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return 1


def is_launched() -> bool:
    """Whether this process is one of several that MPI started together."""
    return launched_size() > 1


def world() -> Any:
    """The communicator of all ranks.

    Raises
    ------
    MissingDependency
        mpi4py is not installed.
    """
    try:
        return import_module("mpi4py.MPI").COMM_WORLD
    except ImportError:
        raise MissingDependency("mpi4py", "mpi", "a run on several processes") from None


def launcher(ranks: int) -> tuple[list[str], dict[str, str]]:
    """The command that starts ``ranks`` processes of this Python, and its environment.

    Raises
    ------
    MissingDependency
        mpi4py, or mpirun, is not installed.
    """
    local = Path(sys.executable).with_name("mpirun")
    mpirun = str(local) if local.exists() else shutil.which("mpirun")
    if mpirun is None or find_spec("mpi4py") is None:
        raise MissingDependency("mpi4py", "mpi", "starting several processes")
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if ranks > (os.cpu_count() or 1):
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return [mpirun, "-n", str(ranks), sys.executable], environment


def share_processors(comm: Any) -> None:
    """Divide the processors of a machine among its ranks, by the number of threads."""
    import numba

    from clapas.compiled import config

    shared = import_module("mpi4py.MPI").COMM_TYPE_SHARED
    here = comm.Split_type(shared)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    room = processors if _are_bound(here, processors) else processors // int(here.size)
    numba.set_num_threads(max(1, min(room, int(config.NUMBA_NUM_THREADS))))
    here.Free()


def _are_bound(here: Any, processors: int) -> bool:
    """Whether the launcher has bound each rank to its own processors."""
    return processors < (os.cpu_count() or 1) and int(here.size) > 1


@contextmanager
def ending_together(comm: Any, code: int, passing: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Context in which an error on one rank ends the job with a message, so that no rank waits.

    Errors common to all ranks are reported once, by rank 0. Exceptions in ``passing`` are raised as they are.
    """
    try:
        yield
    except EndedElsewhere:
        time.sleep(PATIENCE)  # the failed rank reports the error and ends the job
        comm.Abort(code)
    except BaseException as error:
        if isinstance(error, (SystemExit, *passing)):
            raise
        if comm.rank:
            time.sleep(PATIENCE)
        prefix = f"clapas: rank {comm.rank} of {comm.size}: " if comm.rank else "clapas: "
        if isinstance(error, Error):
            print(f"{prefix}{error}", file=sys.stderr, flush=True)
        elif isinstance(error, OSError) and error.filename:
            print(f"{prefix}{error.filename}: {error.strerror}", file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
            print(f"{prefix}{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        comm.Abort(code)
