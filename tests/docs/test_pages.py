"""The documentation does what it says: its Python runs, its commands run, its made parts are complete.

Each page is run from top to bottom in an empty folder, Python blocks and commands in their order. A block of
commands under ``<!-- not run: REASON -->`` is only parsed: its options must exist.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from clapas import cli
from clapas.scenes import examples

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
MADE = {"_build", "generated"}
PAGES = [README, *sorted(path for path in DOCS.rglob("*.md") if not MADE & set(path.parts))]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>.+?) -->\n)?"
    r"^```(?P<kind>python|console)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
OTHERS = ("pip", "make", "python", "git", "mpirun")  # programs a page may name beside clapas


class Block(NamedTuple):
    """A piece of a page that can be run, and the line it starts at."""

    kind: str
    text: str
    line: int
    is_run: bool


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(found["kind"], found["text"], line, found["reason"] is None)


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a block, without the prompt."""
    joined = block.text.replace("\\\n", " ")
    for line in joined.splitlines():
        if line.startswith("$ "):
            yield shlex.split(line.removeprefix("$ "), comments=True)


def parse(words: list[str]) -> None:
    """Read a command without running it; a wrong option raises."""
    group: Any = typer.main.get_command(cli.app)
    group.commands[words[0]].make_context(words[0], words[1:], resilient_parsing=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.kind == "python":
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), names)
            continue
        for words in commands(block):
            program, *arguments = words
            if program != "clapas":
                assert program in OTHERS, f"{where}: {words}"
            elif block.is_run:
                assert cli.main(arguments) == 0, f"{where}: {words}"
            else:
                parse(arguments)


def test_pages_with_blocks_are_found() -> None:
    assert sum(len(list(blocks(page))) for page in PAGES) > 20


def test_every_scene_has_a_picture() -> None:
    folder = DOCS / "_static" / "scenes"
    missing = [name for name in examples.names() if not (folder / f"{name}.png").exists()]
    assert not missing, f"python docs/make_gallery.py {' '.join(missing)}"


def test_pictures_stay_small() -> None:
    pictures = list((DOCS / "_static").rglob("*.png"))
    assert sum(path.stat().st_size for path in pictures) < 3.0e6
