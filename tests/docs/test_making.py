"""What makes the documentation: parts of pages from the package, docstrings as markup, reports as pages."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from clapas.scenes import examples
from clapas.studies import registry

DOCS = Path(__file__).parents[2] / "docs"


def module(name: str) -> ModuleType:
    """A module of the folder of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    return module("generated")


def test_every_mark_of_a_page_is_made(generated: ModuleType) -> None:
    pages = [path for path in DOCS.rglob("*.md") if not {"_build", "generated"} & set(path.parts)]
    marks = {name for page in pages for name in generated.MARK.findall(page.read_text(encoding="utf-8"))}
    assert marks == set(generated.MAKERS)


def test_commands_say_what_help_says(generated: ModuleType) -> None:
    text = generated.commands()
    assert "## clapas run" in text
    assert "--duration" in text


def test_scenes_have_their_words_and_pictures(generated: ModuleType) -> None:
    text = generated.scenes()
    for name in examples.names():
        assert f"## {name}\n" in text
        assert f"_static/scenes/{name}.png" in text, f"python docs/make_gallery.py {name}"


@pytest.mark.parametrize("name", registry.names())
def test_every_study_has_its_page_and_command(name: str) -> None:
    page = (DOCS / "results" / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(rf"^\$ clapas study {name}\b", page, flags=re.MULTILINE)
    assert f"results/{name}\n" in (DOCS / "results.md").read_text(encoding="utf-8"), "the list of pages"
    has_report = (DOCS / "results" / "reports" / f"{name}.md").is_file()
    assert has_report == (f"{{include}} reports/{name}.md" in page)


def test_the_schema_of_scenes_is_told(generated: ModuleType) -> None:
    text = generated.scene_tables()
    assert "`mu` | needed" in text
    assert "`half-plane`" in text


def test_bars_and_stars_of_docstrings_are_no_markup() -> None:
    prepared = module("docstrings").prepared
    assert prepared(["Size |q| of K*, with ``a|b``."]) == [r"Size \|q\| of K\*, with ``a|b``."]


def test_formulas_set_apart_are_shown_as_typed() -> None:
    prepared = module("docstrings").prepared
    lines = ["A law:", "", "    |r_T| ≤ mu r_N", "", "and prose."]
    assert prepared(lines) == ["A law:", "", "::", "", "    |r_T| ≤ mu r_N", "", "and prose."]


def test_examples_and_descriptions_of_parameters_are_kept() -> None:
    prepared = module("docstrings").prepared
    lines = [
        "Parameters",
        "----------",
        "tol : float",
        "    Of |q|.",
        "",
        "Examples",
        "--------",
        ">>> 2 * 3",
        "6",
    ]
    assert prepared(lines) == [*lines[:3], r"    Of \|q\|.", *lines[4:]]


def test_a_report_becomes_part_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("make_gallery", "verdicts"):
        monkeypatch.setitem(sys.modules, name, module(name))
    adapted = module("take_report").adapted
    text = "## Bounds\n\n![x](x.png)"
    expected = "## Bounds\n\n![x](_static/x.png)\n"
    assert adapted(text, "_static/") == expected


def test_the_table_of_verdicts_is_made_of_the_reports() -> None:
    """Every number in the table comes from a file that a command made, and no report is left out."""
    verdicts = module("verdicts")
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    found = verdicts.documents()
    assert found, "no study has left its verdicts"
    assert verdicts.placed(page, verdicts.table(found)) == page, "python docs/verdicts.py"
    for name, document in found.items():
        assert document["command"].startswith(f"clapas study {name}"), name
        assert "--quick" not in document["command"], f"{name}: the verdicts are those of a quick run"
        assert name in registry.names()
        text = (DOCS / "results" / "reports" / f"{name}.md").read_text(encoding="utf-8")
        for each in document["verdicts"]:
            for key in ("source", "quantity", "printed", "found", "grade"):
                assert each[key].replace("|", "\\|") in text, f"{name}: {each[key]} is not in the report"


def test_no_study_with_printed_numbers_is_left_out_of_the_table() -> None:
    missing = set(registry.names()) - set(module("verdicts").documents()) - registry.UNPUBLISHED
    assert not missing, f"no verdicts of {sorted(missing)}: docs/take_report.py"


def test_a_table_of_verdicts_counts_them() -> None:
    verdicts = module("verdicts")
    row = {"source": "a", "quantity": "|f|", "printed": "1", "found": "1", "grade": "reproduced", "why": ""}
    within = row | {"grade": "reproduced within 2 %", "why": "scatter"}
    text = verdicts.table({"x": {"command": "clapas study x", "verdicts": [row, within]}})
    assert "2 printed numbers: 1 reproduced, 1 reproduced within, 0 not reproduced" in text
    assert "| a | \\|f\\| | 1 | 1 | reproduced within 2 % (scatter) | [x](results/x.md) |" in text
    assert "| [x](results/x.md) | 1 | 1 |  |  | `clapas study x` |" in text
    again = verdicts.placed(f"head\n{verdicts.BEGIN}\nold\n{verdicts.END}\ntail", text)
    assert "old" not in again
    assert verdicts.placed(again, text) == again
