"""Build the C reference at run time and call it on the same arrays as the kernels of clapas."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clapas.solvers import AlartCurnier, DeSaxce, Exact
from clapas.solvers.local import LocalSolver
from clapas.typing import Array, Indices

SOURCE = Path(__file__).with_name("reference.c")
# The liberties clapas.compiled.FAST_MATH takes, and no other: contraction to fused multiply-add, signed
# zeros ignored, division by reciprocal. The two -fno- flags before them only let sqrt be one instruction
# and branches be selections, as in LLVM's default.
FLAGS = (
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fno-signed-zeros",
    "-freciprocal-math",
)
NAMES: dict[type, str] = {Exact: "exact", AlartCurnier: "alart_curnier", DeSaxce: "de_saxce"}


def compiler() -> str | None:
    """The C compiler: ``CC`` or the first of cc, gcc, clang found; None if there is none."""
    wanted = os.environ.get("CC")
    for name in [wanted] if wanted else ["cc", "gcc", "clang"]:
        if shutil.which(name):
            return name
    return None


class _BodyForm(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("G", "bodies", "w", "coefficients", "r", "y")]


class _DelassusForm(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("indptr", "indices", "blocks", "q", "coefficients", "r")]


class Reference:
    """The compiled library.

    Parameters
    ----------
    library : ctypes library
        As built by :func:`built_reference`.
    command : str
        Compiler and flags that made it.
    threads : int
        Most threads it can use: 1 when the compiler has no OpenMP.
    """

    def __init__(self, library: ctypes.CDLL, command: str, threads: int) -> None:
        self._library, self.command, self.threads = library, command, threads

    def sweep_bodies(
        self, count: int, threads: int, bounds: Indices, local: LocalSolver, **arrays: Array | Indices
    ) -> None:
        """Sweeps on body velocities; ``arrays`` are those of the C structure, r and y change.

        y comes in as the velocities without impulses.
        """
        data = self._structure(_BodyForm, arrays)
        self._library.add_impulses(ctypes.c_int64(len(arrays["r"])), ctypes.byref(data))
        self._sweep("bodies", data, count, threads, bounds, local)

    def sweep_delassus(
        self, count: int, threads: int, bounds: Indices, local: LocalSolver, **arrays: Array | Indices
    ) -> None:
        """Sweeps on the blocks of W; ``arrays`` are those of the C structure, r changes."""
        data = self._structure(_DelassusForm, arrays)
        self._sweep("delassus", data, count, threads, bounds, local)

    def _structure(self, kind: Any, arrays: dict[str, Array | Indices]) -> Any:
        _check(arrays)
        return kind(**{name: array.ctypes.data for name, array in arrays.items()})

    def _sweep(
        self, form: str, data: Any, count: int, threads: int, bounds: Indices, local: LocalSolver
    ) -> None:
        sweep = getattr(self._library, f"{form}_{NAMES[type(local)]}")
        sweep(
            ctypes.c_int64(count),
            ctypes.c_int(threads),
            ctypes.c_int64(len(bounds) - 1),
            bounds.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(data),
        )


def _check(arrays: dict[str, Array | Indices]) -> None:
    """C trusts its pointers: refuse here what it would misread."""
    types = {"bodies": "uint32", "indices": "uint32", "indptr": "int64"}
    for name, array in arrays.items():
        assert array.flags.c_contiguous, name
        assert array.dtype == types.get(name, "float64"), (name, array.dtype)


@contextmanager
def built_reference() -> Iterator[Reference | None]:
    """Compile the reference into a temporary folder; None when there is no C compiler."""
    program = compiler()
    if program is None:
        yield None
        return
    with TemporaryDirectory(prefix="clapas-benchmark-") as folder:
        library = Path(folder) / "reference.so"
        for openmp in (["-fopenmp"], []):
            flags = [*FLAGS, *openmp]
            command = [program, *flags, *_settings(), "-std=c11", "-fPIC", "-shared", str(SOURCE)]
            done = subprocess.run([*command, "-o", str(library), "-lm"], capture_output=True, text=True)
            if done.returncode == 0:
                threads = (os.cpu_count() or 1) if openmp else 1
                yield Reference(ctypes.CDLL(str(library)), " ".join([_version(program), *flags]), threads)
                return
        raise RuntimeError(f"{program} could not build {SOURCE.name}:\n{done.stderr}")


def _settings() -> list[str]:
    """The settings of the local solvers, as constants of the C code."""
    exact, newton, projection = Exact().part(), AlartCurnier().part(), DeSaxce().part()
    constants = {
        "EXACT_STEPS": exact.max_steps,
        "NEWTON_STEPS": newton.max_iterations,
        "NEWTON_TOL": newton.tol,
        "PROJECTIONS": projection.projections,
        "PROJECTION_TOL": projection.tol,
    }
    return [f"-D{name}={value!r}" for name, value in constants.items()]


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    return done.stdout.splitlines()[0] if done.stdout else program
