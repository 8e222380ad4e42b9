"""What contact detection costs: each pair of shapes, the list of pairs, a cold start, and memory.

    python -m benchmarks.collision                  # all tables
    python -m benchmarks.collision --quick          # smaller, without the cold start

Pairs: many copies of two shapes at random orientations, brought to one gap by bisection, so that all copies
*touch* (overlap by 2 % of their size), are *near* (apart by 2 %) or *apart* (their bounding spheres are); the
kernel that looks at listed pairs is timed alone. For spheres a scalar C loop does the same, compiled at run
time. List: spheres of one size and of sizes up to 50 times apart, in a cube. One thread, processor time, best
of several.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import machine
from benchmarks.reference import FLAGS, compiler
from clapas.collision import Detector
from clapas.collision.narrow.touching import touch_pairs
from clapas.collision.records import ROW, float_view
from clapas.compiled import limited_threads
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Polyhedron, Shape, Sphere, TriangleMesh
from clapas.geometry.table import Frame, collider_table
from clapas.studies.report import markdown_table
from clapas.typing import Array

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).with_suffix(".c")
SHAPES: dict[str, Shape] = {
    "sphere": Sphere(0.5),
    "capsule": Capsule(0.3, 0.9),
    "box": Box((1.0, 0.8, 1.2)),
    "cylinder": Cylinder(0.4, 1.0),
    "rock": Polyhedron(np.random.default_rng(1).normal(size=(14, 3)) * 0.5),
    "triangle": TriangleMesh([(-0.8, -0.5, 0.0), (0.9, -0.4, 0.0), (0.1, 0.8, 0.0)], [(0, 1, 2)]),
    "plane": Plane(),
}
FIXED = ("triangle", "plane")
GAP = 0.02
FAR = 20.0  # m, between copies: none meets another
ROUNDS = 30  # of bisection
STATES = ("touch", "near", "apart")
FIRSTS = (
    ("sphere", "plane"),
    ("sphere", "sphere"),
    ("sphere", "box"),
    ("sphere", "triangle"),
    ("capsule", "capsule"),
    ("box", "plane"),
    ("box", "box"),
    ("capsule", "box"),
    ("cylinder", "cylinder"),
)
"""Pairs whose first detection is timed: one of each group worth knowing."""


def best_seconds(run: Callable[[], object], repeats: int) -> float:
    """Least processor time of a run of this thread."""
    run()
    best = np.inf
    for _ in range(repeats):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


class Copies:
    """Many copies of two shapes, each two far from the others, moved apart to one gap.

    Parameters
    ----------
    one, two : str
        Names of the shapes.
    count : int
        Copies.
    """

    def __init__(self, one: str, two: str, count: int) -> None:
        rng = np.random.default_rng(0)
        self.n_fixed = 1 if two == "plane" else count
        names = [two] * self.n_fixed + [one] * count
        rows = [(k, SHAPES[name], 0, Frame.own(3)) for k, name in enumerate(names)]
        self.detector = Detector(collider_table(3, rows), movable=[name not in FIXED for name in names])
        side = int(np.ceil(count ** (1.0 / 3.0)))
        cells = np.array(np.unravel_index(np.arange(count), (side, side, side))).T * FAR
        if two == "plane":  # all over the same plane, side by side
            cells = np.column_stack((FAR * np.arange(count), np.zeros((count, 2))))
        self.cells, self.count = cells, count
        away = rng.normal(size=(count, 3))
        self.away = np.tile((0.0, 0.0, 1.0), (count, 1)) if two == "plane" else away
        self.away = self.away / np.linalg.norm(self.away, axis=1)[:, None]
        self.orientation = rng.normal(size=(len(names), 4))
        if two == "plane":
            self.orientation[0] = (1.0, 0.0, 0.0, 0.0)

    def places(self, far: Array) -> Array:
        """Positions of all bodies when the second of each pair is this far away."""
        return np.concatenate((self.cells[: self.n_fixed], self.cells + far[:, None] * self.away))

    def gaps(self, far: Array) -> Array:
        """Least gap of each pair."""
        found = self.detector.detect(self.places(far), self.orientation, 4.0)
        gap = np.full(self.count, 4.0)
        np.minimum.at(gap, found.b - self.n_fixed, found.gap)
        return gap

    def distances(self, state: str) -> Array:
        """How far the second of each pair is from the first in a state."""
        if state == "apart":
            bound = self.detector.colliders.bound
            first = bound[0] if np.isfinite(bound[0]) else 0.0
            return np.full(self.count, 1.02 * (first + bound[-1]))
        low, high = np.zeros(self.count), np.full(self.count, 4.0)
        wanted = GAP if state == "near" else -GAP
        for _ in range(ROUNDS):
            middle = 0.5 * (low + high)
            is_wide = self.gaps(middle) > wanted
            low, high = np.where(is_wide, low, middle), np.where(is_wide, middle, high)
        return high

    def nanoseconds(self, state: str, repeats: int) -> float:
        """Cost of a listed pair in a state, contacts asked for being those that overlap."""
        detector = self.detector
        detector.detect(self.places(self.distances(state)), self.orientation, 0.0)
        listed = detector._candidates
        pairs = listed.with_images()
        rows = np.empty(16 * self.count, dtype=ROW)
        spent = 0.0
        for group, which in listed.rows.items():
            method = detector._shared.pair_kernels[0].of(group, listed.separated)
            spent += best_seconds(
                lambda which=which, method=method: touch_pairs(
                    which, pairs, detector._shapes, 0.0, method, rows, 0
                ),
                repeats,
            )
        return 1e9 * spent / max(detector.n_candidates, 1)


def pair_table(count: int, repeats: int) -> str:
    """Nanoseconds a pair, for every pair of shapes that can meet."""
    lines = []
    for one, two in combinations_with_replacement(SHAPES, 2):
        if one not in FIXED:
            copies = Copies(one, two, count)
            lines.append([f"{one}, {two}", *(f"{copies.nanoseconds(s, repeats):.0f}" for s in STATES)])
            print(f"  {one}, {two}", file=sys.stderr)
    return markdown_table(["pair", *(f"{state} ns" for state in STATES)], lines)


def cloud(count: int, ratio: float) -> tuple[Detector, Array, Array]:
    """Spheres at random in a cube they fill to a third, radii ``ratio`` times apart from least to largest.

    The number of spheres above a size is as the inverse of its volume.
    """
    rng = np.random.default_rng(0)
    radii = rng.permutation(np.linspace(ratio**-3.0, 1.0, count)) ** (-1.0 / 3.0) / ratio
    width = (4.0 * np.pi * float(np.sum(radii**3))) ** (1.0 / 3.0)
    table = collider_table(3, [(k, Sphere(float(r)), 0) for k, r in enumerate(radii)])
    return Detector(table), rng.uniform(0.0, width, (count, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (count, 1))


def list_table(sizes: tuple[int, ...], repeats: int) -> str:
    """Cost of making the list, and of a detection that reuses it, per body; memory per body."""
    lines = []
    for ratio in (1.0, 50.0):
        for size in sizes:
            lines.append(_list_line(size, ratio, repeats))
            print(f"  {size} spheres, sizes 1 to {ratio:.0f}", file=sys.stderr)
    header = [
        "spheres",
        "size ratio",
        "pairs each",
        "contacts each",
        "list ns",
        "detection ns",
        "held B",
        "peak B",
    ]
    return markdown_table(header, lines)


def _list_line(size: int, ratio: float, repeats: int) -> list[str]:
    detector, x, q = cloud(size, ratio)
    found = detector.detect(x, q)
    made = best_seconds(lambda: detector._candidates._build(detector.skin), repeats)
    reused = best_seconds(lambda: detector.detect(x, q), repeats)
    held, peak = memory(size, ratio)
    each = [f"{count / size:.1f}" for count in (detector.n_candidates, len(found))]
    costs = [f"{number / size:.0f}" for number in (1e9 * made, 1e9 * reused, held, peak)]
    return [f"{size}", f"{ratio:.0f}", *each, *costs]


def memory(size: int, ratio: float) -> tuple[float, float]:
    """Bytes a detector keeps, contacts not counted, and the most in use while it works, contacts counted."""
    _, x, q = cloud(size, ratio)
    gc.collect()
    tracemalloc.start()
    table = cloud(size, ratio)[0].colliders
    before = tracemalloc.get_traced_memory()[0]
    detector = Detector(table)
    tracemalloc.reset_peak()
    found = detector.detect(x, q)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    columns = ("a", "b", "collider_a", "collider_b", "feature", "point", "normal", "gap", "shift")
    return after - before - sum(getattr(found, name).nbytes for name in columns), peak - before


def c_comparison(count: int, repeats: int) -> str:
    """The narrow phase of spheres against a scalar C loop on the same pairs."""
    program = compiler()
    if program is None:
        return "no C compiler found: no reference"
    detector, x, q = cloud(count, 1.0)
    found = detector.detect(x, q)
    shapes, listed = detector._shapes, detector._candidates
    pairs = listed.with_images()
    ((group, which),) = listed.rows.items()
    method, rows = (
        detector._shared.pair_kernels[0].of(group, listed.separated),
        np.empty(len(which), dtype=ROW),
    )
    ij = np.ascontiguousarray(np.column_stack((pairs.listed["i"], pairs.listed["j"])), dtype=np.int32)
    centres, radii = float_view(shapes.centres, "x", "y", "z").copy(), shapes.pieces["rounding"].copy()
    out = np.empty((len(which), 8))
    with TemporaryDirectory(prefix="clapas-benchmark-") as folder:
        path = Path(folder) / "collision.so"
        subprocess.run([program, *FLAGS, "-fPIC", "-shared", str(SOURCE), "-o", str(path), "-lm"], check=True)
        touch = ctypes.CDLL(str(path)).touch
        touch.restype = ctypes.c_int64
        given = (ctypes.c_void_p(array.ctypes.data) for array in (ij, centres, radii))
        arguments = (len(ij), *given, ctypes.c_double(0.0), ctypes.c_void_p(out.ctypes.data))
        if touch(*arguments) != len(found) or np.abs(out[: len(found), 7] - found.gap).max() > 1e-12:
            raise RuntimeError("C and clapas find different contacts of spheres")
        rival = best_seconds(lambda: touch(*arguments), repeats)
    ours = best_seconds(lambda: touch_pairs(which, pairs, shapes, 0.0, method, rows, 0), repeats)
    return (
        f"{len(ij)} pairs of spheres, {len(found)} in contact: {1e9 * ours / len(ij):.1f} ns a pair, "
        f"C {1e9 * rival / len(ij):.1f} ns ({ours / rival:.2f} times)"
    )


def cold_table() -> str:
    """Processor seconds of the first detection of two shapes with an empty cache, in a fresh process."""
    lines = []
    for one, two in FIRSTS:
        with TemporaryDirectory(prefix="clapas-benchmark-") as cache:
            command = [sys.executable, "-m", "benchmarks.collision", "--first", one, two]
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            done = subprocess.run(
                command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
            )
        lines.append([f"{one}, {two}", done.stdout.strip()])
        print(f"  {one}, {two}: {done.stdout.strip()} s", file=sys.stderr)
    return markdown_table(["pair", "first detection s"], lines)


def first_detection(one: str, two: str) -> float:
    """Processor seconds of the first detection of two shapes that overlap."""
    rows = [(k, SHAPES[name], 0, Frame.own(3)) for k, name in enumerate((two, one))]
    detector = Detector(collider_table(3, rows), movable=[two not in FIXED, True])
    start = time.process_time()
    detector.detect([(0.0, 0.0, 0.0), (0.05, 0.02, 0.1)], [(1.0, 0.0, 0.0, 0.0), (1.0, 0.2, 0.1, 0.3)])
    return time.process_time() - start


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collision", description=about)
    parser.add_argument("--quick", action="store_true", help="fewer pairs and bodies, no cold start")
    parser.add_argument(
        "--first", nargs=2, metavar="SHAPE", help="only time the first detection of two shapes"
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Measure and print the tables; return the exit code."""
    given = _arguments(argv)
    if given.first:
        print(f"{first_detection(*given.first):.2f}")
        return 0
    copies, repeats, sizes = (200, 3, (1_000, 10_000)) if given.quick else (1000, 9, (1_000, 10_000, 100_000))
    print("\n".join(machine.describe().lines()) + "\n")
    with limited_threads(1, 0):
        print(pair_table(copies, repeats) + "\n")
        print(c_comparison(sizes[1], 5 * repeats) + "\n")
        print(list_table(sizes, repeats) + "\n")
    if not given.quick:
        print(cold_table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
