"""The heap: how grains are laid, and what the study refuses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clapas.analysis.ground import RingPressure
from clapas.cli import main
from clapas.errors import SceneError, SettingsError
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.scenes.compilation import compile_scene
from clapas.scenes.examples.heap import Deposit
from clapas.scenes.examples.single import two_block_stack
from clapas.studies.heap import Heap, Measures
from clapas.studies.heap.cost import Cost
from clapas.studies.heap.dip import around, dip, from_heap_to_heap
from clapas.studies.heap.layers import Alignments, spread
from clapas.studies.heap.relaxation import relaxed, was_stopped
from clapas.typing import Array


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


def test_a_heap_that_was_stopped_is_relaxed_without_further_grains(tmp_path: Path) -> None:
    scene = examples.load("heap", grains=40, rate=400.0, relaxation=0.1)
    with simulate(scene, duration=0.06, dt=1e-3, every=10, out=tmp_path / "stopped.h5") as stopped:
        assert was_stopped(stopped)
        laid = int(np.isfinite(stopped.model.birth[: stopped.frame(-1).state.n_bodies]).sum())
        with relaxed(stopped, 0.2, tmp_path / "relaxed.h5") as rest:
            assert not was_stopped(rest)
            first, last = rest.frame(0), rest.frame(-1)
            assert np.array_equal(first.state.position, stopped.frame(-1).state.position)
            assert last.state.time == pytest.approx(0.26)
            assert last.kinetic < first.kinetic
            measured = Measures(stopped, relaxed=rest)
            assert measured.grains == laid < 40
            assert measured.laying.time == pytest.approx(0.06)
            assert measured.end.time == pytest.approx(0.26)
            assert measured.cost.grains[-1] == 20  # at t = 0.05 s, the last frame before the last grain
            assert measured.deposit_end <= 0.06


def test_a_finished_heap_has_its_own_relaxation(tmp_path: Path) -> None:
    scene = examples.load("heap", grains=4, rate=400.0, relaxation=0.02)
    with simulate(scene, dt=1e-3, every=5, out=tmp_path / "heap.h5") as whole:
        assert not was_stopped(whole)
        measured = Measures(whole)
        assert measured.laying.time < measured.end.time
        measured.__dict__["fraction"] = 0.6  # four grains have no inside
        height = measured.height_of_cone(math.radians(26.0))
        cone = math.pi * (height / math.tan(math.radians(26.0))) ** 2 * height / 3.0
        assert 0.6 * cone == pytest.approx(measured.end.volume[measured.end.movable].sum())


def test_the_dip_is_the_missing_pressure_of_the_inner_ring() -> None:
    edges = np.linspace(0.0, 8.0, 9)
    pressure, error = np.full(8, 100.0), np.full(8, 3.0)
    pressure[0], error[0] = 60.0, 4.0
    ground = _rings(edges, pressure, error)
    weight = np.diff(edges[1:5] ** 2) / np.sum(np.diff(edges[1:5] ** 2))
    beside = 3.0 * np.linalg.norm(weight)  # rings whose middles are within half the foot
    assert around(ground) == pytest.approx((100.0, beside))
    found = dip(ground)
    assert found == pytest.approx((40.0, math.hypot(4.0, beside)))
    assert str(found).startswith("40 ± 4 Pa, ")
    assert from_heap_to_heap([ground]) == "one heap"
    deeper = _rings(edges, np.where(edges[:-1] > 0.0, 100.0, 40.0), error)
    assert from_heap_to_heap([ground, deeper]) == "50 ± 10 Pa (40, 60)"


def _rings(edges: Array, pressure: Array, error: Array) -> RingPressure:
    return RingPressure(edges, pressure, error, np.ones(len(pressure), dtype=np.int64))


def test_the_cost_of_a_step_grows_by_powers() -> None:
    grains = np.array([10.0, 100.0, 1000.0, 10_000.0])
    found = Cost(grains, 2.0 * grains, 5.0 * grains ** (1 / 3))
    assert found.power(found.contacts) == pytest.approx(1.0)
    assert found.power(found.visits) == pytest.approx(4 / 3)
    few = Cost(grains[:2], grains[:2], grains[:2])
    assert math.isnan(few.power(few.visits))


def test_cuts_of_an_instant_are_one_sample() -> None:
    found = spread([np.radians([10.0, 20.0]), np.radians([5.0]), np.empty(0)])
    assert found is not None
    assert found.mean == pytest.approx(35 / 3)
    assert found.error == pytest.approx(5.0)  # of the means 15 and 5: their deviation over √2
    assert (found.cuts, found.instants) == (3, 2)
    assert str(found) == "+12° on average, ± 6° over 3 cuts at 2 instants"
    assert spread([np.empty(0)]) is None
    alone = spread([np.radians([1.0])])
    assert alone is not None
    assert alone.error == math.inf


def test_the_outer_slope_is_beyond_half_the_foot() -> None:
    nothing = np.empty(0)
    cuts = Alignments(nothing, nothing, np.array([0.2, 0.5, 0.8]), np.array([1.0, 2.0, 3.0]))
    assert cuts.leaning_outside.tolist() == [3.0]
