"""One Newton loop on displacements and contact forces: material, large strain, contact and friction.

    F_int(u) − f − Hᵀ r = 0,        r − p(u, r) = 0,

where p is the projection of augmented forces, with x = r_N − ρ_N g and y = r_T − ρ_T Δu_T,

    p_N = max(x, 0),        p_T = projection of y on the disc of radius mu p_N.

This is Alart's system (2) with friction; its first line is linear in r, its Jacobian is not symmetric. With
p(u, r) in place of r in the first line it is the gradient of Alart and Curnier's augmented Lagrangian, whose
Jacobian is symmetric without friction. Both have the same solutions. With a nonlinear material u must not be
eliminated: Newton's method on the reduced equation behaves otherwise (Alart 1997, II.3).

The augmentation ρ only determines the region (open, stick, slip) of a contact at an iterate. It is
taken from the flexibility of the *current* tangent at each contact, equation (74), and where material yields
it is kept below (77), which vanishes with the normal force. For piecewise linear functions the only
failure is a cycle: when regions recur without progress, ρ is divided by ten. With nonlinear materials
Newton's method may also diverge: steps that do not reduce the residual are shortened.

References
----------
Alart, Curnier 1991; Alart 1997, equations (2), (22), (66), (74) and (77).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from clapas.bodies.elastic.contact import ContactRows
from clapas.bodies.elastic.solid import Response
from clapas.errors import SettingsError, warn
from clapas.linalg.symmetric_pattern import Engine
from clapas.solvers.newton.augmentation import SMALLEST, Augmentation, friction_bound
from clapas.solvers.newton.cycles import CycleWatch
from clapas.solvers.newton.maps import Regions
from clapas.statics.elastic.flexibility import flexibilities, tangential_stiffness, yield_forces
from clapas.statics.elastic.law import Law, project
from clapas.statics.elastic.matrix import Entries, Workspace, solve_shifted
from clapas.statics.elastic.problem import ElasticContact, Increment, IncrementFailed, State
from clapas.statics.settings import check_loop
from clapas.status import Status
from clapas.typing import Array

REGULAR = 1e-11  # of the stiffness: regularises redundant contacts
SMALL = 500  # displacements up to which exact flexibilities are cheap
NEAREST = 1e-9  # of the size of the solid: gaps that count as equal
CUT = 0.1  # of ρ, on a cycle
LENGTHS = 6  # of a step that are tried: 1, ½, …, 1/32
EPSILON = float(np.finfo(float).eps)
ROUNDED = 10.0  # rounding error of a sum of forces, in units of its own
RESTING = 1e-2  # of the size of the solid: what violations are relative to while nothing has moved
STRETCH = 0.2  # largest displacement gradient that one iteration adds where strains are large


@dataclass(frozen=True, kw_only=True, slots=True)
class OneLoopNewton:
    """Generalised Newton's method on (u, r).

    Parameters
    ----------
    tol : float
        Largest residual: forces out of balance relative to the largest force, and violation of the contact
        law relative to the largest displacement (to a hundredth of the size of the solid while nothing has
        moved).
    max_iterations : int
        Linear solves per increment.
    form : "alart" or "symmetric"
        Alart's system (2), or the augmented Lagrangian.
    rho : float, optional
        Augmentation (N/m), the same for all contacts; by default from flexibilities.
    tangent : "current" or "elastic"
        Tangent used for the flexibilities. The elastic one is too stiff by (K + k)/k where material
        yields; it is available for comparison.
    safeguard : bool
        Keep ρ below (77) where material yields, and cut it on cycles. Without it a cycle ends the solve.
    damping : bool, optional
        Halve steps that do not reduce the residual. By default, with the safeguard, where the material is
        nonlinear; where it is linear only after a cycle, since full steps need fewer iterations.
    engine : "superlu" or "multifrontal", optional
        Factorisation; by default the first in the plane and the second in space. See
        :mod:`clapas.linalg.symmetric_pattern`.
    """

    tol: float = 1e-10
    max_iterations: int = 50
    form: Literal["alart", "symmetric"] = "alart"
    rho: float | None = None
    tangent: Literal["current", "elastic"] = "current"
    safeguard: bool = True
    damping: bool | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)
        if self.form not in ("alart", "symmetric"):
            raise SettingsError(f"form must be 'alart' or 'symmetric', got {self.form!r}")
        if self.rho is not None and not self.rho > 0.0:
            raise SettingsError(f"rho must be positive, got {self.rho!r}")
        if self.damping not in (None, True, False):
            raise SettingsError(f"damping must be True, False or None, got {self.damping!r}")
        if self.tangent not in ("current", "elastic"):
            raise SettingsError(f"tangent must be 'current' or 'elastic', got {self.tangent!r}")

    def solve(
        self,
        stage: ElasticContact,
        state: State | None = None,
        share: float = 1.0,
        *,
        reached: float = 0.0,
        check: bool = True,
        workspace: Workspace | None = None,
    ) -> State:
        """The equilibrium at a share of a stage, from a state (by default from the undeformed solid).

        ``reached`` is the fraction of the stage already reached by the state.

        Raises
        ------
        IncrementFailed
            Not within ``tol``; the previous state is in ``error.state``. ``check=False`` returns the last
            iterate instead.
        """
        if state is None:
            state = stage.start()
            stage.check_start(state)
        solution = _Iteration(self, stage.toward(state, share, reached), workspace or Workspace()).run()
        if check and not solution.status.is_solved:
            raise IncrementFailed(_failure_message(self, stage, solution), state, 0.0)
        stage.tell_of_rotations(state, solution)
        return solution


class _Iterate(NamedTuple):
    """An iterate: displacements, contact forces, and the response of the solid and the contacts."""

    u: Array
    r: Array
    response: Response
    rows: ContactRows


@dataclass
class _Iteration:
    """The Newton loop of one increment."""

    method: OneLoopNewton
    increment: Increment
    workspace: Workspace
    watch: CycleWatch = field(default_factory=CycleWatch)
    scale: float = 1.0  # of ρ, after cuts
    elastic: Array | None = None  # tangential stiffness of each contact before any yielding
    cuts: int = 0
    orders: tuple[int, ...] = ()

    def run(self) -> State:
        increment, method, stage = self.increment, self.method, self.increment.stage
        at = self._initial_iterate()
        engine: Engine = method.engine or ("superlu" if stage.solid.d == 2 else "multifrontal")
        entries = self.workspace.prepared(at.response.tangent, increment, at.rows.dofs, engine)
        rho = self._augmentation(at)
        self._close_nearest(at.rows, at.r, rho)
        residual, iteration = np.inf, 0
        while True:
            # A cell is inverted however short the step, or an obstacle is nowhere: a gap that is no number
            # would count as open.
            if not np.isfinite(at.response.force).all() or np.isnan(at.rows.gap).any():
                return self._final_state(at, Status.NUMERICAL_ERROR, residual, iteration)
            if iteration and not stage.solid.is_linear:
                rho = self._augmentation(at)
            law = self._law(at, rho)
            residual = self._residual(at, law, rho)
            if not np.isfinite(residual):
                return self._final_state(at, Status.NUMERICAL_ERROR, residual, iteration)
            if residual <= method.tol:
                return self._final_state(at, Status.SOLVED, residual, iteration)
            if iteration == method.max_iterations:
                return self._final_state(at, Status.MAX_ITERATIONS, residual, iteration)
            order = self.watch.order(self._regions(law, at.response), residual)
            if order is not None:
                self.orders = (*self.orders, order)
                if not method.safeguard or self.scale < SMALLEST**2:
                    return self._final_state(at, Status.STALLED, residual, iteration)
                self._cut()
                rho = self._augmentation(at)
                law = self._law(at, rho)
            try:
                du, dr = self._direction(entries, at, law, rho)
            except np.linalg.LinAlgError:
                return self._final_state(at, Status.NUMERICAL_ERROR, residual, iteration)
            at = self._advance(at, du, dr, rho, residual)
            iteration += 1

    def _initial_iterate(self) -> _Iterate:
        """The last equilibrium, with its forces where the contacts are the same."""
        start = self.increment.state
        u = start.u.copy()
        rows = self.increment.rows(u)
        r = np.zeros((len(rows.gap), self.increment.stage.solid.d))
        if start.forces is not None and len(start.forces) == len(r):
            r = np.einsum("ncd,nd->nc", rows.frames, start.forces)
        return _Iterate(u, r, self._respond(u), rows)

    def _final_state(self, at: _Iterate, status: Status, residual: float, iterations: int) -> State:
        increment = self.increment
        return replace(
            increment.state,
            u=at.u,
            r=at.r,
            forces=np.einsum("ncd,nc->nd", at.rows.frames, at.r),
            gap=at.rows.gap,
            nodes=increment.nodes,
            history=at.response.history,
            load=increment.load,
            shifts=increment.shifts,
            status=status,
            residual=float(residual),
            iterations=iterations,
            cuts=self.cuts,
            orders=self.orders,
        )

    def _law(self, at: _Iterate, rho: Augmentation) -> Law:
        start, mu = self.increment.state, self.increment.mu
        return project(at.rows, at.rows.gradient(at.u - start.u), at.r, mu, rho)

    def _cut(self) -> None:
        """Reduce the augmentation after a cycle, and reset the cycle detection."""
        self.scale *= CUT
        self.cuts += 1
        self.watch.forget()

    def _respond(self, u: Array) -> Response:
        """Internal forces and tangent at u; those of a linear solid without assembly."""
        solid, start = self.increment.stage.solid, self.increment.state
        if solid.is_linear:
            return Response(solid.stiffness @ u, solid.stiffness, start.history)
        return solid.respond(u, start.history)

    def _advance(self, at: _Iterate, du: Array, dr: Array, rho: Augmentation, residual: float) -> _Iterate:
        """The iterate after a step (du, dr), whole or shortened.

        A step is shortened where it strains a cell too much or inverts it, and,
        with damping, where it does not reduce the residual: of 1, ½, ¼, … the first that does, else the best.
        """
        method, solid = self.method, self.increment.stage.solid
        damped = method.damping
        if damped is None:
            damped = method.safeguard and (bool(self.orders) or not solid.is_linear)
        stretch = solid.largest_gradient(du)
        part = min(1.0, STRETCH / stretch) if stretch > 0.0 else 1.0
        best, least = None, np.inf
        for _ in range(LENGTHS):
            u = at.u + part * du
            there = _Iterate(u, at.r + part * dr, self._respond(u), self.increment.rows(u))
            if np.isfinite(there.response.force).all():
                if not damped:
                    return there
                left = self._residual(there, self._law(there, rho), rho)
                if left < least:
                    best, least = there, left
                if left < residual:
                    break
            part *= 0.5
        return there if best is None else best

    def _close_nearest(self, rows: ContactRows, r: Array, rho: Augmentation) -> None:
        """Start with the nearest contacts closed if only contact holds the solid and none is closed."""
        stage = self.increment.stage
        if not len(r) or (r[:, 0] > rho.normal * rows.gap).any():
            return
        if not stage.free_motions:
            return
        size = float(np.ptp(stage.solid.mesh.nodes, axis=0).max())
        nearest = rows.gap <= rows.gap.min() + NEAREST * size
        r[nearest, 0] = rho.normal[nearest] * (rows.gap[nearest] + NEAREST * size)

    def _direction(self, entries: Entries, at: _Iterate, law: Law, rho: Augmentation) -> tuple[Array, Array]:
        """Newton's step (du, dr) from the linearised system, contact rows in units of displacement."""
        held, solid = self.increment.stage.held, self.increment.stage.solid
        u, r, response, rows = at
        free = held.free
        jump = np.zeros(solid.n_dof)
        jump[held.dofs] = self.increment.values - u[held.dofs]
        n, d = r.shape
        K = response.tangent
        symmetric = self.method.form == "symmetric"
        force = law.p if symmetric else r
        unit = float(np.mean(K.diagonal()[free])) if free.any() else 1.0  # forces count in unit × m
        scale = np.concatenate((rho.normal[:, None], np.repeat(rho.tangent[:, None], d - 1, axis=1)), axis=1)
        sign = -1.0 if symmetric else 1.0
        weight = sign * unit / scale  # of the rows of the law
        m = rows.dofs.shape[1]
        square = np.zeros((n, m, m))
        if rows.bend is not None:
            square -= np.einsum("nc,ncij->nij", force, rows.bend)
        turned = rows.H.transpose(0, 2, 1)  # (n, m, d)
        column = -turned.copy()
        if symmetric:
            square -= turned @ law.by_u
            column = -turned @ law.by_r
        below = -weight[:, :, None] * law.by_u
        corner = weight[:, :, None] * (np.eye(d) - law.by_r) + sign * REGULAR * np.eye(d)
        # the column block is ordered (n, d, m) in the pattern
        blocks = (square, unit * column.transpose(0, 2, 1), below, unit * corner)
        balance = response.force - self.increment.load
        balance -= np.bincount(
            rows.dofs.ravel(), np.einsum("ncm,nc->nm", rows.H, force).ravel(), minlength=solid.n_dof
        )
        gap = weight * (r - law.p)
        if jump.any():  # remaining imposed displacements
            balance += K @ jump
            balance += np.bincount(
                rows.dofs.ravel(),
                np.einsum("nij,nj->ni", square, jump[rows.dofs]).ravel(),
                minlength=solid.n_dof,
            )
            gap += np.einsum("ndm,nm->nd", below, jump[rows.dofs])
        right = -np.concatenate((balance[free], gap.ravel()))
        step = solve_shifted(entries, K, blocks, right, unit)
        du = jump.copy()
        du[free] = step[: entries.n_free]
        return du, unit * step[entries.n_free :].reshape(n, d)

    def _residual(self, at: _Iterate, law: Law, rho: Augmentation) -> float:
        """Forces out of balance, the law, and imposed displacements not yet reached, each relative."""
        stage = self.increment.stage
        solid, held = stage.solid, stage.held
        u, r, response, rows = at
        contact = np.bincount(
            rows.dofs.ravel(), np.einsum("ncm,nc->nm", rows.H, r).ravel(), minlength=solid.n_dof
        )
        balance = (response.force - self.increment.load - contact)[held.free]
        forces = max(
            float(np.abs(response.force).max(initial=0.0)),
            float(np.abs(self.increment.load).max(initial=0.0)),
            float(np.abs(r).max(initial=0.0)),
        )
        d = r.shape[1]
        scale = np.concatenate((rho.normal[:, None], np.repeat(rho.tangent[:, None], d - 1, axis=1)), axis=1)
        violation = np.abs((r - law.p) / scale).max(initial=0.0)
        displacement_error = np.abs(u[held.dofs] - self.increment.values).max(initial=0.0)
        length = max(float(np.abs(u).max(initial=0.0)), float(np.abs(self.increment.values).max(initial=0.0)))
        if length == 0.0:  # an obstacle may come before anything has moved: a fixed length would have a unit
            length = RESTING * float(np.ptp(solid.mesh.nodes, axis=0).max())
        with np.errstate(invalid="ignore"):
            out = float(np.abs(balance).max(initial=0.0)) / (forces or 1.0)
        return max(out, float(violation) / length, float(displacement_error) / length)

    def _regions(self, law: Law, response: Response) -> Regions:
        """Region of each contact, and which Gauss points yield."""
        parts = [law.region]
        for old, new in zip(self.increment.state.history, response.history, strict=True):
            if "accumulated" in new:
                parts.append((new["accumulated"] > old["accumulated"]).astype(np.int8))
        return np.concatenate(parts)

    # ---------------------------------------------------------------- augmentation

    def _augmentation(self, at: _Iterate) -> Augmentation:
        K, rows, r = at.response.tangent, at.rows, at.r
        n = len(r)
        if self.method.rho is not None:
            fixed = np.full(n, self.method.rho * self.scale)
            return Augmentation(fixed, fixed.copy())
        stage = self.increment.stage
        free = stage.held.free
        holding = r[:, 0] > 0.0 if stage.free_motions else None  # contacts that hold the free motions
        # Exact flexibilities cost as much as an iteration. Without friction, in a linear solid, estimates
        # serve as well; with friction exact ones save Newton's method from cycles.
        exact = not stage.solid.is_linear or bool(self.increment.mu.any()) or stage.solid.n_dof <= SMALL
        elastic = stage.solid.stiffness
        first = self.elastic is None
        blocks = flexibilities(
            elastic if first or self.method.tangent == "elastic" else K, free, rows, holding, exact
        )
        if first:
            self._warn_about_uniqueness(blocks)
            self.elastic = tangential_stiffness(blocks)
            if self.method.tangent == "current" and not stage.solid.is_linear:
                blocks = flexibilities(K, free, rows, holding, exact)
        rho = Augmentation.from_blocks(blocks)
        if self.method.safeguard and self.cuts and not stage.solid.is_linear:
            rho = rho.limited(self._yield_bound(blocks, r))
        return Augmentation(self.scale * rho.normal, self.scale * rho.tangent)

    def _yield_bound(self, blocks: Array, r: Array) -> Array:
        """Equation (77) per node: k of the current tangent, K + k elastic, S₀ = yield stress × area.

        Where nothing has yielded K is zero and the bound is twice the stiffness.
        """
        solid, nodes, mu = self.increment.stage.solid, self.increment.nodes, self.increment.mu
        assert self.elastic is not None
        yield_force = yield_forces(solid, nodes)
        k = tangential_stiffness(blocks)
        plastic_loss = np.maximum(self.elastic - k, 0.0)
        plastic_loss[plastic_loss < 1e-6 * self.elastic] = 0.0
        threshold = mu * np.maximum(r[:, 0], 0.0) * (plastic_loss + k)
        yield_term = yield_force * plastic_loss
        safe = np.where(threshold + yield_term > 0.0, threshold + yield_term, 1.0)
        return np.where(yield_term > 0.0, 2.0 * k * threshold / safe, 2.0 * k)

    def _warn_about_uniqueness(self, blocks: Array) -> None:
        mu = self.increment.mu
        bound = friction_bound(blocks) if len(blocks) else np.empty(0)
        beyond = np.flatnonzero(mu >= bound)
        if beyond.size and self.increment.state.forces is None:
            worst = int(beyond[np.argmin(bound[beyond])])
            warn(
                f"mu = {mu[worst]:g} at node {self.increment.nodes[worst]} is beyond {bound[worst]:.3g}, the "
                f"bound below which a node alone has one equilibrium (Alart 1997, 66; {beyond.size} such "
                "nodes): the increment may have several answers"
            )


def _rounding(stage: ElasticContact, state: State) -> float:
    """Imbalance of the forces due to rounding, relative to the largest force."""
    K = stage.solid.respond(state.u, state.history).tangent
    summed = abs(K) @ np.abs(state.u)
    left = max(
        float(np.abs(K @ state.u).max(initial=0.0)),
        float(np.abs(state.load).max(initial=0.0)),
        float(np.abs(state.r).max(initial=0.0)),
    )
    return EPSILON * float(summed.max(initial=0.0)) / (left or 1.0)


def _failure_message(method: OneLoopNewton, stage: ElasticContact, state: State) -> str:
    text = (
        f"{state.status.name}: residual {state.residual:.3e} after {state.iterations} iterations, tolerance "
        f"{method.tol:.1e}"
    )
    if state.orders:
        text += f"; cycles of order {', '.join(map(str, state.orders))} (ρ was cut {state.cuts} times)"
    rounding = _rounding(stage, state)
    if state.residual <= ROUNDED * rounding:
        return (
            f"{text}. This is what rounding leaves: forces cancel from up to {rounding / EPSILON:.1e} times "
            f"the largest that is left (stiff beside soft parts, or a stiff one moved far). Ask for no less "
            f"than tol={10.0 ** np.ceil(np.log10(2.0 * state.residual)):.0e}"
        )
    text += ". The state before is kept in error.state: go on from it in smaller increments (follow)"
    if stage.free_motions:
        text += (
            f". The supports leave {'; '.join(stage.free_motions)} to the contacts (stage.free_motions, to "
            "be drawn): where contacts cannot hold them under this load there is no equilibrium, and another "
            "Support is needed"
        )
    return text
