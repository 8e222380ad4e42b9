"""Executors for the runs of a sweep (``concurrent.futures``)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Literal

from clapas.errors import MissingDependency, SettingsError

Kind = Literal["processes", "threads", "mpi", "dask"]
KINDS: tuple[Kind, ...] = ("processes", "threads", "mpi", "dask")


@contextmanager
def executor(
    kind: Kind, workers: int | None = None, scheduler: str | None = None
) -> Iterator[Executor | None]:
    """An executor by name, closed at the end of the block.

    Parameters
    ----------
    kind : str
        "processes" of this machine, "threads" of this process, "mpi" for the ranks of ``mpirun`` (rank 0
        hands out, the others run), or "dask" for a cluster.
    workers : int, optional
        Processes or threads; by default as many as processors.
    scheduler : str, optional
        Address of the scheduler of Dask; by default a cluster on this machine.

    Yields
    ------
    Executor or None
        None on the worker ranks of MPI, which only execute the runs assigned by rank 0.
    """
    if workers is not None and workers < 1:
        raise SettingsError(f"workers must be at least 1, got {workers}")
    if kind == "threads":
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            yield pool
    elif kind == "processes":
        context = get_context("spawn")  # a forked process would share the threads and locks of compiled code
        with ProcessPoolExecutor(workers or os.cpu_count(), context, initializer=end_with_parent) as pool:
            yield pool
    elif kind == "mpi":
        try:
            futures = import_module("mpi4py.futures")
        except ImportError:
            raise MissingDependency("mpi4py", "mpi", "a sweep on MPI") from None
        with futures.MPICommExecutor() as pool:
            yield pool
    elif kind == "dask":
        try:
            client = import_module("distributed").Client
        except ImportError:
            raise SettingsError(
                "a sweep on Dask needs the package 'distributed': pip install distributed"
            ) from None
        with client(scheduler) if scheduler else client(n_workers=workers) as cluster:
            yield cluster.get_executor()
    else:
        raise SettingsError(f"no executor is called '{kind}': expected {' or '.join(KINDS)}")


def end_with_parent() -> None:
    """End this worker as soon as its parent process ends, even if that is killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()
