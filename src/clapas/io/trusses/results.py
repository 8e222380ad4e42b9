"""States of trusses for other programs: VTK for ParaView, CSV for spreadsheets."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from clapas.errors import FormatError
from clapas.statics.trusses import Equilibrium, check_members


def write_result(path: str | os.PathLike[str], state: Equilibrium) -> None:
    """Write a state as ``.vtp`` (lines in the loaded shape, with fields) or ``.csv`` (a row per member)."""
    path = Path(path)
    if path.suffix.lower() == ".vtp":
        path.write_text(_polydata(state), encoding="utf-8")
    elif path.suffix.lower() == ".csv":
        _table(path, state)
    else:
        raise FormatError(f"{path}: a state of a truss is written as '.vtp' or '.csv', got '{path.suffix}'")


def _member_fields(state: Equilibrium) -> dict[str, Any]:
    checks = check_members(state)
    return {
        "force": state.forces,
        "prestress": state.truss.prestress,
        "stress": checks.stress,
        "utilisation": checks.utilisation,
        "slack": state.is_slack.astype(float),
        "cable": state.truss.is_cable.astype(float),
        "group": state.truss.group.astype(float),
    }


def _table(path: Path, state: Equilibrium) -> None:
    truss, fields = state.truss, _member_fields(state)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        names = ["force", "prestress", "stress", "utilisation"]
        rows.writerow(
            [
                "member",
                "a",
                "b",
                "group",
                "kind",
                "force [N]",
                "prestress [N]",
                "stress [Pa]",
                "utilisation",
                "slack",
            ]
        )
        for m, (a, b) in enumerate(truss.members):
            group = truss.groups[truss.group[m]]
            values = [f"{fields[name][m]:.9g}" for name in names]
            rows.writerow(
                [m, truss.label(a), truss.label(b), group.name, group.kind, *values, int(state.is_slack[m])]
            )


def _polydata(state: Equilibrium) -> str:
    truss = state.truss

    def padded(values: Any) -> Any:
        return np.pad(values, ((0, 0), (0, 3 - truss.d)))

    on_nodes = {"displacement": state.displacements, "load": state.loads, "reaction": state.reactions}
    nodes = "".join(_array(name, padded(values)) for name, values in on_nodes.items())
    members = "".join(_array(name, values) for name, values in _member_fields(state).items())
    offsets = 2 * np.arange(1, truss.n_members + 1)
    return (
        '<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian">\n'
        "<PolyData>\n"
        f'<Piece NumberOfPoints="{truss.n_nodes}" NumberOfLines="{truss.n_members}">\n'
        f"<Points>\n{_array('Points', padded(state.shape))}</Points>\n"
        f"<Lines>\n{_array('connectivity', truss.members.ravel())}{_array('offsets', offsets)}</Lines>\n"
        f"<PointData>\n{nodes}</PointData>\n<CellData>\n{members}</CellData>\n"
        "</Piece>\n</PolyData>\n</VTKFile>\n"
    )


def _array(name: str, values: Any) -> str:
    flat = np.asarray(values)
    kind = "Int64" if np.issubdtype(flat.dtype, np.integer) else "Float64"
    width = f' NumberOfComponents="{flat.shape[1]}"' if flat.ndim == 2 else ""
    text = " ".join(map(repr, flat.ravel().tolist()))
    return f'<DataArray type="{kind}" Name={quoteattr(name)}{width} format="ascii">\n{text}\n</DataArray>\n'
