"""Any contact problem met in a run, alone in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from clapas.dynamics.stepping import StepResult
from clapas.dynamics.subdivision import divided_step
from clapas.errors import FormatError
from clapas.io.files import write
from clapas.io.recording import Recording
from clapas.io.settings import from_plain
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene


def step_after(recording: Recording, number: int) -> StepResult:
    """Do again the step that follows step ``number``, from the last frame kept before it.

    Of a divided step this is the last part.
    """
    steps = recording.column("step")
    if len(steps) == 0:
        raise FormatError(f"{recording.path}: no frame is complete, so no step can be done again")
    earlier = int((steps <= number).sum()) - 1
    if number < 0 or earlier < 0 or number >= int(steps[-1]):
        raise FormatError(
            f"{recording.path}: step {number} is not in the run, which has steps 0 to {steps[-1] - 1}"
        )
    model = recording.model
    if recording.scene_source:
        model = compile_scene(Scene.from_dict(json.loads(recording.scene_source)), check_overlaps=False)
    solver, scheme, sleeping = (
        from_plain(recording.settings.get(name)) for name in ("solver", "scheme", "sleeping")
    )
    state = recording.frame(earlier).state
    while True:
        done = divided_step(model, state, recording.dt, solver, scheme, sleeping=sleeping)[-1]
        if state.step == number:
            return done
        state = done.state


def export_problem(recording: Recording, number: int, path: str | os.PathLike[str]) -> Path:
    """Write the contact problem of the step after step ``number`` as an FCLib file, with its solution."""
    done = step_after(recording, number)
    write(
        path,
        done.problem.problem,
        done.solution.r,
        title=f"{recording.path.stem}, step {number}",
        description=f"contact problem of the step from t = {number * recording.dt:g} s",
    )
    return Path(path)
