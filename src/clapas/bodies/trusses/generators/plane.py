"""Small structures in the plane."""

from __future__ import annotations

import numpy as np

from clapas.bodies.trusses.generators.cuboctahedron import BAR, BAR_SECTION, CABLE, CABLE_SECTION
from clapas.bodies.trusses.materials import Group
from clapas.bodies.trusses.prestress import feasible_self_stress
from clapas.bodies.trusses.structure import Truss

BARS = Group(name="bar", kind="bar", material=BAR, section=BAR_SECTION)
CABLES = Group(name="cable", kind="cable", material=CABLE, section=CABLE_SECTION)


def kite(*, tension: float = 1000.0, load: float = 100.0) -> Truss:
    """A kite: two crossed bars in a ring of four cables, on one pin and one roller.

    Three blocked displacements hold it; its one state of self-stress is scaled so that the largest cable
    force is ``tension`` (N). The case "top" pulls the upper end of the long bar upward by ``load`` newtons,
    "wings" pulls both wings downward.

    Examples
    --------
    >>> kite().prestress.round(1)
    array([-1414.2, -1060.7,   790.6,  1000. ,  1000. ,   790.6])
    """
    nodes = np.array([[0.0, -2.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    members = [[0, 2], [1, 3], [0, 1], [1, 2], [2, 3], [3, 0]]
    top, wings = np.zeros((4, 2)), np.zeros((4, 2))
    top[2, 1], wings[[1, 3], 1] = load, -load
    blocked = np.zeros((4, 2), dtype=bool)
    blocked[0], blocked[2, 0] = True, True
    plain = Truss(
        nodes=nodes,
        members=members,
        groups=(BARS, CABLES),
        group=[0, 0, 1, 1, 1, 1],
        is_blocked=blocked,
        cases={"top": top, "wings": wings},
        name="kite",
    )
    return plain.with_(prestress=feasible_self_stress(plain, tension=tension))
