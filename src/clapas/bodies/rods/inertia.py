"""Mass matrix and inertial forces of rods: a forward and a backward pass along each rod.

The kinetic energy of a rod is that of its centreline and of its sections,

    T = ½ ∫ (ρS |ṙ|² + ω·𝕀 ω) ds,    𝕀 = ρ R diag(I₁ + I₂, I₁, I₂) Rᵀ,

so M = ∫ (ρS JᵀJ + ΘᵀD Θ) ds with the Jacobians J of the point and Θ of the rotation of a section. The rotary
term, (radius/length)² of the other, keeps M definite: the twist of a straight rod moves no point. The
strains of an element move all sections beyond it as one rigid body. So a pass along the rod sums over Gauss
points the momenta of each element's own motion, and a backward pass adds to each element the part beyond it:
O(elements²) for M, O(elements) for forces, as the composite-rigid-body method does for linkages (Featherstone
2008, 6.2).

The inertial force is N(q, v) = ∫ Jᵀ(ρS r̈) + Θᵀ(𝕀 ω̇ + ω × 𝕀 ω) ds with accelerations at constant v, those of
the support included; gravity is an acceleration of the whole, and enters with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.rods.helix import (
    Frame,
    Twist,
    Vec,
    add,
    arc_point_frame,
    arc_twist,
    arc_twist_rate,
    bracket,
    carried,
    combined,
    cross,
    dot,
    frame_of,
    less,
    plus,
    stumpff,
    times,
    turned,
    turned_frame,
    vec,
)
from clapas.compiled import inlined, subroutine, uncounted_kernel
from clapas.typing import Array, Indices


class RodTable(NamedTuple):
    """Constant data of the rods, for kernels.

    Parameters
    ----------
    first : array (rods + 1,)
        The elements of rod k are ``first[k]`` to ``first[k + 1]``.
    dof : array (rods + 1,)
        Its velocities, six of the root first if that is free.
    entry : array (rods + 1,)
        Start of its dense matrices in a flat array.
    free : array (rods,)
        1 if the root is free.
    length : array (elements,)
        m.
    density : array (elements, 4)
        Per length: mass ρS (kg/m), and moments of inertia ρ(I₁ + I₂), ρI₁, ρI₂ of the section (kg·m).
    nodes, weights : arrays (g,)
        Of the quadrature on [0, 1].
    """

    first: Indices
    dof: Indices
    entry: Indices
    free: Indices
    length: Array
    density: Array
    nodes: Array
    weights: Array


class RodMotion(NamedTuple):
    """Positions and motion of rods.

    Parameters
    ----------
    strain, rate : arrays (elements, 3)
        Strains (τ, κ₁, κ₂) of the elements (1/m), and their rates.
    position, frame : arrays (rods, 3) and (rods, 3, 3)
        Of the roots; columns of the frame are n₀, n₁, n₂.
    twist, change : arrays (rods, 6)
        Velocity and angular velocity of the roots in the world, and their rates where they are imposed:
        rates of the velocity of the material point that is at the root's place, fixed in space.
    """

    strain: Array
    rate: Array
    position: Array
    frame: Array
    twist: Array
    change: Array


class Inertia(NamedTuple):
    """Results of :func:`inertia`.

    Parameters
    ----------
    mass : array (entries,)
        Dense mass matrices, one after another.
    force : array (n_dof,)
        N(q, v) less the forces of gravity and tips.
    momentum : array (n_dof,)
        ∂T/∂v: M v and what imposed motions add.
    kinetic : array (rods,)
        Kinetic energies (J).
    weight : array (rods, 4)
        Masses (kg), and first moments about the roots (kg·m).
    tip : array (rods, 3)
        Positions of the tips (m).
    """

    mass: Array
    force: Array
    momentum: Array
    kinetic: Array
    weight: Array
    tip: Array


class Work(NamedTuple):
    """Sums of the forward pass along a rod, and quantities of the backward pass.

    Parameters
    ----------
    whole : array (most, 3, 6)
        Twists of the part beyond an element, per unit of its strain rates.
    moment : array (most, 3, 6)
        Momenta (linear, angular) of the element's own motion, per unit of its strain rates.
    own : array (most, 3, 3)
        Its own mass matrix.
    solid : array (most, 10)
        Its mass, first moments, second moments.
    push, flow : arrays (most, 6)
        Its forces and momenta.
    pushed, flowed : arrays (most, 3)
        The same along its own strains.
    beyond : array (10,)
        Mass and moments of the part beyond.
    load, momentum : arrays (6,)
        Its forces and momenta.
    twist, share, total : arrays (6,)
        For the momenta of single twists.
    """

    whole: Array
    moment: Array
    own: Array
    solid: Array
    push: Array
    flow: Array
    pushed: Array
    flowed: Array
    beyond: Array
    load: Array
    momentum: Array
    twist: Array
    share: Array
    total: Array


def work_on(rods: RodTable) -> Work:
    """Work arrays for the passes along the longest rod."""
    most = int(np.diff(rods.first).max(initial=0))
    shapes = (most, 3, 6), (most, 3, 6), (most, 3, 3), (most, 10), (most, 6), (most, 6), (most, 3), (most, 3)
    return Work(*(np.empty(shape) for shape in (*shapes, 10, 6, 6, 6, 6, 6)))


class Section(NamedTuple):
    """A section of a rod: place and frame, twists per strain rate of its element, twist and its rate."""

    x: Vec
    frame: Frame
    columns: tuple[Twist, Twist, Twist]
    twist: Twist
    change: Twist


@inlined
def section_at(p: Vec, R: Frame, V: Twist, A: Twist, u: Vec, w: Vec, s: float) -> Section:
    """The section at arc length s of an element with strains u and rates w that starts at p."""
    f = times(s, u)
    S = stumpff(dot(f, f))
    q, Q = arc_point_frame(f, s, S)
    c0 = carried(p, R, arc_twist(f, s, S, (1.0, 0.0, 0.0)))
    c1 = carried(p, R, arc_twist(f, s, S, (0.0, 1.0, 0.0)))
    c2 = carried(p, R, arc_twist(f, s, S, (0.0, 0.0, 1.0)))
    moved = times(w[0], c0[0]), times(w[0], c0[1])
    moved = combined(combined(moved, w[1], c1), w[2], c2)
    rate = carried(p, R, arc_twist_rate(f, s, S, w))
    change = combined(combined(A, 1.0, rate), 1.0, bracket(V, moved))
    place = add(p, turned(R, q))
    return Section(place, turned_frame(R, Q), (c0, c1, c2), combined(V, 1.0, moved), change)


@inlined
def spun(spin: Vec, F: Frame, w: Vec) -> Vec:
    """𝕀 w by the axes of a section, along which its moments of inertia are ``spin``."""
    a, b, c = spin[0] * dot(F[0], w), spin[1] * dot(F[1], w), spin[2] * dot(F[2], w)
    return plus(plus(times(a, F[0]), b, F[1]), c, F[2])


@inlined
def add_forces(e: int, at: Section, mass: float, spin: Vec, g: Vec, work: Work) -> float:
    """Add the inertia of a section to the forces and momenta of its element; its kinetic energy."""
    x, V, A = at.x, at.twist, at.change
    v = add(V[0], cross(V[1], x))
    acc = add(add(A[0], cross(A[1], x)), cross(V[1], v))
    Iw, Ia = spun(spin, at.frame, V[1]), spun(spin, at.frame, A[1])
    lin = times(mass, less(acc, g))
    ang = add(add(cross(x, lin), Ia), cross(V[1], Iw))
    mv = times(mass, v)
    mo = add(cross(x, mv), Iw)
    for i in range(3):
        work.push[e, i] += lin[i]
        work.push[e, 3 + i] += ang[i]
        work.flow[e, i] += mv[i]
        work.flow[e, 3 + i] += mo[i]
    for j in range(3):
        work.pushed[e, j] += dot(at.columns[j][0], lin) + dot(at.columns[j][1], ang)
        work.flowed[e, j] += dot(at.columns[j][0], mv) + dot(at.columns[j][1], mo)
    work.solid[e, 0] += mass
    for i in range(3):
        work.solid[e, 1 + i] += mass * x[i]
    return 0.5 * dot(mv, v) + 0.5 * dot(V[1], Iw)


@inlined
def add_masses(e: int, at: Section, mass: float, spin: Vec, work: Work) -> None:
    """Add a section to the second moments of its element, and to the momenta of its own motion."""
    x, F, columns = at.x, at.frame, at.columns
    i0, i1, i2 = spin
    square = dot(x, x)
    for i in range(3):
        work.solid[e, 4 + i] += mass * (square - x[i] * x[i])
        work.solid[e, 4 + i] += i0 * F[0][i] ** 2 + i1 * F[1][i] ** 2 + i2 * F[2][i] ** 2
        # second moments yz, zx, xy
        h, l = (i + 1) % 3, (i + 2) % 3
        work.solid[e, 7 + i] -= mass * x[h] * x[l]
        work.solid[e, 7 + i] += i0 * F[0][h] * F[0][l] + i1 * F[1][h] * F[1][l] + i2 * F[2][h] * F[2][l]
    for j in range(3):
        mJ = times(mass, add(columns[j][0], cross(columns[j][1], x)))
        turn = add(cross(x, mJ), spun(spin, F, columns[j][1]))
        for i in range(3):
            work.moment[e, j, i] += mJ[i]
            work.moment[e, j, 3 + i] += turn[i]
            work.own[e, i, j] += dot(columns[i][0], mJ) + dot(columns[i][1], turn)


@uncounted_kernel
def inertia(
    rods: RodTable,
    at: RodMotion,
    gravity: Array,
    tip_force: Array,
    tip_couple: Array,
    with_mass: bool,
    work: Work,
    out: Inertia,
) -> None:
    """Mass matrices, inertial and applied forces, momenta of all rods."""
    g = gravity[0], gravity[1], gravity[2]
    for k in range(len(rods.free)):
        first, n = rods.first[k], rods.first[k + 1] - rods.first[k]
        clear(work, n)
        p, R = (0.0, 0.0, 0.0), frame_of(at.frame, k)
        V, A = twist_of(at.twist, k), twist_of(at.change, k)
        kinetic = 0.0
        for e in range(first, first + n):
            u, w, length = vec(at.strain, e), vec(at.rate, e), rods.length[e]
            for node in range(len(rods.nodes)):
                section = section_at(p, R, V, A, u, w, length * rods.nodes[node])
                weight = length * rods.weights[node]
                mass = weight * rods.density[e, 0]
                spin = weight * rods.density[e, 1], weight * rods.density[e, 2], weight * rods.density[e, 3]
                kinetic += add_forces(e - first, section, mass, spin, g, work)
                if with_mass:
                    add_masses(e - first, section, mass, spin, work)
            end = section_at(p, R, V, A, u, w, length)
            for j in range(3):
                for i in range(3):
                    work.whole[e - first, j, i] = end.columns[j][0][i]
                    work.whole[e - first, j, 3 + i] = end.columns[j][1][i]
            p, R, V, A = end.x, end.frame, end.twist, end.change
        force = vec(tip_force, k)
        couple = add(cross(p, force), vec(tip_couple, k))
        for i in range(3):
            out.tip[k, i] = at.position[k, i] + p[i]
            work.load[i], work.load[3 + i] = -force[i], -couple[i]
        out.kinetic[k] = kinetic
        back(rods, k, with_mass, work, out)


@inlined
def twist_of(rows: Array, k: int) -> Twist:
    """A row of an array (n, 6) as a twist."""
    return (rows[k, 0], rows[k, 1], rows[k, 2]), (rows[k, 3], rows[k, 4], rows[k, 5])


@inlined
def clear(work: Work, n: int) -> None:
    """Zero the sums of n elements, and of the part beyond them."""
    for e in range(n):
        for j in range(3):
            work.pushed[e, j], work.flowed[e, j] = 0.0, 0.0
            for i in range(6):
                work.moment[e, j, i] = 0.0
            for i in range(3):
                work.own[e, j, i] = 0.0
        for i in range(6):
            work.push[e, i], work.flow[e, i] = 0.0, 0.0
        for i in range(10):
            work.solid[e, i] = 0.0
    for i in range(10):
        work.beyond[i] = 0.0
    for i in range(6):
        work.load[i], work.momentum[i] = 0.0, 0.0


@subroutine
def back(rods: RodTable, k: int, with_mass: bool, work: Work, out: Inertia) -> None:
    """Backward pass from the tip to the root: each element carries the part beyond it."""
    n, start, root = rods.first[k + 1] - rods.first[k], rods.dof[k], 6 * rods.free[k]
    load, momentum, beyond = work.load, work.momentum, work.beyond
    for e in range(n - 1, -1, -1):
        for j in range(3):
            b, p = work.pushed[e, j], work.flowed[e, j]
            for i in range(6):
                b += work.whole[e, j, i] * load[i]
                p += work.whole[e, j, i] * momentum[i]
            out.force[start + root + 3 * e + j], out.momentum[start + root + 3 * e + j] = b, p
            if with_mass:
                column_of_strain(rods, k, e, j, work, out.mass)
        for l in range(10):
            beyond[l] += work.solid[e, l]
        for l in range(6):
            load[l] += work.push[e, l]
            momentum[l] += work.flow[e, l]
    for l in range(4):
        out.weight[k, l] = beyond[l]
    for j in range(root):
        out.force[start + j], out.momentum[start + j] = load[j], momentum[j]
        if with_mass:
            column_of_root(rods, k, j, work, out.mass)


@inlined
def column_of_strain(rods: RodTable, k: int, e: int, j: int, work: Work, M: Array) -> None:
    """The column of M of strain j of element e: its own motion, and all beyond it as one rigid body."""
    m, m0, root = rods.dof[k + 1] - rods.dof[k], rods.entry[k], 6 * rods.free[k]
    column = root + 3 * e + j
    for l in range(6):
        work.twist[l] = work.whole[e, j, l]
    momentum_of(work.beyond, work.twist, work.share)
    for i in range(3):
        value = work.own[e, i, j]
        for l in range(6):
            value += work.whole[e, i, l] * work.share[l]
        M[m0 + (root + 3 * e + i) * m + column] = value
    for l in range(6):
        work.total[l] = work.moment[e, j, l] + work.share[l]
    for c in range(e):
        for i in range(3):
            value = 0.0
            for l in range(6):
                value += work.whole[c, i, l] * work.total[l]
            row = root + 3 * c + i
            M[m0 + row * m + column] = M[m0 + column * m + row] = value
    for l in range(root):
        M[m0 + l * m + column] = M[m0 + column * m + l] = work.total[l]


@inlined
def column_of_root(rods: RodTable, k: int, j: int, work: Work, M: Array) -> None:
    """The column of M of velocity j of a free root: the whole rod as one rigid body."""
    m, m0 = rods.dof[k + 1] - rods.dof[k], rods.entry[k]
    for l in range(6):
        work.twist[l] = 1.0 if l == j else 0.0
    momentum_of(work.beyond, work.twist, work.share)
    for l in range(6):
        M[m0 + l * m + j] = work.share[l]


@inlined
def momentum_of(solid: Array, twist: Array, out: Array) -> None:
    """Momentum (linear, angular about the origin) of a rigid body with a twist."""
    mass, c = solid[0], (solid[1], solid[2], solid[3])
    v, w = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    lin, ang = plus(cross(w, c), mass, v), cross(c, v)
    for i in range(3):
        h, l = (i + 1) % 3, (i + 2) % 3
        out[i] = lin[i]
        out[3 + i] = ang[i] + solid[4 + i] * w[i] + solid[7 + l] * w[h] + solid[7 + h] * w[l]
