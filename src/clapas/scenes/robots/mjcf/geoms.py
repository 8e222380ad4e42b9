"""Geoms of MJCF: shapes that touch, and masses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from clapas.errors import SceneError
from clapas.geometry.shapes import Box, Capsule, Cylinder, Plane, Polyhedron, Shape, Sphere
from clapas.scenes.robots.description import Collision, Inertia, Pose
from clapas.scenes.robots.meshes import convex_parts, find_mesh, inertia_of
from clapas.scenes.robots.mjcf.frames import Frames, from_to
from clapas.scenes.robots.xml import Node

DENSITY = 1000.0
FRICTION = 1.0
GEOMS = ("plane", "sphere", "capsule", "cylinder", "box", "mesh", "ellipsoid", "hfield", "sdf")


@dataclass
class Geoms:
    """What geoms refer to: angles, warnings, meshes by name and the folders of files; and if they touch."""

    frames: Frames
    notes: list[str]
    folder: Path
    meshes: dict[str, Node] = field(default_factory=dict)
    meshdir: str = ""
    touch: bool = True

    def read(self, node: Node, of_world: bool = False) -> tuple[list[Collision], list[Inertia]]:
        """The shapes of a geom that touch things, and the masses of all of them."""
        group, mask = int(node.number("contype", 1)), int(node.number("conaffinity", 1))
        friction = node.numbers("friction", (FRICTION,))
        if int(node.number("condim", 3)) == 1:
            friction = (0.0,)
        if node.attributes.get("condim") not in ("4", "6"):
            node.used.add("condim")
        else:
            node.used.discard("condim")  # named as not used
        pose, shapes = self._shapes(node)
        density, total = node.number("density", DENSITY), node.number("mass") if node.has("mass") else None
        for name, number in (("density", density), ("mass", total)):
            if number is not None and not number >= 0.0:
                raise node.error(f"{name} must be at least 0, got {number:g}")
        collisions = [Collision(shape, pose, friction[0], group, mask) for shape in shapes]
        masses = []
        if any(isinstance(shape, Plane) for shape in shapes):
            if not of_world:
                raise node.error("a plane stands in <worldbody>, it cannot move")
        elif not of_world and (density if total is None else total) > 0.0:
            volume = sum(shape.volume for shape in shapes)
            amounts = [None if total is None else total * shape.volume / volume for shape in shapes]
            masses = [
                inertia_of(one, density, amount) for one, amount in zip(collisions, amounts, strict=True)
            ]
        return (collisions if self.touch and (group or mask) else []), masses

    def _shapes(self, node: Node) -> tuple[Pose, list[Shape]]:
        kind = node.choice("type", GEOMS, "sphere")
        if node.has("mesh") and kind != "mesh":
            raise node.error(f"a {kind} fitted to a mesh is not supported; write type='mesh', or its size")
        pose, half = self.frames.pose(node), None
        if node.has("fromto"):
            if kind not in ("capsule", "cylinder", "box"):
                raise node.error(f"fromto is for capsules, cylinders and boxes, not for a {kind}")
            pose, half = from_to(node, self.frames)
        size = node.numbers("size", ())
        need = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}.get(kind, 0) - (half is not None)
        if kind == "box" and half is not None:
            need = 1
        if len(size) < need:
            raise node.error(f"size of a {kind} must be at least {need} numbers, got {len(size)}")
        try:
            match kind:
                case "plane":
                    return pose, [Plane()]
                case "sphere":
                    return pose, [Sphere(size[0])]
                case "capsule":
                    return pose, [Capsule(size[0], 2.0 * (size[1] if half is None else half))]
                case "cylinder":
                    return pose, [Cylinder(size[0], 2.0 * (size[1] if half is None else half))]
                case "box":
                    if half is not None:
                        size = (size[0], size[1] if len(size) > 1 else size[0], half)
                    return pose, [Box(tuple(2.0 * x for x in size[:3]))]
                case "mesh":
                    return pose, self._mesh(node)
        except SceneError as error:
            raise node.error(str(error)) from None
        raise node.error(
            f"a geom of type {kind} is not supported; replace it by simple shapes or a convex mesh"
        )

    def _mesh(self, node: Node) -> list[Shape]:
        name = node.text("mesh")
        if name not in self.meshes:
            raise node.error(f"there is no mesh '{name}' in <asset>")
        asset = self.meshes[name]
        if asset.choice("inertia", ("convex", "exact", "legacy", "shell"), "legacy") == "shell":
            raise asset.error("a mesh with the inertia of a shell is not supported; give <inertial>")
        scale = asset.vector("scale", 3, (1.0, 1.0, 1.0))
        if asset.has("vertex"):
            values = asset.numbers("vertex")
            if len(values) < 12 or len(values) % 3:
                raise asset.error(
                    f"vertex must be at least 4 points, 3 numbers each, got {len(values)} numbers"
                )
            return [Polyhedron(np.reshape(values, (-1, 3)) * np.array(scale))]
        path = find_mesh(asset, str(self.folder / self.meshdir / asset.text("file")), {})
        parts, notes = convex_parts(asset, path, scale)
        self.notes += notes
        return list(parts)
