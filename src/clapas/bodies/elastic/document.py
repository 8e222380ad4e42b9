"""A deformable body as a document, as in scene files.

[systems.settings]
kinematics = "plane strain"          # optional; or "plane stress", "space"
surface = ["bottom", "left"]         # what may touch; the whole boundary where nothing is said
velocity = [0.0, -1.0]               # optional: one for all nodes, or a row for each
damping = [0.0, 1e-4]                # optional: Rayleigh's a (1/s) and b (s)

[systems.settings.mesh]              # a generator, a file, or nodes, cells and groups
block = { size = [1.0, 0.5], divisions = [8, 4], kind = "Q8", origin = [0.0, 0.1] }
#  bar = { length = 1.0, divisions = 50 }    ring = { inner = 0.5, outer = 1.0, divisions = [4, 24] }
#  file = "part.msh"                         nodes = [[…]], cells = { T3 = [[…]] }, groups = { foot = […] }
position = [0.0, 1.0]                # optional: how far to move it

[systems.settings.material]          # of all cells; or a table of materials by groups
law = "elastic"                      # "von Mises", "neo-Hookean", "finite von Mises"
young = 1e6
poisson = 0.3
density = 1000.0

[[systems.settings.supports]]
group = "left"
axes = "xy"

[[systems.settings.loads]]           # pressure, traction or force on a group
group = "top"
pressure = 1000.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clapas.bodies.elastic.files import read_mesh
from clapas.bodies.elastic.generators import bar, block, ring
from clapas.bodies.elastic.logarithmic import FiniteVonMises
from clapas.bodies.elastic.materials import Elastic, Material, NeoHookean, VonMises
from clapas.bodies.elastic.mesh import Mesh
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support
from clapas.errors import FormatError, SceneError, SettingsError, unknown_name
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.bodies.elastic.kind import ElasticBodies

LAWS: dict[str, type] = {
    "elastic": Elastic,
    "von Mises": VonMises,
    "neo-Hookean": NeoHookean,
    "finite von Mises": FiniteVonMises,
}
GENERATORS: dict[str, Callable[..., Mesh]] = {"block": block, "bar": bar, "ring": ring}
OF_SOLID = ("kinematics", "thickness", "bbar")
OF_BODY = ("surface", "sides", "velocity", "damping", "lumped", "skin")
TOP = ("mesh", "material", *OF_SOLID, "supports", "loads", "load", *OF_BODY)
LOADS = ("pressure", "traction", "force")


def from_document(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Arguments of :class:`ElasticBodies` from a document; mesh files are looked for in ``folder``.

    Raises
    ------
    SceneError
        Something is missing, unknown, or of the wrong kind.

    Examples
    --------
    >>> made = from_document(
    ...     {
    ...         "mesh": {"block": {"size": [1.0, 1.0], "divisions": [2, 2]}},
    ...         "material": {"law": "elastic", "young": 1e6, "density": 1000.0},
    ...     },
    ...     Path("."),
    ... )
    >>> made["solid"].mesh
    Mesh(9 nodes in 2-D, 4 Q4; groups left, right, bottom, top)
    """
    _only_known("elastic", settings, TOP)
    for word in ("mesh", "material"):
        if not isinstance(settings.get(word), Mapping):
            raise SceneError(f"elastic: needs a table '{word}', got {settings.get(word)!r:.60}")
    try:
        mesh = _mesh(settings["mesh"], folder)
        solid = Solid(
            mesh=mesh,
            material=_materials(settings["material"], mesh),
            **{name: settings[name] for name in OF_SOLID if name in settings},
        )
        supports = [_support(entry) for entry in _list(settings, "supports")]
        options = {name: settings[name] for name in OF_BODY if name in settings}
        if "damping" in options:
            options["damping"] = tuple(options["damping"])
        return {"solid": solid, "supports": supports, "load": _load(settings, solid), **options}
    except (TypeError, ValueError, SettingsError, FormatError) as error:
        raise SceneError(f"elastic: {error}") from None


def to_document(bodies: ElasticBodies) -> dict[str, Any]:
    """The document of a body, its mesh as nodes, cells and groups."""
    solid, mesh = bodies.solid, bodies.solid.mesh
    document: dict[str, Any] = {
        "mesh": {
            "nodes": mesh.nodes.tolist(),
            "cells": {name: rows.tolist() for name, rows in mesh.cells.items()},
            "groups": {name: nodes.tolist() for name, nodes in mesh.groups.items()},
        },
        "kinematics": solid.kinematics,
    }
    if isinstance(solid.material, Mapping):
        document["material"] = {
            group: _material_table(material) for group, material in solid.material.items()
        }
    else:
        document["material"] = _material_table(solid.material)
    if solid.thickness != 1.0:
        document["thickness"] = solid.thickness
    if solid.bbar is not None:
        document["bbar"] = solid.bbar
    if bodies.supports:
        document["supports"] = [{"group": s.group, "axes": s.axes} for s in bodies.supports]
    if bodies.surface is not None:
        document["surface"] = [bodies.surface] if isinstance(bodies.surface, str) else list(bodies.surface)
    for name in ("velocity", "load"):
        if getattr(bodies, name) is not None:
            document[name] = np.asarray(getattr(bodies, name), dtype=float).tolist()
    if any(bodies.damping):
        document["damping"] = list(bodies.damping)
    document |= {name: False for name in ("sides", "lumped") if not getattr(bodies, name)}
    if bodies.skin is not None:
        document["skin"] = bodies.skin
    return document


def _mesh(table: Mapping[str, Any], folder: Path) -> Mesh:
    _only_known("elastic: mesh", table, (*GENERATORS, "file", "nodes", "cells", "groups", "position"))
    sources = [name for name in (*GENERATORS, "file", "nodes") if name in table]
    if len(sources) != 1:
        raise SceneError(
            f"elastic: mesh needs one of {', '.join((*GENERATORS, 'file', 'nodes'))}, got "
            f"{' and '.join(sources) or 'none'}"
        )
    (source,) = sources
    if source == "file":
        mesh = read_mesh(folder / str(table["file"]))
    elif source == "nodes":
        for word in ("cells", "groups"):
            if not isinstance(table.get(word, {}), Mapping):
                raise SceneError(f"elastic: mesh {word} must be a table, got {table[word]!r:.60}")
        mesh = Mesh(table["nodes"], table.get("cells", {}), table.get("groups"))
    else:
        if not isinstance(table[source], Mapping):
            raise SceneError(
                f"elastic: mesh {source} must be a table of its arguments, got {table[source]!r:.60}"
            )
        try:
            mesh = GENERATORS[source](**table[source])
        except TypeError as error:
            raise SceneError(f"elastic: mesh {str(error).replace('()', '')}") from None
    if "position" in table:
        shift = np.asarray(table["position"], dtype=float)
        if shift.shape != (mesh.d,):
            raise SceneError(f"elastic: mesh position must be {mesh.d} numbers, got {table['position']!r}")
        mesh = mesh.mapped(mesh.nodes + shift)
    return mesh


def _materials(table: Mapping[str, Any], mesh: Mesh) -> Material | dict[str, Material]:
    if "law" in table or not any(isinstance(value, Mapping) for value in table.values()):
        return _material(table, "material")
    for group in table:
        mesh.group(group)
    return {group: _material(entry, f"material of '{group}'") for group, entry in table.items()}


def _material(table: Any, where: str) -> Material:
    if not isinstance(table, Mapping):
        raise SceneError(f"elastic: {where} must be a table, got {table!r:.60}")
    law = table.get("law", "elastic")
    if law not in LAWS:
        raise SceneError(f"elastic: {where}: {unknown_name('law of materials', str(law), LAWS)}")
    constants = {name: value for name, value in table.items() if name != "law"}
    known = [each.name for each in fields(LAWS[law])]
    _only_known(f"elastic: {where}", constants, known)
    for name, value in constants.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SceneError(f"elastic: {where}: {name} must be a number, got {value!r}")
    try:
        material: Material = LAWS[law](**constants)
    except TypeError as error:
        missing = str(error).partition("argument")[2].strip(": ") or error
        raise SceneError(f"elastic: {where}: law '{law}' needs {missing}") from None
    return material


def _material_table(material: Material) -> dict[str, Any]:
    law = next(word for word, cls in LAWS.items() if type(material) is cls)
    return {"law": law, **asdict(material)}  # type: ignore[call-overload]


def _support(entry: Any) -> Support:
    if not isinstance(entry, Mapping):
        raise SceneError(f"elastic: a support must be a table with group and axes, got {entry!r:.60}")
    _only_known("elastic: support", entry, ("group", "axes"))
    if set(entry) != {"group", "axes"}:
        raise SceneError(f"elastic: a support needs group and axes, got {dict(entry)}")
    return Support(str(entry["group"]), str(entry["axes"]))


def _load(settings: Mapping[str, Any], solid: Solid) -> Array | None:
    total = None if "load" not in settings else np.asarray(settings["load"], dtype=float)
    for entry in _list(settings, "loads"):
        words = [] if not isinstance(entry, Mapping) else [word for word in LOADS if word in entry]
        if len(words) != 1 or set(entry) != {"group", *words}:
            raise SceneError(f"elastic: a load needs group and one of {', '.join(LOADS)}, got {entry!r:.80}")
        load: Array = getattr(solid, words[0])(entry["group"], entry[words[0]])
        total = load if total is None else total + load
    return total


def _list(settings: Mapping[str, Any], name: str) -> list[Any]:
    entries = settings.get(name, [])
    if not isinstance(entries, list):
        raise SceneError(f"elastic: {name} must be a list of tables, got {entries!r:.60}")
    return entries


def _only_known(where: str, table: Mapping[str, Any], known: Any) -> None:
    for name in table:
        if name not in known:
            raise SceneError(f"{where}: {unknown_name('setting', name, known)}")
