"""How hot loops are compiled: one decorator, one cache, one threading layer.

A kernel is a plain function on arrays decorated with :func:`kernel`; it is compiled by Numba at
its first call and kept on disk. Three decisions stand here so that no kernel repeats them.

*The cache is keyed by all the sources a kernel is made of.* Numba invalidates a cached kernel when its
own file changes, not when a function it calls in another file does. Kernels here are built of parts in
several files, so the cache folder of a file carries a fingerprint of that file and of all it imports from
the package, near and far: an upgrade or an edit can never run yesterday's machine code, and an edit
elsewhere recompiles nothing.

*Choices are types.* A kernel that takes a part (a local solver, a dimension) as a run-time number
branches in its innermost loop; one that takes it as a closure cannot be cached. Parts therefore
travel as named tuples, whose type selects the code at compile time, and dimensions as the length
of a tuple.

*Kernels are sequential.* Several threads run the same kernel, in step (see ``clapas.team``): a parallel
loop of Numba's compiles ten times longer, and its launches cost more than a small sweep.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config as numba_config
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])
config: Any = numba_config

# Contraction to fused multiply-add, ignored signed zeros and division by reciprocal change the last
# bit, never the meaning of NaN or inf; full fast-math does, and is slower on these loops.
FAST_MATH = {"contract", "nsz", "arcp"}
# Functions inside kernels are never called from Python or C: no entry points, less to compile.
INSIDE: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST_MATH,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
# The same for functions that round every operation, as NumPy does: no fused multiply-add.
ROUNDED: dict[str, Any] = INSIDE | {"fastmath": False}
KEPT_CACHES = 3
PACKAGE = Path(__file__).parent
IMPORT = re.compile(r"^from (clapas[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
WORTH_THREADS = 5000
COMPILING = "compiling kernels for their first use, 10 to 60 s; they are kept ..."


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """The files of the package that one file names in its imports."""
    found = []
    for package, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        base = PACKAGE.joinpath(*package.split(".")[1:])
        inside = [base / name.split(" as ")[0].strip() for name in names.strip("() \n").split(",")]
        found += [p for stem in (base, *inside) for p in (stem.with_suffix(".py"), stem / "__init__.py")]
    return tuple(sorted({file for file in found if file.is_file()}))


@cache
def fingerprint(path: Path) -> str:
    """Digest of the sources the kernels of a file can be made of: the file and all it leads to."""
    reached, ahead = {path}, [path]
    while ahead:
        fresh = set(_imports(ahead.pop())) - reached
        reached |= fresh
        ahead += fresh
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(reached):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_directory(path: Path) -> Path:
    """Folder of the compiled kernels of a file (in ``NUMBA_CACHE_DIR``, or the user's cache folder)."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts) if PACKAGE in path.parents else path.stem
    root = Path(base) / "clapas" / name
    folder = root / fingerprint(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _forget_old_caches(root)
    except OSError:  # a read-only home: Numba then falls back on its own choice
        return Path()
    return folder


def _forget_old_caches(root: Path) -> None:
    folders = sorted((p for p in root.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for folder in folders[:-KEPT_CACHES]:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _caching_for(path: Path) -> Iterator[None]:
    previous = config.CACHE_DIR
    if cache_directory(path) != Path():
        config.CACHE_DIR = str(cache_directory(path))
    try:
        yield
    finally:
        config.CACHE_DIR = previous


def kernel(function: Function) -> Function:
    """Compile a function on numbers, arrays and named tuples at its first call; keep it on disk."""
    with _caching_for(Path(function.__code__.co_filename)):
        compiled: Any = numba.njit(cache=True, error_model="numpy", fastmath=FAST_MATH, nogil=True)(function)
    return cast(Function, compiled)


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether machine code of a kernel is there, in memory or on disk, for some arguments."""
    plain_function = getattr(function, "py_func", None)
    if plain_function is None:  # compilation is switched off
        return True
    if getattr(function, "overloads", None):
        return True
    folder = cache_directory(Path(plain_function.__code__.co_filename))
    return folder != Path() and any(folder.rglob(f"*{plain_function.__name__}*.nbi"))


def bound(function: Function, *arguments: Any) -> Function:
    """A kernel for arguments of the types of these, which it no longer looks at.

    A call finds the machine code by the types of its arguments. With tens of arrays that takes ten
    microseconds, more than a small kernel runs. A caller whose arguments always have the same types, down to
    the layout of the arrays, can have it found once. Other arguments are then misread: bind only where the
    caller itself made the arrays, or has looked at them (:func:`plain`).
    """
    compile_for = getattr(function, "compile", None)  # none where compilation is switched off
    return compile_for(tuple(map(numba.typeof, arguments))) if compile_for else function


def plain(array: Any, sort: Any) -> Any:
    """An array as kernels are bound to it: of numbers of a sort, in rows, writeable; a copy if need be."""
    return np.require(array, sort, ("C", "A", "W"))


def inlined(function: Function) -> Function:
    """Mark a small function for use inside kernels; it stays a plain function outside."""
    marked: Function = numba.extending.register_jitable(**INSIDE, forceinline=True)(function)
    return marked


def rounded(function: Function) -> Function:
    """Mark a small function for use inside kernels that rounds as NumPy does: nothing is fused in it."""
    marked: Function = numba.extending.register_jitable(**ROUNDED, forceinline=True)(function)
    return marked


@inlined
def put(source: Any, target: Any) -> None:
    """Copy a matrix into another of the same shape; ``target[:] = source`` takes seconds to compile."""
    for i in range(len(source)):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]


def subroutine(function: Function) -> Function:
    """Mark a larger function for use inside kernels, which the compiler may call or inline as it likes."""
    marked: Function = numba.extending.register_jitable(**INSIDE)(function)
    return marked


def intrinsic(emitter: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that kernels can call out of one that writes its instructions."""
    made: Any = numba.extending.intrinsic(emitter)
    return cast(Callable[..., Any], made)


@contextmanager
def threads(count: int | None, work: int) -> Iterator[None]:
    """Run parallel kernels on at most ``count`` threads inside the block.

    None means one thread for little work (a number of contacts), else as Numba is configured.
    """
    if count is None:
        count = 1 if work < WORTH_THREADS else numba.get_num_threads()
    previous = numba.get_num_threads()
    numba.set_num_threads(max(1, min(count, config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(previous)


class _Teller(event.Listener):
    """Says once, to a person who waits at a terminal or a notebook, why nothing seems to happen."""

    is_done = False

    def on_start(self, event: Any) -> None:
        if not self.is_done and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            self.is_done = True
            print(f"clapas: {COMPILING}", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


_TELLER = _Teller()
cast(Any, event).register("numba:compile", _TELLER)


@contextmanager
def on_compile(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once, when a kernel really compiles inside the block (cache misses only)."""
    told = False
    _TELLER.is_done = True  # the caller tells by its own means

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            nonlocal told
            if not told:
                told = True
                announce()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


class Compilations:
    """How many kernels were compiled in a block, those that were in the cache not counted."""

    count: int = 0


@contextmanager
def count_compilations() -> Iterator[Compilations]:
    """Count the kernels that really compile inside the block."""
    counter = Compilations()

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            counter.count += 1

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield counter
