"""The heap: how grains are laid, and what the study refuses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clapas.cli import main
from clapas.errors import SceneError, SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.heap import Deposit
from clapas.scenes.examples.single import two_block_stack
from clapas.studies.heap import Heap, Measures


def test_grains_are_laid_as_printed() -> None:
    model = compile_scene(examples.load("heap", grains=400), check_overlaps=False)
    grains = np.isfinite(model.birth)
    assert model.laid is not None
    assert np.array_equal(model.laid, grains)
    assert np.allclose(np.diff(model.birth[grains]), 1 / 200)
    radii = model.colliders.size[grains, 0]
    assert radii.min() > 1.25e-3
    assert radii.max() < 2.5e-3
    assert radii.mean() == pytest.approx(1.875e-3, rel=0.03)
    distance = np.hypot(*model.position[grains, :2].T)
    assert distance.max() <= 8e-3
    assert np.median(distance) == pytest.approx(8e-3 / math.sqrt(2), rel=0.1)


def test_the_printed_heap_is_as_high_as_printed() -> None:
    printed = Deposit(grains=14_000, rate=200.0, smallest=2.5e-3, largest=5e-3, spread=8e-3)
    assert printed.summit == pytest.approx(0.055, rel=0.03)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"grains": 0}, "grains"), ({"rate": 0.0}, "rate"), ({"smallest": 1.0}, "smallest first")],
)
def test_impossible_heaps_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        examples.load("heap", **wrong)


def test_parameters_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run.h5"
    few = ["run", "heap", "--grains", "5", "--mu=0.2", "--dt", "1e-3", "--duration", "0.01", "--quiet"]
    assert main([*few, "--out", str(run)]) == 0
    with Recording(run) as recording:
        assert np.isfinite(recording.model.birth).sum() == 5
        assert np.unique(recording.model.laws.mu[1:, 1:]).tolist() == [0.2]
    for words, message in (
        (["--grain", "5"], "did you mean --grains?"),
        (["--grains"], "needs a value"),
        (["--grains", "many"], "must be a whole number, from 1 to 1e+06, got 'many'"),
    ):
        assert main(["run", "heap", *words]) == 2
        assert message in capsys.readouterr().err


def test_only_heaps_are_studied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="no recording 'nowhere"):
        Heap(recording="nowhere.h5")
    with simulate(two_block_stack(), duration=0.01) as run, pytest.raises(SettingsError, match="not a heap"):
        Measures(run)
    assert main(["study", "alart", "some.h5", "--out", str(tmp_path)]) == 2
    assert "no setting 'recording'" in capsys.readouterr().err
