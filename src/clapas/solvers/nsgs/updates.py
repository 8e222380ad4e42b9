"""The new impulse of a visited contact, for each type of cone.

All sweeps that visit contacts one after another have the same structure: gather the velocities at the
contact, solve its one-contact problem, add the change of impulse to the bodies. Only the cone differs. At
most contacts it is Coulomb's, solved by the local solver. The data of the other cones are a named tuple whose
type selects the code at compile time (see :mod:`clapas.compiled`):

* :class:`Polygonal`: the section of the cone is a polygon (:mod:`clapas.solvers.local.polygonal`);
* :class:`Stretched`: the section is an ellipse, a disc in stretched tangents, for the local solver;
* :class:`Limited`: the friction threshold is independent of pressure (:mod:`clapas.solvers.local.threshold`);
* :class:`Coupled`: the contact also carries a couple.

Other sections, known by their projection alone, are swept by :mod:`clapas.solvers.nsgs.sections`.

A contact with a couple is solved for its impulse with the couple held, then for the couple with the impulse
held: each part p of the couple responds to its change by its own block, and must stay in a disc whose
radius is the normal impulse,

    p ← P_disc(r_N) (p − u_p / λ_p),    λ_p the largest eigenvalue of the block.

The two are strongly tied where a body rolls (stopping the slip of a sphere and stopping its rolling undo each
other by 5/7), so a visit repeats them, on the contact's own block of W: velocities are gathered once. A fixed
point satisfies the law of :class:`clapas.problems.rolling.RollingProblem`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clapas.compiled import chosen_by_type, inlined, subroutine
from clapas.convex.rolling import DISCS
from clapas.convex.section import Ellipses, Polygons
from clapas.convex.threshold import Thresholds
from clapas.problems.contact import ContactProblem
from clapas.solvers.local.canonical import canonical_coefficients, coefficients_of, turn_tangents
from clapas.solvers.local.dispatch import solve_contact
from clapas.solvers.local.polygonal import relaxed_in_polygon, solve_polygon
from clapas.solvers.local.threshold import solve_threshold
from clapas.solvers.nsgs.relax import relaxed
from clapas.typing import Array, Indices, Mask

REPEATS = 6


class Polygonal(NamedTuple):
    """Sections that are polygons.

    Parameters
    ----------
    corners : array (n, k, 2)
        Vertices of the polygons, counterclockwise.
    mixed : array (n,)
        The entry S_12 of their local problems, whose tangents are not rotated.
    """

    corners: Array
    mixed: Array


class Stretched(NamedTuple):
    """Sections that are ellipses.

    Tangential impulses are B s, with s in the disc of the normal impulse, and velocities Bᵀ u. B is the
    stretch of the section after the turn to canonical coordinates.

    Parameters
    ----------
    stretch, back : arrays (n, 2, 2)
        B and its inverse; in the plane their first entries.
    """

    stretch: Array
    back: Array


class Limited(NamedTuple):
    """Friction thresholds independent of the normal impulse.

    Parameters
    ----------
    limit, softness : arrays (n,)
        See :class:`clapas.convex.threshold.Thresholds`.
    """

    limit: Array
    softness: Array


class Coupled(NamedTuple):
    """Response of contacts with couples.

    Parameters
    ----------
    blocks : array (n, k, k)
        Diagonal blocks of W, tangents in canonical coordinates.
    response : array (n, 2)
        Largest eigenvalues of the blocks of spin and rolling; zero where there is no couple.
    """

    blocks: Array
    response: Array


class Updates(NamedTuple):
    """Data of the cones of the contacts that a sweep visits.

    Parameters
    ----------
    coefficients : array (n, 6)
        See :mod:`clapas.solvers.local.canonical`.
    part : named tuple
        The local solver.
    relaxation : float
        Factor on each change of impulse.
    special : array (n,) of bool
        Contacts whose cone is not Coulomb's.
    law : Polygonal, Stretched, Limited, Coupled or None
        The data of these; None if there are none.
    """

    coefficients: Array
    part: Any
    relaxation: float
    special: Mask
    law: Polygonal | Stretched | Limited | Coupled | None

    def take(self, contacts: Indices) -> Updates:
        """The data of some contacts."""
        law = None if self.law is None else type(self.law)(*(column[contacts] for column in self.law))
        return self._replace(
            coefficients=self.coefficients[contacts], special=self.special[contacts], law=law
        )


def updates(problem: ContactProblem, part: Any, relaxation: float) -> tuple[Updates, Array]:
    """Data of the cones of a problem, and the (cosine, sine) (n, 2) of the rotations of their tangents."""
    d, local = sliding_rows(problem), problem.local_blocks
    coefficients, turn = canonical_coefficients(np.ascontiguousarray(local[:, :d, :d]), problem.mu)
    law: Polygonal | Stretched | Limited | Coupled | None = None
    special = np.zeros(problem.n_contacts, dtype=bool)
    if problem.has_couples:
        turned = turned_sliding(local, turn, d)
        turned = turned_sliding(turned.transpose(0, 2, 1), turn, d).transpose(0, 2, 1)
        law = Coupled(np.ascontiguousarray(turned), _responses(local, d))
        special = np.asarray(law.response.any(axis=1))
    elif isinstance(problem.section, Thresholds):
        thresholds = problem.section
        special, law = ~thresholds.is_round, Limited(thresholds.limit, thresholds.softness)
    elif isinstance(problem.section, Ellipses):
        special[:] = True
        coefficients, law = _stretched(problem, problem.section)
        turn[:] = 1.0, 0.0
    elif problem.section is not None:
        assert isinstance(problem.section, Polygons)
        special, law = _polygonal(problem, problem.section, coefficients, turn)
    return Updates(coefficients, part, relaxation, special, law), turn


def sliding_rows(problem: ContactProblem) -> int:
    """Rows of the normal and the tangents of a contact; those of its couple, if any, follow."""
    return DISCS[problem.d][0].stop if problem.has_couples else problem.d


def _polygonal(
    problem: ContactProblem, section: Polygons, coefficients: Array, turn: Array
) -> tuple[Mask, Polygonal]:
    """Select the contacts with polygons and collect their data; corrects their coefficients and rotations."""
    d, n = problem.d, problem.n_contacts
    chosen = np.ones(n, dtype=bool) if section.is_round is None else ~section.is_round
    corners = np.zeros((n, section.vertices.shape[1], 2))
    corners[:, :, : d - 1] = section.vertices
    W = problem.local_blocks[chosen]
    W = 0.5 * (W + W.transpose(0, 2, 1))
    c = W[:, 0, 1:] / W[:, :1, 0]
    S = W[:, 1:, 1:] - W[:, 0, 0, None, None] * c[:, :, None] * c[:, None, :]
    coefficients[chosen, 1:5] = 0.0
    coefficients[chosen, 1:d] = c
    coefficients[chosen, 3 : 2 + d] = np.maximum(np.diagonal(S, axis1=1, axis2=2), 0.0)
    turn[chosen] = 1.0, 0.0
    mixed = np.zeros(n)
    if d == 3:
        mixed[chosen] = S[:, 0, 1]
    return chosen, Polygonal(corners, mixed)


def _stretched(problem: ContactProblem, section: Ellipses) -> tuple[Array, Stretched]:
    """Coefficients of local problems in the stretched tangents of ellipses, and the stretches."""
    n, d = problem.n_contacts, problem.d
    stretch = np.zeros((n, d, d))
    stretch[:, 0, 0], stretch[:, 1:, 1:] = 1.0, section.stretch
    W = np.einsum("nji,njk,nkl->nil", stretch, problem.local_blocks, stretch)
    coefficients, turn = canonical_coefficients(np.ascontiguousarray(W), problem.mu)
    B, back = np.tile(np.eye(2), (n, 1, 1)), np.tile(np.eye(2), (n, 1, 1))
    if d == 3:
        cosine, sine = turn[:, 0], turn[:, 1]
        rotation = np.stack((np.stack((cosine, -sine), axis=1), np.stack((sine, cosine), axis=1)), axis=1)
        B = section.stretch @ rotation
        back = np.asarray(np.linalg.inv(B), dtype=float)
    else:
        B[:, 0, 0], back[:, 0, 0] = section.axes[:, 0], 1.0 / section.axes[:, 0]
    return coefficients, Stretched(B, back)


def turned_sliding(vectors: Array, turn: Array, d: int, back: bool = False) -> Array:
    """Vectors (n, k), or rows (n, k, m), with tangents in canonical coordinates; axes of couples stay."""
    result = vectors.copy()
    result[:, :d] = turn_tangents(vectors[:, :d], turn, back)
    return result


def _responses(local: Array, d: int) -> Array:
    """Largest eigenvalues of the blocks of spin and rolling, (n, 2); in the plane there is no spin."""
    if d == 2:
        return np.column_stack((np.zeros(len(local)), local[:, 2, 2]))
    w_11, w_22, w_12 = local[:, 4, 4], local[:, 5, 5], local[:, 4, 5]
    return np.column_stack((local[:, 3, 3], (w_11 + w_22) / 2.0 + np.hypot((w_11 - w_22) / 2.0, w_12)))


# ---------------------------------------------------------------- inside kernels


@inlined
def round_update(
    part: Any,
    relaxation: float,
    k: Any,
    r_n: float,
    r_1: float,
    r_2: float,
    u_n: float,
    u_1: float,
    u_2: float,
) -> tuple[float, float, float]:
    """New impulse of a contact of Coulomb's cone, from its impulse, its velocity and its coefficients."""
    n, t_1, t_2 = solve_contact(part, r_n, r_1, r_2, u_n, u_1, u_2, k)
    if relaxation != 1.0:
        n, t_1, t_2 = relaxed(relaxation, k[5], r_n, r_1, r_2, n, t_1, t_2)
    return n, t_1, t_2


def special_update(
    law: Any, part: Any, relaxation: float, coefficients: Array, i: int | np.uint32, x: Array, u: Array
) -> None:
    """Replace the impulse x of contact i, whose cone is not Coulomb's; its velocities u may be overwritten.

    This is the plain Python twin of the selection at compile time.
    """
    SPECIAL[type(law)](law, part, relaxation, coefficients, i, x, u)


@subroutine
def _in_polygon(
    law: Polygonal, part: Any, relaxation: float, coefficients: Array, i: int, x: Array, u: Array
) -> None:
    k, in_space = coefficients_of(coefficients, i), len(x) == 3
    r_2, u_2 = (x[2], u[2]) if in_space else (0.0, 0.0)
    n, t_1, t_2 = solve_polygon(law.corners, i, law.mixed[i], x[0], x[1], r_2, u[0], u[1], u_2, k)
    if relaxation != 1.0:
        n, t_1, t_2 = relaxed_in_polygon(relaxation, law.corners, i, k[5], x[0], x[1], r_2, n, t_1, t_2)
    x[0], x[1] = n, t_1
    if in_space:
        x[2] = t_2


@subroutine
def _in_ellipse(
    law: Stretched, part: Any, relaxation: float, coefficients: Array, i: int, x: Array, u: Array
) -> None:
    k, in_space, B, back = coefficients_of(coefficients, i), len(x) == 3, law.stretch, law.back
    r_2, u_2 = (x[2], u[2]) if in_space else (0.0, 0.0)
    s_1, s_2 = back[i, 0, 0] * x[1] + back[i, 0, 1] * r_2, back[i, 1, 0] * x[1] + back[i, 1, 1] * r_2
    v_1, v_2 = B[i, 0, 0] * u[1] + B[i, 1, 0] * u_2, B[i, 0, 1] * u[1] + B[i, 1, 1] * u_2
    n, t_1, t_2 = round_update(part, relaxation, k, x[0], s_1, s_2, u[0], v_1, v_2)
    x[0], x[1] = n, B[i, 0, 0] * t_1 + B[i, 0, 1] * t_2
    if in_space:
        x[2] = B[i, 1, 0] * t_1 + B[i, 1, 1] * t_2


@subroutine
def _under_threshold(
    law: Limited, part: Any, relaxation: float, coefficients: Array, i: int, x: Array, u: Array
) -> None:
    k, in_space = coefficients_of(coefficients, i), len(x) == 3
    r_2, u_2 = (x[2], u[2]) if in_space else (0.0, 0.0)
    limit = law.limit[i]
    n, t_1, t_2 = solve_threshold(limit, law.softness[i], x[0], x[1], r_2, u[0], u[1], u_2, k, in_space)
    if relaxation != 1.0:
        n = max(x[0] + relaxation * (n - x[0]), 0.0)
        t_1, t_2 = x[1] + relaxation * (t_1 - x[1]), r_2 + relaxation * (t_2 - r_2)
        size = np.sqrt(t_1 * t_1 + t_2 * t_2)
        if size > limit:
            t_1, t_2 = t_1 * limit / size, t_2 * limit / size
    x[0], x[1] = n, t_1
    if in_space:
        x[2] = t_2


@subroutine
def _with_couple(
    law: Coupled, part: Any, relaxation: float, coefficients: Array, i: int, x: Array, u: Array
) -> None:
    k, in_space = coefficients_of(coefficients, i), len(x) == 6
    spin, rolls = law.response[i, 0], law.response[i, 1]
    for _ in range(REPEATS):
        r_2, u_2 = (x[2], u[2]) if in_space else (0.0, 0.0)
        n, t_1, t_2 = round_update(part, relaxation, k, x[0], x[1], r_2, u[0], u[1], u_2)
        _push(law.blocks, i, 0, n, x, u)
        _push(law.blocks, i, 1, t_1, x, u)
        if in_space:
            _push(law.blocks, i, 2, t_2, x, u)
        limit = x[0]
        if in_space and spin > 0.0:
            trial = x[3] - u[3] / spin
            _push(law.blocks, i, 3, min(max(trial, -limit), limit), x, u)
        if in_space and rolls > 0.0:
            trial_1, trial_2 = x[4] - u[4] / rolls, x[5] - u[5] / rolls
            size = np.sqrt(trial_1 * trial_1 + trial_2 * trial_2)
            shrink = limit / size if size > limit else 1.0
            _push(law.blocks, i, 4, shrink * trial_1, x, u)
            _push(law.blocks, i, 5, shrink * trial_2, x, u)
        elif rolls > 0.0:
            trial = x[2] - u[2] / rolls
            _push(law.blocks, i, 2, min(max(trial, -limit), limit), x, u)
        if limit == 0.0:
            break


@inlined
def _push(blocks: Array, i: int, row: int, value: float, x: Array, u: Array) -> None:
    """Set one component of the impulse of contact i, and change its velocities accordingly."""
    change = value - x[row]
    x[row] = value
    for m in range(len(u)):
        u[m] += blocks[i, m, row] * change


SPECIAL: dict[type, Callable[..., None]] = {
    Polygonal: _in_polygon,
    Stretched: _in_ellipse,
    Limited: _under_threshold,
    Coupled: _with_couple,
}


@chosen_by_type(special_update)
def _select(
    law: Any, part: Any, relaxation: Any, coefficients: Any, i: Any, x: Any, u: Any
) -> Callable[..., None]:
    return SPECIAL[law.instance_class]
