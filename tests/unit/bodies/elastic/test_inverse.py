"""Inverses of effective masses that elastic bodies keep: the same answers, and no second factorisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import clapas
from clapas.bodies.elastic import Elastic, ElasticBodies, Solid, Support, block
from clapas.bodies.elastic import inverse as inverse_module
from clapas.bodies.elastic.inverse import KeptInverse
from clapas.bodies.kind import Part, Span
from clapas.geometry.shapes import HalfPlane
from clapas.linalg.factor import DenseFactor
from clapas.problems.clusters import Cluster, clusters
from clapas.problems.ragged_bodies import condensed_root

RUBBER = Elastic(young=1e5, poisson=0.3, density=1000.0)


def body(supports: tuple[Support, ...] = ()) -> ElasticBodies:
    mesh = block((0.4, 0.2), (8, 4), origin=(0.0, 0.001))
    return ElasticBodies(solid=Solid(mesh=mesh, material=RUBBER), supports=supports)


def turned_by(angle: float, bodies: ElasticBodies) -> Part:
    x = bodies.solid.mesh.nodes
    c, s = np.cos(angle), np.sin(angle)
    u = x @ np.array([[c, s], [-s, c]]) - x
    return Part(u.ravel(), np.zeros(bodies.n_dof))


@pytest.mark.parametrize("supports", [(), (Support("left", "xy"),)])
def test_inverse_and_blocks_are_those_of_the_matrix(supports: tuple[Support, ...]) -> None:
    bodies = body(supports)
    part = bodies.start() if supports else turned_by(0.7, bodies)
    mass, _ = bodies.free(part, Span(0.0, 2e-3, 0.5, np.array([0.0, -9.81])))
    expected = np.linalg.inv(mass.matrix.toarray())
    scale = np.abs(expected).max()
    columns = np.eye(bodies.n_dof)[:, :7]
    np.testing.assert_allclose(mass.solve(columns), expected[:, :7], rtol=0, atol=1e-11 * scale)
    for dofs in (np.array([5]), np.array([9, 2, 31, 30]), np.arange(20)):
        np.testing.assert_allclose(
            mass.inverse.block(dofs), expected[np.ix_(dofs, dofs)], rtol=0, atol=1e-11 * scale
        )


def test_columns_beyond_the_memory_limit_are_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    A = np.diag(np.arange(1.0, 9.0)) + 0.1
    kept = KeptInverse(DenseFactor(A), 8)
    monkeypatch.setattr(inverse_module, "LARGEST", 32)  # four columns
    for dofs in (np.array([0, 1, 2]), np.array([5, 1]), np.array([0, 1, 2])):
        np.testing.assert_allclose(kept.block(dofs), np.linalg.inv(A)[np.ix_(dofs, dofs)], rtol=0, atol=1e-14)


def test_a_known_inverse_condenses_a_cluster_as_its_matrix_does() -> None:
    bodies = body()
    mass, _ = bodies.free(turned_by(0.3, bodies), Span(0.0, 2e-3, 0.5, np.zeros(2)))
    touched = np.array([0, 1, 4, 5, 40])
    plain, known = (clusters(mass.matrix, inverses=given) for given in (None, {0: mass.inverse}))
    assert known.others[0].known is mass.inverse
    roots = [condensed_root(parts.others[0], touched) for parts in (plain, known)]
    first, second = (root @ root.T for root in roots)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-11 * np.abs(first).max())


def test_an_inverse_of_fewer_velocities_is_not_taken_for_that_of_a_cluster() -> None:
    bodies = body()
    mass, _ = bodies.free(bodies.start(), Span(0.0, 2e-3, 0.5, np.zeros(2)))
    beside = np.pad(mass.matrix.toarray(), (0, 1))
    beside[-1, -1], beside[-1, 0], beside[0, -1] = 1.0, 1e-3, 1e-3
    (cluster,) = clusters(sparse.csr_array(beside), inverses={0: mass.inverse}).others
    assert cluster.known is None


def test_steps_of_a_free_body_in_contact_factorise_nothing_of_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = clapas.Scene(d=2)
    scene.law(mu=0.4)
    scene.add(HalfPlane(), name="floor")
    scene.add_system(body(), name="block")
    simulation = clapas.Simulation(scene, dt=2e-3)
    simulation.step()

    def refuse(cluster: Cluster) -> None:
        raise AssertionError(f"a cluster of {len(cluster.dofs)} velocities was factorised")

    monkeypatch.setattr(Cluster, "_lower", property(refuse))
    monkeypatch.setattr(Cluster, "_factor", property(refuse))
    touched = 0
    for _ in range(25):
        simulation.step()
        touched += len(simulation.contacts())
    assert touched > 50
