"""Trusses that move, step by step on substructures."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.trusses.generators import grid
from clapas.dynamics.substructured import SubstructuredMotion
from clapas.errors import SettingsError
from clapas.multiscale import MicroMacroLATIN
from clapas.statics.trusses import SmallDisplacements, module_blocks
from clapas.studies.latin_outlook import _release


def test_rest_is_kept() -> None:
    truss = grid(4)
    motion = SubstructuredMotion(truss, module_blocks(truss, 4, 2), h=1e-3)
    for _ in range(3):
        step = motion.step(np.zeros(truss.nodes.shape))
    assert step.kinetic < 1e-12
    assert np.abs(motion.U).max() < 1e-9


def test_a_long_implicit_motion_ends_in_statics() -> None:
    truss = grid(4, load=300.0)
    exact = SmallDisplacements().solve(truss, "down")
    motion = SubstructuredMotion(truss, module_blocks(truss, 4, 2), h=1.0, tol=1e-8, max_iterations=2000)
    for _ in range(6):  # steps far longer than the periods: each nearly static
        step = motion.step(truss.cases["down"])
    assert motion.U == pytest.approx(exact.displacements.ravel(), abs=1e-4 * exact.largest_displacement)
    assert step.residual < 1e-4


def test_energy_is_the_work_less_what_the_scheme_dissipates() -> None:
    truss = grid(4, load=300.0)
    motion = SubstructuredMotion(truss, module_blocks(truss, 4, 2), h=1e-4, tol=1e-6)
    work = 0.0
    for _ in range(20):
        step = motion.step(truss.cases["down"])
        work += step.work
    assert 0.9 * work < step.kinetic + step.strain <= work * (1.0 + 1e-3)


@pytest.mark.parametrize("h", [1e-3, 1e-2, 1e-1])
def test_steps_end_by_the_balance_of_the_whole_truss(h: float) -> None:
    """Where the indicator ended them, up to eight times ``tol`` was left."""
    truss = grid(8, load=1000.0)
    motion = SubstructuredMotion(truss, module_blocks(truss, 8, 2), h=h)
    for i in range(4):
        step = motion.step(truss.cases["down"] * (i + 1) / 4)
        assert step.status.is_solved
        assert step.residual <= motion.tol
    motion.max_iterations = 2
    step = motion.step(-truss.cases["down"])
    assert step.iterations == 2
    assert not step.status.is_solved


@pytest.mark.parametrize(("h", "count"), [(1e-3, 37), (1e-2, 13)])
def test_iterations_of_the_step_after_a_release(h: float, count: int) -> None:
    history = _release(grid(8, load=160.0), h, 3.92e6, macro=True)
    assert history.iterations_to(0.01) == count


def test_the_step_must_be_positive() -> None:
    with pytest.raises(SettingsError, match="h must be positive"):
        SubstructuredMotion(grid(2), np.zeros(64, dtype=int), h=0.0, method=MicroMacroLATIN())
