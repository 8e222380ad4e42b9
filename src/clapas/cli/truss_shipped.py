"""Shipped structures of ``clapas truss``, by name and parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.bodies.trusses import Truss

SHIPPED = {
    "module": "module",
    "grid": "grid",
    "kite": "kite",
    "mast": "guyed_mast",
    "mast3d": "guyed_mast_3d",
    "prism": "prism",
    "prisms": "mast_of_prisms",
    "ball": "six_strut_ball",
    "sphere": "geodesic_sphere",
    "net": "cable_net",
}


def make(name: str, assignments: list[str]) -> Truss:
    """A shipped structure with parameters KEY=VALUE."""
    maker = _maker(name)
    known = inspect.signature(maker).parameters
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or key not in known:
            raise SettingsError(f"--set {assignment}: expected KEY=VALUE with a key among {', '.join(known)}")
        values[key] = _value(assignment, text, str(known[key].annotation))
    missing = [key for key, each in known.items() if each.default is each.empty and key not in values]
    if missing:
        raise SettingsError(f"'{name}' needs --set {missing[0]}=VALUE")
    return maker(**values)


def table() -> list[tuple[str, str, str]]:
    """Name, summary and parameters of each structure."""
    makers = {name: _maker(name) for name in SHIPPED}
    return [
        (name, (inspect.getdoc(maker) or "").splitlines()[0], ", ".join(inspect.signature(maker).parameters))
        for name, maker in makers.items()
    ]


def _maker(name: str) -> Callable[..., Truss]:
    from clapas.bodies.trusses import generators

    maker: Callable[..., Truss] = getattr(generators, SHIPPED[name])
    return maker


def _value(assignment: str, text: str, kind: str) -> Any:
    """The value of a parameter, converted according to its annotation."""
    try:
        if kind.startswith("bool"):
            return {"true": True, "false": False}[text.lower()]
        if kind.startswith("int"):
            return int(text)
        return float(text) if kind.startswith("float") else text
    except (ValueError, KeyError):
        raise SettingsError(f"--set {assignment}: '{text}' is no {kind.split(' ')[0]}") from None
