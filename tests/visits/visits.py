"""The visits, as commands in an empty folder, and how to make them.

``python -m tests.visits --write`` makes them all and writes their transcript to ``docs/visits.md``.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import clapas
from clapas.cli import main

PACKAGE = Path(clapas.__file__).parent


@dataclass(frozen=True)
class Visit:
    """Somebody who comes through one of the doors.

    Parameters
    ----------
    door, person : str
        Which door, and who comes with which question.
    commands : tuple of str
        What they type.
    leaves : tuple of str
        Files they go home with.
    says : tuple of str
        Words that the answers must hold.
    brings : tuple of Path
        Files they come with.
    """

    door: str
    person: str
    commands: tuple[str, ...]
    leaves: tuple[str, ...]
    says: tuple[str, ...]
    brings: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a command printed, how it ended and how long it took (s)."""

    command: str
    code: int
    out: str
    seconds: float


VISITS = (
    Visit(
        "Grains",
        "A granular physicist wants a heap, a picture and its numbers.",
        (
            "clapas run heap --grains 60 --relaxation 0.05 --dt 1e-3 --out heap.h5 --picture heap.png",
            "clapas measure heap.h5 --what slope,coordination,friction,speed",
            "clapas snapshot heap.h5 --colour birth --out birth.png",
        ),
        ("heap.h5", "heap.png", "birth.png"),
        ("slope", "°", "coordination"),
    ),
    Visit(
        "Masonry",
        "A mason has an arch drawn in Blender and asks whether it stands.",
        (
            "clapas info example:arch",
            "clapas masonry example:arch --mu 0.6 --load voussoir_06=1000 --picture arch.png",
        ),
        ("arch.png",),
        ("STANDS", "least friction", "0.3071", "largest tilt"),
    ),
    Visit(
        "Solvers",
        "An analyst has contact problems in files and asks which method suits them.",
        (
            "clapas info example:two-blocks",
            "clapas solve example:two-blocks --tol 1e-10 --out solved.hdf5",
            "clapas compare example:two-blocks gallery:two-blocks --solvers auto,nsgs,interior-point "
            "--picture profile.png",
        ),
        ("solved.hdf5", "profile.png"),
        ("SOLVED", "residual", "2 of 2 solved"),
    ),
    Visit(
        "Robots",
        "A roboticist has an arm in a URDF file and a loop in Python: push a box, feel it slide, stop.",
        (
            "clapas info arm.urdf",
            "clapas run arm.urdf --duration 0.1 --dt 1e-3 --out arm.h5",
            "python push.py",
            "clapas plot push.h5 --what probe:effort,probe:travel --out effort.png",
        ),
        ("arm.h5", "push.h5", "effort.png"),
        ("joint elbow", "pushed by 9.81", "the same bits after reset: True"),
        (PACKAGE / "scenes" / "examples" / "arm.urdf", Path(__file__).with_name("push.py")),
    ),
)


def make(visit: Visit, folder: Path) -> list[Answer]:
    """Type the commands of a visit in a folder."""
    answers = []
    before = Path.cwd()
    for file in visit.brings:
        shutil.copy(file, folder)
    os.chdir(folder)
    try:
        for command in visit.commands:
            words = shlex.split(command)
            out, start, code = io.StringIO(), time.perf_counter(), 0
            with contextlib.redirect_stdout(out):
                if words[0] == "python":
                    runpy.run_path(words[1], run_name="__main__")
                else:
                    assert words[0] == "clapas"
                    code = main(words[1:])
            answers.append(Answer(command, code, out.getvalue(), time.perf_counter() - start))
    finally:
        os.chdir(before)
    return answers


def transcript(visit: Visit, answers: list[Answer]) -> str:
    """A visit as a part of a page."""
    lines = [f"## {visit.door}", "", visit.person, ""]
    for answer in answers:
        told = answer.out.replace(str(PACKAGE), "…/clapas")
        shown = [line.rstrip()[:110] for line in told.strip().splitlines()][:24]
        lines += ["```text", f"$ {answer.command}", *shown, "```", "", f"{answer.seconds:.1f} s", ""]
    return "\n".join(lines) + "\n"
