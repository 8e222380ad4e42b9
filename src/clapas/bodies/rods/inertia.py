"""Mass matrix and inertial forces of rods: one pass along each rod and one back.

The kinetic energy of a rod is that of its centreline and of its sections,

    T = ½ ∫ (ρS |ṙ|² + ω·𝕀 ω) ds,    𝕀 = ρ R diag(I₁ + I₂, I₁, I₂) Rᵀ,

so M = ∫ (ρS JᵀJ + ΘᵀD Θ) ds with the Jacobians J of the point and Θ of the rotation of a section. The rotary
term, (radius/length)² of the other, keeps M definite: the twist of a straight rod moves no point. The
strains of an element move all sections beyond it as one rigid body. So a pass along the rod sums over Gauss
points the momenta of each element's own motion, and a pass back lets each element carry what lies beyond:
O(elements²) for M, O(elements) for forces, as the composite-rigid-body method does for linkages (Featherstone
2008, 6.2).

The inertial force is N(q, v) = ∫ Jᵀ(ρS r̈) + Θᵀ(𝕀 ω̇ + ω × 𝕀 ω) ds with accelerations at constant v, those of
the support included; gravity is an acceleration of the whole, and enters with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clapas.bodies.rods.helix import (
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
from clapas.compiled import kernel
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
        Where its dense matrices start in a flat array.
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
    """Where rods are and how they move.

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
    """What :func:`inertia` finds.

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
        Where the tips are (m).
    """

    mass: Array
    force: Array
    momentum: Array
    kinetic: Array
    weight: Array
    tip: Array


@kernel
def inertia(
    rods: RodTable,
    at: RodMotion,
    gravity: Array,
    tip_force: Array,
    tip_couple: Array,
    with_mass: bool,
    out: Inertia,
) -> None:
    """Mass matrices, inertial and applied forces, momenta of all rods."""
    most = 0
    for k in range(len(rods.free)):
        most = max(most, rods.first[k + 1] - rods.first[k])
    whole = np.empty((most, 3, 6))  # twists of what is beyond an element, per unit of its strain rates
    moment = np.empty((most, 3, 6))  # momenta (linear, angular) of the element's own motion
    own = np.empty((most, 3, 3))
    solid = np.empty((most, 10))  # mass, first moments, second moments of the element
    push, flow = np.empty((most, 6)), np.empty((most, 6))  # forces and momenta of the element ...
    pushed, flowed = np.empty((most, 3)), np.empty((most, 3))  # ... and along its own strains
    unit = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    g = gravity[0], gravity[1], gravity[2]
    zero = 0.0, 0.0, 0.0
    still = zero, zero
    for k in range(len(rods.free)):
        first, n = rods.first[k], rods.first[k + 1] - rods.first[k]
        p, R = zero, frame_of(at.frame, k)
        t, a = at.twist[k], at.change[k]
        V = (t[0], t[1], t[2]), (t[3], t[4], t[5])
        A = (a[0], a[1], a[2]), (a[3], a[4], a[5])
        kinetic = 0.0
        solid[:n], push[:n], flow[:n], pushed[:n], flowed[:n] = 0.0, 0.0, 0.0, 0.0, 0.0
        moment[:n], own[:n] = 0.0, 0.0
        for e in range(n):
            u, w = vec(at.strain, first + e), vec(at.rate, first + e)
            length, rho = rods.length[first + e], rods.density[first + e]
            for node in range(len(rods.nodes) + 1):
                at_end = node == len(rods.nodes)
                s = length if at_end else length * rods.nodes[node]
                f = times(s, u)
                S = stumpff(dot(f, f))
                q, Q = arc_point_frame(f, s, S)
                x, F = add(p, turned(R, q)), turned_frame(R, Q)
                c0 = carried(p, R, arc_twist(f, s, S, unit[0]))
                c1 = carried(p, R, arc_twist(f, s, S, unit[1]))
                c2 = carried(p, R, arc_twist(f, s, S, unit[2]))
                columns = (c0, c1, c2)
                moved = combined(combined(combined(still, w[0], c0), w[1], c1), w[2], c2)
                Vx = combined(V, 1.0, moved)
                rate = carried(p, R, arc_twist_rate(f, s, S, w))
                Ax = combined(combined(A, 1.0, rate), 1.0, bracket(V, moved))
                if at_end:
                    for j in range(3):
                        for i in range(3):
                            whole[e, j, i], whole[e, j, 3 + i] = columns[j][0][i], columns[j][1][i]
                    p, R, V, A = x, F, Vx, Ax
                    break
                weight = length * rods.weights[node]
                mass = weight * rho[0]
                i0, i1, i2 = weight * rho[1], weight * rho[2], weight * rho[3]
                v = add(Vx[0], cross(Vx[1], x))
                acc = add(add(Ax[0], cross(Ax[1], x)), cross(Vx[1], v))
                # 𝕀 ω and 𝕀 ω̇ by the axes of the section
                o0, o1, o2 = dot(F[0], Vx[1]), dot(F[1], Vx[1]), dot(F[2], Vx[1])
                Iw = plus(plus(times(i0 * o0, F[0]), i1 * o1, F[1]), i2 * o2, F[2])
                b0, b1, b2 = dot(F[0], Ax[1]), dot(F[1], Ax[1]), dot(F[2], Ax[1])
                Ia = plus(plus(times(i0 * b0, F[0]), i1 * b1, F[1]), i2 * b2, F[2])
                lin = times(mass, less(acc, g))
                ang = add(add(cross(x, lin), Ia), cross(Vx[1], Iw))
                mv = times(mass, v)
                mo = add(cross(x, mv), Iw)
                kinetic += 0.5 * dot(mv, v) + 0.5 * dot(Vx[1], Iw)
                for i in range(3):
                    push[e, i] += lin[i]
                    push[e, 3 + i] += ang[i]
                    flow[e, i] += mv[i]
                    flow[e, 3 + i] += mo[i]
                for j in range(3):
                    pushed[e, j] += dot(columns[j][0], lin) + dot(columns[j][1], ang)
                    flowed[e, j] += dot(columns[j][0], mv) + dot(columns[j][1], mo)
                solid[e, 0] += mass
                for i in range(3):
                    solid[e, 1 + i] += mass * x[i]
                if not with_mass:
                    continue
                square = dot(x, x)
                for i in range(3):
                    solid[e, 4 + i] += mass * (square - x[i] * x[i])
                    solid[e, 4 + i] += i0 * F[0][i] ** 2 + i1 * F[1][i] ** 2 + i2 * F[2][i] ** 2
                    # second moments yz, zx, xy
                    h, l = (i + 1) % 3, (i + 2) % 3
                    solid[e, 7 + i] -= mass * x[h] * x[l]
                    solid[e, 7 + i] += (
                        i0 * F[0][h] * F[0][l] + i1 * F[1][h] * F[1][l] + i2 * F[2][h] * F[2][l]
                    )
                for j in range(3):
                    J = add(columns[j][0], cross(columns[j][1], x))
                    d0, d1, d2 = dot(F[0], columns[j][1]), dot(F[1], columns[j][1]), dot(F[2], columns[j][1])
                    It = plus(plus(times(i0 * d0, F[0]), i1 * d1, F[1]), i2 * d2, F[2])
                    mJ = times(mass, J)
                    turn = add(cross(x, mJ), It)
                    for i in range(3):
                        moment[e, j, i] += mJ[i]
                        moment[e, j, 3 + i] += turn[i]
                        own[e, i, j] += dot(columns[i][0], mJ) + dot(columns[i][1], turn)
        force = tip_force[k, 0], tip_force[k, 1], tip_force[k, 2]
        couple = add(cross(p, force), (tip_couple[k, 0], tip_couple[k, 1], tip_couple[k, 2]))
        for i in range(3):
            out.tip[k, i] = at.position[k, i] + p[i]
        out.kinetic[k] = kinetic
        _back(rods, k, whole, moment, own, solid, push, flow, pushed, flowed, force, couple, with_mass, out)


@kernel
def _back(
    rods: RodTable,
    k: int,
    whole: Array,
    moment: Array,
    own: Array,
    solid: Array,
    push: Array,
    flow: Array,
    pushed: Array,
    flowed: Array,
    force: tuple[float, float, float],
    couple: tuple[float, float, float],
    with_mass: bool,
    out: Inertia,
) -> None:
    """From the tip to the root: each element carries what lies beyond it."""
    n, m, start = rods.first[k + 1] - rods.first[k], rods.dof[k + 1] - rods.dof[k], rods.dof[k]
    root = 6 * rods.free[k]
    M, m0 = out.mass, rods.entry[k]
    beyond, load, momentum = np.zeros(10), np.zeros(6), np.zeros(6)
    for i in range(3):
        load[i], load[3 + i] = -force[i], -couple[i]
    share, total = np.empty(6), np.empty(6)
    for e in range(n - 1, -1, -1):
        at = root + 3 * e
        for j in range(3):
            twist = whole[e, j]
            b, p = pushed[e, j], flowed[e, j]
            for i in range(6):
                b += twist[i] * load[i]
                p += twist[i] * momentum[i]
            out.force[start + at + j], out.momentum[start + at + j] = b, p
            if with_mass:
                _momentum_of(beyond, twist, share)
                for i in range(3):
                    value = own[e, i, j]
                    for l in range(6):
                        value += whole[e, i, l] * share[l]
                    M[m0 + (at + i) * m + at + j] = value
                for l in range(6):
                    total[l] = moment[e, j, l] + share[l]
                for c in range(e):
                    for i in range(3):
                        value = 0.0
                        for l in range(6):
                            value += whole[c, i, l] * total[l]
                        M[m0 + (root + 3 * c + i) * m + at + j] = value
                        M[m0 + (at + j) * m + root + 3 * c + i] = value
                for l in range(root):
                    M[m0 + l * m + at + j] = M[m0 + (at + j) * m + l] = total[l]
        for l in range(10):
            beyond[l] += solid[e, l]
        for l in range(6):
            load[l] += push[e, l]
            momentum[l] += flow[e, l]
    for l in range(4):
        out.weight[k, l] = beyond[l]
    for j in range(root):
        out.force[start + j], out.momentum[start + j] = load[j], momentum[j]
        if with_mass:
            twist = np.zeros(6)
            twist[j] = 1.0
            _momentum_of(beyond, twist, share)
            for l in range(6):
                M[m0 + l * m + j] = share[l]


@kernel
def _momentum_of(solid: Array, twist: Array, out: Array) -> None:
    """Momentum (linear, angular about the origin) of a rigid body with a twist."""
    mass, c = solid[0], (solid[1], solid[2], solid[3])
    v, w = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    lin, ang = plus(cross(w, c), mass, v), cross(c, v)
    for i in range(3):
        h, l = (i + 1) % 3, (i + 2) % 3
        out[i] = lin[i]
        out[3 + i] = ang[i] + solid[4 + i] * w[i] + solid[7 + l] * w[h] + solid[7 + h] * w[l]
