"""Files of MJCF that include others."""

from __future__ import annotations

from pathlib import Path

from clapas.errors import FormatError
from clapas.scenes.robots.xml import Node, read_xml


def put_in_place(root: Node) -> None:
    """Replace each ``<include>`` by what stands in its file; paths start in the folder of the first file."""
    _fill(root, root.path.parent, {root.path.resolve()})


def _fill(node: Node, folder: Path, seen: set[Path]) -> None:
    filled = []
    for inner in node.nodes:
        if inner.tag != "include":
            _fill(inner, folder, seen)
            filled.append(inner)
            continue
        path = folder / inner.text("file")
        if path.resolve() in seen:
            raise inner.error(f"'{path}' is included a second time; names would come twice")
        seen.add(path.resolve())
        try:
            included = read_xml(path)
        except FormatError as error:
            raise inner.error(str(error)) from None
        _fill(included, folder, seen)
        filled += included.nodes
    node.nodes = filled
