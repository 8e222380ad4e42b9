"""The table of verdicts on the page of results, made of the files that studies leave: ``python
docs/verdicts.py``.

Each ``results/NAME.json`` is the ``verdicts.json`` of a report, taken over by ``take_report.py`` together
with its text. Nothing in the table is typed by hand: a test compares it with the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clapas.studies.verdicts import GRADES, WITHIN

HERE = Path(__file__).parent
BEGIN, END = "<!-- verdicts: made by docs/verdicts.py -->", "<!-- end of verdicts -->"


def documents(folder: Path = HERE / "results") -> dict[str, dict[str, Any]]:
    """The files of verdicts by study."""
    paths = sorted(folder.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def table(found: dict[str, dict[str, Any]]) -> str:
    """A sentence with the counts, and one row per printed number."""
    every = [verdict for document in found.values() for verdict in document["verdicts"]]
    counts = {
        grade: sum(
            each["grade"] == grade or (grade == WITHIN and each["grade"].startswith(WITHIN)) for each in every
        )
        for grade in GRADES
    }
    sentence = (
        f"{len(every)} printed numbers: " + ", ".join(f"{n} {grade}" for grade, n in counts.items()) + "."
    )
    lines = ["| printed in | quantity | printed | found | verdict | study |", "|---|---|---|---|---|---|"]
    for name, document in found.items():
        for each in document["verdicts"]:
            grade = f"{each['grade']} ({each['why']})" if each["why"] else each["grade"]
            cells = (each["source"], each["quantity"], each["printed"], each["found"], grade, f"`{name}`")
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    commands = ", ".join(f"`{document['command']}`" for document in found.values())
    return f"{sentence} Made by {commands}.\n\n" + "\n".join(lines)


def placed(page: str, text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    page = HERE / "results.md"
    page.write_text(placed(page.read_text(encoding="utf-8"), table(documents())), encoding="utf-8")
