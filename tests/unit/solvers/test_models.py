"""Simplified models of friction show the defects they are known for, and are exact where they should be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clapas.cli import main
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Plane
from clapas.problems import ContactProblem, gallery
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import ConicFixedPoint, registry, solve
from clapas.solvers.models import Associated, FrozenSlip, Lagged, Pyramid, Staggered, defects
from clapas.status import Status

ALL = (Associated(), Pyramid(), Lagged(), Staggered(), FrozenSlip())


def particle(angle: float = 0.0, mu: float = 0.5, speed: float = 3.0) -> ContactProblem:
    """One contact that slides in a direction; Coulomb: r = (1, mu against the slip)."""
    slip = [-1.0, speed * np.cos(angle), speed * np.sin(angle)]
    return ContactProblem(W=np.eye(3), q=[slip], mu=[mu])


def test_the_associated_law_lifts_what_slides() -> None:
    """The projection of −q on K: r_N = (1 + 3 mu)/(1 + mu²) = 2, r_T = −1; u_N = 1 = mu |u_T|."""
    found = solve(particle(), Associated())
    np.testing.assert_allclose(found.r, [[2.0, -1.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(defects(found).lifting, [1.0], atol=1e-8)
    assert found.status is Status.OTHER_LAW
    assert found.residual == particle().residual(found.r) > 0.1


def test_the_associated_law_is_exact_at_rest() -> None:
    found = solve(gallery.box_stack(3).problem, Associated(tol=1e-7))
    assert found.status is Status.SOLVED


@pytest.mark.parametrize("facets", [4, 8, 16])
def test_a_pyramid_turns_friction_towards_its_edges(facets: int) -> None:
    """On an edge it is Coulomb's law; between two the same floor resists in another direction."""
    edge, between = (solve(particle(a), Pyramid(facets=facets)) for a in (0.0, 0.8 * np.pi / facets))
    assert defects(edge).deviation[0] == pytest.approx(0.0, abs=1e-7)
    assert edge.status is Status.SOLVED
    deviation = defects(between).deviation[0]
    assert 0.5 * np.pi / facets < deviation <= 1.05 * np.pi / facets + 0.1
    assert abs(defects(between).lifting[0]) < 1e-9  # it does not lift


def test_thresholds_of_other_impulses() -> None:
    assert solve(particle(), Lagged()).residual < 1e-8  # r_N does not depend on friction here: exact
    heavy = solve(particle(), Lagged(), guess=[[2.0, 0.0, 0.0]])
    assert defects(heavy).excess[0] == pytest.approx(0.5)  # |r_T| = 1 for mu r_N = ½
    leaving = ContactProblem(W=np.eye(3), q=[[1.0, 3.0, 0.0]], mu=[0.5])
    opened = solve(leaving, Lagged(), guess=[[2.0, 0.0, 0.0]])
    np.testing.assert_allclose(opened.r, [[0.0, -1.0, 0.0]], atol=1e-8)  # rubs without touching


def test_friction_after_the_normal_impulses_closes_contacts() -> None:
    """W couples the two: r_N = 1, then r_T = −½ moves the normal by ½·(−½)."""
    W = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = solve(ContactProblem(W=W, q=[[-1.0, 3.0, 0.0]], mu=[0.5]), Staggered())
    np.testing.assert_allclose(found.r, [[1.0, -0.5, 0.0]], atol=1e-7)
    np.testing.assert_allclose(defects(found).penetration, [0.25], atol=1e-7)
    assert solve(particle(), Staggered()).status is Status.SOLVED  # uncoupled: exact


def test_a_frozen_slip_throws_slow_contacts_back() -> None:
    fast, slow = solve(particle(), FrozenSlip()), solve(particle(speed=0.1), FrozenSlip())
    assert fast.status is Status.SOLVED
    np.testing.assert_allclose(slow.u, [[0.0, -0.4, 0.0]], atol=1e-12)
    assert defects(slow).deviation[0] == pytest.approx(np.pi)  # friction along the slip it has made
    assert np.linalg.norm(slow.u) > 0.1  # faster than before
    stuck = solve(ContactProblem(W=np.eye(3), q=[[-1.0, 0.0, 0.0]], mu=[0.5]), FrozenSlip())
    np.testing.assert_allclose(stuck.r, [[1.0, 0.0, 0.0]], atol=1e-12)


def test_what_sticks_has_no_limit_under_a_frozen_slip() -> None:
    """Two contacts share a body: the one that does not slide by itself is held against the other's push."""
    W = np.kron([[1.0, 0.9], [0.9, 1.0]], np.eye(2))
    problem = ContactProblem(W=W, q=[[-1.0, 0.0], [-1.0, 5.0]], mu=[0.01, 0.5])
    found = solve(problem, FrozenSlip())
    assert defects(found).excess[0] > 0.1
    assert abs(found.u[0, 1]) < 1e-12


def test_all_differ_from_coulomb_on_a_random_problem_and_say_so() -> None:
    problem = gallery.get("alea-42-5").problem
    true = solve(problem).r
    for model in ALL:
        found = solve(problem, model)
        assert found.status is Status.OTHER_LAW, model
        assert np.abs(found.r - true).max() > 1e-3
        assert found.residual == pytest.approx(problem.residual(found.r))


def test_a_block_that_slides_in_a_scene() -> None:
    """At 2 m/s over a floor, mu = 0.5: Coulomb's block stays on it, that of the associated law takes off."""
    rises = {}
    for name in ("auto", "associated"):
        scene = Scene()
        scene.law(mu=0.5)
        scene.add(Plane(), name="floor")
        scene.add(Box((1, 1, 0.2)), position=(0, 0, 0.1), density=1000, velocity=(2, 0, 0))
        made = registry.make(name, tol=1e-8)
        rises[name] = simulate(scene, 0.02, 1e-3, solver=made).state.position[1, 2] - 0.1
    assert abs(rises["auto"]) < 1e-6
    assert rises["associated"] > 1e-3


def test_from_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "gallery:alea-42-5", "--solver", "pyramid", "--set", "facets=6", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "OTHER_LAW"
    assert document["solved"] is False
    assert main(["solvers"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{entry.name}\n" in listed for entry in registry.models())


def test_what_is_refused() -> None:
    with pytest.raises(SettingsError, match="facets must be an even number, at least 4, got 5"):
        Pyramid(facets=5)
    with pytest.raises(SettingsError, match="another law than Coulomb's, not a method for it"):
        Associated().start(particle(), np.zeros((1, 3)))
    assert not any(entry.name in registry.names() for entry in registry.models())
    assert isinstance(registry.make("conic-fixed-point"), ConicFixedPoint)
