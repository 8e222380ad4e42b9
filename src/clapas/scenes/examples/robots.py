"""Machines that walk, grip and push."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Annotated

from clapas.dynamics.joints.laws import Servo, VelocityMotor
from clapas.dynamics.motions import ConstantVelocity
from clapas.geometry.shapes import Box, Clump, Disk, Plane, Point, Polygon, Sphere
from clapas.scenes.examples.mechanisms import bar_shape
from clapas.scenes.examples.parameters import Mu, Range, ranged
from clapas.scenes.run import Run
from clapas.scenes.scene import Scene

G = 9.81
# The gait of the simplest walker on a slope of 0.009 (Garcia, Chatterjee, Ruina, Coleman 1998): angle of the
# standing leg and its rate in units of √(g/l) just after the step.
SLOPE, LEAN, RATE = 0.009, 0.200310900544287, -0.199832473004977


@ranged
def passive_walker(
    steps: Annotated[int, Range(1, 50, "steps for which there are stones")] = 6,
    feet: Annotated[float, Range(1e-6, 0.1, "mass of a foot over that of the hip")] = 1e-5,
) -> Scene:
    """The simplest walker goes down a slope of half a degree, without motors.

    A hip, two legs without mass, two small feet, no knees (Garcia et al. 1998). For light feet a step takes
    3.88 √(l/g) = 1.24 s and is 2 l sin 0.2003 = 0.40 m long. As in the paper a foot passes the other without
    scuffing: each has its own stones. x is along the slope.
    """
    length, size = 1.0, 1e-4
    pace = math.sqrt(G / length)
    scene = Scene(d=2, gravity=(G * math.sin(SLOPE), -G * math.cos(SLOPE)))
    scene.law(mu=1.0)
    lean, rate = LEAN, RATE * pace
    stride = 2 * length * math.sin(lean)
    arm = length - size  # from the hip to the middle of a foot
    hip = (-arm * math.sin(lean), size + arm * math.cos(lean))
    hip_velocity = (-rate * arm * math.cos(lean), -rate * arm * math.sin(lean))
    scene.add(Point(2), hip, velocity=hip_velocity, mass=1.0, inertia=0.01, name="hip")
    turned = rate - (1 - math.cos(2 * lean)) * rate  # of the swinging leg
    shape = Clump([(Disk(size), (0, -arm)), (bar_shape(0.9 * arm, 0.01), (0, 0), -math.pi / 2)])
    for name, angle, spin in (("standing", lean, rate), ("swinging", -lean, turned)):
        velocity = (
            hip_velocity[0] + spin * arm * math.cos(angle),
            hip_velocity[1] + spin * arm * math.sin(angle),
        )
        scene.add(
            shape,
            hip,
            angle,
            velocity,
            spin,
            mass=feet,
            inertia=1e-5 * feet * length**2,
            centre=(0, -arm),
            name=name,
        )
        scene.join("pin", "hip", name, at=hip, name=f"hip of {name}")
    scene.ignore("standing", "swinging")
    half = 0.15 * stride
    stone = Polygon([(-half, -0.02), (half, -0.02), (half, 0), (-half, 0)])
    for k in range(-1, steps + 1):
        here = scene.add(stone, (k * stride, 0), fixed=True, name=f"stone {k + 1}")
        scene.ignore(here, "swinging" if k % 2 == 0 else "standing")
    scene.run = Run(duration=3.9 * steps / pace, dt=1e-3, every=20, solver={"tol": 1e-9})
    return scene


@ranged
def gripper(
    mu: Mu = 0.5,
    force: Annotated[float, Range(1e-3, 1e6, "force of each finger", "N")] = 10.0,
    speed: Annotated[float, Range(0.0, 10.0, "speed of the lift", "m/s")] = 0.1,
) -> Scene:
    """Two fingers press a box and lift it by friction; it falls below mu = m g/(2 F).

    With a box of 0.5 kg and 10 N per finger the limit is 0.24525. Above it the box does not slip at all,
    however long it is held. Fingertips are round: the forces at a point are determined, those at the corners
    of a flat one are not (:mod:`clapas.dynamics.evenness`).
    """
    scene = Scene()
    scene.law(mu=mu)
    scene.add(Box((0.06, 0.06, 0.06)), (0, 0, 0.03), mass=0.5, name="box")
    for name, side in (("left", -1.0), ("right", 1.0)):
        scene.add(
            Sphere(0.01),
            (side * 0.04, 0, 0.03),
            mass=0.1,
            free="x",
            motion=ConstantVelocity((0, 0, speed)),
            force=(-side * force, 0, 0),
            name=name,
        )
    scene.run = Run(duration=1.0, dt=1e-3, every=10, solver={"tol": 1e-10})
    return scene


@ranged
def robot_arm(
    mu: Mu = 0.5, speed: Annotated[float, Range(1e-3, 1.0, "speed of the carriage", "m/s")] = 0.1
) -> Scene:
    """A robot arm, read from a URDF file, pushes a box along the floor.

    Its carriage goes at a constant speed, its joints are held by servos. Once the box slides the smooth
    paddle presses it with mu m g: 9.81 N for 2 kg and 0.5.
    """
    scene = Scene()
    scene.material("steel")
    scene.law(mu=mu)
    scene.law("steel", "default", mu=0.0)  # or the paddle would carry some of the weight
    scene.add(Plane(), name="floor")
    scene.load_robot(
        str(files("clapas.scenes.examples") / "arm.urdf"),
        material="steel",
        motors={
            "rail": VelocityMotor(speed, 1e3),
            "turret": Servo(0.0, 400.0, 40.0),
            "elbow": Servo(0.0, 400.0, 40.0),
        },
    )
    scene.add(Box((0.2, 0.2, 0.2)), (0.72, 0, 0.1), mass=2.0, name="box")
    scene.run = Run(duration=2.0, dt=1e-3, every=10, solver={"tol": 1e-8})
    return scene


@ranged
def tippe_top(
    spin: Annotated[float, Range(0.0, 1e3, "spin about its axis at the start", "rad/s")] = 150.0,
    mu: Mu = 0.3,
) -> Scene:
    """A top that turns over and spins on its head: sliding friction lifts its centre of mass.

    A ball whose centre of mass is 0.2 radii below its middle. While it slides on a point, friction keeps
    Jellett's number, minus the angular momentum along the line from the centre of mass to the contact.
    """
    radius, mass, shift = 0.02, 0.02, 0.2
    inertia = 0.4 * mass * radius**2
    tilt = 0.1
    turn = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    scene = Scene()
    scene.law(mu=mu)
    scene.add(Plane(), name="floor")
    scene.add(
        Sphere(radius),
        (0, 0, radius),
        turn,
        angular_velocity=(0.0, -spin * math.sin(tilt), spin * math.cos(tilt)),
        mass=mass,
        inertia=(inertia, inertia, inertia),
        centre=(0, 0, -shift * radius),
        name="top",
    )
    scene.run = Run(duration=4.0, dt=5e-4, every=20, solver={"tol": 1e-9}, scheme={"projection": 0.2})
    return scene
