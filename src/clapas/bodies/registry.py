"""Registry of the kinds of bodies that scene files can describe."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from clapas.bodies.kind import ShapedBodies
from clapas.errors import Error, SceneError

KINDS = {
    "elastic": "clapas.bodies.elastic.kind:ElasticBodies",
    "rods": "clapas.bodies.rods.rods:Rods",
    "truss": "clapas.bodies.trusses.moving:MovingTruss",
}


@runtime_checkable
class WrittenBodies(Protocol):
    """Bodies that strings, numbers, lists and dictionaries can describe."""

    def to_dict(self) -> dict[str, Any]:
        """The description from which :func:`made` builds them."""
        ...


def made(kind: str, settings: Mapping[str, Any], folder: Path) -> ShapedBodies:
    """Build bodies of a kind from their description; files that it names are searched in ``folder``.

    Raises
    ------
    SceneError
        No such kind, or a description that does not fit it.
    """
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(KINDS)}"
        raise SceneError(f"no kind of bodies is called '{kind}': {hint}")
    module, _, name = KINDS[kind].partition(":")
    kind_of_bodies = getattr(import_module(module), name)
    try:
        bodies: ShapedBodies = kind_of_bodies.from_dict(settings, folder)
    except Error:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # Settings can be anything a file can hold; an error that a kind does not check for is still in the
        # file.
        raise SceneError(f"{kind}: the settings do not fit ({type(error).__name__}: {error})") from None
    return bodies
