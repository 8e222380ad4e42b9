"""Execution of the work on substructures: sequential, threads, processes, or ranks of MPI.

A team calls a method of every substructure, each with its own arguments, and returns the
results in order. Arguments and results are interface vectors and numbers, never a substructure, so that
the solver need not know where the substructures are. With processes each worker holds some substructures and
computes their factors; they are sent at the start and returned at the end. Ranks all run the same program and
hold the same substructures; each does its share of the calls, and all receive all results.

Every substructure does the same operations in the same order in every team: results are equal to the last
bit.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

from clapas.compiled.threads import one_blas_thread
from clapas.errors import ProblemError
from clapas.multiscale.substructure import Substructure

Team = Callable[..., list[Any]]
"""``team("name", first, second, …)`` is [part.name(a, b, …)], where first, second hold one a, b per part."""
Share = Callable[[Sequence[Any]], Team]
"""Creates the team of some parts."""


def one_by_one(parts: Sequence[Any]) -> Team:
    """Sequential team.

    Examples
    --------
    >>> one_by_one([])("predict")
    []
    """

    def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
        return _call_all(parts, method, _by_part(len(parts), arguments))

    return call


@contextmanager
def of_threads(parts: Sequence[Any], count: int) -> Iterator[Team]:
    """Team of threads with equal runs of consecutive parts; the caller is one of them."""
    with pool(count) as share:
        yield share(parts)


@contextmanager
def pool(count: int) -> Iterator[Share]:
    """Threads shared by several teams: a function that creates the team of some parts."""
    with ThreadPoolExecutor(max(1, count - 1), thread_name_prefix="clapas-latin") as threads:

        def share(parts: Sequence[Any]) -> Team:
            runs = [slice(a, b) for a, b in pairwise(cut(len(parts), count))]

            def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
                each = _by_part(len(parts), arguments)
                futures = [threads.submit(_call_all, parts[run], method, each[run]) for run in runs[1:]]
                results = _call_all(parts[runs[0]], method, each[runs[0]])
                for run in futures:
                    results += run.result()
                return results

            return call

        yield share


@contextmanager
def of_processes(parts: list[Substructure], count: int) -> Iterator[Team]:
    """Team of processes with equal runs of consecutive parts; ``parts`` are updated at the end."""
    context = multiprocessing.get_context("spawn")  # a forked child of threads may hang
    runs = [slice(a, b) for a, b in pairwise(cut(len(parts), count))]
    workers, connections = [], []
    try:
        for run in runs:
            connection, end = context.Pipe()
            worker = context.Process(target=_serve, args=(end,), daemon=True)
            worker.start()
            end.close()
            workers.append(worker)
            connections.append(connection)
            connection.send(parts[run])

        def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
            each = _by_part(len(parts), arguments)
            for connection, run in zip(connections, runs, strict=True):
                connection.send((method, each[run]))
            return [result for connection in connections for result in _receive(connection)]

        yield call
        for connection, run in zip(connections, runs, strict=True):
            connection.send(None)
            parts[run] = _receive(connection)
    finally:
        for connection in connections:
            connection.close()  # ends a worker that still waits
        for worker in workers:
            worker.join()


@contextmanager
def of_ranks(parts: list[Substructure], comm: Any) -> Iterator[Team]:
    """Team of the ranks of an mpi4py communicator, which all call this together.

    At the end all ranks have the values of all substructures. An error of one rank is raised on all.
    """
    runs = [slice(a, b) for a, b in pairwise(cut(len(parts), comm.size))]
    own = runs[comm.rank] if comm.rank < len(runs) else slice(0, 0)

    def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
        results: list[Any] | Exception
        try:
            results = _call_all(parts[own], method, _by_part(len(parts), arguments)[own])
        except Exception as error:
            results = error
        all_results = comm.allgather(results)
        for result_list in all_results:
            if isinstance(result_list, Exception):
                raise result_list
        return [result for result_list in all_results for result in result_list]

    yield call
    parts[:] = [part for run in comm.allgather(parts[own]) for part in run]


def _serve(connection: Connection) -> None:
    """Loop of a worker: receives substructures, then calls, then None, after which it returns them."""
    with one_blas_thread():
        try:
            parts = connection.recv()
            while (message := connection.recv()) is not None:
                try:
                    connection.send(_call_all(parts, *message))
                except Exception as error:
                    connection.send(error)
            connection.send(parts)
        except (EOFError, BrokenPipeError):  # the caller has ended
            return


def _receive(connection: Connection) -> list[Any]:
    try:
        result = connection.recv()
    except EOFError:
        raise ProblemError(
            "a process of the substructures ended by itself: memory may be short, or the script that calls "
            'lacks the line if __name__ == "__main__": which new processes need'
        ) from None
    if isinstance(result, Exception):
        raise result
    return list(result)


def _call_all(parts: Sequence[Any], method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
    return [
        getattr(part, method)(*arguments_of_part)
        for part, arguments_of_part in zip(parts, arguments, strict=True)
    ]


def _by_part(count: int, arguments: tuple[Sequence[Any], ...]) -> list[tuple[Any, ...]]:
    return list(zip(*arguments, strict=True)) if arguments else [()] * count


def cut(items: int, count: int) -> list[int]:
    """Starts of equal runs of consecutive items, and the number of items.

    Examples
    --------
    >>> cut(5, 2)
    [0, 2, 5]
    """
    count = max(1, min(count, items))
    return [items * i // count for i in range(count + 1)]
