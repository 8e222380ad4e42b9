"""Curves of a recording over time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clapas.errors import SettingsError
from clapas.io.pictures import save_figure
from clapas.io.recording import Recording
from clapas.typing import Array
from clapas.units import headed, in_dimension

DPI = 110
INKS = ("#b5532c", "#2c64a3", "#5f7d3a")


class Curve(NamedTuple):
    """One set of axes: its label, its lines by name, its unit in 3-D."""

    label: str
    lines: dict[str, str]
    is_logarithmic: bool = False
    unit: str = ""


CURVES = {
    "energy": Curve(
        "energy", {"kinetic": "kinetic", "potential": "potential", "work": "work of the contacts"}, unit="J"
    ),
    "kinetic": Curve("kinetic energy", {"kinetic": "kinetic"}, is_logarithmic=True, unit="J"),
    "contacts": Curve("contacts", {"contacts": "contacts"}),
    "bodies": Curve("bodies", {"alive": "bodies"}),
    "residual": Curve("residual", {"residual": "residual"}, is_logarithmic=True),
    "iterations": Curve("iterations", {"iterations": "iterations"}),
    "seconds": Curve("time of the solver", {"seconds": "solver"}, unit="s"),
}
PROBE = "probe:"
USUAL = ("energy", "contacts", "residual", "iterations")


def plot(recording: Recording, path: str | os.PathLike[str], what: Sequence[str] = USUAL) -> Path:
    """Draw curves over time, one under another.

    Parameters
    ----------
    recording : Recording
        The run.
    path : path
        Image to write; the suffix sets the format (.png, .svg, .pdf …).
    what : sequence of str
        Keys of :data:`CURVES`, or ``probe:NAME`` for a probe. Potential energy is relative to the
        start.
    """
    from matplotlib.figure import Figure

    unknown = [name for name in what if name not in CURVES and not _is_probe(recording, name)]
    if unknown or not what:
        probes = (
            f"probes of this run: {', '.join(recording.probes)}" if recording.probes else "this run has none"
        )
        raise SettingsError(
            f"no curve is called '{unknown[0] if unknown else ''}': expected some of {', '.join(CURVES)}, or "
            f"{PROBE}NAME for a probe ({probes})"
        )
    figure = Figure(figsize=(7.5, 0.7 + 1.7 * len(what)), layout="constrained")
    rows = figure.subplots(len(what), 1, sharex=True, squeeze=False)[:, 0]
    times = recording.times
    for axes, name in zip(rows, what, strict=True):
        if name not in CURVES:
            _draw_probe(axes, recording, name.removeprefix(PROBE))
            continue
        curve, has_logarithm = CURVES[name], False
        for (column, label), ink in zip(curve.lines.items(), INKS, strict=False):
            values = _values(recording, column, curve.is_logarithmic)
            has_logarithm |= curve.is_logarithmic and bool((values > 0.0).any())
            axes.plot(times, values, label=label, color=ink, linewidth=1.3)
        axes.set_ylabel(headed(curve.label, in_dimension(curve.unit, recording.model.d)))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if has_logarithm:  # a run without contacts has zero residuals
            axes.set_yscale("log")
        if len(curve.lines) > 1:
            axes.legend(frameon=False, fontsize="small")
    rows[-1].set_xlabel("time (s)")
    rows[0].set_title(recording.path.name, fontsize=10, loc="left")
    save_figure(figure, path, DPI)
    return Path(path)


def _is_probe(recording: Recording, name: str) -> bool:
    return name.startswith(PROBE) and name.removeprefix(PROBE) in recording.probes


def _draw_probe(axes: Any, recording: Recording, name: str) -> None:
    """Plot the values of a probe, a line for each component."""
    probe = recording.probes[name]
    times, values = recording.readings()[0], recording.probe(name)
    columns = values.reshape(len(values), -1)
    labels = probe.components(recording.model.d)
    for column, label, ink in zip(columns.T, labels, INKS * 3, strict=False):
        axes.plot(times, column, label=label or name, color=ink, linewidth=1.3)
    axes.set_ylabel(headed(name, probe.unit(recording.model.d)))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if columns.shape[1] > 1:
        axes.legend(frameon=False, fontsize="small")


def _values(recording: Recording, column: str, is_logarithmic: bool) -> Array:
    if column == "contacts":
        values = np.diff(recording.column("contact_end"), prepend=0).astype(float)
    else:
        values = np.asarray(recording.column(column), dtype=float)
    if column == "alive":
        values = values - recording.n_carriers
    if column == "potential" and len(values):
        values = values - values[0]
    # a logarithm has no zero: leave a gap
    return np.where(values > 0.0, values, np.nan) if is_logarithmic and (values > 0.0).any() else values
