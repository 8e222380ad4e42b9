"""A packing on one rank under MPI and without: prints by how much they differ."""

from __future__ import annotations

import json

import numpy as np

from clapas.distributed.communication import Ranks
from clapas.distributed.launch import world
from clapas.distributed.simulation import RankSimulation
from clapas.geometry.shapes import Plane, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import Simulation

STEPS, DT = 30, 2e-3

scene = Scene()
scene.law(mu=0.4)
scene.add(Plane(), name="floor")
for k, place in enumerate(np.ndindex(5, 5, 4)):
    centre = 0.105 * np.array(place) + 0.06 + 0.002 * np.array([k % 3, k % 5, 0])
    scene.add(Sphere(0.05 - 0.001 * (k % 7)), tuple(centre), density=1000)
model = compile_scene(scene)
alone, ranked = Simulation(model, DT), RankSimulation(model, DT, Ranks(world()))
for _ in range(STEPS):
    alone.step()
    ranked.step()
differences = {
    "position": float(np.abs(alone.state.position - ranked.state.position).max()),
    "velocity": float(np.abs(alone.state.velocity - ranked.state.velocity).max()),
    "work": abs(float(alone.work - ranked.work)),
}
print(json.dumps(differences))
