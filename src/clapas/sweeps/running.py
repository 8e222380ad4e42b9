"""One run of a sweep, in any process: from a case to a row of numbers."""

from __future__ import annotations

import math
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import numba
import numpy as np

from clapas.analysis.measures import measure
from clapas.dynamics.probes import Probe
from clapas.errors import Error
from clapas.io.recording import Recording
from clapas.io.simulation import simulate
from clapas.sweeps import units
from clapas.sweeps.definition import Case

DONE, FAILED = "done", "failed"


def run_case(case: Case) -> dict[str, Any]:
    """Run a case and return its row; errors are part of the row, never raised.

    It uses one thread, as there is a run per processor.
    """
    numba.set_num_threads(1)
    began = time.perf_counter()
    row: dict[str, Any] = {"status": DONE, "message": "", "units": {}}
    try:
        with tempfile.TemporaryDirectory(prefix="clapas-sweep-") as folder:
            path = Path(case.recording) if case.recording else Path(folder) / "run.h5"
            scene = case.build()
            row["units"] |= units.of_parameters(case.scene, list(case.values), scene.d)
            with simulate(scene, out=path) as recording:
                row |= numbers_of(recording)
                row["units"] |= units_of(recording)
                row |= _measured(recording, case, row)
    except Error as error:
        row |= failure(str(error))
    except Exception as error:  # recorded, so that the sweep goes on
        row |= failure(f"{type(error).__name__}: {error}") | {"traceback": traceback.format_exc()}
    return row | {"seconds": time.perf_counter() - began}


def failure(message: str) -> dict[str, Any]:
    """The entries of a failed run."""
    return {"status": FAILED, "message": message}


def numbers_of(recording: Recording) -> dict[str, Any]:
    """Numbers that every run has, at its end; probes by name, with their axes."""
    last = recording.frame(-1)
    row: dict[str, Any] = {
        "steps": last.state.step,
        "time": last.state.time,
        "bodies": last.n_bodies,
        "contacts": len(last.contacts),
        "kinetic": last.kinetic,
        "potential": last.potential,
        "work": last.work,
        "worst_residual": float(recording.column("residual").max()),
        "mean_iterations": float(recording.column("iterations").mean()),
    }
    for name, probe in recording.probes.items():
        values = np.atleast_1d(recording.probe(name)[-1])
        row |= dict(zip(_columns_of(probe, recording.model.d), values.tolist(), strict=True))
    return row


def units_of(recording: Recording) -> dict[str, str]:
    """Units of the numbers that have one, by column."""
    d = recording.model.d
    by_column = units.of_ends(d)
    for probe in recording.probes.values():
        by_column |= units.of_probe(probe, _columns_of(probe, d), d)
    return by_column


def _columns_of(probe: Probe, d: int) -> list[str]:
    return [f"{probe.name}_{axis}".removesuffix("_") for axis in probe.components(d)]


def column_of(measure: str, case: Case) -> str:
    """The column of a measure: its name, unless a parameter is called so (``speed``)."""
    return f"measured_{measure}" if measure in case.values else measure


def _measured(recording: Recording, case: Case, row: dict[str, Any]) -> dict[str, Any]:
    """Take all measures that the run has; the entries of a failure if one of them cannot be had."""
    lacking = []
    for name in case.measures:
        try:
            _measure(recording, name, case, row)
        except Error as error:
            lacking.append(f"{name}: {error}")
    return failure("; ".join(lacking)) if lacking else {}


def _measure(recording: Recording, name: str, case: Case, row: dict[str, Any]) -> None:
    measured, column = measure(recording, name), column_of(name, case)
    error = measured.error
    more = {} if error is None or not math.isfinite(error) else {f"{column}_error": error}
    row |= {column: measured.value} | more
    row["units"] |= units.of_measure(measured, [column, *more])
