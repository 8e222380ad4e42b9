"""The contact problem: its data and its residual (the judge), without algorithms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from clapas.convex.base import FrictionCone
from clapas.convex.coulomb import CoulombCone
from clapas.convex.section import Section, SectionCone
from clapas.convex.threshold import ThresholdFriction, Thresholds
from clapas.errors import ProblemError
from clapas.linalg.factor import BlockDiagonalFactor, Factor, NotDefinite, factorise
from clapas.linalg.factored_mass import Inverse
from clapas.linalg.norms import SAFE, norm
from clapas.problems import validation
from clapas.problems.clusters import Clusters, clusters
from clapas.problems.local_blocks import diagonal_blocks, local_blocks
from clapas.problems.semidefinite import Semidefinite, singular_blocks, singular_mass_message
from clapas.problems.workspace import Workspace
from clapas.typing import Array, MatrixLike
from clapas.units import counted

if TYPE_CHECKING:
    from clapas.problems.blocks import BodyBlocks
    from clapas.problems.packed_bodies import PackedBodies
    from clapas.problems.ragged_bodies import RaggedBodies
    from clapas.problems.report import Report

ROUNDING = float(np.finfo(float).eps)
SMALLEST = float(np.finfo(float).smallest_subnormal)
MANY = 1000  # contacts from which the residual is worth a compiled pass


class ContactProblem:
    """Find the impulses r at n contacts that obey Coulomb's law.

    Global form, given ``M, H, f, w`` and, where there are any, joints ``J, b`` and ``compliance`` C::

        M v + f = Hᵀ r + Jᵀ λ   dynamics, or equilibrium; M (m×m) symmetric, positive semidefinite
        u = H v + w + C r       velocities at the contacts; H (d·n × m)
        J v + b = 0             joints: bilateral rows, λ free
        K* ∋ ũ ⟂ r ∈ K          ũ = u + mu |u_T| e_N,  K = {|r_T| ≤ mu r_N}

    Reduced form, given ``W, q``: the same law with u = W r + q, where (without joints) W = H M⁻¹ Hᵀ + C and
    q = w − H M⁻¹ f. Components at a contact are normal, tangent 1, tangent 2.

    Where M is singular (bodies that only contacts hold: M = 0 for rigid bodies in statics) v does not follow
    from r. Then there is no reduced form, and a solution is a pair (r, v): see
    :mod:`clapas.problems.semidefinite`.

    Parameters
    ----------
    W : matrix (d·n × d·n), dense or sparse
        Delassus matrix, symmetric positive semidefinite. Unit: 1/kg for impulses.
    q : array (n, d) or (d·n,)
        Free velocity at the contacts: what u would be without impulses. Unit: m/s.
    M, H : matrices (m × m) and (d·n × m), dense or sparse
        Mass (or stiffness) matrix, block diagonal for rigid bodies: recognised; and contact Jacobian.
    f : array (m,)
        Minus the momentum the bodies would have without contact. Unit: N·s.
    w : array (n, d) or (d·n,), optional
        Velocity imposed at the contacts (walls that move, restitution). Default 0. Unit: m/s.
    J, b : matrix (j × m) and array (j,), optional
        Joints J v + b = 0. Rows may be redundant if they agree. Global form only. Unit of b: m/s, rad/s.
    compliance : array (n,), (n, d) or float, optional
        Diagonal of C ≥ 0, the compliance of the contact itself; one number per contact is its normal part.
        Default 0. Unit: m/s per N·s.
    mu : array (n,) or float
        Coefficients of friction, ≥ 0.
    section : Section or array (k, 2), optional
        Anisotropic friction: r_T ∈ mu r_N S, S a convex polygon around the origin
        with these corners, counter-clockwise, or an interval (2, 1) in the plane; a
        :class:`clapas.convex.Section` for others, or for one per contact. The disc of radius one by default.
        :class:`clapas.convex.threshold.Thresholds` where friction does not depend on the pressure (Tresca).
    d : 2 or 3, optional
        Needed only when it cannot be read from q, w or the number of mu.
    name : str
        Name of the problem in reports.
    symmetrise : bool
        Replace a slightly asymmetric W by ½(W + Wᵀ). By default it is kept, with a warning.
    inverses : mapping of int to Inverse, optional
        Known inverses of diagonal blocks of M, by the first velocity of the block: a large body that
        has no joint is then not factorised again (:mod:`clapas.linalg.factored_mass`).

    Examples
    --------
    A 1 kg particle slides at 1 m/s; in 10 ms gravity gives it 0.0981 m/s downward. With mu = 0.5 the
    floor reacts with 0.0981 N·s, and friction with half of that against the motion.

    >>> problem = ContactProblem(W=np.eye(3), q=[[-0.0981, 1.0, 0.0]], mu=0.5)
    >>> problem
    ContactProblem(1 contact in 3-D, reduced)
    >>> problem.residual([[0.0981, -0.04905, 0.0]]) < 1e-15
    True
    >>> round(problem.residual(np.zeros((1, 3))), 3)
    0.098
    """

    has_couples: ClassVar[bool] = False
    """Whether contacts have rows for couples after those of the impulse."""

    widths: ClassVar[tuple[int, ...]] = (2, 3)
    """Numbers of components that a contact may have."""

    section: Section | Thresholds | None = None
    """Shape of the sections of the friction cones; None is the disc."""

    semidefinite: Semidefinite | None = None
    """Where M is singular, the measure of pairs (r, v); else None."""

    def __init__(
        self,
        *,
        mu: npt.ArrayLike,
        W: MatrixLike = None,
        q: npt.ArrayLike | None = None,
        M: MatrixLike = None,
        H: MatrixLike = None,
        f: npt.ArrayLike | None = None,
        w: npt.ArrayLike | None = None,
        J: MatrixLike = None,
        b: npt.ArrayLike | None = None,
        compliance: npt.ArrayLike | None = None,
        section: Section | Thresholds | npt.ArrayLike | None = None,
        d: int | None = None,
        name: str = "",
        symmetrise: bool = False,
        inverses: Mapping[int, Inverse] | None = None,
    ) -> None:
        self.form: Literal["global", "reduced"] = validation.form(W=W, q=q, M=M, H=H, f=f, w=w, J=J, b=b)
        self.name = name
        self._stored_as_blocks = False
        friction = np.atleast_1d(validation.numbers("mu", mu))
        if self.form == "reduced":
            rows = validation.square("W", W)
            self.d = validation.dimension(rows, q, friction, np.ndim(mu), d, self.widths)
            self.n_contacts = rows // self.d
            self._read_reduced(W, q, compliance, symmetrise)
        else:
            self.n_dof = validation.square("M", M)
            self.H = validation.matrix("H", H, columns=self.n_dof)
            self.d = validation.dimension(self.H.shape[0], w, friction, np.ndim(mu), d, self.widths)
            self.n_contacts = self.H.shape[0] // self.d
            self._read_global(M, f, w, J, b, compliance, inverses)
        self._set_law(mu, section)

    def _read_reduced(
        self, W: MatrixLike, q: npt.ArrayLike | None, compliance: npt.ArrayLike | None, symmetrise: bool
    ) -> None:
        """Read W, to which the compliance is added, and q."""
        self._W = validation.delassus(W, self.d, symmetrise)
        if compliance is not None:
            soft = validation.compliance(compliance, self.n_contacts, self.d)
            diagonal = sparse.diags_array(soft.ravel())
            self._W = sparse.bsr_array(self._W + diagonal, blocksize=(self.d, self.d))
        self._q = validation.contact_vector("q", q, self.n_contacts, self.d)

    def _read_global(
        self,
        M: MatrixLike,
        f: npt.ArrayLike | None,
        w: npt.ArrayLike | None,
        J: MatrixLike,
        b: npt.ArrayLike | None,
        compliance: npt.ArrayLike | None,
        inverses: Mapping[int, Inverse] | None,
    ) -> None:
        """Read the global data except H; factorise M with the joints, or note that it is singular."""
        self.M = validation.mass(M)
        if J is not None:
            self.J = validation.matrix("J", J, columns=self.n_dof)
            rows = self.J.shape[0]
            self.b = validation.vector("b", np.zeros(rows) if b is None else b, rows)
        if compliance is not None:
            self.compliance = validation.compliance(compliance, self.n_contacts, self.d)
        try:
            self.mass = _factor(self.M, self.J, self.b, inverses)
        except NotDefinite:
            self.semidefinite = Semidefinite(self, singular_blocks(self.M))
        self.f = validation.vector("f", f, self.n_dof)
        self.w = validation.contact_vector("w", w, self.n_contacts, self.d)
        validation.contacts_have_rows(self.H, self.d, self.compliance)
        if J is not None and self.is_definite:
            free = local_blocks(self.H, factorise(self.M), self.d)
            validation.contacts_can_move(self.local_blocks[:, 0, 0], free[:, 0, 0])

    @classmethod
    def _without_data(cls, form: Literal["global", "reduced"], name: str, by_blocks: bool) -> Self:
        """A problem without data, which the caller fills in unchecked."""
        problem = cls.__new__(cls)
        problem.form, problem.name, problem._stored_as_blocks = form, name, by_blocks
        return problem

    def _set_law(
        self,
        mu: npt.ArrayLike,
        section: Section | Thresholds | npt.ArrayLike | None,
        w: npt.ArrayLike | None = None,
    ) -> Self:
        """Read the contact law, and the imposed velocities if given."""
        if w is not None:
            self.w = validation.contact_vector("w", w, self.n_contacts, self.d, finite=False)
            if not math.isfinite(self.free_speed):  # a sum over all contacts, needed in any case
                validation.refuse_nonfinite("w", self.w)
        self.mu = validation.friction(mu, self.n_contacts)
        self.section = validation.section(section, self.n_contacts, self.d, self.has_couples)
        return self

    def __repr__(self) -> str:
        contacts = counted(self.n_contacts, "contact")
        dofs = f", {self.n_dof} dof" if self.form == "global" else ""
        name = f"'{self.name}', " if self.name else ""
        dimension = self.d if not self.has_couples else 2 if self.d == 3 else 3
        return f"{type(self).__name__}({name}{contacts} in {dimension}-D, {self.form}{dofs})"

    @classmethod
    def from_blocks(
        cls,
        blocks: BodyBlocks,
        *,
        mu: npt.ArrayLike,
        w: npt.ArrayLike | None = None,
        section: Section | Thresholds | npt.ArrayLike | None = None,
        name: str = "",
    ) -> Self:
        """Make a global problem between bodies from its blocks, without sparse matrices.

        Parameters
        ----------
        blocks : BodyBlocks
            The blocks of H in units of unit mass, the bodies of each contact and their free velocities.
        mu : array (n,) or float
            Coefficients of friction, ≥ 0.
        w : array (n, d), optional
            Velocity imposed at the contacts (m/s).
        section : Section or array (k, 2), optional
            Shape of the sections of the friction cones.
        name : str
            Name of the problem in reports.
        """
        problem = cls._without_data("global", name, by_blocks=True)
        problem.blocks, problem.n_dof = blocks, blocks.n_bodies * blocks.size
        return problem._set_contacts(blocks)._set_law(mu, section, w)

    @classmethod
    def from_packed(
        cls,
        bodies: PackedBodies,
        *,
        mu: npt.ArrayLike,
        w: npt.ArrayLike | None = None,
        section: Section | Thresholds | npt.ArrayLike | None = None,
        name: str = "",
    ) -> Self:
        """Make a global problem between bodies of any size from its blocks, without sparse matrices.

        Parameters
        ----------
        bodies : PackedBodies
            The blocks of H in units of unit mass, and the free velocities of the bodies.
        mu, w, section, name
            See :meth:`from_blocks`.
        """
        problem = cls._without_data("global", name, by_blocks=True)
        problem.blocks, problem.ragged, problem.packed = None, bodies, bodies
        problem.n_dof = bodies.n_dof
        return problem._set_contacts(bodies)._set_law(mu, section, w)

    @classmethod
    def from_full(
        cls,
        W: Array,
        q: Array,
        *,
        mu: npt.ArrayLike,
        section: Section | Thresholds | npt.ArrayLike | None = None,
        name: str = "",
    ) -> Self:
        """Make a reduced problem from a full W, without the checks of user input.

        Parameters
        ----------
        W : array (d·n × d·n)
            Delassus matrix, symmetric, its normal rows not zero.
        q : array (n, d)
            Free velocity at the contacts (m/s).
        mu : array (n,) or float
            Coefficients of friction, ≥ 0.
        section : Section or array (k, 2), optional
            Shape of the sections of the friction cones.
        name : str
            Name of the problem in reports.
        """
        problem = cls._without_data("reduced", name, by_blocks=False)
        problem.n_contacts, problem.d = n, d = q.shape
        blocks = W.reshape(n, d, n, d).transpose(0, 2, 1, 3).reshape(n * n, d, d)
        places = np.tile(np.arange(n), n), n * np.arange(n + 1)
        problem._W = sparse.bsr_array((np.ascontiguousarray(blocks), *places), shape=W.shape)
        problem._q = q
        for what, data in (("W", W), ("q", q)):
            validation.refuse_nonfinite(what, data)
        return problem._set_law(mu, section)

    def _set_contacts(self, bodies: BodyBlocks | PackedBodies) -> Self:
        """Take the number of contacts and of components from the blocks, which must be finite."""
        self.n_contacts, self.d = bodies.n_contacts, bodies.d
        if not bodies.is_finite:
            for name, data in bodies.primary_arrays.items():
                validation.refuse_nonfinite(name, data)
        return self

    def with_masses(self, blocks: BodyBlocks) -> Self:
        """The same contacts, laws and free velocities between bodies of other masses."""
        problem = self._without_data("global", self.name, by_blocks=True)
        problem.blocks, problem.n_dof, problem.kept = blocks, self.n_dof, self.kept
        problem.mu, problem.section, problem.free_speeds = self.mu, self.section, self.free_speeds
        if self.imposed is not None:
            problem.w = self.imposed
        return problem._set_contacts(blocks)

    @property
    def is_definite(self) -> bool:
        """Whether M is positive definite (or was eliminated): v then follows from r."""
        return self.semidefinite is None

    @property
    def is_by_blocks(self) -> bool:
        """Whether the problem is stored as blocks between bodies, not as matrices."""
        return self._stored_as_blocks

    # ---------------------------------------------------------------- derived data

    @cached_property
    def M(self) -> sparse.csr_array:
        """Mass matrix (m × m); global form only."""
        return self._blocks("M").mass()

    @cached_property
    def H(self) -> sparse.csr_array:
        """Contact Jacobian (d·n × m); global form only."""
        return self._blocks("H").jacobian()

    @cached_property
    def f(self) -> Array:
        """Minus the free momentum (m,); global form only."""
        return self._blocks("f").momentum()

    @cached_property
    def w(self) -> Array:
        """Velocity imposed at the contacts (n, d); global form only."""
        self._require_global("w")
        return np.zeros((self.n_contacts, self.d))

    @property
    def imposed(self) -> Array | None:
        """The imposed velocity w; None if it is zero everywhere."""
        return self.__dict__.get("w")

    @cached_property
    def J(self) -> sparse.csr_array | None:
        """Rows of the joints (j × m); None without joints."""
        return None

    @cached_property
    def b(self) -> Array | None:
        """Velocities imposed by the joints (j,); None without joints."""
        return None

    @cached_property
    def compliance(self) -> Array | None:
        """Diagonal of C, (n, d); None where it is zero. (In the reduced form C is part of W.)"""
        return None

    @cached_property
    def mass(self) -> Factor:
        """Map from impulses on bodies to velocities under the joints: M⁻¹ without joints. Global form only.

        Raises
        ------
        ProblemError
            M is singular: the message says where and what to do. Everything that needs M⁻¹ raises it.
        """
        if self.semidefinite is not None:
            raise ProblemError(singular_mass_message(self.semidefinite.singular))
        return factorise(self.M)

    @cached_property
    def blocks(self) -> BodyBlocks | None:
        """The small blocks of a problem whose contacts join two bodies each, or None."""
        if self.form == "reduced" or self.compliance is not None:
            return None
        if not isinstance(self.mass, BlockDiagonalFactor):
            return None
        from clapas.problems.blocks import recognise  # compiled

        return recognise(self.H, self.f, self.mass, self.d)

    @cached_property
    def ragged(self) -> RaggedBodies | PackedBodies | None:
        """Bodies of any size, jointed or not: the root of W of a global problem without ``blocks``."""
        if self.form == "reduced" or self.blocks is not None:
            return None
        from clapas.problems.ragged_bodies import ragged_bodies  # compiled

        parts = self.mass if isinstance(self.mass, Clusters) else clusters(self.M, together=True)
        return ragged_bodies(parts, self.H, self.f, self.d, self.compliance)

    @cached_property
    def packed(self) -> PackedBodies | None:
        """The blocks of bodies of any size if the problem is stored that way, else None."""
        return None

    @property
    def W(self) -> sparse.bsr_array:
        """Delassus matrix in d×d blocks (reduced form only; see ``reduce``)."""
        if self.form == "global":
            raise ProblemError("W is not stored in the global form: call clapas.problems.reduce(problem).W")
        return self._W

    @cached_property
    def q(self) -> Array:
        """Free velocity at the contacts, (n, d)."""
        if self.form == "reduced":
            return self._q
        if self._bodies:
            return self._bodies.free_velocity(self.imposed)
        return self.w - self._at_contacts(self.mass.solve(self.f))

    @property
    def free_speed(self) -> float:
        """Size |q| of the free velocity: the scale of the residual."""
        return self.free_speeds[0]

    @cached_property
    def free_speeds(self) -> tuple[float, float]:
        """Size of the free velocity, and its largest component."""
        if self._bodies:
            return self._bodies.free_speeds(self.imposed)
        return norm(self.q), float(np.max(np.abs(self.q), initial=0.0))

    @cached_property
    def local_blocks(self) -> Array:
        """Diagonal blocks W_ii, (n, d, d): velocity at contact i per unit of its own impulse."""
        if self.form == "reduced":
            return diagonal_blocks(self._W, self.n_contacts, self.d)
        if self._bodies:
            return self._bodies.local_blocks()
        return local_blocks(self.H, self.mass, self.d)

    @cached_property
    def response(self) -> Array:
        """Mean diagonal λ_i = trace(W_ii) / d of each contact, (n,): velocity per unit of impulse."""
        if self._many_blocks and "local_blocks" not in self.__dict__:
            return self._many_blocks.response
        mean: Array = np.einsum("nii->n", self.local_blocks) / self.d
        return mean

    @cached_property
    def kept(self) -> Workspace:
        """Workspace of methods; a caller that solves many problems in sequence passes its own."""
        return Workspace()

    @cached_property
    def cone(self) -> FrictionCone | ThresholdFriction:
        """The cone K of the law; the admissible impulses where friction has thresholds of its own."""
        if isinstance(self.section, Thresholds):
            return ThresholdFriction(self.mu, self.section, self.response, self.d)
        if self.section is not None:
            return SectionCone(self.mu, self.section, self.d)
        return CoulombCone.of_checked(self.mu, self.d)

    # ---------------------------------------------------------------- effect of impulses

    def impulse(self, r: npt.ArrayLike) -> Array:
        """Read r as an array (n, d); a flat array of d·n numbers is accepted."""
        return validation.contact_vector("r", r, self.n_contacts, self.d, finite=False)

    def apply_delassus(self, r: npt.ArrayLike) -> Array:
        """W r, without forming W in the global form."""
        r = self.impulse(r)
        if self.form == "reduced":
            return np.asarray(self._W @ r.ravel()).reshape(r.shape)
        if self._bodies:
            return self._bodies.apply_delassus(r)
        return self._at_contacts(self.mass.solve(self.H.T @ r.ravel()))

    def velocity(self, r: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Array:
        """Velocity at the contacts u = W r + q, (n, d). Where M is singular, u = H v + w + C r: give v."""
        if self.semidefinite is not None:
            return self.semidefinite.velocity(self.impulse(r), self._checked_motion(v))
        if self._bodies:
            return self._bodies.velocity(self.impulse(r), self.imposed)
        return self.apply_delassus(r) + self.q

    def motion(self, r: npt.ArrayLike) -> Array:
        """Velocity of the bodies, M v + f = Hᵀ r + Jᵀ λ, (m,). Global form only."""
        self._require_global("the velocity v of the bodies")
        if blocks := self._many_blocks or self.packed:
            return blocks.bodies_velocity(self.impulse(r))
        v = self.mass.solve(self.H.T @ self.impulse(r).ravel() - self.f)
        return v + self.mass.imposed if isinstance(self.mass, Clusters) else v

    def _checked_motion(self, v: npt.ArrayLike | None) -> Array:
        if v is None:
            raise ProblemError(
                "M is singular, so that v does not follow from r: give both, as in problem.residual(r, v)"
            )
        return validation.vector("v", v, self.n_dof)

    def multipliers(self, r: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Array:
        """Impulses λ of the joints, (j,): the smallest where joints are redundant. Global form only."""
        self._require_global("the impulses of joints")
        if self.J is None:
            return np.empty(0)
        r = self.impulse(r)
        if self.semidefinite is None:
            mass, velocity = self.mass, self.motion(r)
        else:
            mass, velocity = self.semidefinite.unit.mass, self._checked_motion(v)
        assert isinstance(mass, Clusters)
        momentum = self.M @ velocity + self.f - self.H.T @ r.ravel()
        return mass.multipliers(momentum, self.J.shape[0])

    # ---------------------------------------------------------------- the judge

    def violation(self, r: npt.ArrayLike, u: Array | None = None) -> Array:
        """Velocity by which each part of the law is violated, (n, d), by its cone."""
        r = self.impulse(r)
        u = self.velocity(r) if u is None else u
        return self.cone.violation(u, self.response[:, None] * r)

    def residual(self, r: npt.ArrayLike, v: npt.ArrayLike | None = None) -> float:
        """Residual of r: a number without unit, zero at solutions up to rounding.

        With λ_i the mean diagonal of the Delassus block of contact i, x = λ r and u computed from r,

            residual(r) = |e| / |q|,    e_N = min(u_N, x_N),    e_T = x_T − P_disc(mu x_N)(x_T − u_T),

        Euclidean norms over all contacts: the velocity by which the law is violated, relative to the
        free velocity. A residual of at most tol bounds penetration velocity, cone violation,
        complementarity and slip direction by tol in this one scale, whatever mu; the choice of λ makes it
        the same number in any system of units. (When q = 0, where r = 0 is a solution, the scale is |x|.)

        It is at least the rounding error ε |x| / |q| with ε = 2.2e-16: where no solution exists
        impulses may grow until x − u equals x to the last digit, which must not pass for a solution.
        Subnormal impulses have no accurate digits: their residual is at least the smallest subnormal
        number.
        Numbers too large to be squared or even represented give infinity, never zero.

        Where M is singular v is part of the solution and must be given; see
        :meth:`clapas.problems.semidefinite.Semidefinite.residual`. Elsewhere it follows from r.
        """
        r = self.impulse(r)
        if self.semidefinite is not None:
            return self.semidefinite.residual(r, self._checked_motion(v))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scale = self.free_speed or norm(self.response[:, None] * r)
            if SAFE < scale < 1.0 / SAFE:
                size = self._violation_norm(r)
            else:  # squares would overflow or vanish
                hidden = max(ROUNDING * norm(self.response[:, None] * r), SMALLEST * bool(r.any()))
                size = max(norm(self.violation(r)), hidden)
            result = size / scale if scale > 0.0 else size
        return result if math.isfinite(result) and math.isfinite(scale) else math.inf

    def _violation_norm(self, r: Array) -> float:
        if self.section is not None or (self.n_contacts < MANY and not self._stored_as_blocks):
            hidden = ROUNDING * norm(self.response[:, None] * r)
            return max(norm(self.violation(r)), hidden)
        if self._bodies:
            return self._bodies.violation_norm(r, self.imposed, self.mu, self.response)
        from clapas.problems.judge import violation_norm  # the same formula, compiled

        return float(violation_norm(self.velocity(r), r, self.mu, self.response))

    def report(self, r: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Report:
        """Measure the impulses r by every known form of Coulomb's law; where M is singular pass v."""
        from clapas.problems.report import measure

        return measure(self, self.impulse(r), v)

    # ----------------------------------------------------------------

    @cached_property
    def _many_blocks(self) -> BodyBlocks | None:
        """The blocks where they are faster: for many contacts, or if the problem is stored that way."""
        many = self.form == "global" and self.n_contacts >= MANY
        return self.blocks if many or self._stored_as_blocks else None

    @cached_property
    def _bodies(self) -> BodyBlocks | RaggedBodies | PackedBodies | None:
        """The form by bodies where it is faster, or the only one."""
        if self.packed is not None:
            return self.packed
        if self._many_blocks is not None or self.form == "reduced":
            return self._many_blocks
        needs_bodies = isinstance(self.mass, Clusters) or self.compliance is not None
        return self.ragged if needs_bodies or self.n_contacts >= MANY else None

    def _blocks(self, wanted: str) -> BodyBlocks | PackedBodies:
        self._require_global(wanted)
        blocks = self.blocks or self.packed
        assert blocks is not None
        return blocks

    def _at_contacts(self, v: Array) -> Array:
        return np.asarray(self.H @ v).reshape(self.n_contacts, self.d)

    def _require_global(self, what: str) -> None:
        if self.form != "global":
            raise ProblemError(f"{what} needs the global form (M, H, f, w); this problem has only W and q")


def _factor(
    M: sparse.csr_array, J: sparse.csr_array | None, b: Array | None, inverses: Mapping[int, Inverse] | None
) -> Factor:
    """Factorise M: small bodies only, or bodies and clusters of any size."""
    parts = clusters(M, J, b, together=J is not None, inverses=inverses)
    return parts if parts.others else factorise(M)
