"""Scenes that come with the package: each short, documented, with a number known on paper.

>>> names()[:3]
('bouncing-ball', 'sliding-block', 'two-block-stack')
>>> load("bouncing-ball")
Scene(2 bodies in 3-D)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from clapas.dynamics.examples import blocks, grains, single
from clapas.dynamics.scene import Scene
from clapas.errors import SceneError

_SCENES: dict[str, Callable[[], Scene]] = {
    "bouncing-ball": single.bouncing_ball,
    "sliding-block": single.sliding_block,
    "two-block-stack": single.two_block_stack,
    "rocking-block": single.rocking_block,
    "dominoes": blocks.dominoes,
    "stone-arch": blocks.stone_arch,
    "wall-of-boxes": blocks.wall_of_boxes,
    "wedged-bar": blocks.wedged_bar,
    "box-of-spheres": grains.box_of_spheres,
    "heap": grains.heap,
    "hopper": grains.hopper,
    "rotating-drum": grains.rotating_drum,
    "vibrating-plate": grains.vibrating_plate,
}


def names() -> tuple[str, ...]:
    """Names of the shipped scenes."""
    return tuple(_SCENES)


def summary(name: str) -> str:
    """What a shipped scene shows, in one line."""
    return (_SCENES[name].__doc__ or "").strip().splitlines()[0]


def load(name: str) -> Scene:
    """A shipped scene by its name, or a scene file by its path."""
    if name in _SCENES:
        return _SCENES[name]()
    if Path(name).suffix in {".toml", ".yaml", ".yml"} or Path(name).exists():
        return Scene.load(name)
    near = difflib.get_close_matches(name, _SCENES, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "'clapas examples' lists the shipped scenes"
    raise SceneError(f"no scene file and no shipped scene is called '{name}': {hint}")
