"""What objects show of themselves in a notebook."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import clapas
from clapas.errors import SettingsError
from clapas.io.watching import InteractivePage
from clapas.scenes import examples
from clapas.viewer import notebook
from tests.recordings import record, scene_in_plane


def picture_in(page: str) -> bytes:
    found = re.search("base64,([^']+)'", page)
    assert found
    return base64.b64decode(found[1])


def test_a_scene_shows_its_bodies_and_a_picture() -> None:
    page = notebook.scene_html(examples.load("two-block-stack"))
    assert "<td>3</td>" in page  # floor and two blocks
    assert picture_in(page).startswith(b"\x89PNG")


def test_an_empty_scene_has_no_picture() -> None:
    assert "<img" not in notebook.scene_html(clapas.Scene())


def test_a_recording_shows_its_last_frame(tmp_path: Path) -> None:
    with clapas.Recording(record(scene_in_plane(), tmp_path / "run.h5")) as recording:
        page = notebook.recording_html(recording)
        assert "run.h5" in page
        assert f"<td>{recording.n_frames}</td>" in page
        assert picture_in(page).startswith(b"\x89PNG")


def test_a_solution_shows_how_good_it_is() -> None:
    solution = clapas.solve(clapas.gallery.get("two-blocks").problem)
    page = notebook.solution_html(solution)
    assert "SOLVED" in page
    assert f"{solution.residual:.2e}" in page
    assert picture_in(page).startswith(b"\x89PNG")


def test_registered_by_the_import_where_a_notebook_runs() -> None:
    script = """
import sys, types
told = {}
class Formatter:
    def for_type_by_name(self, module, name, function): told[name] = function
shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(formatters={"text/html": Formatter()}))
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
import clapas
print(sorted(told))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['Recording', 'Scene', 'Simulation', 'Solution']"


def test_a_closed_recording_says_that_it_is_closed(tmp_path: Path) -> None:
    with clapas.Recording(record(scene_in_plane(), tmp_path / "run.h5")) as recording:
        assert not recording.is_closed
    assert recording.is_closed
    assert repr(recording) == f"Recording('{tmp_path / 'run.h5'}', closed)"
    assert "closed" in notebook.recording_html(recording)
    for ask in (
        lambda: recording.times,
        lambda: recording.frame(0),
        lambda: recording.model,
        recording.verify,
    ):
        with pytest.raises(SettingsError, match=r"this recording is closed; .* or open it again: clapas.Rec"):
            ask()


def test_energies_of_a_simulation_in_the_plane_are_per_metre(tmp_path: Path) -> None:
    cell = notebook.simulation_html(clapas.Simulation(scene_in_plane(), 1e-3))
    assert "J/m kinetic" in cell


def test_the_names_told_are_those_of_the_classes() -> None:
    told: dict[str, Any] = {}

    class Formatter:
        def for_type_by_name(self, module: str, name: str, function: Any) -> None:
            told[f"{module}.{name}"] = function

    notebook.register(Formatter())
    for kind in (clapas.Scene, clapas.Recording, clapas.Solution):
        assert f"{kind.__module__}.{kind.__name__}" in told


def test_a_run_shows_its_page_in_a_cell_and_the_browser_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    with clapas.Recording(record(scene_in_plane(), tmp_path / "run.h5")) as recording:
        kernel = types.SimpleNamespace(kernel=object())
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
        with pytest.raises(SettingsError, match="show: frames must be a whole number from 1 on, got 0"):
            recording.show(frames=0)
        page = recording.show(height=333, frames=2)
        assert isinstance(page, InteractivePage)
        cell = page._repr_html_()
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
        monkeypatch.setattr(subprocess, "Popen", lambda command, **_: asked.append(command))
        recording.show()
    assert "height:333px" in cell
    assert "data-frame-1" in cell
    assert "data-frame-2" not in cell
    assert "<script" not in cell  # a page inside a page is a text
    assert asked[0][2:5] == ["clapas", "view", str(tmp_path / "run.h5")]
