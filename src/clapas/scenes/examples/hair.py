"""Rods in motion: hair on a head that moves fast, strands that wrap, a brush, a capstan, a winch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from clapas.bodies.rods import Rod, Support
from clapas.dynamics.motions import Motion, Oscillation, Rotation, Table
from clapas.errors import SceneError
from clapas.geometry.shapes import Cylinder, Plane, Sphere
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

HEAD = 0.08  # radius (m)


@ranged
def hair(
    rods: Annotated[int, Range(1, 100_000, "strands")] = 30,
    elements: Annotated[int, Range(1, 100, "helices per strand")] = 6,
    length: Annotated[float, Range(1e-3, 10.0, "of a strand", "m")] = 0.15,
    curl: Annotated[float, Range(0.0, 1e3, "natural curvature", "1/m")] = 25.0,
    radius: Annotated[float, Range(1e-6, 1e-2, "of a strand", "m")] = 4e-4,
    amplitude: Annotated[float, Range(0.0, 1.0, "of the shaking head", "m")] = 0.03,
    frequency: Annotated[float, Range(1e-2, 100.0, "of the shaking head", "Hz")] = 3.0,
    mu: Mu = 0.2,
    seed: Annotated[int, Range(0, 10**9, "seed")] = 0,
) -> Scene:
    """Curly strands on a head that shakes: tens to hundreds of rods in contact (Cadoux 2009, Fig. 5.3).

    Strands leave the upper half of a ball of 8 cm along its normals, clamped; the ball shakes sideways. At
    all times each strand is as long as it was, and none of them is inside the head.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(seed=seed)
    scene.law(mu=mu)
    shake = Oscillation(amplitude, frequency, (1, 0, 0))
    scene.add(Sphere(HEAD), motion=shake, name="head")
    scene.add_rods(_strands(rng, rods, elements, length, curl, radius, shake), name="hair")
    # Contacts within 3 mm are active if they close by no more than that in a step: thin strands that approach
    # each other by up to 3 m/s are not missed.
    scene.run = Run(
        duration=1.0, dt=1e-3, every=10, scheme={"name": "moreau-jean", "theta": 1.0, "reach": 3e-3}
    )
    return scene


def _strands(
    rng: np.random.Generator,
    count: int,
    elements: int,
    length: float,
    curl: float,
    radius: float,
    motion: Motion,
) -> list[Rod]:
    """Strands spread evenly over the upper half of the head, each with a curl of its own."""
    support = Support(motion=motion)
    strands = []
    for k in range(count):
        height = 0.1 + 0.85 * (k + 0.5) / count
        angle = math.pi * (1.0 + math.sqrt(5.0)) * k
        across = math.sqrt(1.0 - height * height)
        out = np.array([across * math.cos(angle), across * math.sin(angle), height])
        bend, twist = rng.normal(size=2), rng.normal()
        strands.append(
            Rod(
                length=length,
                radius=radius,
                density=1300.0,
                young=4e9 * (5e-5 / radius) ** 2,  # as supple as hair, whatever the radius
                elements=elements,
                natural=(0.2 * curl * twist, 0.7 * curl * bend[0], 0.7 * curl * bend[1]),
                strain=(0.0, 0.0, 0.0),
                position=HEAD * out,
                tangent=out,
                support=support,
                damping=0.02,
                drag=10.0 * 1300.0 * math.pi * radius**2,
                bare=3.0 * radius + length / (4 * elements),
            )
        )
    return strands


@ranged
def capstan(
    mu: Mu = 0.3,
    pull: Annotated[float, Range(1e-6, 1e6, "force on the free end", "N")] = 0.05,
    spin: Annotated[float, Range(-100.0, 100.0, "of the drum", "rad/s")] = 1.0,
    radius: Annotated[float, Range(1e-6, 0.02, "of the rope", "m")] = 2e-4,
    elements: Annotated[int, Range(4, 400, "helices of the rope; a multiple of 4")] = 12,
) -> Scene:
    """A rope over a turning drum: half a turn multiplies its tension by e^(mu π) (Euler, Eytelwein).

    The rope is clamped below on the left, goes up, half around the drum and down, where a force pulls. The
    drum turns beneath it: to the right (positive spin) friction pulls the rope from its clamp, which then
    holds pull·e^(mu π), 2.57 times the pull with mu = 0.3; to the left the clamp holds pull·e^(−mu π).
    Friction acts on the surface of the rope: for a thick one, of radius r on a drum of radius R, the exponent
    is mu π R/(R + r + mu² r).
    """
    if elements % 4:
        raise SceneError(f"capstan: elements must be a multiple of 4, half of it on the drum, got {elements}")
    drum = 0.05
    arc = math.pi * (drum + radius)
    bend = np.zeros((elements, 3))
    bend[elements // 4 : elements - elements // 4, 1] = 1.0 / (drum + radius)
    rope = Rod(
        length=2.0 * arc,
        radius=radius,
        density=1e6,  # slow waves: what counts is the equilibrium
        young=1e6,
        elements=elements,
        natural=bend,
        position=(-drum - radius, 0.0, -0.5 * arc),
        tangent=(0, 0, 1),
        normal=(0, 1, 0),
        drag=50.0 * 1e6 * math.pi * radius**2,
        damping=0.1,
        tip_force=(0.0, 0.0, -pull),
        segments=2,
    )
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=mu)
    # The axis of a cylinder is z in its own frame: turned onto y.
    turn = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)
    scene.add(Cylinder(drum, 0.1), orientation=turn, motion=Rotation((0, 1, 0), spin), name="drum")
    scene.add_rods(rope, name="rope")
    scene.run = Run(
        duration=0.3, dt=1e-3, every=10, scheme={"name": "moreau-jean", "theta": 1.0, "reach": 1e-4}
    )
    return scene


@ranged
def winch(
    turns: Annotated[float, Range(0.0, 0.9, "of the drum")] = 0.75,
    load: Annotated[float, Range(1e-6, 1e6, "force on the hanging end", "N")] = 2.0,
    mu: Mu = 0.3,
    elements: Annotated[int, Range(4, 400, "helices of the rope")] = 24,
) -> Scene:
    """A rope on a drum that winds it up: the load rises by (R + r) times the angle of the drum.

    The rope, of radius r, is clamped on the side of a drum of radius R = 3 cm and hangs straight down with a
    load at its end. The drum turns by ``turns`` in one second and takes the rope along. It starts at once, so
    that the rope swings at first.
    """
    drum, radius, length = 0.03, 5e-4, 0.3
    spin = Rotation((0, -1, 0), 2.0 * math.pi * turns)
    rope = Rod(
        length=length,
        radius=radius,
        density=1e6,  # slow waves
        young=4e8,
        elements=elements,
        position=(drum + radius, 0.0, 0.0),
        tangent=(0, 0, -1),
        support=Support(motion=spin),
        damping=0.02,
        drag=10.0 * 1e6 * math.pi * radius**2,
        tip_force=(0.0, 0.0, -load),
        bare=0.5 * length / elements,
        segments=2,
    )
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=mu)
    turn = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)  # the axis of a cylinder is z in its own frame
    scene.add(Cylinder(drum, 0.02), orientation=turn, motion=spin, name="drum")
    scene.add_rods(rope, name="rope")
    scene.run = Run(
        duration=1.0, dt=1e-3, every=10, scheme={"name": "moreau-jean", "theta": 1.0, "reach": 1e-4}
    )
    return scene


@ranged
def strands(
    rods: Annotated[int, Range(1, 100, "strands")] = 2,
    elements: Annotated[int, Range(1, 100, "helices per strand")] = 6,
    pitch: Annotated[float, Range(1e-3, 1.0, "of the winding", "m")] = 0.06,
    curl: Annotated[float, Range(0.0, 100.0, "natural curvature over that of the winding")] = 3.0,
    segments: Annotated[int, Range(1, 100, "of an element that can touch")] = 2,
    mu: Mu = 0.2,
    seed: Annotated[int, Range(0, 10**9, "seed")] = 0,
) -> Scene:
    """Strands wound around each other, on a support that turns to and fro (Cadoux 2009, Fig. 5.2).

    They hang as a rope of ``rods`` strands, and their natural curls are tighter than the winding: they press
    on each other in rows of neighbouring points. Such contacts make the Delassus matrix as ill-conditioned
    as printed. No strand passes through another: the gaps stay above −10 % of their radius.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(seed=seed)
    scene.law(mu=mu)
    # To and fro twice, by 8 rad/s at most, then at rest: a table, as scene files hold it.
    times = np.linspace(0.0, 0.2 * math.pi, 129)
    spin = np.stack((0.0 * times, 0.0 * times, 8.0 * np.sin(20.0 * times)), axis=1)
    clamp = Support(motion=Table(times, np.zeros((len(times), 3)), spin))
    scene.add_rods(wound(rng, rods, elements, pitch, curl, segments, clamp), name="strands")
    scene.run = Run(
        duration=0.5, dt=5e-4, every=10, scheme={"name": "moreau-jean", "theta": 1.0, "reach": 1e-4}
    )
    return scene


def wound(
    rng: np.random.Generator,
    count: int,
    elements: int,
    pitch: float,
    curl: float,
    segments: int,
    support: Support,
    place: Sequence[float] = (0.0, 0.0, 0.0),
) -> list[Rod]:
    """Strands of 12 cm wound about the vertical through a place, almost touching; see :func:`strands`."""
    radius = 2.5e-4
    away = 1.002 * radius / math.sin(math.pi / count) if count > 1 else radius  # of the strands from the axis
    wave = 2.0 * math.pi / pitch
    stretch = 1.0 + (away * wave) ** 2
    winding = np.array([wave / stretch, 0.0, -away * wave * wave / stretch])  # torsion; curvature, inward
    strands = []
    for k in range(count):
        angle = 2.0 * math.pi * k / count
        facing = np.array([math.cos(angle), math.sin(angle), 0.0])
        around = np.array([math.sin(angle), -math.cos(angle), 0.0])
        strands.append(
            Rod(
                length=0.12,
                radius=radius,
                density=1300.0,
                young=4e9 * (5e-5 / radius) ** 2,
                elements=elements,
                natural=winding * [1.0, 1.0, curl] * (1.0 + 0.1 * rng.normal(size=3)),
                strain=winding,
                position=np.asarray(place) + away * facing,
                tangent=away * wave * around + np.array([0.0, 0.0, -1.0]),
                normal=facing,
                support=support,
                damping=0.02,
                drag=10.0 * 1300.0 * math.pi * radius**2,
                segments=segments,
            )
        )
    return strands


@ranged
def brush(
    bristles: Annotated[int, Range(1, 1000, "bristles")] = 8,
    mu: Mu = 0.4,
    speed: Annotated[float, Range(-1.0, 1.0, "of the brush", "m/s")] = 0.1,
) -> Scene:
    """A brush dragged over a floor: its bristles bend, and slide with friction over pressure mu.

    Once all tips slide, the floor's force along the motion is mu times that across, whatever the bristles do.
    """
    scene = Scene(gravity=(0, 0, 0))
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    down, level = (speed, 0.0, -0.02), (speed, 0.0, 0.0)
    hand = Support(motion=Table((0.0, 0.1, 0.1001), (down, down, level)))
    scene.add_rods(
        [
            Rod(
                length=0.05,
                radius=5e-4,
                density=1100.0,
                young=1e8,
                elements=4,
                position=(0.0, 3e-3 * k, 0.0502),
                tangent=(-0.2, 0, -1),
                support=hand,
                damping=5e-3,
            )
            for k in range(bristles)
        ],
        name="brush",
    )
    scene.run = Run(duration=0.3, dt=1e-3, every=5, scheme={"name": "moreau-jean", "theta": 1.0})
    return scene
