"""Sweeps: what is run, that each run is done once, and that nothing finished is lost."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clapas.errors import Error, FormatError, SceneError, SettingsError
from clapas.geometry.shapes import Disk, HalfPlane, Sphere
from clapas.laws import MEANINGS, Law
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene
from clapas.sweeps import Sweep, execute, executor, write_csv, write_parquet
from clapas.sweeps import running as running_module
from clapas.sweeps.definition import build, equal_durations
from clapas.sweeps.execution import ENDED, Progress
from clapas.sweeps.table import draw

SHORT = {"run.duration": [0.02]}


class InLine(Executor):
    """Runs what it is given at once; a case that is to kill its worker breaks the executor."""

    def __init__(self, deadly: float = -2.0) -> None:
        self.deadly, self.broken = deadly, False
        self.done: list[int] = []

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        case = arguments[0]
        if self.broken or case.values.get("mu") == self.deadly:
            self.broken = True
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            self.done.append(case.number)
            future.set_result(function(*arguments, **options))
        return future


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_combinations_with_seeds_fastest(tmp_path: Path) -> None:
    sweep = Sweep.load(
        written(
            tmp_path,
            """
            scene = "heap"
            seeds = 2
            [parameters]
            mu = [0.1, 0.5]
            grains = { from = 10, to = 1000, count = 3, spacing = "log" }
            """,
        )
    )
    cases = sweep.cases()
    assert [(case.values["mu"], case.values["grains"], case.seed) for case in cases[:4]] == [
        (0.1, 10, 0),
        (0.1, 10, 1),
        (0.1, 100, 0),
        (0.1, 100, 1),
    ]
    assert len(cases) == sweep.size == 12
    assert len({case.identity for case in cases}) == 12


def test_the_stopping_distance_of_each_run(tmp_path: Path) -> None:
    """After t < v/(mu g) the block has lost the speed mu g t: E = ½ m (v − mu g t)²."""
    sweep = Sweep(
        scene="sliding-block", parameters={"mu": [0.2, 0.4], "speed": [2.0, 3.0], **SHORT}, measures=["speed"]
    )
    rows = execute(sweep, tmp_path / "out", InLine())
    for row in rows:
        assert row["status"] == "done"
        left = row["speed"] - row["mu"] * 9.81 * 0.02
        assert row["kinetic"] == pytest.approx(0.5 * 32.0 * left**2, rel=1e-6)
        assert row["measured_speed"] == pytest.approx(left, rel=1e-6)
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [float(row["kinetic (J)"]) for row in read] == [row["kinetic"] for row in rows]
    assert draw(tmp_path / "table.png", rows, list(sweep.parameters), "kinetic") == "kinetic"
    assert (tmp_path / "table.png").stat().st_size > 1000


def test_a_measure_that_cannot_be_had_does_not_keep_the_others_away(tmp_path: Path) -> None:
    """One block leaves no room for a box inside: its packing is lacking, by name; its speed is there."""
    sweep = Sweep(
        scene="sliding-block", parameters={"speed": [2.0], **SHORT}, measures=["packing", "speed", "stress"]
    )
    (row,) = execute(sweep, tmp_path / "out", InLine())
    assert row["status"] == "failed"
    assert row["message"].startswith("packing: the grains leave no room inside")
    assert "; stress: the grains leave no room inside" in row["message"]
    assert 0.0 < row["measured_speed"] < 2.0


@pytest.fixture
def rolling(tmp_path: Path) -> Path:
    """A disk in the plane, thrown, with probes of a force and an angle."""
    scene = Scene(d=2)
    scene.law(mu=0.5)
    scene.add(HalfPlane(), name="floor")
    scene.add(Disk(0.1), position=(0, 0.1), velocity=(1, 0), mass=3.0, name="disk")
    scene.probe("force", "disk", name="load")
    scene.probe("orientation", "disk", name="angle")
    scene.run = Run(duration=0.02, dt=1e-3)
    scene.save(tmp_path / "disk.toml")
    return tmp_path / "disk.toml"


def test_columns_have_units(tmp_path: Path, rolling: Path) -> None:
    parameters = {"bodies.disk.mass": [1.0, 2.0], "laws.0.mu": [0.5], "run.dt": [1e-3]}
    sweep = Sweep(scene=str(rolling), parameters=parameters, measures=["speed", "friction"])
    rows = execute(sweep, tmp_path / "out", InLine())
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        first, *_ = csv.DictReader(file)
    assert list(first)[:6] == [
        "run",
        "identity",
        "bodies.disk.mass (kg/m)",
        "laws.0.mu",
        "run.dt (s)",
        "status",
    ]
    later = {"time (s)", "kinetic (J/m)", "load_x (N/m)", "load_y (N/m)", "angle (rad)", "speed (m/s)"}
    assert later <= set(first)
    assert {"steps", "contacts", "friction", "seconds (s)"} <= set(first)
    assert float(first["load_y (N/m)"]) == pytest.approx(9.81, rel=1e-6)
    draw(tmp_path / "table.svg", rows, list(parameters), "load_y")
    drawn = (tmp_path / "table.svg").read_text()
    assert "<!-- bodies.disk.mass (kg/m) -->" in drawn
    assert "<!-- load_y (N/m) -->" in drawn


def test_parameters_of_laws_have_their_units_and_pure_numbers_none(tmp_path: Path, rolling: Path) -> None:
    parameters = {
        f"laws.0.{name}": [value]
        for name, value in {"mu": 0.5, "restitution": 0.1, "cohesion": 2.0, "rolling": 1e-3}.items()
    }
    rows = execute(Sweep(scene=str(rolling), parameters=parameters), tmp_path / "out", InLine())
    write_csv(tmp_path / "table.csv", rows)
    headings = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert headings[2:6] == [
        "laws.0.mu",
        "laws.0.restitution",
        "laws.0.cohesion (N/m)",
        "laws.0.rolling (m)",
    ]


def test_every_field_of_a_law_has_its_meaning_in_scene_files() -> None:
    assert set(MEANINGS) == {field.name for field in dataclasses.fields(Law)}


def test_a_probe_of_an_orientation_has_all_its_components(tmp_path: Path) -> None:
    """W x y z of a quaternion, not three of them under the names of the axes."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.5)
    scene.add(Sphere(0.1), mass=1.0, orientation=(0.6, 0.0, 0.0, 0.8), name="ball")
    scene.probe("orientation", "ball", name="turn")
    scene.run = Run(duration=2e-3, dt=1e-3)
    scene.save(tmp_path / "ball.toml")
    (row,) = execute(Sweep(scene=str(tmp_path / "ball.toml")), tmp_path / "out", InLine())
    assert [row[f"turn_{axis}"] for axis in "wxyz"] == pytest.approx([0.6, 0.0, 0.0, 0.8])


def test_durations_of_as_many_steps_are_told(tmp_path: Path) -> None:
    sweep = Sweep(scene="sliding-block", parameters={"run.duration": [0.2, 0.2004, 0.3], "run.dt": [1e-3]})
    with pytest.warns(UserWarning, match=r"run.duration = 0.2 and 0.2004 s are both 200 steps of 0.001 s"):
        execute(sweep, tmp_path, InLine())
    assert equal_durations(Sweep(scene="sliding-block", parameters={"run.duration": [0.1, 0.2]})) == []
    assert (
        equal_durations(Sweep(scene="sliding-block", parameters={"run.duration": ["long", 0.2, 0.3]})) == []
    )


def test_a_scene_that_is_wrong_by_itself_is_told_before_anything_runs(tmp_path: Path, rolling: Path) -> None:
    """Not once for each run; a value that is out of range is the failure of its run alone."""
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(rolling.read_text().replace('type = "disk"', 'type = "dusk"'))
    sweep = Sweep(scene=str(wrong), parameters={"laws.0.mu": [0.1, 0.2]})
    with pytest.raises(SceneError, match="dusk"):
        execute(sweep, tmp_path / "out", InLine())
    assert not (tmp_path / "out").exists()
    rows = execute(Sweep(scene=str(rolling), parameters={"laws.0.mu": [-1.0, 0.2]}), tmp_path, InLine())
    assert [row["status"] for row in rows] == ["failed", "done"]


def test_a_column_is_drawn_by_its_heading_too(tmp_path: Path) -> None:
    rows = [
        {"mu": mu, "load": mu, "units": {"load": "N"}, "status": "done", "seconds": 1.0} for mu in (0.1, 0.2)
    ]
    assert draw(tmp_path / "a.png", rows, ["mu"], "load (N)") == "load"
    assert draw(tmp_path / "b.png", rows, ["mu"], "load") == "load"


def test_values_that_are_lists(tmp_path: Path) -> None:
    sweep = Sweep.load(
        written(
            tmp_path,
            """
            scene = "sliding-block"
            [parameters]
            "bodies.block.velocity" = [[1, 0, 0], [0, 1, 0]]
            mu = [0.1, 0.5]
            "run.duration" = 0.01
            """,
        )
    )
    rows = execute(sweep, tmp_path / "results", InLine())
    assert [row["status"] for row in rows] == ["done"] * 4
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        cells = [row["bodies.block.velocity (m/s)"] for row in csv.DictReader(file)]
    assert [json.loads(cell) for cell in cells] == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    # A line against mu for each velocity, two points each.
    assert draw(tmp_path / "table.svg", rows, list(sweep.parameters)) == "kinetic"
    drawn = (tmp_path / "table.svg").read_text()
    assert "<!-- mu -->" in drawn
    assert all(f"<!-- bodies.block.velocity = {each} m/s -->" in drawn for each in ([1, 0, 0], [0, 1, 0]))


def test_columns_of_lists_and_of_several_kinds_in_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"v": [1, 0], "mu": 0.5, "w": 2.0}, {"v": [0, 0.5], "mu": "typical", "w": [1, 2]}]
    write_parquet(tmp_path / "table.parquet", rows)
    assert parquet.read_table(tmp_path / "table.parquet").to_pylist() == [
        {"v": [1.0, 0.0], "mu": "0.5", "w": "2.0"},
        {"v": [0.0, 0.5], "mu": "typical", "w": "[1, 2]"},
    ]


def test_a_file_is_varied_inside(tmp_path: Path) -> None:
    scene = tmp_path / "slide.toml"
    build("sliding-block", {"speed": 1.0}).save(scene)
    made = build(str(scene), {"laws.0.mu": 0.7, "bodies.block.density": 100.0, "run.dt": 1e-2})
    assert made.run.dt == 1e-2
    document = made.to_dict()
    assert document["laws"][0]["mu"] == 0.7
    assert document["bodies"][1]["density"] == 100.0
    with pytest.raises(SettingsError, match=r"no entry 'blok' among 2"):
        build(str(scene), {"bodies.blok.density": 1.0})


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = InLine()
    sweep = Sweep(scene="sliding-block", parameters={"mu": [0.2, 0.4], **SHORT})
    execute(sweep, tmp_path, first)
    assert first.done == [0, 1]
    more, seen = InLine(), list[Progress]()
    longer = Sweep(scene="sliding-block", parameters={"mu": [0.2, 0.3, 0.4], **SHORT})
    rows = execute(longer, tmp_path, more, watch=seen.append)
    assert more.done == [1]  # 0.3 alone
    assert [row["mu"] for row in rows] == [0.2, 0.3, 0.4]
    assert [(progress.done, progress.total) for progress in seen] == [(2, 3), (3, 3)]


def test_failures_stay_with_their_message_until_they_are_retried(tmp_path: Path) -> None:
    sweep = Sweep(scene="sliding-block", parameters={"mu": [0.2, -1.0], **SHORT})
    rows = execute(sweep, tmp_path, InLine())
    assert [row["status"] for row in rows] == ["done", "failed"]
    assert "mu must be from 0 to 1000" in rows[1]["message"]
    again = InLine()
    execute(sweep, tmp_path, again)
    assert again.done == []
    execute(sweep, tmp_path, again, retry=True)
    assert again.done == [1]


def test_a_slip_of_ours_is_a_row_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slip(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(running_module, "simulate", slip)
    (row,) = execute(Sweep(scene="sliding-block"), tmp_path, InLine())
    assert row["message"] == "ZeroDivisionError: by zero"
    assert "test_sweeps.py" in json.loads(next((tmp_path / "runs").iterdir()).read_text())["traceback"]


def test_a_run_that_kills_its_worker_is_found_and_the_others_are_done(tmp_path: Path) -> None:
    opened: list[InLine] = []

    def opener() -> InLine:
        opened.append(InLine(deadly=0.3))
        return opened[-1]

    sweep = Sweep(scene="sliding-block", parameters={"mu": [0.2, 0.3, 0.4, 0.5], **SHORT})
    rows = execute(sweep, tmp_path, opener)
    assert [row["status"] for row in rows] == ["done", "failed", "done", "done"]
    assert rows[1]["message"] == ENDED
    assert len(opened) > 1


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    sweep = Sweep(scene="sliding-block", parameters=SHORT)
    execute(sweep, tmp_path, InLine())
    next((tmp_path / "runs").iterdir()).write_text('{"status": "do')
    again = InLine()
    execute(sweep, tmp_path, again)
    assert again.done == [0]


def test_recordings_are_kept_where_wished(tmp_path: Path) -> None:
    from clapas.io.recording import Recording

    (row,) = execute(Sweep(scene="sliding-block", parameters=SHORT, keep=True), tmp_path, InLine())
    with Recording(tmp_path / "recordings" / f"{row['identity']}.h5") as run:
        assert run.frame(-1).state.step == 20


def test_killed_with_no_warning_it_goes_on(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'scene = "sliding-block"\n[parameters]\n"run.duration" = 0.05\n'
        "speed = { from = 1.0, to = 2.0, count = 5000 }\n",
    )
    command = [
        sys.executable,
        "-m",
        "clapas",
        "sweep",
        str(path),
        "--out",
        "out",
        "--executor",
        "threads",
        "--quiet",
    ]
    process = subprocess.Popen([*command, "--workers", "1"], cwd=tmp_path)
    results = tmp_path / "out" / "runs"
    deadline = time.monotonic() + 300
    while not (results.exists() and any(results.glob("*.json"))):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {each.name: each.stat().st_mtime_ns for each in results.glob("*.json")}
    assert 0 < len(done) < 5000
    full = Sweep.load(path)
    few = Sweep(
        scene="sliding-block",
        parameters={**full.parameters, "speed": full.parameters["speed"][: len(done) + 2]},
    )
    again = InLine()
    rows = execute(few, tmp_path / "out", again)
    assert len(rows) == len(done) + 2
    assert len(again.done) == 2
    assert all((results / name).stat().st_mtime_ns == stamp for name, stamp in done.items())


def test_executors_by_name() -> None:
    with executor("threads", 1) as pool:
        assert isinstance(pool, ThreadPoolExecutor)
    with pytest.raises(SettingsError, match="no executor is called 'clouds'"), executor("clouds"):  # type: ignore[arg-type]
        pass
    with pytest.raises(SettingsError, match="workers must be at least 1"), executor("threads", 0):
        pass


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet(tmp_path / "table.parquet", [{"run": 0, "mu": 0.5, "message": ""}, {"run": 1, "mu": 0.7}])
    assert parquet.read_table(tmp_path / "table.parquet")["mu"].to_pylist() == [0.5, 0.7]
    write_parquet(tmp_path / "table.parquet", [{"run": 0, "kinetic": 2.0, "units": {"kinetic": "J"}}])
    schema = parquet.read_table(tmp_path / "table.parquet").schema
    assert (schema.names, schema.field("kinetic").metadata[b"unit"]) == (["run", "kinetic"], b"J")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scene = 3", "scene must name a shipped scene or a scene file"),
        ('scene = "heap"\nseed = 1', "did you mean 'seeds'"),
        ('scene = "heap"\n[parameters]\nmu = []', "parameter 'mu' has no values"),
        ('scene = "heap"\n[parameters]\nmu = {from = 0, to = 1}', "a range has from, to, count"),
        (
            'scene = "heap"\n[parameters]\nmu = {from = 0, to = 1, count = 2, spacing = "log"}',
            "positive ends",
        ),
        ('scene = "heap"\nseeds = [-1]', "seeds must be whole numbers"),
        ('scene = "heap"\nmeasures = ["slop"]', "did you mean 'slope'"),
        ("scene =", "not TOML"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        Sweep.load(written(tmp_path, text))


def test_mistakes_in_names(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        Sweep.load(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match=r"did you mean 'mu'"):
        Sweep(scene="sliding-block", parameters={"muu": [1.0]}).cases()
    with pytest.raises(SettingsError, match="draws nothing at random"):
        Sweep(scene="sliding-block", seeds=[1]).cases()


def test_workers_end_with_their_parent() -> None:
    """A parent that is killed cannot tell its workers: they see it themselves."""
    code = (
        "import multiprocessing, os, time\n"
        "from clapas.sweeps.executors import end_with_parent\n"
        "def wait():\n"
        "    end_with_parent()\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(300)\n"
        "process = multiprocessing.get_context('fork').Process(target=wait)\n"
        "process.start()\n"
        "process.join()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{worker}/stat").read_text().split()[2]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")
