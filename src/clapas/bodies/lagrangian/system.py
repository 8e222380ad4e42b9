"""A mechanical system in generalised coordinates, defined by the user.

    M(q) q'' + N(q, q') = F(q, q', t) + Hᵀ r

M is the mass matrix, N the velocity terms (centrifugal, Coriolis), F the applied forces with gravity. By
default N follows from M: with T = ½ vᵀ M v,

    N = Ṁ v − ∂T/∂q,    N_i = Σ_jk (∂M_ij/∂q_k − ½ ∂M_jk/∂q_i) v_j v_k,

by central differences of M (:func:`from_symbols` differentiates exactly). Reference: Cadoux 2009, 2.1 and
appendix A (the double pendulum).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from clapas.bodies.joined import Anchor, Anchored
from clapas.bodies.kind import Energy, Part, Poses, Span, Touches
from clapas.bodies.links import Bindings
from clapas.errors import SceneError
from clapas.geometry import rotations
from clapas.geometry.shapes.base import Shape
from clapas.typing import Array

DIFFERENCE = 6e-6  # of a coordinate of order one: balances truncation and rounding of central differences
ROUNDS = 30  # of the fixed point for the mean velocity in N
SETTLED = 1e-15
STARTING = 1e-9  # tolerance on initial constraint velocities, relative to their terms
SYMMETRIC = 1e-9  # |M_ij − M_ji| left by rounding, relative to √(M_ii M_jj), which has the same unit


@dataclass(frozen=True, kw_only=True)
class LagrangianSystem:
    """A system with coordinates q and velocities v = q'.

    Parameters
    ----------
    mass : callable q ↦ (m, m)
        Mass matrix M(q), symmetric, positive definite (kg, kg·m, kg·m²).
    q, v : arrays (m,)
        Coordinates and velocities at the start; v is zero by default.
    force : callable (q, v, t) ↦ (m,), optional
        Applied forces F, weight included. None by default.
    velocity_terms : callable (q, v) ↦ (m,), optional
        N(q, v); by default derived from M.
    frames : callable q ↦ (positions (k, d), orientations (k, 1) or (k, 4)), optional
        Poses of the links that carry shapes: angles in the plane, unit quaternions in space.
    frame_jacobian : callable q ↦ (k, 3, m) or (k, 6, m), optional
        Their velocities in the world and angular velocities in their own frames, per unit of each v; by
        default by central differences of ``frames``.
    shapes : sequence of (link, Shape), optional
        Shapes of the links, by number.
    potential : callable q ↦ float, optional
        Potential energy (J) of the applied forces, for energy balances; zero by default.
    link_names : sequence of str, optional
        Names of the links.
    constraints : callable q ↦ (j, m), optional
        Rows A(q) of constraints A(q) v = 0 on velocities, holonomic or not (a wheel that does not slip, a
        skate): enforced by multipliers, solved with the contacts. The initial v must satisfy them.

    Examples
    --------
    A pendulum of 1 m with a bob of 1 kg, in one coordinate:

    >>> pendulum = LagrangianSystem(
    ...     mass=lambda q: np.array([[1.0]]), force=lambda q, v, t: -9.81 * np.sin(q), q=[0.5]
    ... )
    >>> pendulum.free(pendulum.start(), Span(0.0, 1e-3, 0.5, np.zeros(2)))[1].round(6)
    array([-0.004703])
    """

    mass: Callable[[Array], Any]
    q: Sequence[float] | Array
    v: Sequence[float] | Array | None = None
    force: Callable[[Array, Array, float], Any] | None = None
    velocity_terms: Callable[[Array, Array], Any] | None = None
    frames: Callable[[Array], tuple[Any, Any]] | None = None
    frame_jacobian: Callable[[Array], Any] | None = None
    shapes: Sequence[tuple[int, Shape]] = ()
    potential: Callable[[Array], float] | None = None
    link_names: Sequence[str] = ()
    constraints: Callable[[Array], Any] | None = None

    word: ClassVar[str] = "lagrangian"

    def __post_init__(self) -> None:
        q = np.array(self.q, dtype=float, ndmin=1)
        v = np.zeros_like(q) if self.v is None else np.array(self.v, dtype=float, ndmin=1)
        if q.ndim != 1 or v.shape != q.shape:
            raise SceneError(f"q and v must be lists of m numbers each, got shapes {q.shape} and {v.shape}")
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "v", v)
        M = np.asarray(self.mass(q), dtype=float)
        if M.shape != (len(q), len(q)):
            raise SceneError(f"mass(q) must be a ({len(q)}, {len(q)}) matrix, got shape {M.shape}")
        self._definite(M, q)
        if self.force is not None:
            self._require_numbers("force(q, v, t)", self.force(q, v, 0.0))
        if self.velocity_terms is not None:
            self._require_numbers("velocity_terms(q, v)", self.velocity_terms(q, v))
        if self.constraints is not None:
            A = self._constraint_rows(q)
            if np.abs(A @ v).max(initial=0.0) > STARTING * (np.abs(A) @ np.abs(v)).max(initial=0.0):
                raise SceneError(
                    f"v at the start does not obey the constraints: A v = {(A @ v).tolist()}; "
                    "take a v with A v = 0"
                )
        if self.shapes and self.frames is None:
            raise SceneError("shapes need links: give frames, q ↦ (positions, orientations)")
        if self.frames is not None:
            position, orientation = (np.asarray(x, dtype=float) for x in self.frames(q))
            turns = {2: 1, 3: 4}.get(position.shape[-1]) if position.ndim == 2 else None
            if turns is None or orientation.shape != (len(position), turns):
                raise SceneError(
                    "frames(q) must give positions (k, d) and angles (k, 1) in the plane or quaternions "
                    f"(k, 4) in space, got shapes {position.shape} and {orientation.shape}"
                )
            for link, _ in self.shapes:
                if not 0 <= link < len(position):
                    raise SceneError(f"a shape is on link {link}, but frames(q) has {len(position)} links")

    def _constraint_rows(self, q: Array) -> Array:
        """A(q); raises SceneError where it is not rows of finite numbers."""
        assert self.constraints is not None
        A = np.asarray(self.constraints(q), dtype=float)
        if A.ndim != 2 or A.shape[1] != len(q):
            raise SceneError(f"constraints(q) must be rows of {len(q)} numbers, got shape {A.shape}")
        if not np.isfinite(A).all():
            raise SceneError(f"constraints(q) must be finite numbers; at q = {q.tolist()} it is {A.tolist()}")
        return A

    def _require_numbers(self, label: str, value: Any) -> None:
        if np.shape(value) != np.shape(self.q):
            raise SceneError(f"{label} must be {len(self.q)} numbers, got shape {np.shape(value)}")

    # ---------------------------------------------------------------- sizes

    @property
    def d(self) -> int:
        """Dimension, 2 or 3; 3 without links."""
        return int(self.poses(self.start()).position.shape[1])

    @property
    def n_dof(self) -> int:
        """Coordinates."""
        return len(self.q)

    @property
    def n_carriers(self) -> int:
        """Links."""
        return 0 if self.frames is None else len(np.asarray(self.frames(np.asarray(self.q))[0]))

    # ---------------------------------------------------------------- motion

    def start(self) -> Part:
        """Initial coordinates and velocities."""
        return Part(np.asarray(self.q), np.asarray(self.v))

    def drift(self, part: Part, h: float) -> Part:
        """Q + h v."""
        return Part(part.q + h * part.v, part.v)

    def advance(self, part: Part, v: Array, h: float) -> Part:
        """Q + h v with the new v."""
        return Part(part.q + h * v, v)

    def free(self, part: Part, span: Span) -> tuple[sparse.csr_array, Array]:
        """M(q) and v + M⁻¹ h (F − N), with N at the mean of the velocities before and after."""
        q, v, h = part.q, part.v, span.h
        M = self.mass_matrix(q)
        after = v
        for _ in range(ROUNDS):
            mean = 0.5 * (v + after)
            applied = 0.0 if self.force is None else np.asarray(self.force(q, mean, span.time), dtype=float)
            new = v + h * np.linalg.solve(M, applied - self.inertial_force(q, mean))
            constrained = self._constrained(q, M, new, span.theta * h)[0]
            change, after = float(np.abs(constrained - after).max(initial=0.0)), constrained
            if change <= SETTLED * (1.0 + float(np.abs(constrained).max(initial=0.0))):
                break
        if not np.isfinite(new).all():
            raise SceneError(f"the forces or the mass matrix are not finite at q = {q.tolist()}")
        return sparse.csr_array(M), new

    def bindings(self, part: Part, span: Span) -> Bindings:
        """The constraints, linearised at the middle for the end of the step: A(q_m) v⁺ + b = 0."""
        if self.constraints is None:
            return Bindings(sparse.csr_array((0, self.n_dof)), np.empty(0))
        M, new = self.free(part, span)
        b = self._constrained(part.q, M.toarray(), new, span.theta * span.h)[1]
        return Bindings(sparse.csr_array(self._constraint_rows(part.q)), b)

    def _constrained(self, q: Array, M: Array, v: Array, h: float) -> tuple[Array, Array]:
        """Projection v⁺ of v onto the constraints, with A(q + h v⁺) v⁺ = 0, and b = −A(q) v⁺.

        With A(q) v⁺ = 0 instead, a skate would lose speed in turns: an error of first order in h.
        """
        if self.constraints is None:
            return v, np.empty(0)
        A = self._constraint_rows(q)
        push = np.linalg.solve(M, A.T)
        after, b = v, np.zeros(len(A))
        for _ in range(ROUNDS):
            new = v - push @ np.linalg.lstsq(A @ push, A @ v + b, rcond=None)[0]
            settled = np.abs(new - after).max() <= SETTLED * (1.0 + np.abs(new).max())
            after = new
            b = self._constraint_rows(q + h * after) @ after - A @ after
            if settled:
                break
        return after, b

    def mass_matrix(self, q: Array) -> Array:
        """M(q); raises SceneError where it is not positive definite (singular coordinates, gimbal lock)."""
        return self._definite(np.asarray(self.mass(q), dtype=float), q)

    def inertial_force(self, q: Array, v: Array) -> Array:
        """N(q, v)."""
        if self.velocity_terms is not None:
            return np.asarray(self.velocity_terms(q, v), dtype=float)
        slopes = _differences(lambda x: np.asarray(self.mass(x), dtype=float), q)  # ∂M_ij/∂q_k at [i, j, k]
        return np.asarray(np.einsum("ijk,j,k->i", slopes, v, v) - 0.5 * np.einsum("jki,j,k->i", slopes, v, v))

    def energy(self, part: Part, gravity: Array) -> Energy:
        """½ vᵀ M v, and the potential."""
        kinetic = 0.5 * float(part.v @ self.mass_matrix(part.q) @ part.v)
        return Energy(kinetic, 0.0 if self.potential is None else float(self.potential(part.q)))

    # ---------------------------------------------------------------- links

    def poses(self, part: Part) -> Poses:
        """Poses of the links."""
        if self.frames is None:
            return Poses(np.empty((0, 3)), np.empty((0, 4)))
        position, orientation = self.frames(part.q)
        return Poses(np.asarray(position, dtype=float), np.asarray(orientation, dtype=float))

    def link_jacobian(self, q: Array) -> Array:
        """Velocities and angular velocities of the links per unit of each v, (k, 3 or 6, m)."""
        if self.frame_jacobian is not None:
            return np.asarray(self.frame_jacobian(q), dtype=float)
        assert self.frames is not None
        frames = self.frames
        linear = _differences(lambda x: np.asarray(frames(x)[0], dtype=float), q)
        turn = _differences(lambda x: np.asarray(frames(x)[1], dtype=float), q)
        if turn.shape[1] == 4:  # Q' = ½ Q ω in the body frame: ω = 2 Im(Q⁻¹ Q')
            Q = np.asarray(frames(q)[1], dtype=float)
            back = rotations.conjugate(Q)
            columns = [2.0 * rotations.product(back, turn[:, :, k])[:, 1:] for k in range(len(q))]
            turn = np.stack(columns, axis=2)
        return np.concatenate((linear, turn), axis=1)

    def twists(self, part: Part) -> Array:
        """Velocities of the links, angular ones in their own frames."""
        if self.frames is None:
            return np.empty((0, 6))
        return np.asarray(self.link_jacobian(part.q) @ part.v)

    def jacobian(self, part: Part, at: Touches) -> sparse.csr_array:
        """Velocities in the world of points fixed to links."""
        J, poses = self.link_jacobian(part.q)[at.carrier], self.poses(part)
        d = poses.position.shape[1]
        arm = at.point - poses.position[at.carrier]
        linear, turn = J[:, :d], J[:, d:]
        if d == 2:
            across = np.stack((-arm[:, 1], arm[:, 0]), axis=1)
            rows = linear + across[:, :, None] * turn
        else:
            Q = poses.orientation[at.carrier]
            world = np.stack([rotations.rotate(Q, turn[:, :, k]) for k in range(self.n_dof)], axis=2)
            rows = linear + np.cross(world, arm[:, :, None], axis=1)
        return sparse.csr_array(rows.reshape(-1, self.n_dof))

    def anchor(self, point: Array, carrier: int | None) -> Anchor:
        """Anchor on a link: any point may be fixed to it."""
        if carrier is None and self.n_carriers != 1:
            known = ", ".join(self.link_names) or f"0 to {self.n_carriers - 1}"
            count = f"has {self.n_carriers} links ({known})" if self.n_carriers else "has no links"
            raise SceneError(
                f"a Lagrangian system {count}: name the body of the link to join, or give it frames and one "
                "shape for each link to be joined"
            )
        link = carrier or 0
        name = self.link_names[link] if link < len(self.link_names) else str(link)
        return Anchor(f"link {name}", (link,), turns=True, carriers=(link,))

    def anchored(self, part: Part, anchors: Sequence[Anchor]) -> Anchored:
        """The frames of the links."""
        links = np.array([anchor.place[0] for anchor in anchors], dtype=np.int64)
        poses, J = self.poses(part), self.link_jacobian(part.q)[links]
        rows = sparse.csr_array(J.reshape(-1, self.n_dof))
        return Anchored(poses.position[links], poses.orientation[links], rows, np.zeros(J.shape[:2]))

    @staticmethod
    def _definite(M: Array, q: Array) -> Array:
        """M without the asymmetry that rounding leaves; raises SceneError if it is no mass matrix."""
        if not np.isfinite(M).all():
            raise SceneError(f"mass(q) must be finite numbers; at q = {q.tolist()} it is {M.tolist()}")
        scale = np.sqrt(np.abs(np.diag(M)))
        apart = np.abs(M - M.T) > SYMMETRIC * np.outer(scale, scale)
        if apart.any():
            i, j = (int(k) for k in np.argwhere(apart)[0])
            raise SceneError(
                f"mass(q) must be symmetric; at q = {q.tolist()} its entries [{i}, {j}] and [{j}, {i}] are "
                f"{M[i, j]:g} and {M[j, i]:g}. The mass matrix is that of the kinetic energy ½ vᵀ M v, so "
                "take the mean of the two if they belong to it; forces that depend on v belong to force"
            )
        M = 0.5 * (M + M.T)
        smallest, largest = (float(x) for x in np.linalg.eigvalsh(M)[[0, -1]])
        if not smallest > 1e-14 * largest:
            raise SceneError(
                f"mass(q) must be symmetric positive definite; at q = {q.tolist()} its eigenvalues go from "
                f"{smallest:.3e} to {largest:.3e}. Where coordinates fail (gimbal lock, a stretched linkage) "
                "take others"
            )
        return M


def _differences(function: Callable[[Array], Array], q: Array) -> Array:
    """Derivative of an array by each coordinate, on a last axis, by central differences."""
    steps = DIFFERENCE * np.maximum(1.0, np.abs(q))
    columns = []
    for k, step in enumerate(steps):
        ahead, behind = q.copy(), q.copy()
        ahead[k] += step
        behind[k] -= step
        columns.append((function(ahead) - function(behind)) / (ahead[k] - behind[k]))
    return np.stack(columns, axis=-1)
