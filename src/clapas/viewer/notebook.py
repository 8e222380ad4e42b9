"""Notebook display of objects: a few numbers and a small picture.

Nothing is loaded unless a notebook is running; :mod:`clapas` calls :func:`register` there.
"""

from __future__ import annotations

import base64
import html
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clapas.units import in_dimension

if TYPE_CHECKING:
    from clapas.io.recording import Recording
    from clapas.io.simulation import Simulation
    from clapas.scenes.scene import Scene
    from clapas.solvers import Solution

SIZE = (480, 320)


def register(formatter: Any) -> None:
    """Register HTML representations with a notebook's formatter."""
    formatter.for_type_by_name("clapas.scenes.scene", "Scene", scene_html)
    formatter.for_type_by_name("clapas.io.recording.reader", "Recording", recording_html)
    formatter.for_type_by_name("clapas.io.simulation", "Simulation", simulation_html)
    formatter.for_type_by_name("clapas.solvers.solution", "Solution", solution_html)


def scene_html(scene: Scene) -> str:
    """Contents of a scene, and a picture of its start."""
    rows = {
        "dimension": f"{scene.d}-D",
        "bodies": f"{len(scene.bodies)}",
        "sources": f"{len(scene.sources)}",
        "probes": f"{len(scene.probes)}",
        "gravity": " ".join(f"{g:g}" for g in scene.gravity) + " m/s²",
    }
    return _card("Scene", rows, _first_frame(scene) if scene.bodies else None)


def simulation_html(simulation: Simulation) -> str:
    """State of a simulation, with a picture."""
    state, last, energy = simulation.state, simulation.last, simulation.energy
    joules = in_dimension("J", simulation.model.d)
    rows = {
        "time": f"{state.time:g} s, step {state.step} of {simulation.dt:g} s",
        "bodies": f"{state.n_bodies - simulation.model.n_carriers}",
        "contacts": "none yet" if last is None else f"{len(last.contacts)}",
        "residual": "none yet" if last is None else f"{last.solution.residual:.2e}",
        "energy": f"{energy.kinetic:.6g} {joules} kinetic, {energy.potential:.6g} {joules} potential",
    }
    with tempfile.TemporaryDirectory() as folder:
        now = simulation.copy()
        with now.record(Path(folder) / "now.h5").stop() as recording:
            return _card("Simulation", rows, _picture(recording))


def recording_html(recording: Recording) -> str:
    """Contents of a recording, with its last frame."""
    if recording.is_closed:
        return _card("Recording", {"file": recording.path.name, "state": "closed"}, None)
    times = recording.times
    if len(times) == 0:
        return _card("Recording", {"file": recording.path.name, "frames": "none complete"}, None)
    rows = {
        "file": recording.path.name,
        "frames": f"{recording.n_frames}",
        "time": f"{times[0]:g} to {times[-1]:g} s",
        "bodies": f"{recording.frame(-1).n_bodies}",
        "contacts at the end": f"{len(recording.frame(-1).contacts)}",
    }
    return _card("Recording", rows, _picture(recording))


def solution_html(solution: Solution) -> str:
    """Status of a solution, and its residual history."""
    rows = {
        "status": solution.status.name,
        "residual": f"{solution.residual:.2e} (tolerance {solution.tol:.0e})",
        "contacts": f"{solution.problem.n_contacts}",
        "iterations": f"{solution.iterations}",
        "seconds": f"{solution.time:.3g}",
        "notes": "; ".join(solution.notes) or "none",
    }
    return _card("Solution", rows, _history(solution) if len(solution.history) > 1 else None)


def _card(title: str, rows: Mapping[str, str], picture: bytes | None) -> str:
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>"
        for key, value in rows.items()
    )
    image = ""
    if picture is not None:
        coded = base64.b64encode(picture).decode()
        image = f"<img alt='{title}' src='data:image/png;base64,{coded}' style='max-width:480px'>"
    return (
        "<div style='display:flex;gap:1.5em;align-items:flex-start'>"
        f"<div><b>{title}</b><table>{cells}</table></div>{image}</div>"
    )


def _picture(recording: Recording) -> bytes:
    from clapas.viewer.pictures import snapshot

    with tempfile.TemporaryDirectory() as folder:
        return snapshot(recording, Path(folder) / "frame.png", size=SIZE).read_bytes()


def _first_frame(scene: Scene) -> bytes:
    """Picture of the initial state of a scene."""
    from clapas.io.simulation import simulate

    with (
        tempfile.TemporaryDirectory() as folder,
        simulate(scene, duration=0.0, dt=1e-3, out=Path(folder) / "start.h5") as recording,
    ):
        return _picture(recording)


def _history(solution: Solution) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0, 2.4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(solution.history.iterations, solution.history.residuals, ".-", lw=1)
    axes.axhline(solution.tol, color="0.6", ls="--", lw=1)
    axes.set(xlabel="iterations", ylabel="residual")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    return buffer.getvalue()
