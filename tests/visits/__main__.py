"""``python -m tests.visits --write``: make the visits and write the page of their transcripts."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.visits.visits import VISITS, make, transcript

DOCS = Path(__file__).parents[2] / "docs"
HEAD = """# Four visits

What people with a question of their own type first, and what they get: made by `python -m tests.visits
--write` on a machine with two shared cores whose kernels were compiled before (`clapas warm-up`). The test
suite makes the same visits.

"""


def main() -> None:
    parts = []
    for visit in VISITS:
        with tempfile.TemporaryDirectory() as folder:
            answers = make(visit, Path(folder))
            part = transcript(visit, answers)
            name = visit.leaves[-1]  # one picture for each
            target = DOCS / "_static" / "visits" / name
            target.parent.mkdir(exist_ok=True)
            Image.open(Path(folder) / name).convert("RGB").quantize(64).save(target, optimize=True)
            part += f"![{visit.door}: {name}](_static/visits/{name})\n\n"
            parts.append(part)
    page = HEAD + "\n".join(parts)
    if "--write" in sys.argv:
        (DOCS / "visits.md").write_text(page.rstrip("\n") + "\n", encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
