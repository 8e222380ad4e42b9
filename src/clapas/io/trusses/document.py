"""Read a truss from a TOML or JSON document; see :mod:`clapas.bodies.trusses.document` for its tables."""

from __future__ import annotations

from pathlib import Path

from clapas.bodies.trusses.document import from_document, read_tables
from clapas.bodies.trusses.structure import ImpossibleTruss, Truss
from clapas.errors import Error, FormatError


def read_document(path: Path) -> Truss:
    """Read a TOML or JSON file."""
    content = read_tables(path)
    try:
        return from_document(content, str(path))
    except (FormatError, ImpossibleTruss):
        raise
    except Error as error:  # name the file
        raise type(error)(f"{path}: {error}") from None
