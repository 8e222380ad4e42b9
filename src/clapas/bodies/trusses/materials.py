"""Materials and cross sections of members, and groups of members that share both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clapas.errors import ProblemError

Kind = Literal["bar", "cable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """A linear elastic material.

    Parameters
    ----------
    young : float
        Young's modulus E (Pa).
    density : float
        Mass per volume (kg/m³); used by modal analysis and self-weight only.
    yield_stress : float
        Largest stress accepted by the member checks (Pa); infinite to disable the check.

    Examples
    --------
    >>> Material(young=210e9).density
    7850.0
    """

    young: float
    density: float = 7850.0
    yield_stress: float = np.inf

    def __post_init__(self) -> None:
        for name in ("young", "density", "yield_stress"):
            _positive(f"material: {name}", getattr(self, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A cross section: its area, and its second moment of area for the buckling of bars.

    Parameters
    ----------
    area : float
        A (m²).
    inertia : float, optional
        Smallest second moment of area I (m⁴); that of a solid round bar, A²/4π, if it is not given.

    Examples
    --------
    >>> tube = Section.tube(diameter=0.048, thickness=0.003)
    >>> f"{tube.area:.3e} {tube.inertia:.3e}"
    '4.241e-04 1.078e-07'
    >>> bool(np.isclose(Section(area=np.pi).inertia, np.pi / 4))
    True
    """

    area: float
    inertia: float = 0.0

    def __post_init__(self) -> None:
        _positive("section: area", self.area)
        if self.inertia == 0.0:
            object.__setattr__(self, "inertia", self.area**2 / (4.0 * np.pi))
        _positive("section: inertia", self.inertia)

    @classmethod
    def round(cls, *, diameter: float) -> Section:
        """A solid round bar."""
        return cls(area=np.pi * diameter**2 / 4.0)

    @classmethod
    def tube(cls, *, diameter: float, thickness: float) -> Section:
        """A round tube; the diameter is the outer one."""
        _positive("tube: thickness", thickness)
        inner = diameter - 2.0 * thickness
        if inner < 0.0:
            raise ProblemError(
                f"tube: a thickness of {thickness:g} m does not fit in a diameter of {diameter:g} m: give at "
                "most half the outer diameter, or use Section.round"
            )
        return cls(
            area=np.pi * (diameter**2 - inner**2) / 4.0, inertia=np.pi * (diameter**4 - inner**4) / 64.0
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Members of one kind, bars or cables, with one material and one section.

    Groups have names ("lower", "strut") for reference, and members equal by symmetry get equal prestress in
    design.
    """

    name: str
    kind: Kind
    material: Material
    section: Section

    def __post_init__(self) -> None:
        if self.kind not in ("bar", "cable"):
            raise ProblemError(f"group '{self.name}': kind must be 'bar' or 'cable', got {self.kind!r}")


def _positive(label: str, value: float) -> None:
    if not value > 0.0:
        raise ProblemError(f"{label} must be positive, got {value!r}")
