"""Imports point down only: the layers of the architecture, enforced."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "clapas"

# From the bottom up. A module may import its own layer and those below; names on one line are one layer.
LAYERS = [
    {"errors", "status", "typing", "units", "version", "compiled"},
    {"convex", "linalg"},
    {"problems"},
    {"multiscale"},
    {"solvers", "cuts"},
    {"bodies", "laws", "collision", "geometry"},
    {"dynamics", "statics"},
    {"scenes"},
    {"distributed"},
    {"io", "analysis", "studies", "sweeps"},
    {"cli", "viewer", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem != "__init__")


def imported(path: Path) -> set[str]:
    """First component under ``clapas`` of everything a module imports at run time."""
    found: set[str] = set()
    for node in runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {
                f"{node.module}.{alias.name}" if node.module == "clapas" else str(node.module)
                for alias in node.names
            }
    return {name.split(".")[1] for name in found if name.startswith("clapas.")}


def runtime_nodes(tree: ast.AST) -> list[ast.AST]:
    """All statements but those under ``if TYPE_CHECKING``: imports are among them, expressions have none."""
    nodes: list[ast.AST] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        nodes.append(node)
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    return nodes


def part_of(path: Path) -> str:
    """First component under ``clapas`` of a module."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("part", sorted({part_of(path) for path in MODULES}))
def test_imports_point_down(part: str) -> None:
    assert part in LEVEL, f"{part} has no layer: add it to LAYERS and to the architecture"
    upward = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in MODULES
        if part_of(path) == part
        for other in imported(path)
        if LEVEL.get(other, 99) > LEVEL[part]
    ]
    assert upward == [], "these are above it"


def test_the_check_sees_imports() -> None:
    below = {"compiled", "linalg", "convex", "errors", "problems", "solvers", "status", "typing"}
    assert imported(PACKAGE / "solvers" / "loop.py") == below
