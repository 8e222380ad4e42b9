"""Pictures of the shipped scenes, each run for a moment: ``python docs/make_gallery.py [NAME …]``.

The pictures are part of the repository, so that building the documentation runs nothing. A new scene
needs one run of this script; a test says so.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from PIL import Image

from clapas.io.simulation import simulate
from clapas.scenes import examples
from clapas.viewer import pictures

FOLDER = Path(__file__).parent / "_static" / "scenes"
SIZE = (640, 420)
COLOURS = 64  # of a picture on disk


class Shot(NamedTuple):
    """How a scene is best seen: until when, from where, coloured by what, with which parameters."""

    duration: float = 0.1
    view: str = "oblique"
    colour: str = "speed"
    parameters: Mapping[str, Any] = MappingProxyType({})


SHOTS = {
    "bouncing-ball": Shot(0.7),
    "sliding-block": Shot(0.3),
    "rolling-ball": Shot(0.4),
    "two-block-stack": Shot(0.02, colour="pressure"),
    "rocking-block": Shot(0.3),
    "dominoes": Shot(0.42),
    "stone-arch": Shot(0.02, colour="pressure"),
    "wall-of-boxes": Shot(0.02, colour="pressure"),
    "buttressed-arch": Shot(0.02, colour="pressure"),
    "settling-wall": Shot(0.4),
    "dome": Shot(0.02, colour="pressure"),
    "wedged-bar": Shot(0.02, colour="pressure"),
    "pile-of-disks": Shot(0.02, colour="pressure"),
    "pile-of-balls": Shot(0.02, colour="pressure"),
    "box-of-spheres": Shot(0.35, colour="contacts", parameters={"count": 200}),
    "heap": Shot(0.6, colour="birth", parameters={"grains": 400, "rate": 1000.0}),
    "hopper": Shot(0.5),
    "flat-hopper": Shot(0.5),
    "silo": Shot(0.3, colour="pressure"),
    "tilted-layer": Shot(0.3),
    "rotating-drum": Shot(0.6),
    "vibrating-plate": Shot(0.3),
    "ledge": Shot(0.7),
    "shear-cell": Shot(1.2),
    "biaxial": Shot(0.3, colour="pressure"),
    "rough-drum": Shot(1.5),
    "hair": Shot(0.3, colour="curvature", parameters={"rods": 20}),
    "strands": Shot(0.3, colour="curvature"),
    "brush": Shot(0.3, colour="curvature"),
    "capstan": Shot(0.05, colour="curvature"),
    "winch": Shot(0.9, colour="curvature"),
    "knot": Shot(0.3, colour="curvature"),
    "tensegrity-ball": Shot(0.42, colour="force"),
    "tensegrity-grid": Shot(0.05, colour="force"),
    "tensegrity-deployment": Shot(0.5, colour="force"),
    "elastic-bar": Shot(0.12, colour="von Mises"),
    "elastic-block": Shot(0.4, colour="von Mises"),
    "pulled-square": Shot(0.3, colour="von Mises"),
    "elastic-ring": Shot(0.5, colour="von Mises"),
    "pendulum": Shot(0.3),
    "double-pendulum": Shot(0.4),
    "four-bar": Shot(0.5),
    "slider-crank": Shot(0.1),
    "chain-on-pulley": Shot(0.02, colour="pressure"),
    "jansen-walker": Shot(0.1),
    "passive-walker": Shot(0.4),
    "gripper": Shot(0.2),
    "robot-arm": Shot(0.3),
    "tippe-top": Shot(0.1),
}


def photograph(name: str) -> Path:
    """Run a scene and write its picture."""
    shot = SHOTS.get(name, Shot())
    scene = examples.load(name, **shot.parameters)
    path = FOLDER / f"{name}.png"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.h5"
        with simulate(scene, shot.duration, out=out, on_unsolved="record") as run:
            pictures.snapshot(run, path, view=shot.view, colour=shot.colour, size=SIZE)
    compress(path)
    return path


def compress(path: Path) -> None:
    """Write a picture again with few colours."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLOURS)
    small.save(path, optimize=True)


def main(names: list[str]) -> None:
    """Photograph the scenes named, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or examples.names():
        path = photograph(name)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
