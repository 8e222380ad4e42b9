"""``clapas gallery``: lists and single problems."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.cli import known
from clapas.problems import gallery
from clapas.problems.gallery import Continuum, Known

from .conftest import Run

IMPULSE = np.zeros((1, 2))
LINE = Continuum(description="a line", samples=(IMPULSE,), contains=lambda r, slack: True)


def test_the_list_holds_every_problem(run: Run) -> None:
    outcome = run("gallery", "--json")
    assert outcome.code == 0
    families = outcome.document["families"]
    assert {entry["name"] for entries in families.values() for entry in entries} == set(gallery.names())
    assert "two-blocks" in outcome.document["examples"]


def test_the_list_in_words(run: Run) -> None:
    text = run("gallery").out
    line = next(line for line in text.splitlines() if line.startswith("painleve-up-two "))
    for part in ("1 in 2-D", "2 solutions", "Cadoux 2009, 1.4.4"):
        assert part in line
    assert "example:two-blocks" in text
    assert "alea-42-5 " in text


def test_a_family(run: Run) -> None:
    document = run("gallery", "painleve", "--json").document
    assert [entry["name"] for entry in document["problems"]] == list(gallery.names("painleve"))
    assert run("gallery", "painleve").out.count("\npainleve-") == len(gallery.names("painleve"))


@pytest.mark.parametrize("name", ["rigid-square", "gallery:rigid-square"])
def test_one_problem(run: Run, name: str) -> None:
    text = run("gallery", name).out
    assert "A rigid square rests" in text
    assert "a continuum" in text
    assert run("gallery", name, "--json").document["problem"]["contacts"] == 2


def test_an_unknown_name(run: Run) -> None:
    outcome = run("gallery", "rigid-sqare")
    assert (outcome.code, outcome.out) == (2, "")
    assert "rigid-square" in outcome.err


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (Known(), "not known whether a solution exists"),
        (Known(exists=False, complete=True), "no solution exists"),
        (Known(exists=True), "a solution exists"),
        (Known(exists=True, solutions=(IMPULSE,), complete=True), "1 solution"),
        (Known(exists=True, solutions=(IMPULSE, IMPULSE)), "2 solutions, perhaps others"),
        (Known(exists=True, continuum=LINE, complete=True), "a continuum"),
        (
            Known(exists=True, solutions=(IMPULSE,), continuum=LINE, complete=True),
            "1 solution and a continuum",
        ),
    ],
)
def test_what_is_known_in_words(what: Known, words: str) -> None:
    assert known.in_words(what) == words
