"""``clapas truss FILE``: equilibrium of bars and cables, member checks and a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output, truss_report, truss_shipped
from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.bodies.trusses import Truss
    from clapas.statics.trusses import Equilibrium

FILE_HELP = (
    "TOML, JSON, nodes.csv (with members.csv), DXF, COMPAS JSON or a mesh; or a shipped structure ('list' "
    "names them)."
)


def truss(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    case: Annotated[str | None, typer.Option(help="Load case; all of them by default.")] = None,
    model: Annotated[str, typer.Option(help="'large' or 'small' displacements.")] = "large",
    factor: Annotated[float, typer.Option(help="Multiplies the loads.")] = 1.0,
    tol: Annotated[
        float,
        typer.Option(help="Largest force out of balance, relative to the largest of loads and members."),
    ] = 1e-10,
    modes: Annotated[int, typer.Option(help="Print so many natural frequencies.")] = 0,
    length: Annotated[str | None, typer.Option(help="Unit of drawings and meshes: m, mm…")] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="TOML with [groups.NAME]: kinds, materials, sections of layers of drawings."),
    ] = None,
    settle: Annotated[
        bool, typer.Option("--settle", help="Let it move to the shape in which its prestress balances.")
    ] = False,
    tension: Annotated[
        float | None,
        typer.Option(help="Prestress it: a feasible self-stress whose largest cable force is this (N)."),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(help="Add a case 'load': newtons along the last axis on every node that is free."),
    ] = None,
    self_weight: Annotated[
        bool, typer.Option("--self-weight", help="Add the weight of the members.")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A parameter of a shipped structure; may be repeated."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the state (of the last case) into this file.", callback=output.picture_path),
    ] = None,
    scale: Annotated[float, typer.Option(help="Multiplies the displacements in the picture.")] = 1.0,
    chart: Annotated[
        Path | None,
        typer.Option(
            help="Draw sorted cable forces of all cases, and utilisation (of the last one), here.",
            callback=output.picture_path,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the state (.vtp, .csv), or the structure (.json).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
) -> None:
    """Solve the equilibrium of a truss of bars and cables, and check its members.

    Exit code 0: solved; 1: not solved; 2: bad input, or a structure that nothing holds (with --picture its
    mechanism is drawn).
    """
    from clapas.io.trusses import write_result, write_truss

    if file == "list":
        output.print_table(("name", "what it is", "parameters"), truss_shipped.table())
        return
    if model not in ("large", "small"):
        raise SettingsError(f"--model must be 'large' or 'small', got '{model}'")
    structure = _read(file, assignments or [], groups, length)
    structure = _loaded(structure, tension, load, self_weight, settle)
    cases: list[str | None] = [case] if case is not None else list(structure.cases) or [None]
    rest_stability, states = _solved(structure, cases, model, factor, tol, picture)
    _draw(states, picture, scale, chart)
    if out is not None:
        write_truss(out, structure) if out.suffix == ".json" else write_result(out, states[-1])
    for line in truss_report.warnings(structure, rest_stability, states):
        output.note(line)
    if as_json:
        output.print_json(truss_report.document(structure, rest_stability, states, modes))
    else:
        truss_report.show(structure, rest_stability, states, modes)
    raise typer.Exit(0 if all(state.status.is_solved for state in states) else 1)


def _read(file: str, assignments: list[str], groups: Path | None, length: str | None) -> Truss:
    """A shipped structure, or one from a file."""
    from clapas.io.trusses import read_groups, read_truss

    if file in truss_shipped.SHIPPED:
        if groups is not None:
            raise SettingsError(f"--groups belongs to files that carry geometry only; '{file}' has sections")
        return truss_shipped.make(file, assignments)
    if assignments:
        raise SettingsError(f"--set {assignments[0]} belongs to shipped structures; '{file}' is a file")
    return read_truss(file, groups=None if groups is None else read_groups(groups), length=length)


def _solved(
    structure: Truss,
    cases: list[str | None],
    model: str,
    factor: float,
    tol: float,
    picture: Path | None,
) -> tuple[Any, list[Equilibrium]]:
    """Stability without loads, and the states of the cases; a mechanism is drawn into the picture."""
    from clapas.analysis.trusses import save_motion
    from clapas.bodies.trusses import Unstable, require_stable, stability
    from clapas.statics.trusses import LargeDisplacements, SmallDisplacements

    if not math.isfinite(factor):
        raise SettingsError(f"--factor must be a finite number, got {factor}")
    method = LargeDisplacements(tol=tol) if model == "large" else SmallDisplacements(tol=tol)
    try:
        # Under loads a soft structure may find a stable shape; without loads it must be stable already.
        rest_stability = (
            stability(structure) if structure.cases else require_stable(structure, may_float=True)
        )
        return rest_stability, [method.solve(structure, each, factor=factor, check=False) for each in cases]
    except Unstable as error:
        if picture is not None:
            save_motion(picture, structure, error.mechanism)
            output.note(f"the mechanism is drawn in {picture}")
        raise


def _draw(states: list[Equilibrium], picture: Path | None, scale: float, chart: Path | None) -> None:
    from clapas.analysis.trusses import save_chart, save_picture

    if picture is not None:
        save_picture(picture, states[-1], scale)
    if chart is not None:
        save_chart(chart, states)


def _loaded(
    structure: Truss, tension: float | None, load: float | None, self_weight: bool, settle: bool
) -> Truss:
    """The structure with the prestress, settled shape, load and self-weight set by the options."""
    import numpy as np

    from clapas.bodies.trusses import feasible_self_stress
    from clapas.statics import trusses

    if settle and tension is not None:
        raise SettingsError("--tension gives forces that balance in the given shape: drop --settle")
    if settle:
        structure = trusses.settle(structure)
    if tension is not None:
        structure = structure.with_(prestress=feasible_self_stress(structure, tension=tension))
    cases = dict(structure.cases)
    if load is not None:
        along = np.zeros(structure.nodes.shape)
        along[~structure.is_blocked[:, -1], -1] = load
        cases["load"] = cases.get("load", 0.0) + along
    if self_weight:
        weight = structure.self_weight()
        cases = {case: loads + weight for case, loads in cases.items()} or {"self-weight": weight}
    return structure.with_(cases=cases)
