"""Damaged and edited files of robots, trusses, blocks and finite elements: refused with a message or read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clapas.bodies.trusses.generators import kite
from clapas.geometry.meshfiles import write_mesh
from clapas.io.trusses import write_truss
from clapas.scenes.examples import arch_file
from tests.torture.harness import ROOT, Random, fuzz, inputs
from tests.torture.mutations import edited, spoilt_words, spoilt_xml
from tests.torture.test_files import spoilt
from tests.unit.bodies.elastic.test_files import GMSH
from tests.unit.geometry.test_blockfiles import BLOCKS, QUADS, TRIANGLES, at, compas_mesh, dxf
from tests.unit.io.test_trusses import DXF, WIRES


def test_robots(tmp_path: Path) -> None:
    folder = ROOT / "tests" / "unit" / "scenes" / "robots"
    files = sorted(path for path in folder.iterdir() if path.suffix in (".urdf", ".xml"))
    files.append(ROOT / "src" / "clapas" / "scenes" / "examples" / "arm.urdf")

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        if rng.random() < 0.75:
            text = path.read_text(encoding="utf-8")
            for _ in range(int(rng.integers(1, 3))):
                text, origin = spoilt_xml(text, rng)
            target.write_text(text, encoding="utf-8")
            origin = f"{path.name}: {origin}"
        else:
            origin = spoilt(path, target, rng, words=True)
        yield [str(target), bool(rng.random() < 0.5)], origin

    fuzz("robots", "robot", inputs(120, 0.1), make)


def test_trusses(tmp_path: Path) -> None:
    """Documents, tables, drawings and networks."""
    document = tmp_path / "kite.json"
    write_truss(document, kite())
    node = {str(k): {"x": float(k % 2), "y": float(k // 2), "z": 0.0} for k in range(4)}
    edge = {"0": {"1": {}, "2": {}}, "1": {"3": {}}, "2": {"3": {}}}
    network = {"dtype": "compas.datastructures/Network", "data": {"node": node, "edge": edge}}
    (tmp_path / "net.json").write_text(json.dumps(network), encoding="utf-8")
    (tmp_path / "wires.toml").write_text(WIRES, encoding="utf-8")
    (tmp_path / "lines.dxf").write_text(DXF.format(unit=4), encoding="utf-8")
    write_truss(tmp_path / "nodes.csv", kite())
    files = [tmp_path / name for name in ("kite.json", "net.json", "wires.toml", "lines.dxf", "nodes.csv")]

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        if path.suffix == ".json" and rng.random() < 0.7:
            data = edited(json.loads(path.read_text(encoding="utf-8")), rng)
            target.write_text(json.dumps(data), encoding="utf-8")
            origin = f"{path.name}: edited"
        elif path.suffix == ".csv":
            tables = [path, tmp_path / "members.csv"]
            targets = [tmp_path / "spoilt-nodes.csv", tmp_path / "spoilt-members.csv"]
            which = int(rng.integers(0, 2))
            shutil.copy(tables[1 - which], targets[1 - which])
            origin = _spoilt_table(tables[which], targets[which], rng)
            target = targets[0]
        else:
            origin = spoilt(path, target, rng, words=True)
        yield str(target), origin

    fuzz("trusses", "truss", inputs(120, 0.1), make)


def _spoilt_table(path: Path, target: Path, rng: Random) -> str:
    """Spoil words between commas."""
    text, origin = spoilt_words(path.read_text(encoding="utf-8").replace(",", " "), rng)
    target.write_text(text.replace(" ", ","), encoding="utf-8")
    return f"{path.name}: {origin}"


def test_blocks(tmp_path: Path) -> None:
    """OBJ, STL, PLY, DXF and COMPAS files of blocks, to a scene."""
    files = [tmp_path / name for name in ("two.stl", "text.stl", "two.ply", "two.dxf", "two.json")]
    points, triangles = np.vstack([BLOCKS["low"], BLOCKS["far"]]), np.vstack((TRIANGLES, TRIANGLES + 8))
    write_mesh(files[0], points, triangles)
    write_mesh(files[1], points, triangles, text=True)
    files[2].write_text(_ply(points, triangles), encoding="utf-8")
    entities: list[tuple[int, object]] = []
    for face in QUADS:
        entities += [(0, "3DFACE"), (8, "low")]
        entities += [pair for k, corner in enumerate(face) for pair in at(BLOCKS["low"][corner], k)]
    files[3].write_text(dxf(entities), encoding="utf-8")
    block = compas_mesh(BLOCKS["low"], "low")
    block["data"]["face"] = {str(j): list(face) for j, face in enumerate(QUADS)}
    files[4].write_text(json.dumps({"elements": [{"data": {"geometry": block}}]}), encoding="utf-8")
    arch = tmp_path / "arch.obj"
    lines = Path(arch_file()).read_text(encoding="utf-8").splitlines(keepends=True)
    arch.write_text("".join(lines[:40]), encoding="utf-8")
    files.append(arch)

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        if path.suffix == ".json" and rng.random() < 0.7:
            data = edited(json.loads(path.read_text(encoding="utf-8")), rng)
            target.write_text(json.dumps(data), encoding="utf-8")
            origin = f"{path.name}: edited"
        else:
            origin = spoilt(path, target, rng, words=path.name != "two.stl")
        yield str(target), origin

    fuzz("blocks", "blocks", inputs(120, 0.12), make)


def _ply(points: np.ndarray, triangles: np.ndarray) -> str:
    head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n"
    head += "property float x\nproperty float y\nproperty float z\n"
    head += f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n"
    rows = [" ".join(map(str, point)) for point in points.tolist()]
    return head + "\n".join([*rows, *(f"3 {a} {b} {c}" for a, b, c in triangles.tolist()), ""])


def test_finite_elements(tmp_path: Path) -> None:
    pytest.importorskip("meshio")
    from clapas.bodies.elastic import write_mesh as write_elements
    from clapas.bodies.elastic.generators import block

    (tmp_path / "flat.msh").write_text(GMSH, encoding="utf-8")
    files = [tmp_path / name for name in ("flat.msh", "solid.msh", "solid.inp", "solid.vtk", "solid.vtu")]
    for path in files[1:]:
        write_elements(path, block((1.0, 1.0, 1.0), (1, 1, 1), "Tet4"))

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        is_text = b"\0" not in path.read_bytes()
        yield str(target), spoilt(path, target, rng, words=is_text)

    fuzz("finite elements", "elements", inputs(80, 0.05), make)
