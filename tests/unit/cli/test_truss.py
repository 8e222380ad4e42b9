"""``clapas truss``."""

from __future__ import annotations

from pathlib import Path

import pytest

from clapas.bodies.trusses.generators import grid, module, prism
from clapas.cli.truss import SHIPPED
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


def test_list(run: Run) -> None:
    outcome = run("truss", "list")
    assert all(name in outcome.out for name in SHIPPED)
