"""The same input gives the same bits: again, on any number of threads, beside another run; and on other
machines the same numbers up to rounding. See ``digests`` for what is compared, and why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice, zip_longest

import numba
import numpy as np
import pytest

from clapas.dynamics.state import State
from tests.conftest import REPOSITORY
from tests.determinism.__main__ import plain_environment
from tests.determinism.digests import (
    TOLERANCE,
    Digest,
    difference,
    digest,
    environment,
    golden,
)
from tests.determinism.runs import RUNS

MOST_THREADS = numba.config.NUMBA_NUM_THREADS
HINT = "if the change is meant, store new digests by 'python -m tests.determinism --write' and say why"


def digest_of(name: str, threads: int | None = None) -> Digest:
    return digest(RUNS[name].states(threads), RUNS[name].portable)


@cache
def alone(name: str) -> Digest:
    return digest_of(name)


def in_a_process(environment: dict[str, str]) -> dict[str, Digest]:
    command = [sys.executable, "-m", "tests.determinism", "--json"]
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return {name: Digest(**entry) for name, entry in json.loads(done.stdout).items()}


def assert_agrees(made: Digest, stored: Digest) -> None:
    assert made.contacts == stored.contacts, f"other contacts than stored; {HINT}"
    assert made.sketch.keys() == stored.sketch.keys()
    for column, size in difference(made, stored).items():
        assert size <= TOLERANCE, f"{column} differs from what is stored by {size:.1e}; {HINT}"


@pytest.mark.parametrize("name", RUNS)
def test_every_machine_finds_the_stored_numbers(name: str) -> None:
    assert_agrees(alone(name), golden(name))


@pytest.mark.parametrize("name", RUNS)
def test_bits_are_those_stored_for_this_environment(name: str) -> None:
    stored = golden(name).bits
    if not stored:
        pytest.skip(f"no bits are stored for this environment: {environment()}")
    assert alone(name).bits == stored, HINT


@pytest.mark.parametrize("name", RUNS)
def test_a_rerun_gives_the_same_bits(name: str) -> None:
    assert digest_of(name) == alone(name)


def test_another_process_gives_the_same_bits() -> None:
    """Other addresses, other hashes of strings."""
    for name, made in in_a_process(os.environ | {"PYTHONHASHSEED": "12345"}).items():
        assert made == alone(name)


@pytest.mark.slow
def test_a_processor_without_wide_instructions_finds_the_same_numbers() -> None:
    """Compiles every kernel again the first time: minutes."""
    for name, made in in_a_process(plain_environment()).items():
        assert_agrees(made, golden(name))


@pytest.mark.skipif(MOST_THREADS < 2, reason="one thread only on this machine")
@pytest.mark.parametrize("name", RUNS)
def test_threads_leave_the_bits_alone(name: str) -> None:
    one, *more = (digest_of(name, threads) for threads in sorted({1, 2, MOST_THREADS}))
    for other in more:
        assert other == one


def test_interleaved_runs_give_the_bits_of_each_alone() -> None:
    """A step of each in turn: nothing that one keeps from step to step is seen by another."""
    kept: dict[str, list[State]] = {name: [] for name in RUNS}
    for row in zip_longest(*(run.states() for run in RUNS.values())):
        for name, state in zip(RUNS, row, strict=True):
            if state is not None:
                kept[name].append(state)
    for name, states in kept.items():
        assert digest(states, RUNS[name].portable) == alone(name)


def test_two_copies_of_a_run_do_not_disturb_each_other() -> None:
    """The same contacts between the same bodies, but other impulses: what a shared cache would confuse."""
    run = RUNS["spheres"]
    first, second = run.states(), run.states()
    ahead = [next(first) for _ in range(3)]
    for state in second:
        ahead += [following for following in [next(first, None)] if following is not None]
        late = state
    assert digest(ahead, run.portable) == alone("spheres")
    np.testing.assert_array_equal(late.position, ahead[-1].position)


def test_runs_in_two_threads_give_the_bits_of_each_alone() -> None:
    names = ["boxes", "source-in-the-plane", "spheres"]
    with ThreadPoolExecutor(len(names)) as pool:
        made = list(pool.map(digest_of, names))
    for name, one in zip(names, made, strict=True):
        assert one == alone(name)


def test_the_digest_sees_a_bit_and_the_sketch_a_number() -> None:
    portable = 12
    states = list(islice(RUNS["source-in-the-plane"].states(), portable))
    last, before = states[-1], digest(states, portable)
    x = last.velocity[3, 0]
    last.velocity[3, 0] = np.nextafter(x, np.inf)
    nudged = digest(states, portable)
    assert nudged.bits != before.bits
    assert nudged.contacts == before.contacts
    assert max(difference(nudged, before).values()) < 1e-12
    last.velocity[3, 0] = x + 1e-6 * np.abs(last.velocity).max()
    assert difference(digest(states, portable), before)["velocity"] == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("name", RUNS)
def test_sketches_are_of_states_in_contact(name: str) -> None:
    """Otherwise they would test little."""
    stored = golden(name)
    assert int(stored.contacts.split()[0]) >= 5
    assert np.any(stored.sketch["impulse"])


def test_interleaved_runs_do_not_see_each_other() -> None:
    """Two simulations that take turns in one process give the bits each gives alone."""
    names = ("spheres", "rolling-and-sticky", "spheres")
    count = 3
    alone = {name: list(islice(RUNS[name].states(), count)) for name in set(names)}
    together = [RUNS[name].states() for name in names]
    for k in range(count):
        for name, states in zip(names, together, strict=True):
            state, expected = next(states), alone[name][k]
            for field in ("position", "orientation", "velocity"):
                np.testing.assert_array_equal(getattr(state, field), getattr(expected, field))
            np.testing.assert_array_equal(state.impulses.impulse, expected.impulses.impulse)
