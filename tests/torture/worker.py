"""The process that judges hostile inputs: one line of JSON in, one out.

``accepted`` and ``refused`` (by an error of the package, or an exit code 2 with one message) are promised.
``traceback`` is any other exception, ``false`` a statement that is not true.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from clapas.bodies.elastic import read_mesh as read_elements
from clapas.bodies.trusses import Group, Material, Section
from clapas.cli import main
from clapas.errors import Error
from clapas.geometry.meshfiles import read_mesh
from clapas.io import read
from clapas.io.lcp import read_lcp
from clapas.io.recording import Recording, digest
from clapas.io.trusses import read_truss
from clapas.scenes.blocks import scene_of_blocks
from clapas.scenes.compilation import compile_scene
from clapas.scenes.robots import add_robot, read_robot
from clapas.scenes.scene import Scene
from clapas.scenes.simulation import simulate
from clapas.solvers import NSGS

# For drawings, which carry geometry only.
GROUPS = {
    name: Group(name=name, kind="bar", material=Material(young=1e9), section=Section(area=1e-4))
    for name in ("cables", "struts", "default")
}


class False_(Exception):
    """A statement of the package that is not true."""


def recording(argument: Any) -> None:
    """Read all of a recording; what passes its own check must be what was written."""
    path, expected = argument
    with Recording(path) as run:
        assert run.model.n_bodies >= 0
        frames = sum(1 for _ in run.frames())
        checked = run.verify()
        contents = fingerprint(run)
    # Fewer frames are what a killed writer leaves, but each must be one that was written.
    if frames and checked and not any(f"{whole} ".startswith(f"{contents} ") for whole in expected):
        raise False_("damaged numbers pass as verified")


def fingerprint(run: Recording) -> str:
    """Digest of all digests, computed from the contents and not read from the file."""
    times, values = run.readings()
    last, parts = -1, []
    for row, contacts in run.stored():
        new = slice(last + 1, int(row["step"]) + 1)
        parts.append(f"{digest.of_frame(row, contacts, times[new], values[new], {}):x}")
        last = int(row["step"])
    return f"{digest.of_constants(run._file)} {' '.join(parts)}"


def problem(path: Any) -> None:
    """Read a contact problem and measure an answer."""
    file = read(path)
    file.problem.residual(np.zeros((file.problem.n_contacts, file.problem.d)))


def lcp(path: Any) -> None:
    """Read an LCP and measure an answer."""
    file = read_lcp(path)
    file.problem.residual(np.zeros(file.problem.size))


def mesh(path: Any) -> None:
    """Read a mesh; triangles name vertices that are there."""
    vertices, triangles = read_mesh(path)
    if not (np.isfinite(vertices).all() and 0 <= triangles.min() <= triangles.max() < len(vertices)):
        raise False_("a mesh with vertices that are not there, or not finite")


def scene(path: Any) -> None:
    """Read a scene, compile it, and let two steps pass."""
    model = compile_scene(Scene.load(path))
    if 0 < model.n_bodies <= 100:
        simulate(model, 2e-3, 1e-3, NSGS(tol=1e-3, max_iterations=20), on_unsolved="record")


def robot(argument: Any) -> None:
    """Read a robot, strictly or not, and compile the scene it stands in."""
    path, strict = argument
    found = read_robot(path, strict=strict)
    made = Scene(gravity=found.gravity)
    made.law(mu=0.5)
    add_robot(made, found)
    compile_scene(made)


def truss(path: Any) -> None:
    """Read a truss; members join nodes that are there."""
    found = read_truss(path, groups=GROUPS, length="mm")
    if not np.isfinite(found.nodes).all():
        raise False_("a truss with nodes that are not finite")


def blocks(path: Any) -> None:
    """Read blocks and compile their scene."""
    compile_scene(scene_of_blocks(path))


def elements(path: Any) -> None:
    """Read finite elements; cells name nodes that are there."""
    found = read_elements(path)
    for cells in found.cells.values():
        if cells.size and not 0 <= cells.min() <= cells.max() < len(found.nodes):
            raise False_("cells with nodes that are not there")


def command(arguments: Any) -> None:
    """Run the command line in an empty folder; an error is one message on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["COLUMNS"] = "100"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(a) for a in arguments])
    if "Traceback" in err.getvalue():
        raise False_(err.getvalue())
    if code == 2:
        raise Error(err.getvalue()[:200])
    if code not in (0, 1):
        raise False_(f"exit code {code}")


JUDGES: dict[str, Callable[[Any], None]] = {
    "recording": recording,
    "problem": problem,
    "lcp": lcp,
    "mesh": mesh,
    "scene": scene,
    "robot": robot,
    "truss": truss,
    "blocks": blocks,
    "elements": elements,
    "command": command,
}


def verdict(kind: str, argument: Any) -> tuple[str, str]:
    """What happens to one input."""
    try:
        JUDGES[kind](argument)
    except Error as error:
        return "refused", str(error)[:500]
    except False_ as error:
        return "false", str(error)[:2000]
    except Exception:
        return "traceback", traceback.format_exc()[-1500:]
    return "accepted", ""


def serve() -> None:
    """Judge until standard input ends."""
    warnings.simplefilter("ignore")  # an asymmetric matrix is warned of, rightly
    np.seterr(all="ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write there
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        kind, argument = json.loads(line)
        print(json.dumps(verdict(kind, argument)), file=answers, flush=True)


if __name__ == "__main__":
    serve()
