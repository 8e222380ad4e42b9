"""The compile decorator: cached on disk, keyed by the sources, announced when it works."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from clapas.collision.records import ROW
from clapas.compiled import kernels as compiled
from clapas.typing import Array

SCRIPT = """
import numpy as np
from clapas.compiled import on_compile
from clapas.solvers.local.canonical import canonical_coefficients
told = []
with on_compile(lambda: told.append(1)):
    canonical_coefficients(np.eye(3)[None], np.array([0.5]))
    canonical_coefficients(np.eye(3)[None], np.array([0.5]))
print("compiled" if told else "from the cache", len(told))
"""


WAITING = """
import sys
import numpy as np
sys.stderr.isatty = lambda: True
from clapas.solvers.local.canonical import canonical_coefficients
canonical_coefficients(np.eye(3)[None], np.array([0.5]))
canonical_coefficients(np.eye(2)[None], np.array([0.5]))
"""


def test_who_waits_at_a_terminal_reads_why_once(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for expected in (1, 0):
        done = subprocess.run(
            [sys.executable, "-c", WAITING], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr.count("compiling kernels for their first use") == expected


def run(cache: Path, **more: str) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | more
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_kernels_are_compiled_once_and_announced(tmp_path: Path) -> None:
    assert run(tmp_path) == "compiled 1"
    assert run(tmp_path) == "from the cache 0"
    name = "solvers.local.canonical"
    assert [p.name for p in (tmp_path / "clapas" / name).iterdir()] == [
        compiled.fingerprint(compiled.PACKAGE / "solvers" / "local" / "canonical.py")
    ]


def test_another_copy_of_the_package_uses_the_same_kernels(tmp_path: Path) -> None:
    """A new environment, or a checkout of the same sources, compiles nothing."""
    shutil.copytree(compiled.PACKAGE, tmp_path / "elsewhere" / "clapas")
    assert run(tmp_path / "cache") == "compiled 1"
    assert run(tmp_path / "cache", PYTHONPATH=str(tmp_path / "elsewhere")) == "from the cache 0"


def test_without_a_folder_of_the_user_kernels_are_kept_in_a_temporary_one_of_theirs(tmp_path: Path) -> None:
    nowhere = tmp_path / "file" / "cache"  # nobody, not even root, can make a folder in a file
    nowhere.parent.touch()
    (temporary := tmp_path / "temporary").mkdir()
    assert run(nowhere, TMPDIR=str(temporary)) == "compiled 1"
    assert run(nowhere, TMPDIR=str(temporary)) == "from the cache 0"
    (kept,) = temporary.glob("clapas-cache-*")
    assert kept.stat().st_mode & 0o077 == 0
    # Others may write to it: nothing in it is run, and the kernels are compiled each time.
    kept.chmod(0o777)
    assert run(nowhere, TMPDIR=str(temporary)) == "compiled 1"


def test_a_user_without_a_home_has_kernels_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = compiled._cache_base.__wrapped__()
    assert found is not None
    assert found.parent == tmp_path


def test_of_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = sorted(process.communicate()[0].strip() for process in started)
    assert said == ["compiled 1", "from the cache 0", "from the cache 0"]


def test_a_kernel_that_cannot_be_compiled_holds_nobody_up() -> None:
    @compiled.kernel
    def unsound(x: float) -> float:
        return x + "1"  # type: ignore[operator, no-any-return]

    for _ in range(2):
        with pytest.raises(numba.TypingError):
            unsound(1.0)


def test_garbage_is_not_looked_for_while_a_kernel_compiles() -> None:
    @compiled.kernel
    def sound(x: float) -> float:
        return x + 1.0

    seen: list[bool] = []
    with compiled.on_compile(lambda: seen.append(gc.isenabled())):
        sound.compile((numba.float64,))  # type: ignore[attr-defined]
    assert seen in ([False], [])  # compiled now, or before this test
    assert gc.isenabled()


def test_a_kernel_is_compiled_anew_when_what_it_imports_changes(tmp_path: Path) -> None:
    root = Path(shutil.copytree(compiled.PACKAGE, tmp_path / "clapas"))
    path = root / "solvers" / "nsgs" / "bodies.py"
    first = fingerprint_in(root, path)
    assert fingerprint_in(root, path) == first
    append(root / "solvers" / "admm.py", "# a file the sweep does not import")
    assert fingerprint_in(root, path) == first
    append(root / "solvers" / "local" / "exact.py", "# a part of the sweep, two imports away")
    assert fingerprint_in(root, path) != first


def append(path: Path, line: str) -> None:
    path.write_text(path.read_text() + line + "\n")


def fingerprint_in(root: Path, path: Path) -> str:
    script = (
        "from pathlib import Path; from clapas.compiled import fingerprint;"
        f"print(fingerprint(Path({str(path)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root.parent, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_old_caches_are_forgotten(tmp_path: Path) -> None:
    for age in range(6):
        folder = tmp_path / f"old{age}"
        folder.mkdir()
        os.utime(folder, (age, age))
    compiled._forget_old_caches(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old3", "old4", "old5"]


def test_threads_are_limited_inside_the_block_only() -> None:
    before = numba.get_num_threads()
    with compiled.limited_threads(1, work=10**9):
        assert numba.get_num_threads() == 1
    with compiled.limited_threads(None, work=10):
        assert numba.get_num_threads() == 1
    with compiled.limited_threads(None, work=10**9):
        assert numba.get_num_threads() == before
    with compiled.limited_threads(10**6, work=1):
        assert numba.get_num_threads() <= numba.config.NUMBA_NUM_THREADS
    assert numba.get_num_threads() == before


def test_a_kernel_is_still_its_function() -> None:
    @compiled.kernel
    def total(x: np.ndarray) -> float:
        s = 0.0
        for value in x:
            s += value
        return s

    assert total(np.arange(4.0)) == total.py_func(np.arange(4.0)) == 6.0  # type: ignore[attr-defined]


class Pair(NamedTuple):
    """Two of a sort are another type than two of several sorts."""

    first: Any
    second: Any


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def test_arguments_are_of_one_sort_only_if_they_are_of_one_type() -> None:
    """A bound kernel misreads arguments of other types: the sorts it is kept by must tell all apart."""
    arguments = [
        np.zeros((2, 3)),
        np.zeros((2, 3), order="F"),
        np.zeros((4, 6))[:, ::2],
        np.zeros(3),
        np.zeros(7),
        read_only(np.zeros(3)),
        np.zeros(3, dtype=np.int32),
        np.zeros(3, dtype=ROW),
        np.zeros(5, dtype=ROW),
        Pair(np.zeros(2), np.zeros(3)),
        Pair(np.zeros(2), 1.0),
        Pair(Pair(1, 2.0), np.zeros(2, dtype=ROW)),
        Pair(Pair(7, 2.0), np.zeros(9, dtype=ROW)),
        2.5,
        3,
        2**63,
        True,
    ]
    for one in arguments:
        for other in arguments:
            same = numba.typeof(one) == numba.typeof(other)
            assert (compiled._sort(one) == compiled._sort(other)) is same


def test_a_kernel_is_bound_once_for_each_sort() -> None:
    double = compiled.kernel(lambda x: 2 * x)
    for_floats = compiled.bound(double, 1.0)
    assert compiled.bound(double, 3.0) is for_floats
    assert compiled.bound(double, 3) is not for_floats
    assert for_floats(4.0) == 8.0
