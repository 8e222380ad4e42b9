"""Packings and masonry: geometry, kinematics and balance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import cKDTree

from clapas.errors import ProblemError
from clapas.problems import gallery
from clapas.problems.gallery import equilibrium
from clapas.problems.gallery.rigid import contact_frames, contact_jacobian

G = 9.81


def rigid_motion(centres: np.ndarray, v: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Velocities (translation, rotation) of bodies carried by one rigid motion."""
    if centres.shape[1] == 2:
        carried = v + omega * np.column_stack((-centres[:, 1], centres[:, 0]))
    else:
        carried = v + np.cross(omega, centres)
    turning = np.broadcast_to(omega, (len(centres), omega.size))
    return np.hstack((carried, turning)).ravel()


# ------------------------------------------------------------------------------- frames


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=1, max_size=20))
@settings(deadline=None, derandomize=True)
def test_frames_are_orthonormal_and_right_handed(vectors):
    normals = np.array(vectors)
    length = np.linalg.norm(normals, axis=1)
    normals = normals[length > 1e-3] / length[length > 1e-3, None]
    frames = contact_frames(normals)
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (len(frames), 1, 1)), atol=1e-14
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0)
    assert np.array_equal(frames[:, 0], normals)


def test_frames_in_the_plane_and_of_nothing():
    frame = contact_frames(np.array([[0.6, 0.8]]))[0]
    assert frame.tolist() == [[0.6, 0.8], [-0.8, 0.6]]
    assert contact_frames(np.zeros((0, 3))).shape == (0, 3, 3)


def test_jacobian_is_velocity_of_b_minus_velocity_of_a():
    random = np.random.default_rng(0)
    normal = np.array([[2.0, -1.0, 2.0]]) / 3.0
    frames = contact_frames(normal)
    arms = random.standard_normal((1, 3)), random.standard_normal((1, 3))
    H = contact_jacobian(frames, (np.array([0]), np.array([1])), arms, 2)
    v = random.standard_normal(12)
    at_a = v[:3] + np.cross(v[3:6], arms[0][0])
    at_b = v[6:9] + np.cross(v[9:], arms[1][0])
    np.testing.assert_allclose(H @ v, frames[0] @ (at_b - at_a))


# ------------------------------------------------------------------------------- packings

PACKINGS = [
    gallery.sphere_packing(n, seed=seed, d=d, order=order)
    for n, seed, d, order in [
        (1, 0, 3, "layers"),
        (37, 1, 3, "layers"),
        (2000, 2, 3, "morton"),
        (2000, 3, 3, "random"),
        (1, 0, 2, "layers"),
        (37, 1, 2, "random"),
        (1500, 2, 2, "morton"),
    ]
]


@pytest.fixture(params=PACKINGS, ids=lambda packing: repr(packing.problem))
def packing(request) -> gallery.SpherePacking:
    return request.param


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("coordination", [2.0, 4.0, 5.0])
def test_packing_has_exactly_the_contacts_asked(d: int, coordination: float):
    for n in (*range(60), 500):
        problem = gallery.sphere_packing(n, seed=n, d=d, coordination=coordination).problem
        assert (problem.n_contacts, problem.d) == (n, d)


def test_packing_lists_all_pairs_that_touch(packing):
    between = packing.body_a >= 0
    reach = 2.0 * packing.radii.max()
    pairs = cKDTree(packing.centres).query_pairs(reach, output_type="ndarray")
    distance = np.linalg.norm(packing.centres[pairs[:, 0]] - packing.centres[pairs[:, 1]], axis=1)
    touching = pairs[distance <= packing.radii[pairs].sum(axis=1) * (1 + 1e-12)]
    listed = np.column_stack((packing.body_a, packing.body_b))[between]
    assert {tuple(p) for p in np.sort(touching, axis=1).tolist()} == {tuple(p) for p in listed.tolist()}
    # Overlaps stay small: a tenth of a radius or so.
    overlap = packing.radii[listed].sum(axis=1) - np.linalg.norm(
        packing.centres[listed[:, 0]] - packing.centres[listed[:, 1]], axis=1
    )
    assert overlap.max(initial=0.0) < 0.16 * 0.01


def test_packing_jacobian_structure(packing):
    problem, d = packing.problem, packing.problem.d
    dof = 3 * (d - 1)
    H = problem.H
    assert H.data.dtype == np.float64
    assert H.indices.dtype == H.indptr.dtype == np.int32
    assert H.has_sorted_indices
    sides = np.where(packing.body_a >= 0, 2, 1)
    per_row = np.diff(H.indptr).reshape(-1, d)
    assert np.array_equal(per_row[:, 0], d * sides)
    assert np.all(per_row[:, 1:] == (dof * sides)[:, None])
    assert np.all(packing.body_a < packing.body_b)
    assert len(packing.radii) == np.unique(np.concatenate((packing.body_a, packing.body_b, [-1]))).size - 1
    dense = H[:d].toarray()
    body = packing.body_b[0]
    columns = dense[:, dof * body : dof * body + d]
    np.testing.assert_allclose(columns @ columns.T, np.eye(d), atol=1e-14)
    np.testing.assert_allclose(columns[0], packing.normals[0], atol=0)


def test_packing_common_motion_is_not_felt_between_spheres(packing):
    d = packing.problem.d
    random = np.random.default_rng(1)
    omega = random.standard_normal(1 if d == 2 else 3)
    v = random.standard_normal(d)
    between = packing.body_a >= 0
    u = (packing.problem.H @ rigid_motion(packing.centres, v, omega)).reshape(-1, d)
    np.testing.assert_allclose(u[between], 0.0, atol=1e-14)
    # Against a wall the velocity is that of the contact point, in the frame of the normal.
    at_point = rigid_motion(packing.points, v, omega).reshape(len(packing.points), -1)[:, :d]
    np.testing.assert_allclose(
        u[~between, 0], np.sum(packing.normals * at_point, axis=1)[~between], atol=1e-14
    )
    np.testing.assert_allclose(
        np.linalg.norm(u[~between], axis=1), np.linalg.norm(at_point[~between], axis=1), atol=1e-14
    )


def test_packing_points_lie_between_the_centres(packing):
    between = packing.body_a >= 0
    a, b = packing.body_a[between], packing.body_b[between]
    to_a = np.linalg.norm(packing.points[between] - packing.centres[a], axis=1)
    to_b = np.linalg.norm(packing.points[between] - packing.centres[b], axis=1)
    np.testing.assert_allclose(packing.radii[a] - to_a, packing.radii[b] - to_b, atol=1e-14)
    np.testing.assert_allclose(to_a + to_b, np.linalg.norm(packing.centres[b] - packing.centres[a], axis=1))
    np.testing.assert_allclose(np.linalg.norm(packing.normals, axis=1), 1.0)


def test_packing_local_blocks_are_symmetric_positive(packing):
    W = packing.problem.local_blocks
    np.testing.assert_array_equal(W, W.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(W).min() > 0
    # Along the line of centres nothing turns: the normal answer is alone and is that of the masses.
    assert np.abs(W[:, 0, 1:]).max() < 1e-12 * W.max()
    masses = packing.problem.M.diagonal().reshape(len(packing.radii), -1)[:, 0]
    of_a = np.where(packing.body_a >= 0, 1.0 / masses[packing.body_a], 0.0)
    np.testing.assert_allclose(W[:, 0, 0], of_a + 1.0 / masses[packing.body_b])


def test_packing_mass_and_gravity(packing):
    problem, d = packing.problem, packing.problem.d
    M = problem.M.diagonal().reshape(len(packing.radii), -1)
    volume = math.pi * packing.radii**2 if d == 2 else 4 / 3 * math.pi * packing.radii**3
    np.testing.assert_allclose(M[:, :d], np.repeat(2600 * volume[:, None], d, axis=1))
    np.testing.assert_allclose(M[:, d:] / M[:, :1] / packing.radii[:, None] ** 2, 0.5 if d == 2 else 0.4)
    free = problem.motion(np.zeros((problem.n_contacts, d))).reshape(len(packing.radii), -1)
    np.testing.assert_array_less(free[:, d - 1], -0.69 * G * 1e-3)
    np.testing.assert_array_less(np.abs(free[:, : d - 1]), 0.31 * G * 1e-3)
    floor = (packing.body_a < 0) & (packing.normals[:, -1] == 1.0)
    assert np.all(problem.q[floor, 0] < 0)
    assert packing.radii.mean() == pytest.approx(0.01)


def test_packing_rests_on_its_floor_inside_its_walls():
    packing = gallery.sphere_packing(5000)
    floor = (packing.body_a < 0) & (packing.normals[:, -1] == 1.0)
    assert floor.sum() > 20
    assert np.all(packing.points[floor, -1] >= -1e-3)
    np.testing.assert_allclose(packing.points[floor, -1], 0.0, atol=1e-3)
    walls = packing.normals[(packing.body_a < 0) & ~floor]
    assert {tuple(normal) for normal in walls.tolist()} == {
        (1.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (-1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
    }
    mean_contacts = 2 * 5000 / len(packing.radii)
    assert 3.5 < mean_contacts < 5.0


def test_packing_is_fixed_by_its_seed():
    one, same, other = (gallery.sphere_packing(300, seed=s) for s in (1, 1, 2))
    assert (one.problem.H != same.problem.H).nnz == 0
    assert np.array_equal(one.problem.f, same.problem.f)
    assert np.array_equal(one.centres, same.centres)
    assert not np.array_equal(one.problem.f[:6], other.problem.f[:6])


def test_packing_orders_keep_neighbours_close():
    spread = {
        order: np.mean(np.diff(np.column_stack((p.body_a, p.body_b))[p.body_a >= 0], axis=1))
        for order in ("layers", "morton", "random")
        for p in [gallery.sphere_packing(5000, order=order)]
    }
    assert spread["morton"] < spread["random"] / 3
    assert spread["layers"] < spread["random"] / 3
    heights = gallery.sphere_packing(5000).centres[:, -1]
    assert np.all(np.diff(heights) > -0.01)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"n_contacts": -1}, "n_contacts must be at least 0"),
        ({"d": 4}, "d must be 2"),
        ({"coordination": 11.0}, "coordination must be in"),
        ({"agitation": 1.0}, "agitation must be in"),
        ({"order": "hilbert"}, "order must be 'layers'"),
        ({"radius": 0.0}, "radius must be positive"),
        ({"dt": -1.0}, "dt must be positive"),
    ],
)
def test_packing_refuses_nonsense(settings_, message: str):
    with pytest.raises(ProblemError, match=message):
        gallery.sphere_packing(**({"n_contacts": 10} | settings_))


@pytest.mark.slow
def test_packing_of_a_million_contacts():
    packing = gallery.sphere_packing(1_000_000)
    assert packing.problem.n_contacts == 1_000_000
    assert packing.problem.H.indices.dtype == np.int32


# ------------------------------------------------------------------------------- masonry

STRUCTURES = [
    gallery.box_stack(1),
    gallery.box_stack(7, size=(0.3, 0.5, 0.2), mu=0.3),
    gallery.box_stack(3, mass_ratio=100.0),
    gallery.brick_wall(1, 1),
    gallery.brick_wall(2, 1),
    gallery.brick_wall(7, 4),
    gallery.pyramid(1),
    gallery.pyramid(6),
    gallery.tower(1),
    gallery.tower(6),
]


@pytest.fixture(params=STRUCTURES, ids=lambda masonry: masonry.problem.name)
def masonry(request) -> gallery.Masonry:
    return request.param


def test_masonry_weight_is_carried_without_friction(masonry):
    problem = masonry.problem
    assert np.all(masonry.hydrostatic[:, 0] > 0)
    assert np.all(masonry.hydrostatic[:, 1:] == 0)
    assert problem.residual(masonry.hydrostatic) < 1e-11
    np.testing.assert_allclose(problem.motion(masonry.hydrostatic), 0.0, atol=1e-11)
    on_floor = masonry.body_a < 0
    assert masonry.hydrostatic[on_floor, 0].sum() == pytest.approx(masonry.masses.sum() * G * 0.01)


@pytest.mark.parametrize("share", [-1.0, -0.4, 0.7, 1.0])
def test_masonry_other_balances(masonry, share: float):
    known = equilibrium.at_rest(masonry.problem, masonry.hydrostatic)
    for r in (masonry.squeezed(share), masonry.warped(share)):
        assert masonry.problem.residual(r) < 1e-11
        assert known.continuum is not None
        assert known.continuum.contains(r, 1e-9)
        assert not known.continuum.contains(1.01 * r, 1e-9)
    assert not known.continuum.contains(masonry.squeezed(1.1), 1e-9)
    assert not known.continuum.contains(masonry.warped(-1.1), 1e-9)


def test_masonry_joints_are_shared_corners(masonry):
    problem = masonry.problem
    upper, lower = masonry.body_b, masonry.body_a
    assert np.all(lower < upper)
    inside = np.abs(masonry.points - masonry.centres[upper]) <= masonry.half_sizes[upper] + 1e-12
    assert inside.all()
    boxes = lower >= 0
    below = masonry.points[boxes] - masonry.centres[lower[boxes]]
    assert np.all(np.abs(below) <= masonry.half_sizes[lower[boxes]] + 1e-12)
    np.testing.assert_allclose(below[:, 2], masonry.half_sizes[lower[boxes], 2])
    np.testing.assert_allclose(masonry.points[~boxes, 2], 0.0, atol=1e-15)
    corners = masonry.points.reshape(-1, 4, 3)
    area = (corners[:, 2, 0] - corners[:, 0, 0]) * (corners[:, 2, 1] - corners[:, 0, 1])
    assert np.all(area > 0)
    assert np.all(problem.q[~boxes, 0] < 0)


def test_masonry_common_motion_is_not_felt(masonry):
    v = rigid_motion(masonry.centres, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7]))
    u = (masonry.problem.H @ v).reshape(-1, 3)
    np.testing.assert_allclose(u[masonry.body_a >= 0], 0.0, atol=1e-12)


def test_masonry_inertia_is_that_of_a_box(masonry):
    size = 2.0 * masonry.half_sizes
    M = masonry.problem.M.diagonal().reshape(-1, 6)
    np.testing.assert_allclose(M[:, :3], masonry.masses[:, None] * np.ones(3))
    np.testing.assert_allclose(M[:, 3], masonry.masses * (size[:, 1] ** 2 + size[:, 2] ** 2) / 12)
    np.testing.assert_allclose(M[:, 5], masonry.masses * (size[:, 0] ** 2 + size[:, 1] ** 2) / 12)


def test_every_balance_found_by_linear_programming_is_a_solution():
    masonry = gallery.box_stack(2)
    problem, known = masonry.problem, equilibrium.at_rest(masonry.problem, masonry.hydrostatic)
    n = problem.n_contacts
    half = problem.mu[0] / math.sqrt(2.0)  # a square inside the circle of friction
    rows = []
    for i in range(n):
        for axis in (1, 2):
            for sign in (1.0, -1.0):
                row = np.zeros((n, 3))
                row[i, 0], row[i, axis] = -half, sign
                rows.append(row.ravel())
    random = np.random.default_rng(6)
    scale = problem.f.max()
    for _ in range(10):
        answer = linprog(
            random.standard_normal(3 * n),
            A_ub=np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=problem.H.T.toarray(),
            b_eq=problem.f / scale,
            bounds=(None, None),
        )
        assert answer.status == 0
        r = scale * answer.x.reshape(n, 3)
        assert problem.residual(r) < 1e-6
        assert known.continuum.contains(r, 1e-6 * scale)


def test_walls_and_pyramids_count_their_bricks():
    wall = gallery.brick_wall(4, 3)
    assert len(wall.masses) == 3 + 4 + 3 + 4
    assert np.unique(wall.masses.round(9)).size == 2  # whole and half bricks
    assert wall.problem.n_contacts == 4 * (3 + 3 * 6)
    assert wall.masses.sum() == pytest.approx(4 * 3 * 2000 * 0.2 * 0.1 * 0.06)
    pile = gallery.pyramid(5)
    assert len(pile.masses) == 15
    assert pile.problem.n_contacts == 4 * (5 + 2 * 10)
    assert gallery.brick_wall(20, 60).problem.n_contacts == 4 * (60 + 19 * 120)


def test_mass_ratio_is_top_over_bottom():
    masses = gallery.box_stack(5, mass_ratio=1e6).masses
    assert masses[-1] / masses[0] == pytest.approx(1e6)
    np.testing.assert_allclose(masses[1:] / masses[:-1], 1e6**0.25)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: gallery.box_stack(0), "n_boxes must be positive, got 0"),
        (lambda: gallery.box_stack(2, mass_ratio=0.0), "mass_ratio must be positive"),
        (lambda: gallery.brick_wall(3, 0), "bricks_per_course must be positive"),
        (lambda: gallery.pyramid(2, dt=0.0), "dt must be positive"),
        (lambda: gallery.tower(2, size=(0.1, 0.2, 0.1)), "planks must be longer than wide"),
    ],
)
def test_masonry_refuses_nonsense(build, message: str):
    with pytest.raises(ProblemError, match=message):
        build()
