"""Deformable contact in substructures: the answers of one Newton loop, whatever the cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Support, bar, block
from clapas.bodies.elastic.solid import Solid
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.shapes import HalfPlane, Plane
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.partition import layers
from clapas.statics.elastic import ElasticContact, OneLoopNewton, SubstructuredContact, solid_problem
from clapas.statics.elastic.substructured import element_links
from clapas.status import Status


def pressed(cells: int = 6, mu: float = 0.3, **changes: Any) -> ElasticContact:
    """A block 2 m × 1 m on a floor, pressed from above and pulled at its right side."""
    solid = Solid(mesh=block((2.0, 1.0), (2 * cells, cells)), material=Elastic(young=1e6, poisson=0.3))
    floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)
    load = solid.pressure("top", 1e4) + solid.traction("right", (1e3, -2e3))
    arguments = {"supports": [Support("left", "x")], "load": load, "contacts": [floor]} | changes
    return ElasticContact(solid=solid, **arguments)


def energy_error(stage: ElasticContact, u: Any, exact: Any) -> float:
    K, off = stage.solid.stiffness, u - exact
    return float(np.sqrt(off @ (K @ off) / (exact @ (K @ exact))))


@pytest.mark.parametrize("cut", [(1, 1), (2, 1), (4, 2)])
@pytest.mark.parametrize("mu", [0.0, 0.1, 0.5])
def test_substructures_find_what_newton_finds(cut: tuple[int, int], mu: float) -> None:
    """Without friction, with slip and with stick; one domain is the plain method."""
    stage = pressed(mu=mu)
    expected = OneLoopNewton().solve(stage)
    found = SubstructuredContact(tol=1e-6).solve(stage, cut)
    assert found.status.is_solved
    assert energy_error(stage, found.u, expected.u) < 1e-5
    np.testing.assert_allclose(found.r, expected.r, atol=1e-4 * np.abs(expected.r).max())
    assert (np.abs(found.r[:, 1]) <= mu * found.r[:, 0] + 1e-9).all()


def test_contacts_part_where_a_pull_lifts_them() -> None:
    """Pulled up at its right side: part of the foot leaves the floor."""
    stage = pressed(mu=0.4)
    solid = stage.solid
    lift = solid.force("right", (0.0, 900.0))
    stage = pressed(mu=0.4, load=solid.pressure("top", 1e3) + lift)
    expected = OneLoopNewton().solve(stage)
    assert (expected.r[:, 0] < 1e-9).sum() >= 2
    found = SubstructuredContact(tol=1e-7, max_iterations=2000).solve(stage, (2, 2))
    assert found.status.is_solved
    assert energy_error(stage, found.u, expected.u) < 1e-4


def test_imposed_displacements_and_a_gap() -> None:
    """The top goes down by 2 cm on a floor 1 cm lower: half of it strains the block."""
    floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane(), position=(0.0, -0.01)), mu=0.2)
    stage = pressed(load=None, contacts=[floor], supports=[Support("left", "x"), Support("top", "y", -0.02)])
    expected = OneLoopNewton().solve(stage)
    found = SubstructuredContact(tol=1e-6, max_iterations=1000).solve(stage, (2, 2))
    assert found.status.is_solved
    np.testing.assert_allclose(found.u, expected.u, atol=1e-6)


def test_in_space_by_a_cut_of_the_graph() -> None:
    solid = Solid(mesh=block((1.0, 1.0, 1.0), (4, 4, 4)), material=Elastic(young=1e6, poisson=0.2))
    floor = RigidContact(surface="bottom", obstacle=Obstacle(Plane()), mu=0.3)
    stage = ElasticContact(
        solid=solid,
        supports=[Support("left", "x"), Support("front", "y")],
        load=solid.pressure("top", 1e4),
        contacts=[floor],
    )
    expected = OneLoopNewton().solve(stage)
    problem, _ = solid_problem(stage)
    found = SubstructuredContact(tol=1e-6, max_iterations=1000).solve(stage, layers(problem, 3))
    assert found.whole.n_parts == 3
    assert energy_error(stage, found.u, expected.u) < 1e-4


def test_elements_as_springs_have_the_stiffness_of_the_solid() -> None:
    stage = pressed(3)
    K = np.zeros((stage.solid.n_dof,) * 2)
    for part in element_links(stage.solid):
        blocks = np.einsum("mni,mn,mnj->mij", part.modes, part.stiffness, part.modes)
        for dofs, own in zip(part.dofs, blocks, strict=True):
            K[np.ix_(dofs, dofs)] += own
    np.testing.assert_allclose(K, stage.solid.stiffness.toarray(), atol=1e-8 * np.abs(K).max())


def pulled_bar(pull: float, pressure: float = 100.0, mu: float = 0.5) -> ElasticContact:
    """A bar of 1 m × 2 mm on a floor, pressed along its length (Pa) and pulled at one end (N)."""
    solid = Solid(
        mesh=bar(1.0, 50, height=0.002), material=Elastic(young=1e6, poisson=0.0), kinematics="plane stress"
    )
    floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)
    load = solid.pressure("top", pressure) + solid.traction("right", (pull / 0.002, 0.0))
    return ElasticContact(solid=solid, load=load, contacts=[floor])


@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-6])
def test_friction_balances_the_pull_on_a_slender_bar(tol: float) -> None:
    """The indicator is below 1e-4 while friction holds only 17 of 20 N: the residual decides."""
    stage = pulled_bar(20.0)
    expected = OneLoopNewton().solve(stage)
    found = SubstructuredContact(tol=tol, max_iterations=5000).solve(stage, (2, 1))
    assert found.status.is_solved
    assert found.residual <= tol
    assert found.r[:, 1].sum() == pytest.approx(20.0, rel=tol)
    assert np.abs(found.u - expected.u).max() < 3.0 * tol * np.abs(expected.u).max()
    assert len(found.history.indicator) < 500


def test_a_small_indicator_is_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the stiff direction kept, the iterations creep: no SOLVED, and the note says what to do."""
    monkeypatch.setattr("clapas.statics.elastic.substructured.SCALED_AT", ())
    found = SubstructuredContact(tol=1e-3, max_iterations=800).solve(pulled_bar(20.0), (2, 1))
    assert found.history.indicator[-1] < 1e-3
    assert found.status is Status.MAX_ITERATIONS
    assert found.residual > 0.1
    assert found.residual >= abs(found.r[:, 1].sum() - 20.0) / 20.0 * (1.0 - 1e-9)
    assert "residual" in found.note
    assert "OneLoopNewton" in found.note
    softer = SubstructuredContact(tol=1e-3, max_iterations=800, contact_direction=1e-3)
    assert "OneLoopNewton" not in softer.solve(pulled_bar(20.0), (2, 1)).note


def test_a_pull_beyond_friction_is_never_solved() -> None:
    found = SubstructuredContact(tol=1e-2, max_iterations=500).solve(pulled_bar(60.0), (2, 1))
    assert not found.status.is_solved
    assert found.residual > 0.1


@settings(max_examples=25, deadline=None)
@given(
    pull=st.floats(-0.9, 0.9),
    pressure=st.floats(20.0, 500.0),
    mu=st.floats(0.1, 0.8),
    cut=st.integers(1, 4),
    tol=st.sampled_from([1e-2, 1e-3, 1e-4]),
)
def test_solved_means_balance_and_law_under_any_load(
    pull: float, pressure: float, mu: float, cut: int, tol: float
) -> None:
    """Pulls below the friction of the whole bar: resultants and cones, recomputed from the data."""
    force = pull * mu * pressure
    stage = pulled_bar(force, pressure, mu)
    found = SubstructuredContact(tol=tol, max_iterations=2000).solve(stage, (cut, 1))
    assert (found.residual <= tol) is found.status.is_solved
    assert found.status.is_solved
    assert stage.load is not None
    applied = stage.load.reshape(-1, 2).sum(axis=0)
    x = max(abs(force), np.abs(found.r[:, 1]).sum(), 0.01 * pressure)
    assert abs(abs(found.r[:, 1].sum()) - abs(applied[0])) <= 1.1 * tol * x
    assert abs(found.r[:, 0].sum() + applied[1]) <= 1.1 * tol * pressure
    assert (np.abs(found.r[:, 1]) <= mu * found.r[:, 0] * (1.0 + 1e-9) + 1e-12).all()
    expected = OneLoopNewton().solve(stage)
    assert np.abs(found.u - expected.u).max() <= 30.0 * tol * np.abs(expected.u).max()


def test_no_load_is_no_motion() -> None:
    found = SubstructuredContact().solve(pressed(load=None), (2, 1))
    assert found.status.is_solved
    assert not found.u.any()


def test_bad_input_is_named() -> None:
    with pytest.raises(SceneError, match="contact_direction must be positive"):
        SubstructuredContact(contact_direction=0.0)
    with pytest.raises(SettingsError, match="tol"):
        SubstructuredContact(tol=0.0)
    with pytest.raises(ProblemError, match="labels must have one entry per link"):
        SubstructuredContact().solve(pressed(), np.zeros(5, dtype=int))
    few = SubstructuredContact(max_iterations=2).solve(pressed(), (2, 1))
    assert not few.status.is_solved


def test_threads_do_not_change_a_bit() -> None:
    found = [
        SubstructuredContact(method=MicroMacroLATIN(threads=n), tol=1e-4).solve(pressed(), (2, 2)).u
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*found)
