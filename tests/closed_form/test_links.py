"""Links of a kind: cables, extensible or not, solved with the contacts, against answers on paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from clapas.bodies.kind import Energy, Part, Poses, Span, Touches
from clapas.bodies.links import Account, Links
from clapas.dynamics.births import initial_state
from clapas.dynamics.schemes import MoreauJean
from clapas.dynamics.state import LinkImpulses
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Disk, HalfPlane
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import energy
from clapas.solvers import ADMM, NSGS, AcceleratedProjection, Auto, InteriorPoint

G = 9.81
TIGHT = Auto(tol=1e-12)


@dataclass(frozen=True)
class Bobs:
    """Particles of 1 kg at (x, y), each below a cable from (x, 0) that is taut at a length.

    The test double of a kind: stiffness 0 is a cable that does not stretch.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    length: float = 1.0
    stiffness: float = 0.0
    radius: float = 0.05

    word: ClassVar[str] = "bobs"
    d: ClassVar[int] = 2
    link_names: ClassVar[tuple[str, ...]] = ()

    @property
    def n_dof(self) -> int:
        return 2 * len(self.x)

    @property
    def n_carriers(self) -> int:
        return len(self.x)

    @property
    def shapes(self):
        return [(k, Disk(self.radius)) for k in range(len(self.x))]

    def start(self) -> Part:
        return Part(np.column_stack((self.x, self.y)).ravel(), np.zeros(self.n_dof))

    def drift(self, part: Part, h: float) -> Part:
        return Part(part.q + h * part.v, part.v)

    def advance(self, part: Part, v, h: float) -> Part:
        return Part(part.q + h * v, v)

    def free(self, part: Part, span: Span):
        return sparse.csr_array(sparse.eye_array(self.n_dof)), part.v + span.h * np.tile(
            span.gravity, len(self.x)
        )

    def poses(self, part: Part) -> Poses:
        return Poses(part.q.reshape(-1, 2), np.zeros((len(self.x), 1)))

    def twists(self, part: Part):
        return np.column_stack((part.v.reshape(-1, 2), np.zeros(len(self.x))))

    def jacobian(self, part: Part, at: Touches):
        rows = np.arange(2 * len(at.carrier))
        columns = (2 * at.carrier[:, None] + np.arange(2)).ravel()
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(rows), self.n_dof))

    def stretch(self, q):
        arm = q.reshape(-1, 2) - np.column_stack((self.x, np.zeros(len(self.x))))
        size = np.linalg.norm(arm, axis=1)
        return size - self.length, arm / size[:, None]

    def links(self, part: Part, span: Span) -> Links:
        stretch, along = self.stretch(part.q)
        n = len(self.x)
        rows, columns = np.repeat(2 * np.arange(n), 2), np.arange(2 * n)
        H = sparse.csr_array((-along.ravel(), (rows, columns)), shape=(2 * n, 2 * n))
        w, compliance = np.zeros((n, 2)), np.zeros((n, 2))
        compliance[:, 1] = 1.0
        if self.stiffness:
            # r = h k (stretch at the mean of start and end), θ = ½: stretch_m + ¼ h (ṡ⁺ − ṡ⁻).
            s = span.h**2 * span.theta**2 * self.stiffness
            before = np.sum(along * part.v.reshape(-1, 2), axis=1)
            compliance[:, 0] = 1.0 / s
            w[:, 0] = -(span.h * self.stiffness * stretch - s * before) / s
        else:
            w[:, 0] = np.maximum(-stretch, 0.0) / span.h
        account = np.full(n, Account.STORED if self.stiffness else Account.LOST)
        return Links(np.arange(n), H, w, np.zeros(n), compliance, account)

    def energy(self, part: Part, gravity) -> Energy:
        stretch = np.maximum(self.stretch(part.q)[0], 0.0)
        height = part.q.reshape(-1, 2) @ gravity
        return Energy(
            0.5 * float(part.v @ part.v),
            0.5 * self.stiffness * float(stretch @ stretch) - float(height.sum()),
        )


def scene_of(bobs: Bobs, floor: float | None = None) -> Scene:
    scene = Scene(d=2)
    scene.law(mu=0.5)
    if floor is not None:
        scene.add(HalfPlane(), position=(0, floor))
    scene.add_system(bobs, name="bobs")
    return scene


def run(scene: Scene, steps: int, dt: float, solver=TIGHT, state=None):
    model = compile_scene(scene)
    state = initial_state(model) if state is None else state
    for _ in range(steps):
        done = step(model, state, dt, solver)
        state = done.state
    return model, done


def test_a_cable_bears_what_hangs_from_it_and_a_slack_one_nothing():
    _, done = run(scene_of(Bobs((0.0, 1.0), (-1.0, -0.5))), 1, 1e-2)
    carried = done.state.links
    assert isinstance(carried, LinkImpulses)
    np.testing.assert_array_equal(carried.owner, 0)
    np.testing.assert_array_equal(carried.identity, [0, 1])
    np.testing.assert_allclose(carried.impulse, [[1e-2 * G, 0.0], [0.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(done.state.parts[0].v, [0, 0, 0, -1e-2 * G], atol=1e-14)


def test_a_falling_bob_is_stopped_where_the_cable_is_taut():
    _, done = run(scene_of(Bobs((0.0,), (-0.9,))), 30, 1e-2)
    assert done.state.parts[0].q[1] == pytest.approx(-1.0, abs=1e-12)
    assert done.state.parts[0].v[1] == pytest.approx(0.0, abs=1e-12)


def test_an_elastic_cable_keeps_the_energy_and_swings_at_its_own_pace():
    # Dropped at its natural length: taut all along, it moves as a harmonic oscillator.
    k, dt = 400.0, 1e-3
    scene = scene_of(Bobs((0.0,), (-1.0,), stiffness=k))
    model = compile_scene(scene)
    state, start = initial_state(model), sum(energy(model, initial_state(model)))
    low = 0.0
    for _ in range(round(2 * np.pi / np.sqrt(k) / dt)):
        done = step(model, state, dt, TIGHT)
        state = done.state
        low = min(low, float(state.parts[0].q[1]))
        assert done.work == pytest.approx(0.0, abs=1e-12)
        assert sum(energy(model, state)) == pytest.approx(start, abs=1e-10)
    assert low == pytest.approx(-1.0 - 2 * G / k, rel=1e-5)


def test_a_taut_cable_and_the_floor_share_a_weight_that_no_one_can_tell_apart():
    """Lowered onto the floor by a cable of the same length: together they bear the weight."""
    _, done = run(scene_of(Bobs((0.0,), (-1.0,)), floor=-1.05), 3, 1e-2)
    assert len(done.contacts) == 1
    total = done.state.links.impulse[0, 0] + done.state.impulses.impulse[0, 1] * (
        1.0 if done.contacts.b[0] == 1 else -1.0
    )
    assert total == pytest.approx(1e-2 * G, rel=1e-9)
    assert np.abs(done.state.parts[0].v).max() < 1e-12


@pytest.mark.parametrize(
    "solver",
    [
        NSGS(tol=1e-11, max_iterations=20000),
        InteriorPoint(tol=1e-11),
        AcceleratedProjection(tol=1e-11, max_iterations=50000),
        ADMM(tol=1e-11, max_iterations=50000),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_every_solver_takes_links_with_contacts(solver):
    scene = scene_of(Bobs((0.0, 0.3), (-1.0, -0.97), stiffness=300.0), floor=-1.05)
    expected = run(scene, 3, 1e-2)[1].state
    done = run(scene, 3, 1e-2, solver)[1]
    assert done.solution.status.is_solved
    np.testing.assert_allclose(done.state.parts[0].v, expected.parts[0].v, atol=1e-8)


def test_impulses_of_links_are_carried_and_grow_with_the_step():
    scene = scene_of(Bobs((0.0,), (-1.0,)))
    model, first = run(scene, 1, 1e-2)
    again = step(model, first.state, 2e-2, TIGHT)
    guess = again.problem.guess(first.state.impulses, 2.0, first.state.links)
    np.testing.assert_allclose(guess, again.solution.r, atol=1e-14)
    assert again.solution.iterations <= 1


def test_impulses_of_links_are_found_by_owner_and_identity():
    mine = LinkImpulses(
        np.array([-1, -1, 2]), np.array([3, 7, 3]), np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    )
    found = mine.at(np.array([2, -1, -1, 0]), np.array([3, 7, 4, 3]))
    np.testing.assert_array_equal(found[:, 0], [3.0, 2.0, 0.0, 0.0])
    assert LinkImpulses.none(2).at(np.array([0]), np.array([0])).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_a_very_stiff_cable_is_stable(theta):
    scene = scene_of(Bobs((0.0,), (-1.0,), stiffness=1e12))
    model = compile_scene(scene)
    state = initial_state(model)
    for _ in range(50):
        state = step(model, state, 1e-2, TIGHT, MoreauJean(theta=theta)).state
    assert abs(state.parts[0].q[1] + 1.0) < 1e-8
