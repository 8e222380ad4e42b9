"""``clapas run SCENE``: simulate a scene into a recording."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import blocks, output, parameters, settings
from clapas.cli.progress import telling_of_compilation
from clapas.cli.view import alongside
from clapas.errors import Error, FormatError, SceneError
from clapas.status import Status
from clapas.units import counted, in_dimension

if TYPE_CHECKING:
    from clapas.distributed.communication import Ranks
    from clapas.io.recording import Recording
    from clapas.scenes.recorders import StepProgress, Watcher
    from clapas.scenes.scene import Scene


def run(
    context: typer.Context,
    scene: Annotated[
        str,
        typer.Argument(
            metavar="SCENE",
            help="A scene (.toml, .yaml), a robot (.urdf, .xml), blocks (.obj, .stl, .ply, .glb, .dxf, "
            ".json), or an example by name.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Recording to write; by default NAME.h5 here.")] = None,
    duration: Annotated[float | None, typer.Option(help="Time to simulate (s).")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step (s).")] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Steps between two kept frames.")] = None,
    solver: Annotated[str | None, typer.Option(help="Method; 'clapas solvers' lists them.")] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the solver; may be repeated."),
    ] = None,
    tol: Annotated[float | None, typer.Option(help="Largest residual accepted.")] = None,
    on_unsolved: Annotated[
        str | None, typer.Option(help="'raise' or 'record' when a contact problem is not solved.")
    ] = None,
    sleeping: Annotated[
        float | None, typer.Option(metavar="SPEED", help="Hold bodies slower than so many radii per second.")
    ] = None,
    press: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A:B=FORCE",
            help="Body A presses on B with so many newtons at the start; may be repeated.",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write a PNG picture of the end.", callback=output.picture_path)
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Show the run in the browser while it goes on.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no report.")] = False,
) -> None:
    """Simulate a scene and record it. Ctrl-C ends the run after the current step and keeps all.

    Under mpirun the ranks share the bodies: mpirun -n 4 clapas run heap --out heap.h5.

    Further options are parameters of a shipped scene: clapas run heap --grains 3000 --mu 0.3. They are
    listed by 'clapas examples'. Blocks from a file (clapas run arch.obj --mu 0.6) take --mu, --density,
    --scale (metres per unit), --up x|y|z, --fixed NAME (a support; * for any letters), --nonconvex parts and
    --overlap (depth in metres that blocks may be in each other).
    """
    from clapas.dynamics.sleep import Sleeping
    from clapas.io import simulation
    from clapas.io.recording.layout import require_recording_name
    from clapas.scenes import examples
    from clapas.scenes.settings import named_solver

    ranks, leads = _ranks()
    with _ending_together(ranks):
        path_of_blocks = blocks.found(scene)
        if path_of_blocks is not None:
            chosen = blocks.scene(path_of_blocks, context.args)
        else:
            values = parameters.read(scene, context.args, examples.parameters(scene))
            chosen = examples.load(scene, **values)
        for pressing in press or ():
            _press(chosen, pressing)
        method = None  # the solver of the scene
        if solver:
            method = settings.make(solver, assignments or (), {"tol": tol})
        elif assignments or tol is not None:
            default_solver = named_solver(chosen.run.solver)
            method = settings.changed(default_solver, assignments or (), {"tol": tol})
        path = out or Path(f"{Path(path_of_blocks or scene).stem}.h5")
        require_recording_name(path)  # before a viewer is started
        if leads:
            _note_unfinished(path)
        with alongside(path, view and leads):
            with _reporting_failure(path, leads), _progress(quiet or not leads) as watch:
                recording = simulation.simulate(
                    chosen,
                    duration,
                    dt,
                    method,
                    out=path,
                    every=every,
                    on_unsolved=on_unsolved,  # type: ignore[arg-type]
                    sleeping=None if sleeping is None else Sleeping(speed=sleeping),
                    progress=watch,
                    ranks=ranks,
                )
            is_unfinished = leads and _finish(recording, picture, as_json, quiet)
    _exit_if_interrupted(is_unfinished, ranks)


def _press(scene: Scene, text: str) -> None:
    """Read A:B=FORCE, the names or numbers of two bodies and a force, one number or a vector."""
    pair, equals, force = text.rpartition("=")
    a, colon, b = pair.partition(":")
    try:
        numbers = [float(each) for each in force.split(",")]
    except ValueError:
        numbers = []
    if not (equals and colon and numbers):
        raise SceneError(f"--press takes A:B=FORCE, two bodies and newtons (or FX,FY,…), got '{text}'")
    first, second = (int(name) if name.isdecimal() else name for name in (a.strip(), b.strip()))
    scene.press(first, second, numbers[0] if len(numbers) == 1 else numbers)


def resume(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    duration: Annotated[float | None, typer.Option(help="New time to simulate, from the start (s).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no report.")] = False,
) -> None:
    """Go on with a recording, to the same bits as if it had not been interrupted."""
    from clapas.io import simulation

    ranks, leads = _ranks()
    with _ending_together(ranks):
        with _reporting_failure(recording, leads), _progress(quiet or not leads) as watch:
            extended = simulation.resume(recording, duration, progress=watch, ranks=ranks)
        is_unfinished = leads and _finish(extended, None, as_json, quiet)
    _exit_if_interrupted(is_unfinished, ranks)


def _ranks() -> tuple[Ranks | None, bool]:
    """The ranks started by mpirun (None without MPI), and whether this process is the one that prints."""
    from clapas.distributed import launch

    if not launch.is_launched():
        return None, True
    from clapas.distributed.communication import Ranks

    comm = launch.world()
    launch.share_processors(comm)
    return Ranks(comm), comm.rank == 0


@contextmanager
def _ending_together(ranks: Ranks | None) -> Iterator[None]:
    if ranks is None:
        yield
        return
    from clapas.distributed.launch import ending_together

    with ending_together(ranks.comm, output.BAD_INPUT, passing=(typer.Exit,)):
        yield


def examples(
    scene: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Explain the parameters of this one.")
    ] = None,
) -> None:
    """List the scenes that come with the package, or the parameters of one of them."""
    from clapas.errors import unknown_name
    from clapas.scenes import examples as shipped

    if scene is not None:
        if scene not in shipped.names():
            raise unknown_name("shipped scene", scene, shipped.names())
        print(shipped.summary(scene), end="\n\n")
        known = shipped.parameters(scene).values()
        entries = [
            (f"--{p.name.replace('_', '-')}", f"{p.default:g}", str(p.range), p.range.meaning) for p in known
        ]
        output.print_table(("parameter", "default", "range", "meaning"), entries)
        return
    rows = [
        (
            name,
            shipped.summary(name),
            " ".join(f"--{key}" for key in shipped.parameters(name)).replace("_", "-"),
        )
        for name in shipped.names()
    ]
    output.print_table(("name", "what it shows", "parameters"), rows)
    print("\nclapas run NAME runs one; clapas examples NAME explains its parameters.")


def export(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    vtk: Annotated[Path | None, typer.Option(help="Folder for ParaView files (open the .pvd).")] = None,
    csv: Annotated[Path | None, typer.Option(help="Folder for plain tables.")] = None,
    fclib: Annotated[
        int | None, typer.Option(metavar="STEP", help="Write the contact problem of the step after this one.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="FCLib file to write.")] = None,
) -> None:
    """Export a recording for other programs."""
    from clapas.errors import SettingsError
    from clapas.io.recording import Recording

    if vtk is None and csv is None and fclib is None:
        raise SettingsError("nothing to export: give --vtk DIR, --csv DIR or --fclib STEP")
    with Recording(recording) as run:
        if vtk is not None:
            from clapas.io.vtk import export_vtk

            with output.writing(vtk):
                files = export_vtk(run, vtk)
            for path in files:
                print(path)
        if csv is not None:
            from clapas.io.tables import export_csv

            with output.writing(csv):
                files = export_csv(run, csv)
            for path in files:
                print(path)
        if fclib is not None:
            from clapas.io.replay import export_problem

            print(export_problem(run, fclib, out or recording.with_name(f"{recording.stem}-{fclib}.hdf5")))


def _finish(recording: Recording, picture: Path | None, as_json: bool, quiet: bool) -> bool:
    """Report on a run and close its recording; return whether it ended before its set duration."""
    with recording:
        if picture is not None:
            from clapas.viewer.pictures import snapshot

            with output.writing(picture):
                snapshot(recording, picture)
        if as_json:
            output.print_json(describe(recording) | {"picture": picture})
        elif not quiet:
            print_summary(recording)
            if picture is not None:
                print(f"picture of the end: {picture}")
        return _is_unfinished(recording, float(recording.times[-1]))


def _exit_if_interrupted(is_unfinished: bool, ranks: Ranks | None) -> None:
    """Exit with 130 after Ctrl-C; not under mpirun, which would take it for the failure of a rank."""
    if is_unfinished and ranks is None:
        raise typer.Exit(output.INTERRUPTED)


def describe(recording: Recording) -> dict[str, Any]:
    """Numbers that describe a recording."""
    if recording.n_frames == 0:
        raise FormatError(f"{recording.path}: no frame is complete; start again from the scene")
    import numpy as np

    last = recording.frame(-1)
    residual, iterations = recording.column("residual"), recording.column("iterations")
    started = int(recording.frame(0).state.step == 0)  # the initial frame belongs to no step
    worst = np.fmax(residual, recording.column("worst"))  # NaN in files of earlier versions
    return {
        "recording": recording.path,
        "frames": recording.n_frames,
        "bodies": recording.n_bodies,
        "d": recording.model.d,
        "systems": [
            {"name": each.name, "kind": each.kind, "velocities": each.n_dof} for each in recording.systems
        ],
        "steps": last.state.step,
        "time": last.state.time,
        "dt": recording.dt,
        "every": recording.every,
        "contacts": len(last.contacts),
        "kinetic": last.kinetic,
        "potential": last.potential,
        "work": last.work,
        "creates_energy": _creates_energy(recording, last.work, last.kinetic),
        "worst_residual": float(worst.max()),
        "mean_iterations": float(iterations[started:].mean()) if len(iterations) > started else 0.0,
        "unsolved_frames": int(np.count_nonzero(recording.column("status") != SOLVED)),
        "is_unfinished": _is_unfinished(recording, last.state.time),
        "probes": {name: _last(recording, name) for name in recording.probes},
        "settings": recording.settings,
        "clapas": recording.clapas_version,
    }


def _note_unfinished(path: Path) -> None:
    """Note that an unfinished run will be replaced; its file is kept until the first frames are written."""
    from clapas.io.recording import Recording, is_recording

    with suppress(Error, OSError):
        if path.exists() and is_recording(path):
            with Recording(path) as old:
                time = old.frame(-1).state.time if old.n_frames else 0.0
                if _is_unfinished(old, time):
                    goal = old.settings["duration"]
                    output.note(
                        f"{path} holds a run to t = {time:g} of {goal:g} s, which this one replaces; "
                        f"'{output.typed('resume', path)}' would go on with it"
                    )


SOLVED = tuple(Status).index(Status.SOLVED)


def _is_unfinished(recording: Recording, time: float) -> bool:
    """Whether the run ended before its set duration."""
    goal = recording.settings.get("duration")
    return goal is not None and time < goal - 0.5 * recording.dt * recording.every


ENERGY_ROUNDING = 1e-3  # work of contacts over kinetic energy that the solver tolerance may cause


def _creates_energy(recording: Recording, work: float, kinetic: float) -> bool:
    """Whether contacts with restitution did positive net work, beyond rounding and solver tolerance."""
    tables = recording.model.laws
    return bool(tables.has_restitution and work > ENERGY_ROUNDING * max(kinetic, 1e-300))


def print_summary(recording: Recording) -> None:
    """Print a summary of a recording."""
    info = describe(recording)
    print(f"{counted(info['bodies'], 'body', 'bodies')} in {info['d']}-D")
    for each in info["systems"]:
        print(f"  {each['kind']:20} '{each['name']}', {each['velocities']} degrees of freedom")
    print(f"  steps                {info['steps']} of {info['dt']:g} s, to t = {info['time']:g} s")
    print(f"  frames kept          {info['frames']} (one per {info['every']} steps)")
    print(f"  contacts at the end  {info['contacts']}")
    joules = in_dimension("J", info["d"])
    print(f"  kinetic energy       {info['kinetic']:.6g} {joules}")
    print(f"  work of the contacts {info['work']:.6g} {joules}")
    if info["creates_energy"]:
        print(
            "note: restitution gave energy to the bodies: the contacts did work on them in all. With long "
            "bodies "
            "Moreau's law does (2003, 6.2); restitution = 0 never does"
        )
    print(
        f"  worst residual       {info['worst_residual']:.2e}, mean {info['mean_iterations']:.1f} iterations"
    )
    if info["unsolved_frames"]:
        print(f"  above the tolerance  {info['unsolved_frames']} of the {info['frames']} frames kept")
    for name, value in info["probes"].items():
        numbers = value if isinstance(value, list) else [value]
        words = [*(f"{number:.6g}" for number in numbers), recording.probes[name].unit(info["d"])]
        print(f"  {name:<20} {' '.join(words).rstrip()}")
    print(f"recording: {info['recording']}")
    if info["is_unfinished"]:
        goal = info["settings"]["duration"]
        print(f"note: it was to go to t = {goal:g} s: '{output.typed('resume', info['recording'])}' goes on")


def _last(recording: Recording, name: str) -> Any:
    """Last value of a probe: a number or a list."""
    return recording.probe(name)[-1].tolist()


@contextmanager
def _reporting_failure(path: Path, leads: bool = True) -> Iterator[None]:
    """Exit with 1 if a contact problem was not solved, and print where the run is stored.

    Only the rank that ``leads`` prints.
    """
    from clapas.errors import NotSolved

    try:
        yield
    except NotSolved as failure:
        if not leads:
            raise typer.Exit(1) from None
        print(f"clapas: {failure}", file=sys.stderr)
        print(f"  The steps done are in {path}; a run with --on-unsolved record goes on.", file=sys.stderr)
        raise typer.Exit(1) from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Watcher | None]:
    """A progress bar on a terminal: steps, contacts, residual, time left."""
    if quiet:
        yield None
        return
    with telling_of_compilation(), output.as_notes():
        if not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps  t = {task.fields[time]:.4g} s"),
            TextColumn("{task.fields[contacts]} contacts  residual {task.fields[residual]:.1e}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("run", total=None, time=0.0, contacts=0, residual=0.0)

            def watch(advance: StepProgress) -> None:
                bar.update(
                    task,
                    total=advance.steps,
                    completed=advance.step,
                    time=advance.time,
                    contacts=advance.contacts,
                    residual=advance.residual,
                )

            yield watch
