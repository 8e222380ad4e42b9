"""Steps of mechanisms: milliseconds against the number of bodies, beside MuJoCo where it is installed.

Run as ``python -m benchmarks.mechanisms`` or ``clapas bench mechanisms``. Processor time, best of some runs;
contact problems are solved to 1e-8. MuJoCo solves another problem, with soft contacts and friction that
creeps: its times say what a compiled tree costs, not what the same answer costs.

The walker is a tree of 25 bodies on four legs of six links, with 24 hinges, servos, and 8 contacts under its
feet.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from clapas.dynamics.births import initial_state
from clapas.dynamics.joints.laws import Servo
from clapas.dynamics.model import Model
from clapas.dynamics.neighbours import Neighbours
from clapas.dynamics.stepping import step
from clapas.geometry.shapes import Box, Capsule, Disk, Plane
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import Auto
from clapas.studies.report import markdown_table

DT = 1e-3  # s
LEGS = [(x, y) for x in (-0.25, 0.25) for y in (-0.2, 0.2)]
LINKS, LENGTH, RADIUS = 6, 0.1, 0.03  # of a leg (m)
HEIGHT = LINKS * LENGTH + RADIUS  # of the hips: feet touch the floor
STIFFNESS, DAMPING = 2000.0, 50.0  # of servos (N·m/rad, N·m·s/rad)
HEADER = ["mechanism", "bodies", "joints", "contacts", "ms a step", "µs a body", "MuJoCo, ms"]


def pendulum() -> Scene:
    """A bob on a pin."""
    scene = Scene(d=2)
    scene.law(mu=0.3)
    scene.add(Disk(0.1), (1, 0), mass=2.0)
    scene.join("pin", 0, at=(0, 0))
    return scene


def chain(n: int) -> Scene:
    """Links of 1 dm, level at the start, hung at one end."""
    scene = Scene(d=2)
    scene.law(mu=0.3)
    for k in range(n):
        scene.add(Disk(0.04), (0.1 * k + 0.05, 0), mass=0.1)
        scene.join("pin", k - 1 if k else None, k, at=(0.1 * k, 0))
    return scene


def walker(copies: int = 1) -> Scene:
    """Robots on four legs that stand in a row."""
    scene = Scene()
    scene.law(mu=0.8)
    scene.add(Plane())
    servo = Servo(0.0, STIFFNESS, DAMPING)
    lying = (0.5**0.5, 0.5**0.5, 0.0, 0.0)  # capsules along y
    for copy in range(copies):
        off = 2.0 * copy
        torso = scene.add(Box((0.6, 0.5, 0.1)), (off, 0, HEIGHT + 0.05), mass=10.0)
        for x, y in LEGS:
            above = torso
            for k in range(LINKS):
                top = HEIGHT - k * LENGTH
                if k < LINKS - 1:
                    shape, place, turn = Box((0.05, 0.05, 0.09)), top - 0.5 * LENGTH, None
                else:
                    shape, place, turn = Capsule(RADIUS, 0.1), top - LENGTH, lying
                link = scene.add(shape, (off + x, y, place), turn, mass=0.5)
                axis = (0, 1, 0) if k % 2 else (1, 0, 0)
                scene.join("hinge", above, link, at=(off + x, y, top), axis=axis, motor=servo)
                above = link
    return scene


def mjcf_of_walker() -> str:
    """The same walker for MuJoCo."""
    legs = ""
    for x, y in LEGS:
        opened = ""
        for k in range(LINKS):
            at = f"{x} {y} -0.05" if k == 0 else f"0 0 {-LENGTH}"
            axis = "0 1 0" if k % 2 else "1 0 0"
            if k < LINKS - 1:
                shape = f'type="box" size="0.025 0.025 0.045" pos="0 0 {-0.5 * LENGTH}" contype="0"'
            else:
                shape = f'type="capsule" size="{RADIUS} 0.05" euler="90 0 0" pos="0 0 {-LENGTH}"'
            geom = f'<geom {shape} mass="0.5"/>'
            opened += f'<body pos="{at}"><joint name="j{x}{y}{k}" type="hinge" axis="{axis}"/>{geom}'
        legs += opened + "</body>" * LINKS
    names = [f"j{x}{y}{k}" for x, y in LEGS for k in range(LINKS)]
    servos = "".join(f'<position joint="{name}" kp="{STIFFNESS}" kv="{DAMPING}"/>' for name in names)
    return f"""<mujoco><option timestep="{DT}" integrator="implicitfast" tolerance="1e-8"/><worldbody>
    <geom type="plane" size="10 10 1"/><body pos="0 0 {HEIGHT + 0.05}"><freejoint/>
    <geom type="box" size="0.3 0.25 0.05" mass="10" contype="0"/>{legs}</body></worldbody>
    <actuator>{servos}</actuator></mujoco>"""


def mjcf_of_chain(n: int) -> str:
    """The same chain for MuJoCo; a pendulum where n is 1."""
    ball = 'type="sphere" size="0.04" pos="0.05 0 0" mass="0.1" contype="0" conaffinity="0"'
    link = f'<joint type="hinge" axis="0 1 0"/><geom {ball}/>'
    opened = "".join(f'<body pos="{0.1 if k else 0} 0 0">{link}' for k in range(n))
    return f'<mujoco><option timestep="{DT}"/><worldbody>{opened}{"</body>" * n}</worldbody></mujoco>'


def best(work: Callable[[], object], count: int, repeats: int) -> float:
    """Least processor time of one call, over repeats of ``count`` calls."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            work()
        found.append((time.process_time() - start) / count)
    return min(found)


class Running:
    """A model that goes on step by step."""

    def __init__(self, model: Model) -> None:
        self.model, self.state = model, initial_state(model)
        self.neighbours, self.solver, self.contacts = Neighbours(model), Auto(tol=1e-8), 0

    def __call__(self) -> None:
        done = step(self.model, self.state, DT, self.solver, neighbours=self.neighbours)
        self.state, self.contacts = done.state, len(done.contacts)


def mujoco_step(xml: str) -> Callable[[], object] | None:
    """A step of MuJoCo, or None where it is not installed."""
    try:
        mujoco: Any = import_module("mujoco")
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    return lambda: mujoco.mj_step(model, data)


def row(name: str, scene: Scene, xml: str | None, count: int, repeats: int) -> list[str]:
    """Measure one mechanism."""
    model = compile_scene(scene)
    running = Running(model)
    for _ in range(10):  # compile the kernels, come to rest
        running()
    seconds = best(running, count, repeats)
    rival = None if xml is None else mujoco_step(xml)
    other = "-" if rival is None else f"{1e3 * best(rival, 10 * count, repeats):.3g}"
    bodies = int(model.movable.sum())
    return [
        name, f"{bodies}", f"{len(scene.joints)}", f"{running.contacts}", f"{1e3 * seconds:.3g}",
        f"{1e6 * seconds / bodies:.3g}", other,
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="without the long chain and the row of robots")
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args(arguments)
    cases = [
        ("pendulum", pendulum(), mjcf_of_chain(1), 20),
        ("walker", walker(), mjcf_of_walker(), 10),
        ("chain", chain(100), mjcf_of_chain(100), 10),
    ]
    if not given.quick:
        cases += [
            ("chain", chain(1000), None, 2),  # its file would be nested too deeply for MuJoCo
            ("10 walkers", walker(10), None, 2),
            ("100 walkers", walker(100), None, 1),
        ]
    rows = [row(name, scene, xml, count, given.repeats) for name, scene, xml, count in cases]
    print(markdown_table(HEADER, rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
