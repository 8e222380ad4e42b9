"""The comparison of two checkouts: samples, ratios, worktrees; and the trace of a step."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks import compare, trace_step
from benchmarks.samples import SAMPLES

from clapas.errors import SettingsError
from tests.conftest import REPOSITORY


def test_ratio_and_spread() -> None:
    found = compare.Comparison("x", "kernels", [1.0, 2.0, 4.0, 1.0], [2.0, 2.0, 2.0, 1.5])
    assert found.ratios == [2.0, 1.0, 0.5, 1.5]
    assert found.ratio == 1.25
    assert found.spread == (0.875, 1.625)
    assert found.ratio_of_best == 1.5
    once = compare.Comparison("x", "kernels", [1.0], [3.0])
    assert once.spread == (3.0, 3.0)


def test_table_says_what_differs_and_what_failed() -> None:
    text = compare.table(
        [
            compare.Comparison("a", "kernels", [1e-3], [2e-3], 0.0),
            compare.Comparison("b", "scenes", [1e-3], [1e-3], 0.5),
            compare.Comparison("c", "solvers", [], [], error="new: ImportError: gone"),
        ]
    )
    assert "2.000" in text
    assert "no (5e-01)" in text
    assert "c was not compared. new: ImportError: gone" in text


def test_a_checkout_against_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two processes with the same sources compute the same; the file holds all times."""
    kept = tmp_path / "compared.json"
    here = str(REPOSITORY)
    arguments = [here, here, "--only", "residual", "--size", "0.01", "--rounds", "1", "--repeats", "2"]
    assert compare.main([*arguments, "--cache", str(tmp_path / "kernels"), "--json", str(kept)]) == 0
    assert "| kernels | residual |" in " ".join(capsys.readouterr().out.split())
    (sample,) = json.loads(kept.read_text())["samples"]
    assert sample["difference"] == 0.0
    assert len(sample["old"]) == len(sample["new"]) == 2
    assert min(sample["old"] + sample["new"]) > 0
    assert {p.name for p in (tmp_path / "kernels").iterdir()} == {"old", "new"}


def test_sources_that_cannot_run_a_sample_are_named(tmp_path: Path) -> None:
    """A checkout without what the sample needs ends in a message, not in a crash."""
    package = tmp_path / "checkout" / "src" / "clapas"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (found,) = compare.compare(
        tmp_path / "checkout", REPOSITORY, ["residual"], cache=tmp_path, size=0.01, rounds=1, repeats=1
    )
    assert found.error.startswith("old: ImportError")


def test_revisions_become_worktrees_that_go_away() -> None:
    if subprocess.run(
        ["git", "-C", str(REPOSITORY), "rev-parse"], capture_output=True, check=False
    ).returncode:
        pytest.skip("not a git repository")
    with compare.checkout("HEAD") as folder:
        assert (folder / "src" / "clapas" / "__init__.py").is_file()
        assert folder != REPOSITORY
    assert not folder.exists()
    listed = subprocess.run(
        ["git", "-C", str(REPOSITORY), "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert str(folder) not in listed.stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [("no-such-revision", "neither a folder nor a git revision"), ("tests", "holds no src/clapas")],
)
def test_what_is_no_checkout_is_refused(given: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    with pytest.raises(SettingsError, match=message), compare.checkout(given):
        pass


def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["no-such-revision", ".", "--quick"]) == 2
    assert capsys.readouterr().err.startswith("error: 'no-such-revision' is neither")


def test_samples_are_chosen_by_word_or_group() -> None:
    assert compare.chosen([]) == list(SAMPLES)
    assert all("sweeps" in name for name in compare.chosen(["sweeps"]))
    assert compare.chosen(["scenes"]) == [n for n, sample in SAMPLES.items() if sample.group == "scenes"]
    with pytest.raises(SettingsError, match="no sample matches nothing-like-this"):
        compare.chosen(["nothing-like-this"])


def test_the_trace_lists_files_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace_step.main(["spheres", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["contacts"] == 10
    assert found["files"] == len(found["calls"])
    assert found["calls"]["dynamics/stepping.py"]["step"] == 1
    assert trace_step.main(["spheres"]) == 0
    assert "dynamics/stepping.py" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        trace_step.main(["no-such-scene"])
    assert "no scene no-such-scene" in capsys.readouterr().err
