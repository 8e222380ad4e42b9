"""Every visit ends well, and uses only commands and options that the documentation shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.visits.visits import VISITS, Visit, make

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("visit", VISITS, ids=lambda visit: visit.door)
def test_a_visit(visit: Visit, tmp_path: Path) -> None:
    answers = make(visit, tmp_path)
    for answer in answers:
        assert answer.code == 0, answer.command
    said = "\n".join(answer.out for answer in answers)
    for word in visit.says:
        assert word in said
    for name in visit.leaves:
        assert (tmp_path / name).stat().st_size > 1000


def test_visits_use_what_the_docs_show() -> None:
    pages = [path for path in DOCS.rglob("*.md") if path.name != "visits.md" and "_build" not in path.parts]
    shown = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for visit in VISITS:
        for command in visit.commands:
            if command.startswith("python "):
                continue
            verb = command.split()[1]
            assert f"clapas {verb}" in shown, command
            for option in re.findall(r"--[a-z-]+", command):
                assert option in shown, f"{command}: {option}"
