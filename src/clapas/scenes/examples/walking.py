"""Jansen's linkage: bars and pins that walk when a crank turns."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from clapas.dynamics.joints.laws import VelocityMotor
from clapas.geometry.shapes import Clump, Disk, HalfPlane, Polygon
from clapas.scenes.examples.mechanisms import Point2, bar_shape, in_layers
from clapas.scenes.examples.parameters import Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

# The thirteen lengths (Jansen 1991), here in metres with a crank of 0.15: frame, then bars by his letters.
FRAME = (0.38, 0.078)
BARS = {"b": 0.415, "c": 0.393, "d": 0.401, "e": 0.558, "f": 0.394, "g": 0.367}
BARS |= {"h": 0.657, "i": 0.49, "j": 0.5, "k": 0.619, "m": 0.15}
FOOT = 0.01  # radius


class Leg(NamedTuple):
    """Positions of the pins of a leg."""

    crank: Point2
    pivot: Point2
    top: Point2
    shoulder: Point2
    knee: Point2
    heel: Point2
    foot: Point2


def leg(angle: float, side: int) -> Leg:
    """The pins of a leg on the left (side −1) or the right (1), for a crank at this angle.

    >>> round(leg(0.0, -1).foot[1], 3)
    -0.918
    """
    m = BARS["m"]
    crank = (m * math.cos(angle), m * math.sin(angle))
    # A right leg is the mirror image of a left one.
    x, y = (side * -crank[0], crank[1])
    pivot = (-FRAME[0], -FRAME[1])
    top = _intersection((x, y), BARS["j"], pivot, BARS["b"], 1)
    knee = _intersection((x, y), BARS["k"], pivot, BARS["c"], -1)
    shoulder = _intersection(top, BARS["e"], pivot, BARS["d"], 1)
    heel = _intersection(shoulder, BARS["f"], knee, BARS["g"], 1)
    foot = _intersection(heel, BARS["h"], knee, BARS["i"], 1)
    pins = [(x, y), pivot, top, shoulder, knee, heel, foot]
    return Leg(*((-side * px, py) for px, py in pins))


def _intersection(p: Point2, r: float, q: Point2, s: float, sense: int) -> Point2:
    """Intersection of two circles: to the right of the line from p to q (sense 1), or to the left."""
    dx, dy = q[0] - p[0], q[1] - p[1]
    d = math.hypot(dx, dy)
    along = (r**2 - s**2 + d**2) / (2 * d)
    across = sense * math.sqrt(r**2 - along**2)
    return (p[0] + (along * dx + across * dy) / d, p[1] + (along * dy - across * dx) / d)


@ranged
def jansen_walker(
    rate: Annotated[float, Range(-20.0, 20.0, "speed of the crank", "rad/s")] = -2.0,
) -> Scene:
    """Six legs of Jansen's linkage walk: a crank turns, and the body hardly goes up and down.

    Pairs of legs are a third of a turn from each other. At each angle the lowest foot stands, and the body
    goes forward as much as that foot would go back: 1.418 m in a turn of a crank of 0.15 m, while it rises
    and sinks by 0.8 mm.
    """
    scene = Scene(d=2)
    scene.law(mu=1.0)
    bodies = [
        scene.add(
            Polygon([(-FRAME[0], -FRAME[1]), (FRAME[0], -FRAME[1]), (FRAME[0], 0.1), (-FRAME[0], 0.1)]),
            mass=5.0,
            name="body",
        ),
        scene.add(Disk(BARS["m"]), mass=1.0, name="crank"),
    ]
    scene.join("pin", "body", "crank", at=(0, 0), motor=VelocityMotor(rate), name="axle")
    lowest = math.inf
    for phase in range(3):
        for side in (-1, 1):
            pins = leg(2 * math.pi * phase / 3, side)
            lowest = min(lowest, pins.foot[1])
            bodies += _add_leg(scene, pins, f"{'left' if side < 0 else 'right'} {phase}")
    in_layers(scene, bodies)
    scene.add(HalfPlane((0, 1), lowest - FOOT), name="ground")
    scene.run = Run(duration=2 * math.pi / max(abs(rate), 0.1), dt=2e-3, every=10)
    return scene


def _add_leg(scene: Scene, pins: Leg, name: str) -> list[int]:
    """Two triangles and four bars, with their pins; numbers of the bodies."""
    hip = _triangle(pins.pivot, pins.top, pins.shoulder)
    shin = Clump([_triangle(pins.knee, pins.heel, pins.foot), (Disk(FOOT), pins.foot)])
    parts = [
        scene.add(hip, mass=0.2, name=f"hip {name}"),
        scene.add(shin, mass=0.2, name=f"shin {name}"),
    ]
    bars = {"j": ("crank", "top"), "k": ("crank", "knee"), "c": ("pivot", "knee"), "f": ("shoulder", "heel")}
    for letter, ends in bars.items():
        start, end = (getattr(pins, pin) for pin in ends)
        shape = bar_shape(BARS[letter], 0.02)
        turn = math.atan2(end[1] - start[1], end[0] - start[0])
        parts.append(scene.add(shape, start, turn, mass=0.1, name=f"{letter} {name}"))
    hip_body, shin_body, j, k, c, f = parts
    joined: list[tuple[str, int | str, int]] = [
        ("pivot", "body", hip_body),
        ("pivot", "body", c),
        ("crank", "crank", j),
        ("crank", "crank", k),
        ("top", j, hip_body),
        ("shoulder", hip_body, f),
        ("knee", k, c),
        ("knee", c, shin_body),
        ("heel", f, shin_body),
    ]
    for number, (pin, a, b) in enumerate(joined):
        scene.join("pin", a, b, at=getattr(pins, pin), name=f"{pin} {number} {name}")
    return parts


def _triangle(*corners: Point2) -> Polygon:
    (ax, ay), (bx, by), (cx, cy) = corners
    turns_left = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0.0
    return Polygon(corners if turns_left else corners[::-1])
