"""Lagrangian systems from formulas: SymPy differentiates energies and frames exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from clapas.bodies.lagrangian.system import LagrangianSystem
from clapas.errors import MissingDependency, SceneError
from clapas.geometry.shapes.base import Shape
from clapas.typing import Array


class Link(NamedTuple):
    """A frame that moves with the coordinates, and its shape.

    Parameters
    ----------
    position : sequence of d expressions
        Its origin in the world (m).
    turn : expression or sequence of 4 expressions
        Its angle in the plane (rad), or a unit quaternion (w, x, y, z) in space.
    shape : Shape, optional
        Collision shape.
    name : str
        Its name.
    """

    position: Sequence[Any]
    turn: Any
    shape: Shape | None = None
    name: str = ""


def from_symbols(
    *,
    coordinates: Sequence[Any],
    velocities: Sequence[Any],
    kinetic: Any,
    potential: Any = 0,
    forces: Sequence[Any] | None = None,
    links: Sequence[Link] = (),
    q: Sequence[float] | Array,
    v: Sequence[float] | Array | None = None,
) -> LagrangianSystem:
    """Make a system from its energies.

    Parameters
    ----------
    coordinates, velocities : sequences of m symbols
        q and v = q'.
    kinetic : expression
        Kinetic energy T(q, v) (J), quadratic in the velocities.
    potential : expression
        Potential energy V(q) (J), of weight and springs.
    forces : sequence of m expressions, optional
        Other generalised forces, of q and v.
    links : sequence of Link
        Frames with shapes.
    q, v : sequences of m numbers
        Initial values.

    Examples
    --------
    A bead of 2 kg on a circle of 0.5 m in a vertical plane:

    >>> import sympy
    >>> a, w = sympy.symbols("a w")
    >>> bead = from_symbols(
    ...     coordinates=[a],
    ...     velocities=[w],
    ...     kinetic=sympy.Rational(1, 2) * 2 * (w / 2) ** 2,
    ...     potential=-2 * 9.81 * sympy.cos(a) / 2,
    ...     q=[0.1],
    ... )
    >>> bead.mass_matrix(np.array([0.1]))
    array([[0.5]])
    """
    sympy = _sympy()
    x, s = list(coordinates), list(velocities)
    if len(x) != len(s):
        raise SceneError(f"{len(x)} coordinates need as many velocities, got {len(s)}")
    T, V = sympy.sympify(kinetic), sympy.sympify(potential)
    unknown = (T.free_symbols | V.free_symbols) - set(x) - set(s)
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        raise SceneError(f"the energies contain symbols without a value: {names}. Substitute numbers first")
    if V.free_symbols & set(s):
        names = ", ".join(sorted(map(str, V.free_symbols & set(s))))
        raise SceneError(
            f"the potential energy must not depend on velocities, but has {names}; give forces instead"
        )
    M = sympy.hessian(T, s)
    if M.free_symbols & set(s):
        raise SceneError("the kinetic energy must be quadratic in the velocities")
    terms = [
        sum(sympy.diff(T, si, xj) * sj for xj, sj in zip(x, s, strict=True)) - sympy.diff(T, xi)
        for xi, si in zip(x, s, strict=True)
    ]
    applied = [-sympy.diff(V, xi) for xi in x]
    if forces is not None:
        applied = [a + sympy.sympify(f) for a, f in zip(applied, forces, strict=True)]
    mass, velocity_terms = _function(x, M), _function([*x, *s], sympy.Matrix(terms))
    force, energy = _function([*x, *s], sympy.Matrix(applied)), _function(x, sympy.Matrix([V]))
    frame_arguments: dict[str, Any] = {}
    if links:
        frames, frame_jacobian = _frames(x, s, links)
        frame_arguments = {"frames": frames, "frame_jacobian": frame_jacobian}
    return LagrangianSystem(
        mass=lambda y: mass(*y),
        velocity_terms=lambda y, w: velocity_terms(*y, *w).ravel(),
        force=lambda y, w, t: force(*y, *w).ravel(),
        potential=lambda y: float(energy(*y).item()),
        shapes=[(k, link.shape) for k, link in enumerate(links) if link.shape is not None],
        link_names=[link.name for link in links],
        q=q,
        v=v,
        **frame_arguments,
    )


def _frames(
    x: list[Any], s: list[Any], links: Sequence[Link]
) -> tuple[Callable[[Array], tuple[Array, Array]], Callable[[Array], Array]]:
    """Functions for the poses of the links and their Jacobians."""
    sympy = _sympy()
    position = sympy.Matrix([list(link.position) for link in links])
    turns = [list(link.turn) if isinstance(link.turn, Sequence) else [link.turn] for link in links]
    turn = sympy.Matrix(turns)
    rows = []
    for k in range(len(links)):
        linear = position[k, :].T.jacobian(x)
        change = turn[k, :].T.jacobian(x)
        if change.shape[0] == 4:  # ω = 2 Im(Q⁻¹ Q') in the body frame
            w, a, b, c = turn[k, :]
            back = sympy.Matrix([[-a, w, c, -b], [-b, -c, w, a], [-c, b, -a, w]])
            change = 2 * back * change
        rows.append(linear.col_join(change))
    poses = _function(x, position), _function(x, turn)
    jacobians = [_function(x, row) for row in rows]

    def frames(q: Array) -> tuple[Array, Array]:
        return poses[0](*q), poses[1](*q)

    def frame_jacobian(q: Array) -> Array:
        return np.stack([jacobian(*q) for jacobian in jacobians])

    return frames, frame_jacobian


def _function(arguments: list[Any], matrix: Any) -> Callable[..., Array]:
    function = _sympy().lambdify(arguments, matrix, modules="numpy", cse=True)
    return lambda *values: np.asarray(function(*values), dtype=float)


def _sympy() -> Any:
    try:
        return import_module("sympy")
    except ImportError:
        raise MissingDependency("sympy", "symbolic", "Deriving a system from its energies") from None
