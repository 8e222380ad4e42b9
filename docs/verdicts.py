"""The table of verdicts on the page of results, made of the files that studies leave: ``python
docs/verdicts.py``.

Each ``results/reports/NAME.json`` is the ``verdicts.json`` of a report, taken over by ``take_report.py``
together with its text. Nothing in the table is typed by hand: a test compares it with the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clapas.studies.verdicts import GRADES, WITHIN

HERE = Path(__file__).parent
BEGIN, END = "<!-- verdicts: made by docs/verdicts.py -->", "<!-- end of verdicts -->"


def documents(folder: Path = HERE / "results" / "reports") -> dict[str, dict[str, Any]]:
    """The files of verdicts by study."""
    paths = sorted(folder.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def table(found: dict[str, dict[str, Any]]) -> str:
    """A sentence and a table with the counts by study, then one row per printed number."""
    every = [verdict for document in found.values() for verdict in document["verdicts"]]
    counts = ", ".join(f"{n} {grade}" for grade, n in zip(GRADES, _counts(every), strict=True))
    by_study = [f"| study | {' | '.join(GRADES)} | made by |", "|---|" + "---|" * (len(GRADES) + 1)]
    rows = ["| printed in | quantity | printed | found | verdict | study |", "|---|---|---|---|---|---|"]
    for name, document in found.items():
        link = f"[{name}](results/{name}.md)"
        numbers = " | ".join(str(n) if n else "" for n in _counts(document["verdicts"]))
        by_study.append(f"| {link} | {numbers} | `{document['command']}` |")
        for each in document["verdicts"]:
            grade = f"{each['grade']} ({each['why']})" if each["why"] else each["grade"]
            cells = (each["source"], each["quantity"], each["printed"], each["found"], grade, link)
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n\n".join((f"{len(every)} printed numbers: {counts}.", "\n".join(by_study), "\n".join(rows)))


def _counts(verdicts: list[dict[str, Any]]) -> list[int]:
    """How many there are of each grade."""
    grades = [WITHIN if each["grade"].startswith(WITHIN) else each["grade"] for each in verdicts]
    return [grades.count(grade) for grade in GRADES]


def placed(page: str, text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    page = HERE / "results.md"
    page.write_text(placed(page.read_text(encoding="utf-8"), table(documents())), encoding="utf-8")
