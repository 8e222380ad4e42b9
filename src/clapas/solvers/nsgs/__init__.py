"""Nonsmooth Gauss-Seidel (NSGS): solve the contacts one after another, in sweeps.

There is one method; the forms below differ in the data a visit reads. All return impulses in the coordinates
and the order of the problem, and ``solution.method`` says which one ran.

========================  =================================================  ===============================
form (file)               serves                                             a visit reads
========================  =================================================  ===============================
spheres (``spheres``)     many contacts between spheres (``SphereBlocks``)   five numbers and two bodies, by
                                                                             vectors, on threads
by vectors (``blocked``)  64 contacts or more between bodies of one size     two blocks and two bodies, by
                                                                             vectors of eight, on threads
uniform (``bodies``)      fewer contacts, or an order chosen by the user     two blocks and two bodies
mixed (``rolling``)       some of many contacts carry couples                as by vectors; then as below
                                                                             where there are couples
ragged (``ragged``)       bodies of any size, joints, compliance; few        a block per body it touches
                          contacts with couples; sections that are
                          polygons or ellipses
blocks of W               a problem with W alone, or ``form="delassus"``     its row of blocks of W
(``delassus``)
by projections            other sections of friction                         its row of blocks of W
(``sections``)
========================  =================================================  ===============================

They share the one-contact problem in canonical coordinates (``local``), its solution for each type of cone
where contacts are visited one by one (``updates``), the order of visits (``orders``), Anderson acceleration
(``sweeps``), and the layout in slabs and vectors (``layout``, ``slabs``, ``lanes``), which the caller keeps
from step to step (``problem.kept``). Sweeps between spheres use ``momentum``, and single ``precision`` where
it is sufficient.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from clapas.convex.coulomb import CoulombCone
from clapas.convex.rolling import RollingCone
from clapas.convex.section import Ellipses, Polygons, SectionCone
from clapas.convex.threshold import ThresholdFriction, Thresholds
from clapas.errors import ProblemError, SettingsError
from clapas.problems.contact import ContactProblem
from clapas.problems.conversions import reduce
from clapas.solvers.local import Exact, LocalSolver
from clapas.solvers.loop import Iteration, IterativeSolver
from clapas.solvers.nsgs.orders import SEVERAL, Coloured, Given, Order, Shuffled
from clapas.solvers.nsgs.sweeps import AcceleratedSweeps, ParallelSweeps, Sweeps, SweepSettings, Visits
from clapas.typing import Array

COMPILED_SECTIONS = (Polygons, Ellipses, Thresholds, type(None))
"""Friction sections that have compiled visits; None stands for discs."""

__all__ = ["NSGS", "Coloured", "Given", "Order", "Shuffled"]


@dataclass(frozen=True, kw_only=True)
class NSGS(IterativeSolver):
    """Nonsmooth Gauss-Seidel: solve the contacts one after another, in sweeps.

    A sweep visits each contact i, holds every other impulse fixed, and replaces r_i by the solution
    of the one-contact problem

        K_i* ∋ ũ_i ⟂ r_i ∈ K_i,    u_i = W_ii r_i + (contribution of the other contacts).

    Sweeps go on until ``problem.residual(r)`` is at most ``tol``. One iteration is one sweep.

    Suits large packings, moderate accuracy and warm starts. Slow on hyperstatic problems (walls,
    stacks) and when heavy bodies rest on light ones. Convergence is not guaranteed. Contacts that
    carry couples (:class:`RollingProblem`) are visited one after another, the others as usual.
    Friction sections may be polygons or ellipses; other sections are visited colour by colour, using their
    projections.

    Parameters
    ----------
    tol, max_iterations, time_limit
        See :class:`IterativeSolver`.
    local : Exact, AlartCurnier or DeSaxce
        Method for the single contact.
    order : Given, Shuffled or Coloured, optional
        Order of the visits. By default Coloured (vectorised, parallel) from 64 contacts on,
        else Given.
    relaxation : float
        Factor ω in ]0, 2[ on each change of impulse; 1 is plain Gauss-Seidel.
    acceleration : int
        Past sweeps from which the next ones are extrapolated (Anderson acceleration) once a dozen have not
        been enough: two to fifty times fewer sweeps where weight travels far, in walls and stacks. Problems
        with many contacts between spheres use momentum instead, whatever this number: four times fewer
        sweeps in heaps. 0 is the plain method.
    form : "auto", "bodies" or "delassus"
        Work on body velocities (global problems whose contacts join two bodies each; W is never
        formed) or on the blocks of W. "auto" takes bodies when it can.

    References
    ----------
    Moreau 2003, section 7.2 (sweeps on bodies); Jourdan, Alart, Jean 1998 (the method);
    Cadoux 2009, 4.8.2.

    Examples
    --------
    A stack of three boxes, each resting on four corners:

    >>> from clapas import gallery, solve
    >>> solution = solve(gallery.box_stack(3).problem, NSGS(tol=1e-6, order=Shuffled(seed=1)))
    >>> solution.status.name
    'SOLVED'
    """

    local: LocalSolver = field(default_factory=Exact)
    order: Order | None = None
    relaxation: float = 1.0
    acceleration: int = 3
    form: Literal["auto", "bodies", "delassus"] = "auto"

    cones: ClassVar[tuple[type, ...]] = (CoulombCone, RollingCone, SectionCone, ThresholdFriction)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.relaxation < 2:
            raise SettingsError(f"relaxation must be between 0 and 2, got {self.relaxation}")
        if not (isinstance(self.acceleration, int) and 0 <= self.acceleration <= 20):
            raise SettingsError(
                f"acceleration must be a whole number from 0 to 20, got {self.acceleration!r}"
            )
        if self.form not in ("auto", "bodies", "delassus"):
            raise SettingsError(f"form must be 'auto', 'bodies' or 'delassus', got '{self.form}'")

    def start(self, problem: ContactProblem, guess: Array) -> Iteration:
        """Prepare sweeps of the problem from a guess (n, d)."""
        sweeps = self.sweeps(problem, guess)
        if not self.acceleration or isinstance(sweeps, ParallelSweeps):  # these accelerate in their kernels
            return sweeps
        return AcceleratedSweeps(sweeps, self.acceleration)

    def sweeps(self, problem: ContactProblem, guess: Array, is_single: bool | None = None) -> Sweeps:
        """Select the form of sweeps for the problem: see the table at the head of the module.

        ``is_single`` sets the precision in which sweeps between spheres start; by default decided here.
        """
        # Kernels are imported here so that naming a solver does not load the compiler.
        from clapas.compiled import IS_SCALAR
        from clapas.solvers.nsgs.bodies import BodySweeps
        from clapas.solvers.nsgs.delassus import DelassusSweeps
        from clapas.solvers.nsgs.sections import SectionSweeps

        part, n = self.local.part(), problem.n_contacts
        order = self.order or (Coloured() if n >= SEVERAL else Given())
        threads = order.threads if isinstance(order, Coloured) else None
        settings = SweepSettings(part, self.relaxation, self.acceleration, threads, self.tol, is_single)
        blocks = problem.blocks if self.form != "delassus" else None
        is_plain = isinstance(problem.cone, CoulombCone)
        if not isinstance(problem.section, COMPILED_SECTIONS):
            return SectionSweeps(reduce(problem), self.relaxation, guess)
        if blocks is not None and isinstance(order, Coloured) and not IS_SCALAR:
            by_vectors = self._by_vectors(problem, settings, guess)
            if by_vectors is not None:
                return by_vectors
        one_by_one = Visits(n, order if isinstance(order, Shuffled) else Given())
        if blocks is not None and is_plain:
            return BodySweeps(blocks, problem.w, problem.mu, part, self.relaxation, one_by_one, guess)
        if self.form != "delassus" and (blocks is not None or problem.ragged is not None):
            return self._one_by_one(problem, guess, one_by_one)
        if self.form == "bodies":
            raise ProblemError(
                "form='bodies' needs a global problem with M block diagonal by bodies and at most two "
                f"bodies per contact; {problem!r} is not one: use form='auto'"
            )
        return DelassusSweeps(reduce(problem), part, self.relaxation, order, guess)

    def _by_vectors(self, problem: ContactProblem, settings: SweepSettings, guess: Array) -> Sweeps | None:
        """Sweeps on vectors of eight contacts, where the cones allow it."""
        from clapas.problems.sphere_blocks import SphereBlocks
        from clapas.solvers.nsgs.blocked import BlockedSweeps
        from clapas.solvers.nsgs.layout import BlockLayout
        from clapas.solvers.nsgs.rolling import MixedSweeps, with_and_without_couples
        from clapas.solvers.nsgs.spheres import SphereSweeps
        from clapas.solvers.nsgs.structure import body_contacts

        if problem.has_couples and len(with_and_without_couples(problem)[0]) >= SEVERAL:
            return MixedSweeps(problem, settings, guess, problem.kept.of(BlockLayout))
        if not isinstance(problem.cone, CoulombCone):
            return None
        if isinstance(problem.blocks, SphereBlocks) and isinstance(self.local, Exact):
            return SphereSweeps(problem, problem.blocks, settings, guess)
        contacts = body_contacts(problem)
        assert contacts is not None
        return BlockedSweeps(contacts, settings, guess, problem.kept.of(BlockLayout))

    def _one_by_one(self, problem: ContactProblem, guess: Array, visits: Visits) -> Sweeps:
        """Sweeps on bodies of any size, for any cone."""
        from clapas.problems.packed_bodies import packed_pairs
        from clapas.solvers.nsgs.ragged import RaggedSweeps
        from clapas.solvers.nsgs.updates import sliding_rows, updates

        blocks, ragged = problem.blocks, problem.ragged
        if blocks is not None:
            packed, size = (
                packed_pairs(blocks.G, blocks.bodies, blocks.n_bodies),
                blocks.n_bodies * blocks.size,
            )
        else:
            assert ragged is not None
            packed, size = ragged.packed, int(ragged.start[-1])
        cones = updates(problem, self.local.part(), self.relaxation)
        return RaggedSweeps(packed, problem.q, *cones, sliding_rows(problem), size, visits, guess)
