"""``clapas exists``: words, JSON and exit codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.io import write
from clapas.problems import ContactProblem
from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("name", "code", "verdict"),
    [
        ("gallery:rigid-square", 0, "certified"),
        ("gallery:painleve-down-none", 1, "unknown"),
        ("gallery:crushed-disc", 1, "impossible"),
        ("example:two-blocks", 0, "certified"),
    ],
)
def test_verdicts(run: Run, name: str, code: int, verdict: str) -> None:
    outcome = run("exists", name)
    assert outcome.code == code
    assert f"verdict   {verdict}: " in outcome.out


def test_json(run: Run) -> None:
    outcome = run("exists", "gallery:painleve-down-forward", "--bound", 10, "--json")
    document = outcome.document
    assert document["exists"] is True
    assert document["margin"] is None  # infinite
    assert document["bounded_margin"] == pytest.approx(3.03553, abs=1e-5)
    assert len(document["v"]) == 1


def test_inscribed_polyhedra(run: Run) -> None:
    assert run("exists", "gallery:box-stack-10", "--inscribed").code == 0


def test_bad_input(run: Run) -> None:
    assert run("exists", "no-such-file").code == 2
    outcome = run("exists", "gallery:rigid-square", "--tol", 0)
    assert outcome.code == 2
    assert "tol must be positive" in outcome.err


def test_numbers_that_cannot_be_inverted_end_in_a_verdict(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "light.hdf5"
    write(file, ContactProblem(W=1e-310 * np.eye(2), q=[[-1.0, 1.0]], mu=0.5))
    outcome = run("exists", file)
    assert outcome.code == 1
    assert "verdict   unknown: " in outcome.out
    assert "the motion is too large for a number" in outcome.out
