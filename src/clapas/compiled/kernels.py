"""Compilation of hot loops: one decorator, one cache, one threading layer.

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

*Each kernel is compiled by one process.* Ranks of a parallel run, workers of a sweep or of the tests start
together and need the same kernels: one compiles, the others wait and load what it left.

*Kernels can do without the machine.* Vector registers, threads and cache lines are reached through what is
inside Numba, which may change with its versions. Where :data:`IS_SCALAR` is true (``CLAPAS_SCALAR=1``, or a
Numba newer than those tested) kernels work on one number at a time, on one thread: slower,
and the same up to rounding and the order of visits.

*Kernels are sequential.* Several threads run the same kernel, in step (:mod:`clapas.compiled.threads`): a
parallel loop of Numba's compiles ten times longer, and its launches cost more than a small sweep.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import caching as numba_caching
from numba.core import config as numba_config
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from clapas.compiled.pipeline import Pipeline
from clapas.errors import SettingsError

try:
    import fcntl
except ImportError:  # a system without such locks: processes that start together each compile
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])
config: Any = numba_config
typeof: Any = numba.typeof
caching: Any = numba_caching
FromSettings: Any = getattr(caching, "UserProvidedCacheLocator", None) or caching._UserProvidedCacheLocator
UNTRIED = (0, 70)  # the first Numba whose insides are not known to fit


def is_scalar(wish: str | None, version: str) -> bool:
    """Whether to do without vectors and threads: as wished (0 or 1), else where Numba is untried."""
    if wish in ("0", "1"):
        return wish == "1"
    if wish:
        raise SettingsError(f"CLAPAS_SCALAR is 1 (one number at a time, one thread) or 0, got {wish!r}")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= UNTRIED


IS_SCALAR = is_scalar(os.environ.get("CLAPAS_SCALAR"), numba.__version__)

# Contraction to fused multiply-add, ignored signed zeros and division by reciprocal change the last
# bit, never the meaning of NaN or inf; full fast-math does, and is slower on these loops.
FAST_MATH = {"contract", "nsz", "arcp"}
# The passes of Numba that kernels need; all of them where its insides are not known.
PASSES: dict[str, Any] = {} if IS_SCALAR else {"pipeline_class": Pipeline}
# Kernels are called from Python, never from C.
OUTSIDE: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST_MATH,
    "nogil": True,
    "no_cfunc_wrapper": True,
    **PASSES,
}
# Functions inside kernels are never called from Python or C: no entry points, less to compile.
INSIDE: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FAST_MATH,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    **PASSES,
}
# The same for functions that round every operation, as NumPy does: no fused multiply-add.
ROUNDED: dict[str, Any] = INSIDE | {"fastmath": False}
KEPT_CACHES = 3
PACKAGE = Path(__file__).parents[1]
# Imports at the head of a file; those of the machine stand there under a condition.
IMPORT = re.compile(
    r"^(?:|    (?=from clapas\.compiled\.))from (clapas[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE
)
WORTH_THREADS = 5000
COMPILING = "compiling kernels for their first use, 10 to 60 s; they are kept ..."


@cache
def _source(path: str) -> tuple[bytes, tuple[str, ...]]:
    """Digest of one file, and the files of the package that it names in its imports."""
    with open(path, "rb") as file:
        content = file.read()
    stems = set()
    for package, names in IMPORT.findall(content.decode("utf-8")):
        base = os.path.join(PACKAGE, *package.split(".")[1:])
        words = (name.split(" as ")[0].strip() for name in names.strip("() \n").split(","))
        stems |= {base, *(os.path.join(base, word) for word in words)}
    named = {file for stem in stems for file in (stem + ".py", os.path.join(stem, "__init__.py"))}
    return hashlib.sha256(content).digest(), tuple(sorted(named & _package_files()))


@cache
def _package_files() -> frozenset[str]:
    return frozenset(os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)


@cache
def fingerprint(path: Path) -> str:
    """Digest of the sources the kernels of a file can be made of: the file and all it leads to."""
    reached, ahead = {str(path)}, [str(path)]
    while ahead:
        fresh = set(_source(ahead.pop())[1]) - reached
        reached |= fresh
        ahead += fresh
    digest = hashlib.sha256(numba.__version__.encode() + b" scalar" * IS_SCALAR)
    for file in sorted(reached):
        digest.update(os.path.basename(file).encode() + _source(file)[0])
    return digest.hexdigest()[:16]


@cache
def cache_directory(path: Path) -> Path:
    """Folder of the compiled kernels of a file; ``Path()`` where none may be written to."""
    base = _cache_base()
    if base is None:
        return Path()
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts) if PACKAGE in path.parents else path.stem
    root = base / name
    folder = root / fingerprint(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _forget_old_caches(root)
    except OSError:
        return Path()
    return folder


@cache
def _cache_base() -> Path | None:
    """Where kernels are kept: in ``NUMBA_CACHE_DIR``, the user's cache folder, or a temporary one.

    The last is for users without a home or with one that they may not write to, as in containers. Numba's own
    choice would be beside the sources, by file and not by fingerprint, and an error where that is read-only.
    """
    for find in (_usual_cache, _temporary_cache):
        with suppress(OSError, RuntimeError):  # Python has no other error for a user without a home
            folder = find()
            if os.access(folder, os.W_OK | os.X_OK):
                return folder
    return None


def _usual_cache() -> Path:
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "clapas"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _temporary_cache() -> Path:
    """A temporary folder of this user alone: machine code that others could put there would be run."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"clapas-cache-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (
        user != "user" and (found.st_uid != user or found.st_mode & 0o077)
    ):
        raise PermissionError(f"{folder} is not a folder of this user alone")
    return folder


def _forget_old_caches(root: Path) -> None:
    folders = sorted((p for p in root.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for folder in folders[:-KEPT_CACHES]:
        shutil.rmtree(folder, ignore_errors=True)


class _ByFingerprint(FromSettings):  # type: ignore[misc]
    """Looks for kernels in the folder of their fingerprint, wherever the package is installed.

    Numba would add a folder named after the place of the source file, and compile everything anew for each
    environment and each checkout of the same sources.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return ""


@contextmanager
def _caching_for(folder: Path) -> Iterator[None]:
    if folder == Path():
        yield
        return
    kernels = caching.CompileResultCacheImpl
    previous = config.CACHE_DIR, kernels._locator_classes
    config.CACHE_DIR, kernels._locator_classes = str(folder), [_ByFingerprint]
    try:
        yield
    finally:
        config.CACHE_DIR, kernels._locator_classes = previous


def kernel(function: Function) -> Function:
    """Compile a function on numbers, arrays and named tuples at its first call; keep it on disk."""
    folder = cache_directory(Path(function.__code__.co_filename))
    with _caching_for(folder):
        compiled: Any = numba.njit(**OUTSIDE | {"cache": folder != Path()})(function)
    if hasattr(compiled, "compile"):  # unless compilation is switched off
        compiled.compile = _by_one_process(compiled.compile, _lock_of(function))
    return cast(Function, compiled)


def _lock_of(function: Callable[..., Any]) -> Path | None:
    """The file that a process holds while it compiles a function; None where processes share nothing."""
    folder = cache_directory(Path(function.__code__.co_filename))
    if fcntl is None or folder == Path():
        return None
    return folder / f"{function.__name__}-{function.__code__.co_firstlineno}.lock"


def is_at_work(function: Callable[..., Any]) -> bool:
    """Whether another process compiles a kernel at this moment."""
    lock = _lock_of(cast(Any, function).py_func)
    if lock is None:
        return False
    try:
        with lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def uncounted_kernel(function: Function) -> Function:
    """Like :func:`kernel`, for functions that neither make nor return arrays: no references are counted.

    Numba counts who holds each array, also when an array only travels inside a tuple from one function to the
    next, and in code with many branches it does not see that these counts cancel. In contact detection they
    took 9/10 of the time. A kernel that makes no arrays needs no counts: the caller holds all of them.
    """
    compiled: Any = kernel(function)
    compiled.targetoptions["_nrt"] = False
    return cast(Function, compiled)


def _by_one_process(compile_for: Callable[..., Any], lock: Path | None) -> Callable[..., Any]:
    """A dispatcher's ``compile``, which looks at the cache first, for one process at a time.

    Without a lock every process compiles for itself. Locks are taken from a kernel to those it calls, and
    within a process under Numba's own lock, so that none waits for another in a circle. The system frees the
    lock of a process that dies.
    """
    depth = 0

    def compile_alone(signature: Any) -> Any:
        nonlocal depth
        with global_compiler_lock:
            if depth:  # a kernel that calls itself with other types
                return compile_for(signature)
            depth += 1
            try:
                with _held(lock), _without_collector():
                    return compile_for(signature)
            finally:
                depth -= 1

    return compile_alone


@contextmanager
def _without_collector() -> Iterator[None]:
    """Spare the compiler Python's search for cycles of garbage, an eighth of its time.

    The compiler makes millions of small objects that live as long as it does, and the collector would look
    through them over and over. What is left behind is found by the next search after the block.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _held(lock: Path | None) -> Iterator[None]:
    if lock is None:
        yield
        return
    try:
        file = lock.open("a")
    except OSError:  # a folder that is full or can only be read
        yield
        return
    with file:
        with suppress(OSError):  # a network folder without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
    if compile_for is None:
        return function
    key = function, tuple(map(_sort, arguments))
    found = _entries.get(key)
    if found is None:
        found = _entries[key] = compile_for(tuple(map(typeof, arguments)))
    return found  # type: ignore[no-any-return]


_entries: dict[Any, Any] = {}


def _sort(argument: Any) -> Any:
    """What tells types apart as ``numba.typeof`` does, which takes a millisecond for records."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        layout = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
        return argument.dtype, argument.ndim, layout
    if isinstance(argument, tuple) and hasattr(argument, "_fields"):
        return type(argument), *map(_sort, argument)
    return float if type(argument) is float else typeof(argument)


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


def chosen_by_type(function: Callable[..., Any], is_inlined: bool = False) -> Callable[[Function], Function]:
    """Mark a function that says, by the types of its arguments, what ``function`` is inside kernels."""
    options: Any = INSIDE | {"forceinline": True} if is_inlined else INSIDE
    choice: Any = numba.extending.overload(function, strict=False, jit_options=options)
    return cast(Callable[[Function], Function], choice)


def intrinsic(emitter: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that kernels can call out of one that writes its instructions."""
    made: Any = numba.extending.intrinsic(emitter)
    return cast(Callable[..., Any], made)


@contextmanager
def limited_threads(count: int | None, work: int) -> Iterator[None]:
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


class _AtCompile(event.Listener):
    """Calls a function whenever a kernel begins to compile; kernels found in the cache do not count."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call

    def on_start(self, event: Any) -> None:
        self.call()

    def on_end(self, event: Any) -> None:
        pass


class _Notice:
    """Says once, to a person who waits at a terminal or a notebook, why nothing seems to happen."""

    is_given = False

    def __call__(self) -> None:
        if not self.is_given and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            self.is_given = True
            print(f"clapas: {COMPILING}", file=sys.stderr, flush=True)


_NOTICE = _Notice()
cast(Any, event).register("numba:compile", _AtCompile(_NOTICE))


@contextmanager
def on_compile(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once, when a kernel really compiles inside the block (cache misses only)."""
    _NOTICE.is_given = True  # the caller announces by its own means
    calls = iter([announce])
    with event.install_listener("numba:compile", _AtCompile(lambda: next(calls, lambda: None)())):
        yield


class Compilations:
    """How many kernels were compiled in a block, those that were in the cache not counted."""

    count: int = 0

    def add_one(self) -> None:
        """Count one more."""
        self.count += 1


@contextmanager
def count_compilations() -> Iterator[Compilations]:
    """Count the kernels that really compile inside the block."""
    counter = Compilations()
    with event.install_listener("numba:compile", _AtCompile(counter.add_one)):
        yield counter
