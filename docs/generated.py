"""Parts of pages that are made from the package at build time, so that they cannot go stale.

A page says where, by a comment ``<!-- made here: WHAT -->``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = re.compile(r"<!-- made here: ([\w-]+) -->")


def fill(app: Any, page: str, source: list[str]) -> None:
    """Put what is made here in its place in a page."""
    source[0] = filled(source[0])


def filled(text: str) -> str:
    """A page with its made parts."""
    return MARK.sub(lambda mark: MAKERS[mark.group(1)](), text)


def commands() -> str:
    """What every command says of itself when asked for help."""
    import typer
    from typer.testing import CliRunner

    from clapas.cli import app

    parts = []
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        said = CliRunner().invoke(app, [name, "--help"], prog_name="clapas", terminal_width=100).stdout
        parts += [f"## clapas {name}", f"```text\n{said.strip()}\n```"]
    return "\n\n".join(parts)


def scenes() -> str:
    """The shipped scenes: thumbnails, then what each shows, its parameters, a picture."""
    from clapas.scenes import examples

    cards = [_thumbnail(name) for name in examples.names()]
    parts = ["\n\n".join(("::::{grid} 2 3 4 4\n:gutter: 2", *cards, "::::"))]
    for name in examples.names():
        parts.append(f"(scene-{name})=\n## {name}")
        if (HERE / "_static" / "scenes" / f"{name}.png").exists():
            parts.append(f"![The scene {name}](_static/scenes/{name}.png)")
        parts.append(_story(examples._SCENES[name]))
        given = examples.parameters(name)
        if given:
            options = [
                (f"`--{key.replace('_', '-')}`", f"{p.default:g}", str(p.range), p.range.meaning)
                for key, p in given.items()
            ]
            parts.append(_table(("parameter", "default", "range", "meaning"), options))
        parts.append(f"```text\nclapas run {name}\n```")
    return "\n\n".join(parts)


def _thumbnail(name: str) -> str:
    """A card of the grid that leads to the scene."""
    options = [f":link: scene-{name}", ":link-type: ref", ":text-align: center"]
    if (HERE / "_static" / "scenes" / f"{name}.png").exists():
        options.insert(0, f":img-top: _static/scenes/{name}.png")
    return "\n".join((":::{grid-item-card}", *options, f"`{name}`", ":::"))


def recording_frames() -> str:
    """The columns of ``/frames``."""
    from clapas.io.recording import layout

    return _columns(layout.FRAMES)


def recording_contacts() -> str:
    """The columns of ``/contacts``."""
    from clapas.io.recording import layout

    return _columns(layout.CONTACTS)


def recording_probes() -> str:
    """The columns of ``/probes``."""
    from clapas.io.recording import layout

    return _columns(layout.PROBES)


def recording_model() -> str:
    """The constant arrays of ``/model``."""
    from clapas.io.recording import layout

    groups = {"": layout.MODEL, "colliders/": layout.COLLIDERS, "hulls/": layout.HULLS, "laws/": layout.LAWS}
    rows = [
        (f"`/model/{group}`", ", ".join(f"`{name}`" for name in names)) for group, names in groups.items()
    ]
    return _table(("group", "arrays"), rows)


def recording_version() -> str:
    """Name and version of the format."""
    from clapas.io.recording import layout

    return f"`format` = `{layout.FORMAT}`, `version` = {layout.VERSION}"


def probe_quantities() -> str:
    """What a probe can read."""
    from clapas.dynamics.probes import QUANTITIES

    return _table(("quantity", "meaning"), [(f"`{name}`", meaning) for name, meaning in QUANTITIES.items()])


def scene_tables() -> str:
    """The tables of a scene file, their keys, kinds and defaults, from the schema that checks them."""
    from clapas.scenes import schema

    parts = []
    for title, entry in {
        "The scene": schema.SceneEntry,
        "`[run]`": schema.RunEntry,
        "`[materials.NAME]`": schema.MaterialEntry,
        "`[[laws]]`": schema.LawEntry,
        "`[[bodies]]`": schema.BodyEntry,
        "Walls among `[[bodies]]`": schema.WallEntry,
        "`[[fills]]`": schema.FillEntry,
        "`[[sources]]`": schema.SourceEntry,
        "`[[joints]]`": schema.JointEntry,
        "`[[mimics]]`": schema.MimicEntry,
        "`[[probes]]`": schema.ProbeEntry,
    }.items():
        parts += [f"### {title}", _story(entry), _keys(entry)]
    for title, union in {
        "Shapes": schema.ShapeEntry,
        "Motions": schema.MotionEntry,
        "Regions": schema.RegionEntry,
        "Motors": schema.MotorEntry,
    }.items():
        rows = [(f"`{_word(kind)}`", _story(kind), _names(kind)) for kind in _kinds(union)]
        parts += [f"### {title}", _table(("type", "what it is", "keys"), rows)]
    return "\n\n".join(parts)


def _kinds(union: Any) -> Sequence[Any]:
    """The entries of a union that a key ``type`` tells apart."""
    return union.__origin__.__args__


def _word(kind: Any) -> str:
    return kind.model_fields["type"].annotation.__args__[0]


def _names(kind: Any) -> str:
    return ", ".join(f"`{name}`" for name in kind.model_fields if name != "type")


def _keys(entry: Any) -> str:
    rows = []
    for name, field in entry.model_fields.items():
        default = "needed" if field.is_required() else f"`{field.get_default(call_default_factory=True)!r}`"
        rows.append((f"`{name}`", default.replace("`None`", "").replace("`''`", ""), field.description or ""))
    return _table(("key", "default", "meaning"), rows)


def _columns(columns: Mapping[str, Any]) -> str:
    rows = [
        (
            f"`{name}`",
            f"({', '.join(map(str, column.shape))})",
            f"`{column.dtype}`",
            column.unit,
            column.meaning,
        )
        for name, column in columns.items()
    ]
    return _table(("dataset", "shape of a row", "type", "unit", "meaning"), rows)


def _story(thing: Any) -> str:
    """What a docstring tells before its first section."""
    return re.split(r"\n\n\w+\n---", inspect.getdoc(thing) or "")[0].replace("``", "`")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


MAKERS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "scenes": scenes,
    "recording-version": recording_version,
    "recording-frames": recording_frames,
    "recording-contacts": recording_contacts,
    "recording-probes": recording_probes,
    "recording-model": recording_model,
    "scene-tables": scene_tables,
    "probe-quantities": probe_quantities,
}
