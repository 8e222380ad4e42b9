"""Laws of contact: their numbers, checked, tabled, written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clapas.errors import SceneError
from clapas.geometry.shapes import Plane, Sphere
from clapas.io import files
from clapas.io.recording import Recording
from clapas.io.replay import export_problem
from clapas.io.simulation import simulate
from clapas.laws import TYPICAL_FRICTION, Law, LawTable, typical_friction
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"mu": -0.1}, "mu must be finite and between 0.0 and inf, got -0.1"),
        ({"mu": 0.1, "rolling": -1.0}, "rolling must be finite and between 0.0 and inf, got -1.0"),
        ({"mu": 0.1, "spinning": np.inf}, "spinning must be finite"),
        (
            {"mu": 0.1, "mu_across": 0.2},
            "mu_across, or section, and direction go together; give both, or none",
        ),
        ({"mu": 0.1, "direction": (1, 0, 0)}, "section, and direction go together"),
        ({"mu": 0.1, "mu_across": -0.2, "direction": (1, 0, 0)}, "mu_across must be finite and between"),
        ({"mu": 0.1, "mu_across": 0.2, "direction": (0, 0, 0)}, "direction must not be zero"),
        ({"mu": 0.1, "mu_across": 0.2, "direction": (1, 0)}, "direction must be 3 numbers"),
        (
            {"mu": 0.1, "section": [(1, 0), (0, 1)], "direction": (1, 0, 0)},
            "section: a section must be a convex",
        ),
        ({"mu": 0.1, "section": 3.0, "direction": (1, 0, 0)}, "section must be the corners of a polygon"),
        (
            {"mu": 0.1, "section": [(1, -1), (0, 1), (-1, -1)], "direction": (1, 0, 0), "rolling": 0.1},
            "section goes neither with mu_across nor with rolling",
        ),
    ],
)
def test_slips(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Law(**numbers)
    with pytest.raises(SceneError, match=message):
        Scene().law(**numbers)


def test_table() -> None:
    plain, grained = Law(mu=0.3), Law(mu=0.1, mu_across=0.5, direction=(0, 2, 0), rolling=0.01)
    table = LawTable.of([[plain, grained], [grained, plain]])
    np.testing.assert_array_equal(table.mu_across, [[0.3, 0.5], [0.5, 0.3]])
    np.testing.assert_array_equal(table.direction[0, 1], (0, 1, 0))
    assert (table.has_couples, table.is_elliptic) == (True, True)
    alone = LawTable.of([[plain]])
    assert (alone.has_couples, alone.is_elliptic) == (False, False)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"spinning": 0.1}, "law for all pairs: spinning has no meaning in 2-D, got 0.1; leave it out"),
        ({"mu_across": 0.3, "direction": (1, 0, 0)}, "mu_across has no meaning in 2-D"),
    ],
)
def test_what_a_plane_scene_cannot_have(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Scene(d=2).law(mu=0.2, **numbers)


def scene() -> Scene:
    made = Scene()
    made.material("felt", density=1000)
    made.law(mu=0.3, rolling=0.01, spinning=0.002)
    made.law("default", "felt", mu=0.3, mu_across=0.5, direction=(1, 1, 0), rolling=0.02)
    made.add(Plane())
    made.add(Sphere(0.1), (0, 0, 0.1), material="felt", velocity=(1, 0.2, 0), angular_velocity=(0, 0, 5))
    made.add(Sphere(0.1), (0.2, 0, 0.1), density=1000)
    return made


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_files_hold_all_of_a_law(tmp_path: Path, suffix: str) -> None:
    if suffix == "yaml":
        pytest.importorskip("yaml")
    path = tmp_path / f"scene.{suffix}"
    scene().save(path)
    assert Scene.load(path).to_dict() == scene().to_dict()


def test_files_say_what_is_wrong_with_a_law() -> None:
    data = scene().to_dict()
    data["laws"][0]["roling"] = 0.1
    with pytest.raises(
        SceneError, match=r"laws\[0\].roling: unknown key \(did you mean 'rolling'\?\)|rolling"
    ):
        Scene.from_dict(data)
    data = scene().to_dict()
    data["laws"][0]["rolling"] = "much"
    with pytest.raises(SceneError, match=r"laws\[0\].rolling: expected a number, got 'much'"):
        Scene.from_dict(data)
    data = scene().to_dict()
    del data["laws"][1]["direction"]
    with pytest.raises(SceneError, match=r"laws\[1\]: .*section, and direction go together"):
        Scene.from_dict(data)


def test_a_run_with_couples_is_recorded_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    simulate(scene(), 0.02, 1e-3, NSGS(tol=1e-8), out=path).close()
    with Recording(path) as run:
        frame = run.frame(-1)
        assert frame.state.impulses.couple.shape == (len(frame.contacts), 3)
        assert np.abs(frame.state.impulses.couple).max() > 0.0
        np.testing.assert_array_equal(run.model.laws.rolling, [[0.01, 0.02], [0.02, 0.01]])
        written = files.read(export_problem(run, 10, tmp_path / "step.hdf5"))
        assert written.problem.has_couples
        assert written.solution is not None
        assert written.problem.residual(written.solution.r) <= 1e-6
        assert written.problem.n_contacts == len(run.frame(11).contacts)


def test_typical_friction_knows_both_orders_and_says_what_it_knows() -> None:
    assert typical_friction("ice", "steel") == typical_friction("steel", "ice") == (0.015, 0.03)
    assert all(0 < low < high <= 1 for low, high in TYPICAL_FRICTION.values())
    with pytest.raises(
        SceneError, match="no typical friction is known between 'steel' and 'cheese'; known are"
    ):
        typical_friction("steel", "cheese")


def test_a_scene_takes_typical_friction_by_the_names_of_materials(tmp_path: Path) -> None:
    file = tmp_path / "skate.toml"
    file.write_text(
        "[materials.steel]\ndensity = 7850\n[materials.ice]\ndensity = 917\n"
        '[[laws]]\nbetween = ["steel", "ice"]\nmu = "typical"\nrestitution = 0.1\n'
    )
    law = Scene.load(file).laws.find("ice", "steel")
    assert law == Law(mu=0.0225, restitution=0.1)
    with pytest.raises(
        SceneError, match="law for all pairs: mu = 'typical' needs two materials; known are con"
    ):
        Scene().law(mu="typical")
    scene = Scene()
    scene.material("cheese")
    scene.material("steel")
    with pytest.raises(SceneError, match="no typical friction is known between 'cheese' and 'steel'"):
        scene.law("cheese", "steel", mu="typical")


@pytest.mark.parametrize("value", [[0.5], (0.5,), None, "0.5"])
def test_a_coefficient_that_is_no_number_is_refused(value: Any) -> None:
    """One number for a law: friction of several pairs takes several laws."""
    with pytest.raises(SceneError, match="law: mu must be a number, got"):
        Law(mu=value)
