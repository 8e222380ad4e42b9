"""``clapas masonry SCENE``: does it stand? Limit analysis and dynamics of blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clapas.cli import blocks, output, parameters
from clapas.cli.progress import telling_of_compilation
from clapas.errors import SettingsError
from clapas.units import counted, in_dimension

if TYPE_CHECKING:
    from clapas.analysis.masonry import Masonry
    from clapas.analysis.settlement import MovedJoint, Settlement
    from clapas.scenes.scene import Scene

AXES = {"x": 0, "y": 1, "z": 2}


def masonry(
    context: typer.Context,
    scene: Annotated[
        str,
        typer.Argument(
            metavar="SCENE",
            help="Blocks (.obj, .stl, .ply, .glb, .dxf, .json), a scene file, or an example by name.",
        ),
    ],
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=N]",
            help="Weight on a block: how many newtons it bears (per metre of depth in 2-D); may be repeated.",
        ),
    ] = None,
    settle: Annotated[
        str | None, typer.Option(metavar="NAME", help="Move this support until the blocks fall.")
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of the settlement: x, -x, y … or numbers 1,0,0; by default down."),
    ] = None,
    until: Annotated[float | None, typer.Option(help="Farthest settlement (m).")] = None,
    time: Annotated[
        float, typer.Option(help="How long to watch the blocks (s); 0 for limit analysis only.")
    ] = 0.5,
    out: Annotated[Path | None, typer.Option(help="Recording of the settlement to write.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Picture to write: forces at the joints, hinges of the settlement.",
            callback=output.picture_path,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a report.")] = False,
) -> None:
    """Say whether a structure of blocks stands: by forces that could hold it, and by letting it go.

    Prints the verdict, the least friction, the largest tilt of the ground, and on request what load a block
    bears and which settlement of a support. Further options are those of the blocks, as for 'clapas run':
    --mu,
    --density, --scale, --up, --fixed, --nonconvex, --overlap; or the parameters of an example.
    """
    from clapas.analysis.masonry import Masonry
    from clapas.analysis.settlement import settle as settled

    if settle is None and (direction is not None or until is not None or out is not None):
        raise SettingsError("--direction, --until and --out belong to a settlement: add --settle NAME")
    if not 0.0 <= time < math.inf:
        raise SettingsError(f"--time must be seconds, 0 for limit analysis only, got {time}")
    structure = Masonry(_scene(scene, context.args))
    with telling_of_compilation(), output.as_notes():
        document = describe(structure, time, load or [])
        moved = None
        if settle is not None:
            moved = settled(structure, settle, _direction(direction, structure.model.d), until=until, out=out)
            document["settlement"] = _settlement(structure, moved)
        if picture is not None:
            draw(structure, moved, picture)
            document["picture"] = picture
    if as_json:
        output.print_json(document)
    else:
        output.print_rows(_rows(document))


def _scene(name: str, arguments: list[str]) -> Scene:
    from clapas.scenes import examples

    path = blocks.found(name)
    if path is not None:
        return blocks.scene(path, arguments)
    return examples.load(name, **parameters.read(name, arguments, examples.parameters(name)))


def describe(structure: Masonry, time: float, loads: list[str]) -> dict[str, Any]:
    """Results for JSON output."""
    verdict = structure.verdict(time if time > 0.0 else None)
    document: dict[str, Any] = {
        "blocks": int(structure.model.movable.sum()),
        "supports": int((~structure.model.movable).sum()),
        "contacts": len(structure.resting.contacts),
        "d": structure.model.d,
        "mu": sorted(set(structure.resting.problem.mu.tolist())),
        "verdict": verdict.word,
        "meaning": verdict.meaning,
        "can_stand": verdict.can_stand,
        "stays": verdict.stays,
        "watched": verdict.time,
        "moved": verdict.moved,
        "speed": verdict.speed,
        "fastest": verdict.fastest,
        "least_friction": structure.least_friction(),
    }
    if verdict.can_stand:
        tilt = structure.largest_tilt()
        document["tilt"] = {"angle": tilt.angle, "direction": tilt.direction}
        document["loads"] = [_load(structure, entry) for entry in loads]
    return document


def _load(structure: Masonry, entry: str) -> dict[str, Any]:
    """The largest load on a block (N), and the factor of safety if a load is prescribed."""
    name, equals, text = entry.partition("=")
    try:
        prescribed = float(text) if equals else None
    except ValueError:
        prescribed = math.nan
    if prescribed is not None and not (0.0 < prescribed < math.inf):
        raise SettingsError(f"--load needs NAME or NAME=NEWTONS with a positive number, got '{entry}'")
    down = [0.0] * structure.model.d
    down[-1] = -1.0
    largest = structure.largest_load({name: down})
    return {
        "block": name,
        "largest": largest,
        "given": prescribed,
        "factor": prescribed and largest / prescribed,
    }


def _direction(text: str | None, d: int) -> list[float] | None:
    if text is None:
        return None
    axis = text.lstrip("+-").lower()
    if axis in AXES and AXES[axis] < d:
        vector = [0.0] * d
        vector[AXES[axis]] = -1.0 if text.startswith("-") else 1.0
        return vector
    try:
        vector = [float(word) for word in text.split(",")]
    except ValueError:
        vector = []
    if len(vector) != d:
        raise SettingsError(
            f"--direction must be an axis such as x or -x, or {d} numbers with commas, got '{text}'"
        )
    return vector


def _settlement(structure: Masonry, moved: Settlement) -> dict[str, Any]:
    def joint(each: MovedJoint) -> dict[str, Any]:
        names = structure.model.names
        return {
            "between": [names[each.a], names[each.b]],
            "point": each.point,
            "turned": math.degrees(each.turned),
            "slid": each.slid,
        }

    return {
        "support": moved.support,
        "direction": moved.direction,
        "bearable": moved.bearable,
        "collapse": moved.collapse,
        "reached": moved.reached,
        "hinges": [joint(each) for each in moved.hinges],
        "sliding": [joint(each) for each in moved.sliding],
    }


def draw(structure: Masonry, moved: Settlement | None, path: Path) -> None:
    """Draw the structure with equilibrium forces and, after a settlement, its last state in equilibrium."""
    from matplotlib.figure import Figure

    from clapas.analysis import elevation
    from clapas.io.pictures import save_figure

    panels = 1 if moved is None else 2
    figure = Figure(figsize=(8.0 * panels, 5.0), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    can_stand = structure.can_stand()
    forces = structure.joint_forces() if can_stand else []
    elevation.draw(axes[0], structure.model, structure.start, forces)
    axes[0].set_title("forces that hold it" if can_stand else "no forces hold it", fontsize=10)
    if moved is not None:
        elevation.draw(axes[1], moved.model, moved.state, hinges=moved.hinges)
        axes[1].set_title(f"'{moved.support}' moved by {moved.bearable:.3g} m: hinges", fontsize=10)
    save_figure(figure, path, 110)


# -------------------------------------------------------------------- text output


def _rows(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "verdict", document["verdict"].upper()
    yield "", document["meaning"]
    coefficients = ", ".join(f"{mu:g}" for mu in document["mu"]) or "none"
    yield (
        "structure",
        f"{counted(document['blocks'], 'block')}, {counted(document['supports'], 'support')}, "
        f"{counted(document['contacts'], 'contact point')} in {document['d']}-D, mu {coefficients}",
    )
    yield "limit analysis", "some forces hold it" if document["can_stand"] else "no forces hold it"
    if document["stays"] is not None:
        yield (
            "dynamics",
            f"{'stays' if document['stays'] else 'falls'}: after {document['watched']:g} s moved by at most "
            f"{document['moved']:.2g} m, '{document['fastest']}' at {document['speed']:.2g} m/s",
        )
    least = document["least_friction"]
    yield "least friction", f"{least:.4f}" if math.isfinite(least) else "no friction is enough"
    if "tilt" in document:
        tilt = document["tilt"]
        word = ", ".join(f"{value:.3g}" for value in tilt["direction"])
        yield "largest tilt", f"{tilt['angle']:.2f}° of the ground, downhill along ({word})"
    newtons = in_dimension("N", document["d"])
    for load in document.get("loads", ()):
        words = (
            f"bears {load['largest']:.4g} {newtons}" if math.isfinite(load["largest"]) else "bears any weight"
        )
        factor = f", {load['factor']:.3g} times {load['given']:g} {newtons}" if load["given"] else ""
        yield f"load on {load['block']}", words + factor
    if "settlement" in document:
        yield from _settlement_rows(document["settlement"])
    if "picture" in document:
        yield "picture", str(document["picture"])


def _settlement_rows(moved: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "settlement", f"of '{moved['support']}' by {moved['bearable']:.4g} m can be borne"
    if moved["collapse"] is None:
        yield "", f"no collapse up to {moved['reached']:.4g} m"
    else:
        yield "", f"the blocks had left it behind at {moved['collapse']:.4g} m"
    for hinge in moved["hinges"]:
        yield "hinge", f"{' – '.join(hinge['between'])}, open by {hinge['turned']:.3g}°"
    for joint in moved["sliding"]:
        yield "slid", f"{' – '.join(joint['between'])}, by {joint['slid']:.3g} m"
