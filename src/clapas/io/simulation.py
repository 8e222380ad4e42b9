"""Simulate a scene step by step or in one run into a recording, and resume a recording."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np

from clapas.compiled.ahead import Usual, compiling_ahead
from clapas.distributed.communication import Ranks
from clapas.distributed.launch import is_launched
from clapas.distributed.running import simulate_on_ranks
from clapas.distributed.simulation import check_model
from clapas.dynamics.model import Model
from clapas.dynamics.probe_readings import Reading
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.sleep import Sleeping
from clapas.errors import FormatError, SceneError, SettingsError, WriteError
from clapas.io.recording import Frame, Recording, RecordingWriter
from clapas.io.recording.layout import require_recording_name
from clapas.io.recording.systems import RecordedSystem, recorded
from clapas.io.settings import from_plain, to_plain
from clapas.io.watching import ViewerProcess
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Watcher
from clapas.scenes.scene import Scene
from clapas.scenes.settings import (
    check_every,
    check_methods,
    check_run,
    named_scheme,
    named_sleeping,
    named_solver,
)
from clapas.scenes.simulation import Simulation as Loop
from clapas.scenes.simulation import simulate as run_model
from clapas.solvers import NSGS, Auto
from clapas.solvers.loop import Solver

MANY = 100  # bodies from which on a grid finds those that are near, and vectors visit their contacts


class Simulation(Loop):
    """A simulation advanced step by step, which can be recorded and viewed.

    It is :class:`clapas.scenes.simulation.Simulation` (steps, state, bodies, joints, contacts) with
    :meth:`record` and :meth:`view`.

    Parameters
    ----------
    scene : Scene or Model
        The scene, which is compiled, or a model; its ``run`` supplies the defaults.
    dt : float
        Time step (s).
    solver, scheme, sleeping, on_unsolved, state
        As in :func:`simulate`; ``state`` is the initial state.

    Examples
    --------
    >>> from clapas.scenes import examples
    >>> sim = Simulation(examples.load("sliding-block"))
    >>> sim.step(200)
    >>> sim.contacts("floor", "block")
    ContactTable(4 contacts: 4 sliding; total force 338.102 N)
    """

    def record(self, path: str | os.PathLike[str] | None = None, every: int = 1) -> LiveRecording:
        """Record the following steps into a file for ``clapas view``, ``info`` and ``resume``.

        Parameters
        ----------
        path : path, optional
            The file to write; by default one in a new temporary folder.
        every : int
            Steps between two frames; the current and the last state are always recorded.

        Returns
        -------
        LiveRecording
            Leave its ``with`` block, or call its ``stop``, to end it. Frames count steps from its start, and
            have the time of the simulation. Applied forces are not recorded: a recording that is resumed
            goes on without them.

        Examples
        --------
        >>> import tempfile
        >>> from clapas.scenes import examples
        >>> sim = Simulation(examples.load("sliding-block"))
        >>> with tempfile.TemporaryDirectory() as folder, sim.record(f"{folder}/slide.h5") as made:
        ...     sim.step(20)
        ...     made.stop().n_frames
        21
        """
        check_every(every)
        settings = {
            "duration": None,
            "on_unsolved": self.on_unsolved,
            "solver": to_plain(self.solver),
            "scheme": to_plain(self.scheme),
            "sleeping": to_plain(self.sleeping),
        }
        source = "" if self.scene is None else _source(self.scene)
        place = _place(path)
        writer = RecordingWriter(place, self.model, dt=self.dt, every=every, settings=settings, scene=source)
        return LiveRecording(self, writer, every)

    def view(self, path: str | os.PathLike[str] | None = None, *, browser: bool = True) -> ViewerProcess:
        """Show the simulation in the browser while it goes on.

        Every step is recorded from now on, into ``path`` or a temporary file. The page follows within
        seconds, and ends with the Python process or with ``close`` of the returned object.
        """
        live = self.record(path)
        return _View(live, browser)


class LiveRecording:
    """A recording of a simulation while it is made; see :meth:`Simulation.record`."""

    def __init__(self, simulation: Loop, writer: RecordingWriter, every: int) -> None:
        self._simulation, self._writer = simulation, writer
        try:
            simulation.attach(writer, every)
        except BaseException:
            writer.close()
            raise

    def __enter__(self) -> LiveRecording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is not None and issubclass(kind, WriteError):
            self._simulation.drop(self._writer)  # the file is closed already, with all flushed data
            self._writer.close()
            return
        self._end()

    def __repr__(self) -> str:
        return f"LiveRecording('{self.path}', {'going on' if self.is_going_on else 'stopped'})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._writer.path

    @property
    def is_going_on(self) -> bool:
        """Whether steps are still recorded."""
        return self._simulation.is_attached(self._writer)

    def flush(self) -> None:
        """Put the steps so far on disk, where a viewer sees them."""
        self._writer.flush()

    def stop(self) -> Recording:
        """Keep the last step, close the file, and open it for reading."""
        self._end()
        return Recording(self.path)

    def _end(self) -> None:
        if not self.is_going_on:
            return
        try:
            self._simulation.detach(self._writer)
        finally:
            self._writer.close()


class _View(ViewerProcess):
    """Viewer page of a simulation; closing it ends the recording."""

    def __init__(self, live: LiveRecording, browser: bool) -> None:
        self._live = live
        live.flush()
        super().__init__(live.path, since=live.path.stat().st_mtime - 1.0, browser=browser)

    def close(self) -> None:
        """End the page and the recording."""
        super().close()
        self._live.stop().close()


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
    ranks: Ranks | None = None,
) -> Recording:
    """Run a scene and return its recording.

    Parameters
    ----------
    scene : Scene
        The scene; its ``run`` supplies the defaults.
    duration, dt : float
        Time to simulate and time step (s).
    solver : Solver, optional
        Method for the contact problems; :data:`clapas.dynamics.defaults.STEP_SOLVER` by default.
    out : path, optional
        The file to write; by default one in a new temporary folder, which is not removed (see its ``path``).
    every : int
        Steps between two frames.
    on_unsolved : "raise" or "record"
        Action if a contact problem stays above the tolerance.
    scheme : MoreauJean, optional
        Moreau's midpoint scheme by default.
    sleeping : Sleeping, optional
        When bodies may sleep (see :mod:`clapas.dynamics.sleep`); never by default.
    progress : callable, optional
        Called after each step; return True to stop.
    ranks : Ranks, optional
        Processes of MPI to run on; all call this together, and each gets the recording, which rank 0 writes.

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
    if not isinstance(scene, Scene):
        raise SettingsError(
            f"expected a scene to simulate, got {repr(scene)[:80]}: clapas.Scene.load(file) reads one from a "
            "file"
        )
    run = scene.run
    duration = run.duration if duration is None else duration
    dt, every = run.dt if dt is None else dt, run.every if every is None else every
    if duration is None or dt is None:
        raise SettingsError(
            "how long, and by which step? Give duration and dt (--duration and --dt in the shell), or set "
            "them in scene.run ([run] in a scene file)"
        )
    check_methods(scheme, sleeping)
    settings = {
        "duration": duration,
        "on_unsolved": on_unsolved or run.on_unsolved,
        "solver": to_plain(solver or named_solver(run.solver)),
        "scheme": to_plain(scheme or named_scheme(run.scheme)),
        "sleeping": to_plain(sleeping or named_sleeping(run.sleeping)),
    }
    check_run(duration, dt, every, settings["on_unsolved"])
    path = _place(out) if ranks is None else _agreed(ranks, out)
    is_usual = ranks is None and not is_launched()
    with compiling_ahead(_usual(scene, from_plain(settings["solver"])) if is_usual else None):
        model = compile_scene(scene)
        if model.n_bodies == 0 and not model.systems:
            raise SceneError("the scene has no bodies: add one, there is nothing to simulate")
        if ranks is not None:
            check_model(model, from_plain(settings["scheme"]), ranks)

        def writer() -> RecordingWriter:
            return RecordingWriter(path, model, dt=dt, every=every, settings=settings, scene=_source(scene))

        return _run(writer, model, path, settings, dt, every, progress, ranks=ranks)


def _usual(scene: Scene, solver: Solver) -> Usual | None:
    """Which kernels a run will need, where that is known beforehand: rigid bodies, solved by sweeps."""
    if scene.d != 3 or scene.systems or scene.joints or not isinstance(solver, Auto | NSGS):
        return None
    return "few" if len(scene.bodies) < MANY and not scene.sources else "many"


def resume(
    path: str | os.PathLike[str],
    duration: float | None = None,
    *,
    scene: Scene | None = None,
    progress: Watcher | None = None,
    ranks: Ranks | None = None,
) -> Recording:
    """Resume a recording that was interrupted or is to be extended.

    The run continues to the same bits as if it had not been interrupted: from the last complete
    frame, with the same scene, step, solver and scheme. A run on several ranks can be resumed
    on any number of ranks; domains are cut anew, so the last digits differ.

    Parameters
    ----------
    path : path
        The recording; it is extended in place.
    duration : float, optional
        New time to simulate from the start of the run (s); by default its set duration.
    scene : Scene, optional
        The scene of the run: needed if it holds Python functions, which files cannot store.
    progress : callable, optional
        Called after each step; return True to stop.
    ranks : Ranks, optional
        Processes of MPI, as in :func:`simulate`.

    Raises
    ------
    FormatError
        The file is damaged: its numbers do not match their checksums.
    WriteError
        The disk is full, or another process writes the recording.
    """
    path = Path(path)
    with Recording(path) as old:
        if scene is None and not old.scene_source:
            raise FormatError(
                f"{path}: its scene holds functions of Python and is not in the file: give it, "
                f"clapas.resume('{path}', scene=…)"
            )
        if old.n_frames == 0:
            raise FormatError(f"{path}: no frame is complete; start again from the scene")
        settings = old.settings if duration is None else {**old.settings, "duration": duration}
        if settings["duration"] is None:
            raise SettingsError(
                f"{path}: it was made step by step, by no run of known length; how long is it to last, "
                f"counted from its start? Give duration"
            )
        dt, every, last = old.dt, old.every, old.frame(-1)
        # All checks come before the first write: the file changes as a whole or not at all.
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
        source = old.scene_source
        if ranks is not None:
            check_model(model, from_plain(settings["scheme"]), ranks)
            ranks.comm.Barrier()  # all ranks have read before rank 0 writes

    def writer() -> RecordingWriter:
        with Recording(path) as old:
            new_writer = RecordingWriter(path, model, dt=dt, every=every, settings=settings, scene=source)
            new_writer.copy(_with_readings(old, new_writer))
        return new_writer

    return _run(writer, model, path, settings, dt, every, progress, last, ranks)


def _with_readings(
    old: Recording, writer: RecordingWriter
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The frames of a recording; the readings of each are passed to the writer first."""
    times, values = old.readings()
    noted = 0
    for frame, contacts in old.stored():
        for row in range(noted, min(int(frame["step"]) + 1, len(times))):
            writer.note(Reading(times[row], values[row]))
            noted = row + 1
        yield frame, contacts


def _check_same(old: Recording, model: Model) -> None:
    """Reject a file whose scene does not match the bodies of its frames."""
    stored = old.model
    same = model.names == stored.names and all(
        np.allclose(getattr(model, name), getattr(stored, name), rtol=1e-6, atol=0.0)  # tolerates rounding
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
    writer: Callable[[], RecordingWriter],
    model: Model,
    path: Path,
    settings: dict[str, Any],
    dt: float,
    every: int,
    progress: Watcher | None,
    last: Frame | None = None,
    ranks: Ranks | None = None,
) -> Recording:
    """Run a model with the recorder that ``writer`` opens; on several ranks, rank 0 writes."""
    arguments: dict[str, Any] = {
        "scheme": from_plain(settings["scheme"]),
        "sleeping": from_plain(settings.get("sleeping")),
        "every": every,
        "on_unsolved": settings["on_unsolved"],
        "state": last.state if last else None,
        "work": last.work if last else 0.0,
        "given": last.given if last else 0.0,
        "progress": progress,
    }
    duration, solver = settings["duration"], from_plain(settings["solver"])
    if ranks is None:
        with writer() as recorder:
            run_model(model, duration, dt, solver, recorder=recorder, **arguments)
        return Recording(path)
    opened, failure = None, None
    try:
        opened = writer() if ranks.rank == 0 else None
    except Exception as error:  # the other ranks must not wait for this one
        failure = error
    ranks.agree(failure)
    with opened or nullcontext():
        simulate_on_ranks(model, duration, dt, ranks, solver, recorder=opened, **arguments)
    ranks.comm.Barrier()  # the file is closed before any rank opens it
    return Recording(path)


def _agreed(ranks: Ranks, out: str | os.PathLike[str] | None) -> Path:
    """The file of rank 0."""
    return Path(ranks.comm.bcast(_place(out) if ranks.rank == 0 else None))


def _place(out: str | os.PathLike[str] | None) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="clapas-")) / "run.h5"
    try:
        path = Path(out)
        folder = path.resolve().parent
        is_folder, has_folder = path.is_dir(), folder.is_dir()
    except (TypeError, ValueError) as error:  # not a path, or with a NUL in it
        raise SettingsError(f"out: expected the name of a file, got {out!r:.60} ({error})") from None
    except OSError as error:
        raise WriteError(f"out: '{out!s:.60}' cannot be the name of a file: {error.strerror}") from None
    if is_folder:
        raise WriteError(f"'{out}' is a folder: name the file to write, such as run.h5")
    if not has_folder:
        raise SettingsError(f"out: there is no folder '{folder}'; make it first")
    require_recording_name(path)
    return path


def _source(scene: Scene) -> str:
    """The scene as JSON; empty if it holds Python functions."""
    try:
        return json.dumps(scene.to_dict())
    except (SceneError, TypeError):
        return ""
