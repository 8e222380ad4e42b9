"""Substructures on threads and on processes: the same numbers, to the last bit where BLAS has one thread."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from clapas.bodies.trusses.generators import grid
from clapas.errors import SettingsError
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.substructure import Substructure
from clapas.multiscale.team import of_processes, of_threads, one_by_one
from clapas.statics.trusses import SmallDisplacements, link_problem, module_blocks

TRUSS = grid(4, load=640.0)
PROBLEM, LABELS = link_problem(TRUSS, "down"), module_blocks(TRUSS, 4, 2)


def assert_same(one: np.ndarray, two: np.ndarray) -> None:
    """Equal up to rounding: a BLAS with threads of its own rounds by where arrays lie in memory."""
    one, two = np.asarray(one), np.asarray(two)
    assert one.shape == two.shape
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9 * float(np.abs(one).max(initial=0.0)))


def test_processes_change_nothing() -> None:
    """Two processes that hold two substructures each: iterations, errors, indicators, both stages."""
    exact = SmallDisplacements().solve(TRUSS, "down").displacements.ravel()
    found = []
    for settings in ({}, {"threads": 2}, {"processes": 2}):
        whole = MicroMacroLATIN(**settings).prepare(PROBLEM, LABELS)  # type: ignore[arg-type]
        history = whole.run(12, reference=exact, goal=1e-9)
        again = whole.run(3)  # goes on where the first run ended
        found.append((history.error, history.indicator, again.indicator, again.U, whole.t, whole.t_hat))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert_same(one, two)


def test_a_substructure_is_made_again_from_what_is_sent() -> None:
    """Small ones keep an inverse, larger ones a factor that no file can hold: both are made again."""
    for labels in (LABELS, np.zeros_like(LABELS)):
        part = MicroMacroLATIN().prepare(PROBLEM, labels).parts[0]
        twin: Substructure = pickle.loads(pickle.dumps(part))
        for one, two in zip(part.predict(), twin.predict(), strict=True):
            assert_same(one, two)


def test_errors_of_a_process_come_back() -> None:
    parts = MicroMacroLATIN().prepare(PROBLEM, LABELS).parts
    with pytest.raises(AttributeError, match="no_such_method"), of_processes(parts, 2) as team:
        team("no_such_method")


def test_teams_share_the_work_whatever_their_number() -> None:
    parts = MicroMacroLATIN().prepare(PROBLEM, LABELS).parts
    ones = [np.ones(len(part.l)) for part in parts]
    expected = one_by_one(parts)("set_reference", ones)
    np.testing.assert_allclose(np.concatenate(expected), [float(part.l.sum()) for part in parts])
    for count in (1, 3, 8):
        with of_threads(parts, count) as team:
            assert np.array_equal(team("set_reference", ones), expected)


def test_settings_that_processes_cannot_have_are_named() -> None:
    for settings in ({"threads": 2}, {"adapt": True}):
        with pytest.raises(SettingsError, match="threads=1 and adapt=False"):
            MicroMacroLATIN(processes=2, **settings)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="processes must be at least 1"):
        MicroMacroLATIN(processes=0)
    whole = MicroMacroLATIN(processes=2).prepare(PROBLEM, LABELS)
    with pytest.raises(SettingsError, match="watch: values are in other processes"):
        whole.run(1, watch=lambda _: True)


def test_substructures_that_are_alike_share_their_matrices() -> None:
    """Of 4 × 4 equal substructures nine differ, by where the rim is; each keeps the values of its own."""
    truss = grid(8, load=160.0)
    whole = MicroMacroLATIN().prepare(link_problem(truss, "down"), module_blocks(truss, 8, 4))
    own = [part.inverse.copy() for part in whole.parts if part.inverse is not None]
    whole.iterate(2)
    inverses = [part.inverse for part in whole.parts if part.inverse is not None]
    assert len(inverses) == 16
    for before, after in zip(own, inverses, strict=True):
        np.testing.assert_array_equal(before, after)
    assert len({inverse.__array_interface__["data"][0] for inverse in inverses}) == 9
