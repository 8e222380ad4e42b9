"""Blocks at rest: what a step costs and how far bodies move that should not, beside other engines.

    python -m benchmarks.blocks                          # or: clapas bench blocks
    python -m benchmarks.blocks --scenes stack10,wall78 --steps 200 --tol 1e-4,1e-6
    python -m benchmarks.blocks --large                  # a wall of 5 000 bricks as well
    python -m benchmarks.blocks --growth                 # Clapas on walls of 200 to 5 000 bricks

Scenes: ten cubes on each other; walls of 78 and 210 bricks in running bond with half bricks at the ends; a
tower of 60 planks, three in each layer, crossed; a block on a slope of 20°. Steps of 1 ms, mu = 0.5, no
restitution.

LMGC90 (compas_lmgc90), PyBullet and MuJoCo run the same scenes where they are installed, each with its own
stopping rule: LMGC90 that of its wrapper, PyBullet 50 iterations, MuJoCo its compliant contacts with the
elliptic cone. They are faster or slower at another accuracy, so read the move of the worst body beside the
time. Every pair of an engine and a scene runs in a process of its own; a step is timed by processor time, and
the second half of the steps counts. Clapas finds the first impulses of a structure better than asked for
(:mod:`clapas.dynamics.resting`): a column says what the first step takes, kernels loaded, and another the
mean of all steps with the first. Kernels are compiled and loaded before by a step that is thrown away.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from clapas.studies.report import markdown_table

DT, MU, DENSITY, GRAVITY = 1e-3, 0.5, 2000.0, 9.81
SLOPE = np.deg2rad(20.0)
WALLS = {"wall78": (12, 6), "wall210": (20, 10), "wall5000": (50, 100)}
SCENES = ("slope", "stack10", "wall78", "tower60", "wall210")
LARGE = "wall5000"
GROWTH = {"wall-10x20": (10, 20), "wall-20x25": (20, 25), "wall-30x50": (30, 50), LARGE: WALLS[LARGE]}
MODULES = {"clapas": "clapas", "lmgc90": "compas_lmgc90", "pybullet": "pybullet", "mujoco": "mujoco"}

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Cost:
    """Cost of a step in the second half of a run (ms of processor time), and what should rest but moved."""

    engine: str
    scene: str
    tol: float
    best: float
    mean: float
    contacts: str
    move: float  # of the worst body, m
    first: float = 0.0  # the first step of Clapas, s
    all: float = 0.0  # mean of all its steps, ms


def boxes(scene: str) -> list[tuple[Vector, Vector]]:
    """Centres and sizes (m) of the movable boxes of a scene."""
    placed: list[tuple[Vector, Vector]] = []
    if scene in WALLS or scene in GROWTH:
        courses, length = WALLS[scene] if scene in WALLS else GROWTH[scene]
        for k in range(courses):
            ends = [0.0, *np.arange(0.5, length), length] if k % 2 else list(range(length + 1))
            for low, high in pairwise(ends):
                placed.append(((0.1 * (low + high), 0.0, 0.05 + 0.1 * k), (0.2 * (high - low), 0.1, 0.1)))
    elif scene == "stack10":
        placed = [((0.0, 0.0, 0.1 + 0.2 * k), (0.2, 0.2, 0.2)) for k in range(10)]
    elif scene == "tower60":
        for k in range(20):
            for across in (-0.1, 0.0, 0.1):
                high = 0.03 + 0.06 * k
                even = ((0.0, across, high), (0.3, 0.08, 0.06))
                placed.append(even if k % 2 == 0 else ((across, 0.0, high), (0.08, 0.3, 0.06)))
    elif scene == "slope":
        placed = [((0.0, 0.0, 0.05), (0.2, 0.2, 0.1))]
    else:
        raise ValueError(f"no scene '{scene}': expected one of {', '.join((*SCENES, LARGE))}")
    return placed


def gravity(scene: str) -> Vector:
    """Acceleration of gravity; leaning for the block on a slope (m/s²)."""
    angle = SLOPE if scene == "slope" else 0.0
    return float(GRAVITY * np.sin(angle)), 0.0, float(-GRAVITY * np.cos(angle))


def timed(advance: Callable[[], Any], steps: int) -> tuple[float, float]:
    """Best and mean of batches of steps in the second half (ms)."""
    size = max(1, min(20, steps // 4))
    costs = []
    for _ in range(max(2, steps // size)):
        start = time.process_time()
        for _ in range(size):
            advance()
        costs.append((time.process_time() - start) / size)
    late = costs[len(costs) // 2 :]
    return 1e3 * min(late), 1e3 * float(np.mean(late))


def run_clapas(scene: str, steps: int, tol: float) -> Cost:
    """Time Clapas."""
    import clapas
    from clapas.dynamics.births import initial_state
    from clapas.dynamics.neighbours import Neighbours
    from clapas.dynamics.stepping import step
    from clapas.scenes.compilation import compile_scene

    blocks = clapas.Scene(gravity=gravity(scene))
    blocks.law(mu=MU)
    blocks.add(clapas.Plane())
    for centre, size in boxes(scene):
        blocks.add(clapas.Box(size), position=centre, density=DENSITY)
    model, solver = compile_scene(blocks), clapas.Auto(tol=tol)
    step(model, initial_state(model), DT, solver, None, Neighbours(model, patience=0))
    near, state = Neighbours(model, patience=0), initial_state(model)
    start, counts = state.position, []

    def advance() -> None:
        nonlocal state
        done = step(model, state, DT, solver, None, near)
        state = done.state
        counts.append(len(state.impulses.a))

    began = time.process_time()
    advance()
    first = time.process_time() - began
    best, mean = timed(advance, steps)
    spent = 1e3 * (time.process_time() - began) / len(counts)
    move = float(np.abs(state.position - start).max())
    found = sorted(set(counts))
    contacts = "–".join(map(str, {found[0]: 0, found[-1]: 0}))
    return Cost("clapas", scene, tol, best, mean, contacts, move, first, spent)


def run_mujoco(scene: str, steps: int, tol: float) -> Cost:
    """Time MuJoCo: compliant contacts, elliptic cone."""
    import mujoco

    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/>'
        f'<geom type="box" size="{a / 2} {b / 2} {c / 2}" density="{DENSITY}"/></body>'
        for (x, y, z), (a, b, c) in boxes(scene)
    )
    down = " ".join(map(str, gravity(scene)))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" gravity="{down}" cone="elliptic" impratio="10"/>'
        f'<size memory="1G"/><default><geom friction="{MU} 0 0" condim="3"/></default>'
        f'<worldbody><geom type="plane" size="50 50 1"/>{bodies}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start = data.xpos[1:].copy()
    best, mean = timed(lambda: mujoco.mj_step(model, data), steps)
    return Cost("mujoco", scene, tol, best, mean, str(data.ncon), float(np.abs(data.xpos[1:] - start).max()))


def run_pybullet(scene: str, steps: int, tol: float) -> Cost:
    """Time PyBullet: 50 iterations a step."""
    import pybullet

    pybullet.connect(pybullet.DIRECT)
    pybullet.setTimeStep(DT)
    pybullet.setGravity(*gravity(scene))
    pybullet.setPhysicsEngineParameter(numSolverIterations=50)
    floor = pybullet.createMultiBody(0, pybullet.createCollisionShape(pybullet.GEOM_PLANE))
    pybullet.changeDynamics(floor, -1, lateralFriction=MU**0.5)  # coefficients of a pair are multiplied
    bodies = []
    for centre, size in boxes(scene):
        shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[x / 2 for x in size])
        body = pybullet.createMultiBody(DENSITY * float(np.prod(size)), shape, basePosition=centre)
        awake = pybullet.ACTIVATION_STATE_DISABLE_SLEEPING
        pybullet.changeDynamics(body, -1, lateralFriction=MU**0.5, activationState=awake)
        bodies.append(body)

    def places() -> Any:
        return np.array([pybullet.getBasePositionAndOrientation(body)[0] for body in bodies])

    start = places()
    best, mean = timed(pybullet.stepSimulation, steps)
    contacts = str(len(pybullet.getContactPoints()))
    return Cost("pybullet", scene, tol, best, mean, contacts, float(np.abs(places() - start).max()))


def run_lmgc90(scene: str, steps: int, tol: float) -> Cost:
    """Time LMGC90 through its COMPAS wrapper; its gravity is along z, so the slope is left out."""
    from compas_lmgc90.solver import Solver

    faces = [[3, 2, 1, 0], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
    signs = [
        (-1, -1, -1),
        (1, -1, -1),
        (1, 1, -1),
        (-1, 1, -1),
        (-1, -1, 1),
        (1, -1, 1),
        (1, 1, 1),
        (-1, 1, 1),
    ]

    def block(centre: Vector, size: Vector) -> dict[str, Any]:
        corners = np.array(centre) + 0.5 * np.array(signs) * np.array(size)
        return {"vertices": corners.tolist(), "faces": faces}

    width = 1.0 + max(abs(centre[0]) for centre, _ in boxes(scene))
    ground = block((0.0, 0.0, -0.1), (3.0 * width, 3.0, 0.2))
    solver = Solver(dt=DT, density=DENSITY)
    solver.geometry_from_v_f([ground, *(block(*box) for box in boxes(scene))])
    solver.set_supports(z_threshold=-0.01)
    solver.contact_law("IQS_CLB", MU)
    solver.preprocess()

    def places() -> Any:
        return np.array([list(mesh.centroid()) for mesh in solver.trimeshes[1:]])

    start, last = places(), None

    def advance() -> None:
        nonlocal last
        last = solver.lmgc90.compute_one_step()

    best, mean = timed(advance, steps)
    solver._update_meshes(last)
    contacts = str(len(last.interaction_coords))  # type: ignore[attr-defined]
    return Cost("lmgc90", scene, tol, best, mean, contacts, float(np.abs(places() - start).max()))


ENGINES: dict[str, Callable[[str, int, float], Cost]] = {
    "clapas": run_clapas,
    "lmgc90": run_lmgc90,
    "pybullet": run_pybullet,
    "mujoco": run_mujoco,
}


def in_process_of_its_own(engine: str, scene: str, steps: int, tol: float, limit: float) -> Cost | str:
    """Run an engine on a scene; a word on why there is no figure if it fails."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "benchmarks.blocks", "--one", engine, scene]
    command += ["--steps", str(steps), "--tol", str(tol)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=root, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {limit:g} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"engine"')]
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][:80]
    return Cost(**json.loads(lines[-1]))


def table(costs: list[Cost]) -> str:
    """All figures, one row for each engine on each scene."""
    rows = [
        [
            cost.scene,
            f"clapas, {cost.tol:g}" if cost.engine == "clapas" else cost.engine,
            f"{cost.best:.3g}",
            f"{cost.mean:.3g}",
            cost.contacts,
            f"{1e6 * cost.move:.3g}",
            f"{1e3 * cost.first:.3g}" if cost.first else "",
            f"{cost.all:.3g}" if cost.all else "",
        ]
        for cost in costs
    ]
    names = [
        "scene",
        "engine",
        "best ms",
        "mean ms",
        "contacts",
        "worst move µm",
        "first step ms",
        "mean of all ms",
    ]
    return markdown_table(names, rows)


def growth(steps: int, tol: float, limit: float) -> str:
    """What walls of more and more bricks cost, and the exponent of the cost in their number."""
    rows, costs = [], []
    for scene in GROWTH:
        cost = in_process_of_its_own("clapas", scene, steps, tol, limit)
        if isinstance(cost, str):
            print(f"  clapas on {scene}: {cost}", file=sys.stderr)
            continue
        bricks = len(boxes(scene))
        costs.append((bricks, cost.mean))
        figures = f"{cost.first:.2g}", f"{cost.best:.3g}", f"{cost.mean:.3g}", f"{1e6 * cost.move:.2g}"
        rows.append([str(bricks), cost.contacts, *figures])
    names = ["bricks", "contacts", "first step s", "best ms", "mean ms", "worst move µm"]
    (few, cheap), (many, dear) = costs[0], costs[-1]
    exponent = np.log(dear / cheap) / np.log(many / few) if many > few else np.nan
    return f"{markdown_table(names, rows)}\n\nThe mean grows as N^{exponent:.2f}."


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the file; return the exit code."""
    given = _arguments(argv)
    if given.one:
        engine, scene = given.one
        print(json.dumps(asdict(ENGINES[engine](scene, given.steps, given.tol[0]))))
        return 0
    if given.growth:
        print(growth(given.steps, given.tol[0], given.limit))
        return 0
    scenes = [*given.scenes, *([LARGE] if given.large else [])]
    costs: list[Cost] = []
    for scene in scenes:
        boxes(scene)  # refuses a name it does not know
        for engine in given.engines:
            if find_spec(MODULES[engine]) is None or (engine, scene) == ("lmgc90", "slope"):
                continue
            for tol in given.tol if engine == "clapas" else given.tol[:1]:
                cost = in_process_of_its_own(engine, scene, given.steps, tol, given.limit)
                if isinstance(cost, str):
                    print(f"  {engine} on {scene}: {cost}", file=sys.stderr)
                else:
                    costs.append(cost)
    print(f"steps of {DT} s, {given.steps} of them, processor time; see the head of benchmarks/blocks.py\n")
    print(table(costs))
    if given.json:
        given.json.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clapas bench blocks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--scenes", type=lambda text: text.split(","), default=list(SCENES))
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument(
        "--tol",
        type=lambda text: [float(part) for part in text.split(",")],
        default=[1e-4, 1e-6],
        help="of Clapas",
    )
    parser.add_argument("--large", action="store_true", help=f"{LARGE} as well")
    parser.add_argument("--growth", action="store_true", help="Clapas alone on walls of more and more bricks")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one engine on one scene")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "SCENE"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
