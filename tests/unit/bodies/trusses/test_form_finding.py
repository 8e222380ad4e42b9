"""Force densities, dynamic relaxation, feasible self-stress and symmetry."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.bodies.trusses import (
    DynamicRelaxation,
    Group,
    Truss,
    adaptive_force_densities,
    feasible_self_stress,
    force_densities,
    is_super_stable,
    orbits,
)
from clapas.bodies.trusses.generators import (
    cable_net,
    grid,
    kite,
    mast_of_prisms,
    module,
    prism,
    six_strut_ball,
)
from clapas.errors import ProblemError

QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def test_force_densities_give_the_loaded_parabola() -> None:
    """Equal densities and equal loads: second differences of the height are −F/q."""
    n, q, weight = 10, 50.0, 3.0
    nodes = np.column_stack((np.arange(n + 1.0), np.zeros(n + 1)))
    blocked = np.zeros((n + 1, 2), dtype=bool)
    blocked[[0, -1]] = True
    loads = np.zeros((n + 1, 2))
    loads[1:-1, 1] = -weight
    group = kite().groups[1]
    chain = Truss(
        nodes=nodes,
        members=np.column_stack((np.arange(n), np.arange(1, n + 1))),
        groups=[group],
        group=np.zeros(n, dtype=int),
        is_blocked=blocked,
        cases={"weight": loads},
    )
    found = force_densities(chain, [q], case="weight")
    x = np.arange(n + 1.0)
    np.testing.assert_allclose(found.nodes[:, 1], -weight / (2 * q) * x * (n - x), atol=1e-12)
    with pytest.raises(ProblemError, match=r"10 values \(one per member\) or 1"):
        force_densities(chain, [1.0, 2.0])
    with pytest.raises(ProblemError, match="nothing is held along x"):
        force_densities(chain.with_(is_blocked=None), [q])


def test_the_adaptive_method_finds_a_super_stable_prism() -> None:
    rough = prism(5).with_(
        prestress=None, nodes=prism(5).nodes + 0.1 * np.random.default_rng(4).standard_normal((10, 3))
    )
    found = adaptive_force_densities(rough, [1.0, 1.0, -1.0])
    assert found.imbalance() < 1e-9
    assert is_super_stable(found)
    with pytest.raises(ProblemError, match="3 groups need 3 values"):
        adaptive_force_densities(rough, [1.0])
    with pytest.raises(ProblemError, match="free-standing"):
        adaptive_force_densities(kite(), [1.0, 1.0])


def test_relaxation_and_force_densities_agree_on_a_net() -> None:
    net = cable_net(4)
    crooked = net.nodes.copy()
    free = ~net.is_blocked
    crooked[free] += 0.3 * np.random.default_rng(5).standard_normal(int(free.sum()))
    found = DynamicRelaxation().shape(
        net.with_(nodes=crooked), given="densities", values=np.full(net.n_members, 1000.0)
    )
    np.testing.assert_allclose(found.nodes, net.nodes, atol=1e-6)


def test_relaxation_from_rest_lengths_comes_back() -> None:
    truss = kite()
    crooked = truss.with_(
        nodes=truss.nodes + np.array([[0, 0], [0.02, 0.01], [0, -0.01], [0, 0.02]]), prestress=None
    )
    found = DynamicRelaxation(tol=1e-8).shape(crooked, values=truss.rest_lengths)
    np.testing.assert_allclose(found.prestress, truss.prestress, rtol=1e-5)


def test_relaxation_says_when_it_is_not_done() -> None:
    truss = kite().with_(nodes=kite().nodes * 1.01, prestress=None)
    with pytest.raises(ProblemError, match="after 3 steps: raise max_iterations"):
        DynamicRelaxation(max_iterations=3).shape(truss, values=kite().rest_lengths)
    with pytest.raises(ProblemError, match="given must be"):
        DynamicRelaxation().shape(truss, given="colour")
    with pytest.raises(ProblemError, match="6 members need 6 values"):
        DynamicRelaxation().shape(truss, values=[1.0])


@pytest.mark.parametrize("method", ["linear", "quadratic"])
def test_the_only_self_stress_is_found_by_both_programs(method: str) -> None:
    truss = module()
    t = feasible_self_stress(truss, tension=truss.prestress.max(), method=method)
    np.testing.assert_allclose(t, truss.prestress, rtol=1e-7)


@pytest.mark.parametrize("method", ["linear", "quadratic"])
def test_a_grid_with_many_states_gets_a_feasible_one(method: str) -> None:
    truss = grid(3, supports="none", load=0.0)
    t = feasible_self_stress(truss, tension=500.0, method=method)
    assert np.abs(truss.B.T @ t).max() < 1e-9 * 500
    assert t[truss.is_cable].min() > 0.0
    assert t[truss.is_cable].max() == pytest.approx(500.0, rel=1e-6)


def test_the_linear_program_has_the_largest_smallest_force() -> None:
    truss = mast_of_prisms(2)
    linear, even = (feasible_self_stress(truss, method=method) for method in ("linear", "quadratic"))
    assert linear[truss.is_cable].min() >= even[truss.is_cable].min() - 1e-7


def test_structures_without_feasible_self_stress_say_why() -> None:
    truss = module()
    swapped = [Group(name=g.name, kind="cable", material=g.material, section=g.section) for g in truss.groups]
    with pytest.raises(ProblemError, match="16 of 16 cannot be tight"):
        feasible_self_stress(truss.with_(groups=swapped, prestress=None))
    bars = [Group(name=g.name, kind="bar", material=g.material, section=g.section) for g in truss.groups]
    with pytest.raises(ProblemError, match="without cables"):
        feasible_self_stress(truss.with_(groups=bars))
    blocked = np.zeros((4, 2), dtype=bool)
    blocked[0], blocked[2, 0] = True, True
    tree = kite().with_(members=kite().members[:5], group=kite().group[:5], prestress=None)
    with pytest.raises(ProblemError, match="no state of self-stress"):
        feasible_self_stress(tree)
    with pytest.raises(ProblemError, match="tension must be positive"):
        feasible_self_stress(truss, tension=0.0)
    with pytest.raises(ProblemError, match="holds bars and cables"):
        feasible_self_stress(truss, classes=np.zeros(16, dtype=int))


def test_orbits_of_the_ball_are_its_struts_and_cables() -> None:
    third = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    mirrors = [np.diag(signs) for signs in ([-1.0, 1, 1], [1, -1.0, 1], [1, 1, -1.0])]
    ball = six_strut_ball()
    classes = orbits(ball, [third, *mirrors])
    assert sorted(np.bincount(classes).tolist()) == [6, 24]
    t = feasible_self_stress(ball, tension=1000.0, classes=classes)
    np.testing.assert_allclose(t, ball.prestress, rtol=1e-9)


def test_what_is_no_symmetry_is_refused() -> None:
    with pytest.raises(ProblemError, match="operation 0 is no symmetry: it moves node"):
        orbits(prism(3), [QUARTER])
    with pytest.raises(ProblemError, match="operation 0 is no symmetry: it moves"):
        orbits(module(), [np.diag([-1.0, 1.0, 1.0])])  # the mirror image is the module of the other hand
