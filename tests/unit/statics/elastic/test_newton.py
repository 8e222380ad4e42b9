"""The one-loop Newton method against closed forms and against the condensed route."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clapas.bodies.elastic.contact import RigidContact, SurfaceContact
from clapas.bodies.elastic.generators import block
from clapas.bodies.elastic.materials import Elastic, NeoHookean
from clapas.bodies.elastic.mesh import Mesh, join
from clapas.bodies.elastic.mortar import MortarContact
from clapas.bodies.elastic.obstacles import Obstacle
from clapas.bodies.elastic.solid import Solid
from clapas.bodies.elastic.supports import Support
from clapas.errors import ProblemError, SceneError, SettingsError
from clapas.geometry.shapes import Disk, HalfPlane, Polygon, Sphere
from clapas.solvers import SemismoothNewton
from clapas.solvers.lcp import Lemke, solve_lcp
from clapas.statics.elastic.condensed import condense, solve_condensed
from clapas.statics.elastic.loading import follow
from clapas.statics.elastic.newton import OneLoopNewton
from clapas.statics.elastic.problem import ElasticContact, IncrementFailed
from clapas.status import Status

FLOOR = Obstacle(HalfPlane())
PATCH = 2e-10  # the regularisation of contacts, 1e-11 of the stiffness, lets through about half of it


def pressed(mu: float, n: int = 8, tilt: float = 0.0) -> ElasticContact:
    """A block pushed down and sideways on a floor, its load uneven: nodes open, stick and slide."""
    mesh = block((2.0, 1.0), (2 * n, n))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.3))
    load = solid.traction("right", (0.02, 0.05)) + solid.traction("left", (0.0, -0.02))
    return ElasticContact(
        solid=solid,
        supports=[Support("top", "y", -0.01), Support("top", "x", 0.006 + tilt)],
        load=load,
        contacts=[RigidContact(surface="bottom", obstacle=FLOOR, mu=mu)],
    )


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("form", ["alart", "symmetric"])
@pytest.mark.parametrize("engine", ["superlu", "multifrontal"])
def test_the_one_loop_and_the_condensed_route_agree(mu: float, form: str, engine: str) -> None:
    stage = pressed(mu)
    found = OneLoopNewton(form=form, engine=engine, tol=1e-12).solve(stage)
    other = solve_condensed(stage, solver=SemismoothNewton(tol=1e-13))
    np.testing.assert_allclose(found.u, other.u, atol=1e-10 * np.abs(other.u).max())
    np.testing.assert_allclose(found.r, other.r, atol=1e-10 * np.abs(other.r).max())
    problem = condense(stage).contact_problem()
    assert problem.residual(found.r) < 1e-11
    if mu:  # the example is not trivial: some nodes are open, some stick, some slide
        assert (found.r[:, 0] == 0).any() or (found.gap > 1e-9).any()
        cone = np.abs(found.r[:, 1]) - mu * found.r[:, 0]
        assert (np.abs(cone[found.r[:, 0] > 1e-6]) < 1e-12).any()
        assert (cone < -1e-6).any() == (mu > 0.3)


@pytest.mark.parametrize("metre", [1e-10, 1e-8, 1.0, 1e6])
def test_an_obstacle_that_comes_before_anything_has_moved_presses_in_any_unit(metre: float) -> None:
    roller = RigidContact(
        surface="bottom",
        obstacle=Obstacle(Disk(3.0 * metre), position=(1.0 * metre, -3.0 * metre)),
        mu=0.2,
        motion=(0.002 * metre, 0.005 * metre),
    )
    solid = Solid(mesh=block((2.0 * metre, metre), (16, 8)), material=Elastic(young=1.0, poisson=0.3))
    state = OneLoopNewton().solve(
        ElasticContact(solid=solid, supports=[Support("top", "xy")], contacts=[roller])
    )
    assert state.r[:, 0].sum() / metre == pytest.approx(2.5757e-3, rel=1e-4)


def test_without_friction_the_lcp_in_stiffness_form_gives_the_same() -> None:
    stage = pressed(0.0)
    small = condense(stage)
    found = OneLoopNewton().solve(stage)
    answer = solve_lcp(small.lcp(), Lemke(tol=1e-12))
    np.testing.assert_allclose(answer.w, found.r[:, 0], atol=1e-12)
    np.testing.assert_allclose(answer.z, found.gap, atol=1e-12)


@pytest.mark.parametrize("held", ["clamped", "guided"])
def test_friction_in_stiffness_form_bears_a_singular_matrix(held: str) -> None:
    mesh = block((1.0, 0.4), (10, 4), "T3")
    foot = 0.05 * mesh.nodes[:, 0] ** 2
    mesh = mesh.mapped(mesh.nodes + np.outer(1.0 - mesh.nodes[:, 1] / 0.4, (0, 1)) * foot[:, None])
    mesh = mesh.with_group("foot", np.setdiff1d(mesh.group("bottom"), mesh.group("left")))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.33), kinematics="plane stress")
    stage = ElasticContact(
        solid=solid,
        supports=[Support("left", "x" if held == "guided" else "xy")],
        load=solid.pressure("top", 0.003),
        contacts=[RigidContact(surface="foot", obstacle=FLOOR, mu=0.4)],
    )
    small = condense(stage)
    smallest = np.linalg.eigvalsh(small.A)[0]
    assert (abs(smallest) < 1e-12) == (held == "guided")
    lcp = small.friction_lcp()
    r = small.friction_forces(lcp, solve_lcp(lcp, Lemke(tol=1e-11)).z)
    found = OneLoopNewton().solve(stage)
    np.testing.assert_allclose(found.r, r, atol=1e-9 * r.max())
    if held == "guided":
        assert r[:, 0].sum() == pytest.approx(0.003)
        with pytest.raises(ProblemError, match="only contact holds it: translation along y"):
            small.contact_problem()


def test_the_guided_block_with_an_initial_gap_falls_on_the_floor() -> None:
    mesh = block((1.0, 1.0), (3, 3), origin=(0.0, 0.2))
    solid = Solid(mesh=mesh, material=Elastic(young=10.0, poisson=0.2))
    stage = ElasticContact(
        solid=solid,
        supports=[Support("left", "x")],
        load=solid.force("top", (0.0, -1.0)),
        contacts=[RigidContact(surface="bottom", obstacle=FLOOR)],
    )
    found = OneLoopNewton().solve(stage)
    assert found.r[:, 0].sum() == pytest.approx(1.0)
    lifted = replace(stage, load=-stage.load)
    with pytest.raises(IncrementFailed, match="supports leave translation along y to the contacts"):
        OneLoopNewton().solve(lifted)


def patch(
    lower: Mesh, upper: Mesh, contacts: Sequence[SurfaceContact | MortarContact], **solid_options: str
) -> float:
    """Largest deviation from a constant stress through the contact of two blocks."""
    mesh = join({"a": lower, "b": upper})
    d = mesh.d
    solid = Solid(mesh=mesh, material=Elastic(young=10.0, poisson=0.3), **solid_options)
    sides = ["left"] + (["front"] if d == 3 else [])
    supports = [Support("a/bottom", "xyz"[d - 1])]
    supports += [Support(f"{part}/{side}", "xy"[k]) for part in "ab" for k, side in enumerate(sides)]
    stage = ElasticContact(
        solid=solid, supports=supports, load=solid.pressure("b/top", 0.5), contacts=contacts
    )
    found = OneLoopNewton().solve(stage)
    stress = np.concatenate([s.reshape(-1, s.shape[2]) for s in solid.stresses(found.u)])
    exact = np.zeros(stress.shape[1])
    exact[d - 1] = -0.5
    if d == 2 and solid.kinematics == "plane strain":
        exact[2] = 0.3 * -0.5
    return float(np.abs(stress - exact).max())


@pytest.mark.parametrize("kind", ["T3", "Q4", "Hex8", "Tet4"])
def test_patch_test_through_contact_of_matching_meshes(kind: str) -> None:
    d = 2 if kind in ("T3", "Q4") else 3
    lower = block((1.0,) * d, (3,) * d, kind)
    upper = block((1.0,) * d, (3,) * d, kind, origin=(0.0,) * (d - 1) + (1.0,))
    assert patch(lower, upper, [SurfaceContact(surface="b/bottom", other="a/top")]) < 1e-11
    both = [
        SurfaceContact(surface="b/bottom", other="a/top"),
        SurfaceContact(surface="a/top", other="b/bottom"),
    ]
    assert patch(lower, upper, both) < 1e-9


def test_patch_test_of_meshes_that_do_not_match() -> None:
    lower, upper = block((1.0, 1.0), (4, 2)), block((1.0, 1.0), (3, 2), origin=(0.0, 1.0))
    one = patch(lower, upper, [SurfaceContact(surface="b/bottom", other="a/top")])
    both = patch(
        lower,
        upper,
        [
            SurfaceContact(surface="b/bottom", other="a/top"),
            SurfaceContact(surface="a/top", other="b/bottom"),
        ],
    )
    assert one > 0.01  # known of node to side in one direction
    assert both < 1e-9


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("Q4", "Q4"),
        ("T3", "Q4"),
        ("Q8", "Q4"),
        ("Q8", "T6"),
        ("Hex8", "Hex8"),
        ("Tet4", "Hex8"),
        ("Tet4", "Tet4"),
    ],
)
def test_face_to_face_passes_the_patch_test_where_meshes_do_not_match(low: str, high: str) -> None:
    d = 3 if "Hex" in high or "Tet" in high else 2
    lower = block((1.0,) * d, (3,) + (2,) * (d - 1), low)
    upper = block((1.0,) * d, (2,) + (3,) * (d - 1), high, origin=(0.0,) * (d - 1) + (1.0,))
    contact = MortarContact(surface="b/bottom", other="a/top")
    assert patch(lower, upper, [contact]) < PATCH
    assert patch(lower, upper, [MortarContact(surface="a/top", other="b/bottom", mu=0.3)]) < PATCH
    if d == 2 and "Q4" in (low, high):
        assert patch(lower, upper, [contact], kinematics="axisymmetric") < PATCH
    elif d == 2:
        with pytest.raises(SceneError, match="quadratic sides at the axis"):
            patch(lower, upper, [contact], kinematics="axisymmetric")


def test_face_to_face_blocks_slide_with_the_friction_of_the_whole() -> None:
    mesh = join({"a": block((2.0, 0.5), (7, 2)), "b": block((1.0, 0.5), (5, 3), origin=(0.3, 0.5))})
    solid = Solid(mesh=mesh, material=Elastic(young=10.0, poisson=0.3))
    contact = MortarContact(surface="b/bottom", other="a/top", mu=0.25)
    held = [Support("a/bottom", "xy"), Support("b/top", "y", -0.02)]
    press = ElasticContact(solid=solid, supports=[*held, Support("b/top", "x")], contacts=[contact])
    drag = ElasticContact(solid=solid, supports=[*held, Support("b/top", "x", 0.4)], contacts=[contact])
    state = follow(drag, follow(press, increments=1).last, increments=8).last
    pull, force = state.forces.sum(axis=0)
    assert state.u.reshape(-1, 2)[mesh.group("b/bottom"), 0].min() > 0.2857  # over a cell of the lower block
    normal, tangential = state.r.T
    np.testing.assert_allclose(np.abs(tangential), 0.25 * normal, atol=1e-9)
    reaction = solid.respond(state.u).force.reshape(-1, 2)
    np.testing.assert_allclose(reaction[mesh.group("a/bottom")].sum(axis=0), [pull, force], rtol=1e-9)


def test_a_sphere_pressed_in_a_block_by_both_forms_in_space() -> None:
    mesh = block((1.0, 1.0, 0.5), (6, 6, 3))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.3))
    ball = RigidContact(
        surface="top",
        obstacle=Obstacle(Sphere(1.0), position=(0.5, 0.5, 1.5)),
        mu=0.3,
        motion=(0.05, 0.02, -0.06),
    )
    stage = ElasticContact(solid=solid, supports=[Support("bottom", "xyz")], contacts=[ball])
    first = OneLoopNewton(form="alart").solve(stage)
    second = OneLoopNewton(form="symmetric").solve(stage)
    np.testing.assert_allclose(first.u, second.u, atol=1e-9)
    assert first.iterations <= 12
    closed = first.r[:, 0] > 0
    assert closed.sum() >= 9
    np.testing.assert_allclose(first.gap[closed], 0.0, atol=1e-9)
    assert (np.linalg.norm(first.r[:, 1:], axis=1) <= 0.3 * first.r[:, 0] + 1e-10).all()
    # reactions balance: what the ball gives, the base takes
    reaction = solid.respond(first.u).force.reshape(-1, 3)[mesh.group("bottom")].sum(axis=0)
    np.testing.assert_allclose(first.forces.sum(axis=0), -reaction, atol=1e-9)


def test_mu_zero_and_no_contacts_and_no_load() -> None:
    solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
    held = [Support("top", "xy")]
    empty = OneLoopNewton().solve(ElasticContact(solid=solid, supports=held))
    assert empty.iterations == 0
    np.testing.assert_array_equal(empty.u, 0.0)
    touching = ElasticContact(
        solid=solid, supports=held, contacts=[RigidContact(surface="bottom", obstacle=FLOOR)]
    )
    assert OneLoopNewton().solve(touching).r.max() == 0.0
    bent = ElasticContact(solid=solid, supports=held, load=solid.force("bottom", (0.3, 0.0)))
    assert OneLoopNewton().solve(bent).iterations == 1


@pytest.mark.parametrize("unit", [1e-6, 1e11])
def test_units_do_not_matter(unit: float) -> None:
    def run(young: float, length: float) -> np.ndarray:
        mesh = block((2.0 * length, length), (8, 4))
        solid = Solid(mesh=mesh, material=Elastic(young=young, poisson=0.3))
        stage = ElasticContact(
            solid=solid,
            supports=[Support("top", "y", -0.01 * length), Support("top", "x", 0.006 * length)],
            load=solid.traction("right", (0.02 * young, 0.05 * young)),
            contacts=[RigidContact(surface="bottom", obstacle=FLOOR, mu=0.3)],
        )
        return OneLoopNewton().solve(stage).r / (young * length)

    np.testing.assert_allclose(run(unit, 1e-3), run(1.0, 1.0), atol=1e-10)


def test_friction_remembers_the_path() -> None:
    """Pressed then dragged is not dragged then pressed; and dragging in small increments equals one."""
    stage = pressed(0.3)
    press = replace(stage, supports=[Support("top", "y", -0.01), Support("top", "x")], load=None)
    drag = replace(press, supports=[Support("top", "y", -0.01), Support("top", "x", 0.002)])
    first = OneLoopNewton().solve(press)
    few, many = follow(drag, first, increments=1), follow(drag, first, increments=6)
    # under a constant slip direction the path does not matter ...
    np.testing.assert_allclose(few.last.r, many.last.r, atol=2e-6)
    # ... but coming back does: the nodes that slid push the other way
    back = follow(press, many.last, increments=6).last
    assert np.abs(back.forces[:, 0].sum()) > 1e-6
    assert np.sign(back.forces[:, 0].sum()) == -np.sign(many.last.forces[:, 0].sum())


def test_an_obstacle_that_moves_drags_as_a_body_that_moves() -> None:
    mesh = block((1.0, 0.5), (8, 4))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.3))
    box = Obstacle(Polygon.rectangle(4.0, 1.0), position=(0.5, 1.0))
    top = [Support("bottom", "xy")]
    press = ElasticContact(
        solid=solid,
        supports=top,
        contacts=[RigidContact(surface="top", obstacle=box, mu=0.2, motion=(0.0, -0.02))],
    )
    slide = replace(press, contacts=[replace(press.contacts[0], motion=(0.5, 0.0))])
    pressed_state = follow(press, increments=3).last
    dragged = follow(slide, pressed_state, increments=4).last
    pull, push = dragged.forces.sum(axis=0)
    assert pull == pytest.approx(-0.2 * push, rel=1e-9)  # box above: the force on the block is downwards
    np.testing.assert_allclose(dragged.shifts, [[0.5, -0.02]])


def test_a_gap_that_is_no_number_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an obstacle gives: NaN is neither open nor closed."""
    solid = Solid(mesh=block((1.0, 1.0), (2, 2)), material=Elastic(young=1.0))
    stage = ElasticContact(
        solid=solid,
        supports=[Support("top", "xy")],
        contacts=[RigidContact(surface="bottom", obstacle=FLOOR)],
    )
    start = stage.start()
    measured = Obstacle.distance

    def lost(self: Obstacle, points: Any, shift: Any = None) -> Any:
        found = measured(self, points, shift)
        return found._replace(gap=np.full(len(points), np.nan))

    monkeypatch.setattr(Obstacle, "distance", lost)
    state = OneLoopNewton().solve(stage, start, check=False)
    assert state.status is Status.NUMERICAL_ERROR


def test_bad_input_says_what_to_change() -> None:
    solid = Solid(
        mesh=block((1.0, 1.0), (2, 2), origin=(0.0, -0.1)), material=Elastic(young=1.0, poisson=0.3)
    )
    deep = ElasticContact(
        solid=solid,
        supports=[Support("top", "xy")],
        contacts=[RigidContact(surface="bottom", obstacle=FLOOR)],
    )
    with pytest.raises(SceneError, match=r"node 0 is 1.000e-01 m inside at the start"):
        OneLoopNewton().solve(deep)
    fit = OneLoopNewton().solve(replace(deep, allow_overlap=True))
    np.testing.assert_allclose(fit.gap, 0.0, atol=1e-12)
    with pytest.raises(SceneError, match="no group of this mesh is called 'floor'"):
        OneLoopNewton().solve(replace(deep, contacts=[RigidContact(surface="floor", obstacle=FLOOR)]))
    with pytest.raises(SceneError, match="load must be"):
        replace(deep, load=np.zeros(3))
    for motion, word in (
        ((0.0, np.nan), "finite"),
        ((0.0, np.inf), "finite"),
        ((0.0,), "2 numbers"),
        ("ab", "2 num"),
    ):
        with pytest.raises(SceneError, match=f"obstacle: motion must be {word}"):
            replace(deep, contacts=[RigidContact(surface="bottom", obstacle=FLOOR, motion=motion)])
    with pytest.raises(SceneError, match="obstacle: position must be finite"):
        Obstacle(HalfPlane(), position=(0.0, np.nan))
    with pytest.raises(SceneError, match="contact: mu must be a number, got 'a'"):
        RigidContact(surface="bottom", obstacle=FLOOR, mu="a")  # type: ignore[arg-type]
    with pytest.raises(SceneError, match="support of 'top': value must be a number, got 'a'"):
        replace(deep, supports=[Support("top", "xy", "a")])  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="form must be"):
        OneLoopNewton(form="both")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="increments must be at least 1"):
        follow(deep, increments=0)


def test_motions_that_nothing_holds_are_named_and_drawn() -> None:
    solid = Solid(mesh=block((2.0, 1.0), (2, 2)), material=Elastic(young=1.0, poisson=0.3))
    lifted = ElasticContact(solid=solid, supports=[Support("left", "x")], load=solid.pressure("top", -0.1))
    with pytest.raises(SceneError, match=r"free to move as a rigid body: translation along y\."):
        OneLoopNewton().solve(lifted)
    np.testing.assert_allclose(
        lifted.free_motions["translation along y"], np.tile((0.0, 0.2), (9, 1)), atol=1e-12
    )
    on_floor = replace(lifted, contacts=[RigidContact(surface="bottom", obstacle=FLOOR)])
    with pytest.raises(IncrementFailed, match="leave translation along y to the contacts"):
        OneLoopNewton().solve(on_floor)
    pressed_down = replace(on_floor, load=solid.pressure("top", 0.1))
    assert OneLoopNewton().solve(pressed_down).status.is_solved
    loose = replace(on_floor, supports=[])
    assert set(loose.free_motions) == {
        "translation along x",
        "translation along y",
        "rotation in the plane xy",
    }


def test_a_failed_increment_keeps_the_state_and_a_restart_goes_on() -> None:
    """A rubber column that is squeezed buckles in the end: no equilibrium is found beyond."""
    rubber = NeoHookean(young=1.0, poisson=0.3)
    stage = ElasticContact(
        solid=Solid(mesh=block((1.0, 1.0), (2, 2)), material=rubber),
        supports=[Support("bottom", "xy"), Support("top", "x"), Support("top", "y", -1.2)],
    )
    with pytest.raises(IncrementFailed, match=r"follow\(stage, error.state, reached=error.reached") as caught:
        follow(stage, increments=4, smallest=0.1)
    reached, state = caught.value.reached, caught.value.state
    assert 0.0 < reached < 1.0
    assert state.status.is_solved
    top = state.u[stage.solid.dofs("top", "y")]
    np.testing.assert_allclose(top, -1.2 * reached)
    nearer = replace(stage, supports=[*stage.supports[:2], Support("top", "y", -1.2 * reached - 0.01)])
    assert follow(nearer, state, increments=1).last.status.is_solved


def test_friction_beyond_the_bound_of_uniqueness_warns() -> None:
    stage = pressed(50.0)
    with pytest.warns(UserWarning, match=r"mu = 50 at node \d+ is beyond .* \(Alart 1997, 66"):
        OneLoopNewton().solve(stage, check=False)


def test_cells_that_turn_too_far_for_small_strains_are_told_in_one_increment() -> None:
    mesh = block((1.0, 0.1), (8, 1), kind="Q8")
    solid = Solid(mesh=mesh, material=Elastic(young=1e3))
    stage = ElasticContact(
        solid=solid, supports=[Support("left", "xy")], load=solid.traction("right", (0.0, -1.0))
    )
    with pytest.warns(UserWarning, match=r"a cell of small strain has turned by .*°: .* NeoHookean") as told:
        follow(stage, increments=4)
    assert len(told) == 1


def test_a_tolerance_below_rounding_is_named_with_one_that_can_be_reached() -> None:
    """A block a million times as stiff as the one it is pressed on: forces cancel by seven digits."""
    two = join({"low": block((1.0, 0.5), (8, 4)), "high": block((1.0, 0.5), (6, 4), origin=(0.0, 0.5))})
    materials = {"low": Elastic(young=1.0, poisson=0.3), "high": Elastic(young=1e6, poisson=0.3)}
    stage = ElasticContact(
        solid=Solid(mesh=two, material=materials),
        supports=[Support("low/bottom", "xy"), Support("high/top", "y", -1e-3), Support("high/top", "x")],
        contacts=[MortarContact(surface="high/bottom", other="low/top", mu=0.3)],
    )
    with pytest.raises(IncrementFailed, match="what rounding leaves") as caught:
        OneLoopNewton().solve(stage)
    reachable = float(str(caught.value).split("tol=")[1])
    assert 1e-10 < reachable < 1e-6
    assert OneLoopNewton(tol=reachable).solve(stage).status.is_solved
