"""Execute the runs of a sweep, each once, and store every result at once.

A result is a small JSON file named by the identity of its run, written atomically. A killed sweep loses only
the runs under way: restarted, it finds the files and does the rest. The same holds for a sweep with more
values than before.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor, as_completed
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from clapas.errors import WriteError
from clapas.io.recording.lock import Lock
from clapas.sweeps.definition import Case, Sweep, equal_durations
from clapas.sweeps.running import DONE, FAILED, failure, run_case

SUSPECTS = 2  # runs per processor that may have killed a worker: each is repeated alone
ENDED = "its process ended without a word: killed, out of memory, or crashed in compiled code"

Row = dict[str, Any]
Opener = Callable[[], AbstractContextManager[Executor | None]]


class Progress(NamedTuple):
    """Progress data after each run.

    Parameters
    ----------
    done, failed, total : int
        Runs finished (failed ones too), failed, and in all.
    case : Case or None
        The run that has just finished; None at the start, when results of earlier runs were found.
    """

    done: int
    failed: int
    total: int
    case: Case | None


def execute(
    sweep: Sweep,
    folder: str | os.PathLike[str],
    executor: Executor | Opener,
    *,
    retry: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> list[Row]:
    """Execute the missing runs of a sweep, and return the rows of all.

    Parameters
    ----------
    sweep : Sweep
        The sweep.
    folder : path
        Folder of the results; created if needed.
    executor : Executor, or callable
        The executor, or a function that opens one (a context manager): one that can be reopened survives a
        killed worker.
    retry : bool
        Repeat runs that failed before.
    watch : callable, optional
        Called after each run.

    Returns
    -------
    list of dict
        One row per run: its parameters, its seed, its status, its numbers, and their ``units`` by name.
    """
    folder = Path(folder)
    results, recordings = folder / "runs", folder / "recordings"
    cases = sweep.cases(recordings)
    for text in equal_durations(sweep):
        warnings.warn(text, stacklevel=2)
    for place in (results, *([recordings] if sweep.keep else [])):
        place.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder / "table.csv")
    try:
        rows = {case.identity: row for case in cases if (row := _stored(results, case, retry)) is not None}

        def finish(case: Case, row: Row) -> None:
            _store(results, case, row)
            rows[case.identity] = row
            report(case)

        def report(case: Case | None) -> None:
            failed = sum(row["status"] == FAILED for row in rows.values())
            if watch is not None:
                watch(Progress(len(rows), failed, len(cases), case))

        report(None)
        opener: Opener = (lambda: nullcontext(executor)) if isinstance(executor, Executor) else executor
        _run_all([case for case in cases if case.identity not in rows], opener, finish)
    finally:
        lock.release()
    return [_row(case, rows[case.identity]) for case in cases if case.identity in rows]


def _run_all(cases: list[Case], opener: Opener, finish: Callable[[Case, Row], None]) -> None:
    """Run the cases; if a worker dies, find the case by repeating the suspects one at a time."""
    suspects = SUSPECTS * (os.cpu_count() or 1)
    while cases:
        cases = _submit(cases, opener, finish)
        for case in cases[:suspects]:
            if _submit([case], opener, finish):
                finish(case, failure(ENDED))
        cases = cases[suspects:]


def _submit(cases: list[Case], opener: Opener, finish: Callable[[Case, Row], None]) -> list[Case]:
    """Run cases on one executor; returns those that were lost because a worker died."""
    left = {case.identity: case for case in cases}
    with opener() as executor:
        if executor is None:  # a worker rank of MPI, at the end
            return []
        futures = {executor.submit(run_case, case): case for case in cases}
        try:
            for future in as_completed(futures):
                case = futures[future]
                finish(case, future.result())
                del left[case.identity]
        except BrokenExecutor:
            pass
        except BaseException:  # Ctrl-C, or a full disk: cancel pending runs
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return list(left.values())


def _store(results: Path, case: Case, row: Row) -> None:
    place = results / f"{case.identity}.json"
    new = place.with_suffix(f".{os.getpid()}.new")
    try:
        new.write_text(json.dumps(_row(case, row), allow_nan=True), encoding="utf-8")
        os.replace(new, place)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise WriteError(
            f"{place}: cannot be written ({error.strerror}); make room and start the sweep again: it goes on"
        ) from None


def _stored(results: Path, case: Case, retry: bool) -> Row | None:
    """The valid result of an earlier run, or None."""
    try:
        row = json.loads((results / f"{case.identity}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(row, dict) or row.get("status") not in (DONE, FAILED):
        return None
    return None if retry and row["status"] == FAILED else row


def _row(case: Case, row: Row) -> Row:
    """The row of a run in the table: parameters, then results."""
    seed = {} if case.seed is None else {"seed": case.seed}
    return {"run": case.number, "identity": case.identity, **case.values, **seed, **_result(case, row)}


def _result(case: Case, row: Row) -> Row:
    skipped = {"run", "identity", "seed", *case.values}
    return {name: value for name, value in row.items() if name not in skipped}


def succeeded(rows: Iterable[Row]) -> list[Row]:
    """The rows of runs that have a result."""
    return [row for row in rows if row["status"] == DONE and math.isfinite(row["seconds"])]
