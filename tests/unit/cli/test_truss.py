"""``clapas truss``."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.bodies.trusses.generators import grid, kite, module, prism
from clapas.cli.truss_shipped import SHIPPED
from clapas.io.trusses import read_truss, write_truss

from .conftest import Run


def test_report_of_a_file(run: Run, tmp_path: Path) -> None:
    write_truss(tmp_path / "grid.json", grid(2, load=2000.0))
    outcome = run("truss", tmp_path / "grid.json", "--case", "down", "--modes", 2)
    assert outcome.code == 0
    for words in (
        "48 cables",
        "self-stress states",
        "0 internal, 0 rigid",
        "stable",
        "SOLVED",
        "buckles first",
    ):
        assert words in outcome.out


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "grid"])
def test_every_shipped_structure(run: Run, name: str) -> None:
    document = run("truss", name, "--json").document
    assert document["is_stable"]
    assert all(case["status"] == "SOLVED" for case in document["cases"])


def test_parameters_pictures_and_files(run: Run, tmp_path: Path) -> None:
    settings = ("--set", "n=3", "--set", "load=1000", "--set", "modified=false")
    picture, table = tmp_path / "a.png", tmp_path / "a.vtp"
    document = run(
        "truss", "grid", *settings, "--model", "small", "--picture", picture, "--out", table, "--json"
    ).document
    assert document["cases"][0]["slack_cables"] == 8
    assert picture.stat().st_size > 10_000
    assert "displacement" in table.read_text()
    run("truss", "kite", "--out", tmp_path / "kite.json")
    assert read_truss(tmp_path / "kite.json").name == "kite"


def test_a_drawing_is_prestressed_loaded_and_charted(run: Run, tmp_path: Path) -> None:
    """Lines of a prism on its feet: a mechanism without prestress, a structure with it."""
    plain = prism(3).with_(prestress=None)
    foot = plain.nodes[:, 2] < plain.nodes[:, 2].mean()
    write_truss(tmp_path / "nodes.csv", plain.with_(is_blocked=[[each] * 3 for each in foot]))
    outcome = run("truss", tmp_path, "--picture", tmp_path / "soft.png")
    assert outcome.code == 2
    assert "it has 1 mechanism and no prestress; the softest motion moves nodes" in outcome.err
    assert (tmp_path / "soft.png").stat().st_size > 5_000
    settings = ("--tension", 2000, "--load", -300, "--self-weight", "--chart", tmp_path / "chart.png")
    document = run("truss", tmp_path, *settings, "--json").document
    assert document["is_stable"]
    assert document["cases"][0]["case"] == "load"
    assert document["cases"][0]["largest_cable_force"] > 2000.0
    assert (tmp_path / "chart.png").stat().st_size > 10_000


def test_weight_on_nothing_is_refused(run: Run) -> None:
    outcome = run("truss", "ball", "--self-weight")
    assert outcome.code == 2
    assert "nothing holds the structure along z, and its loads add up to -" in outcome.err


def test_a_mechanism_is_drawn(run: Run, tmp_path: Path) -> None:
    blocked = [[True] * 3] * 3 + [[False] * 3] * 5
    push = [[0.0] * 3] * 4 + [[50.0, 0.0, 0.0]] * 4
    write_truss(tmp_path / "soft.json", module().with_(is_blocked=blocked, cases={"push": push}))
    outcome = run("truss", tmp_path / "soft.json", "--model", "small", "--picture", tmp_path / "soft.png")
    assert outcome.code == 2
    assert "nothing resists this load" in outcome.err
    assert "the mechanism is drawn in" in outcome.err
    assert (tmp_path / "soft.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("grid",), "'grid' needs --set n=VALUE"),
        (("kite", "--set", "colour=red"), "expected KEY=VALUE with a key among tension, load"),
        (("kite", "--set", "load=much"), "'much' is no float"),
        (("kite", "--model", "huge"), "--model must be 'large' or 'small'"),
        (("kite", "--case", "wind"), "no load case is called 'wind'"),
        (("nothing.toml",), "there is no file"),
        (
            ("nothing.toml", "--set", "n=3"),
            "--set n=3 belongs to shipped structures; 'nothing.toml' is a file",
        ),
        (("kite", "--factor", "nan"), "--factor must be a finite number, got nan"),
        (("kite", "--groups", "a.toml"), "--groups belongs to files that carry geometry only"),
        (("kite", "--picture", "kite.foo"), "a picture ends in .png"),
        (("kite", "--chart", "kite.foo"), "a picture ends in .png"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], words: str) -> None:
    outcome = run("truss", *arguments)
    assert outcome.code == 2
    assert words in outcome.err


def test_a_missing_support_is_told(run: Run, tmp_path: Path) -> None:
    """In large displacements a triangle held at one corner swings until its load hangs below."""
    nodes = ["name,x [m],y [m],support,fx:L [kN],fy:L [kN]", "A,0,0,xy,0,0", "B,4,0,,0,0", "C,4,3,,10,0"]
    (tmp_path / "nodes.csv").write_text("\n".join(nodes))
    rows = ["A,B,s,bar,200,500", "B,C,s,bar,200,500", "A,C,s,bar,200,500"]
    head = "a,b,group,kind,young [GPa],area [mm2]"
    (tmp_path / "members.csv").write_text("\n".join([head, *rows]))
    outcome = run("truss", tmp_path / "nodes.csv")
    assert "the supports leave the whole free to move in 1 way: one may be missing" in outcome.err
    assert "of the size of the structure, into another shape" in outcome.err
    assert "no yield_stress is given for s: yield is not checked there" in outcome.err


DRAWING = "9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n"


def drawing(folder: Path) -> Path:
    """Two wires that hold a node from above, as lines of a drawing with two support points."""
    lines = [f"0\nLINE\n8\nwires\n10\n{x}\n20\n1.0\n11\n0.0\n21\n0.0\n" for x in (-1.0, 1.0)]
    points = [f"0\nPOINT\n8\nsupports\n10\n{x}\n20\n1.0\n" for x in (-1.0, 1.0)]
    text = "0\nSECTION\n2\nHEADER\n" + DRAWING + "".join(lines + points) + "0\nENDSEC\n0\nEOF\n"
    (folder / "wires.dxf").write_text(text)
    return folder / "wires.dxf"


def test_invented_sections_are_told_and_replaced(run: Run, tmp_path: Path) -> None:
    outcome = run("truss", drawing(tmp_path), "--load", -100)
    assert outcome.code == 0
    assert (
        "nothing is said of material and section of 'wires': taken as cables of 50 mm² of steel"
        in outcome.err
    )
    sections = '[groups.wires]\nkind = "cable"\nyoung = 2e11\narea = 1e-5\nyield_stress = 1e9\n'
    (tmp_path / "sections.toml").write_text(sections)
    outcome = run("truss", drawing(tmp_path), "--load", -100, "--groups", tmp_path / "sections.toml")
    assert outcome.code == 0
    assert "nothing is said" not in outcome.err


@pytest.mark.parametrize("model", ["small", "large"])
def test_prestress_out_of_balance_is_refused_and_settled(run: Run, model: str, tmp_path: Path) -> None:
    pushed = [[0.0, 0.0], [0.03, 0.0], [0.0, 0.0], [0.0, 0.0]]
    write_truss(tmp_path / "kite.json", kite().with_(nodes=kite().nodes + pushed))
    outcome = run("truss", tmp_path / "kite.json", "--model", model)
    assert outcome.code == 2
    assert "the prestress is not in equilibrium in the given shape: it leaves" in outcome.err
    assert "N (-" in outcome.err
    assert "at node 1, with forces up to" in outcome.err
    assert "--settle in the shell" in outcome.err
    assert run("truss", tmp_path / "kite.json", "--model", model, "--settle").code == 0
    outcome = run("truss", tmp_path / "kite.json", "--settle", "--tension", 100)
    assert "drop --settle" in outcome.err


def test_reactions_units_and_what_buckling_assumes(run: Run, tmp_path: Path) -> None:
    """A frame of two rafters and a tie under 10 kN: half of it on each support."""
    nodes = ["name;x;y;support;fy:snow [kN]", "A;0;0;xy;0", "B;4;0;y;0", "C;2;3;;-10"]
    (tmp_path / "nodes.csv").write_text("\n".join(nodes))
    rows = ["A;B;tie;cable;160;50;900", "A;C;rafter;bar;210;400;235", "B;C;rafter;bar;210;400;235"]
    head = "a;b;group;kind;young [GPa];area [mm2];yield_stress [MPa]"
    (tmp_path / "members.csv").write_text("\n".join([head, *rows]))
    outcome = run("truss", tmp_path, "--chart", tmp_path / "chart.png")
    table = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines() if line.strip()}
    assert [table[name][1] for name in ("A", "B", "all")] == ["5000", "5000", "10000"]
    assert "smallest force (N)" in outcome.out
    assert "rafter are checked for buckling as solid round ones of their area: give inertia" in outcome.err
    document = run("truss", tmp_path, "--json").document
    assert document["cases"][0]["reactions"]["A"][1] == pytest.approx(5000.0)


def test_list(run: Run) -> None:
    outcome = run("truss", "list")
    assert all(name in outcome.out for name in SHIPPED)


def test_groups_that_no_member_is_in_are_named(run: Run, tmp_path: Path) -> None:
    sections = '[groups.wire]\nkind = "cable"\nyoung = 2e11\narea = 1e-5\nyield_stress = 1e9\n'
    (tmp_path / "sections.toml").write_text(sections)
    outcome = run("truss", drawing(tmp_path), "--load", -100, "--groups", tmp_path / "sections.toml")
    assert "no member is in the group 'wire'; the groups of its members are" in outcome.err


def test_a_cable_that_ends_where_it_begins_has_no_force(run: Run, tmp_path: Path) -> None:
    """Two cables and a slack tie: the roller slides under the fixed support."""
    (tmp_path / "tri.toml").write_text(
        'name = "tri"\n[nodes]\nA = [0, 0]\nB = [4, 0]\nC = [2, 2]\n'
        '[groups.rope]\nkind = "cable"\nyoung = 2e11\narea = 1e-3\nyield_stress = 2.5e8\n'
        'members = [["A", "C"], ["B", "C"], ["A", "B"]]\n'
        '[supports]\nA = "all"\nB = "y"\n[cases.p]\nC = [0, -1e4]\n'
    )
    outcome = run("truss", tmp_path / "tri.toml")
    assert "nan" not in outcome.out
    assert "RuntimeWarning" not in outcome.err


def test_what_is_not_solved_is_said_with_what_to_try(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bar.toml"
    path.write_text(
        "[nodes]\na = [0, 0]\nb = [1, 0]\n"
        '[groups.bar]\nkind = "bar"\nyoung = 210e9\narea = 1e-4\nmembers = [["a", "b"]]\n'
        '[supports]\na = "all"\n[cases.light]\nb = [0, 10]\n'
    )
    outcome = run("truss", path)
    assert outcome.code == 1
    assert (
        "light: not solved, its numbers are those of the last iteration. This is what rounding" in outcome.err
    )
    assert run("truss", path, "--tol", "1e-8").code == 0
    assert "tol and max_iterations must be positive, got 0.0" in run("truss", path, "--tol", "0").err
