"""Whether this process was started by ``mpirun``, and the communicator it then has.

MPI is looked for in the environment that launchers make, not by importing it: without a launcher nothing of
MPI is loaded, and a run is what it is without MPI.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from clapas.errors import MissingDependency

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE")


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
