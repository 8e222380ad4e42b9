"""Steps of few rigid bodies, compiled: a box at rest costs some microseconds of arithmetic, not of Python.

The step is that of :mod:`clapas.dynamics.stepping`, by the same kernels and in the same order, so that the
bits are the same; what lies between the kernels is compiled too. It goes

    begin       to the middle, free motion                                  (:mod:`beginning`)
    find        contacts, by the detector all steps use
    pose        blocks of the contacts, laws, carried impulses              (:mod:`posing`)
    settle      the judge, and a dozen sweeps where the guess is not enough (:mod:`settling`)
    respond     velocities under the impulses, the gyroscopic term          (:mod:`ending`)
    end         positions, impulses in the world, work                      (:mod:`ending`)

From ``pose`` on it is one call (:mod:`advancing`). A problem that a dozen sweeps do not solve, or that has
more contacts than are swept one after another, goes to the solver that the user chose. What people ask of a
step but a loop does not need, its problem and its solution, is made when asked for (:mod:`outcome`).
:func:`bodies.serves` says which scenes are served.
"""
