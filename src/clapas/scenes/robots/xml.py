"""Strict XML reader: every element and attribute is used, reported as ignored, or rejected.

Nothing is dropped silently: a :class:`Node` records which parts were read, and :func:`leftover` lists the
rest with line numbers. Document types and entities are rejected: robots need none, and they allow attacks
(a few lines that expand to gigabytes, or that read other files).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat

from clapas.errors import FormatError
from clapas.geometry.checks import Vector

MOST_NODES = 10**6
DEEPEST = 500  # elements in elements


class Node:
    """An element of a file.

    Parameters
    ----------
    path : Path
        The file.
    tag : str
        Its name.
    attributes : dict
        Texts by name.
    line : int
        Where it starts.
    """

    def __init__(self, path: Path, tag: str, attributes: dict[str, str], line: int) -> None:
        self.path, self.tag, self.attributes, self.line = path, tag, attributes, line
        self.nodes: list[Node] = []
        self.used: set[str] = set()  # names of attributes
        self.is_used = False

    def __repr__(self) -> str:
        return f"<{self.tag}>, line {self.line}"

    @property
    def place(self) -> str:
        """The file and the line, for messages."""
        name = self.attributes.get("name")
        return f"{self.path}, line {self.line}: <{self.tag}{'' if name is None else f' name={name!r}'}>"

    def error(self, message: str) -> FormatError:
        """An error at this element."""
        return FormatError(f"{self.place}: {message}")

    # ---------------------------------------------------------------- elements

    def all(self, *tags: str) -> list[Node]:
        """Its elements of these names, in their order; they count as used."""
        found = [node for node in self.nodes if node.tag in tags]
        for node in found:
            node.is_used = True
        return found

    def one(self, tag: str) -> Node | None:
        """Its only element of a name, or None."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}> in <{self.tag}>; one is allowed")
        return found[0] if found else None

    def need(self, tag: str) -> Node:
        """Its only element of a name, which must be there."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"it needs an element <{tag}>")
        return found

    # ---------------------------------------------------------------- attributes

    def has(self, name: str) -> bool:
        """Whether an attribute is there; it does not count as used."""
        return name in self.attributes

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute as it is written; without a default it must be there."""
        self.used.add(name)
        if name in self.attributes:
            return self.attributes[name].strip()
        if default is None:
            raise self.error(f"it needs the attribute '{name}'")
        return default

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        values = self.numbers(name, None if default is None else (default,))
        if len(values) != 1:
            raise self.error(f"{name} must be one number, got '{self.attributes[name]}'")
        return values[0]

    def vector(self, name: str, size: int, default: Sequence[float] | None = None) -> Vector:
        """``size`` finite numbers."""
        values = self.numbers(name, default)
        if len(values) != size:
            raise self.error(f"{name} must be {size} numbers, got '{self.attributes[name]}'")
        return values

    def numbers(self, name: str, default: Sequence[float] | None = None) -> Vector:
        """Some finite numbers."""
        if default is not None and name not in self.attributes:
            self.used.add(name)
            return tuple(default)
        text = self.text(name)
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            raise self.error(f"{name} must be numbers, got '{text}'") from None
        if not all(map(math.isfinite, values)):
            raise self.error(f"{name} must be finite, got '{text}'")
        return values

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """``true`` or ``false``; the default, also for ``auto``."""
        text = self.text(name, "auto")
        if text not in ("true", "false", "auto"):
            raise self.error(f"{name} must be true, false or auto, got '{text}'")
        return default if text == "auto" else text == "true"

    def choice(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of the known words."""
        text = self.text(name, default)
        if text not in known:
            near = difflib.get_close_matches(text, known, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise self.error(f"unknown {name} '{text}'{hint}; known are {', '.join(known)}")
        return text


class Leftover:
    """An unused element or attribute of a file."""

    def __init__(self, node: Node, attribute: str | None = None) -> None:
        self.node, self.attribute = node, attribute

    @property
    def word(self) -> str:
        """What it is called."""
        return f"<{self.node.tag}>" if self.attribute is None else f"{self.attribute} of <{self.node.tag}>"


def leftover(root: Node) -> Iterator[Leftover]:
    """Unused parts of an element that was read, in order."""
    for name in root.attributes:
        if name not in root.used:
            yield Leftover(root, name)
    for node in root.nodes:
        if node.is_used:
            yield from leftover(node)
        else:
            yield Leftover(node)


def read_xml(path: Path) -> Node:
    """The root element of a file.

    Raises
    ------
    FormatError
        No such file, damaged, with a document type or entities, or too large.
    """
    if not path.is_file():
        raise FormatError(f"{path}: {'a folder or a device' if path.exists() else 'there is no such file'}")
    parser = expat.ParserCreate()
    stack: list[Node] = []
    roots: list[Node] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_NODES or len(stack) > DEEPEST:
            raise FormatError(f"{path}: too many elements, or too many in one another, for a robot")
        own = {name: text for name, text in attributes.items() if not name.startswith("xmlns")}
        node = Node(path, tag, own, parser.CurrentLineNumber)  # names of name spaces say nothing of the robot
        (stack[-1].nodes if stack else roots).append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    def refuse(*_: object) -> None:
        raise FormatError(
            f"{path}, line {parser.CurrentLineNumber}: it declares a document type or entities; robots need "
            "none: remove them"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise FormatError(f"{path}: not XML: {error}") from None
    return roots[0]
