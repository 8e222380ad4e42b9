"""Read and write trusses in all supported formats."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from clapas.bodies.trusses.document import to_document
from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.structure import Truss
from clapas.errors import FormatError
from clapas.io.hdf5 import reading
from clapas.io.trusses.compas import find_graph, read_compas
from clapas.io.trusses.document import read_document
from clapas.io.trusses.dxf import read_dxf
from clapas.io.trusses.meshes import read_mesh
from clapas.io.trusses.tables import read_tables, write_tables

MESHES = (".msh", ".vtk", ".vtu", ".inp", ".bdf", ".med", ".xdmf")


def read_truss(
    path: str | os.PathLike[str], *, groups: Mapping[str, Group] | None = None, length: str | None = None
) -> Truss:
    """Read a truss; the file name sets the format.

    ``.toml`` and ``.json`` documents of Clapas, ``.json`` networks of COMPAS, ``nodes.csv`` with
    ``members.csv`` beside it (or the folder of both), ``.dxf`` lines, and meshes through meshio.

    Parameters
    ----------
    path : path
        The file, or the folder with ``nodes.csv`` and ``members.csv``.
    groups : mapping, optional
        Materials and sections by layer or set, for files that carry geometry only.
    length : str, optional
        Unit of length of such files.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "nodes.csv"
    if not path.is_file():
        raise FormatError(f"there is no file '{path}'")
    with reading(str(path)):
        return _read(path, groups, length)


def _read(path: Path, groups: Mapping[str, Group] | None, length: str | None) -> Truss:
    """Read a file of any known kind."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        members = path.with_name(path.name.replace("nodes", "members"))
        if "nodes" not in path.name or not members.is_file():
            raise FormatError(
                f"{path}: a truss in CSV is two tables: give '…nodes.csv', with '…members.csv' beside it"
            )
        return read_tables(path, members)
    if suffix == ".dxf":
        return read_dxf(path, groups=groups, length=length)
    if suffix == ".json" and _is_compas(path):
        return read_compas(path, groups=groups)
    if suffix in (".toml", ".json"):
        return read_document(path)
    if suffix in MESHES:
        return read_mesh(path, groups=groups, length=length or "m")
    known = ", ".join((".toml", ".json", ".csv", ".dxf", *MESHES))
    raise FormatError(f"{path}: unknown ending '{path.suffix}' of a truss file: expected {known}")


def write_truss(path: str | os.PathLike[str], truss: Truss) -> None:
    """Write a truss as ``.json``, or as the two tables ``…nodes.csv`` and ``…members.csv``."""
    path = Path(path)
    if path.suffix.lower() == ".json":
        path.write_text(json.dumps(to_document(truss), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    elif path.suffix.lower() == ".csv" and "nodes" in path.name:
        write_tables(truss, path, path.with_name(path.name.replace("nodes", "members")))
    else:
        raise FormatError(
            f"{path}: a truss is written as '.json' or '…nodes.csv' (with '…members.csv' beside it)"
        )


def _is_compas(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        return False  # read_document reports the error
    return find_graph(content) is not None
