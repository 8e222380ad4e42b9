"""Units of output: SI, and in the plane those of a slice one metre deep; and things counted in words.

A body in the plane stands for a prism: its density is in kg/m³ and a stress in Pa as in space, but its mass
is in kg per metre of depth, and so are forces, impulses, torques, energies and flows.
"""

from __future__ import annotations

# Units of quantities proportional to the depth of a body; not angles, lengths, speeds, densities, stresses.
PER_DEPTH = ("kg", "kg/s", "N", "N·s", "N·m", "N·m·s", "J")
PER_LENGTH = {"N/m": "N/m²", "N·s/m": "N·s/m²"}  # stiffness, damping, viscosity: proportional as well


def in_dimension(unit: str, d: int) -> str:
    """The unit of a quantity in d dimensions from that in space; several are separated by commas.

    >>> in_dimension("N", 3), in_dimension("N", 2), in_dimension("m/s", 2)
    ('N', 'N/m', 'm/s')
    >>> in_dimension("N·m, N", 2)
    'N·m/m, N/m'
    >>> in_dimension("N·s/m", 2)
    'N·s/m²'
    """
    if d == 3:
        return unit
    parts = unit.split(", ")
    return ", ".join(f"{part}/m" if part in PER_DEPTH else PER_LENGTH.get(part, part) for part in parts)


def counted(count: int, noun: str, several: str = "") -> str:
    """A number of things; the plural is with an s unless ``several`` gives it.

    >>> counted(1, "contact"), counted(2, "contact"), counted(0, "body", "bodies")
    ('1 contact', '2 contacts', '0 bodies')
    """
    return f"{count} {noun if count == 1 else several or noun + 's'}"


def headed(name: str, unit: str) -> str:
    """A name with its unit, for headings of columns and axes; pure numbers have none.

    >>> headed("load", "N"), headed("contacts", "1"), headed("mu", "")
    ('load (N)', 'contacts', 'mu')
    """
    return name if unit in ("", "1") else f"{name} ({unit})"
