"""Blocks from files: one body per object, group or connected piece.

A block is convex: its shape is the hull of its corners. Pieces that are not convex by more than 1 % of
their volume are named in a warning, or cut into convex parts: exactly where faces are few, else by CoACD (Wei
and others 2022). Files keep 6 or 7 digits, so blocks that touch in the drawing overlap or are apart by that
rounding: a scene without an ``overlap`` gets one of 1e-5 of the smallest block.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clapas.errors import MissingDependency, SceneError, known_keywords, warn
from clapas.geometry import checks
from clapas.geometry.convex_parts import exact_parts
from clapas.geometry.meshfiles import MeshFile, read_objects
from clapas.geometry.meshfiles.contents import Axis
from clapas.geometry.pieces import SolidPiece, split
from clapas.geometry.shapes import Clump, Plane, Polyhedron, Shape
from clapas.scenes.materials import DEFAULT
from clapas.scenes.run import Run
from clapas.typing import Array

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

CONVEX = 0.01  # relative excess of the hull volume above which a warning is given
FLATNESS = 1e-5  # relative to the block size: corners closer to the plane of a face belong to it
TOUCHING = 1e-5  # relative to the smallest block: rounding of coordinates in files
LARGE = 150.0  # m: a longer structure suggests millimetres read as metres
SMALL = 0.02  # m
TURNS = {"x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)), "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0))}

SUPPORT = "support"  # prefix of the names of supports, unless others are named

NonConvex = Literal["hull", "parts"]


@dataclass(frozen=True)
class Block:
    """A piece of a file, in metres and with z upwards.

    Parameters
    ----------
    name : str
        Unique in the file.
    piece : SolidPiece
        Its surface.
    is_support : bool
        Whether the file marks it as a support.
    """

    name: str
    piece: SolidPiece
    is_support: bool = False

    @property
    def is_convex(self) -> bool:
        """Whether its hull is larger by at most 1 %; False for surfaces that are not closed."""
        return bool(self.piece.excess <= CONVEX)


@dataclass(frozen=True)
class BlockFile:
    """The blocks of a file, and warnings about them.

    Parameters
    ----------
    path : Path
        The file.
    blocks : tuple of Block
        In the order of the file.
    scale : float
        Metres per unit of the file.
    up : str
        Vertical axis of the file.
    writer : str
        The program that wrote the file, if its vertical axis was assumed; "" otherwise.
    flat : tuple of str
        Objects with pieces of zero volume, which were left out.
    """

    path: Path
    blocks: tuple[Block, ...]
    scale: float
    up: Axis
    writer: str = ""
    flat: tuple[str, ...] = ()

    @property
    def extent(self) -> Array:
        """Overall lengths along x, y and z, (3,) (m)."""
        low = np.min([block.piece.vertices.min(axis=0) for block in self.blocks], axis=0)
        high = np.max([block.piece.vertices.max(axis=0) for block in self.blocks], axis=0)
        return np.asarray(high - low)

    def remarks(self) -> list[str]:
        """Warnings about likely mistakes: units, vertical axis, convexity."""
        notes = []
        size, name = float(self.extent.max()), self.path.name
        if size > LARGE:
            notes.append(
                f"{name} is {size:.4g} m long with {self.scale:g} m per unit: if its numbers are "
                f"millimetres, give scale={1e-3 * self.scale:g} (--scale)"
            )
        elif size < SMALL:
            notes.append(
                f"{name} is only {size:.4g} m long with {self.scale:g} m per unit: give scale=… (--scale …, "
                "metres per unit) if that is not meant"
            )
        if self.writer:
            notes.append(
                f"{name} is by {self.writer}, which writes y upwards unless told otherwise, and is read with "
                f"{self.up} upwards: give up='y' (--up y) if it lies on its side, up='{self.up}' if it does "
                "not"
            )
        nonconvex = [block for block in self.blocks if block.piece.is_closed and not block.is_convex]
        if nonconvex:
            worst = max(nonconvex, key=lambda block: block.piece.excess)
            notes.append(
                f"{name}: {_counted(nonconvex)} not convex, most of all '{worst.name}' (volume "
                f"{worst.piece.volume:.4g} m³, its hull {worst.piece.hull_volume:.4g}): the hull is taken; "
                "nonconvex='parts' (--nonconvex parts) cuts such pieces into convex parts"
            )
        unclosed = [block for block in self.blocks if not block.piece.is_closed]
        if unclosed:
            notes.append(
                f"{name}: {_counted(unclosed)} not closed (first '{unclosed[0].name}'): the hull is taken, "
                "and whether it is convex cannot be told"
            )
        if self.flat:
            pieces = "a piece" if len(self.flat) == 1 else f"{len(self.flat)} pieces"
            notes.append(f"{name}: {pieces} without a volume left out (first of '{self.flat[0]}')")
        return notes


def _counted(blocks: Sequence[Block]) -> str:
    return f"{len(blocks)} block{' is' if len(blocks) == 1 else 's are'}"


def read_blocks(
    path: str | os.PathLike[str], *, scale: float | None = None, up: Axis | None = None
) -> BlockFile:
    """The blocks of a file: one per object, group or connected piece.

    Parameters
    ----------
    path : path
        OBJ, STL, PLY, glTF, DXF, or JSON of COMPAS.
    scale : float, optional
        Metres per unit: 0.001 for millimetres. By default what the file says (glTF, DXF), otherwise 1.
    up : "x", "y" or "z", optional
        The axis of the file that points upwards; by default y for glTF, z otherwise. It becomes z.
    """
    file = read_objects(path)
    factor = checks.positive("blocks", "scale", _scale(file) if scale is None else scale)
    axis: Axis = file.up if up is None else up
    if axis not in ("x", "y", "z"):
        raise SceneError(f"blocks: up must be x, y or z, got {up!r}")
    turn = np.array(TURNS.get(axis, np.eye(3)), dtype=float)
    blocks: list[Block] = []
    taken: set[str] = set()
    flat: list[str] = []
    for each in file.objects:
        pieces = split(each.vertices * factor @ turn.T, each.triangles)
        solids = [piece for piece in pieces if piece.hull_volume > 0.0]
        base = each.name or "block"
        flat += [base] * (len(pieces) - len(solids))
        is_alone = len(solids) == 1 and bool(each.name)
        for k, piece in enumerate(solids):
            name = _unique(base if is_alone else f"{base} {k}", taken)
            blocks.append(Block(name, piece, each.is_support))
    if not blocks:
        raise SceneError(f"{file.path}: no piece of it has a volume; blocks are solids")
    writer = file.writer if up is None else ""
    return BlockFile(file.path, tuple(blocks), factor, axis, writer, tuple(flat))


def _scale(file: MeshFile) -> float:
    return 1.0 if file.unit is None else file.unit


def _unique(name: str, taken: set[str]) -> str:
    candidate, k = name, 1
    while candidate in taken:
        candidate, k = f"{name} {k}", k + 1
    taken.add(candidate)
    return candidate


@known_keywords
def add_blocks(
    scene: Scene,
    path: str | os.PathLike[str],
    *,
    scale: float | None = None,
    up: Axis | None = None,
    position: Sequence[float] | None = None,
    material: str = DEFAULT,
    density: float | None = None,
    fixed: str | Iterable[str] = (),
    nonconvex: NonConvex = "hull",
    prefix: str = "",
    group: str | None = None,
) -> list[int]:
    """Add the blocks of a file, one body per object, group or connected piece; returns their numbers.

    Names are kept; pieces of an object get numbers after its name. A warning names likely mistakes:
    pieces that are not convex or not closed, millimetres taken for metres. If the scene has no
    ``overlap`` it becomes 1e-5 of the smallest block, since files keep 6 or 7 digits.

    Parameters
    ----------
    path : path
        OBJ, STL, PLY, glTF (.gltf, .glb), DXF (3DFACE, polyface, MESH), or JSON of COMPAS.
    scale : float, optional
        Metres per unit of the file: 0.001 for millimetres. By default what the file says (glTF, DXF),
        otherwise 1.
    up : "x", "y" or "z", optional
        The axis of the file that points upwards, which becomes z; by default y for glTF, z otherwise.
    position : 3 floats, optional
        Where to put the origin of the file (m).
    material, density
        As in :meth:`add`.
    fixed : str or sequence of str
        Names of the blocks that never move, with * for any letters: "support*". Blocks that COMPAS
        marks as supports are fixed too.
    nonconvex : "hull" or "parts"
        A piece that is not convex becomes its convex hull, or a clump of convex parts (needs CoACD:
        ``pip install 'clapas[convex]'``).
    prefix : str
        Put before every name, to add a file twice.
    group : str, optional
        By default the name of the file.

    Examples
    --------
    The arch that comes with the package:

    >>> from clapas import Scene
    >>> from clapas.scenes.examples import arch_file
    >>> scene = Scene()
    >>> numbers = scene.add_blocks(arch_file(), density=2000, fixed="support*")
    >>> len(numbers), scene.bodies[0].name
    (13, 'support_left')
    """
    if scene.d != 3:
        raise SceneError(
            "blocks from files are solids and need a scene in 3-D; in 2-D add polygons: "
            "scene.add(Polygon(corners))"
        )
    if nonconvex not in ("hull", "parts"):
        raise SceneError(f"blocks: nonconvex must be 'hull' or 'parts', got {nonconvex!r}")
    file = read_blocks(path, scale=scale, up=up)
    cut = nonconvex == "parts"
    for remark in file.remarks():
        if not (cut and "not convex" in remark):
            warn(remark)
    patterns = [fixed] if isinstance(fixed, str) else list(fixed)
    _require_matches(file, patterns)
    numbers = []
    for block in file.blocks:
        is_fixed = block.is_support or any(fnmatchcase(block.name, pattern) for pattern in patterns)
        shape = _parts(block) if cut and block.piece.is_closed and not block.is_convex else _hull(block)
        numbers.append(
            scene.add(
                shape,
                position,
                material=material,
                density=density,
                fixed=is_fixed,
                name=prefix + block.name,
                group=file.path.stem if group is None else group,
            )
        )
    if scene.overlap is None:
        scene.overlap = TOUCHING * min(float(block.piece.extent.max()) for block in file.blocks)
    return numbers


def _require_matches(file: BlockFile, patterns: Sequence[str]) -> None:
    names = [block.name for block in file.blocks]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            few = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            hint = checks.did_you_mean(pattern, names)
            raise SceneError(f"{file.path}: no block is called '{pattern}'{hint}; there are {few}")


def _hull(block: Block) -> Polyhedron:
    return Polyhedron(block.piece.vertices, FLATNESS)


def _parts(block: Block) -> Shape:
    """A piece that is not convex as a clump of convex parts, exact if its faces are few, else by CoACD."""
    exact = exact_parts(block.piece)
    if exact is not None:
        return Clump([Polyhedron(corners, FLATNESS) for corners in exact])
    try:
        coacd: Any = import_module("coacd")
    except ImportError:
        raise MissingDependency("coacd", "convex", "Cutting blocks of many faces into convex parts") from None
    coacd.set_log_level("error")
    mesh = coacd.Mesh(block.piece.vertices, block.piece.triangles)
    parts = coacd.run_coacd(mesh)
    return Clump([Polyhedron(np.asarray(vertices, dtype=float), FLATNESS) for vertices, _ in parts])


def scene_of_blocks(
    path: str | os.PathLike[str],
    *,
    mu: float = 0.6,
    density: float = 2000.0,
    scale: float | None = None,
    up: Axis | None = None,
    fixed: str | Iterable[str] | None = None,
    ground: bool | None = None,
    nonconvex: NonConvex = "hull",
    overlap: float | None = None,
) -> Scene:
    """A scene of the blocks of a file under their weight: what ``clapas run arch.obj`` runs.

    Parameters
    ----------
    path, scale, up, nonconvex
        As in :meth:`Scene.add_blocks`.
    fixed : str or sequence of str, optional
        Names of the blocks that are supports, with * for any letters; by default those that begin with
        "support".
    mu : float
        Coefficient of friction of all joints.
    density : float
        kg/m³.
    ground : bool, optional
        Whether to lay a plane under the lowest point; by default where no block is fixed.
    overlap : float, optional
        How deep blocks may be in each other as they are drawn (m): see :class:`Scene`.

    Examples
    --------
    The arch that comes with the package:

    >>> from clapas.scenes.examples import arch_file
    >>> scene_of_blocks(arch_file(), mu=0.7)
    Scene(13 bodies in 3-D)
    """
    from clapas.scenes.scene import Scene

    scene = Scene(overlap=overlap)
    scene.law(mu=mu)
    if fixed is None:
        fixed = [name for name in _names(path) if name.lower().startswith(SUPPORT)]
    numbers = scene.add_blocks(path, scale=scale, up=up, density=density, fixed=fixed, nonconvex=nonconvex)
    added = [scene.bodies[number] for number in numbers]
    if ground or (ground is None and not any(body.is_wall for body in added)):
        low = min(_lowest(body.shape) for body in added)
        scene.add(Plane(offset=low), name="ground")
    scene.run = Run(
        duration=1.0, dt=2e-3, every=10, on_unsolved="record", solver={"name": "auto", "tol": 1e-5}
    )
    return scene


def _names(path: str | os.PathLike[str]) -> list[str]:
    return [block.name for block in read_blocks(path).blocks]


def _lowest(shape: Shape) -> float:
    """Height of the lowest corner of a block in its own frame (m)."""
    parts = [part.shape for part in shape.parts] if isinstance(shape, Clump) else [shape]
    return min(float(part.hull.vertices[:, 2].min()) for part in parts if isinstance(part, Polyhedron))
