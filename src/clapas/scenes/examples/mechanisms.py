"""Mechanisms in the plane: bars, pins and what they drive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Annotated

from clapas.dynamics.motions import ConstantVelocity
from clapas.geometry.shapes import Disk, Polygon
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

Point2 = tuple[float, float]
Angle = Annotated[float, Range(-math.pi, math.pi, "angle at the start", "rad")]
Speed = Annotated[float, Range(-1e3, 1e3, "speed of the crank", "rad/s")]


def bar_shape(length: float, width: float) -> Polygon:
    """A bar from the origin along x."""
    half = width / 2
    return Polygon([(0, -half), (length, -half), (length, half), (0, half)])


def add_bar(scene: Scene, start: Point2, end: Point2, name: str, *, mass: float, width: float = 0.02) -> int:
    """Add a bar between two points; its own frame is at the first, along it."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    shape = bar_shape(math.hypot(dx, dy), width)
    return scene.add(shape, start, math.atan2(dy, dx), mass=mass, name=name)


def in_layers(scene: Scene, bodies: Sequence[int]) -> None:
    """Let bodies pass each other, as bars do that lie in different layers."""
    for a, b in combinations(bodies, 2):
        scene.ignore(a, b)


@ranged
def pendulum(angle: Angle = 1.5) -> Scene:
    """A ball on a pin swings; large swings last longer.

    With k = sin(angle/2) and K the complete elliptic integral the period is 4 K(k) √(J/(m g l)), J the
    inertia about the pin: 2.33 s instead of the 2.01 s of small swings.
    """
    scene = Scene(d=2)
    scene.law(mu=0.3)
    where = (math.sin(angle), -math.cos(angle))
    scene.add(Disk(0.1), where, mass=1.0, name="ball")
    scene.join("pin", None, "ball", at=(0, 0), name="pin")
    scene.probe("position", "ball", name="way")
    scene.run = Run(duration=5.0, dt=2e-3, every=5)
    return scene


@ranged
def double_pendulum(angle: Angle = 2.0) -> Scene:
    """Two bars, one hanging from the other: chaos that keeps its energy.

    The energy of the start, −2 m g l cos angle for bars of 1 m and 1 kg drawn aside together, is kept for
    ever, though two such pendulums let go 1 nm apart soon have nothing in common.
    """
    scene = Scene(d=2)
    scene.law(mu=0.3)
    x, y = math.sin(angle), -math.cos(angle)
    upper = add_bar(scene, (0, 0), (x, y), "upper", mass=1.0, width=0.04)
    lower = add_bar(scene, (x, y), (2 * x, 2 * y), "lower", mass=1.0, width=0.04)
    in_layers(scene, (upper, lower))
    scene.join("pin", None, "upper", at=(0, 0), name="shoulder")
    scene.join("pin", "upper", "lower", at=(x, y), name="elbow")
    scene.run = Run(duration=10.0, dt=1e-3, every=20)
    return scene


@ranged
def four_bar(speed: Speed = 2.0) -> Scene:
    """A crank that turns round and round makes a rocker swing.

    Crank 1 m, coupler 3 m, rocker 2.5 m, frame 3 m. The rocker turns back where crank and coupler are in
    line: cos ψ = (3² + 2.5² − (3 ± 1)²)/(2·3·2.5), so it swings by 51.46° each turn.
    """
    crank, coupler, rocker, frame = 1.0, 3.0, 2.5, 3.0
    scene = Scene(d=2)
    scene.law(mu=0.3)
    reach = frame - crank  # from the pin of the crank to that of the rocker, at angle 0
    along = (coupler**2 - rocker**2 + reach**2) / (2 * reach)
    knee = (crank + along, math.sqrt(coupler**2 - along**2))
    turning = scene.add(bar_shape(crank, 0.1), motion=ConstantVelocity((0, 0), speed), name="crank")
    linking = add_bar(scene, (crank, 0), knee, "coupler", mass=3.0, width=0.1)
    rocking = add_bar(scene, (frame, 0), knee, "rocker", mass=2.5, width=0.1)
    in_layers(scene, (turning, linking, rocking))
    scene.join("pin", "crank", "coupler", at=(crank, 0), name="crank pin")
    scene.join("pin", "coupler", "rocker", at=knee, name="knee")
    scene.join("pin", None, "rocker", at=(frame, 0), name="pivot")
    scene.run = Run(duration=2 * math.pi / max(abs(speed), 1e-3), dt=2e-3, every=5)
    return scene


@ranged
def slider_crank(speed: Speed = 10.0) -> Scene:
    """A flywheel drives a piston through a rod; nobody drives the flywheel.

    Without gravity the energy ½ J(θ) θ'² is kept, J the inertia of all parts seen from the crank. One turn
    takes ∮ √J dθ/√(2E): 0.583 s if it goes at 10 rad/s where the crank is across.
    """
    crank, rod = 0.2, 0.5
    scene = Scene(d=2, gravity=(0, 0))
    scene.law(mu=0.0)
    top, piston = (0.0, crank), (math.sqrt(rod**2 - crank**2), 0.0)
    # With the crank across, the rod does not turn: all pins have the same velocity.
    along = (-crank * speed, 0.0)
    wheel = scene.add(Disk(0.25), mass=5.0, angular_velocity=speed, name="flywheel")
    linking = scene.add(bar_shape(rod, 0.04), top, math.atan2(-crank, piston[0]), along, mass=1.0, name="rod")
    sliding = scene.add(
        Polygon([(-0.08, -0.05), (0.08, -0.05), (0.08, 0.05), (-0.08, 0.05)]),
        piston,
        velocity=along,
        mass=1.0,
        name="piston",
    )
    in_layers(scene, (wheel, linking, sliding))
    scene.join("pin", None, "flywheel", at=(0, 0), name="axle")
    scene.join("pin", "flywheel", "rod", at=top, name="crank pin")
    scene.join("pin", "rod", "piston", at=piston, name="piston pin")
    scene.join("slider", None, "piston", at=piston, axis=(1, 0), name="cylinder")
    scene.run = Run(duration=2.0, dt=1e-3, every=10)
    return scene


@ranged
def chain_on_pulley(
    links: Annotated[int, Range(20, 400, "links of the chain")] = 50,
    more: Annotated[int, Range(0, 100, "links that hang on one side more than on the other")] = 10,
    mu: Mu = 0.3,
) -> Scene:
    """A chain of 50 links hangs over a pulley that does not turn, by friction alone.

    On the pulley the tension grows at most as dT/dφ = mu (T + w r sin φ) + w r cos φ, w the weight per
    length (Euler, Eytelwein, for a heavy chain): 12 links hold 22 down to mu = 0.138, which slide below.
    """
    on, length, width, weight = 16, 0.1, 0.02, 0.1
    step = math.pi / on
    radius = length / (2 * math.sin(step / 2))  # of the pins
    scene = Scene(d=2)
    scene.law(mu=mu)
    scene.add(Disk(radius * math.cos(step / 2) - width / 2), fixed=True, name="pulley")
    hanging = links - on
    left = max(0, min(hanging, (hanging + more) // 2))
    pins = [(-radius, -length * k) for k in range(left, 0, -1)]
    pins += [(-radius * math.cos(step * k), radius * math.sin(step * k)) for k in range(on + 1)]
    pins += [(radius, -length * k) for k in range(1, hanging - left + 1)]
    bars = [
        add_bar(scene, start, end, f"link {k}", mass=weight, width=width)
        for k, (start, end) in enumerate(pairwise(pins))
    ]
    in_layers(scene, bars)
    for k in range(len(bars) - 1):
        scene.join("pin", bars[k], bars[k + 1], at=pins[k + 1], name=f"pin {k}")
    scene.run = Run(duration=1.0, dt=1e-3, every=10)
    return scene
