"""Existence of solutions by Cadoux's criterion, decided before solving or after a solver failed.

The criterion depends on the motions alone, neither on the masses nor on the forces::

    (H)   some v gives  H v + w  in the interior of K*      (H̄)   some v gives  H v + w  in K*

that is: the bodies can move so that every contact opens faster than mu times its slip, u_N ≥ mu |u_T|. If
so, Coulomb's problem has a solution whatever M (positive definite) and f are. (Where M is singular the loads
matter as well: see :mod:`clapas.problems.existence.balance`.) It is even enough that motions
come arbitrarily close to K*: theorem 3.1 requires w in the closure of Im H + K*, that is w·r ≥ 0 for
every r ∈ K with Hᵀ r = 0. In the plane, and wherever K is polyhedral, the two are the same; in space the
closure is decided by the dual program. The converse is false: where the criterion fails a solution may still
exist. But where no v gives u_N ≥ 0, bodies must penetrate and there is none.

Reduced problems, u = W r + q, are treated alike. W = G Gᵀ and H have the same image when W = H M⁻¹ Hᵀ, and q
differs from w by an element of it: the velocities q + W x are exactly the w + H v. Only the
certificate v is then an impulse x, which gives the contacts the same velocities. The G that is used is a
factor of W (:mod:`clapas.problems.existence.factor`), or W itself where it has none to trust. A W that is
not symmetric or not positive semidefinite is no such product and the theorem does not apply: then nothing is
certified, and only unavoidable penetration, which needs no theorem, is still reported.

The verdict comes with its proof: the velocity v, or the self-balanced impulses r (r ∈ K, Hᵀ r = 0, w·r <
0: a wedge the imposed motion works against) that show that no v exists. Both are verified on the data, not
trusted from the optimiser. Impulses balance only up to rounding, so a wedge excludes motions up to
a size, ``excluded``, which accounts for all rounding; it is accepted if that is a billion times the
imposed motion.

References
----------
Cadoux 2009, chapter 3 (theorems 3.1, 3.12 and 3.19; 3.4 for the special cases, 3.5 for the programs);
Klarbring, Pang 1998 (that the closure is enough).

>>> from clapas.problems import existence, gallery
>>> existence.check(gallery.get("painleve-down-forward").problem)
Existence(CERTIFIED: the bodies can move so that every contact opens; margin inf)
>>> existence.check(gallery.get("painleve-down-none").problem)
Existence(UNKNOWN: no motion keeps the contacts in K*; margin -1 m/s)
>>> crushed = existence.check(gallery.get("crushed-disc-rough").problem)
>>> crushed.verdict.name, crushed.excluded > 1e12
('IMPOSSIBLE', True)
"""

from __future__ import annotations

from clapas.problems.existence.criterion import advice, check
from clapas.problems.existence.motions import bounded_margin, nearest_motion, regularised
from clapas.problems.existence.programs import Method
from clapas.problems.existence.recovery import Recovery, impulses_of_motion, opens_where_stuck
from clapas.problems.existence.verdict import Existence, Verdict

__all__ = [
    "Existence",
    "Method",
    "Recovery",
    "Verdict",
    "advice",
    "bounded_margin",
    "check",
    "impulses_of_motion",
    "nearest_motion",
    "opens_where_stuck",
    "regularised",
]
