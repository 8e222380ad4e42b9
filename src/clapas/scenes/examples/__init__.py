"""Shipped scenes: short, documented, each with a known analytical result.

>>> names()[:3]
('bouncing-ball', 'sliding-block', 'rolling-ball')
>>> load("bouncing-ball")
Scene(2 bodies in 3-D)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clapas.errors import SceneError
from clapas.scenes.examples import (
    blocks,
    elastic,
    grains,
    hair,
    knots,
    layers,
    masonry,
    mechanisms,
    piles,
    robots,
    silos,
    single,
    tensegrity,
    walking,
)
from clapas.scenes.examples.biaxial import biaxial
from clapas.scenes.examples.drum import rough_drum
from clapas.scenes.examples.heap import heap
from clapas.scenes.examples.ledge import ledge
from clapas.scenes.examples.parameters import Parameter, of
from clapas.scenes.examples.shear import shear_cell
from clapas.scenes.robots import is_robot_file, robot_scene
from clapas.scenes.scene import Scene

_SCENES: dict[str, Callable[..., Scene]] = {
    "bouncing-ball": single.bouncing_ball,
    "sliding-block": single.sliding_block,
    "rolling-ball": single.rolling_ball,
    "two-block-stack": single.two_block_stack,
    "rocking-block": single.rocking_block,
    "dominoes": blocks.dominoes,
    "stone-arch": blocks.stone_arch,
    "wall-of-boxes": blocks.wall_of_boxes,
    "buttressed-arch": masonry.buttressed_arch,
    "settling-wall": masonry.settling_wall,
    "dome": masonry.dome,
    "wedged-bar": blocks.wedged_bar,
    "pile-of-disks": piles.pile_of_disks,
    "pile-of-balls": piles.pile_of_balls,
    "box-of-spheres": grains.box_of_spheres,
    "heap": heap,
    "hopper": grains.hopper,
    "flat-hopper": silos.flat_hopper,
    "silo": silos.silo,
    "tilted-layer": layers.tilted_layer,
    "ledge": ledge,
    "shear-cell": shear_cell,
    "biaxial": biaxial,
    "rotating-drum": grains.rotating_drum,
    "rough-drum": rough_drum,
    "vibrating-plate": grains.vibrating_plate,
    "tensegrity-ball": tensegrity.tensegrity_ball,
    "tensegrity-grid": tensegrity.tensegrity_grid,
    "tensegrity-deployment": tensegrity.tensegrity_deployment,
    "elastic-bar": elastic.elastic_bar,
    "elastic-block": elastic.elastic_block,
    "pulled-square": elastic.pulled_square,
    "elastic-ring": elastic.elastic_ring,
    "pendulum": mechanisms.pendulum,
    "double-pendulum": mechanisms.double_pendulum,
    "four-bar": mechanisms.four_bar,
    "slider-crank": mechanisms.slider_crank,
    "chain-on-pulley": mechanisms.chain_on_pulley,
    "jansen-walker": walking.jansen_walker,
    "passive-walker": robots.passive_walker,
    "gripper": robots.gripper,
    "robot-arm": robots.robot_arm,
    "tippe-top": robots.tippe_top,
    "hair": hair.hair,
    "strands": hair.strands,
    "brush": hair.brush,
    "capstan": hair.capstan,
    "winch": hair.winch,
    "knot": knots.knot,
}


def names() -> tuple[str, ...]:
    """Names of the shipped scenes."""
    return tuple(_SCENES)


def summary(name: str) -> str:
    """One-line summary of a shipped scene."""
    return (_SCENES[name].__doc__ or "").strip().splitlines()[0]


def parameters(name: str) -> dict[str, Parameter]:
    """Parameters of a shipped scene, with their types, defaults and ranges; none for a scene file.

    >>> str(parameters("bouncing-ball")["restitution"].range)
    'from 0 to 1'
    """
    return of(_SCENES[name]) if name in _SCENES else {}


def arch_file() -> Path:
    """Path of a small arch of blocks as OBJ, as modelling programs write it.

    Eleven voussoirs 0.4 m thick and 0.6 m deep, mean radius 2 m, between two supports.

    >>> arch_file().name
    'arch.obj'
    """
    return Path(__file__).parent / "arch.obj"


def load(name: str, **values: Any) -> Scene:
    """A shipped scene by its name, with some of its parameters, or a scene or robot file by its path."""
    if name in _SCENES:
        return _SCENES[name](**values)
    if is_robot_file(name):
        return robot_scene(name)
    if Path(name).suffix in {".toml", ".yaml", ".yml"} or Path(name).exists():
        return Scene.load(name)
    near = difflib.get_close_matches(name, _SCENES, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "'clapas examples' lists the shipped scenes"
    raise SceneError(f"no scene file and no shipped scene is called '{name}': {hint}")
