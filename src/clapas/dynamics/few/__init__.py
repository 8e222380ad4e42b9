"""Steps of few rigid bodies, compiled: a box at rest costs some microseconds of arithmetic, not of Python.

The step is that of :mod:`clapas.dynamics.stepping`, by the same kernels and in the same order, so that the
bits are the same; what lies between the kernels is compiled too. It goes

    begin       to the middle, free motion
    find        contacts, by the detector all steps use
    pose        blocks of the contacts, laws, carried impulses
    settle      the judge, and a dozen sweeps where the guess is not enough
    respond     velocities under the impulses, the gyroscopic term
    end         positions, impulses in the world, work

The kernels are in :mod:`kernels`; from ``pose`` on it is one call, ``advance``. A problem that a dozen sweeps
do not solve, or that has more contacts than are swept one after another, goes to the solver that the user
chose. What people ask of a step but a loop does not need, its problem and its solution, is made when asked
for (:class:`stepping.Outcome`). :func:`tables.serves` says which scenes are served; of many bodies only
steps at rest are, which ask no solver.
"""
