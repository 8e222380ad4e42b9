"""The entry point: help, version, what is loaded, errors without tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clapas import __version__
from clapas.io import shipped

from .conftest import Run

HEAVY = ("numpy", "scipy", "numba", "h5py", "rich")


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        encoding="utf-8",
    )


def test_module_prints_its_version() -> None:
    done = python("-m", "clapas", "--version")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, f"clapas {__version__}", "")


def test_help_names_the_verbs_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from clapas.cli import main; status = main(['--help']); "
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = python("-c", code)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr
    for verb in ("solve", "info", "gallery", "solvers"):
        assert f"\n  {verb} " in done.stdout


def test_terminal_without_greek_letters() -> None:
    done = python("-m", "clapas", "info", "example:two-blocks", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "1?1" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_exit_code_does_not_depend_on_who_reads(unbuffered: str) -> None:
    """Of a pipe whose reader has left: what cannot be printed is dropped, the answer stays the answer."""
    for problem, code in (("gallery:two-blocks", 0), ("gallery:painleve-down-none", 1)):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", "clapas", "solve", problem],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
        os.close(writer)
        assert done.returncode == code
        assert b"Broken" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_told(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clapas", "info", "gallery:two-blocks"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (2, "clapas: standard output: No space left on device\n")


def test_version_in_process(run: Run) -> None:
    assert run("--version").out == f"clapas {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("walk",),
        ("solve",),
        ("solve", "example:two-blocks", "--walk"),
        ("solve", "example:two-blocks", "--tol", "small"),
        ("solve", "example:two-blocks", "--max-iterations", "1.5"),
        ("solve", "example:two-blocks", "--threads", "0"),
        ("solve", "example:two-blocks", "--kind", "round"),
        ("solve", "example:two-blocks", "--guess", "wild"),
        ("info",),
    ],
)
def test_wrong_options_exit_with_2(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Error" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("verb", ["solve", "info"])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.hdf5", "there is no file 'nowhere.hdf5'\n"),
        ("two-blocks.hdf5", "did you mean example:two-blocks or gallery:two-blocks?"),
        ("painleve-up-tow", "did you mean gallery:painleve-up-two?"),
        ("gallery:xyzzy", "no gallery problem is called 'xyzzy': 'clapas gallery' lists them"),
        ("gallery:painleve-up-tow", "painleve-up-two"),
        ("example:xyzzy", "expected one of disc-column-global, disc-column, hair-108-15"),
        (os.devnull, "a device or a pipe, expected a file"),
    ],
)
def test_missing_problems(run: Run, verb: str, source: str, message: str) -> None:
    outcome = run(verb, source)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("clapas: ")
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("verb", ["solve", "info"])
def test_a_folder_is_not_a_problem(run: Run, verb: str, tmp_path: Path) -> None:
    outcome = run(verb, tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"clapas: '{tmp_path}' is a folder: give the file of a problem\n"


@pytest.mark.parametrize("verb", ["solve", "info"])
@pytest.mark.parametrize("name", ["two-blocks.hdf5", "disc-column.dat", "disc-column-global.dat"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_truncated_files(run: Run, verb: str, name: str, share: float, tmp_path: Path) -> None:
    whole = shipped(name).read_bytes()
    torn = tmp_path / name
    torn.write_bytes(whole[: int(share * len(whole))])
    outcome = run(verb, torn)
    assert (outcome.code, outcome.out) == (2, "")
    assert str(torn) in outcome.err
    assert "Traceback" not in outcome.err


def test_memory_that_runs_out_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("clapas.io.read", read)
    assert run("info", "example:two-blocks").err == "clapas: not enough memory for this problem\n"
