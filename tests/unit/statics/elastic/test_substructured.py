"""Deformable contact in substructures: the answers of one Newton loop, whatever the cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Support, block
from clapas.bodies.elastic.solid import Solid
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.shapes import HalfPlane, Plane
from clapas.multiscale import MicroMacroLATIN
from clapas.multiscale.partition import layers
from clapas.statics.elastic import ElasticContact, OneLoopNewton, SubstructuredContact, solid_problem
from clapas.statics.elastic.substructured import element_links


def pressed(cells: int = 6, mu: float = 0.3, **settings: Any) -> ElasticContact:
    """A block 2 m × 1 m on a floor, pressed from above and pulled at its right side."""
    solid = Solid(mesh=block((2.0, 1.0), (2 * cells, cells)), material=Elastic(young=1e6, poisson=0.3))
    floor = RigidContact(surface="bottom", obstacle=Obstacle(HalfPlane()), mu=mu)
    load = solid.pressure("top", 1e4) + solid.traction("right", (1e3, -2e3))
    given = {"supports": [Support("left", "x")], "load": load, "contacts": [floor]} | settings
    return ElasticContact(solid=solid, **given)


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
