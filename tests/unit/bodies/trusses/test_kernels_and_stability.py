"""Self-stress, mechanisms, stability and vibrations, against published numbers and closed forms."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from clapas.bodies.trusses import (
    Assembly,
    Group,
    Material,
    Section,
    Truss,
    is_super_stable,
    kinematics,
    mass_matrix,
    modes,
    stability,
    stress_matrix,
)
from clapas.bodies.trusses.generators import (
    cable_net,
    geodesic_sphere,
    grid,
    guyed_mast,
    guyed_mast_3d,
    kite,
    mast_of_prisms,
    module,
    prism,
    six_strut_ball,
)
from clapas.errors import ProblemError


@pytest.mark.parametrize(
    ("n", "modified", "internal"),
    [(1, False, 3), (2, False, 1), (4, False, 1), (1, True, 1), (2, True, 0), (4, True, 0)],
)
def test_mechanisms_of_the_grids(n: int, modified: bool, internal: int) -> None:
    found = kinematics(grid(n, modified=modified, supports="none", load=0.0))
    assert found.internal.shape[1] == internal
    assert found.rigid.shape[1] == 6
    assert np.abs(found.truss.B @ found.mechanisms).max() < 1e-10


def test_the_module_has_one_self_stress_and_it_is_the_printed_one() -> None:
    truss = module()
    state = kinematics(truss).self_stress
    assert state.shape == (16, 1)
    np.testing.assert_allclose(state[:, 0] / state[0, 0], truss.prestress / truss.prestress[0], rtol=1e-10)
    assert truss.imbalance() < 1e-11


def test_large_structures_have_the_same_kernel_by_another_path(monkeypatch: pytest.MonkeyPatch) -> None:
    truss = grid(4, supports="none", load=0.0)
    dense = kinematics(truss)
    monkeypatch.setattr(import_module("clapas.bodies.trusses.kinematics"), "DENSE", 10)
    lanczos = kinematics(truss)
    assert lanczos.rank == dense.rank
    # the same space: each basis is reproduced by the other
    seen = dense.mechanisms @ (dense.mechanisms.T @ lanczos.mechanisms)
    np.testing.assert_allclose(seen, lanczos.mechanisms, atol=1e-7)


def test_sizes_of_the_published_grids() -> None:
    assert [grid(n).n_cables for n in (3, 9, 16, 8)] == [108, 972, 3072, 768]
    assert grid(16).n_nodes == 833
    assert grid(16, supports="none", load=0.0).n_dof == 2499
    assert grid(4, supports="none", load=0.0).n_dof == 195


def test_the_geometric_stiffness_is_the_change_of_the_forces_at_fixed_size() -> None:
    truss, small = module(), 1e-6
    U = np.random.default_rng(2).standard_normal(truss.n_dof)

    def pull(step: float) -> np.ndarray:
        ends = (truss.nodes + truss.displacements(step * U))[truss.members]
        arrow = ends[:, 1] - ends[:, 0]
        arrow /= np.linalg.norm(arrow, axis=1)[:, None]
        out = np.zeros(truss.nodes.shape)
        np.add.at(out, truss.members[:, 1], truss.prestress[:, None] * arrow)
        np.add.at(out, truss.members[:, 0], -truss.prestress[:, None] * arrow)
        return out.ravel()

    change = (pull(small) - pull(-small)) / (2 * small)
    np.testing.assert_allclose(Assembly(truss).geometric() @ U, change, rtol=1e-6, atol=1e-2)


def test_prestress_stiffens_the_mechanisms_of_the_module() -> None:
    found = stability(module())
    np.testing.assert_allclose(found.mechanism_stiffness, [10000 / 3, 48000 / 7, 8000], rtol=1e-3)
    assert found.is_prestress_stable
    assert found.is_stable


def test_reversed_prestress_destabilises() -> None:
    plain = module()
    bars = plain.with_(
        groups=[
            g.__class__(name=g.name, kind="bar", material=g.material, section=g.section) for g in plain.groups
        ]
    )
    found = stability(bars.with_(prestress=-plain.prestress))
    assert not found.is_prestress_stable
    assert not found.is_stable


@pytest.mark.parametrize("truss", [prism(3), prism(4), prism(7), six_strut_ball(), module()], ids=repr)
def test_super_stable_structures_are_stable_at_every_level(truss: Truss) -> None:
    assert is_super_stable(truss)
    for level in (0.01, 1.0, 10.0):
        assert stability(truss.with_(prestress=level * truss.prestress)).is_stable


def test_the_stress_matrix_annihilates_affine_maps_of_the_nodes() -> None:
    truss = six_strut_ball()
    assert np.abs(stress_matrix(truss) @ truss.nodes).max() < 1e-9 * truss.prestress.max()
    with pytest.raises(ProblemError, match="free-standing"):
        is_super_stable(kite())


@pytest.mark.parametrize(
    "truss",
    [
        kite(),
        guyed_mast(),
        guyed_mast_3d(4),
        cable_net(5, 7),
        mast_of_prisms(4, 5),
        mast_of_prisms(2, load=5.0),
        prism(6),
    ],
    ids=repr,
)
def test_generated_structures_are_balanced_stable_and_tight(truss: Truss) -> None:
    truss.check_balance()
    assert truss.prestress[truss.is_cable].min() > 0.0
    assert stability(truss).is_stable


def test_a_geodesic_sphere_is_closed_and_rigid() -> None:
    for frequency in (1, 2, 4):
        sphere = geodesic_sphere(frequency)
        assert sphere.n_nodes == 10 * frequency**2 + 2
        assert sphere.n_members == 30 * frequency**2
        np.testing.assert_allclose(np.linalg.norm(sphere.nodes, axis=1), 1.0)
        assert kinematics(sphere).internal.shape[1] == 0  # Cauchy: convex triangulated surfaces are rigid
    dome = geodesic_sphere(4, cut=0.2)
    assert stability(dome).is_stable
    assert dome.nodes[:, 2].min() >= 0.2 - 1e-9


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: prism(2), "three struts"),
        (lambda: geodesic_sphere(0), "at least 1"),
        (lambda: geodesic_sphere(2, cut=1.5), "between −1 and 1"),
        (lambda: cable_net(1), "at least 2 meshes"),
        (lambda: guyed_mast_3d(2), "three guys"),
        (lambda: grid(2, supports="floor"), "supports must be"),
    ],
)
def test_generators_refuse_what_cannot_be(make: object, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()


def test_frequencies_of_mechanisms_grow_as_the_root_of_prestress() -> None:
    truss = six_strut_ball()
    soft = [modes(truss.with_(prestress=level * truss.prestress), 8).frequencies for level in (1.0, 4.0)]
    np.testing.assert_allclose([f[:6] for f in soft], 0.0)  # rigid motions
    assert soft[1][6] / soft[0][6] == pytest.approx(2.0, rel=1e-2)
    stiff = [
        modes(truss.with_(prestress=level * truss.prestress), 36).frequencies[-1] for level in (1.0, 4.0)
    ]
    assert stiff[1] / stiff[0] == pytest.approx(1.0, rel=1e-2)


def test_a_hanging_bar_vibrates_as_the_spring_it_is() -> None:
    from clapas.bodies.trusses import Group, Material, Section

    bar = Group(
        name="bar", kind="bar", material=Material(young=1e9, density=1000.0), section=Section(area=1e-4)
    )
    rod = Truss(
        nodes=[[0, 0], [2, 0]], members=[[0, 1]], groups=[bar], group=[0], is_blocked=[[1, 1], [0, 1]]
    )
    for kind, share in (("consistent", 3), ("lumped", 2)):  # m/3 or m/2 moves with the end
        omega = np.sqrt(rod.stiffness[0] / (rod.mass[0] / share))
        assert modes(rod, 1, mass=kind).frequencies[0] == pytest.approx(omega / (2 * np.pi))


def test_sparse_and_dense_frequencies_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    truss = grid(4)
    dense = modes(truss, 6).frequencies
    monkeypatch.setattr("clapas.bodies.trusses.modal.DENSE", 10)
    np.testing.assert_allclose(modes(truss, 6).frequencies, dense, rtol=1e-8)


def test_the_mass_is_all_there() -> None:
    truss = six_strut_ball()
    for kind in ("consistent", "lumped"):
        M = mass_matrix(truss, kind, extra=np.full(12, 0.5))
        push = np.tile([1.0, 0.0, 0.0], 12)
        assert push @ (M @ push) == pytest.approx(truss.mass.sum() + 6.0)
    with pytest.raises(ProblemError, match="12 nodes need 12 masses"):
        mass_matrix(truss, extra=[1.0])
    with pytest.raises(ProblemError, match="count must lie between 1 and the 36"):
        modes(truss, 0)


def braced_grid(cells: int) -> Truss:
    """A braced square grid; in one cell a diagonal in compression is two struts, held aside by a weak bar."""
    number = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    nodes = [[i, j] for i in range(cells + 1) for j in range(cells + 1)]
    a, b, c, d = (
        number[:-1, :-1].ravel(),
        number[1:, :-1].ravel(),
        number[1:, 1:].ravel(),
        number[:-1, 1:].ravel(),
    )
    edges = np.vstack(
        (
            np.column_stack((number[:-1].ravel(), number[1:].ravel())),
            np.column_stack((number[:, :-1].ravel(), number[:, 1:].ravel())),
            np.column_stack((b, d)),
            np.column_stack((a, c)),
        )
    )
    cell, middle = (cells // 2) * (cells + 1), len(nodes)  # the cell is in the middle of the grid
    corner = [a[cell], b[cell], c[cell], d[cell]]
    nodes.append(np.mean([nodes[k] for k in corner], axis=0).tolist())
    whole = [pair for pair in edges.tolist() if pair != [corner[0], corner[2]]]
    members = [*whole, [corner[0], middle], [middle, corner[2]], [middle, corner[1]]]
    force = dict.fromkeys(map(tuple, members), 0.0)
    ring = [(corner[0], corner[1]), (corner[3], corner[2]), (corner[0], corner[3]), (corner[1], corner[2])]
    force.update(dict.fromkeys(ring, 1e5))
    struts = [(corner[0], middle), (middle, corner[2]), (corner[1], corner[3])]
    force.update(dict.fromkeys(struts, -1e5 * 2**0.5))
    steel = Material(young=1e9, density=1e3)
    groups = [
        Group(name=f"{area}", kind="bar", material=steel, section=Section(area=area)) for area in (1e-3, 1e-6)
    ]
    blocked = np.zeros((len(nodes), 2), dtype=bool)
    blocked[0], blocked[cells * (cells + 1), 1] = True, True
    return Truss(
        nodes=nodes,
        members=members,
        groups=groups,
        group=[0] * (len(members) - 1) + [1],
        prestress=[force[pair[0], pair[1]] for pair in members],
        is_blocked=blocked,
    )


@pytest.mark.parametrize("cells", [6, 28])
def test_the_weak_spot_of_a_structure_is_found_at_any_size(cells: int) -> None:
    """The middle of the strut is pushed aside with 4 P/L, the most negative stiffness by far."""
    truss = braced_grid(cells)
    assert truss.imbalance() < 1e-6
    report = stability(truss)
    assert not report.is_stable
    assert report.smallest == pytest.approx(-4e5 + truss.stiffness[-1], rel=0.2)
    assert np.linalg.norm(report.mode, axis=1).argmax() == truss.n_nodes - 1
    assert modes(truss, 2).frequencies[0] < 0.0 < modes(truss, 2).frequencies[1]
