"""The kinds of bodies that files can hold: one line each."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from clapas.bodies.kind import ShapedBodies
from clapas.errors import SceneError

KINDS = {
    "elastic": "clapas.bodies.elastic.kind:ElasticBodies",
    "rods": "clapas.bodies.rods.rods:Rods",
    "truss": "clapas.bodies.trusses.moving:MovingTruss",
}


@runtime_checkable
class WrittenBodies(Protocol):
    """Bodies that plain words, numbers, lists and dictionaries can describe."""

    def to_dict(self) -> dict[str, Any]:
        """What :func:`made` makes them from."""
        ...


def made(kind: str, settings: Mapping[str, Any], folder: Path) -> ShapedBodies:
    """Bodies of a kind from their description; ``folder`` is where files that it names are looked for.

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
    bodies: ShapedBodies = getattr(import_module(module), name).from_dict(settings, folder)
    return bodies
