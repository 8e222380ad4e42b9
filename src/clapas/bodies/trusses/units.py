"""Units of files, as factors to SI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clapas.errors import FormatError

LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048}
FORCES = {"N": 1.0, "kN": 1e3, "MN": 1e6, "lbf": 4.4482216152605}
STRESSES = {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "N/mm2": 1e6, "psi": 6894.757293168}
AREAS = {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6, "in2": 0.0254**2}
INERTIAS = {"m4": 1.0, "cm4": 1e-8, "mm4": 1e-12}
KNOWN: Mapping[str, Mapping[str, float]] = {
    "length": LENGTHS,
    "force": FORCES,
    "stress": STRESSES,
    "area": AREAS,
    "inertia": INERTIAS,
    "density": {"kg/m3": 1.0},
}


def factor(quantity: str, unit: str, where: str) -> float:
    """Factor from a unit to SI.

    Examples
    --------
    >>> factor("length", "mm", "a.csv")
    0.001
    """
    known = KNOWN[quantity]
    if unit not in known:
        raise FormatError(f"{where}: unknown unit '{unit}' of {quantity}: expected {', '.join(known)}")
    return known[unit]


@dataclass(frozen=True)
class Units:
    """Factors to SI of one file; SI by default."""

    length: float = 1.0
    force: float = 1.0
    stress: float = 1.0
    area: float = 1.0
    inertia: float = 1.0
    density: float = 1.0

    @classmethod
    def of(cls, named: Mapping[str, str], where: str) -> Units:
        """From unit names by quantity, as in the table [units] of a TOML file."""
        unknown = set(named) - set(KNOWN)
        if unknown:
            raise FormatError(f"{where}: [units] has '{sorted(unknown)[0]}': expected {', '.join(KNOWN)}")
        return cls(**{quantity: factor(quantity, str(unit), where) for quantity, unit in named.items()})
