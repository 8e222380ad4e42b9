"""``clapas info``: what a file holds, measured anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas import io
from clapas.io.lcp import write_lcp
from clapas.problems import gallery
from clapas.problems.lcp import LCP

from .conftest import Run


def lines(text: str) -> list[str]:
    """The lines of an aligned text with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("name", "format", "kind", "contacts", "d", "dofs"),
    [
        ("two-blocks", "fclib", "global", 8, 3, 12),
        ("sliding-block", "siconos", "local", 1, 3, None),
        ("disc-column", "siconos", "local", 2, 2, None),
        ("disc-column-global", "siconos", "global", 2, 2, 6),
    ],
)
def test_shipped_files(
    run: Run, name: str, format: str, kind: str, contacts: int, d: int, dofs: int | None
) -> None:
    outcome = run("info", f"example:{name}", "--json")
    assert outcome.code == 0
    document = outcome.document
    problem = document["problem"]
    assert (document["format"], document["kind"]) == (format, kind)
    assert (problem["contacts"], problem["d"], problem["dofs"]) == (contacts, d, dofs)
    assert problem["free_velocity"] == np.linalg.norm(io.read_problem(document["path"]).q)
    text = lines(run("info", document["path"]).out)
    assert text[0] == f"file {document['path']}"
    assert text[1].endswith(f", {kind} problem")
    assert any(line.startswith(f"contacts {contacts} in {d}-D, ") for line in text)


def test_two_blocks_in_words(run: Run) -> None:
    text = run("info", "example:two-blocks").out
    for line in (
        "format        FCLib (HDF5), global problem",
        "title         Two blocks",
        "form          global (M, H, f, w)",
        "contacts      8 in 3-D, 4 approaching",
        "dofs          12",
        "mu            0.5",
        "density       M 8.33 %, H 37.5 %, W 100 %",
        "n d / m       2",
        "condition     W is singular to rounding",
        "asymmetry     M 0",
        "M             block diagonal: 12 of 1×1",
        "components    1",
    ):
        assert f"{line}\n" in text
    assert "solution      r, u, v stored; residual measured " in text


def test_a_stored_solution_is_measured_not_believed(run: Run, tmp_path: Path) -> None:
    problem = gallery.get("one-stick").problem
    path = tmp_path / "wrong.hdf5"
    wrong = {"r": np.array([[0.5, 0.0, 0.0]]), "u": np.zeros((1, 3))}
    io.write(path, problem, solution=wrong, guesses=[gallery.get("one-stick").known.solutions[0]])
    document = run("info", path, "--json").document
    assert document["solution"]["residual"] == problem.residual(wrong["r"]) > 0.1
    assert document["solution"]["velocity_error"] == np.abs(problem.velocity(wrong["r"])).max()
    assert document["guesses"][0]["residual"] < 1e-15
    told = [line for line in lines(run("info", path).out) if line.startswith("guess 1 r, u stored;")]
    assert len(told) == 1


def test_nothing_stored(run: Run) -> None:
    assert run("info", "example:disc-column", "--json").document["solution"] is None
    assert "none stored" in run("info", "example:disc-column").out


def test_words_and_numbers_of_the_author(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "told.hdf5"
    io.write(
        path,
        gallery.get("one-stick").problem,
        title="Told",
        description="two\nlines",
        attributes={"bodies": 7},
    )
    document = run("info", path, "--json").document
    assert document["info"] == {
        "title": "Told",
        "description": "two\nlines",
        "math_info": "",
        "attributes": {"bodies": 7},
    }
    text = run("info", path).out
    assert "description   two\n              lines\n" in text
    assert "bodies        7\n" in text


def test_gallery_problems_tell_what_is_known(run: Run) -> None:
    document = run("info", "gallery:wedged-bar", "--json").document
    assert document["gallery"]["known"]["exists"] is True
    assert document["gallery"]["reference"] == "Moreau 2003, 8.1"
    text = run("info", "gallery:wedged-bar").out
    assert "known         1 solution and a continuum\n" in text


def test_no_contact(run: Run) -> None:
    document = run("info", "gallery:no-contact", "--json").document["problem"]
    assert (document["contacts"], document["components"], document["mu"]) == (0, 0, None)
    assert "contacts      0 in 3-D" in run("info", "gallery:no-contact").out


TEXT_OF_SICONOS = "2\n0\n2\n2\n2 2\n2 1\n1 2\n-5 -6\nExample of two\n"


@pytest.fixture(params=["dat", "npz", "mtx", "hdf5"])
def lcp_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"two unknowns.{request.param}"
    if request.param == "dat":
        path.write_text(TEXT_OF_SICONOS)
    else:
        write_lcp(path, LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    return path


def test_a_linear_complementarity_problem_is_known(run: Run, lcp_file: Path) -> None:
    outcome = run("info", lcp_file)
    assert outcome.code == 0
    assert "linear complementarity problem w = M z + q" in outcome.out
    assert "unknowns 2" in lines(outcome.out)
    assert f"solve it by clapas lcp '{lcp_file}'" in lines(outcome.out)
    document = run("info", lcp_file, "--json").document
    assert (document["kind"], document["unknowns"], document["density"]) == ("lcp", 2, 1.0)
    assert document["free"] == pytest.approx(np.hypot(5, 6))


@pytest.mark.parametrize("command", ["solve", "compare", "exists"])
def test_other_commands_lead_to_the_one_that_solves_it(run: Run, lcp_file: Path, command: str) -> None:
    outcome = run(command, lcp_file)
    assert outcome.code == 2
    assert "holds a linear complementarity problem" in outcome.err
    assert f"'clapas lcp '{lcp_file}'' solves it" in outcome.err
    assert run("lcp", lcp_file).code == 0


@pytest.mark.parametrize("name", ["sliding-block.dat", "two-blocks.hdf5"])
def test_a_contact_problem_is_no_lcp(run: Run, name: str) -> None:
    outcome = run("lcp", io.shipped(name))
    assert outcome.code == 2
    assert f"holds a contact problem, ContactProblem('{Path(name).stem}'" in outcome.err
    assert f"'clapas solve {io.shipped(name)}' solves it" in outcome.err
