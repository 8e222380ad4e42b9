"""Take the report of a study into the documentation: ``python docs/take_report.py NAME FOLDER``.

The text becomes ``results/reports/NAME.md``, without its title: the page ``results/NAME.md`` includes it.
Pictures are compressed into ``_static/results/NAME/``; the verdicts become ``results/reports/NAME.json``, and
the table of all verdicts is made anew (see ``verdicts.py``).
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from make_gallery import compress
from verdicts import documents, placed, table

HERE = Path(__file__).parent
REPORTS = HERE / "results" / "reports"


def take(name: str, folder: Path) -> Path:
    """Write the text and the pictures of a report where the page includes them."""
    pictures = HERE / "_static" / "results" / name
    body = (folder / "report.md").read_text(encoding="utf-8").partition("\n")[2].strip()
    for picture in sorted(folder.glob("*.png")):
        pictures.mkdir(parents=True, exist_ok=True)
        compress(Path(shutil.copy(picture, pictures)))
    target = REPORTS / f"{name}.md"
    target.write_text(adapted(body, f"../_static/results/{name}/"), encoding="utf-8")
    if (folder / "verdicts.json").is_file():
        shutil.copy(folder / "verdicts.json", target.with_suffix(".json"))
    page = HERE / "results.md"
    page.write_text(placed(page.read_text(encoding="utf-8"), table(documents())), encoding="utf-8")
    return target


def adapted(text: str, pictures: str) -> str:
    """The text of a report as part of a page.

    >>> adapted("## Bounds\\n\\n![x](x.png)", "folder/")
    '## Bounds\\n\\n![x](folder/x.png)\\n'
    """
    return re.sub(r"\]\((?=[\w-]+\.png\))", f"]({pictures}", text) + "\n"


if __name__ == "__main__":
    print(take(sys.argv[1], Path(sys.argv[2])))
