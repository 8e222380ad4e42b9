"""With the installed package a ball falls on a floor: it rests where it must, and its recording is read."""

import sys
from pathlib import Path

import clapas

assert "site-packages" in clapas.__file__, f"not the installed package: {clapas.__file__}"
scene = clapas.Scene()
scene.law(mu=0.5)
scene.add(clapas.Plane(), name="floor")
scene.add(clapas.Sphere(0.1), (0, 0, 0.11), density=2500, name="ball")
with clapas.simulate(scene, duration=0.2, dt=1e-3, out="ball.h5") as run:
    height = run.frame(-1).state.position[1, 2]
    assert abs(height - 0.1) < 1e-3, f"the ball rests at {height}, its radius is 0.1"
with clapas.Recording("ball.h5") as run:
    weight = 2500 * 4 / 3 * 3.141592653589793 * 0.1**3 * 9.81
    assert abs(abs(run.frame(-1).forces("floor")[2]) / weight - 1) < 1e-6
Path("ball.h5").unlink()
print(
    f"Python {sys.version_info.major}.{sys.version_info.minor}: a ball rests on the floor at {height:.4f} m"
)
