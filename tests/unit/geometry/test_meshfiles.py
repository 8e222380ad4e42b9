"""STL and OBJ files: what is written is read back, and damaged files say where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.errors import FormatError, SceneError
from clapas.geometry.meshfiles import read_mesh, write_mesh
from clapas.geometry.shapes import Polyhedron, TriangleMesh
from clapas.geometry.shapes.hull import fan

CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
TRIANGLES = fan(Polyhedron(CUBE).hull.faces)
ODD = CUBE * (0.1, 1 / 3, 7.3) - 1e-3
ONE_FACET = """solid x
facet normal 0 0 1
 outer loop
  vertex 0 0 0
  vertex 1 0 0
  VERTEX 0 1e0 0
 endloop
endfacet
endsolid x
"""


@pytest.mark.parametrize(("name", "text"), [("a.obj", False), ("a.stl", True), ("a.STL", False)])
def test_round_trip(tmp_path: Path, name: str, text: bool) -> None:
    exact = name.endswith("obj") or text
    points = ODD if exact else ODD.astype(np.float32).astype(float)
    write_mesh(tmp_path / name, points, TRIANGLES, text=text)
    vertices, triangles = read_mesh(tmp_path / name)
    assert len(vertices) == 8
    np.testing.assert_array_equal(vertices[triangles], points[TRIANGLES])


def test_bodies_from_files(tmp_path: Path) -> None:
    write_mesh(tmp_path / "rock.stl", ODD * 1000, TRIANGLES)
    rock = Polyhedron.from_file(tmp_path / "rock.stl", scale=0.001)
    assert len(rock.hull.faces) == 6
    assert rock.volume == pytest.approx(0.1 / 3 * 7.3, rel=1e-6)
    walls = TriangleMesh.from_file(tmp_path / "rock.stl", scale=0.001)
    np.testing.assert_allclose(walls.vertices[walls.triangles], ODD[TRIANGLES], atol=1e-6)


def test_triangles_without_area_are_left_out(tmp_path: Path) -> None:
    write_mesh(tmp_path / "a.obj", CUBE, [*TRIANGLES, (0, 0, 1), (2, 3, 2)])
    assert len(TriangleMesh.from_file(tmp_path / "a.obj").triangles) == 12


def test_text_stl_is_read_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_text(ONE_FACET)
    vertices, triangles = read_mesh(tmp_path / "a.stl")
    assert vertices[triangles].tolist() == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]


def test_binary_stl_that_begins_with_the_word_solid(tmp_path: Path) -> None:
    write_mesh(tmp_path / "a.stl", CUBE, TRIANGLES)
    content = (tmp_path / "a.stl").read_bytes()
    (tmp_path / "a.stl").write_bytes(b"solid" + content[5:])
    assert len(read_mesh(tmp_path / "a.stl")[1]) == 12


def test_obj_with_polygons_slashes_and_numbers_from_the_end(tmp_path: Path) -> None:
    lines = [
        "# a square",
        "o square",
        "v 0 0 0",
        "v 1 0 0 1.0",
        "v 1 1 0",
        "v 0 1 0  # corner",
        "vt 0 0",
        "vn 0 0 1",
    ]
    (tmp_path / "a.obj").write_text("\n".join([*lines, "f 1/1/1 2//1 3/1 4", "f -4 -3 -2"]))
    vertices, triangles = read_mesh(tmp_path / "a.obj")
    assert len(vertices) == 4
    assert triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


BAD = [
    (
        "a.txt",
        b"",
        "the name of a surface must end in .obj, .stl, .ply, .gltf, .glb, .dxf or .json, got '.txt'",
    ),
    ("a.ply", b"PLY\n", "not a PLY file: it has no header from 'ply' to 'end_header'"),
    *((f"a.{ending}", b" \n", "the file is empty") for ending in "obj stl ply gltf glb dxf json".split()),
    ("a.obj", ONE_FACET.encode(), "holds no triangle. It begins as a .stl file does: give it that ending"),
    (
        "a.stl",
        b"o cube\nv 0 0 0\nv 1 0 0\n" + b"#" * 90,
        "It begins as a .obj file does: give it that ending",
    ),
    ("a.dxf", b"ply\nformat ascii 1.0\n", "It begins as a .ply file does: give it that ending"),
    ("a.ply", b"  0\nSECTION\n", "It begins as a .dxf file does: give it that ending"),
    ("a.obj", b'{"asset": {"version": "2.0"}}', "It begins as a .gltf file does: give it that ending"),
    ("a.obj", b"glTF" + bytes(8), "It begins as a .glb file does: give it that ending"),
    (
        "a.ply",
        b"ply\nformat ascii 1.0\nelement vertex two\nend_header\n",
        "the header of this PLY has a line 'element vertex two'",
    ),
    ("a.ply", b"ply\nelement vertex 0\nend_header\n", "the header of this PLY does not say its format"),
    (
        "a.ply",
        b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n1\n",
        "damaged PLY: the tables end before what the header promises",
    ),
    (
        "a.ply",
        b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n",
        "the vertices of this PLY have no y, z",
    ),
    ("a.gltf", b"{}", "the file holds no triangle"),
    ("a.gltf", b"[", "damaged glTF: JSONDecodeError: Expecting value: line 1 column 2 (char 1)"),
    ("a.glb", b"glTF" + bytes(8), "damaged .glb file: it has no JSON part"),
    ("a.dxf", b"AutoCAD Binary DXF", "a binary DXF: save the drawing as ASCII DXF"),
    ("a.dxf", b"0\nTEXT\n", "not an ASCII DXF file (no SECTION)"),
    ("a.dxf", b"zero\nSECTION\n", "damaged DXF: invalid literal for int() with base 10: 'zero'"),
    (
        "a.dxf",
        b"0\nSECTION\n0\n3DFACE\n10\n1\n20\n1\n30\n1\n0\nEOF\n",
        "damaged DXF: a 3DFACE has fewer than three corners",
    ),
    ("a.json", b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    (
        "a.json",
        b'{"vertex": {"0": {"x": 1}}, "face": {"0": [0, 1, 2]}}',
        "a mesh of this file is damaged: KeyError: '1'",
    ),
    ("a.stl", b"short", "5 bytes are too few for an STL file"),
    (
        "a.stl",
        b"x" * 80 + b"\x0c\0\0\0" + b"y" * 10,
        "damaged binary STL: its header promises 12 triangles, 684 bytes, but it has 94 bytes",
    ),
    ("a.stl", ONE_FACET.replace("1e0", "y").encode(), "line 6: expected 3 numbers, got '0 y 0'"),
    (
        "a.stl",
        ONE_FACET.replace("  vertex 1 0 0\n", "").encode(),
        "line 7: a facet has 2 vertices, expected 3",
    ),
    ("a.stl", ONE_FACET.split("endfacet")[0].encode(), "the file ends inside a facet"),
    ("a.stl", b"solid nothing\nendsolid", "the file holds no triangle"),
    ("a.stl", ONE_FACET.replace("1e0", "inf").encode(), "a vertex is not finite: [0.0, inf, 0.0]"),
    ("a.obj", b"v 0 0 0", "the file holds no triangle"),
    ("a.obj", b"v 0 0", "line 1: expected 3 numbers, got '0 0'"),
    ("a.obj", b"v 0 0 0\nf 1 1 4", "line 2: there is no vertex 4, 1 were given before"),
    ("a.obj", b"v 0 0 0\nf 1 1 0", "line 2: there is no vertex 0, 1 were given before"),
    ("a.obj", b"v 0 0 0\nf 1 1 -2", "line 2: there is no vertex -2, 1 were given before"),
    ("a.obj", b"v 0 0 0\nf 1 1 a", "line 2: 'a' is not the number of a vertex"),
    ("a.obj", b"v 0 0 0\nf 1 1", "line 2: a face needs at least 3 vertices, got 2"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=[m[:50] for _, _, m in BAD])
def test_damaged_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_mesh(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert str(caught.value).endswith(message)


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"gone\.stl: there is no such file"):
        read_mesh(tmp_path / "gone.stl")
    with pytest.raises(FormatError, match=r"must end in \.stl or \.obj, got '\.txt'"):
        write_mesh(tmp_path / "a.txt", CUBE, TRIANGLES)
    write_mesh(tmp_path / "a.obj", CUBE, TRIANGLES)
    with pytest.raises(SceneError, match=r"polyhedron: scale must be positive, got 0\.0"):
        Polyhedron.from_file(tmp_path / "a.obj", scale=0)
    with pytest.raises(SceneError, match=r"mesh: scale must be positive, got -1\.0"):
        TriangleMesh.from_file(tmp_path / "a.obj", scale=-1)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.stl", "solid\nvertex 0 0 0\nsolid b\n", "line 3: a solid begins inside a facet"),
        ("a.stl", " solid\x00\nvertex 0 0 0\n", "line 2: a vertex before the first 'solid'"),
        ("a.ply", "", "the file is empty"),
        ("a.obj", "v 1e200 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n", "expected at most 1e\\+50"),
        (
            "a.dxf",
            "0\nSECTION\n0\n3DFACE\n10\n0\n20\n0\n30\n0\n11\n1\n31\n0\n12\n0\n22\n1\n32\n0\n0\nEOF\n",
            "has no y or no z",
        ),
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
            "0 0 0\n1 0 0\n0 1 0\n3 0 inf 2\n",
            "by no whole number",
        ),
    ],
)
def test_damage_found_by_fuzzers_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=words):
        read_mesh(tmp_path / name)
