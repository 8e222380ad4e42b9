"""Execution of the work on substructures: sequential, threads, processes, or ranks of MPI.

A team is asked for one thing: call a method of every substructure, each with its own arguments, and give the
results in order. What goes in and comes out are interface vectors and numbers, never a substructure, so that
the method does not know where they are. On processes each worker holds its own substructures and makes its
own factors; they are sent at the start and come back at the end. Ranks all run the same program and hold the
same substructures; each does its share of the calls, and all of them get all results.

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
"""Makes the team of some parts."""


def one_by_one(parts: Sequence[Any]) -> Team:
    """The caller does it all.

    Examples
    --------
    >>> one_by_one([])("predict")
    []
    """

    def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
        return _called(parts, method, _each(len(parts), arguments))

    return call


@contextmanager
def of_threads(parts: Sequence[Any], count: int) -> Iterator[Team]:
    """Equal runs of neighbours on threads; one is that of the caller."""
    with pool(count) as share:
        yield share(parts)


@contextmanager
def pool(count: int) -> Iterator[Share]:
    """Threads for several teams that work in turn: a function that makes the team of some parts."""
    with ThreadPoolExecutor(max(1, count - 1), thread_name_prefix="clapas-latin") as threads:

        def share(parts: Sequence[Any]) -> Team:
            runs = [slice(a, b) for a, b in pairwise(cut(len(parts), count))]

            def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
                each = _each(len(parts), arguments)
                later = [threads.submit(_called, parts[run], method, each[run]) for run in runs[1:]]
                done = _called(parts[runs[0]], method, each[runs[0]])
                for run in later:
                    done += run.result()
                return done

            return call

        yield share


@contextmanager
def of_processes(parts: list[Substructure], count: int) -> Iterator[Team]:
    """Equal runs of neighbours on processes of their own; ``parts`` are replaced by theirs at the end."""
    context = multiprocessing.get_context("spawn")  # a forked child of threads may hang
    runs = [slice(a, b) for a, b in pairwise(cut(len(parts), count))]
    workers, lines = [], []
    try:
        for run in runs:
            line, end = context.Pipe()
            worker = context.Process(target=_serve, args=(end,), daemon=True)
            worker.start()
            end.close()
            workers.append(worker)
            lines.append(line)
            line.send(parts[run])

        def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
            each = _each(len(parts), arguments)
            for line, run in zip(lines, runs, strict=True):
                line.send((method, each[run]))
            return [result for line in lines for result in _received(line)]

        yield call
        for line, run in zip(lines, runs, strict=True):
            line.send(None)
            parts[run] = _received(line)
    finally:
        for line in lines:
            line.close()  # a worker that still waits ends by itself
        for worker in workers:
            worker.join()


@contextmanager
def of_ranks(parts: list[Substructure], comm: Any) -> Iterator[Team]:
    """Equal runs of neighbours on the ranks of an mpi4py communicator, which all call this together.

    At the end all ranks have the values of all substructures. An error of one rank is raised on all.
    """
    runs = [slice(a, b) for a, b in pairwise(cut(len(parts), comm.size))]
    own = runs[comm.rank] if comm.rank < len(runs) else slice(0, 0)

    def call(method: str, *arguments: Sequence[Any]) -> list[Any]:
        done: list[Any] | Exception
        try:
            done = _called(parts[own], method, _each(len(parts), arguments)[own])
        except Exception as error:
            done = error
        shares = comm.allgather(done)
        for share in shares:
            if isinstance(share, Exception):
                raise share
        return [result for share in shares for result in share]

    yield call
    parts[:] = [part for share in comm.allgather(parts[own]) for part in share]


def _serve(line: Connection) -> None:
    """The loop of a worker: substructures first, then calls, then None, which asks for them back."""
    with one_blas_thread():
        try:
            parts = line.recv()
            while (message := line.recv()) is not None:
                try:
                    line.send(_called(parts, *message))
                except Exception as error:
                    line.send(error)
            line.send(parts)
        except (EOFError, BrokenPipeError):  # the caller has gone
            return


def _received(line: Connection) -> list[Any]:
    try:
        answer = line.recv()
    except EOFError:
        raise ProblemError(
            "a process of the substructures ended by itself: memory may be short, or the script that calls "
            'lacks the line if __name__ == "__main__": which new processes need'
        ) from None
    if isinstance(answer, Exception):
        raise answer
    return list(answer)


def _called(parts: Sequence[Any], method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
    return [getattr(part, method)(*own) for part, own in zip(parts, arguments, strict=True)]


def _each(count: int, arguments: tuple[Sequence[Any], ...]) -> list[tuple[Any, ...]]:
    return list(zip(*arguments, strict=True)) if arguments else [()] * count


def cut(items: int, count: int) -> list[int]:
    """Where equal runs of neighbours begin, and the number of all.

    Examples
    --------
    >>> cut(5, 2)
    [0, 2, 5]
    """
    count = max(1, min(count, items))
    return [items * i // count for i in range(count + 1)]
