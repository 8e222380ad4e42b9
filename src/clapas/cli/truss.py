"""``clapas truss FILE``: equilibrium of bars and cables, member checks and a picture."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import output

if TYPE_CHECKING:
    from clapas.bodies.trusses import Truss
    from clapas.statics.trusses import Equilibrium

LARGE = 0.2  # displacement over the size of a structure from which its shape is another one
SHIPPED = {
    "module": "module",
    "grid": "grid",
    "kite": "kite",
    "mast": "guyed_mast",
    "mast3d": "guyed_mast_3d",
    "prism": "prism",
    "prisms": "mast_of_prisms",
    "ball": "six_strut_ball",
    "sphere": "geodesic_sphere",
    "net": "cable_net",
}
FILE_HELP = (
    "TOML, JSON, nodes.csv (with members.csv), DXF, COMPAS JSON or a mesh; or a shipped structure ('list' "
    "names them)."
)


def truss(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    case: Annotated[str | None, typer.Option(help="Load case; all of them by default.")] = None,
    model: Annotated[str, typer.Option(help="'large' or 'small' displacements.")] = "large",
    factor: Annotated[float, typer.Option(help="Multiplies the loads.")] = 1.0,
    modes: Annotated[int, typer.Option(help="Print so many natural frequencies.")] = 0,
    length: Annotated[str | None, typer.Option(help="Unit of drawings and meshes: m, mm…")] = None,
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
    from clapas.analysis.trusses import save_chart, save_motion, save_picture
    from clapas.bodies.trusses import Unstable, require_stable, stability
    from clapas.errors import SettingsError
    from clapas.io.trusses import read_truss, write_result, write_truss
    from clapas.statics.trusses import LargeDisplacements, SmallDisplacements

    if file == "list":
        output.print_table(("name", "what it is", "parameters"), _shipped())
        return
    methods: dict[str, Any] = {"large": LargeDisplacements(), "small": SmallDisplacements()}
    if model not in methods:
        raise SettingsError(f"--model must be 'large' or 'small', got '{model}'")
    structure = _make(file, assignments or []) if file in SHIPPED else read_truss(file, length=length)
    structure = _loaded(structure, tension, load, self_weight)
    cases: list[str | None] = [case] if case is not None else list(structure.cases) or [None]
    try:
        # Loads may carry a soft structure to a shape that holds them; without loads nothing would.
        found = stability(structure) if structure.cases else require_stable(structure, may_float=True)
        states = [methods[model].solve(structure, each, factor=factor, check=False) for each in cases]
    except Unstable as error:
        if picture is not None:
            save_motion(picture, structure, error.mechanism)
            output.note(f"the mechanism is drawn in {picture}")
        raise
    if picture is not None:
        save_picture(picture, states[-1], scale)
    if chart is not None:
        save_chart(chart, states)
    if out is not None:
        write_truss(out, structure) if out.suffix == ".json" else write_result(out, states[-1])
    for line in _warnings(structure, found, states):
        output.note(line)
    if as_json:
        output.print_json(_document(structure, found, states, modes))
    else:
        _print_report(structure, found, states, modes)
    raise typer.Exit(0 if all(state.status.is_solved for state in states) else 1)


def _warnings(structure: Truss, found: Any, states: list[Equilibrium]) -> list[str]:
    """What a reader of solved states should know: missing supports and strengths, large displacements."""
    import numpy as np

    lines, free = [], found.kinematics.rigid.shape[1]
    if free and structure.is_blocked.any():
        ways = f"{free} way{'s' * (free != 1)}"
        lines.append(f"the supports leave the whole free to move in {ways}: one may be missing")
    weak = [group.name for group in structure.groups if not np.isfinite(group.material.yield_stress)]
    if weak:
        lines.append(f"no yield_stress is given for {', '.join(weak)}: yield is not checked there")
    size = float(np.ptp(structure.nodes, axis=0).max())
    for state in states:
        share = state.largest_displacement / size
        if share > LARGE:
            lines.append(
                f"{state.case or 'without loads'}: a node moves by {share:.0%} of the size of the structure, "
                "into another shape: look for a mechanism, a slack cable, or a load in the wrong unit"
            )
    return lines


def _loaded(structure: Truss, tension: float | None, load: float | None, self_weight: bool) -> Truss:
    """The structure with what the options add to its file: prestress, a load, its weight."""
    import numpy as np

    from clapas.bodies.trusses import feasible_self_stress

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


def _make(name: str, assignments: list[str]) -> Truss:
    """A shipped structure with its parameters."""
    from clapas.bodies.trusses import generators
    from clapas.errors import SettingsError

    maker = getattr(generators, SHIPPED[name])
    known = inspect.signature(maker).parameters
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or key not in known:
            raise SettingsError(f"--set {assignment}: expected KEY=VALUE with a key among {', '.join(known)}")
        kind = str(known[key].annotation)
        try:
            if kind.startswith("bool"):
                values[key] = {"true": True, "false": False}[text.lower()]
            elif kind.startswith("int"):
                values[key] = int(text)
            elif kind.startswith("float"):
                values[key] = float(text)
            else:
                values[key] = text
        except (ValueError, KeyError):
            raise SettingsError(f"--set {assignment}: '{text}' is no {kind.split(' ')[0]}") from None
    missing = [key for key, each in known.items() if each.default is each.empty and key not in values]
    if missing:
        raise SettingsError(f"'{name}' needs --set {missing[0]}=VALUE")
    made: Truss = maker(**values)
    return made


def _shipped() -> list[tuple[str, str, str]]:
    from clapas.bodies.trusses import generators

    makers = {name: getattr(generators, label) for name, label in SHIPPED.items()}
    return [
        (name, (inspect.getdoc(maker) or "").splitlines()[0], ", ".join(inspect.signature(maker).parameters))
        for name, maker in makers.items()
    ]


def _print_report(structure: Truss, found: Any, states: list[Equilibrium], modes: int) -> None:
    from clapas.statics.trusses import check_members

    print(structure)
    rows = [
        ("self-stress states", f"{found.kinematics.n_self_stress}"),
        (
            "mechanisms",
            f"{found.kinematics.internal.shape[1]} internal, {found.kinematics.rigid.shape[1]} rigid",
        ),
        (
            "at rest",
            f"{'stable' if found.is_stable else 'unstable'}, smallest stiffness {found.smallest:.4g} N/m",
        ),
    ]
    if modes:
        rows.append(("frequencies", "  ".join(f"{f:.4g}" for f in _frequencies(structure, modes)) + " Hz"))
    output.print_rows(rows)
    for state in states:
        print(f"\n{state}")
        print(f"largest displacement {1e3 * state.largest_displacement:.4g} mm")
        checks = check_members(state)
        columns = (
            "group",
            "kind",
            "members",
            "smallest force",
            "largest force",
            "utilisation",
            "by",
            "slack",
            "failed",
        )
        output.print_table(columns, [[_cell(row[column]) for column in columns] for row in checks.by_group()])
        if len(checks.failed):
            worst = int(checks.failed[checks.utilisation[checks.failed].argmax()])
            cause = "buckles" if checks.buckling[worst] > checks.yielding[worst] else "yields"
            print(f"{len(checks.failed)} members fail; member {worst} {cause} first: its force is "
                  f"{checks.utilisation[worst]:.2f} times what it bears.")  # fmt: skip


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _frequencies(structure: Truss, count: int) -> list[float]:
    from clapas.bodies.trusses import modes

    return [float(f) for f in modes(structure, min(count, structure.n_dof)).frequencies]


def _document(structure: Truss, found: Any, states: list[Equilibrium], modes: int) -> dict[str, Any]:
    from clapas.statics.trusses import check_members

    return {
        "structure": repr(structure),
        "self_stress": found.kinematics.n_self_stress,
        "mechanisms": found.kinematics.internal.shape[1],
        "rigid_motions": found.kinematics.rigid.shape[1],
        "is_stable": found.is_stable,
        "frequencies": _frequencies(structure, modes) if modes else None,
        "cases": [{**state.as_dict(), "groups": check_members(state).by_group()} for state in states],
    }
