"""Reports of ``clapas truss`` on a structure and its states: text, JSON and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clapas.cli import output

if TYPE_CHECKING:
    from clapas.bodies.trusses import Truss
    from clapas.statics.trusses import Equilibrium

LARGE = 0.2  # displacement over structure size above which a warning is given
FEW = 12  # supports whose reactions are all printed
COLUMNS = tuple("group,kind,members,smallest force,largest force,utilisation,by,slack,failed".split(","))


def warnings(structure: Truss, stability: Any, states: list[Equilibrium]) -> list[str]:
    """Warnings on states: missing supports and strengths, what is not solved, large displacements."""
    import numpy as np

    lines, free = [], stability.kinematics.rigid.shape[1]
    if free and structure.is_blocked.any():
        freedoms = f"{free} way{'s' * (free != 1)}"
        lines.append(f"the supports leave the whole free to move in {freedoms}: one may be missing")
    weak = [group.name for group in structure.groups if not np.isfinite(group.material.yield_stress)]
    if weak:
        lines.append(f"no yield_stress is given for {', '.join(weak)}: yield is not checked there")
    solid = _taken_as_solid(structure, states)
    if solid:
        lines.append(
            f"bars of {', '.join(solid)} are checked for buckling as solid round ones of their area: give "
            "inertia, or diameter and thickness, if they are not"
        )
    size = float(np.ptp(structure.nodes, axis=0).max())
    for state in states:
        if not state.status.is_solved:
            lines.append(
                f"{state.case or 'without loads'}: not solved, its numbers are those of the last iteration"
                f"{'. ' * bool(state.remark)}{state.remark}"
            )
        share = state.largest_displacement / size
        if share > LARGE:
            lines.append(
                f"{state.case or 'without loads'}: a node moves by {share:.0%} of the size of the structure, "
                "into another shape: look for a mechanism, a slack cable, a load beyond the critical one, or "
                "one in the wrong unit"
            )
    return lines


def _taken_as_solid(structure: Truss, states: list[Equilibrium]) -> list[str]:
    """Groups of bars that fail by buckling with the second moment of area of a solid round section."""
    import numpy as np

    from clapas.statics.trusses import check_members

    names = []
    for group in structure.groups:
        is_solid = np.isclose(
            group.section.inertia, group.section.area**2 / (4.0 * np.pi), rtol=1e-9, atol=0.0
        )
        members = structure.members_of(group.name)
        fails = any((check_members(state).buckling[members] > 1.0).any() for state in states)
        if is_solid and fails:
            names.append(group.name)
    return names


def show(structure: Truss, at_rest: Any, states: list[Equilibrium], modes: int) -> None:
    """Print the structure, its state at rest, and forces, checks and reactions of each case."""
    print(structure)
    rows = [
        ("self-stress states", f"{at_rest.kinematics.n_self_stress}"),
        (
            "mechanisms",
            f"{at_rest.kinematics.internal.shape[1]} internal, {at_rest.kinematics.rigid.shape[1]} rigid",
        ),
        (
            "at rest",
            f"{'stable' if at_rest.is_stable else 'unstable'}, smallest stiffness {at_rest.smallest:.4g} N/m",
        ),
    ]
    if modes:
        densities = ", ".join(f"{g.name} {g.material.density:g}" for g in structure.groups)
        rows.append(("mass", f"{structure.mass.sum():.4g} kg, of members alone ({densities} kg/m³)"))
        rows.append(("frequencies", "  ".join(f"{f:.4g}" for f in _frequencies(structure, modes)) + " Hz"))
    output.print_rows(rows)
    for state in states:
        print(f"\n{state}")
        print(f"largest displacement {1e3 * state.largest_displacement:.4g} mm")
        _show_members(state)
        _show_reactions(state)


def _show_members(state: Equilibrium) -> None:
    from clapas.statics.trusses import check_members

    checks = check_members(state)
    rows = [[_cell(row[column]) for column in COLUMNS] for row in checks.by_group()]
    output.print_table([f"{name} (N)" if name.endswith("force") else name for name in COLUMNS], rows)
    if len(checks.failed):
        worst = int(checks.failed[checks.utilisation[checks.failed].argmax()])
        cause = "buckles" if checks.buckling[worst] > checks.yielding[worst] else "yields"
        print(
            f"{len(checks.failed)} members fail; member {worst} {cause} first: its force is "
            f"{checks.utilisation[worst]:.2f} times what it bears."
        )


def _show_reactions(state: Equilibrium) -> None:
    """Print the support reactions; with many supports only their sum and the largest."""
    import numpy as np

    truss = state.truss
    supported: list[int] = np.flatnonzero(truss.is_blocked.any(axis=1)).tolist()
    if not supported:
        return
    axes = "xyz"[: truss.d]
    rows = [("all", state.reactions.sum(axis=0))]
    if len(supported) <= FEW:
        rows = [(truss.label(node), state.reactions[node]) for node in supported] + rows
    else:
        worst = supported[int(np.argmax(np.linalg.norm(state.reactions[supported], axis=1)))]
        rows = [(f"{truss.label(worst)}, the largest of {len(supported)}", state.reactions[worst]), *rows]
    small = 1e-9 * float(np.abs(state.forces).max(initial=0.0))
    cells = [[name, *(f"{0.0 if abs(f) < small else f:.6g}" for f in force)] for name, force in rows]
    output.print_table(["reaction at", *(f"{axis} (N)" for axis in axes)], cells)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _frequencies(structure: Truss, count: int) -> list[float]:
    from clapas.bodies.trusses import modes

    return [float(f) for f in modes(structure, min(count, structure.n_dof)).frequencies]


def document(structure: Truss, stability: Any, states: list[Equilibrium], modes: int) -> dict[str, Any]:
    """The report as a dictionary for JSON."""
    from clapas.statics.trusses import check_members

    return {
        "structure": repr(structure),
        "self_stress": stability.kinematics.n_self_stress,
        "mechanisms": stability.kinematics.internal.shape[1],
        "rigid_motions": stability.kinematics.rigid.shape[1],
        "is_stable": stability.is_stable,
        "frequencies": _frequencies(structure, modes) if modes else None,
        "cases": [
            {**state.as_dict(), "groups": check_members(state).by_group(), "reactions": _reactions(state)}
            for state in states
        ],
    }


def _reactions(state: Equilibrium) -> dict[str, list[float]]:
    truss, forces = state.truss, state.reactions.tolist()
    return {truss.label(node): forces[node] for node in range(truss.n_nodes) if truss.is_blocked[node].any()}
