"""Compiled steps of rigid bodies with joints: tenths of a millisecond for a robot, linear in chain length.

The step is that of :mod:`clapas.dynamics.stepping`, with the joints of :mod:`clapas.dynamics.joints`. Its
stages are

    begin       to the middle, free motion, as for few bodies
    find        contacts, by the detector all steps use
    contacts    those within reach, their rows, impulses carried to them                     (:mod:`meeting`)
    hold        joints at the middle: rows, their factor, motion without contact             (:mod:`holding`)
    link        limits, friction and motors                                                  (:mod:`linking`)
    pose        all of them with joints eliminated, island by island                          (:mod:`posing`)
    settle      the residual, and sweeps and Newton steps where the guess is not enough      (:mod:`settling`)
    respond     velocities under the impulses; correction of the rows of joints            (:mod:`responding`)
    end         positions, joints closed, work                                               (:mod:`ending`)

From ``hold`` on it is one call (:mod:`advancing`), the same machine code in the plane and in space. The
problem, the solution and the reactions, which a loop does not need, are built on request (:mod:`outcome`).

An *island* is a set of bodies connected by contacts and joints: a robot with the objects it holds. Islands
are independent small problems, so a hundred robots cost a hundred times one. In an island with the rows of
joints in units of unit mass and unit size A, S = A Aᵀ + E = L D Lᵀ, and contacts G,

    W = G Gᵀ − Yᵀ D⁻¹ Y + C,    L Y = A Gᵀ.

Compared with the general step, W is computed once for all iterations that correct the rows of joints: it
depends only on the middle of the step. Iterations end by the change of velocities. The results of the two
steps agree to the error of these iterations, far below the tolerance.

Redundant rows, whose pivots vanish, are left out of the factor, as the others imply them; the reactions are
the smallest ones all the same. Near a pose in which they become redundant singular values are needed.

The general step remains for all other cases: bodies of other kinds, guides, sleep, laws with couples or
cohesion, rows that are nearly redundant, islands with very many contacts, and problems that iterations of
sweeps and Newton steps do not solve: those go to the solver that the user chose.
"""
