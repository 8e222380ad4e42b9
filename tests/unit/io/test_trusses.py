"""Trusses in files: what is written is read back, and what is wrong is said with the way out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clapas.bodies.trusses import Group, Material, Section, Truss
from clapas.bodies.trusses.generators import cable_net, grid, kite
from clapas.errors import Error, FormatError, MissingDependency, ProblemError
from clapas.io.trusses import read_groups, read_truss, write_result, write_truss
from clapas.statics.trusses import LargeDisplacements, SmallDisplacements

WIRES = """
name = "two wires"
[units]
length = "mm"
stress = "GPa"
force = "kN"
[nodes]
left = [-1000, 1000]
right = [1000, 1000]
foot = [0, 0]
[groups.wire]
kind = "cable"
young = 200
area = 1e-5
members = [["left", "foot"], ["right", "foot"]]
[supports]
left = "xy"
right = "all"
[cases.weight]
foot = [0, -0.1]
"""
DXF = """0
SECTION
2
HEADER
9
$INSUNITS
70
{unit}
0
ENDSEC
0
SECTION
2
ENTITIES
0
LINE
8
cables
10
-1000.0
20
1000.0
11
0.0
21
0.0
0
LINE
8
struts
10
1000.0
20
1000.0
11
0.0000001
21
0.0
0
POINT
8
supports
10
-1000.0
20
1000.0
0
POINT
8
supports
10
1000.0
20
1000.0
0
ENDSEC
0
EOF
"""


def same(a: Truss, b: Truss) -> None:
    np.testing.assert_allclose(a.nodes, b.nodes, atol=1e-12)
    key = [np.lexsort(np.column_stack((t.group, t.members)).T) for t in (a, b)]
    np.testing.assert_array_equal(a.members[key[0]], b.members[key[1]])
    np.testing.assert_allclose(a.prestress[key[0]], b.prestress[key[1]], rtol=1e-9)
    np.testing.assert_array_equal(a.is_blocked, b.is_blocked)
    assert list(a.groups) == list(b.groups)
    assert set(a.cases) == set(b.cases)
    for case, loads in a.cases.items():
        np.testing.assert_allclose(loads, b.cases[case])


@pytest.mark.parametrize("truss", [kite(), cable_net(3)], ids=repr)
@pytest.mark.parametrize("name", ["truss.json", "my-nodes.csv"])
def test_what_is_written_is_read_back(truss: Truss, name: str, tmp_path: Path) -> None:
    write_truss(tmp_path / name, truss)
    same(read_truss(tmp_path / name), truss)


def test_parallel_cables_survive_a_document(tmp_path: Path) -> None:
    write_truss(tmp_path / "grid.json", grid(2))
    same(read_truss(tmp_path / "grid.json"), grid(2))


def test_a_toml_document_with_units(tmp_path: Path) -> None:
    (tmp_path / "wires.toml").write_text(WIRES)
    truss = read_truss(tmp_path / "wires.toml")
    assert truss.name == "two wires"
    assert truss.labels == ("left", "right", "foot")
    np.testing.assert_allclose(truss.nodes, [[-1, 1], [1, 1], [0, 0]])
    assert truss.groups[0].material.young == 200e9
    np.testing.assert_allclose(SmallDisplacements().solve(truss, "weight").forces, 100 / np.sqrt(2))


def test_rest_lengths_and_tubes_in_a_document(tmp_path: Path) -> None:
    text = WIRES.replace("area = 1e-5", "diameter = 20\nthickness = 2\nrest_length = 1400")
    (tmp_path / "a.toml").write_text(text)
    truss = read_truss(tmp_path / "a.toml")
    np.testing.assert_allclose(truss.rest_lengths, 1.4)
    assert truss.groups[0].section == Section.tube(diameter=0.02, thickness=0.002)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"mm"', '"furlong"', "unknown unit 'furlong' of length: expected m, cm, mm"),
        ("[units]", "[units]\ncolour = 'red'", "[units] has 'colour': expected length, force"),
        ("[nodes]", "[knots]", "unknown key 'knots': expected nodes, groups, units"),
        ("young = 200", "yong = 200", "groups.wire: unknown key 'yong'"),
        ("young = 200", "", "groups.wire needs 'young'"),
        ("area = 1e-5", "", "needs 'area', or 'diameter'"),
        ('["left", "foot"]', '["left", "food"]', "groups.wire names node 'food', which is not in [nodes]"),
        ('["left", "foot"]', '["left"]', "must be pairs of node names"),
        ("foot = [0, 0]", "foot = [0, 0, 0]", "all have two or all have three coordinates"),
        ("foot = [0, 0]", 'foot = "here"', "nodes.foot must be a list of numbers"),
        ('left = "xy"', 'left = "xz"', "supports.left must be 'all' or axes among 'xy'"),
        ("foot = [0, -0.1]", "foot = [0, 0, -0.1]", "needs 2 components, got 3"),
        ("area = 1e-5", "area = 1e-5\nprestress = [1.0]", "has 1 values for 2 members"),
        ("name =", "name", "not a readable TOML file"),
    ],
)
def test_mistakes_in_documents_are_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(WIRES.replace(old, new, 1))
    with pytest.raises(FormatError) as caught:
        read_truss(tmp_path / "bad.toml")
    assert words in str(caught.value)
    assert "bad.toml" in str(caught.value)


def test_impossible_structures_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(WIRES.replace("area = 1e-5", "area = 1e-5\nprestress = -1"))
    with pytest.raises(ProblemError, match=r"bad.toml: groups.wire.members, pair 1 .*: member 0 is a cable"):
        read_truss(tmp_path / "bad.toml")


NODES = (
    "name,x [mm],y [mm],support,fy:weight [kN]\nleft,-1000,1000,all,\nright,1000,1000,xy,\nfoot,0,0,,-0.1\n"
)
MEMBERS = "a,b,group,kind,young [GPa],area [mm2]\nleft,foot,wire,cable,200,10\nright,foot,wire,cable,200,10\n"


def test_tables_with_units(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "members.csv").write_text(MEMBERS)
    truss = read_truss(tmp_path)
    np.testing.assert_allclose(SmallDisplacements().solve(truss, "weight").forces, 100 / np.sqrt(2))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("support", "colour", "unknown column 'colour': expected name, x, y"),
        ("x [mm]", "x [mile]", "unknown unit 'mile' of length"),
        ("support", "support [mm]", "column 'support' has no unit"),
        (",x [mm]", ",z", "column 'x' is missing"),
        ("-1000,1000,all", "-1000,high,all", "line 2, column 'y': expected a number, got 'high'"),
        ("right,1000,1000,xy", "right,1000,1000,xz", "line 3: support must be 'all' or axes like 'xy'"),
        ("right,1000", "left,1000", "line 3: node 'left' stands in line 2 already"),
        ("fy:weight", "fz:weight", "in a table of plane nodes"),
        ("y [mm]", "x [mm]", "two columns are called 'x'"),
        ("left,-1000,1000", "left,,1000", "line 2, column 'x': expected a number, got ''"),
        ("foot,0,0,,-0.1", "foot,0,0,,-0,1", "line 4 has 6 cells for 5 columns separated by ','"),
    ],
)
def test_mistakes_in_node_tables_are_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES.replace(old, new, 1))
    (tmp_path / "members.csv").write_text(MEMBERS)
    with pytest.raises(FormatError) as caught:
        read_truss(tmp_path / "nodes.csv")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("left,foot", "left,food", "line 2 names node 'food'"),
        ("cable,200,10\nright", "cable,100,10\nright", "group 'wire' has two materials or sections"),
        ("area [mm2]", "inertia [mm4]", "column 'area' is missing"),
        (
            "200,10\nright",
            "-200,10\nright",
            "line 3: group 'wire' has two materials or sections: young '200'",
        ),
        ("kind,young", "kind,yong", "unknown column 'yong [GPa]': expected a, b, name"),
        ("right,foot", "foot,left", "line 3: the member joins the same nodes as that of line 2. Remove one"),
    ],
)
def test_mistakes_in_member_tables_are_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "members.csv").write_text(MEMBERS.replace(old, new, 1))
    with pytest.raises(FormatError) as caught:
        read_truss(tmp_path / "nodes.csv")
    assert words in str(caught.value)


def test_tables_as_spreadsheets_of_other_countries_write_them(tmp_path: Path) -> None:
    """Semicolons, decimal commas, a byte order mark, remarks, empty lines; lines count as in the file."""
    nodes = "\ufeff# two wires;;\n\n" + NODES.replace(",", ";").replace("-0.1", "-0,1")
    members = (
        MEMBERS.replace(",", ";").replace("area [mm2]", "diameter [mm];name").replace(";10\n", ";3,5;w\n")
    )
    (tmp_path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "members.csv").write_text(members + ";\n", encoding="utf-8")
    truss = read_truss(tmp_path)
    np.testing.assert_allclose(SmallDisplacements().solve(truss, "weight").forces, 100 / np.sqrt(2))
    assert truss.groups[0].section == Section.round(diameter=3.5e-3)
    (tmp_path / "nodes.csv").write_text(nodes.replace("foot;0", "foot;o"), encoding="utf-8")
    with pytest.raises(FormatError, match=r"nodes.csv: line 6, column 'x': expected a number, got 'o'"):
        read_truss(tmp_path)


def test_a_cable_longer_than_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    members = MEMBERS.replace("area [mm2]", "area [mm2],rest_length").replace("10\nright", "10,1.5\nright")
    (tmp_path / "members.csv").write_text(members)
    with pytest.raises(ProblemError, match=r"members.csv: line 2: member 0 is a cable 0.0858 m longer than"):
        read_truss(tmp_path)


def test_rest_lengths_in_some_rows_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    members = MEMBERS.replace("area [mm2]", "area [mm2],rest_length").replace("10\nright", "10,1.4\nright")
    (tmp_path / "members.csv").write_text(members)
    np.testing.assert_allclose(read_truss(tmp_path).rest_lengths, [1.4, np.sqrt(2)])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("right,foot", "foot,foot", "members.csv: line 3: member 1 has no length"),
        (
            "200,10\nright,foot,wire,cable,200",
            "-2,10\nright,foot,wire,cable,-2",
            "line 2: material: young must be positive",
        ),
        ("right,foot,wire,cable", "right,foot,wood,beam", "line 3: group 'wood': kind must be"),
    ],
)
def test_impossible_members_are_named_by_their_line(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "members.csv").write_text(MEMBERS.replace(old, new, 1))
    with pytest.raises(ProblemError if "length" in words else FormatError) as caught:
        read_truss(tmp_path)
    assert words in str(caught.value)


def test_a_lonely_node_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES + "away,5,5,,\n")
    (tmp_path / "members.csv").write_text(MEMBERS)
    with pytest.raises(ProblemError, match=r"nodes.csv: line 5: node away belongs to no member"):
        read_truss(tmp_path)


def test_parallel_cables_survive_tables(tmp_path: Path) -> None:
    write_truss(tmp_path / "nodes.csv", grid(2))
    same(read_truss(tmp_path), grid(2))


stock_sections = pytest.mark.filterwarnings("ignore:.*nothing is said of material and section")


SECTIONS_BODY = """
[groups.cables]
kind = "cable"
young = 160
area = 10
[groups.struts]
young = 210
diameter = 20
"""
SECTIONS = '[units]\nlength = "mm"\nstress = "GPa"\narea = "mm2"\n' + SECTIONS_BODY


def test_lines_of_a_drawing(tmp_path: Path) -> None:
    (tmp_path / "a.dxf").write_text(DXF.format(unit=4))
    with pytest.warns(UserWarning, match="nothing is said of material and section") as told:
        truss = read_truss(tmp_path / "a.dxf")
    assert ["taken as cables of 50 mm²" in str(each.message) for each in told] == [False, True]
    assert (truss.n_nodes, truss.d, truss.n_dof) == (3, 2, 2)
    assert [group.kind for group in truss.groups] == ["cable", "bar"]
    np.testing.assert_allclose(truss.lengths, np.sqrt(2))
    bar = Group(name="cables", kind="bar", material=Material(young=1.0), section=Section(area=1.0))
    with pytest.warns(UserWarning, match=r"section of 'struts': taken as bars, .* --groups FILE.toml"):
        assert read_truss(tmp_path / "a.dxf", groups={"cables": bar}).n_cables == 0


def test_sections_of_a_drawing_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.dxf").write_text(DXF.format(unit=4))
    (tmp_path / "sections.toml").write_text(SECTIONS)
    truss = read_truss(tmp_path / "a.dxf", groups=read_groups(tmp_path / "sections.toml"))
    assert [group.kind for group in truss.groups] == ["cable", "bar"]
    np.testing.assert_allclose([group.section.area for group in truss.groups], [1e-5, np.pi * 1e-4])
    np.testing.assert_allclose([group.material.young for group in truss.groups], [1.6e11, 2.1e11])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[groups", "[layers", "unknown key 'layers': expected units, groups"),
        ("young = 210", "members = []", "groups.struts: unknown key 'members': expected kind, young"),
        ("young = 210", "", "groups.struts needs 'young'"),
        (SECTIONS_BODY, "", "[groups] is missing or empty: expected tables like [groups.strut]"),
    ],
)
def test_files_of_sections_that_say_too_little(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "sections.toml").write_text(SECTIONS.replace(old, new))
    with pytest.raises(FormatError) as caught:
        read_groups(tmp_path / "sections.toml")
    assert words in str(caught.value)


SUPPORT = "POINT\n8\nsupports\n10\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DXF.format(unit=0), "does not say its unit of length: pass length='mm'"),
        (DXF.format(unit=4).replace("LINE", "CIRCLE"), "has no LINE"),
        ("hello\nworld\n", "line 1: not an ASCII DXF file: expected a group code"),
        ("0\nEOF\n", "not an ASCII DXF file (no SECTION)"),
        (DXF.format(unit=4).replace("0\nPOINT", "0\nARC", 1), "a curve (ARC) on layer 'supports'"),
        ("AutoCAD Binary DXF\n", "save the drawing as ASCII DXF"),
        (DXF.format(unit=4).replace(f"{SUPPORT}-1000.0", f"{SUPPORT}-900.0"), "lies on no end"),
    ],
)
def test_drawings_that_say_too_little(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.dxf").write_text(text)
    with pytest.raises(FormatError) as caught:
        read_truss(tmp_path / "a.dxf")
    assert words in str(caught.value)


def entity(kind: str, *pairs: object) -> str:
    return "\n".join(["0", kind, *(str(each) for each in pairs)]) + "\n"


def drawn(tmp_path: Path, *entities: str) -> Path:
    """A drawing in metres with these entities, and a line in a block that it never refers to."""
    header = "0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n"
    blocks = (
        "0\nSECTION\n2\nBLOCKS\n" + entity("LINE", 8, "frame", 10, 7, 20, 7, 11, 8, 21, 9) + "0\nENDSEC\n"
    )
    body = "0\nSECTION\n2\nENTITIES\n" + "".join(entities) + "0\nENDSEC\n0\nEOF\n"
    (tmp_path / "drawing.dxf").write_text(header + blocks + body)
    return tmp_path / "drawing.dxf"


def test_polylines_blocks_and_rollers_of_a_drawing(tmp_path: Path) -> None:
    corner = [
        entity("VERTEX", 8, "top", 10, x, 20, y, 30, z) for x, y, z in ((0, 0, 1), (1, 0, 2), (1, 1, 1))
    ]
    path = drawn(
        tmp_path,
        entity("LWPOLYLINE", 8, "ring", 90, 3, 70, 1, 38, 1.0, 10, 0, 20, 0, 10, 1, 20, 0, 10, 1, 20, 1),
        entity("POLYLINE", 8, "top", 66, 1, 70, 8),
        *corner,
        entity("SEQEND", 8, "top"),
        entity("LINE", 8, "paper", 67, 1, 10, 50, 20, 50, 11, 51, 21, 50),
        entity("INSERT", 8, "0", 2, "title"),
        entity("POINT", 8, "supports", 10, 0, 20, 0, 30, 1),
        entity("POINT", 8, "support-yz", 10, 1, 20, 1, 30, 1),
    )
    with pytest.warns(UserWarning, match="drawing.dxf") as told:
        truss = read_truss(path)
    assert [(group.name, int((truss.group == k).sum())) for k, group in enumerate(truss.groups)] == [
        ("ring", 3),
        ("top", 2),
    ]
    assert truss.n_nodes == 4
    np.testing.assert_array_equal(truss.is_blocked.sum(axis=1), [3, 0, 2, 0])
    blocks, sections = (str(each.message) for each in told)
    assert "1 references to blocks are left out" in blocks
    assert "nothing is said of material and section of 'ring', 'top': taken as bars, tubes of 48" in sections


@stock_sections
def test_near_ends_are_one_node_wherever_they_lie(tmp_path: Path) -> None:
    """Ends that differ in the last digits of a drawing may round to different places of any lattice."""
    near = (0.49999999, 0.50000001)
    lines = [entity("LINE", 8, "bars", 10, x, 20, 0.0, 11, x + 1, 21, 1.0 + k) for k, x in enumerate(near)]
    assert read_truss(drawn(tmp_path, *lines)).n_nodes == 3


@stock_sections
def test_members_of_a_drawing_are_named_by_their_line(tmp_path: Path) -> None:
    line = entity("LINE", 8, "bars", 10, 0, 20, 0, 11, 1, 21, 1)
    with pytest.raises(ProblemError, match=r"drawing.dxf: line \d+, layer 'bars': 2 members join the nodes"):
        read_truss(drawn(tmp_path, line, line))
    with pytest.raises(FormatError, match=r"LINE of line \d+: code 10 must be a finite number, got 'x'"):
        read_truss(drawn(tmp_path, line.replace("10\n0", "10\nx")))
    with pytest.raises(FormatError, match="a polyline with arcs on layer 'ring'"):
        read_truss(drawn(tmp_path, entity("LWPOLYLINE", 8, "ring", 10, 0, 20, 0, 42, 0.5, 10, 1, 20, 0)))


@stock_sections
def test_lines_and_supports_of_a_mesh(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    points = np.array([[-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    mesh = meshio.Mesh(
        points,
        [("line", [[0, 2], [1, 2]]), ("vertex", [[0], [1]])],
        cell_data={"gmsh:physical": [np.array([1, 1]), np.array([2, 3])],
                   "gmsh:geometrical": [np.array([1, 1]), np.array([1, 2])]},
        field_data={"wires": np.array([1, 1]), "anchor": np.array([2, 0]), "roller y": np.array([3, 0])},
    )  # fmt: skip
    meshio.write(tmp_path / "a.msh", mesh, file_format="gmsh22", binary=False)
    truss = read_truss(tmp_path / "a.msh", length="cm")
    assert [group.kind for group in truss.groups] == ["cable"]
    np.testing.assert_allclose(truss.lengths, np.sqrt(2) / 100)
    assert truss.is_blocked.tolist() == [[True, True], [False, False], [False, True]]


@stock_sections
@pytest.mark.parametrize("key", ["data", "value"])
def test_a_network_of_compas(key: str, tmp_path: Path) -> None:
    node = {
        "0": {"x": 0, "y": 0, "z": 0, "is_fixed": True},
        "1": {"x": 1, "y": 0, "z": 0, "pz": -5.0},
        "2": {"x": 2, "y": 0, "z": 0, "is_anchor": True},
    }
    edge = {"0": {"1": {"q": 100.0, "group": "net"}}, "1": {"2": {"f": 100.0, "group": "net"}, "0": {}}}
    content = {"dtype": "compas.datastructures/Network", key: {"node": node, "edge": edge}}
    (tmp_path / "net.json").write_text(json.dumps(content))
    truss = read_truss(tmp_path / "net.json")
    assert (truss.n_nodes, truss.n_members, truss.n_cables) == (3, 2, 2)
    np.testing.assert_allclose(truss.prestress, 100.0)
    found = LargeDisplacements().solve(truss, "load")
    assert found.displacements[1, 2] < 0.0


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(FormatError, match=r"unknown ending '.xyz' of a truss file: expected .toml"):
        read_truss(tmp_path / "a.xyz")
    with pytest.raises(FormatError, match="there is no file"):
        read_truss(tmp_path / "none.toml")
    (tmp_path / "table.csv").write_text("")
    with pytest.raises(FormatError, match="two tables"):
        read_truss(tmp_path / "table.csv")
    with pytest.raises(FormatError, match=r"is written as '.json'"):
        write_truss(tmp_path / "a.dxf", kite())
    with pytest.raises(FormatError, match=r"is written as '.vtp' or '.csv'"):
        write_result(tmp_path / "a.txt", SmallDisplacements().solve(kite(), "wings"))


def test_meshes_need_their_package(tmp_path: Path) -> None:
    (tmp_path / "a.msh").write_text("")
    try:
        import meshio  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependency, match=r"clapas\[mesh\]"):
            read_truss(tmp_path / "a.msh")
    else:
        pytest.skip("meshio is installed")


def test_results_for_other_programs(tmp_path: Path) -> None:
    truss = grid(2, load=2000.0)
    state = SmallDisplacements().solve(truss, "down")
    write_result(tmp_path / "state.vtp", state)
    tree = ElementTree.parse(tmp_path / "state.vtp")
    fields = {
        each.get("Name"): np.array((each.text or "").split(), dtype=float) for each in tree.iter("DataArray")
    }
    np.testing.assert_allclose(fields["force"], state.forces)
    np.testing.assert_allclose(fields["Points"].reshape(-1, 3), state.shape)
    assert fields["offsets"][-1] == 2 * truss.n_members
    write_result(tmp_path / "state.csv", state)
    with (tmp_path / "state.csv").open() as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["force [N]"]) for row in rows], state.forces, rtol=1e-8)
    assert sum(int(row["slack"]) for row in rows) == state.is_slack.sum() > 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.dxf", DXF.format(unit=4).replace("-1000.0", "q000.0", 1)),
        ("a.dxf", DXF.format(unit="4Ý0")),
        ("a.json", '{"data": {"node": {"0": {"x": [1]}, "1": {}}, "edge": {"0": {"1": {}}}}}'),
        ("a.json", '{"data": {"node": {"0": {}}, "edge": {"0": {"7": {}}}}}'),
        ("a.json", '{"data": {"node": {"0": {}, "1": {"x": 1}}, "edge": {"0": {"1": {"f": "big"}}}}}'),
        ("nodes.csv", "x,y\n"),
        ("a.json", '{"nodes": 3, "groups": 4}'),
        ("a.json", '{"nodes": {"a": [0, 0]}, "groups": {"wire": 7}}'),
        ("a.json", '{"nodes": {"a": [0, 0]}, "groups": {"wire": {"young": 1, "area": 1}}, "cases": []}'),
    ],
)
def test_damage_found_by_fuzzers_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=name):
        read_truss(tmp_path / name)


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """Empty lines count, and so does the line in which a group is described first."""
    head, *rows = MEMBERS.splitlines()
    (tmp_path / "nodes.csv").write_text(NODES)
    members = tmp_path / "members.csv"
    members.write_text(
        "\n".join([head, "", "", rows[0], "", *rows[1:], ",".join(["nobody", *["1"] * head.count(",")])])
    )
    with pytest.raises(FormatError, match=f"members.csv: line {len(rows) + 5} names node 'nobody'"):
        read_truss(tmp_path / "nodes.csv")
    columns = head.split(",")
    place = next(k for k, name in enumerate(columns) if name.startswith("young"))
    cells = rows[0].split(",")
    for value, words in (
        ("soft", "line 4, column 'young': expected a number, got 'soft'"),
        ("-1", "line 4: "),
    ):
        cells[place] = value
        members.write_text("\n".join([head, "", "", ",".join(cells)]))
        with pytest.raises(Error, match=words):
            read_truss(tmp_path / "nodes.csv")


@pytest.mark.parametrize("word", ["far", "nan", "1e400"])
def test_a_drawing_names_the_line_of_a_wrong_coordinate(word: str, tmp_path: Path) -> None:
    path = tmp_path / "drawing.dxf"
    text = DXF.format(unit=4).replace("-1000.0", word, 1)
    path.write_text(text)
    words = f"drawing.dxf: LINE of line 16: code 10 must be a finite number, got '{word}'"
    with pytest.raises(FormatError, match=words):
        read_truss(path)


def test_a_network_names_the_node_or_edge_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    nodes = {"0": {"x": 0.0}, "1": {"x": 1.0}}
    wrong: list[tuple[dict[str, object], dict[str, object], str]] = [
        ({**nodes, "1": {"x": "far"}}, {"0": {"1": {}}}, "node 1, 'x' must be a finite number, got 'far'"),
        (nodes, {"0": {"7": {}}}, "edge 0-7 names node 7, which is not in 'node'"),
        (nodes, {"0": {"1": {"q": True}}}, "edge 0-1, 'q' must be a finite number, got True"),
    ]
    for node, edge, words in wrong:
        content = {"dtype": "compas.datastructures/Network", "data": {"node": node, "edge": edge}}
        path.write_text(json.dumps(content))
        with pytest.raises(FormatError, match=words):
            read_truss(path)
