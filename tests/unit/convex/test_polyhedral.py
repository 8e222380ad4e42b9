from __future__ import annotations

import numpy as np
import pytest

from clapas.convex import PolyhedralCone, coulomb
from clapas.errors import ProblemError
from clapas.typing import Array

from .differences import around, central_differences

BUILDERS = [PolyhedralCone.inscribed, PolyhedralCone.circumscribed]
MU = [0.0, 1e-8, 0.3, 1.0, 1e8, 1e300]


def points(n: int, d: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def descriptions(cone: PolyhedralCone, mu: float = 1.0) -> list[PolyhedralCone]:
    """The same cone by edges and faces, and by either alone where that is accurate."""
    by_edges, by_faces = PolyhedralCone(generators=cone.generators), PolyhedralCone(facets=cone.facets)
    return [cone] + [by_edges] * (mu <= 1e4) + [by_faces] * (mu >= 1e-4)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("mu", MU)
def test_in_the_plane_it_is_the_friction_cone(builder: type, mu: float) -> None:
    x = points(60, 2, seed=1)
    expected = coulomb.project(x, np.full(60, mu))
    for cone in descriptions(builder(mu, d=2), mu):
        np.testing.assert_allclose(cone.project(x), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0, 1e8])
@pytest.mark.parametrize("facets", [3, 4, 7, 12])
def test_one_is_inside_the_friction_cone_and_the_other_around(facets: int, mu: float) -> None:
    x = points(80, 3, seed=2)
    friction = np.full(80, mu)
    inside = PolyhedralCone.inscribed(mu, facets).project(x)
    np.testing.assert_allclose(coulomb.project(inside, friction), inside, rtol=0, atol=1e-14)
    on_cone = coulomb.project(x, friction)
    assert PolyhedralCone.circumscribed(mu, facets).contains(on_cone, tol=1e-14).all()


def test_many_facets_approach_the_friction_cone() -> None:
    x, friction = points(40, 3, seed=3), np.full(40, 0.6)
    expected = np.linalg.norm(x - coulomb.project(x, friction), axis=1)
    for builder in BUILDERS:
        worst = [np.abs(builder(0.6, k).distance(x) - expected).max() for k in (8, 32, 128)]
        # The gap between polygon and circle shrinks as 1/k²: 16 times per step.
        assert worst[1] < worst[0] / 8
        assert worst[2] < worst[1] / 8


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("mu", MU)
@pytest.mark.parametrize("facets", [3, 8, 40])
def test_descriptions_agree(builder: type, mu: float, facets: int) -> None:
    x = points(60, 3, seed=4)
    cones = descriptions(builder(mu, facets), mu)
    assert len(cones) > 1
    expected = cones[0].project(x)
    for cone in cones[1:]:
        np.testing.assert_allclose(cone.project(x), expected, rtol=0, atol=1e-13)
        assert cone.contains(expected, tol=1e-13).all()


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_size_of_the_vectors_does_not_matter(size: float) -> None:
    x = points(50, 3, seed=5)
    for cone in descriptions(PolyhedralCone.inscribed(0.5, 6)):
        np.testing.assert_allclose(cone.project(size * x) / size, cone.project(x), rtol=0, atol=1e-13)
        np.testing.assert_allclose(cone.jacobian(size * x), cone.jacobian(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.5, 1e6])
@pytest.mark.parametrize("facets", [3, 8])
def test_jacobian_is_the_derivative_away_from_kinks(facets: int, mu: float) -> None:
    x = points(80, 3, seed=6)
    for cone in descriptions(PolyhedralCone.circumscribed(mu, facets), mu):
        h = 1e-5
        # The projection is linear around smooth points: the second difference tells who is at a kink.
        bends = [cone.project(x + h * e) - 2.0 * cone.project(x) + cone.project(x - h * e) for e in np.eye(3)]
        smooth = np.abs(bends).max(axis=(0, 2)) < 1e-12
        assert smooth.sum() > 60
        expected = central_differences(cone.project, x[smooth], h)
        np.testing.assert_allclose(cone.jacobian(x[smooth]), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "vector",
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.5, 0.0],  # an edge
        [1.0, 0.25, 0.25],  # a face
        [-0.5, 1.0, 0.0],  # the polar's boundary
        [2.0, 2.0, 0.0],  # falls on an edge, straight from outside
        [-1.0, 0.0, 0.0],
    ],
)
def test_jacobian_at_kinks_is_a_limit_of_derivatives_nearby(vector: list[float]) -> None:
    x = np.array(vector)
    for cone in descriptions(PolyhedralCone.inscribed(0.5, 4)):
        nearby = around(x, 1e-3, count=150, seed=7)
        derivatives = central_differences(cone.project, nearby, 1e-8)
        closest = np.abs(derivatives - cone.jacobian(x[None])).max(axis=(1, 2)).min()
        assert closest < 1e-6


def test_jacobian_where_the_multipliers_are_not_unique() -> None:
    # −e_N lies inside the polar pyramid, on the plane of two of its opposite edges.
    cone = PolyhedralCone(facets=PolyhedralCone.inscribed(1.0, 4).facets)
    np.testing.assert_allclose(cone.jacobian(np.array([[-1.0, 0.0, 0.0]])), 0.0, atol=1e-14)


@pytest.mark.parametrize("mu", [1e-8, 1e8])
def test_jacobian_tells_nearly_parallel_edges_apart(mu: float) -> None:
    # Both points fall on an edge; read from the shorter of p and x − p the face would be uncertain.
    x = np.array([[0.0, 1.0], [-1.0 + 1e-6, 1e-6], [1.0, 0.5], [1e-12, 1.0]])
    cone = PolyhedralCone.inscribed(mu, d=2)
    np.testing.assert_allclose(cone.jacobian(x), coulomb.jacobian(x, np.full(4, mu)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("mu", [0.0, 1e300])
def test_jacobian_of_the_ray_and_of_the_half_space(mu: float) -> None:
    x = np.array([[1.0, 0.5], [-1.0, 0.5], [1.0, 0.0]])
    cone = PolyhedralCone.inscribed(mu, d=2)
    np.testing.assert_allclose(cone.jacobian(x), coulomb.jacobian(x, np.full(3, mu)), rtol=0, atol=1e-12)


def test_either_description_alone_knows_its_own_points() -> None:
    cone = PolyhedralCone.inscribed(0.7, 5)
    weights = np.random.default_rng(10).uniform(size=(40, 5))
    of_cone, of_polar = weights @ np.asarray(cone.generators), weights @ np.asarray(cone.facets)[:5]
    assert PolyhedralCone(generators=cone.generators).contains(of_cone).all()
    np.testing.assert_array_equal(PolyhedralCone(facets=cone.facets).project(of_polar), 0.0)


def test_one_cone_per_contact() -> None:
    mu = np.array([0.0, 0.4, 2.0])
    x = points(3, 3, seed=8)
    together = PolyhedralCone.inscribed(mu, 5)
    for i in range(3):
        alone = PolyhedralCone.inscribed(mu[i], 5)
        np.testing.assert_allclose(together.project(x)[i : i + 1], alone.project(x[i : i + 1]), atol=1e-15)
        np.testing.assert_allclose(together.jacobian(x)[i : i + 1], alone.jacobian(x[i : i + 1]), atol=1e-14)


def test_a_cone_without_inside() -> None:
    ray = PolyhedralCone(generators=[[1.0, 1.0, 0.0]])
    x = np.array([[2.0, 0.0, 5.0], [-1.0, 0.0, 0.0]])
    np.testing.assert_allclose(ray.project(x), [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-15)
    unit = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    np.testing.assert_allclose(ray.jacobian(x)[0], np.outer(unit, unit), atol=1e-15)


def test_dual_and_polar_change_the_two_descriptions() -> None:
    cone = PolyhedralCone.inscribed(0.5, 6)
    assert cone.generators is not None
    np.testing.assert_array_equal(cone.polar().facets, cone.generators)
    np.testing.assert_array_equal(cone.dual().generators, -np.asarray(cone.facets))
    x = points(30, 3, seed=9)
    np.testing.assert_allclose(cone.project(x) + cone.polar().project(x), x, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shared", [True, False])
def test_no_contacts(shared: bool) -> None:
    cone = PolyhedralCone.inscribed(0.5 if shared else np.empty(0), 5)
    for one in descriptions(cone):
        assert one.project(np.empty((0, 3))).shape == (0, 3)
        assert one.jacobian(np.empty((0, 3))).shape == (0, 3, 3)
        assert one.contains(np.empty((0, 3))).shape == (0,)


def test_edges_alone_do_not_describe_a_very_wide_cone() -> None:
    wide = PolyhedralCone(generators=PolyhedralCone.inscribed(1e12, 6).generators)
    with pytest.raises(ProblemError, match=r"contact 0: .* a very wide cone needs its facets"):
        wide.project(np.array([[1.0, 0.1, 0.3]]))
    with pytest.raises(ProblemError, match="points must be finite"):
        PolyhedralCone.inscribed(0.5).project(np.array([[np.nan, 0.0, 0.0]]))


def test_slips_are_refused() -> None:
    with pytest.raises(ProblemError, match="needs its generators or its facets, got neither"):
        PolyhedralCone()
    with pytest.raises(ProblemError, match=r"generators must be finite.*got \(2,\)"):
        PolyhedralCone(generators=[1.0, 2.0])
    with pytest.raises(ProblemError, match="generators have 2 components, facets 3"):
        PolyhedralCone(generators=[[1.0, 0.0]], facets=[[1.0, 0.0, 0.0]])
    with pytest.raises(ProblemError, match=r"sticks out of a facet by 1.0e\+00"):
        PolyhedralCone(generators=[[1.0, 0.0]], facets=[[1.0, 0.0]])
    with pytest.raises(ProblemError, match="at least 3 facets; got d = 3, facets = 2"):
        PolyhedralCone.circumscribed(0.5, 2)
    with pytest.raises(ProblemError, match="finite and ≥ 0, got -1"):
        PolyhedralCone.inscribed(-1.0)
    with pytest.raises(ProblemError, match=r"2 contacts: points must have shape \(2, 3\), got \(1, 3\)"):
        PolyhedralCone.inscribed([0.5, 0.5]).project(np.ones((1, 3)))
    with pytest.raises(ProblemError, match=r"must have shape \(1, 3\), got \(1, 2\)"):
        PolyhedralCone.inscribed(0.5).project(np.ones((1, 2)))
