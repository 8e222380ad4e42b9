"""Run a scene into a recording, and go on with one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clapas.dynamics.compilation import compile_scene
from clapas.dynamics.model import Model
from clapas.dynamics.readings import Reading
from clapas.dynamics.scene import Scene
from clapas.dynamics.simulation import Watcher, check_run
from clapas.dynamics.simulation import simulate as run_model
from clapas.dynamics.sleeping import Sleeping
from clapas.dynamics.stepping import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.errors import FormatError, SceneError, SettingsError
from clapas.io.recording import Frame, Recording, RecordingWriter
from clapas.io.recording.systems import RecordedSystem, recorded
from clapas.io.settings import from_plain, to_plain
from clapas.solvers import registry
from clapas.solvers.loop import Solver


def simulate(
    scene: Scene,
    duration: float | None = None,
    dt: float | None = None,
    solver: Solver | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    every: int | None = None,
    on_unsolved: Literal["raise", "record"] | None = None,
    scheme: MoreauJean | None = None,
    sleeping: Sleeping | None = None,
    progress: Watcher | None = None,
) -> Recording:
    """Run a scene and return its recording.

    Parameters
    ----------
    scene : Scene
        What to simulate; its ``run`` gives what is not said here.
    duration, dt : float
        Time to simulate and time step (s).
    solver : Solver, optional
        Method for the contact problems; ``Auto(tol=1e-6)`` by default.
    out : path, optional
        The file to write; by default one in a new temporary folder, where it stays (see its ``path``).
    every : int
        Steps between two kept frames.
    on_unsolved : "raise" or "record"
        What to do with a contact problem that stays above the tolerance.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    sleeping : Sleeping, optional
        When bodies may sleep (see :mod:`clapas.dynamics.sleeping`); never by default.
    progress : callable, optional
        Called after each step; return True to stop.

    Examples
    --------
    >>> from clapas.geometry.shapes import Plane, Sphere
    >>> scene = Scene()
    >>> scene.law(mu=0.5)
    >>> floor = scene.add(Plane())
    >>> ball = scene.add(Sphere(0.1), position=(0, 0, 0.2), density=2500)
    >>> with simulate(scene, duration=0.5, dt=0.01) as run:
    ...     print(run.n_frames, run.frame(-1).state.velocity[ball].round(6) + 0.0)
    51 [0. 0. 0. 0. 0. 0.]
    """
    run = scene.run
    duration = run.duration if duration is None else duration
    dt, every = run.dt if dt is None else dt, run.every if every is None else every
    if duration is None or dt is None:
        raise SettingsError("how long, and by which step? Give duration and dt, or set them in scene.run")
    settings = {
        "duration": duration,
        "on_unsolved": on_unsolved or run.on_unsolved,
        "solver": to_plain(solver or named_solver(run.solver)),
        "scheme": to_plain(scheme or _named_scheme(run.scheme)),
        "sleeping": to_plain(sleeping or _named_sleeping(run.sleeping)),
    }
    check_run(duration, dt, every, settings["on_unsolved"])
    path = _place(out)
    model = compile_scene(scene)
    if model.n_bodies == 0 and not model.systems:
        raise SceneError("the scene has no bodies: add one, there is nothing to simulate")
    writer = RecordingWriter(path, model, dt=dt, every=every, settings=settings, scene=_source(scene))
    return _run(writer, model, path, settings, dt, every, progress)


def resume(
    path: str | os.PathLike[str],
    duration: float | None = None,
    *,
    scene: Scene | None = None,
    progress: Watcher | None = None,
) -> Recording:
    """Go on with a recording that was interrupted, or that should last longer.

    The run continues to the same bits as if it had not been interrupted: from the last complete
    frame, with the same scene, step, solver and scheme.

    Parameters
    ----------
    path : path
        The recording; it is extended in place.
    duration : float, optional
        New time to simulate from the start of the run (s); by default the one it was meant for.
    scene : Scene, optional
        The scene that was run: needed if it holds what no file can, functions of Python.
    progress : callable, optional
        Called after each step; return True to stop.

    Raises
    ------
    FormatError
        The file is damaged: nothing is continued from numbers that do not match their checksums.
    WriteError
        The disk is full, or another process writes the recording.
    """
    with Recording(path) as old:
        if scene is None and not old.scene_source:
            raise FormatError(
                f"{path}: its scene holds functions of Python and is not in the file: give it, "
                f"clapas.resume('{path}', scene=…)"
            )
        if old.n_frames == 0:
            raise FormatError(f"{path}: no frame is complete; start again from the scene")
        settings = old.settings if duration is None else {**old.settings, "duration": duration}
        dt, every, last = old.dt, old.every, old.frame(-1)
        # All that can be wrong is found before a byte is written: the file changes as a whole or not at all.
        check_run(settings["duration"], dt, every, settings["on_unsolved"])
        if duration is not None and round(duration / dt) < last.state.step:
            raise SettingsError(
                f"{path}: the run has reached t = {last.state.time:g} s; duration counts from the start "
                "and must "
                f"be at least that, got {duration:g}"
            )
        for name in ("solver", "scheme", "sleeping"):
            from_plain(settings.get(name))
        old.verify()
        scene = scene or Scene.from_dict(json.loads(old.scene_source))
        model = compile_scene(scene, check_overlaps=False)
        _check_same(old, model)
        writer = RecordingWriter(path, model, dt=dt, every=every, settings=settings, scene=old.scene_source)
        writer.copy(_with_readings(old, writer))
    return _run(writer, model, Path(path), settings, dt, every, progress, last)


def _with_readings(
    old: Recording, writer: RecordingWriter
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The frames of a recording, after each has had its readings noted."""
    times, values = old.readings()
    noted = 0
    for frame, contacts in old.stored():
        for row in range(noted, min(int(frame["step"]) + 1, len(times))):
            writer.note(Reading(times[row], values[row]))
            noted = row + 1
        yield frame, contacts


def _check_same(old: Recording, model: Model) -> None:
    """Refuse a file whose scene gives other bodies than its frames hold."""
    stored = old.model
    same = model.names == stored.names and all(
        np.allclose(getattr(model, name), getattr(stored, name), rtol=1e-6, atol=0.0)  # other roundings pass
        for name in ("mass", "inertia", "movable", "birth")
    )
    same &= [_sizes(system) for system in recorded(model)] == [_sizes(system) for system in old.systems]
    if not same:
        raise FormatError(
            f"{old.path}: its scene does not give the bodies of its frames: damaged, or made by another "
            "version "
            "of clapas; run the scene again"
        )


def _sizes(system: RecordedSystem) -> tuple[str, str, int, int]:
    return system.name, system.kind, system.n_coordinates, system.n_dof


def _run(
    writer: RecordingWriter,
    model: Model,
    path: Path,
    settings: dict[str, Any],
    dt: float,
    every: int,
    progress: Watcher | None,
    last: Frame | None = None,
) -> Recording:
    with writer:
        run_model(
            model,
            settings["duration"],
            dt,
            from_plain(settings["solver"]),
            scheme=from_plain(settings["scheme"]),
            sleeping=from_plain(settings.get("sleeping")),
            every=every,
            on_unsolved=settings["on_unsolved"],
            recorder=writer,
            state=last.state if last else None,
            work=last.work if last else 0.0,
            given=last.given if last else 0.0,
            progress=progress,
        )
    return Recording(path)


SCHEMES = {"moreau-midpoint": MoreauMidpoint, "moreau-jean": MoreauJean, "quasi-static": QuasiStatic}


def named_solver(entries: Mapping[str, Any]) -> Solver:
    """The solver a scene file names, ``{"name": "auto", "tol": 1e-6}``."""
    settings = {"name": "auto", "tol": 1e-6, **entries}
    name = str(settings.pop("name"))
    return registry.make(name, **settings)


def _named_scheme(entries: Mapping[str, Any]) -> MoreauJean:
    """The scheme a scene file names, ``{"name": "moreau-jean", "theta": 0.6}``."""
    settings = {"name": "moreau-midpoint", **entries}
    name = settings.pop("name")
    if name not in SCHEMES:
        raise SettingsError(f"no scheme is called '{name}': expected {' or '.join(SCHEMES)}")
    try:
        return SCHEMES[name](**settings)
    except TypeError as error:
        raise SettingsError(f"scheme {name}: {error}") from None


def _named_sleeping(entries: Mapping[str, Any]) -> Sleeping | None:
    """When bodies may sleep, as a scene file says it, ``{"speed": 1e-2}``; None if it says nothing."""
    try:
        return Sleeping(**entries) if entries else None
    except TypeError as error:
        raise SettingsError(f"sleeping: {error}") from None


def _place(out: str | os.PathLike[str] | None) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="clapas-")) / "run.h5"
    path = Path(out)
    if not path.resolve().parent.is_dir():
        raise SettingsError(f"out: there is no folder '{path.resolve().parent}'; make it first")
    return path


def _source(scene: Scene) -> str:
    """The scene as JSON, or empty when it holds something only Python knows."""
    try:
        return json.dumps(scene.to_dict())
    except (SceneError, TypeError):
        return ""
