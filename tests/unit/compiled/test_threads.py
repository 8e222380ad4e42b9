"""Threads in step: each does its share, none runs ahead of the others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

import numba
import numpy as np
import pytest

from clapas.compiled import WORTH_THREADS, kernel
from clapas.compiled.sharing import launch, run_on_threads, share_rows
from clapas.compiled.teams import Team
from clapas.compiled.threads import Worker, chunk, thread_count, wait

ROOT = Path(__file__).parents[3]


@kernel
def ring(worker: Worker, rounds: int, values: np.ndarray) -> None:
    """Each round, every worker adds its neighbour's number of the round before to its own."""
    for step in range(rounds):
        mine, other = worker.rank, (worker.rank + 1) % worker.size
        values[step + 1, mine] = values[step, mine] + values[step, other]
        wait(worker)


def ring_alone(rounds: int, first: np.ndarray) -> np.ndarray:
    values = first.copy()
    for _ in range(rounds):
        values = values + np.roll(values, -1)
    return values


@pytest.mark.parametrize("size", [1, 2, 5])
def test_nobody_runs_ahead(size: int) -> None:
    """With more threads than cores too: those that wait let the others run."""
    rounds = 300
    values = np.zeros((rounds + 1, size))
    values[0] = first = 2.0**-rounds * np.arange(1, size + 1)
    launch(size, ring, rounds, values)
    np.testing.assert_array_equal(values[-1], ring_alone(rounds, first))
    values[1:] = 0.0
    run_on_threads(size, lambda worker: ring(worker, rounds, values))
    np.testing.assert_array_equal(values[-1], ring_alone(rounds, first))


def test_shares_cover_everything_once() -> None:
    for size in (1, 2, 3, 7):
        for count in (0, 1, 5, 20):
            bounds = [chunk(Worker(rank, size, np.zeros(1, dtype=np.int64)), count) for rank in range(size)]
            assert [i for first, last in bounds for i in range(first, last)] == list(range(count))


def test_errors_of_other_threads_are_raised() -> None:
    def work(worker: Worker) -> None:
        if worker.rank == 1:
            raise ValueError("from the second thread")

    with pytest.raises(ValueError, match="second thread"):
        run_on_threads(2, work)


def test_nobody_waits_for_a_member_that_failed() -> None:
    values = np.zeros((100, 3))

    def work(worker: Worker) -> None:
        if worker.rank == 1:
            raise ValueError("from the second thread")
        ring(worker, 99, values)

    with pytest.raises(ValueError, match="second thread"):
        run_on_threads(3, work)


def test_teams_of_several_threads_at_once() -> None:
    rounds = 50
    tables = [np.ones((rounds + 1, 3)) for _ in range(6)]

    def solve(values: np.ndarray) -> None:
        launch(3, ring, rounds, values)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(solve, tables))
    for values in tables:
        np.testing.assert_array_equal(values[-1], 2.0**rounds)


def test_who_sleeps_is_woken() -> None:
    """Between launches members watch for a while, then sleep: neither loses a launch."""
    for pause in (0.0, 1e-5, 1e-4, 2e-4, 5e-4, 2e-2) * 20:
        done, values = np.zeros(3, dtype=np.int64), np.ones((3, 3))
        run_on_threads(3, lambda worker, done=done: put_one(worker, done))
        assert done.tolist() == [1, 1, 1]
        time.sleep(pause)
        launch(3, ring, 2, values)  # its threads wait for each other: none may be missing
        assert values[-1].tolist() == [4.0, 4.0, 4.0]
        time.sleep(pause)


@kernel
def put_one(worker: Worker, done: np.ndarray) -> None:
    done[worker.rank] += 1


class Pair(NamedTuple):
    """Two arrays, one of them inside another tuple."""

    first: np.ndarray
    others: tuple[np.ndarray, float]


@kernel
def add_up(worker: Worker, pair: Pair, scale: float, rows: np.ndarray, sums: np.ndarray) -> None:
    first, last = chunk(worker, len(rows))
    for i in range(first, last):
        part = rows[i : i + 1]  # counts who holds the array
        sums[i] = scale * (part[0] + pair.first[i]) + pair.others[0][i] * pair.others[1]


def test_each_share_is_done_once_whoever_is_late() -> None:
    """Launches one after the other, too short for all members to come in time."""
    for size in (2, 5):
        done = np.zeros(size, dtype=np.int64)
        for _ in range(3000):
            launch(size, put_one, done)
        assert (done == 3000).all()


def test_arguments_of_all_kinds_reach_the_shares() -> None:
    """Tuples in tuples, parts of arrays, arrays made for the launch and gone after it."""
    table = np.arange(600.0).reshape(200, 3)
    for k in range(500):
        sums, ones = np.zeros(200), np.full(200, float(k))
        pair = Pair(np.arange(200.0), (np.ones(200), 0.5))
        launch(2, add_up, pair, 2.0, table[:, 1] + ones, sums)
        np.testing.assert_array_equal(sums, 2.0 * (table[:, 1] + k + np.arange(200.0)) + 0.5)


def test_wrong_arguments_are_refused_by_a_new_team() -> None:
    """Nothing has been handed out: there is nobody to wait for."""
    code = """
import numpy as np
from numba.core.errors import NumbaError
from clapas.compiled.sharing import launch
from tests.unit.compiled.test_threads import put_one
done = np.zeros(2, dtype=np.int64)
for given in ("text", done, None, done):
    try:
        launch(2, put_one, given)
    except NumbaError:
        print("refused")
    print(done.tolist())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    words = ran.stdout.split("\n")
    assert words == ["refused", "[0, 0]", "[1, 1]", "refused", "[1, 1]", "[2, 2]", ""], ran.stderr


def test_wrong_arguments_leave_the_team_at_work() -> None:
    done = np.zeros(2, dtype=np.int64)
    with pytest.raises(numba.core.errors.NumbaError):
        launch(2, put_one, "text")
    launch(2, put_one, done)
    assert done.tolist() == [1, 1]


@kernel
def fail_at(worker: Worker, failing: int, done: np.ndarray) -> None:
    if worker.rank == failing:
        raise ValueError
    wait(worker)
    done[worker.rank] += 1


@pytest.mark.parametrize("failing", [0, 1])
def test_a_kernel_that_fails_is_told_and_leaves_the_team_at_work(failing: int) -> None:
    done = np.zeros(2, dtype=np.int64)
    with pytest.raises(RuntimeError, match="fail_at"):
        launch(2, fail_at, failing, done)
    assert done[1 - failing] == 1  # nobody waits for who has failed
    launch(2, fail_at, 2, done)
    assert done.sum() == 3


@kernel
def touch_last(worker: Worker, tables: tuple[np.ndarray, ...], done: np.ndarray) -> None:
    done[worker.rank] = tables[-1][0]


def test_more_arguments_than_fit_are_refused() -> None:
    tables = tuple(np.ones((1, 1)) for _ in range(100))
    with pytest.raises(Exception, match="take more than 8192 bytes"):
        launch(2, touch_last, tuple(table.ravel() for table in tables * 2), np.zeros(2))


def test_kernels_of_launches_are_kept() -> None:
    """Another process finds them beside the kernels that they launch."""
    code = """
import numpy as np
from clapas.compiled import count_compilations
from clapas.compiled.sharing import launch
from tests.unit.compiled.test_threads import put_one
with count_compilations() as compiled:
    launch(2, put_one, np.zeros(2, dtype=np.int64))
print(compiled.count)
"""
    ran = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
        for _ in range(2)
    ]
    assert ran[1].stdout == "0\n", ran[1].stderr


def test_a_failed_launch_leaves_the_team_at_work() -> None:
    """Whoever fails, the one that launches or another: all have ended, and the next launch is as any."""
    for failing in (0, 1):
        ended = []

        def work(worker: Worker, failing: int = failing, ended: list[int] = ended) -> None:
            if worker.rank == failing:
                raise KeyboardInterrupt
            time.sleep(0.01)
            ended.append(worker.rank)

        with pytest.raises(KeyboardInterrupt):
            run_on_threads(2, work)
        assert ended == [1 - failing]
        done = np.zeros(2, dtype=np.int64)
        run_on_threads(2, lambda worker, done=done: put_one(worker, done))
        assert done.all()


def test_a_team_left_at_work_is_not_used_again() -> None:
    """A second interrupt comes while the first is dealt with: a member still works, on what was its own."""
    team, began, gate, ended = Team(2), Event(), Event(), []

    def work(worker: Worker) -> None:
        if worker.rank == 0:
            began.wait()
            team._wake = interrupt  # type: ignore[method-assign]
        else:
            began.set()
            gate.wait()
            ended.append(worker.rank)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        team.run(work)
    assert not team.is_idle
    gate.set()
    del team._wake
    team.dismiss()
    assert ended == [1]


def test_work_may_launch_work() -> None:
    done = np.zeros((2, 2), dtype=np.int64)

    def work(worker: Worker) -> None:
        run_on_threads(2, lambda inner: put_one(inner, done[worker.rank]))

    run_on_threads(2, work)
    assert done.all()


@pytest.mark.parametrize("rows", [0, 1, 7, 40_000])
def test_rows_are_shared_out_once(rows: int) -> None:
    seen = np.zeros(rows, dtype=np.int64)

    def count(some: slice) -> None:
        seen[some] += 1

    share_rows(rows, count)
    assert (seen == 1).all()


STORM = """
import os, random, signal, threading, time
import numpy as np
from clapas.compiled.sharing import launch, run_on_threads
from tests.unit.compiled.test_threads import ring
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what was started in the background
values, hits = np.zeros((51, 2)), 0
def shoot():
    while time.monotonic() < end:
        time.sleep(2e-3 * random.random())
        os.kill(os.getpid(), signal.SIGINT)
def work():
    launch(2, ring, 50, values)
    run_on_threads(2, lambda worker: ring(worker, 50, values))
    time.sleep(random.choice((0.0, 1e-3)))
work()
end, shooter = time.monotonic() + 2.0, threading.Thread(target=shoot)
while True:
    try:
        if shooter.ident is None:
            shooter.start()
        while shooter.is_alive():
            work()
        break
    except KeyboardInterrupt:
        hits += 1
assert hits > 50, hits
work()
print("ended")
"""


def test_interrupts_at_any_time() -> None:
    command = [sys.executable, "-c", STORM]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (ran.stdout, ran.returncode) == ("ended\n", 0), ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_processes_with_a_team_end_and_fork(tmp_path: Path) -> None:
    """No thread keeps the interpreter from ending, nor is missed in a forked process."""
    code = """
import multiprocessing, numpy as np
from clapas.compiled.sharing import run_on_threads, share_rows
def work(done):
    run_on_threads(2, lambda worker: done.append(worker.rank))
    return sorted(done)
assert work([]) == [0, 1]
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map(work, [[], []]) == [[0, 1], [0, 1]]
assert work([]) == [0, 1]
print("ended")
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("ended\n", "", 0)


def test_size_follows_work_wish_and_machine() -> None:
    most = numba.config.NUMBA_NUM_THREADS
    assert thread_count(None, work=10, pieces=100) == 1
    assert thread_count(None, work=WORTH_THREADS, pieces=100) == min(numba.get_num_threads(), 2)
    assert thread_count(None, work=10**7, pieces=100) == min(numba.get_num_threads(), 100)
    assert thread_count(10**6, work=10, pieces=10**9) == most
    assert thread_count(2, work=10**7, pieces=0) == 1
