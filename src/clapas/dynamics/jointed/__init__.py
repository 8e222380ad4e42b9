"""Steps of rigid bodies with joints, compiled: a robot costs tenths of a millisecond, a chain so much a link.

The step is that of :mod:`clapas.dynamics.stepping`, and what it says of joints that of
:mod:`clapas.dynamics.joints`. It goes

    begin       to the middle, free motion, as for few bodies
    find        contacts, by the detector all steps use
    meet        which of them count, their rows, impulses carried to them                    (:mod:`meeting`)
    hold        joints at the middle: rows, their factor, motion without contact             (:mod:`holding`)
    link        limits, friction and motors                                                  (:mod:`linking`)
    pose        all of them with joints eliminated, island by island                          (:mod:`posing`)
    settle      the judge, and sweeps and Newton steps where the guess is not enough         (:mod:`settling`)
    respond     velocities under the impulses; what joints impose is put right             (:mod:`responding`)
    end         positions, joints closed, work                                               (:mod:`ending`)

From ``hold`` on it is one call (:mod:`advancing`), the same machine code in the plane and in space. What
people ask of a step but a loop does not need, its problem, its solution and the reactions, is made when asked
for (:mod:`outcome`).

An *island* is what contacts and joints connect: a robot with what it holds. Islands are small problems of
their own, so a hundred robots cost a hundred times one. In an island with the rows of joints in units of unit
mass and unit size A, S = A Aᵀ + E = L D Lᵀ, and contacts G,

    W = G Gᵀ − Yᵀ D⁻¹ Y + C,    L Y = A Gᵀ.

Compared with the general step, W is made once for all rounds in which what joints impose is put right: it
depends on the middle of the step alone. Rounds end by the change of velocities. The answers of the two steps
agree to what these rounds leave, far below the tolerance.

Redundant rows, of which a pivot vanishes, are left out of the factor, as the others imply them; the
reactions are the smallest ones all the same. Near a pose in which they become redundant singular values are
needed.

The general step remains for what is not here: bodies of other kinds, guides, sleep, laws with couples or
cohesion, rows that are nearly redundant, islands with very many contacts, and problems that rounds of
sweeps and Newton steps do not solve: those go to the solver that the user chose.
"""
