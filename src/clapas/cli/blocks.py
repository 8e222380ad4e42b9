"""Files of blocks on the command line: ``clapas info arch.obj``, ``clapas run arch.obj --mu 0.6``."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clapas.cli import output
from clapas.cli.source import EXAMPLE
from clapas.errors import FormatError, SettingsError

if TYPE_CHECKING:
    from clapas.geometry.pieces import SolidPiece
    from clapas.scenes.blocks import BlockFile
    from clapas.scenes.scene import Scene

ARCH = "example:arch"
NUMBERS = ("mu", "density", "scale", "overlap")
WORDS = ("up", "fixed", "nonconvex")
OPTIONS = (*NUMBERS, *WORDS)
ASSUMED = {"mu": "friction {:g}", "density": "{:g} kg/m³"}  # defaults that are reported


def found(name: str) -> Path | None:
    """The path of a file of blocks, or None if the name is not one."""
    from clapas.geometry.meshfiles import is_mesh_file

    if name in (ARCH, f"{ARCH}.obj"):
        from clapas.scenes.examples import arch_file

        return arch_file()
    if name.startswith(EXAMPLE) or not is_mesh_file(name):
        return None
    if not Path(name).exists():
        raise FormatError(f"there is no file '{name}'")
    return Path(name)


def scene(path: Path, arguments: Sequence[str]) -> Scene:
    """The scene of a file of blocks with options ``--mu 0.6 --fixed 'pier*'``; ``--fixed`` may be repeated.

    Examples
    --------
    >>> from clapas.scenes.examples import arch_file
    >>> scene(arch_file(), ["--mu", "0.7", "--density=2400"])
    Scene(13 bodies in 3-D)
    """
    from clapas.scenes.blocks import scene_of_blocks

    options = read(path.name, arguments)
    loaded = scene_of_blocks(path, **options)
    defaults = signature(scene_of_blocks).parameters
    assumed = [
        f"{words.format(defaults[name].default)} (--{name})"
        for name, words in ASSUMED.items()
        if name not in options
    ]
    if "ground" in {body.name for body in loaded.bodies}:
        assumed.append("a ground under the lowest point, as no block is fixed (--fixed)")
    if assumed:
        output.note(f"assumed: {', '.join(assumed)}")
    return loaded


def read(label: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Values of the options of a file of blocks."""
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word, equals, text = rest.pop(0).partition("=")
        name = word.removeprefix("--")
        if not word.startswith("--") or name not in OPTIONS:
            options = [f"--{each}" for each in OPTIONS]
            near = difflib.get_close_matches(word, options, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise SettingsError(
                f"'{label}' is a file of blocks and knows {', '.join(options)}, not '{word}'{hint}"
            )
        if not equals and not rest:
            raise SettingsError(f"{word} needs a value")
        value = text if equals else rest.pop(0)
        if name == "fixed":
            values.setdefault(name, []).append(value)
        else:
            values[name] = _number(word, value) if name in NUMBERS else value
    return values


def _number(word: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"{word} must be a number, got '{text[:40]}'") from None


def show(path: Path, name: str, as_json: bool, scale: float | None = None, up: str | None = None) -> None:
    """Print the blocks of a file; ``name`` is the name used on the command line."""
    from clapas.scenes.blocks import SUPPORT, read_blocks

    file = read_blocks(path, scale=scale, up=up)  # type: ignore[arg-type]  # read_blocks rejects other axes
    if as_json:
        output.print_json(describe(file))
        return
    x, y, z = file.extent
    volume = sum(_volume(block.piece) for block in file.blocks)
    output.print_rows(
        [
            ("file", str(file.path)),
            ("blocks", str(len(file.blocks))),
            ("size", f"{x:.4g} × {y:.4g} × {z:.4g} m, with {file.scale:g} m per unit and {file.up} upwards"),
            ("volume", f"{volume:.4g} m³"),
            *(("note", remark) for remark in file.remarks()),
        ]
    )
    print()
    rows = [
        (
            block.name,
            f"{_volume(block.piece):.4g}",
            " × ".join(f"{length:.3g}" for length in block.piece.extent),
            _form(block.piece.is_closed, block.piece.excess, block.is_convex),
            "yes" if block.is_support or block.name.lower().startswith(SUPPORT) else "",
        )
        for block in file.blocks
    ]
    output.print_table(("block", "volume (m³)", "size (m)", "form", "support"), rows)
    options = "" if scale is None else f" --scale {scale:g}"
    options += "" if up is None else f" --up {up}"
    run, masonry = (output.typed(verb, name) + options for verb in ("run", "masonry"))
    print(f"\n{run} simulates them, {masonry} says whether they stand.")


def _volume(piece: SolidPiece) -> float:
    """Volume of a piece, or of its convex hull where the surface is not closed."""
    return piece.volume if piece.is_closed else piece.hull_volume


def _form(is_closed: bool, excess: float, is_convex: bool) -> str:
    if not is_closed:
        return "not closed"
    return "convex" if is_convex else f"not convex, hull {100 * excess:.3g} % larger"


def describe(file: BlockFile) -> dict[str, Any]:
    """Description of a file of blocks for JSON output."""
    return {
        "path": file.path,
        "scale": file.scale,
        "up": file.up,
        "extent": file.extent,
        "notes": file.remarks(),
        "blocks": [
            {
                "name": block.name,
                "volume": block.piece.volume,
                "hull_volume": block.piece.hull_volume,
                "extent": block.piece.extent,
                "is_closed": block.piece.is_closed,
                "is_convex": block.is_convex,
                "is_support": block.is_support,
            }
            for block in file.blocks
        ],
    }
