"""Files of blocks on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from clapas.geometry.meshfiles import write_mesh
from clapas.scenes.examples import arch_file
from tests.unit.scenes.test_blocks import ANGLE

from .conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(arch_file(), tmp_path / "arch.obj")


def test_info(run: Run) -> None:
    outcome = run("info", "arch.obj")
    assert outcome.code == 0, outcome.err
    assert "4.8 × 0.6 × 2.578 m, with 1 m per unit and z upwards" in outcome.out
    assert "voussoir_06" in outcome.out
    document = run("info", "arch.obj", "--json").document
    assert document["blocks"][1]["name"] == "voussoir_01"
    assert document["blocks"][1]["volume"] == pytest.approx(0.13523, rel=1e-4)
    assert run("info", "example:arch", "--json").document["blocks"] == document["blocks"]
    assert "clapas run example:arch simulates them" in run("info", "example:arch").out
    Path("in a folder").mkdir()
    shutil.move("arch.obj", "in a folder")
    assert "clapas masonry 'in a folder/arch.obj' says" in run("info", "in a folder/arch.obj").out


def test_info_takes_the_scale_and_the_vertical_that_its_notes_speak_of(run: Run) -> None:
    outcome = run("info", "arch.obj", "--scale", 0.001, "--up", "y")
    assert outcome.code == 0, outcome.err
    assert "4.8 × 0.6 × 2.578 m" not in outcome.out
    assert "0.0048 × 0.002578 × 0.0006 m, with 0.001 m per unit and y upwards" in outcome.out
    assert "clapas masonry arch.obj --scale 0.001 --up y says whether they stand" in outcome.out
    refused = run("info", "example:two-blocks", "--scale", 2)
    assert refused.code == 2
    assert "--scale and --up are for files of blocks; example:two-blocks is none" in refused.err


def test_files_of_no_known_ending_are_told_which_there_are(run: Run) -> None:
    shutil.copy("arch.obj", "arch.step")
    outcome = run("masonry", "arch.step")
    assert outcome.code == 2
    assert "must end in .toml, .yaml, .yml, got '.step' (blocks end in .obj, .stl" in outcome.err


def test_run(run: Run) -> None:
    outcome = run("run", "arch.obj", "--mu", 0.6, "--density=1800", "--duration", 0.02, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["bodies"] == 13
    assert outcome.document["recording"] == "arch.h5"
    assert outcome.document["contacts"] >= 40
    assert outcome.document["kinetic"] < 1e-3


def test_refusals(run: Run) -> None:
    cases = {
        ("--friction", "1"): "--density, --scale, --overlap, --up, --fixed, --nonconvex, not '--friction'",
        ("--mu", "rough"): "--mu must be a number, got 'rough'",
        ("--fixed",): "--fixed needs a value",
        ("--fixed", "suport*"): "no block is called 'suport*'",
    }
    for options, message in cases.items():
        outcome = run("run", "arch.obj", *options)
        assert outcome.code == 2
        assert message in outcome.err
    gone = run("run", "gone.obj")
    assert (gone.code, gone.err.strip()) == (2, "clapas: there is no file 'gone.obj'")


def test_blocks_drawn_into_each_other(run: Run, tmp_path: Path) -> None:
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    sides = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    sides += [(2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    both = np.vstack((corners, corners + np.array([0.0, 0.0, 0.99])))
    write_mesh(tmp_path / "two.obj", both, sides + [tuple(8 + k for k in side) for side in sides])
    refused = run("run", "two.obj", "--duration", 0.02)
    assert (refused.code, "--overlap for files of blocks" in refused.err) == (2, True)
    assert run("run", "two.obj", "--duration", 0.02, "--overlap", 0.011).code == 0


def test_warnings_are_notes(run: Run, tmp_path: Path) -> None:
    corners = [(x, y, z) for x in (0, 900) for y in (0, 900) for z in (0, 900)]
    sides = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    write_mesh(tmp_path / "mm.obj", corners, sides)
    outcome = run("info", "mm.obj")
    assert "if its numbers are millimetres, give scale=0.001" in outcome.out
    assert "not closed" in outcome.out


def test_the_volume_of_a_block_is_its_own_not_that_of_its_hull(run: Run, tmp_path: Path) -> None:
    (tmp_path / "angle.obj").write_text(ANGLE)  # 3 m³, its hull 3.5
    told = [line.split() for line in run("info", "angle.obj").out.splitlines()]
    assert ["volume", "3", "m³"] in told
    assert next(words for words in told if words[:1] == ["angle"])[1] == "3"
    assert run("info", "angle.obj", "--json").document["blocks"][0]["volume"] == pytest.approx(3.0)
