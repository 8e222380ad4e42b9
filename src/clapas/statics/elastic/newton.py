"""One Newton loop on displacements and contact forces: material, large strain, contact and friction.

    F_int(u) − f − Hᵀ r = 0,        r − p(u, r) = 0,

where p is the projection of augmented forces, with x = r_N − ρ_N g and y = r_T − ρ_T Δu_T,

    p_N = max(x, 0),        p_T = projection of y on the disc of radius mu p_N.

This is Alart's system (2) with friction; its first line is linear in r, its Jacobian is not symmetric. With
p(u, r) in place of r in the first line it is the gradient of Alart and Curnier's augmented Lagrangian, whose
Jacobian is symmetric without friction. Both have the same solutions. With a nonlinear material u must not be
eliminated: Newton's method on the reduced equation behaves otherwise (Alart 1997, II.3).

The augmentation ρ decides only into which region (open, stick, slip) a contact falls at an iterate. It is
taken from the flexibility of the *current* tangent at each contact, equation (74), and where material yields
it is kept below (77), which vanishes with the normal force. On functions that are linear by regions the only
failure is a cycle: regions that come back without progress cut ρ by ten.

References
----------
Alart, Curnier 1991; Alart 1997, equations (2), (22), (66), (74) and (77).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from clapas.bodies.elastic.contact import ContactRows
from clapas.bodies.elastic.materials import History, VonMises
from clapas.bodies.elastic.solid import Response, Solid
from clapas.bodies.elastic.supports import unsupported
from clapas.errors import ProblemError, SettingsError, warn
from clapas.linalg.factor import factorise
from clapas.linalg.symmetric_pattern import Engine, SymmetricPattern
from clapas.solvers.newton.augmentation import SMALLEST, Augmentation, friction_bound
from clapas.solvers.newton.cycles import CycleWatch
from clapas.solvers.newton.maps import Regions
from clapas.statics.elastic.problem import ElasticContact, Increment, IncrementFailed, State
from clapas.statics.settings import check_loop
from clapas.status import Status
from clapas.typing import Array, Indices, Mask

EXACT = 64  # contacts up to which flexibilities are computed by solving; above, from the blocks of K
BLOCK_SHARE = 10.0  # a node pressed with its neighbours is about so much softer than its own block of K says
REGULAR = 1e-11  # of the stiffness: lets contacts that say the same thing twice pass
NEAREST = 1e-9  # of the size of the solid: gaps that count as equal
CUT = 0.1  # of ρ, on a cycle
LENGTHS = 6  # of a step that are tried once a cycle was seen
STRETCH = 0.2  # largest displacement gradient that one iteration adds where strains are large


@dataclass(frozen=True, kw_only=True, slots=True)
class OneLoopNewton:
    """Generalised Newton's method on (u, r).

    Parameters
    ----------
    tol : float
        Largest residual: forces out of balance relative to the largest force, and violation of the contact
        law relative to the largest displacement.
    max_iterations : int
        Linear solves per increment.
    form : "alart" or "symmetric"
        Alart's system (2), or the augmented Lagrangian.
    rho : float, optional
        Augmentation (N/m), the same for all contacts; by default from flexibilities.
    tangent : "current" or "elastic"
        Which tangent the flexibilities are those of. The elastic one is too stiff by (K + k)/k where material
        yields; it is there to show that.
    safeguard : bool
        Keep ρ below (77) where material yields, and cut it on cycles. Without it a cycle ends the solve.
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
    engine: Engine | None = None

    def __post_init__(self) -> None:
        check_loop(self.tol, self.max_iterations)
        if self.form not in ("alart", "symmetric"):
            raise SettingsError(f"form must be 'alart' or 'symmetric', got {self.form!r}")
        if self.rho is not None and not self.rho > 0.0:
            raise SettingsError(f"rho must be positive, got {self.rho!r}")
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

        ``reached`` is the share of the stage that the state has done already.

        Raises
        ------
        IncrementFailed
            Not within ``tol``; the state before is in ``error.state``. ``check=False`` returns the last
            iterate instead.
        """
        if state is None:
            state = stage.start()
            stage.refuse_overlap(state)
        found = _Iteration(self, stage.toward(state, share, reached), workspace or Workspace()).run()
        if check and not found.status.is_solved:
            raise IncrementFailed(_why(self, stage, found), state, 0.0)
        return found


@dataclass
class Workspace:
    """The analysed pattern of the matrix, kept from increment to increment while contacts keep theirs."""

    key: tuple[Mask, Indices, str] | None = None
    entries: _Entries | None = None

    def prepared(self, K: sparse.csr_array, increment: Increment, dofs: Indices, engine: Engine) -> _Entries:
        """Places of the entries for this increment."""
        free = increment.stage.held.free
        same = (
            self.key is not None
            and self.key[2] == engine
            and np.array_equal(self.key[0], free)
            and np.array_equal(self.key[1], dofs)
        )
        if not same:
            self.entries = _Entries(K, free, dofs, increment.nodes, increment.stage.solid.d, engine)
            self.key = (free, dofs, engine)
        assert self.entries is not None
        return self.entries


class _Entries:
    """Where the entries of K, H and the law go in the matrix of (free u, r)."""

    def __init__(
        self, K: sparse.csr_array, free: Mask, dofs: Indices, nodes: Indices, d: int, engine: Engine
    ) -> None:
        number = np.cumsum(free) - 1
        number[~free] = -1
        n, m = dofs.shape
        self.n_free = int(free.sum())
        row = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        self.keep_K = free[row] & free[K.indices]
        at = number[dofs]  # (n, m)
        force = self.n_free + np.arange(n * d).reshape(n, d)
        square = (np.repeat(at, m, axis=1).reshape(n, m, m), np.broadcast_to(at[:, None], (n, m, m)))
        column = (np.broadcast_to(at[:, None], (n, d, m)), np.broadcast_to(force[:, :, None], (n, d, m)))
        law = (np.broadcast_to(force[:, :, None], (n, d, d)), np.broadcast_to(force[:, None], (n, d, d)))
        blocks = (square, column, column[::-1], law)
        rows = np.concatenate([block[0].ravel() for block in blocks]).astype(np.int64)
        columns = np.concatenate([block[1].ravel() for block in blocks]).astype(np.int64)
        self.keep_contact = (rows >= 0) & (columns >= 0)
        # A node and the forces of its contacts are one group, displacements first.
        size = self.n_free + n * d
        owner = np.concatenate((np.flatnonzero(free) // d, np.repeat(nodes, d)))
        _, groups = np.unique(owner, return_inverse=True)
        self.pattern = SymmetricPattern(
            np.concatenate((number[row[self.keep_K]], rows[self.keep_contact])),
            np.concatenate((number[K.indices[self.keep_K]], columns[self.keep_contact])),
            size,
            groups.ravel(),
            engine,
        )

    def solve(self, K: sparse.csr_array, blocks: tuple[Array, ...], right: Array) -> Array:
        contact = np.concatenate([block.ravel() for block in blocks])
        values = np.concatenate((K.data[self.keep_K], contact[self.keep_contact]))
        return self.pattern.solve(values, right)


class _Law(NamedTuple):
    """The projection p of augmented forces, its derivatives, and the region of each contact."""

    p: Array  # (n, d)
    by_r: Array  # (n, d, d)
    by_u: Array  # (n, d, m)
    region: Regions  # (n,) 0 open, 1 stick, 2 and more slip


def project(rows: ContactRows, gradient: Array, r: Array, mu: Array, rho: Augmentation) -> _Law:
    """The projection p(u, r) of the augmented forces at all contacts, with its derivatives.

    ``gradient`` (n, d, m) is the derivative of (gap, slip) by the displacements.
    """
    n, d = r.shape
    x = r[:, 0] - rho.normal * rows.gap
    y = r[:, 1:] - rho.tangent[:, None] * rows.slip
    closed = x > 0.0
    radius = mu * np.where(closed, x, 0.0)
    length = np.linalg.norm(y, axis=1)
    slips = closed & (length > radius)
    sticks = closed & ~slips
    unit = y / np.where(length > 0.0, length, 1.0)[:, None]
    p = np.zeros((n, d))
    p[closed, 0] = x[closed]
    p[sticks, 1:] = y[sticks]
    p[slips, 1:] = (radius[:, None] * unit)[slips]
    by_r = np.zeros((n, d, d))
    by_r[closed, 0, 0] = 1.0
    turn = np.zeros((n, d - 1, d - 1))  # ∂p_T/∂y
    turn[sticks] = np.eye(d - 1)
    across = np.eye(d - 1) - unit[:, :, None] * unit[:, None, :]
    ratio = radius / np.where(length > 0.0, length, 1.0)
    turn[slips] = (ratio[:, None, None] * across)[slips]
    by_r[:, 1:, 1:] = turn
    by_r[slips, 1:, 0] = (mu[:, None] * unit)[slips]
    scale = np.concatenate((rho.normal[:, None], np.repeat(rho.tangent[:, None], d - 1, axis=1)), axis=1)
    by_u = -by_r @ (scale[:, :, None] * gradient)
    direction = np.where(unit[:, 0] < 0.0, 3, 2) if d == 2 else 2 + _sector(unit)
    region = np.where(slips, direction, sticks.astype(int))
    return _Law(p, by_r, by_u, region.astype(np.int8))


def _sector(unit: Array) -> Indices:
    """Eighth of the circle in which a direction (n, 2) lies."""
    return np.asarray(((np.arctan2(unit[:, 1], unit[:, 0]) / (0.25 * np.pi)) % 8).astype(int))


@dataclass
class _Iteration:
    """The Newton loop of one increment."""

    method: OneLoopNewton
    increment: Increment
    workspace: Workspace
    watch: CycleWatch = field(default_factory=CycleWatch)
    scale: float = 1.0  # of ρ, after cuts
    floats: bool | None = None  # whether the supports leave rigid motions
    elastic: Array | None = None  # tangential stiffness of each contact before any yielding
    cuts: int = 0
    orders: tuple[int, ...] = ()

    def run(self) -> State:
        increment, method = self.increment, self.method
        stage, start = increment.stage, increment.state
        solid, held, mu = stage.solid, stage.held, stage.mu
        d = solid.d
        u = start.u.copy()
        rows = increment.rows(u)
        n = len(rows.gap)
        r = np.zeros((n, d))
        if start.forces is not None and len(start.forces) == n:
            r = np.einsum("ncd,nd->nc", rows.frames, start.forces)
        response = self._respond(u)
        engine: Engine = method.engine or ("superlu" if d == 2 else "multifrontal")
        entries = self.workspace.prepared(response.tangent, increment, rows.dofs, engine)
        rho = self._augmentation(response.tangent, rows, r, response.history)
        self._close_nearest(rows, r, rho)
        status, residual, iteration = Status.MAX_ITERATIONS, np.inf, 0
        for iteration in range(method.max_iterations + 1):
            if not np.isfinite(response.force).all():  # a cell is inside out however short the step
                status = Status.NUMERICAL_ERROR
                break
            moved = (u - start.u)[rows.dofs]
            gradient = np.concatenate((rows.H[:, :1], rows.slip_gradient(moved)), axis=1)
            if iteration and not solid.is_linear:
                rho = self._augmentation(response.tangent, rows, r, response.history)
            law = project(rows, gradient, r, mu, rho)
            residual = self._residual(u, r, response, rows, law, rho)
            if not np.isfinite(residual):
                status = Status.NUMERICAL_ERROR
                break
            if residual <= method.tol:
                status = Status.SOLVED
                break
            if iteration == method.max_iterations:
                break
            order = self.watch.order(self._regions(law, response), residual)
            if order is not None:
                self.orders = (*self.orders, order)
                if not method.safeguard or self.scale < SMALLEST**2:
                    status = Status.STALLED
                    break
                self.scale *= CUT
                self.cuts += 1
                self.watch.forget()
                rho = self._augmentation(response.tangent, rows, r, response.history)
                law = project(rows, gradient, r, mu, rho)
            jump = np.zeros(solid.n_dof)
            jump[held.dofs] = increment.values - u[held.dofs]
            try:
                du, dr = self._direction(entries, response, rows, law, rho, r, jump)
            except np.linalg.LinAlgError:
                status = Status.NUMERICAL_ERROR
                break
            part, response = self._length(u, du, r, dr, mu, rho)
            u, r = u + part * du, r + part * dr
            rows = increment.rows(u)
        return replace(
            start,
            u=u,
            r=r,
            forces=np.einsum("ncd,nc->nd", rows.frames, r),
            gap=rows.gap,
            nodes=increment.nodes,
            history=response.history,
            load=increment.load,
            shifts=increment.shifts,
            status=status,
            residual=float(residual),
            iterations=iteration,
            cuts=self.cuts,
            orders=self.orders,
        )

    def _respond(self, u: Array) -> Response:
        """Internal forces and tangent at u; those of a linear solid without assembly."""
        solid, start = self.increment.stage.solid, self.increment.state
        if solid.is_linear:
            return Response(solid.stiffness @ u, solid.stiffness, start.history)
        return solid.respond(u, start.history)

    def _length(
        self, u: Array, du: Array, r: Array, dr: Array, mu: Array, rho: Augmentation
    ) -> tuple[float, Response]:
        """The whole Newton step, or the part of it that stretches no cell of large strain too much.

        Half of it, and so on, where a cell would turn inside out. Once a cycle was seen, the length among 1,
        ½, ¼, … that leaves the smallest residual.
        """
        solid, start = self.increment.stage.solid, self.increment.state
        stretch = solid.largest_gradient(du)
        part = min(1.0, STRETCH / stretch) if stretch > 0.0 else 1.0
        best, least = part, np.inf
        for _ in range(LENGTHS):
            if not self.orders:
                response = self._respond(u + part * du)
                if np.isfinite(response.force).all():
                    return part, response
            else:
                response = solid.respond(u + part * du, start.history, tangent=False)
                rows = self.increment.rows(u + part * du)
                moved = (u + part * du - start.u)[rows.dofs]
                gradient = np.concatenate((rows.H[:, :1], rows.slip_gradient(moved)), axis=1)
                law = project(rows, gradient, r + part * dr, mu, rho)
                left = self._residual(u + part * du, r + part * dr, response, rows, law, rho)
                if left < least:
                    best, least = part, left
            part *= 0.5
        return best, self._respond(u + best * du)

    def _close_nearest(self, rows: ContactRows, r: Array, rho: Augmentation) -> None:
        """Where only contact holds the solid and none is closed, start with the nearest closed."""
        stage = self.increment.stage
        if not len(r) or (r[:, 0] > rho.normal * rows.gap).any():
            return
        if not unsupported(stage.solid, stage.held)[1]:
            return
        size = float(np.ptp(stage.solid.mesh.nodes, axis=0).max())
        nearest = rows.gap <= rows.gap.min() + NEAREST * size
        r[nearest, 0] = rho.normal[nearest] * (rows.gap[nearest] + NEAREST * size)

    def _direction(
        self,
        entries: _Entries,
        response: Response,
        rows: ContactRows,
        law: _Law,
        rho: Augmentation,
        r: Array,
        jump: Array,
    ) -> tuple[Array, Array]:
        """Newton's step (du, dr) from the linearised system, contact rows counted in displacements."""
        solid, free = self.increment.stage.solid, self.increment.stage.held.free
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
        balance = balance - np.bincount(
            rows.dofs.ravel(), np.einsum("ncm,nc->nm", rows.H, force).ravel(), minlength=solid.n_dof
        )
        pushed = K @ jump
        if n:
            pushed += np.bincount(
                rows.dofs.ravel(),
                np.einsum("nij,nj->ni", square, jump[rows.dofs]).ravel(),
                minlength=solid.n_dof,
            )
        gap = weight * (r - law.p) + np.einsum("ndm,nm->nd", below, jump[rows.dofs])
        right = -np.concatenate(((balance + pushed)[free], gap.ravel()))
        step = _solve_shifted(entries, K, blocks, right, unit)
        du = jump.copy()
        du[free] = step[: entries.n_free]
        return du, unit * step[entries.n_free :].reshape(n, d)

    def _residual(
        self, u: Array, r: Array, response: Response, rows: ContactRows, law: _Law, rho: Augmentation
    ) -> float:
        """Forces out of balance, the law, and imposed displacements not yet reached, each relative."""
        stage = self.increment.stage
        solid, held = stage.solid, stage.held
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
        missing = np.abs(u[held.dofs] - self.increment.values).max(initial=0.0)
        length = max(float(np.abs(u).max(initial=0.0)), float(np.abs(self.increment.values).max(initial=0.0)))
        with np.errstate(invalid="ignore"):
            out = float(np.abs(balance).max(initial=0.0)) / (forces or 1.0)
        return max(out, float(violation) / (length or 1.0), float(missing) / (length or 1.0))

    def _regions(self, law: _Law, response: Response) -> Regions:
        """Region of each contact, and which Gauss points yield."""
        parts = [law.region]
        for old, new in zip(self.increment.state.history, response.history, strict=True):
            if "accumulated" in new:
                parts.append((new["accumulated"] > old["accumulated"]).astype(np.int8))
        return np.concatenate(parts)

    # ---------------------------------------------------------------- augmentation

    def _augmentation(
        self, K: sparse.csr_array, rows: ContactRows, r: Array, history: tuple[History, ...]
    ) -> Augmentation:
        n = len(r)
        if self.method.rho is not None:
            fixed = np.full(n, self.method.rho * self.scale)
            return Augmentation(fixed, fixed.copy())
        stage = self.increment.stage
        free = stage.held.free
        if self.floats is None:
            self.floats = bool(unsupported(stage.solid, stage.held)[1])
        holding = r[:, 0] > 0.0 if self.floats else None  # contacts that hold a body which nothing else does
        elastic = stage.solid.stiffness
        first = self.elastic is None
        blocks = flexibilities(
            elastic if first or self.method.tangent == "elastic" else K, free, rows, holding
        )
        if first:
            self._warn_about_uniqueness(blocks)
            self.elastic = _tangential(blocks)
            if self.method.tangent == "current" and not stage.solid.is_linear:
                blocks = flexibilities(K, free, rows, holding)
        rho = Augmentation.from_blocks(blocks)
        if self.method.safeguard and self.cuts and not stage.solid.is_linear:
            rho = rho.limited(self._yield_bound(blocks, r))
        return Augmentation(self.scale * rho.normal, self.scale * rho.tangent)

    def _yield_bound(self, blocks: Array, r: Array) -> Array:
        """Equation (77) per node: k of the current tangent, K + k elastic, S₀ = yield stress × area.

        Where nothing has yielded K is zero and the bound is twice the stiffness.
        """
        solid, nodes, mu = self.increment.stage.solid, self.increment.nodes, self.increment.stage.mu
        assert self.elastic is not None
        yield_force = _yield_forces(solid, nodes)
        k = _tangential(blocks)
        lost = np.maximum(self.elastic - k, 0.0)
        lost[lost < 1e-6 * self.elastic] = 0.0
        threshold = mu * np.maximum(r[:, 0], 0.0) * (lost + k)
        held = yield_force * lost
        safe = np.where(threshold + held > 0.0, threshold + held, 1.0)
        return np.where(held > 0.0, 2.0 * k * threshold / safe, 2.0 * k)

    def _warn_about_uniqueness(self, blocks: Array) -> None:
        mu = self.increment.stage.mu
        bound = friction_bound(blocks) if len(blocks) else np.empty(0)
        beyond = np.flatnonzero(mu >= bound)
        if beyond.size and self.increment.state.forces is None:
            worst = int(beyond[np.argmin(bound[beyond])])
            warn(
                f"mu = {mu[worst]:g} at node {self.increment.nodes[worst]} is beyond {bound[worst]:.3g}, the "
                f"bound below which a node alone has one equilibrium (Alart 1997, 66; {beyond.size} such "
                "nodes): the increment may have several answers"
            )


def _solve_shifted(
    entries: _Entries, K: sparse.csr_array, blocks: tuple[Array, ...], right: Array, unit: float
) -> Array:
    """Solve; where the contacts closed so far leave a rigid motion, with a little stiffness against it.

    Then the motion goes far along it, and closes what is in its course.
    """
    for shift in (0.0, 1e-9, 1e-6, 1e-3):
        try:
            if shift == 0.0:
                return entries.solve(K, blocks, right)
            shifted = sparse.csr_array(K, copy=True)
            shifted.setdiag(K.diagonal() + shift * unit)
            return entries.solve(shifted, blocks, right)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the matrix is singular")


def flexibilities(K: sparse.csr_array, free: Mask, rows: ContactRows, holding: Mask | None = None) -> Array:
    """How each contact gives way to its own force, H_i K⁻¹ H_iᵀ, (n, d, d).

    Up to some hundred contacts by solving; beyond, from the block of K at the displacements of the contact,
    times a factor for the softness of what is around. Where the supports leave a rigid motion, the contacts
    ``holding`` (n,) count as springs along their normals.
    """
    n, d, m = rows.H.shape
    if not n:
        return np.empty((0, d, d))
    if holding is not None and holding.any():
        normal, at = rows.H[holding, 0], rows.dofs[holding]
        values = float(K.diagonal().mean()) * normal[:, :, None] * normal[:, None, :]
        places = (np.repeat(at, m, axis=1).ravel(), np.tile(at, (1, m)).ravel())
        K = sparse.csr_array(K + sparse.coo_array((values.ravel(), places), shape=K.shape))
    if n <= EXACT and (holding is None or holding.any()):
        try:
            factor = factorise(sparse.csr_array(K[free][:, free]))
        except ProblemError:
            factor = None
        if factor is not None:
            H = np.zeros((n * d, K.shape[0]))
            place = np.broadcast_to(rows.dofs[:, None], (n, d, m)).reshape(n * d, m)
            np.add.at(H, (np.arange(n * d)[:, None], place), rows.H.reshape(n * d, m))
            motion = factor.solve(np.ascontiguousarray(H[:, free].T))
            W = (H[:, free] @ motion).reshape(n, d, n, d)
            blocks = W[np.arange(n), :, np.arange(n)]
            if np.isfinite(blocks).all() and (blocks[:, 0, 0] > 0.0).all():
                return _plausible(blocks)
    flat = (np.repeat(rows.dofs, m, axis=1).ravel(), np.tile(rows.dofs, (1, m)).ravel())
    local = np.asarray(K[flat]).reshape(n, m, m)
    held = ~free[rows.dofs]
    stiff = np.abs(local).max(axis=(1, 2))
    local = local + (held * 1e6 * stiff[:, None])[:, :, None] * np.eye(m)
    local = local + 1e-6 * stiff[:, None, None] * np.eye(m)
    return _plausible(BLOCK_SHARE * (rows.H @ np.linalg.solve(local, rows.H.transpose(0, 2, 1))))


def _plausible(blocks: Array) -> Array:
    """Symmetric blocks whose diagonals are positive, for nodes that supports hold."""
    blocks = 0.5 * (blocks + blocks.transpose(0, 2, 1))
    top = float(np.einsum("nii->ni", blocks).max())
    d = blocks.shape[1]
    return np.asarray(blocks + 1e-9 * top * np.eye(d))


def _tangential(blocks: Array) -> Array:
    """Tangential stiffness 1/c_tt of each contact, the least where there are two tangents."""
    if not len(blocks):
        return np.empty(0)
    return np.asarray(1.0 / np.linalg.eigvalsh(blocks[:, 1:, 1:]).max(axis=1))


def _yield_forces(solid: Solid, nodes: Indices) -> Array:
    """Yield stress times the section V^((d−1)/d) of each node, V being its share of the volume."""
    size = np.zeros(solid.mesh.n_nodes)
    stress = np.zeros(solid.mesh.n_nodes)
    for batch in solid.batches:
        volume, _ = batch.volumes(batch.element.stiffness)
        share = np.repeat(volume.sum(axis=1)[:, None] / batch.cells.shape[1], batch.cells.shape[1], axis=1)
        size += np.bincount(batch.cells.ravel(), share.ravel(), minlength=len(size))
        if isinstance(batch.material, VonMises):
            stress[batch.cells.ravel()] = batch.material.yield_stress
    return np.asarray(stress[nodes] * size[nodes] ** ((solid.d - 1) / solid.d))


def _why(method: OneLoopNewton, stage: ElasticContact, found: State) -> str:
    text = (
        f"{found.status.name}: residual {found.residual:.3e} after {found.iterations} iterations, tolerance "
        f"{method.tol:.1e}"
    )
    if found.orders:
        text += f"; cycles of order {', '.join(map(str, found.orders))} (ρ was cut {found.cuts} times)"
    _, words = unsupported(stage.solid, stage.held)
    if words:
        text += f"; the supports leave {' and '.join(words)} to the contacts, which may not hold it"
    return text + ". The state before is kept in error.state: go on from it in smaller increments (follow)"
