"""Arc-length method: equilibrium paths through limit points and snap-through.

Loads are λ F with the factor λ an unknown. From one point of the path to the next a predictor goes along the
tangent by the length Δs, and Newton's corrections keep the distance (cylindrical constraint, Crisfield 1981):

    K(u) δu = δλ F − g(u, λ),      |Δu + δu| = Δs

of the two roots for δλ the one that goes forward is taken. The step is shortened where corrections fail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import linalg as sparse_linalg

from clapas.bodies.trusses.structure import Truss
from clapas.errors import ProblemError, SettingsError
from clapas.statics.trusses.equilibrium import force_scale
from clapas.statics.trusses.large import Shape
from clapas.typing import Array, Mask

SHORTEST = 1e-6  # fraction of the first step below which the path ends


@dataclass(frozen=True, eq=False)
class Path:
    """Equilibria along a load path.

    Parameters
    ----------
    truss : Truss
        The structure.
    factors : array (p,)
        Load factors λ; the first is 0.
    displacements : array (p × n × d)
        From the given shape (m).
    forces : array (p × m)
        Axial forces (N).
    is_stable : array (p,) of bool
        Whether the tangent is positive definite there.
    is_complete : bool
        Whether the goal or the number of points was reached; False if corrections failed.
    """

    truss: Truss
    factors: Array
    displacements: Array
    forces: Array
    is_stable: Mask
    is_complete: bool

    @property
    def limit_factor(self) -> float | None:
        """First largest load factor, after which the factor falls; None if it rises all the way."""
        falling = np.flatnonzero(np.diff(self.factors) < 0.0)
        return float(self.factors[falling[0]]) if len(falling) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ArcLength:
    """Settings of the arc-length method.

    Parameters
    ----------
    step : float
        Length of a step: Euclidean norm of the change of all displacements (m).
    points : int
        Largest number of steps.
    tol : float
        Largest force left, relative to the largest of loads and member forces.
    corrections : int
        Newton corrections before a step is halved.

    References: Riks 1979; Crisfield 1981.

    Examples
    --------
    A shallow arch of two bars snaps through; its limit load is known in closed form.

    >>> from clapas.bodies.trusses import Group, Material, Section
    >>> bar = Group(name="bar", kind="bar", material=Material(young=1e9), section=Section(area=1e-4))
    >>> arch = Truss(nodes=[[-1, 0], [0, 0.1], [1, 0]], members=[[0, 1], [1, 2]], groups=[bar], group=[0, 0],
    ...              is_blocked=[[1, 1], [0, 0], [1, 1]], cases={"top": [[0, 0], [0, -1], [0, 0]]})
    >>> path = ArcLength(step=0.004, points=80).follow(arch, "top")
    >>> exact = 2e5 * (1.01 ** (1 / 3) - 1) ** 1.5 / 1.01**0.5
    >>> bool(abs(path.limit_factor / exact - 1) < 0.01)
    True
    """

    step: float
    points: int = 100
    tol: float = 1e-9
    corrections: int = 12

    def __post_init__(self) -> None:
        if min(self.step, self.tol) <= 0.0 or min(self.points, self.corrections) < 1:
            raise SettingsError(f"step, points, tol and corrections must be positive, got {self}")

    def follow(self, truss: Truss, case: str, *, until: float = np.inf) -> Path:
        """The path from the unloaded state until the load factor passes ``until``, or for all points.

        Parameters
        ----------
        truss : Truss
            The structure, in equilibrium without loads.
        case : str
            Load case that the factor multiplies.
        until : float
            Load factor at which to end.
        """
        F = truss.load(case)
        if not F.any():
            raise ProblemError(f"load case '{case}' has no load on a free displacement: nothing to follow")
        truss.check_balance()
        shape = Shape(truss)
        U, factor, length, forward = np.zeros(truss.n_dof), 0.0, self.step, None
        points = [(factor, U, shape.forces(U)[2], _is_stable(shape, U))]
        complete = True
        while len(points) <= self.points and factor < until:
            tangent = _solve(shape, U, F)
            sign = 1.0 if forward is None or float(tangent @ forward) >= 0.0 else -1.0
            jump = sign * length / float(np.linalg.norm(tangent))
            corrected = self._correct(shape, F, U, factor, jump, tangent)
            if corrected is None:
                length *= 0.5
                if length < SHORTEST * self.step:
                    complete = False
                    break
                continue
            ahead, factor = corrected
            forward, U = ahead - U, ahead
            points.append((factor, U, shape.forces(U)[2], _is_stable(shape, U)))
            length = min(self.step, 1.5 * length)
        return Path(
            truss,
            np.array([point[0] for point in points]),
            np.stack([truss.displacements(point[1]) for point in points]),
            np.stack([point[2] for point in points]),
            np.array([point[3] for point in points]),
            complete,
        )

    def _correct(
        self, shape: Shape, F: Array, U: Array, factor: float, jump: float, tangent: Array
    ) -> tuple[Array, float] | None:
        """Corrections at a fixed distance from U; None if they do not converge."""
        moved, ahead = jump * tangent, factor + jump
        distance = float(np.linalg.norm(moved))
        for _ in range(self.corrections):
            direction, lengths, t = shape.forces(U + moved)
            left = shape.pull(direction, t) - ahead * F
            if np.abs(left).max() <= self.tol * force_scale(ahead * F, t):
                return U + moved, ahead
            both = np.column_stack((-left, F))
            try:
                change, along = sparse_linalg.splu(shape.tangent(direction, lengths, t).tocsc()).solve(both).T
            except RuntimeError:
                return None
            goal = moved + change
            a, b, c = along @ along, 2.0 * along @ goal, goal @ goal - distance**2
            root = b * b - 4.0 * a * c
            if root < 0.0:
                return None
            roots = np.array([-b - np.sqrt(root), -b + np.sqrt(root)]) / (2.0 * a)
            best = float(roots[np.argmax([moved @ (goal + r * along) for r in roots])])
            moved, ahead = goal + best * along, ahead + best
        return None


def _solve(shape: Shape, U: Array, F: Array) -> Array:
    direction, length, t = shape.forces(U)
    try:
        return np.asarray(sparse_linalg.splu(shape.tangent(direction, length, t).tocsc()).solve(F))
    except RuntimeError:
        raise ProblemError(
            "the tangent is singular at a point of the path: the structure has a motion without resistance "
            "there. Add prestress or supports (require_stable() tells where)"
        ) from None


def _is_stable(shape: Shape, U: Array) -> bool:
    from clapas.linalg.factor import factorise

    direction, length, t = shape.forces(U)
    try:
        factorise(shape.tangent(direction, length, t).tocsr())
    except ProblemError:
        return False
    return True
