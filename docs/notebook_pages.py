"""Notebooks of the documentation: run without Jupyter, shown as pages.

``python docs/notebook_pages.py`` runs every notebook of ``docs/notebooks`` and stores what cells give: what
they print, and what their last line is worth, as text or, if that is a matplotlib figure, as a picture. Pages
are Markdown made of cells and stored outputs, so that building the documentation runs nothing.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the source of a cell among ``names`` and return its outputs as a notebook stores them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=90, metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    elif value is not None:
        shown = {"output_type": "execute_result", "data": {"text/plain": repr(value)}}
        outputs.append(shown | {"metadata": {}, "execution_count": None})
    return outputs


def run(path: Path) -> dict[str, Any]:
    """A notebook with the outputs of a run in the current folder."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = run_cell("".join(cell["source"]), names)
    return notebook


def markdown(notebook: dict[str, Any]) -> str:
    """A notebook as the text of a page."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            text = "".join(output.get("text", data.get("text/plain", "")))
            if text:
                parts.append(f"```text\n{text.rstrip()}\n```")
            if "image/png" in data:
                image = f'<img alt="What the cell draws" src="data:image/png;base64,{data["image/png"]}">'
                parts.append(f"```{{raw}} html\n{image}\n```")
    return "\n\n".join(parts) + "\n"


def show(app: Any, name: str, content: list[str]) -> None:
    """Turn the source of a notebook into that of a page (Sphinx's event ``source-read``)."""
    if Path(app.env.doc2path(name)).suffix == ".ipynb":
        text = markdown(json.loads(content[0]))
        content[0] = f"{text}\n---\n\nThis page is a notebook: {{download}}`{name}.ipynb </{name}.ipynb>`.\n"


def main() -> None:
    """Run all notebooks and store their outputs."""
    before = Path.cwd()
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                done = run(path)
            finally:
                os.chdir(before)
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
