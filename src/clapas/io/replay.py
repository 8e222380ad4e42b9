"""Export of a contact problem of a recorded run."""

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
    """Recompute the step that follows step ``number``, from the last frame recorded before it.

    For a divided step, its last part.
    """
    steps = recording.column("step")
    if len(steps) == 0:
        raise FormatError(f"{recording.path}: no frame is complete, so no step can be done again")
    earlier = int((steps <= number).sum()) - 1
    if number < 0 or earlier < 0 or number >= int(steps[-1]):
        last = int(steps[-1])
        has = f"which has steps 0 to {last - 1}" if last else "which has no step after its start"
        raise FormatError(f"{recording.path}: step {number} is not in the run, {has}")
    model = recording.model
    if recording.scene_source:
        model = compile_scene(Scene.from_dict(json.loads(recording.scene_source)), check_overlaps=False)
    solver, scheme, sleeping = (
        from_plain(recording.settings.get(name)) for name in ("solver", "scheme", "sleeping")
    )
    state = recording.frame(earlier).state
    while True:
        result = divided_step(model, state, recording.dt, solver, scheme, sleeping=sleeping)[-1]
        if state.step == number:
            return result
        state = result.state


def export_problem(recording: Recording, number: int, path: str | os.PathLike[str]) -> Path:
    """Write the contact problem of the step after step ``number`` as an FCLib file, with its solution."""
    result = step_after(recording, number)
    write(
        path,
        result.problem.problem,
        result.solution.r,
        title=f"{recording.path.stem}, step {number}",
        description=f"contact problem of the step from t = {number * recording.dt:g} s",
    )
    return Path(path)
