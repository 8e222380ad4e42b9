"""Compiled steps of few rigid bodies: a box at rest costs some microseconds of arithmetic, not of Python.

The step is that of :mod:`clapas.dynamics.stepping`, by the same kernels and in the same order, so that the
bits are the same; the code between the kernels is compiled too. Its stages are

    begin       to the middle, free motion
    find        contacts, by the detector all steps use
    pose        blocks of the contacts, laws, carried impulses
    settle      the residual, and a dozen sweeps where the guess is not enough
    respond     velocities under the impulses, the gyroscopic term
    end         positions, impulses in the world, work

The kernels are in :mod:`kernels`; from ``pose`` on it is one call, ``advance``. A problem that a dozen sweeps
do not solve, or that has more contacts than are swept one after another, goes to the solver that the user
chose. The problem and the solution, which a loop does not need, are built on request
(:class:`stepping.Outcome`). :func:`tables.is_supported` says which scenes are supported; with many bodies
only steps at rest are, which need no solver.
"""
