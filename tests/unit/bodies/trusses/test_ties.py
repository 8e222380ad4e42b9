"""Bolts between modules: bilateral, preloaded as in the thesis, opened, refused where they make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clapas
from clapas.bodies.kind import Span
from clapas.bodies.trusses import Group, History, Material, MovingTruss, Section, Truss
from clapas.bodies.trusses.generators import bolted_grid, grid
from clapas.dynamics.births import initial_state
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.state import State
from clapas.dynamics.stepping import StepResult, step
from clapas.errors import SceneError
from clapas.scenes.compilation import compile_scene
from clapas.solvers import Auto

ROD = Group(name="rod", kind="bar", material=Material(young=1e9, density=1000.0), section=Section(area=1e-4))


def run(moving: MovingTruss, dt: float, steps: int, tol: float = 1e-10) -> list[StepResult]:
    scene = clapas.Scene(d=moving.d, gravity=(0.0,) * moving.d)
    scene.law(mu=0.5)
    scene.add_system(moving, name="truss")
    model = compile_scene(scene)
    state, near, done = initial_state(model), Neighbours(model), []
    for _ in range(steps):
        done.append(step(model, state, dt, Auto(tol=tol), None, near))
        assert done[-1].status.is_solved
        state = done[-1].state
    return done


def chain(load: float, **settings: Any) -> MovingTruss:
    """Two rods in line, bolted in the middle, held on the left, pulled on the right with a load (N)."""
    truss = Truss(
        nodes=[[0, 0], [1, 0], [1, 0], [2, 0]],
        members=[[0, 1], [2, 3]],
        group=[0, 0],
        groups=[ROD],
        is_blocked=[[1, 1], [0, 1], [0, 1], [0, 1]],
        cases={"pull": [[0, 0], [0, 0], [0, 0], [load, 0]]},
    )
    return MovingTruss(truss=truss, case="pull", ties=[[1, 2]], damping_time=2e-3, **settings)


def opening(moving: MovingTruss, state: State) -> float:
    nodes = moving.nodes_at(state.parts[0])
    return float(nodes[2, 0] - nodes[1, 0])


@pytest.mark.parametrize("preload", [np.inf, 1e4])
def test_bolts_hold_and_transmit_the_load(preload: float) -> None:
    """At rest both rods carry 100 N, k = 1e5 N/m each: the end is 2 mm further, the bolt closed."""
    moving = chain(100.0, tie_preload=preload)
    last = run(moving, 5e-3, 50)[-1].state
    assert abs(opening(moving, last)) < 1e-12
    np.testing.assert_allclose(moving.tensions(last.parts[0]), 100.0, rtol=2e-3)
    assert moving.nodes_at(last.parts[0])[3, 0] == pytest.approx(2.002, abs=1e-5)


def test_a_preloaded_bolt_opens_beyond_its_preload_and_one_way_only() -> None:
    """As the thesis has it, a bolt resists opening with any force and closing with at most its preload."""
    pushed = chain(-100.0, tie_preload=60.0)
    last = run(pushed, 4e-3, 20)[-1].state
    assert opening(pushed, last) < -1e-3
    assert pushed.tensions(last.parts[0])[0] == pytest.approx(-60.0, rel=0.2)
    held = chain(-100.0, tie_preload=200.0)
    assert abs(opening(held, run(held, 4e-3, 20)[-1].state)) < 1e-12


def test_modules_bolted_together_move_as_a_grid_of_merged_nodes() -> None:
    """2 × 2 modules released under a load: bilateral bolts, preloaded ones and merged nodes agree."""
    merged, (apart, pairs) = grid(2, load=500.0), bolted_grid(2, load=500.0)
    same = {tuple(np.round(x, 6)): k for k, x in enumerate(merged.nodes)}
    place = np.array([same[tuple(np.round(x, 6))] for x in apart.nodes])
    whole = MovingTruss(truss=merged, case="down")
    expected = run(whole, 1e-3, 6)[-1].state.parts[0]
    for preload in (np.inf, 1e5):
        bolted = MovingTruss(truss=apart, case="down", ties=pairs, tie_preload=preload)
        found = run(bolted, 1e-3, 6)[-1].state.parts[0]
        np.testing.assert_allclose(bolted.nodes_at(found), whole.nodes_at(expected)[place], atol=2e-8)


def test_counts_of_the_thesis() -> None:
    """8 × 8 modules: 768 cables, 287 bolts with 861 rows; 42 of these join supports and do nothing."""
    truss, pairs = bolted_grid(8)
    assert truss.n_cables == 768
    assert 3 * len(pairs) == 861
    moving = MovingTruss(truss=truss, ties=pairs)
    assert moving.bindings(moving.start(), Span(0.0, 1e-3, 0.5, np.zeros(3))).J.shape[0] == 861 - 42
    assert float(truss.cases["down"].sum()) == pytest.approx(float(grid(8).cases["down"].sum()))


def test_loads_follow_their_history_and_bolts_are_written(tmp_path: Path) -> None:
    """A load that is released leaves the chain swinging about its rest, and files keep all of it."""
    ramp = History(times=[0.0, 0.2, 0.201], factors=[0.0, 1.0, 0.0])
    moving = chain(100.0, history=ramp, tie_preload=1e4)
    states = [each.state for each in run(moving, 5e-3, 100)]
    ends = np.array([moving.nodes_at(state.parts[0])[3, 0] for state in states])
    assert ends[39] == pytest.approx(2.002, abs=2e-4)
    assert abs(ends[-1] - 2.0) < 1e-5
    scene = clapas.Scene(d=2)
    scene.add_system(moving, name="chain")
    scene.save(tmp_path / "chain.toml")
    assert clapas.Scene.load(tmp_path / "chain.toml").to_dict() == scene.to_dict()


BAD = {
    "far": ({"ties": [[0, 3]]}, r"nodes 0 and 3 are 2 m apart; bolts join nodes at one place"),
    "itself": ({"ties": [[1, 1]]}, "node 1 cannot be tied to itself"),
    "outside": ({"ties": [[1, 9]]}, "no node 9; the truss has nodes 0 to 3"),
    "shape": ({"ties": [1, 2]}, "pairs of node numbers"),
    "fractions": ({"ties": [[1.0, 2.0]]}, "pairs of node numbers, got an array .* of float64"),
    "preload": ({"tie_preload": 0.0}, "tie_preload must be positive"),
    "preload nan": ({"tie_preload": float("nan")}, "tie_preload must be positive"),
    "history": (
        {"case": None, "history": History(times=[0.0], factors=[1.0])},
        "loads that change need a case",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_bolts_are_named(kind: str) -> None:
    settings, message = BAD[kind]
    given = {"truss": chain(1.0).truss, "case": "pull", "ties": [[1, 2]]} | settings
    with pytest.raises(SceneError, match=message):
        MovingTruss(**given)


def test_bad_histories_are_named() -> None:
    with pytest.raises(SceneError, match="history: as many factors as times"):
        History(times=[0.0, 1.0], factors=[1.0])
    with pytest.raises(SceneError, match="history: times and factors must be finite"):
        History(times=[0.0], factors=[np.nan])
    with pytest.raises(SceneError, match="history: times must increase"):
        History(times=[0.0, 0.0], factors=[1.0, 0.0])
