"""Elasticity against answers known on paper, and against scikit-fem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import spsolve

from clapas.bodies.elastic.elements import element
from clapas.bodies.elastic.generators import bar, block, ring
from clapas.bodies.elastic.logarithmic import FiniteVonMises
from clapas.bodies.elastic.materials import Elastic, Material, NeoHookean, VonMises
from clapas.bodies.elastic.mesh import Mesh
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import (
    Support,
    hold,
    refuse_rigid_motions,
    rigid_motions,
    symmetry,
    unsupported,
)
from clapas.errors import SceneError
from clapas.typing import Array

ALL = ["T3", "T6", "Q4", "Q8", "Tet4", "Tet10", "Hex8"]


def solved(solid: Solid, supports: list[Support], f: Array) -> Array:
    held = hold(solid, supports)
    u = np.zeros(solid.n_dof)
    u[held.dofs] = held.values
    K = solid.stiffness
    u[held.free] = spsolve(sparse.csc_array(K[held.free][:, held.free]), (f - K @ u)[held.free])
    return u


def distorted(kind: str) -> Mesh:
    d = element(kind).d
    linear = {"T6": "T3", "Q8": "Q4", "Tet10": "Tet4"}.get(kind, kind)
    mesh = block((2.0,) + (1.0,) * (d - 1), (3,) * d, linear)
    inner = np.setdiff1d(np.arange(mesh.n_nodes), np.unique(np.concatenate(list(mesh.groups.values()))))
    nodes = mesh.nodes.copy()
    nodes[inner] += 0.08 * np.random.default_rng(3).uniform(-1, 1, (len(inner), d))
    mesh = mesh.mapped(nodes)
    return mesh if linear == kind else mesh.quadratic()


@pytest.mark.parametrize("kind", ["T6", "Q4", "Q8", "Tet10", "Hex8"])
def test_a_linear_field_at_gauss_points_is_exact_at_the_nodes(kind: str) -> None:
    solid = Solid(
        mesh=block((2.0,) * element(kind).d, (3,) * element(kind).d, kind), material=Elastic(young=1.0)
    )
    slope = np.arange(1.0, solid.d + 1.0)
    fields = tuple(
        (
            np.einsum(
                "gk,mkd->mgd", b.element.functions(b.element.stiffness.points), solid.mesh.nodes[b.cells]
            )
            @ slope
        )[..., None]
        for b in solid.batches
    )
    np.testing.assert_allclose(solid.at_nodes(fields)[:, 0], solid.mesh.nodes @ slope, atol=1e-12)


@pytest.mark.parametrize("kind", ["T3", "Tet4"])
def test_the_stress_of_a_cell_with_one_gauss_point_is_that_of_its_nodes(kind: str) -> None:
    np.testing.assert_array_equal(element(kind).extrapolation, 1.0)


@pytest.mark.parametrize(("kind", "tolerance"), [("Q4", 0.05), ("Q8", 1e-3), ("T6", 0.02)])
def test_the_stress_of_a_bent_beam_is_largest_at_its_surface(kind: str, tolerance: float) -> None:
    """σ = M y/I in the middle of a cantilever of two quadratic cells in height."""
    quadratic = kind != "Q4"
    mesh = block((10.0, 1.0), (20, 2) if quadratic else (40, 4), kind)
    solid = Solid(mesh=mesh, material=Elastic(young=1e9), kinematics="plane stress")
    u = solved(solid, [Support("left", "xy")], solid.traction("right", (0.0, -1e3)))
    middle = np.flatnonzero((np.abs(mesh.nodes - (5.0, 1.0)) < 1e-9).all(axis=1))
    stress = 1e3 * 5.0 * 0.5 * 12.0
    np.testing.assert_allclose(solid.von_mises(u)[middle], stress, rtol=tolerance)
    np.testing.assert_allclose(solid.fields(u)["stress"][middle, 0], stress, rtol=tolerance)


@pytest.mark.parametrize("kind", ALL)
def test_patch_test_a_linear_displacement_is_exact_inside(kind: str) -> None:
    mesh = distorted(kind)
    d = mesh.d
    solid = Solid(mesh=mesh, material=Elastic(young=3.0, poisson=0.3))
    slope = np.random.default_rng(1).normal(size=(d, d))
    exact = (mesh.nodes @ slope.T).ravel()
    outer = np.unique(np.concatenate(list(mesh.groups.values())))
    dofs = solid.dofs(outer)
    free = np.setdiff1d(np.arange(solid.n_dof), dofs)
    K = solid.stiffness
    u = exact.copy()
    u[free] = spsolve(sparse.csc_array(K[free][:, free]), -(K[free][:, dofs] @ exact[dofs]))
    np.testing.assert_allclose(u, exact, atol=1e-12)
    stress = solid.stresses(u)[0]
    assert np.ptp(stress, axis=(0, 1)).max() < 1e-11


@pytest.mark.parametrize("kinematics", ["plane strain", "plane stress", "axisymmetric", "space"])
def test_rigid_motions_cost_nothing(kinematics: str) -> None:
    mesh = block((1, 2, 1), (2, 2, 2)) if kinematics == "space" else block((1, 2), (2, 3), origin=(0.5, 0.0))
    solid = Solid(mesh=mesh, material=Elastic(young=2.0, poisson=0.4), kinematics=kinematics)
    motions, names = rigid_motions(solid)
    assert len(names) == {"axisymmetric": 1, "space": 6}.get(kinematics, 3)
    np.testing.assert_allclose(solid.stiffness @ motions, 0.0, atol=1e-13)
    values = np.linalg.eigvalsh(solid.stiffness.toarray())
    assert values[len(names)] > 1e-3  # and nothing else is free: no hourglass


@pytest.mark.parametrize("kind", ALL)
def test_a_bar_in_tension_contracts_by_poissons_ratio(kind: str) -> None:
    d = element(kind).d
    mesh = block((2.0,) + (1.0,) * (d - 1), (2,) * d, kind)
    solid = Solid(
        mesh=mesh, material=Elastic(young=10.0, poisson=0.25), kinematics="plane stress" if d == 2 else None
    )
    sides = ["left", "bottom"] + (["front"] if d == 3 else [])
    f = solid.traction("right", (3.0,) + (0.0,) * (d - 1))
    u = solved(solid, [symmetry(mesh, side) for side in sides], f).reshape(-1, d)
    np.testing.assert_allclose(u[:, 0], 0.3 * mesh.nodes[:, 0], atol=1e-12)
    np.testing.assert_allclose(u[:, 1], -0.075 * mesh.nodes[:, 1], atol=1e-12)
    np.testing.assert_allclose(solid.von_mises(u.ravel()), 3.0)


def test_a_cantilever_of_q8_bends_as_timoshenko_says() -> None:
    L, H, E, nu = 10.0, 1.0, 1000.0, 0.3
    mesh = block((L, H), (20, 2), "Q8")
    solid = Solid(mesh=mesh, material=Elastic(young=E, poisson=nu), kinematics="plane stress")
    u = solved(solid, [Support("left", "xy")], solid.traction("right", (0.0, 1.0))).reshape(-1, 2)
    inertia, shear = H**3 / 12, E / (2 * (1 + nu)) * 5 / 6 * H
    exact = L**3 / (3 * E * inertia) + L / shear
    tip = u[mesh.group("right"), 1].mean()
    assert tip == pytest.approx(
        exact, rel=5e-3
    )  # the clamp holds the contraction too, which the theory leaves free

    # the same with Q4, stiff in bending: the lack is real, and refinement removes it
    def lack(divisions: tuple[int, int]) -> float:
        coarse = Solid(mesh=block((L, H), divisions), material=solid.material, kinematics="plane stress")
        w = solved(coarse, [Support("left", "xy")], coarse.traction("right", (0.0, 1.0))).reshape(-1, 2)
        return 1.0 - w[coarse.mesh.group("right"), 1].mean() / exact

    assert 0.1 < lack((20, 2)) < 0.4
    assert lack((80, 8)) < 0.03


@pytest.mark.parametrize(
    ("kind", "nu", "tol"), [("Q8", 0.3, 1e-4), ("T6", 0.3, 1e-3), ("Q4", 0.3, 5e-3), ("Q4", 0.4999, 1e-2)]
)
def test_lame_ring_under_inner_pressure(kind: str, nu: float, tol: float) -> None:
    a, b, p, E = 1.0, 2.0, 1.0, 100.0
    mesh = ring(a, b, (8, 16), kind)
    solid = Solid(mesh=mesh, material=Elastic(young=E, poisson=nu))
    u = solved(solid, [Support("start", "y"), Support("end", "x")], solid.pressure("inner", p))
    radial = np.linalg.norm(u.reshape(-1, 2)[mesh.group("inner")], axis=1)
    exact = (1 + nu) / E * p * a**2 / (b**2 - a**2) * ((1 - 2 * nu) * a + b**2 / a)
    np.testing.assert_allclose(radial, exact, rtol=tol)


def test_without_bbar_a_nearly_incompressible_ring_locks() -> None:
    mesh = ring(1.0, 2.0, (8, 16))
    errors = []
    for bbar in (True, False):
        solid = Solid(mesh=mesh, material=Elastic(young=100.0, poisson=0.4999), bbar=bbar)
        u = solved(solid, [Support("start", "y"), Support("end", "x")], solid.pressure("inner", 1.0))
        exact = 1.4999 / 100.0 / 3.0 * (0.0002 + 4.0)
        errors.append(abs(np.linalg.norm(u.reshape(-1, 2)[mesh.group("inner")], axis=1).mean() / exact - 1))
    assert errors[0] < 0.01
    assert errors[1] > 0.1


@pytest.mark.parametrize("kind", ["T3", "T6", "Q4", "Q8"])
def test_lame_tube_in_axisymmetry(kind: str) -> None:
    a, b, nu, E = 1.0, 2.0, 0.3, 100.0
    mesh = block((b - a, 0.5), (12, 3), kind, origin=(a, 0.0))
    solid = Solid(mesh=mesh, material=Elastic(young=E, poisson=nu), kinematics="axisymmetric")
    f = solid.pressure("left", 1.0)
    assert f.reshape(-1, 2)[:, 0].sum() == pytest.approx(2 * np.pi * a * 0.5)
    u = solved(solid, [Support("bottom", "z"), Support("top", "z")], f).reshape(-1, 2)
    exact = (1 + nu) / E * a**2 / (b**2 - a**2) * ((1 - 2 * nu) * a + b**2 / a)
    np.testing.assert_allclose(u[mesh.group("left"), 0], exact, rtol=6e-3 if kind in ("T3", "Q4") else 2e-4)
    # radial and hoop stress at mid thickness: A ∓ B/r²
    stress = solid.at_nodes(solid.stresses(u.ravel()))
    middle = np.flatnonzero(np.isclose(mesh.nodes[:, 0], 1.5) & np.isclose(mesh.nodes[:, 1], 0.25))
    if middle.size:
        np.testing.assert_allclose(stress[middle[0], 2], (1 + 4 / 1.5**2) / 3, rtol=0.02)


@pytest.mark.parametrize("lumped", [False, True])
def test_lowest_frequency_of_a_clamped_bar(lumped: bool) -> None:
    # ω = (π/2) c / L; consistent mass gives it from above, lumped mass from below.
    solid = Solid(mesh=bar(1.0, 40), material=Elastic(young=4.0, density=1.0), kinematics="plane stress")
    held = hold(solid, [Support("left", "xy")])
    # Modes of a wide strip at ν = 0 include shear: hold y altogether, so that only waves along x are left.
    free = held.free & (np.arange(solid.n_dof) % 2 == 0)
    K = solid.stiffness[free][:, free].toarray()
    M = np.diag(solid.lumped_mass[free]) if lumped else solid.mass[free][:, free].toarray()
    lowest = np.sqrt(eigh(K, M, eigvals_only=True)[0])
    exact = 0.5 * np.pi * 2.0
    assert lowest == pytest.approx(exact, rel=1e-4)
    assert (lowest < exact) == lumped


@pytest.mark.parametrize("kind", ["T3", "Q4", "Tet4", "Hex8"])
def test_stiffness_and_mass_are_those_of_scikit_fem(kind: str) -> None:
    skfem = pytest.importorskip("skfem")
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh = distorted(kind)
    classes = {
        "T3": ("MeshTri", "ElementTriP1"),
        "Q4": ("MeshQuad", "ElementQuad1"),
        "Tet4": ("MeshTet", "ElementTetP1"),
        "Hex8": ("MeshHex", "ElementHex1"),
    }
    mesh_type, element_type = (getattr(skfem, name) for name in classes[kind])
    rows = mesh.cells[kind]
    if kind == "Hex8":  # scikit-fem numbers the corners of cubes otherwise
        rows = rows[:, [0, 3, 1, 4, 2, 7, 5, 6]]
    theirs = mesh_type(mesh.nodes.T.copy(), rows.T.copy())
    basis = skfem.Basis(
        theirs, skfem.ElementVector(element_type()), intorder=3 if kind in ("Q4", "Hex8") else 2
    )
    form = linear_elasticity(*lame_parameters(3.0, 0.3))
    K = skfem.asm(form, basis)
    solid = Solid(mesh=mesh, material=Elastic(young=3.0, poisson=0.3, density=1.0), bbar=False)
    assert abs(K - solid.stiffness).max() < 1e-12

    @skfem.BilinearForm
    def inertia(u, v, w):  # type: ignore[no-untyped-def]
        return sum(u[i] * v[i] for i in range(mesh.d))

    M = skfem.asm(inertia, basis)
    assert abs(M - solid.mass).max() < 1e-13


def test_unsupported_motions_are_named() -> None:
    mesh = block((1, 1), (2, 2))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0))
    guided = hold(solid, [Support("left", "x")])
    motions, words = unsupported(solid, guided)
    assert words == ["translation along y"]
    np.testing.assert_allclose(motions[guided.dofs], 0.0, atol=1e-12)
    with pytest.raises(SceneError, match="free to move as a rigid body: translation along y"):
        refuse_rigid_motions(solid, guided)
    refuse_rigid_motions(solid, hold(solid, [Support("left", "xy")]))
    with pytest.raises(SceneError, match="already moved by 0"):
        hold(solid, [Support("left", "x"), Support("bottom", "x", 0.1)])
    with pytest.raises(SceneError, match="not a plane normal to one axis"):
        symmetry(mesh.with_group("corner", [0]), "corner")


@pytest.mark.parametrize(
    "material",
    [
        Elastic(young=2.0, poisson=0.3),
        VonMises(young=2.0, poisson=0.3, yield_stress=0.02, isotropic=0.1, kinematic=0.2),
        NeoHookean(young=2.0, poisson=0.3),
        FiniteVonMises(young=2.0, poisson=0.3, yield_stress=0.02, isotropic=0.1, kinematic=0.2),
    ],
)
@pytest.mark.parametrize("kinematics", ["plane strain", "plane stress", "axisymmetric", "space"])
def test_the_tangent_is_the_derivative_of_the_force(material: Material, kinematics: str) -> None:
    mesh = block((1, 1, 1), (1, 1, 1)) if kinematics == "space" else block((1, 1), (2, 1), origin=(0.5, 0))
    solid = Solid(mesh=mesh, material=material, kinematics=kinematics)
    rng = np.random.default_rng(5)
    first = 0.03 * rng.normal(size=solid.n_dof)
    history = solid.respond(first).history
    u, push = first + 0.03 * rng.normal(size=solid.n_dof), rng.normal(size=solid.n_dof)
    step = 1e-6
    slope = (
        solid.respond(u + step * push, history).force - solid.respond(u - step * push, history).force
    ) / (2 * step)
    np.testing.assert_allclose(solid.respond(u, history).tangent @ push, slope, atol=2e-7)
