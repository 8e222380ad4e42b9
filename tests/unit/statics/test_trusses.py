"""Equilibrium of trusses: closed forms, published numbers, and one problem by independent methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from clapas.bodies.trusses import Group, Material, Section, Truss, Unstable
from clapas.bodies.trusses.generators import (
    cable_net,
    geodesic_sphere,
    grid,
    guyed_mast,
    kite,
    mast_of_prisms,
    module,
    prism,
)
from clapas.errors import NotSolved, ProblemError, SettingsError
from clapas.solvers.lcp import registry
from clapas.statics.trusses import (
    ArcLength,
    LargeDisplacements,
    SmallDisplacements,
    cable_lcp,
    check_members,
    envelope,
    least_prestress,
    length_sensitivity,
    level_for_stiffness,
    load_forces,
    prestress_level,
    settle,
    solve_cables,
    solve_inextensible,
    tensioning,
)
from clapas.statics.trusses.large import Shape

LCP_METHODS = [name for name in registry.names() if name not in ("enumeration", "mixed-integer")]


def with_stiffness(truss: Truss, **factors: float) -> Truss:
    """The same structure with Young's moduli multiplied, by kind of member."""
    groups = [replace(g, material=Material(young=g.material.young * factors[g.kind])) for g in truss.groups]
    return truss.with_(groups=groups)


@pytest.fixture(scope="module")
def sixteen() -> Truss:
    return grid(16)


@pytest.mark.parametrize(("factor", "slack"), [(0.1, 0), (0.5, 36), (0.75, 272), (1.0, 408)])
def test_published_slack_of_the_large_grid(sixteen: Truss, factor: float, slack: int) -> None:
    found = SmallDisplacements().solve(sixteen, "down", factor=factor)
    assert int(found.is_slack.sum()) == slack
    assert found.iterations <= 6
    assert found.residual <= 1e-10


def test_details_of_the_published_state(sixteen: Truss) -> None:
    found = SmallDisplacements().solve(sixteen, "down")
    by_group = [
        int(found.is_slack[sixteen.members_of(name)].sum()) for name in ("lower", "upper", "inclined")
    ]
    assert by_group == [72, 336, 0]
    assert ((found.forces <= 100) & sixteen.is_cable).sum() / 3072 == pytest.approx(0.1419, abs=5e-5)
    assert found.forces.max() == pytest.approx(10154, abs=1)
    assert found.largest_displacement == pytest.approx(0.2397, abs=1e-4)
    assert SmallDisplacements().solve(sixteen, "up").slack_share == pytest.approx(0.0898, abs=5e-5)
    # supports carry all the load
    np.testing.assert_allclose(found.reactions.sum(axis=0), [0, 0, 40.0 * 799], atol=1e-3)


def test_large_displacements_differ_where_the_thesis_stays_linear(sixteen: Truss) -> None:
    found = LargeDisplacements().solve(sixteen, "down")
    assert found.slack_share == pytest.approx(0.163, abs=5e-4)
    assert found.forces.max() == pytest.approx(12980, abs=5)
    assert found.largest_displacement == pytest.approx(0.289, abs=1e-3)
    np.testing.assert_allclose(found.reactions.sum(axis=0), [0, 0, 40.0 * 799], atol=1e-3)


def test_both_models_agree_for_small_loads() -> None:
    truss = grid(4)
    small, large = (
        method.solve(truss, "down", factor=1e-3) for method in (SmallDisplacements(), LargeDisplacements())
    )
    # prestress strains of 1e-3 and the stiffness that prestress adds separate the models even without
    # displacement
    np.testing.assert_allclose(large.forces - truss.prestress, small.forces - truss.prestress, atol=0.05)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.floats(10.0, 1e4))
def test_small_displacements_minimise_the_energy(seed: int, size: float) -> None:
    """Against a general minimiser, on the kite under random loads that may slacken any cable."""
    rng = np.random.default_rng(seed)
    truss = kite().with_(cases={"random": size * rng.standard_normal((4, 2))})
    found = SmallDisplacements().solve(truss, "random", check=False)
    F, B, k, t0, cable = (
        truss.load("random"),
        truss.B.toarray(),
        truss.stiffness,
        truss.prestress,
        truss.is_cable,
    )
    assert found.status.is_solved
    t = t0 + k * (B @ found.displacements.ravel()[truss.free])
    np.testing.assert_allclose(found.forces, np.where(cable, np.maximum(t, 0), t), atol=1e-6 * size)
    np.testing.assert_allclose(B.T @ found.forces, F, atol=1e-8 * max(size, 1000))

    def energy(U: np.ndarray) -> float:
        s = t0 + k * (B @ (1e-5 * U))
        s = np.where(cable, np.maximum(s, 0), s)
        return float((0.5 * s * s / k).sum() - F @ (1e-5 * U))

    best = optimize.minimize(energy, 1e5 * found.displacements.ravel()[truss.free], method="Nelder-Mead")
    assert energy(1e5 * found.displacements.ravel()[truss.free]) <= best.fun + 1e-9 * abs(best.fun)


@pytest.mark.parametrize("form", ["assembled", "unassembled", "split"])
def test_the_complementarity_forms_are_one_problem(form: str) -> None:
    truss = grid(3, load=1000.0)
    direct = SmallDisplacements().solve(truss, "down")
    found = solve_cables(truss, "down", form=form)
    assert direct.slack_share > 0.05
    np.testing.assert_allclose(found.forces, direct.forces, atol=1e-6 * direct.forces.max())
    np.testing.assert_allclose(found.displacements, direct.displacements, atol=1e-6)
    assert found.residual < 1e-9
    rest = solve_cables(truss, form=form)
    np.testing.assert_allclose(rest.forces, truss.prestress, rtol=1e-8)


@pytest.mark.parametrize("method", LCP_METHODS)
@pytest.mark.parametrize("form", ["assembled", "split"])
def test_every_lcp_method_solves_the_grid(method: str, form: str) -> None:
    truss = grid(2, load=2000.0)
    direct = SmallDisplacements().solve(truss, "down")
    found = solve_cables(truss, "down", form=form, solver=registry.make(method, tol=1e-8))
    assert direct.slack_share > 0.0
    np.testing.assert_allclose(found.forces, direct.forces, atol=1e-4 * direct.forces.max())


@pytest.mark.parametrize(("truss", "kernel"), [(guyed_mast(), 1), (kite(), 3), (grid(3), 60)], ids=repr)
def test_the_kernel_of_the_lcp_is_that_of_the_bars(truss: Truss, kernel: int) -> None:
    W = cable_lcp(truss).problem.dense
    values = np.linalg.eigvalsh(W)
    assert values[0] > -1e-9 * values[-1]
    assert (values < 1e-9 * values[-1]).sum() == kernel
    bars = truss.B[np.flatnonzero(~truss.is_cable)].toarray()
    assert truss.n_dof - np.linalg.matrix_rank(bars) == kernel


def test_no_critical_load_in_the_linear_model() -> None:
    """With positive self-stress and K invertible every load has an equilibrium, however large."""
    truss = grid(3)
    for factor in (25.0, 37.5, 75.0, 1000.0):
        found = SmallDisplacements().solve(truss, "down", factor=factor)
        assert found.status.is_solved
        assert found.forces[truss.is_cable].min() >= 0.0


def test_both_guys_slacken_together_under_the_critical_load_of_the_mast() -> None:
    truss = guyed_mast(tension=1000.0, load=1.0)
    loads = np.geomspace(1e3, 1e6, 40)
    slack = [int(SmallDisplacements().solve(truss, "top", factor=float(f)).is_slack.sum()) for f in loads]
    assert sorted(set(slack)) == [0, 2]


def test_lifting_a_weight_on_cables_has_no_equilibrium() -> None:
    wire = Group(name="wire", kind="cable", material=Material(young=200e9), section=Section(area=1e-5))
    truss = Truss(
        nodes=[[-1, 1], [1, 1], [0, 0]],
        members=[[0, 2], [1, 2]],
        groups=[wire],
        group=[0, 0],
        is_blocked=[[1, 1], [1, 1], [0, 0]],
        cases={"lift": [[0, 0], [0, 0], [0, 100]]},
    )
    with pytest.raises(Unstable, match="nothing resists this load") as caught:
        SmallDisplacements().solve(truss, "lift")
    assert caught.value.mechanism[2, 1] == pytest.approx(1.0)
    # in the true shape the weight rises until it hangs below the load, above its supports
    found = LargeDisplacements().solve(truss, "lift")
    assert found.shape[2, 1] == pytest.approx(2.0, abs=1e-3)
    np.testing.assert_allclose(found.forces, 100 / np.sqrt(2), rtol=1e-3)


def test_a_load_on_a_mechanism_needs_large_displacements() -> None:
    blocked = np.zeros((8, 3), dtype=bool)
    blocked[:3] = True
    loads = np.zeros((8, 3))
    loads[4:, 0] = 50.0
    truss = module().with_(is_blocked=blocked, cases={"side": loads})
    with pytest.raises(Unstable, match="LargeDisplacements"):
        SmallDisplacements().solve(truss, "side")
    with pytest.raises(Unstable, match="singular"):
        cable_lcp(truss, "side")
    assert LargeDisplacements().solve(truss, "side").status.is_solved


@settings(max_examples=20, deadline=None)
@given(height=st.floats(0.05, 1.0), load=st.floats(0.1, 0.9))
def test_two_bars_follow_their_closed_form(height: float, load: float) -> None:
    """The arch of two bars under a share of its limit load (Mises' truss)."""
    bar = Group(name="bar", kind="bar", material=Material(young=1e9), section=Section(area=1e-4))
    loads = {"top": [[0, 0], [0, -1], [0, 0]]}
    arch = Truss(nodes=[[-1, 0], [0, height], [1, 0]], members=[[0, 1], [1, 2]], groups=[bar], group=[0, 0],
                 is_blocked=[[1, 1], [0, 0], [1, 1]], cases=loads)  # fmt: skip
    rest, EA = np.hypot(1, height), 1e5
    limit = 2 * EA * (rest ** (2 / 3) - 1) ** 1.5 / rest
    found = LargeDisplacements().solve(arch, "top", factor=load * limit)
    y = found.shape[1, 1]
    length = np.hypot(1, y)
    assert 2 * EA * (rest - length) / rest * y / length == pytest.approx(load * limit, rel=1e-6)


def test_arc_length_goes_through_the_snap_and_knows_what_is_stable() -> None:
    bar = Group(name="bar", kind="bar", material=Material(young=1e9), section=Section(area=1e-4))
    arch = Truss(nodes=[[-1, 0], [0, 0.3], [1, 0]], members=[[0, 1], [1, 2]], groups=[bar], group=[0, 0],
                 is_blocked=[[1, 1], [0, 0], [1, 1]], cases={"top": [[0, 0], [0, -1], [0, 0]]})  # fmt: skip
    path = ArcLength(step=0.01, points=120).follow(arch, "top", until=5e3)
    y = 0.3 + path.displacements[:, 1, 1]
    rest, length = np.hypot(1, 0.3), np.hypot(1, y)
    np.testing.assert_allclose(path.factors, 2e5 * (rest - length) / rest * y / length, atol=1e-4)
    limit = 2e5 * (rest ** (2 / 3) - 1) ** 1.5 / rest
    assert path.limit_factor == pytest.approx(limit, rel=1e-2)
    assert path.factors.min() == pytest.approx(-limit, rel=1e-2)
    assert path.factors[-1] > 5e3
    assert path.is_complete
    # stable until the limit point at length = rest^(1/3), unstable between the two limit points
    turn = np.sqrt(rest ** (2 / 3) - 1)
    clear = np.abs(np.abs(y) - turn) > 0.012
    np.testing.assert_array_equal(path.is_stable[clear], (np.abs(y) > turn)[clear])


def propped_column(load: float) -> Truss:
    """Two bars in line under a load along them; wires of 210 kN/m each hold the hinge between them."""
    steel = Material(young=210e9)
    bar = Group(name="bar", kind="bar", material=steel, section=Section(area=7e-4))
    wire = Group(name="wire", kind="cable", material=steel, section=Section(area=1e-6))
    blocked = np.array([[1, 1], [0, 0], [1, 0], [1, 1], [1, 1]], dtype=bool)
    loads = np.zeros((5, 2))
    loads[2, 1] = -load
    return Truss(
        nodes=[[0, 0], [0, 1], [0, 2], [-1, 1], [1, 1]],
        members=[[0, 1], [1, 2], [1, 3], [1, 4]],
        groups=[bar, wire],
        group=[0, 0, 1, 1],
        prestress=[0, 0, 1000, 1000],
        is_blocked=blocked,
        cases={"top": loads},
    )


@pytest.mark.parametrize("share", [0.97, 1.03, 2.0])
def test_a_column_stays_straight_below_its_critical_load_only(share: float) -> None:
    # The hinge moves aside against two wires; the column pushes it with 2 P per length of a bar.
    critical = 0.5 * 2 * 210e3
    state = LargeDisplacements().solve(propped_column(share * critical), "top")
    assert (state.largest_displacement < 0.005) == (share < 1.0)
    shape = Shape(state.truss)
    K = shape.tangent(*shape.forces(state.displacements.ravel()[state.truss.free])).toarray()
    assert np.linalg.eigvalsh(K)[0] > 0.0


def test_a_bar_that_stands_on_its_hinge_falls_over_and_hangs() -> None:
    rubber = Group(name="bar", kind="bar", material=Material(young=1e8), section=Section(area=1e-3))
    bar = Truss(
        nodes=[[0, 0], [0, 1]],
        members=[[0, 1]],
        groups=[rubber],
        group=[0],
        is_blocked=[[1, 1], [0, 0]],
        cases={"weight": [[0, 0], [0, -1000]], "lift": [[0, 0], [0, 1000]]},
    )
    for case in bar.cases:
        assert np.allclose(LargeDisplacements().solve(bar, case).forces, 1000.0)
    with pytest.raises(NotSolved, match="a shape that is unstable: it buckles, node 1 most"):
        LargeDisplacements(max_iterations=2).solve(bar, "weight")


STEEL_BAR = Group(name="bar", kind="bar", material=Material(young=210e9), section=Section(area=1e-4))


def test_a_steel_bar_on_a_pin_turns_into_a_light_load() -> None:
    bar = Truss(
        nodes=[[0, 0], [1, 0]],
        members=[[0, 1]],
        groups=[STEEL_BAR],
        group=[0],
        is_blocked=[[1, 1], [0, 0]],
        cases={"light": [[0, 0], [0, 10]], "lighter": [[0, 0], [0, 1e-3]]},
    )
    state = LargeDisplacements(tol=1e-8).solve(bar, "light")
    np.testing.assert_allclose(state.shape[1], [0.0, 1.0 + 10 / 21e6], atol=1e-9)
    np.testing.assert_allclose(state.forces, 10.0, rtol=1e-8)
    with pytest.raises(NotSolved, match=r"what rounding leaves: .* no less than tol=1e-0[4-6]") as caught:
        LargeDisplacements().solve(bar, "lighter")
    assert caught.value.solution.forces[0] == pytest.approx(1e-3, rel=1e-4)


def test_a_sway_frame_goes_to_where_it_bears_its_load() -> None:
    """Pressed down it falls over and hangs from its feet; pushed aside it lies along the load."""
    frame = Truss(
        nodes=[[0, 0], [1, 0], [1, 1], [0, 1]],
        members=[[1, 2], [2, 3], [3, 0]],
        groups=[STEEL_BAR],
        group=[0, 0, 0],
        is_blocked=[[1, 1], [1, 1], [0, 0], [0, 0]],
        cases={
            "down": [[0, 0], [0, 0], [0, -10], [0, -10]],
            "aside": [[0, 0], [0, 0], [10, 0], [0, 0]],
        },
    )
    method = LargeDisplacements(tol=1e-8)
    down, aside = method.solve(frame, "down"), method.solve(frame, "aside")
    np.testing.assert_allclose(down.shape[2:], [[1, -1], [0, -1]], atol=1e-5)
    np.testing.assert_allclose(down.forces, [10, 0, 10], atol=1e-5)
    np.testing.assert_allclose(aside.shape[2:], [[2, 0], [1, 0]], atol=1e-5)
    np.testing.assert_allclose(aside.forces, np.array([20, 10, 10]) / 3, rtol=1e-6)


def test_a_structure_without_supports_is_pressed_and_not_turned_about() -> None:
    loads = np.zeros((6, 3))
    loads[:3, 2], loads[3:, 2] = 10.0, -10.0
    pressed = LargeDisplacements().solve(prism(3).with_(cases={"press": loads}), "press")
    assert pressed.shape[3:, 2].min() > pressed.shape[:3, 2].max()


def test_arc_length_agrees_with_load_steps_through_slackness() -> None:
    truss = grid(2, load=500.0)
    path = ArcLength(step=0.02, points=60).follow(truss, "down", until=4.0)
    end = LargeDisplacements().solve(
        truss, "down", factor=float(path.factors[-1]), guess=path.displacements[-2]
    )
    assert end.slack_share > 0.0
    np.testing.assert_allclose(path.forces[-1], end.forces, atol=1e-4 * end.forces.max())


def test_the_tangent_is_the_derivative_of_the_forces() -> None:
    truss = prism(3)
    shape, U = Shape(truss), 0.05 * np.random.default_rng(3).standard_normal(truss.n_dof)
    direction, length, t = shape.forces(U)
    dU, small = np.random.default_rng(4).standard_normal(truss.n_dof), 1e-7
    ahead, behind = shape.forces(U + small * dU), shape.forces(U - small * dU)
    change = (shape.pull(ahead[0], ahead[2]) - shape.pull(behind[0], behind[2])) / (2 * small)
    scale = np.abs(change).max()
    np.testing.assert_allclose(shape.tangent(direction, length, t) @ dU, change, atol=1e-6 * scale)


def test_inextensible_cables() -> None:
    truss = kite()
    found = solve_inextensible(truss, "wings")
    assert (truss.B[np.flatnonzero(truss.is_cable)] @ found.displacements.ravel()[truss.free]).max() < 1e-9
    assert found.residual < 1e-7
    stiff = with_stiffness(truss, bar=1.0, cable=1e5)
    limit = SmallDisplacements().solve(stiff, "wings")
    np.testing.assert_allclose(found.displacements, limit.displacements, atol=1e-8)
    hanging = Truss(
        nodes=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        members=[[0, 3], [1, 3], [2, 3]],
        groups=truss.groups,
        group=[1, 1, 0],
        is_blocked=[[1, 1, 1]] * 3 + [[0, 0, 0]],
        cases={"in": [[0, 0, 0]] * 3 + [[-5, -5, -3]]},
    )
    with pytest.raises(Unstable, match="unbounded"):
        solve_inextensible(hanging, "in")


def test_settling_keeps_rest_lengths() -> None:
    truss = mast_of_prisms(2)
    crooked = truss.with_(
        nodes=truss.nodes + 0.01 * np.random.default_rng(0).standard_normal(truss.nodes.shape), prestress=None
    )
    found = settle(crooked, truss.rest_lengths)
    np.testing.assert_allclose(np.sort(found.prestress), np.sort(truss.prestress), rtol=1e-6)
    np.testing.assert_allclose(found.rest_lengths, truss.rest_lengths, rtol=1e-9)


def test_the_bars_of_the_thesis_buckle(sixteen: Truss) -> None:
    checks = check_members(SmallDisplacements().solve(sixteen, "down"))
    bars = sixteen.members_of("bar")
    assert checks.critical[bars][0] == pytest.approx(8212, rel=1e-2)
    assert checks.forces.min() == pytest.approx(-18600, rel=1e-2)
    assert checks.utilisation[bars].max() == pytest.approx(2.27, rel=1e-2)
    row = checks.by_group()[3]
    assert (row["group"], row["by"]) == ("bar", "buckling")
    assert row["failed"] == len(np.intersect1d(checks.failed, bars)) > 0


def test_envelopes_name_the_governing_case() -> None:
    truss = grid(3, load=1000.0)
    states = [SmallDisplacements().solve(truss, case) for case in truss.cases]
    found = envelope(states)
    forces = np.stack([state.forces for state in states])
    np.testing.assert_array_equal(found.largest, forces.max(axis=0))
    assert found.cases == ("down", "up")
    upper = truss.members_of("upper")
    assert set(found.smallest_case[upper].tolist()) == {0, 1}
    np.testing.assert_array_equal(found.is_ever_slack, states[0].is_slack | states[1].is_slack)
    with pytest.raises(ProblemError, match="at least one state"):
        envelope([])


def test_the_level_of_prestress_in_both_models() -> None:
    truss = grid(3, load=1000.0)
    small = prestress_level(truss, ["down"])
    assert small > 1.0  # as it stands some cable is slack
    large = prestress_level(truss, ["down"], model="large", accuracy=1e-3)
    for level, solved in ((large * 1.01, True), (large * 0.99, False)):
        state = LargeDisplacements().solve(truss.with_(prestress=level * truss.prestress), "down")
        assert (state.slack_share == 0.0) is solved
    with pytest.raises(ProblemError, match="cables have no prestress"):
        prestress_level(grid(2, modified=True), ["down"])
    with pytest.raises(ProblemError, match="no load case"):
        prestress_level(prism(3))


def test_the_least_prestress_is_tight_balanced_and_cheaper() -> None:
    truss = grid(3, load=500.0)
    least = least_prestress(truss, ["down"], margin=10.0)
    assert np.abs(truss.B.T @ least).max() < 1e-6 * least.max()
    state = SmallDisplacements().solve(truss.with_(prestress=least), "down")
    assert state.forces[truss.is_cable].min() == pytest.approx(10.0, abs=1e-3)
    scaled = prestress_level(truss, ["down"], margin=10.0) * truss.prestress
    assert np.abs(least) @ truss.lengths < np.abs(scaled) @ truss.lengths
    grouped = least_prestress(truss, ["down"], margin=10.0, classes=truss.group)
    assert len(np.unique(grouped.round(3))) <= 4


def straight_wires(load: tuple[float, float]) -> Truss:
    """Two wires of 1 m in line, of equal stiffness and 100 N; the middle node may move across them."""
    wire = Group(
        name="wire",
        kind="cable",
        material=Material(young=1e9, yield_stress=1e12),
        section=Section(area=1e-4),
    )
    return Truss(
        nodes=[[-1, 0], [0, 0], [1, 0]],
        members=[[0, 1], [1, 2]],
        groups=[wire],
        group=[0, 0],
        is_blocked=[[1, 1], [0, 0], [1, 1]],
        cases={"load": [[0, 0], load, [0, 0]]},
        prestress=[100.0, 100.0],
    )


def test_a_mechanism_without_load_does_not_hinder_the_design_of_prestress() -> None:
    """60 N along the wires: 30 N more in one, 30 N less in the other, whatever moves across."""
    truss = straight_wires((60.0, 0.0))
    np.testing.assert_allclose(load_forces(truss, "load"), [30.0, -30.0], rtol=1e-12)
    assert prestress_level(truss, ["load"]) == pytest.approx(0.3, rel=1e-12)
    assert prestress_level(truss, ["load"], model="large") == pytest.approx(0.3, rel=1e-3)
    np.testing.assert_allclose(least_prestress(truss, ["load"], margin=5.0), [35.0, 35.0], rtol=1e-9)
    np.testing.assert_array_equal(load_forces(straight_wires((0.0, 0.0)), "load"), 0.0)


@pytest.mark.parametrize("load", [(0.0, -60.0), (60.0, -60.0), (60.0, -1e-5)])
def test_a_load_on_a_mechanism_is_refused_with_its_motion_and_a_way_out(load: tuple[float, float]) -> None:
    truss = straight_wires(load)
    expected = [[0.0, 0.0], [0.0, -1.0], [0.0, 0.0]]
    with pytest.raises(
        Unstable, match=r"'load' acts on a mechanism .* at node 1.*LargeDisplacements"
    ) as caught:
        load_forces(truss, "load")
    np.testing.assert_allclose(caught.value.mechanism, expected, atol=1e-8)
    for design in (prestress_level, least_prestress):
        with pytest.raises(Unstable, match=r"prestress_level\(\.\.\., model='large'\)"):
            design(truss, ["load"])
    level = prestress_level(truss, ["load"], model="large", accuracy=1e-3)  # the way out
    state = LargeDisplacements().solve(truss.with_(prestress=1.01 * level * truss.prestress), "load")
    assert state.slack_share == 0.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_load_forces_of_free_structures_balance_any_load_that_moves_no_mechanism(seed: int) -> None:
    """Loads Bᵀt of random forces t on modules that float, with mechanisms and rigid motions."""
    truss = prism(3 + seed % 4)
    forces = np.random.default_rng(seed).normal(size=truss.n_members)
    load = truss.displacements(truss.B.T @ forces)
    found = load_forces(truss.with_(cases={"load": load}), "load")
    np.testing.assert_allclose(truss.B.T @ found, truss.B.T @ forces, atol=1e-7 * np.abs(forces).max())


def test_the_level_for_a_stiffness() -> None:
    level = level_for_stiffness(module(), 2 * 10000 / 3)
    assert level == pytest.approx(2.0, rel=2e-3)
    with pytest.raises(ProblemError, match="no level of this prestress gives"):
        level_for_stiffness(module(), 1e12)


@pytest.mark.parametrize("truss", [kite(), prism(3), cable_net(3)], ids=repr)
def test_sensitivities_are_derivatives_of_settled_forces(truss: Truss) -> None:
    S = length_sensitivity(truss)
    error = 1e-7
    for member in (0, truss.n_members - 1):
        rest = truss.rest_lengths.copy()
        rest[member] += error * truss.rest_lengths[member] / truss.lengths[member]
        change = (
            LargeDisplacements(tol=1e-12).solve(truss, rest_lengths=rest, check=False).forces
            - truss.prestress
        ) / error
        np.testing.assert_allclose(S[:, member], change, atol=5e-3 * np.abs(S[:, member]).max())


def test_tensioning_ends_at_the_design_whatever_the_order() -> None:
    truss = mast_of_prisms(2, load=1.0)
    for order in (["ring", "tendon"], ["tendon", "ring"]):
        stages = tensioning(truss, order)
        assert [stage.group for stage in stages] == order
        np.testing.assert_allclose(
            stages[-1].state.forces, truss.prestress, atol=1e-3 * truss.prestress.max()
        )
    with pytest.raises(ProblemError, match="each group once"):
        tensioning(truss, ["ring", "ring"])


def test_loads_on_supports_go_to_the_ground() -> None:
    truss = kite()
    held = truss.with_(is_blocked=np.ones((4, 2), dtype=bool))
    for method in (SmallDisplacements(), LargeDisplacements()):
        reactions = method.solve(held, "wings").reactions
        rest = method.solve(held).reactions
        np.testing.assert_allclose(reactions - rest, -truss.cases["wings"], atol=1e-6)


def test_small_loads_on_stiff_bars_lose_no_digits() -> None:
    dome = geodesic_sphere(3, cut=0.0, load=1e-6)
    small, large = (method.solve(dome, "snow") for method in (SmallDisplacements(), LargeDisplacements()))
    np.testing.assert_allclose(large.forces, small.forces, atol=1e-9 * np.abs(small.forces).max())


def test_bad_settings_and_unsolved_states() -> None:
    with pytest.raises(SettingsError, match="must be positive"):
        SmallDisplacements(tol=0.0)
    with pytest.raises(SettingsError, match="must be positive"):
        ArcLength(step=-1.0)
    truss = grid(3, load=2000.0)
    with pytest.raises(NotSolved, match="MAX_ITERATIONS"):
        SmallDisplacements(max_iterations=1).solve(truss, "down")
    found = LargeDisplacements(max_iterations=1).solve(truss, "down", check=False)
    assert not found.status.is_solved
    for method in (SmallDisplacements(), LargeDisplacements()):
        with pytest.raises(ProblemError, match=r"not in equilibrium .* at node .* --settle in the shell"):
            method.solve(truss.with_(prestress=np.where(truss.is_cable, 1.0, 0.0)), "down")
    with pytest.raises(ProblemError, match="no load on a free displacement"):
        ArcLength(step=0.1).follow(truss.with_(cases={"none": np.zeros(truss.nodes.shape)}), "none")


def test_a_structure_settles_to_a_shape_without_forces() -> None:
    """Two wires shorter than their places meet where both are at rest; nothing is left there but rounding."""
    wire = Group(name="wire", kind="cable", material=Material(young=2e11), section=Section(area=1e-5))
    apart = Truss(
        nodes=[[-1, 1], [1, 1], [0, 0]],
        members=[[0, 2], [1, 2]],
        groups=[wire],
        group=[0, 0],
        is_blocked=[[1, 1], [1, 1], [0, 0]],
        cases={"weight": [[0, 0], [0, 0], [0, -100]]},
    ).with_rest_lengths([1.4, 1.4])
    settled = settle(apart)
    np.testing.assert_allclose(settled.lengths, 1.4)
    for method in (SmallDisplacements(), LargeDisplacements()):
        found = method.solve(settled, "weight")
        np.testing.assert_allclose(found.forces, 50.0 * 1.4 / np.sqrt(0.96), rtol=1e-3)


def test_extreme_stiffness_ratios_are_solved() -> None:
    truss = kite()
    for ratio in (1e-8, 1e8):
        light = truss.with_(prestress=truss.prestress * min(1.0, 1e-3 * ratio))
        changed = with_stiffness(light, bar=ratio, cable=1.0)
        found = SmallDisplacements().solve(changed, "wings", factor=1e-11 if ratio < 1 else 1.0)
        assert found.residual <= 1e-10
