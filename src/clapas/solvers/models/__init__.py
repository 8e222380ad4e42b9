"""Simplified models of friction for comparison with Coulomb's law, each with its known defect.

They replace the law by a simpler one, and are passed to ``solve``, to scenes and to the command line like
a method: ``solve(problem, Associated())``, ``clapas run SCENE --solver associated``. None is a method for
Coulomb's law. The status of their solutions is OTHER_LAW, or SOLVED where the solution also obeys Coulomb's
law; the residual is that of Coulomb's law, by the same judge; :func:`defects` measures what is wrong.

============================ ============================================ =================================
model                        what it solves                               known defect
============================ ============================================ =================================
:class:`Associated`          K* ∋ u ⟂ r ∈ K, one convex program            what slides lifts
:class:`Pyramid`             k edges for the cone, linear complementarity  friction not opposite to the slip
:class:`Lagged`              thresholds of other normal impulses           \\|r_T\\| ≠ mu r_N where it slides
:class:`Staggered`           normal impulses first, then friction          friction pushes bodies together
:class:`FrozenSlip`          friction against the slip without impulses    friction reverses what it stops
============================ ============================================ =================================

References
----------
Cadoux 2009, section 1.5.1; Moreau 1988 (why the associated law is not friction); Stewart, Trinkle 1996 and
Anitescu, Potra 1997 (the pyramid); Lötstedt 1984; Kaufman, Edmunds, Pai 2005; Baraff 1991.
"""

from __future__ import annotations

from clapas.solvers.models.associated import Associated
from clapas.solvers.models.base import Defects, defects
from clapas.solvers.models.frozen_slip import FrozenSlip
from clapas.solvers.models.lagged import Lagged
from clapas.solvers.models.pyramid import Pyramid
from clapas.solvers.models.staggered import Staggered

__all__ = ["Associated", "Defects", "FrozenSlip", "Lagged", "Pyramid", "Staggered", "defects"]
