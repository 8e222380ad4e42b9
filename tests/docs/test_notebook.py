"""The tutorial notebook runs, cell by cell, and its numbers are what its text says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are made by whoever runs it"
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    assert names["carried"] / names["weight"] == pytest.approx(1.0, rel=0.05)
    assert np.abs(names["one"].u - names["two"].u).max() <= 1e-6
    names["run"].close()
