"""Appearance of a moving truss: tubes coloured and widened by their forces, slack cables apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clapas.bodies.drawn import Field, Look, Skin
from clapas.bodies.trusses.strength import MemberChecks
from clapas.bodies.trusses.structure import Truss
from clapas.typing import Array, Mask

THIN = 0.008  # of the mean length of the members: default radius
FIELDS = (Field("force", "N", "cell"), Field("utilisation", "1", "cell"))


class Looks:
    """Skins of bars and of cables, and the unloaded shape behind them.

    A force as large as the largest of the prestress doubles the width of a member. The unloaded shape is
    drawn of a structure on supports only: a moving one has left it.

    Parameters
    ----------
    truss : Truss
        The structure, in its unloaded shape.
    bar_radius : float
        Contact radius of bars (m); if positive, bars are drawn with it at every force.
    has_forces_of_cables : bool
        Whether forces of cables are known from their lengths.
    """

    def __init__(self, truss: Truss, *, bar_radius: float, has_forces_of_cables: bool) -> None:
        self.truss, self.bar_radius = truss, bar_radius
        both: tuple[tuple[str, Mask], ...] = (("bars", ~truss.is_cable), ("cables", truss.is_cable))
        self._drawn = [(name, which) for name, which in both if which.any()]
        self._known = {"bars": True, "cables": has_forces_of_cables}
        self._has_unloaded_shape = bool(truss.is_blocked.any())

    def skins(self) -> Sequence[Skin]:
        """Skins to draw."""
        truss, thin = self.truss, THIN * float(self.truss.lengths.mean())
        usual = float(np.abs(truss.prestress).max(initial=0.0))
        made = []
        for name, which in self._drawn:
            touches = name == "bars" and self.bar_radius > 0.0
            radius = self.bar_radius if touches else thin * (0.7 if name == "bars" else 0.35)
            fields = FIELDS if self._known[name] else ()
            cells = truss.members[which]
            widens = usual if fields and not touches else 0.0
            made.append(Skin(name, truss.n_nodes, cells, np.full(len(cells), radius), fields, widens))
        if self._has_unloaded_shape:
            thinnest = np.full(truss.n_members, 0.15 * thin)
            made.append(Skin("unloaded shape", truss.n_nodes, truss.members, thinnest))
        return made

    def looks(self, x: Array, forces: Array) -> Sequence[Look]:
        """The skins with the nodes at x (n × d) (m) and these forces (m,) (N)."""
        used = MemberChecks(self.truss, forces).utilisation
        slack = self.truss.is_cable & ~(forces > 0.0)
        values = [np.where(slack, np.nan, each) for each in (forces, used)]
        made = [
            Look(x, tuple(each[which] for each in values) if self._known[name] else ())
            for name, which in self._drawn
        ]
        return [*made, Look(self.truss.nodes)] if self._has_unloaded_shape else made
