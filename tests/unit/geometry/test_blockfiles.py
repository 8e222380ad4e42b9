"""Blocks in every format: the same three blocks, two of them touching, are found in each file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.errors import FormatError
from clapas.geometry.meshfiles import is_mesh_file, read_mesh, read_objects
from clapas.geometry.pieces import split
from clapas.geometry.shapes import Polyhedron
from clapas.geometry.shapes.hull import fan
from clapas.typing import Array, Indices

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
QUADS = Polyhedron(CUBE).hull.faces
TRIANGLES = fan(QUADS)
# "low" and "high" share a face, "far" is alone and larger.
BLOCKS = {"low": CUBE, "high": CUBE + np.array((0, 0, 1)), "far": 2.0 * CUBE + [3, 0, 0]}


def mesh() -> tuple[Array, Indices]:
    points = np.concatenate(list(BLOCKS.values()))
    return points, np.concatenate([TRIANGLES + 8 * k for k in range(3)])


def found(path: Path) -> dict[str, list[float]]:
    """Volumes of the pieces of each object, and that they are closed."""
    answer = {}
    for each in read_objects(path).objects:
        pieces = split(each.vertices, each.triangles)
        assert all(piece.is_closed for piece in pieces)
        answer[each.name] = [round(piece.volume, 9) for piece in pieces]
    return answer


# -------------------------------------------------------------------- OBJ


def obj(word: str) -> str:
    lines = []
    for k, (name, points) in enumerate(BLOCKS.items()):
        lines += [f"{word} {name}", *(f"v {x} {y} {z}" for x, y, z in points)]
        lines += ["f " + " ".join(str(8 * k + corner + 1) for corner in face) for face in QUADS]
    return "\n".join(lines)


@pytest.mark.parametrize("word", ["o", "g"])
def test_obj_objects_and_groups(tmp_path: Path, word: str) -> None:
    (tmp_path / "a.obj").write_text(obj(word))
    assert found(tmp_path / "a.obj") == {"low": [1.0], "high": [1.0], "far": [8.0]}


def test_obj_groups_inside_objects_and_words_for_no_group(tmp_path: Path) -> None:
    text = obj("o").replace("o high", "o low\ng upper").replace("o far", "o far\ng default")
    (tmp_path / "a.obj").write_text(text)
    assert found(tmp_path / "a.obj") == {"low": [1.0], "low upper": [1.0], "far": [8.0]}


def test_one_object_of_several_pieces(tmp_path: Path) -> None:
    points, rows = mesh()
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a} {b} {c}" for a, b, c in rows + 1]
    (tmp_path / "a.obj").write_text("\n".join(lines))
    assert found(tmp_path / "a.obj") == {"": [1.0, 1.0, 8.0]}


# -------------------------------------------------------------------- STL, PLY


def test_text_stl_of_several_solids(tmp_path: Path) -> None:
    lines = []
    for name, points in BLOCKS.items():
        lines.append(f"solid {name}")
        for corners in points[TRIANGLES]:
            lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in corners)]
            lines += ["endloop", "endfacet"]
        lines.append(f"endsolid {name}")
    (tmp_path / "a.stl").write_text("\n".join(lines))
    assert found(tmp_path / "a.stl") == {"low": [1.0], "high": [1.0], "far": [8.0]}


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply(tmp_path: Path, order: str) -> None:
    points, rows = mesh()
    head = ["ply", f"format {order} 1.0", "comment three blocks", f"element vertex {len(points)}"]
    head += [f"property double {axis}" for axis in "xyz"] + ["property uchar red"]
    head += [f"element face {len(rows)}", "property list uchar int vertex_indices", "end_header", ""]
    if order == "ascii":
        body = "\n".join([f"{x} {y} {z} 9" for x, y, z in points] + [f"3 {a} {b} {c}" for a, b, c in rows])
        content = "\n".join(head).encode() + body.encode()
    else:
        sign = "<" if "little" in order else ">"
        table = np.zeros(len(points), dtype=[("at", sign + "f8", 3), ("red", "u1")])
        table["at"] = points
        faces = np.zeros(len(rows), dtype=[("n", "u1"), ("row", sign + "i4", 3)])
        faces["n"], faces["row"] = 3, rows
        content = "\n".join(head).encode() + table.tobytes() + faces.tobytes()
    (tmp_path / "a.ply").write_bytes(content)
    assert found(tmp_path / "a.ply") == {"": [1.0, 1.0, 8.0]}


# -------------------------------------------------------------------- glTF


def gltf() -> dict[str, Any]:
    points = CUBE.astype("<f4").tobytes()
    rows = TRIANGLES.astype("<u2").tobytes()
    data = base64.b64encode(points + rows).decode()
    half = np.sqrt(0.5)
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"name": "low", "mesh": 0},
            {"name": "tower", "translation": [0, 0, 1], "children": [2, 3]},
            {"name": "high", "mesh": 0, "rotation": [0, 0, half, half]},
            {"mesh": 0, "matrix": [-2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 9, 0, -1, 1]},
        ],
        "meshes": [{"name": "stone", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": len(TRIANGLES) * 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(points)},
            {"buffer": 0, "byteOffset": len(points), "byteLength": len(rows)},
        ],
        "buffers": [{"byteLength": len(points) + len(rows), "uri": f"data:;base64,{data}"}],
    }


def test_gltf_with_a_tree_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "a.gltf").write_text(json.dumps(gltf()))
    file = read_objects(tmp_path / "a.gltf")
    assert (file.unit, file.up) == (1.0, "y")
    # the last node mirrors: its cube is turned inside out and back
    assert found(tmp_path / "a.gltf") == {"low": [1.0], "high": [1.0], "stone": [8.0]}
    high = file.objects[1].vertices
    np.testing.assert_allclose(high.min(axis=0), (-1, 0, 1), atol=1e-7)
    np.testing.assert_allclose(file.objects[2].vertices.max(axis=0), (9, 2, 2), atol=1e-7)


def test_glb_of_another_program(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="trimesh writes the file")
    scene = trimesh.Scene()
    for name, points in BLOCKS.items():
        scene.add_geometry(trimesh.Trimesh(points, TRIANGLES, process=False), geom_name=name, node_name=name)
    scene.export(tmp_path / "a.glb")
    assert found(tmp_path / "a.glb") == {"low": [1.0], "high": [1.0], "far": [8.0]}


# -------------------------------------------------------------------- DXF


def dxf(entities: list[tuple[int, object]]) -> str:
    pairs = [(0, "SECTION"), (2, "HEADER"), (9, "$INSUNITS"), (70, 4), (0, "ENDSEC"), (0, "SECTION")]
    pairs += [(2, "ENTITIES"), *entities, (0, "ENDSEC"), (0, "EOF")]
    return "".join(f"{code}\n{value}\n" for code, value in pairs)


def at(point: Array, k: int = 0) -> list[tuple[int, object]]:
    return [(10 * axis + k, float(value)) for axis, value in enumerate(point, start=1)]


def test_dxf_faces(tmp_path: Path) -> None:
    entities: list[tuple[int, object]] = []
    for name, points in BLOCKS.items():
        for face in QUADS:
            entities += [(0, "3DFACE"), (8, name)]
            entities += [pair for k, corner in enumerate(face) for pair in at(points[corner], k)]
    (tmp_path / "a.dxf").write_text(dxf(entities))
    assert read_objects(tmp_path / "a.dxf").unit == 1e-3
    assert found(tmp_path / "a.dxf") == {"low": [1.0], "high": [1.0], "far": [8.0]}


def test_dxf_polyface_and_mesh(tmp_path: Path) -> None:
    entities: list[tuple[int, object]] = [(0, "POLYLINE"), (8, "low"), (70, 64)]
    for point in BLOCKS["low"]:
        entities += [(0, "VERTEX"), *at(point), (70, 192)]
    for face in QUADS:
        entities += [(0, "VERTEX"), (70, 128)]
        entities += [(71 + k, -(corner + 1) if k else corner + 1) for k, corner in enumerate(face)]
    entities += [(0, "SEQEND"), (0, "MESH"), (8, "far"), (91, 0), (92, 8)]
    entities += [pair for point in BLOCKS["far"] for pair in at(point)]
    entities += [(93, 5 * len(QUADS))]
    entities += [(90, value) for face in QUADS for value in (4, *face)]
    entities += [(94, 0)]
    (tmp_path / "a.dxf").write_text(dxf(entities))
    assert found(tmp_path / "a.dxf") == {"low": [1.0], "far": [8.0]}


# -------------------------------------------------------------------- COMPAS


def compas_mesh(points: Array, name: str, **more: object) -> dict[str, Any]:
    vertex = {str(k): dict(zip("xyz", point.tolist(), strict=True)) for k, point in enumerate(points)}
    data = {"attributes": {"name": name, **more}, "vertex": vertex}
    return {"dtype": "compas.datastructures/Mesh", "data": data | {"face": {"0": list(QUADS[0])}}}


def test_a_shape_of_compas_is_named(tmp_path: Path) -> None:
    frame = {"point": [0, 0, 0], "xaxis": [1, 0, 0], "yaxis": [0, 1, 0]}
    box = {"dtype": "compas.geometry/Box", "data": {"xsize": 1, "ysize": 1, "zsize": 1, "frame": frame}}
    path = tmp_path / "box.json"
    path.write_text(json.dumps(box))
    with pytest.raises(FormatError, match=r"holds a compas.geometry/Box of COMPAS.*Mesh\.from_shape"):
        read_objects(path)


def test_compas_assembly(tmp_path: Path) -> None:
    """The form of compas_assembly 0.x: blocks are attributes of the nodes of a graph."""
    nodes = {}
    for k, (name, points) in enumerate(BLOCKS.items()):
        block = compas_mesh(points, name)
        block["data"]["face"] = {str(j): list(face) for j, face in enumerate(QUADS)}
        nodes[str(k)] = {"block": block, "is_support": name == "low"}
    document = {"dtype": "compas_assembly.datastructures/Assembly", "value": {"graph": {"node": nodes}}}
    (tmp_path / "a.json").write_text(json.dumps(document))
    assert found(tmp_path / "a.json") == {"low": [1.0], "high": [1.0], "far": [8.0]}
    supports = [each.is_support for each in read_objects(tmp_path / "a.json").objects]
    assert supports == [True, False, False]


def test_compas_blocks_without_names_are_called_by_their_nodes(tmp_path: Path) -> None:
    """As the examples of compas_cra are: nodes in any order, and only containers have names."""
    nodes = {key: {"block": compas_mesh(CUBE, "Block")} for key in ("1", "2", "0")}
    graph = {"data": {"attributes": {"name": "Graph"}, "node": nodes}}
    document = {"data": {"attributes": {"name": "Assembly"}, "graph": graph}}
    (tmp_path / "a.json").write_text(json.dumps(document))
    names = [each.name for each in read_objects(tmp_path / "a.json").objects]
    assert names == ["block 1", "block 2", "block 0"]


def test_compas_element_with_a_transformation(tmp_path: Path) -> None:
    matrix = [[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    element = {"transformation": {"data": {"matrix": matrix}}, "geometry": compas_mesh(CUBE, "one")}
    (tmp_path / "a.json").write_text(json.dumps({"elements": [{"data": element}]}))
    assert read_mesh(tmp_path / "a.json")[0][:, 0].min() == 5.0


def test_compas_block_model_as_compas_writes_it(tmp_path: Path) -> None:
    models = pytest.importorskip("compas_dem.models", reason="compas_dem writes the file")
    datastructures = pytest.importorskip("compas.datastructures")
    model = models.BlockModel()
    for points in BLOCKS.values():
        model.add_block_from_mesh(datastructures.Mesh.from_vertices_and_faces(points.tolist(), QUADS))
    model.to_json(tmp_path / "a.json")
    volumes = [
        split(each.vertices, each.triangles)[0].volume for each in read_objects(tmp_path / "a.json").objects
    ]
    assert sorted(round(volume, 9) for volume in volumes) == [1.0, 1.0, 8.0]


# -------------------------------------------------------------------- pieces


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12, unique=True),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_touching_cubes_are_told_apart(
    cells: list[tuple[int, int, int]], seed: int, is_inside_out: bool
) -> None:
    """Cubes of a lattice that share faces, edges and corners, triangles in any order, turned anyhow."""
    rng = np.random.default_rng(seed)
    corners = np.concatenate([(CUBE + cell)[TRIANGLES] for cell in cells])
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    corners = rng.permutation(corners @ (axes * np.linalg.det(axes)).T)
    if is_inside_out:
        corners = corners[:, ::-1]
    flat = corners.reshape(-1, 3)
    pieces = split(flat, np.arange(len(flat)).reshape(-1, 3))
    assert len(pieces) == len(cells)
    for piece in pieces:
        assert piece.is_closed
        assert piece.volume == pytest.approx(1.0, rel=1e-9)
        assert abs(piece.excess) < 1e-9


def test_an_open_surface_has_no_volume() -> None:
    (piece,) = split(CUBE, TRIANGLES[:-2])
    assert not piece.is_closed
    assert np.isnan(piece.volume)
    assert piece.hull_volume == pytest.approx(1.0)


def test_nothing_and_triangles_without_area() -> None:
    assert split(CUBE, np.array([[0, 0, 1], [2, 2, 2]])) == []


def test_endings() -> None:
    assert is_mesh_file("Arch.OBJ")
    assert not is_mesh_file("scene.toml")
