"""Names, numbers and places of files that nobody should give: refused with a message, or kept as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clapas import NSGS, Auto, Plane, Recording, Scene, Sleeping, Sphere, simulate
from clapas.errors import Error, SceneError, SettingsError, WriteError

SOUND = ["a\0b", "a\nb", "x" * 100_000, "/", "../..", "é" * 300, "\x1b[31m", "[ ] \"'"]
UNSOUND: list[Any] = ["\ud800", b"b", 7.5, ["a"]]


def scene(**given: Any) -> Scene:
    made = Scene()
    made.law(mu=0.5)
    made.add(Plane())
    made.add(Sphere(0.1), (0, 0, 0.1), density=1000, **given)
    return made


@pytest.mark.parametrize("name", SOUND, ids=ascii)
def test_any_text_is_a_name(name: str, tmp_path: Path) -> None:
    """It comes back from scene files and from recordings."""
    made = scene(name=name, group=name)
    made.probe("position", name, name=name)
    for ending in (".toml", ".yaml"):
        if ending == ".yaml":
            pytest.importorskip("yaml")
        made.save(tmp_path / f"scene{ending}")
        assert Scene.load(tmp_path / f"scene{ending}").to_dict() == made.to_dict()
    simulate(made, 2e-3, 1e-3, out=tmp_path / "run.h5").close()
    with Recording(tmp_path / "run.h5") as run:
        assert run.verify() == run.n_frames == 3
        assert run.model.names[1] == name
        assert [probe.name for probe in run.model.probes] == [name]


@pytest.mark.parametrize("name", UNSOUND, ids=ascii)
def test_what_files_cannot_hold_is_no_name(name: Any) -> None:
    made = scene()
    for given in (
        lambda: made.add(Sphere(0.1), (0, 0, 2), density=1, name=name),
        lambda: made.add(Sphere(0.1), (0, 0, 2), density=1, group=name),
        lambda: made.material(name, density=1.0),
        lambda: made.join("weld", 1, name=name),
        lambda: made.probe("position", 1, name=name),
    ):
        with pytest.raises(SceneError, match="must be a text"):
            given()


@pytest.mark.parametrize("value", [None, "x", [1], True, 1j], ids=repr)
def test_settings_are_numbers(value: Any) -> None:
    for solver in (NSGS, Auto):
        for name, kind in {
            "tol": "a number",
            "max_iterations": "an integer",
            "time_limit": "a number",
        }.items():
            with pytest.raises(SettingsError, match=f"{name} must be {kind}, got"):
                solver(**{name: value})
    if value is not True:
        with pytest.raises(SettingsError, match="sleeping: speed must be positive, got"):
            Sleeping(speed=value)


def test_numbers_of_hundreds_of_digits_are_not_finite() -> None:
    for given in ({"density": 10**400}, {"mass": 10**400}, {"density": 1, "velocity": (0, 0, 10**400)}):
        with pytest.raises(SceneError, match=r"must be finite|finite"):
            Scene().add(Sphere(0.1), **given)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        ("a\0b", SettingsError),
        (7, SettingsError),
        (b"run.h5", SettingsError),
        ("\ud800", SettingsError),
        ("x" * 300, WriteError),
        (".", WriteError),
        ("..", WriteError),
        ("no/such/folder/run.h5", SettingsError),
    ],
    ids=ascii,
)
def test_places_that_are_none(
    out: Any, error: type[Error], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before the first step, and nothing is left in the folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        simulate(scene(), 2e-3, 1e-3, out=out)
    assert list(tmp_path.iterdir()) == []
