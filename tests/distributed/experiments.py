"""Experiments that several ranks do together; run as a program under mpirun, it prints what they found.

    mpirun -n 2 python experiments.py

One start for all: loading the package takes longer than most of them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from clapas.bodies.trusses import MovingTruss
from clapas.bodies.trusses.generators import grid, six_strut_ball
from clapas.distributed.communication import Ranks
from clapas.distributed.launch import ending_together, world
from clapas.distributed.running import simulate_on_ranks
from clapas.distributed.simulation import RankSimulation
from clapas.dynamics.births import initial_state
from clapas.dynamics.motions import ConstantVelocity
from clapas.dynamics.schemes import MoreauMidpoint
from clapas.dynamics.sleep import Sleeping
from clapas.dynamics.state import State
from clapas.geometry.shapes import Box, Clump, Plane, Sphere
from clapas.multiscale import MicroMacroLATIN
from clapas.scenes.compilation import compile_scene
from clapas.scenes.recorders import Memory
from clapas.scenes.regions import BoxRegion, DiscRegion
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation, simulate
from clapas.solvers import NSGS, Auto
from clapas.solvers.loop import Solver
from clapas.statics.trusses import link_problem, module_blocks

TOL = 1e-8
DT = 1e-3


def lattice(scene: Scene, shape: tuple[int, int, int], radius: float, spacing: float, **more: Any) -> None:
    """Spheres on a lattice, layers shifted so that each rests on several, shaken: nothing is symmetric."""
    rng = np.random.default_rng(1)
    aside = 0.6 * radius * np.array([1.0, 0.7, 0.0])
    steps = np.array([spacing, spacing, np.sqrt((2.01 * radius) ** 2 - aside @ aside)])
    for place in np.ndindex(*shape):
        centre = np.array(place) * steps + 0.5 * spacing + aside * (place[2] % 2)
        centre += rng.uniform(-0.002, 0.002, 3) * radius
        scene.add(Sphere(radius), tuple(centre), density=1000, **more)


def packing() -> Scene:
    """Spheres that fall a little onto each other and a floor."""
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    lattice(scene, (6, 3, 4), 0.05, 0.1005)
    return scene


def boxes() -> Scene:
    """Boxes in two columns, one step from rest, and a ball among them: the general form of the problem."""
    scene = Scene()
    scene.law(mu=0.5, restitution=0.2)
    scene.add(Plane(), name="floor")
    for k in range(3):
        for x in (0.0, 0.21, 0.42):
            scene.add(Box((0.2, 0.2, 0.1)), (x + 0.01 * k, 0, 0.05 + 0.101 * k), density=2000)
    scene.add(Sphere(0.04), (0.1, 0.3, 0.3), density=2000, velocity=(0, -1.0, 0))
    return scene


def periodic() -> Scene:
    """Grains between rough walls that shear them, in a cell without ends."""
    scene = Scene(period=(0.6, 0.3), gravity=(0, 0, -9.81))
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor", motion=ConstantVelocity((0.3, 0.0, 0.0)))
    lattice(scene, (6, 3, 3), 0.0495, 0.1)
    return scene


def raining() -> Scene:
    """Grains that appear during the run."""
    scene = Scene()
    scene.law(mu=0.3, restitution=0.5)
    scene.add(Plane(), name="floor")
    region = BoxRegion((0, 0, 0.2), (0.6, 0.3, 0.4))
    scene.source(region, rate=1000, until=0.024, radius=(0.02, 0.03), density=1000, velocity=(0, 0, -2.0))
    return scene


def varied() -> Scene:
    """Clumps that roll badly and stick together, a piston that only falls, a body that is pushed."""
    scene = Scene()
    scene.law(mu=0.5, rolling=0.005, cohesion=0.02)
    scene.add(Plane(), name="floor")
    pair = Clump([(Sphere(0.04), (0, 0, 0)), (Sphere(0.03), (0.05, 0, 0))])
    rng = np.random.default_rng(3)
    for place in np.ndindex(5, 2, 2):
        centre = np.array(place) * [0.122, 0.081, 0.081] + [0.05, 0.05, 0.0405] + rng.uniform(-2e-4, 2e-4, 3)
        scene.add(pair, tuple(centre), density=1000)
    scene.add(Box((0.1, 0.08, 0.05)), (0.31, 0.05, 0.188), density=500, free="z", name="piston")
    scene.add(Sphere(0.04), (-0.035, 0.05, 0.0402), density=1000, force=(5.0, 0.0, 0.0), name="pushed")
    return scene


def jointed() -> Scene:
    """A pendulum of two bodies that strikes the packing: rank 0 hosts it wherever it is."""
    scene = packing()
    arm, bob, pivot = (-0.2, 0.1, 0.45), (-0.2, 0.1, 0.24), (-0.2, 0.1, 0.6)
    scene.add(Box((0.06, 0.06, 0.3)), arm, density=1000, name="arm", velocity=(1.0, 0, 0))
    scene.add(Sphere(0.06), bob, density=3000, name="bob", velocity=(1.0, 0, 0))
    scene.join("fixed", "arm", "bob", at=(-0.2, 0.1, 0.3), name="weld")
    scene.join("hinge", "arm", at=pivot, axis=(0, 1, 0), name="pivot")
    return scene


def trussed() -> Scene:
    """A ball of six struts that falls on the packing, its cables slack and taut, across all borders."""
    scene = packing()
    ball = six_strut_ball(tension=500.0)
    lowest = ball.nodes[np.argmin(ball.nodes[:, 2])]
    ball = ball.with_(nodes=ball.nodes - lowest + [0.28, 0.17, 0.4025])
    moving = MovingTruss(truss=ball, damping_time=1e-3, node_radius=0.02, bar_radius=0.02)
    scene.add_system(moving, name="ball")
    return scene


def compared(
    ranks: Ranks, scene: Scene, steps: int, solver: Solver | None = None, **more: Any
) -> dict[str, Any]:
    """A run on all ranks beside one on this rank alone."""
    model, solver = compile_scene(scene), solver or NSGS(tol=TOL)
    shared = RankSimulation(model, DT, ranks, solver, on_unsolved="record", **more)
    for _ in range(steps):
        shared.step()
    state, (step, _) = shared.gathered_state(everywhere=True), shared.gathered()
    alone = Simulation(model, DT, solver, on_unsolved="record", **more)
    alone.step(steps)
    assert state is not None
    last = alone.last
    assert last is not None
    work, given = ranks.total([shared.work, shared.external_work])
    return {
        "position": float(np.abs(state.position - alone.state.position).max()),
        "velocity": float(np.abs(state.velocity - alone.state.velocity).max()),
        "fastest": float(np.abs(alone.state.velocity).max()),
        "same_contacts": step is None or identity(step.state) == identity(alone.state),
        "same_modes": step is None or len(step.modes) == len(last.contacts),
        "contacts": len(alone.state.impulses.a),
        "work": [float(work), alone.work],
        "given": [float(given), alone.external_work],
        "worst": shared.worst,
        "unsolved": shared.unsolved,
        "epochs": shared.epochs,
        "own": ranks.gathered(float(shared.domain.is_own.sum()))[:, 0].tolist(),
        "alive": state.n_bodies,
    }


def identity(state: State) -> list[tuple[int, ...]]:
    forces = state.impulses
    return [tuple(row) for row in np.column_stack((forces.a, forces.b, forces.feature)).tolist()]


def falling(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, packing(), 40)


def general(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, boxes(), 30, solver=Auto(tol=TOL))


def sheared(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, periodic(), 30)


def born(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, raining(), 60)


def slept(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, packing(), 90, sleeping=Sleeping(speed=1.0, watch=5, rest=20))


def mixed(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, varied(), 20, solver=Auto(tol=TOL))


def hosted_joints(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, jointed(), 40, solver=Auto(tol=TOL))


def hosted_truss(ranks: Ranks) -> dict[str, Any]:
    return compared(ranks, trussed(), 40, solver=Auto(tol=TOL))


def divided(ranks: Ranks) -> dict[str, Any]:
    """A fast ball makes all ranks divide their steps."""
    scene = packing()
    scene.add(Sphere(0.03), (0.2, 0.15, 0.6), density=1000, velocity=(0.0, 0.0, -30.0))
    return compared(ranks, scene, 20, scheme=MoreauMidpoint(travel=0.25))


def substructured(ranks: Ranks) -> dict[str, Any]:
    """Micro-macro LATIN with its substructures on ranks, and on one."""
    truss = grid(4, load=640.0)
    problem, labels = link_problem(truss, "down"), module_blocks(truss, 4, 2)
    histories = [
        MicroMacroLATIN(comm=comm).prepare(problem, labels).run(40, indicator=1e-3)
        for comm in (ranks.comm, None)
    ]
    return {
        "indicator": [history.indicator.tolist() for history in histories],
        "U": [history.U.tolist() for history in histories],
    }


def momentum(ranks: Ranks) -> dict[str, Any]:
    """Two clouds meet without gravity: the sum of m v stays, whatever ranks the contacts are on."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.3, restitution=0.4)
    lattice(scene, (3, 3, 3), 0.05, 0.11, velocity=(1.0, 0.1, 0.0))
    rng = np.random.default_rng(2)
    for place in np.ndindex(3, 3, 3):
        centre = (np.array(place) + 0.5) * 0.11 + [0.36, 0.02, 0.03] + rng.uniform(-1e-4, 1e-4, 3)
        scene.add(Sphere(0.05), tuple(centre), density=3000, velocity=(-1.0, 0.0, 0.2))
    model = compile_scene(scene)
    sim = RankSimulation(model, DT, ranks, NSGS(tol=TOL))
    before = model.mass @ initial_state(model).velocity[:, :3]
    met = 0
    for _ in range(60):
        sim.step()
        assert sim.last is not None
        met = max(met, sim.last.n_contacts)
    state = sim.gathered_state(everywhere=True)
    assert state is not None
    change = model.mass @ state.velocity[:, :3] - before
    return {"change": float(np.abs(change).max()), "size": float(np.abs(before).max()), "contacts": met}


def crossing(ranks: Ranks) -> dict[str, Any]:
    """A ball flies through all domains, ten radii a step, and hits a wall of its own on the far side."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.0, restitution=1.0)
    scene.add(Plane(), (4.0, 0, 0), orientation=(0.5**0.5, 0, -(0.5**0.5), 0), name="wall")
    lattice(scene, (8, 1, 1), 0.04, 0.5)
    scene.add(Sphere(0.02), (-0.5, 0.0, 1.0), density=1000, velocity=(200.0, 0, 0), name="bullet")
    model = compile_scene(scene)
    sim = RankSimulation(model, DT, ranks, NSGS(tol=TOL))
    owners = []
    for _ in range(40):
        sim.step()
        mine = sim.domain.is_own & (sim.domain.ids == model.n_bodies - 1)
        owners.append(int(np.argmax(ranks.gathered(float(mine.any()))[:, 0])))
    state = sim.gathered_state(everywhere=True)
    assert state is not None
    return {"owners": sorted(set(owners)), "velocity": state.velocity[-1, :3].tolist(), "epochs": sim.epochs}


def large(ranks: Ranks) -> dict[str, Any]:
    """A slab larger than any domain falls on spheres that belong to all of them."""
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    lattice(scene, (8, 3, 1), 0.05, 0.1004)
    scene.add(Box((1.0, 0.4, 0.1)), (0.40, 0.15, 0.151), density=1000, name="slab")
    return compared(ranks, scene, 30)


def tumbling(ranks: Ranks) -> dict[str, Any]:
    """A spinning box strikes the floor, far from a ball: the work of its gyroscopic term counts."""
    scene = Scene()
    scene.law(mu=0.4, restitution=0.3)
    scene.add(Plane(), name="floor")
    spin = {"velocity": (1.0, 0, 0), "angular_velocity": (3.0, 4.0, 5.0)}
    scene.add(Box((0.1, 0.09, 0.08)), (0, 0, 0.085), density=2500, **spin)
    scene.add(Sphere(0.05), (1.0, 0, 0.05), density=2500)
    return compared(ranks, scene, 100)


def lonely(ranks: Ranks) -> dict[str, Any]:
    """One ball on a floor: all ranks but one have nothing."""
    scene = Scene()
    scene.law(mu=0.4)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.05), (0, 0, 0.06), density=1000, velocity=(1.0, 0, 0))
    return compared(ranks, scene, 60)


def coincident(ranks: Ranks) -> dict[str, Any]:
    """Bodies one above another on a line across which no cut can go but one: domains that stay empty."""
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=0.4)
    for _ in range(4):
        scene.add(Sphere(0.05), (0.25, 0.25, 0.25), density=1000)
    model = compile_scene(scene, check_overlaps=False)
    sim = RankSimulation(model, DT, ranks, NSGS(tol=TOL), on_unsolved="record")
    sim.step()
    own = ranks.gathered(float(sim.domain.is_own.sum()))[:, 0]
    return {"own": own.tolist()}


def same_bits(ranks: Ranks) -> dict[str, Any]:
    """The same run twice on the same number of ranks."""
    digests = []
    for _ in range(2):
        sim = RankSimulation(compile_scene(packing()), DT, ranks, NSGS(tol=TOL))
        for _ in range(15):
            sim.step()
        state = sim.gathered_state(everywhere=True)
        assert state is not None
        content = state.position.tobytes() + state.velocity.tobytes() + state.impulses.impulse.tobytes()
        digests.append(hashlib.sha256(content).hexdigest())
    return {"digests": digests}


def judged(ranks: Ranks) -> dict[str, Any]:
    """The residual of the ranks is that of the problem of one, at the same impulses."""
    model = compile_scene(packing())
    sim = RankSimulation(model, DT, ranks, NSGS(tol=1e-4))
    found = []
    for _ in range(20):
        before = sim.gathered_state(everywhere=True)
        sim.step()
        after = sim.gathered_state(everywhere=True)
        assert before is not None
        assert after is not None
        assert sim.last is not None
        alone = Simulation(model, DT, NSGS(tol=1e-4), state=before)
        alone.step()
        last = alone.last
        assert last is not None
        problem = last.problem
        guess = problem.guess(after.impulses)
        found.append([sim.last.residual, problem.problem.residual(guess)])
    return {"residuals": found}


def crowded(ranks: Ranks) -> dict[str, Any]:
    """Grains born inside others are told once, by rank 0, in the words of a run alone."""
    scene = Scene()
    scene.law(mu=0.3)
    scene.add(Plane(), name="floor")
    scene.source(DiscRegion((0, 0, 0.6), 1e-3), rate=50.0, number=4, radius=0.02, density=1000, name="rain")
    model, told = compile_scene(scene), []
    runs = RankSimulation(model, DT, ranks, NSGS(tol=TOL)), Simulation(model, DT, NSGS(tol=TOL))
    for run in runs:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(round(0.1 / DT)):
                run.step()
        told.append([str(each.message) for each in caught])
    return {"told": told, "elsewhere": int(ranks.total(float(len(told[0])))[0])}


def recorded(ranks: Ranks) -> dict[str, Any]:
    """Probes and kept steps reach the recorder of rank 0, and a run goes on from a state on other ranks."""
    scene = packing()
    scene.probe("force", "floor", name="weight")
    model = compile_scene(scene)
    memory, alone = (Memory() if ranks.rank == 0 else None), Memory()
    summary = simulate_on_ranks(model, 0.02, DT, ranks, NSGS(tol=TOL), every=5, recorder=memory)
    simulate(model, 0.02, DT, NSGS(tol=TOL), every=5, recorder=alone)
    document: dict[str, Any] = {"steps": summary.steps, "status": summary.status.name}
    if memory is not None:
        document |= {
            "kept": [[kept.state.step for kept in each.steps] for each in (memory, alone)],
            "readings": [[reading.values.tolist() for reading in each.readings] for each in (memory, alone)],
            "energy": [[kept.energy.kinetic for kept in each.steps] for each in (memory, alone)],
            "work": [[kept.work for kept in each.steps] for each in (memory, alone)],
        }
    return document


EXPERIMENTS: tuple[Callable[[Ranks], dict[str, Any]], ...] = (
    falling,
    general,
    sheared,
    born,
    slept,
    mixed,
    hosted_joints,
    hosted_truss,
    divided,
    substructured,
    momentum,
    crossing,
    large,
    tumbling,
    lonely,
    coincident,
    same_bits,
    judged,
    crowded,
    recorded,
)


def main() -> None:
    ranks = Ranks(world())
    with ending_together(ranks.comm, 1):
        for experiment in EXPERIMENTS:
            result = experiment(ranks)
            if ranks.rank == 0:
                print(json.dumps({"name": experiment.__name__, **result}), flush=True)


if __name__ == "__main__":
    main()
