"""``clapas info FILE``: contents of a file and the residual of its stored solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import blocks, known, output, progress, run
from clapas.cli.anatomy import Anatomy, dissect
from clapas.cli.source import FILE_HELP, HoldsLCP, Kind, Source, load

if TYPE_CHECKING:
    from clapas.io import ProblemFile, StoredSolution
    from clapas.io.lcp import LCPFile
    from clapas.problems import ContactProblem
    from clapas.problems.lcp import LCP
    from clapas.scenes.robots import Robot

SINGULAR = 1e16  # condition number beyond which W is singular to rounding
FORMATS = {"fclib": "FCLib (HDF5)", "siconos": "Siconos text"}
LCP_FORMATS = {"hdf5": "HDF5", "npz": "NPZ", "matrix-market": "Matrix Market", "text": "Siconos text"}


def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    kind: Annotated[Kind, typer.Option(help="What to expect in the file.")] = Kind.AUTO,
    symmetrise: Annotated[
        bool, typer.Option("--symmetrise", help="Replace an asymmetric matrix by its symmetric part.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare all numbers of a recording with its checksums.")
    ] = False,
    scale: Annotated[
        float | None, typer.Option(help="Metres per unit of a file of blocks: 0.001 for millimetres.")
    ] = None,
    up: Annotated[
        str | None, typer.Option(help="Axis of a file of blocks that points upwards: x, y or z.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain a file and measure its answer.

    Sizes, densities and structure of the problem, what its author wrote, and the residual of the
    stored solution, measured anew; of a linear complementarity problem too. Of a recording: what ran, how
    long, and how well it was solved. Of a robot (.urdf, .xml): links, joints, motors, and what of the file
    is not used. Of a file of blocks (.obj, .stl, .ply, .glb, .dxf, .json): their names, sizes and forms.
    """
    from clapas.errors import SettingsError
    from clapas.io.recording import Recording, is_recording
    from clapas.scenes.robots import is_robot_file, read_robot

    path_of_blocks = blocks.found(file)
    if path_of_blocks is not None:
        blocks.show(path_of_blocks, file, as_json, scale, up)
        return
    if scale is not None or up is not None:
        raise SettingsError(f"--scale and --up are for files of blocks; {file} is none")
    if is_recording(file):
        with Recording(file) as recording:
            checked = {"verified_frames": recording.verify()} if verify else {}
            if as_json:
                output.print_json(run.describe(recording) | checked)
                return
            run.print_summary(recording)
            if checked:
                print(_verified(checked["verified_frames"]))
        return
    if is_robot_file(file):
        show_robot(read_robot(file), as_json)
        return
    try:
        problem, lcp = load(file, kind, symmetrise), None
    except HoldsLCP as error:
        problem, lcp = None, error.file
    if verify:
        raise SettingsError(f"--verify is for recordings; {file} is none")
    if problem is not None:
        show(problem, as_json)
    elif lcp is not None:
        show_lcp(file, lcp, as_json)


def _verified(frames: int) -> str:
    if frames:
        return f"verified: {frames} frames and the model match their checksums"
    return "no checksums (made by an earlier version): structure and ranges were checked"


def show_robot(robot: Robot, as_json: bool) -> None:
    """Print what is known about a robot: links, joints, motors, and what of its file is not used."""
    if as_json:
        output.print_json(
            {
                "robot": robot.name,
                "format": robot.format,
                "links": [link.name for link in robot.links],
                "mass": sum(link.inertia.mass for link in robot.links if link.inertia is not None),
                "joints": [
                    {"name": joint.name, "kind": joint.kind, "limits": joint.limits, "effort": joint.effort}
                    for joint in robot.joints
                ],
                "tendons": [{"name": one.name, "links": [one.a, one.b]} for one in robot.stretches],
                "motors": [asdict(motor) for motor in robot.actuators],
                "notes": robot.notes,
            }
        )
        return
    masses = [link.inertia.mass for link in robot.links if link.inertia is not None]
    shapes = sum(len(link.collisions) for link in robot.links)
    rows = [
        ("robot", f"{robot.name} ({robot.format})"),
        ("links", f"{len(robot.links)}, {len(masses)} with mass, {sum(masses):.6g} kg in all"),
        ("shapes", f"{shapes}"),
    ]
    for joint in robot.joints:
        limits = "" if joint.limits is None else f", {joint.limits[0]:g} to {joint.limits[1]:g}"
        rows.append((f"joint {joint.name}", f"{joint.kind} of {joint.parent} and {joint.child}{limits}"))
    rows += [(f"tendon {one.name}", f"from {one.a} to {one.b}") for one in robot.stretches]
    rows += [(f"motor {motor.name}", f"{motor.kind} on {motor.joint}") for motor in robot.actuators]
    output.print_rows([*rows, *(("note", note) for note in robot.notes)])


def show_lcp(name: str, file: LCPFile, as_json: bool) -> None:
    """Print what is known about a linear complementarity problem, and what to do with it."""
    import numpy as np

    problem, whole = file.problem, file.whole
    filled, residual = _filled(problem), None if file.z is None else problem.residual(file.z)
    document = {
        "source": name,
        "kind": "lcp",
        "format": file.format,
        "unknowns": problem.size,
        "sparse": problem.is_sparse,
        "density": filled,
        "free": float(np.linalg.norm(problem.q)),
        "stands_for": None if whole is None else repr(whole),
        "residual": residual,
        "comment": file.comment,
        "command": output.typed("lcp", name),
    }
    if as_json:
        output.print_json(document)
        return
    stored = "none stored" if residual is None else f"z stored; residual measured {residual:.3e}"
    rows = [
        ("file", name),
        ("format", f"{LCP_FORMATS[file.format]}, linear complementarity problem w = M z + q, 0 ≤ w ⟂ z ≥ 0"),
        ("unknowns", str(problem.size)),
        (
            "M",
            f"{'sparse' if problem.is_sparse else 'dense'}, {100 * filled:.3g} % of it filled",
        ),
        ("|q|", f"{document['free']:.4g}"),
        ("solution", stored),
    ]
    if whole is not None:
        rows.insert(2, ("stands for", repr(whole)))
    if file.comment:
        rows.append(("comment", file.comment))
    output.print_rows([*rows, ("solve it by", output.typed("lcp", name))])


def _filled(problem: LCP) -> float:
    """Share of the entries of M that are not zero."""
    import numpy as np
    from scipy import sparse

    M = problem.M
    filled = M.count_nonzero() if isinstance(M, sparse.csr_array) else np.count_nonzero(M)
    return float(filled) / max(1, problem.size) ** 2


def show(source: Source, as_json: bool) -> None:
    """Print what is known about a problem."""
    with progress.telling_of_compilation():
        document = describe(source)
    if as_json:
        output.print_json(document)
    else:
        output.print_rows(_rows(source, document))


def describe(source: Source) -> dict[str, Any]:
    """Description of a problem for JSON output."""
    file, entry = source.file, source.entry
    document: dict[str, Any] = {"source": source.name, "problem": asdict(dissect(source.problem))}
    if file is not None:
        document |= _of_file(file)
    if entry is not None:
        document["gallery"] = known.as_dict(entry)
    return document | {"notes": source.notes}


def _of_file(file: ProblemFile) -> dict[str, Any]:
    solution = None if file.solution is None else _measured(file.problem, file.solution)
    return {
        "path": file.path,
        "format": file.format,
        "kind": file.kind,
        "info": asdict(file.info),
        "solution": solution,
        "guesses": [_measured(file.problem, guess) for guess in file.guesses],
    }


def _measured(problem: ContactProblem, solution: StoredSolution) -> dict[str, Any]:
    """Residual of a stored solution, and the largest difference between its u and W r + q (m/s)."""
    import numpy as np

    stored = [name for name in ("r", "u", "v") if getattr(solution, name) is not None]
    velocity_error = None
    if solution.u is not None:
        velocity_error = float(np.max(np.abs(solution.u - problem.velocity(solution.r)), initial=0.0))
    return {"stored": stored, "residual": problem.residual(solution.r), "velocity_error": velocity_error}


# -------------------------------------------------------------------- text output


def _rows(source: Source, document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    anatomy = Anatomy(**document["problem"])
    if str(getattr(source.file, "path", "")) != source.name:
        yield "problem", source.name
    if source.file is not None:
        yield from _file_rows(source.file, document)
    if source.entry is not None:
        yield "description", source.entry.description
        yield "reference", source.entry.reference or "elementary"
        yield "known", known.in_words(source.entry.known)
        if source.entry.known.continuum is not None:
            yield "continuum", source.entry.known.continuum.description
    yield from _anatomy_rows(anatomy)
    if source.file is not None:
        yield "solution", _solution_words(document["solution"])
        for number, guess in enumerate(document["guesses"], start=1):
            yield f"guess {number}", _solution_words(guess)
    for text in source.notes:
        yield "note", text


def _file_rows(file: ProblemFile, document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", str(file.path)
    yield "format", f"{FORMATS[file.format]}, {file.kind} problem"
    for name in ("title", "description", "math_info"):
        text = document["info"][name].strip()
        if text:
            yield name.replace("_", " "), text
    for name, value in document["info"]["attributes"].items():
        yield name, f"{value:g}"


def _anatomy_rows(anatomy: Anatomy) -> Iterator[tuple[str, str]]:
    yield "form", f"{anatomy.form} ({'M, H, f, w' if anatomy.form == 'global' else 'W, q'})"
    yield "contacts", f"{anatomy.contacts} in {anatomy.d}-D, {anatomy.approaching} approaching"
    if anatomy.dofs is not None:
        yield "dofs", str(anatomy.dofs)
    yield "mu", _range_words(anatomy.mu)
    yield "law", anatomy.law
    yield "|q|", f"{anatomy.free_velocity:.4g}"
    yield "W_ii", f"mean diagonal {_range_words(anatomy.response)}"
    yield "density", ", ".join(f"{name} {100 * share:.3g} %" for name, share in anatomy.density.items())
    if anatomy.ratio is not None:
        yield "n d / m", f"{anatomy.ratio:.3g}"
    if anatomy.condition is not None:
        singular = anatomy.condition > SINGULAR
        yield "condition", "W is singular to rounding" if singular else f"W {anatomy.condition:.2g}"
    yield "asymmetry", ", ".join(f"{name} {value:.2g}" for name, value in anatomy.asymmetry.items())
    if anatomy.mass_blocks is not None:
        yield "M", _block_words(anatomy.mass_blocks)
    yield "components", str(anatomy.components)


def _range_words(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "none"
    low, high = ends
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def _block_words(sizes: dict[int, int]) -> str:
    words = [f"{count} of {size}×{size}" for size, count in sizes.items()]
    if len(words) > 4:
        words[2:-1] = ["…"]
    return f"block diagonal: {', '.join(words) or 'no block'}"


def _solution_words(solution: dict[str, Any] | None) -> str:
    if solution is None:
        return "none stored"
    words = f"{', '.join(solution['stored'])} stored; residual measured {solution['residual']:.3e}"
    if solution["velocity_error"] is not None:
        words += f"; stored u misses that of r by {solution['velocity_error']:.2g} m/s"
    return words
