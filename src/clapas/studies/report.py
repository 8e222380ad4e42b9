"""The report of a study: text, tables and pictures in a folder, written incrementally."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clapas.studies.verdicts import Verdict
from clapas.version import __version__


class Report:
    """A Markdown file and pictures beside it; results are kept even if the study is interrupted.

    Parameters
    ----------
    folder : path
        Created if it is missing. The text is ``report.md`` in it.
    title : str
        First line of the text.
    tell : callable, optional
        Receives one line of progress at a time.
    command : str
        The command that writes the report, for the file of verdicts.

    Examples
    --------
    >>> import tempfile
    >>> report = Report(tempfile.mkdtemp(), "Numbers")
    >>> report.table(["n", "n²"], [["3", "9"]])
    >>> print(report.text)
    # Numbers
    <BLANKLINE>
    | n | n² |
    | - | -- |
    | 3 |  9 |
    <BLANKLINE>
    """

    def __init__(
        self,
        folder: Path | str,
        title: str,
        tell: Callable[[str], None] | None = None,
        command: str = "",
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parts = [f"# {title}"]
        self._tell = tell
        self._command = command
        self._verdicts: list[Verdict] = []
        self._write()

    @property
    def text(self) -> str:
        """The report so far."""
        return "\n\n".join(self._parts) + "\n"

    def tell(self, line: str) -> None:
        """Report progress, without recording it."""
        if self._tell:
            self._tell(line)

    def say(self, text: str) -> None:
        """Add a paragraph or a heading."""
        self._parts.append(text)
        self._write()

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table."""
        self.say(markdown_table(header, rows))

    @contextmanager
    def figure(self, name: str, caption: str, size: tuple[float, float] = (7.0, 4.5)) -> Iterator[Any]:
        """Draw a picture: a matplotlib figure to fill, kept as ``name.png`` when the block ends."""
        from matplotlib.figure import Figure

        drawing = Figure(figsize=size, layout="constrained")
        yield drawing
        drawing.savefig(self.folder / f"{name}.png", dpi=110)
        self.say(f"![{caption}]({name}.png)")

    def judge(self, verdict: Verdict) -> None:
        """Keep the verdict on a printed number for the table at the end."""
        self._verdicts.append(verdict)
        self.tell(f"{verdict.quantity}: printed {verdict.printed}, found {verdict.found}: {verdict.grade}")

    def close(self) -> None:
        """Add the table of verdicts, and keep them in ``verdicts.json`` for other programs."""
        if not self._verdicts:
            return
        self.say("## Printed numbers and verdicts")
        self.table(
            ["printed in", "quantity", "printed", "found", "verdict", "why"],
            [[v.source, v.quantity, v.printed, v.found, v.grade, v.why] for v in self._verdicts],
        )
        document = {
            "command": self._command,
            "version": __version__,
            "verdicts": [verdict.as_dict() for verdict in self._verdicts],
        }
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        (self.folder / "verdicts.json").write_text(text, encoding="utf-8")

    def _write(self) -> None:
        (self.folder / "report.md").write_text(self.text, encoding="utf-8")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its columns aligned.

    Examples
    --------
    >>> print(markdown_table(["|x|", "y"], [["1", "long"]]))
    | \\|x\\| |    y |
    | ----- | ---- |
    |     1 | long |
    """
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (header, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in padded)
