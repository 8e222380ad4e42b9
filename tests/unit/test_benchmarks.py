"""The benchmark of the kernels: it runs, its reference agrees, its ceilings read what they claim to read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import kernels, layouts, reading, results, startup, timing
from benchmarks.reference import Reference, built_reference, compiler
from benchmarks.rivals import in_given_order, in_slab_order

from clapas.problems.gallery import sphere_packing
from clapas.studies.report import markdown_table

PROBLEM = sphere_packing(300, seed=4).problem
N_ROWS = 3 * (1 + 2 + 1 + 2)  # local solvers × threads measured in each layout
needs_c = pytest.mark.skipif(
    compiler() is None, reason="no C compiler (cc, gcc, clang or $CC) on this machine"
)


@pytest.fixture(scope="module")
def reference() -> Reference:
    with built_reference() as built:
        assert built is not None
        yield built


def rows_of(reference: Reference | None, threads: int = 2) -> list[results.Row]:
    return [
        row
        for layout in layouts.layouts(PROBLEM, reference, threads)
        for row in kernels.measure(layout, repeats=1, visits=1)
    ]


def check(row: results.Row) -> None:
    assert row.contacts == PROBLEM.n_contacts
    assert min(row.rate, row.loop_rate, row.bandwidth) > 0
    assert row.of_memory == pytest.approx(row.rate * row.bytes_per_contact / row.bandwidth)
    # 9 (delassus) or 36 (bodies) matrix entries at least, and not ten times what is needed.
    smallest = 36 * 8 if row.form == "bodies" else 9 * 8
    assert smallest < row.bytes_per_contact < 4000
    assert row.held_bytes >= smallest
    assert 0 < row.residual < 1


@needs_c
def test_every_layout_agrees_with_c(reference: Reference) -> None:
    rows = rows_of(reference)
    assert len(rows) == N_ROWS
    for row in rows:
        check(row)
        assert row.difference is not None
        assert row.difference < 1e-12
        assert row.c_rate is not None
        assert row.of_c == pytest.approx(row.rate / row.c_rate)
    # One hundred sweeps of a method that solves each contact end at the same impulses.
    exact, newton = ([r.residual for r in rows if r.local == name] for name in ("Exact", "AlartCurnier"))
    assert exact == pytest.approx(newton, rel=1e-6)


def test_without_a_compiler_the_rest_is_measured() -> None:
    rows = rows_of(None, threads=1)
    assert len(rows) == 3 * 4
    for row in rows:
        check(row)
        assert row.c_rate is row.of_c is row.difference is None
    assert "–" in results.kernel_table(rows)


@needs_c
def test_disagreement_is_refused(reference: Reference) -> None:
    layout = next(iter(layouts.layouts(PROBLEM, reference, 1)))
    ours, rival = layout.ours(layouts.LOCALS[0], 1), layout.rival(layouts.LOCALS[2], 1)
    with pytest.raises(RuntimeError, match="C and clapas differ"):
        kernels._compare(ours, rival)


def test_slab_order_is_a_permutation_with_the_same_velocities() -> None:
    given, arranged = in_given_order(PROBLEM), in_slab_order(PROBLEM)
    place, bounds = arranged.place, arranged.bounds
    assert sorted(place) == list(range(PROBLEM.n_contacts))
    assert (bounds[0], bounds[-1]) == (0, PROBLEM.n_contacts)
    np.testing.assert_array_equal(arranged.G[place], given.G)
    before = given.y_free[given.bodies]
    np.testing.assert_array_equal(arranged.y_free[arranged.bodies][place], before)


def test_readers_read_everything_once_per_count() -> None:
    random = np.random.default_rng(0)
    n = 70  # two chunks and a bit
    G, r, y = random.normal(size=(n, 36)), random.normal(size=(n, 3)), random.normal(size=(9, 6))
    bodies = random.integers(0, 9, size=(n, 2)).astype(np.uint32)
    expected = G.sum() + r.sum() + y[bodies].sum()
    assert reading.read_bodies(3, 0, n, (G, r), bodies, y) == pytest.approx(3 * expected)
    indptr = np.concatenate(([0], np.cumsum(random.integers(1, 5, size=n))))
    indices = random.integers(0, n, size=indptr[-1]).astype(np.uint32)
    blocks = random.normal(size=(indptr[-1], 9))
    expected = blocks.sum() + r.sum() + r[indices].sum()
    assert reading.read_delassus(2, 0, n, (r,), indptr, indices, blocks, r) == pytest.approx(2 * expected)
    assert reading.read_flat(4, G.ravel()) == pytest.approx(4 * G.sum())


def test_threads_share_all_the_items() -> None:
    seen: list[tuple[int, int]] = []
    reading.loop_run(lambda count, start, stop: float(seen.append((start, stop)) or 0), 7, 3)(1)
    assert sorted(seen) == [(0, 2), (2, 4), (4, 7)]


def test_runs_take_turns_and_the_best_is_kept() -> None:
    calls: list[str] = []
    runs = {name: timing.Run(lambda count, name=name: calls.append(name), 1) for name in "ab"}
    best = timing.seconds_per_sweep(runs, count=1, repeats=2)
    assert "".join(calls) == "ab" + "abab"
    assert all(0 <= seconds < 1 for seconds in best.values())


def test_held_bytes_count_each_buffer_once() -> None:
    class Holder:
        def __init__(self) -> None:
            self.a = np.zeros(10)
            self.view = self.a[2:5]
            self.parts = (np.zeros(3, dtype=np.uint32), {"again": self.a})
            self.number = 3

    assert layouts.held_bytes(Holder()) == 10 * 8 + 3 * 4


def test_tables_are_markdown() -> None:
    table = markdown_table(["name", "x"], [["a", "1.0"], ["long name", "2"]])
    assert table.splitlines() == [
        "|      name |   x |",
        "| --------- | --- |",
        "|         a | 1.0 |",
        "| long name |   2 |",
    ]


def test_a_fresh_process_is_timed(tmp_path: Path) -> None:
    cost = startup._cost("import", str(tmp_path))
    assert min(cost.processor, cost.clock) > 0
    table = results.startup_table(startup.Startup(*[cost] * 5))
    assert table.splitlines()[2].split("|")[1].strip() == "clapas import"


def test_command_line_prints_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "VISITS", 4)
    path = tmp_path / "numbers.json"
    assert kernels.main(["--sizes", "200", "--repeats", "1", "--no-startup", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "processor:" in printed
    assert "| contacts |" in printed
    written = json.loads(path.read_text())
    assert {row["form"] for row in written["kernels"]} == {"bodies", "delassus"}
    assert written["startup"] is None
