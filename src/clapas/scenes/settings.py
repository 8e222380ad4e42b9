"""Settings of a run by name, as scene files give them, and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Real
from typing import Any, Literal

from clapas.dynamics.defaults import STEP_SOLVER
from clapas.dynamics.schemes import MoreauJean, MoreauMidpoint, QuasiStatic
from clapas.dynamics.sleep import Sleeping
from clapas.errors import SettingsError, require_settings, warn
from clapas.solvers import registry
from clapas.solvers.loop import Solver

MOST_STEPS = 10**15  # beyond, t + dt rounds to t
UNEVEN = 0.01  # of the duration: a run that ends so much earlier or later is told
SCHEMES = {"moreau-midpoint": MoreauMidpoint, "moreau-jean": MoreauJean, "quasi-static": QuasiStatic}
OnUnsolved = Literal["raise", "record"]


def named_solver(entries: Mapping[str, Any]) -> Solver:
    """The solver named in a scene file, ``{"name": "auto", "tol": 1e-6}``, or the default of steps."""
    settings = {"name": "auto", "tol": STEP_SOLVER.tol, **entries}
    name = str(settings.pop("name"))
    return registry.make(name, **settings)


def named_scheme(entries: Mapping[str, Any]) -> MoreauJean:
    """The scheme named in a scene file, ``{"name": "moreau-jean", "theta": 0.6}``."""
    settings = {"name": "moreau-midpoint", **entries}
    name = settings.pop("name")
    if name not in SCHEMES:
        raise SettingsError(f"no scheme is called '{name}': expected {' or '.join(SCHEMES)}")
    require_settings(f"scheme {name}", settings, [field.name for field in fields(SCHEMES[name])])
    try:
        return SCHEMES[name](**settings)
    except TypeError as error:  # a text where a number belongs
        raise SettingsError(f"scheme {name}: {error}") from None


def named_sleeping(entries: Mapping[str, Any]) -> Sleeping | None:
    """Sleep settings of a scene file, ``{"speed": 1e-2}``; None if not set."""
    require_settings("sleeping", entries, [field.name for field in fields(Sleeping)])
    try:
        return Sleeping(**entries) if entries else None
    except TypeError as error:
        raise SettingsError(f"sleeping: {error}") from None


def check_methods(scheme: Any, sleeping: Any) -> None:
    """Check that time stepping and sleep are given as objects; names are for scene files."""
    if scheme is not None and not isinstance(scheme, MoreauJean):
        raise SettingsError(f"scheme must be such as MoreauMidpoint(travel=0.1), got {scheme!r:.60}")
    if sleeping is not None and not isinstance(sleeping, Sleeping):
        raise SettingsError(
            f"sleeping must be such as Sleeping(speed=0.01), or None as in the scene, got {sleeping!r:.60}"
        )


def check_run(duration: float, dt: float, every: int, on_unsolved: str) -> None:
    """Check the arguments of a run; warn of a duration that is far from a whole number of steps."""
    for name, value in {"dt": dt, "duration": duration, "every": every}.items():
        _require_number(name, value)
    checked_step(dt)
    if not (math.isfinite(duration) and duration >= 0):
        raise SettingsError(
            f"duration must be at least 0{' and finite' if duration > 0 else ''}, got {duration}"
        )
    if duration > MOST_STEPS * dt:
        raise SettingsError(
            f"dt = {dt:g} s is too small for a run of {duration:g} s: more than {MOST_STEPS:.0e} steps; "
            "take a larger one"
        )
    if duration > 0 and round(duration / dt) == 0:
        raise SettingsError(
            f"duration = {duration:g} s is less than half of dt = {dt:g} s: not one step would be made; "
            "take a longer run or a smaller dt"
        )
    end = round(duration / dt) * dt
    if abs(end - duration) > UNEVEN * duration:
        warn(
            f"duration = {duration:g} s is {duration / dt:.4g} steps of dt = {dt:g} s, which are whole: the "
            f"run ends at t = {end:g} s. Take a duration that is a multiple of dt, or a smaller dt"
        )
    check_every(every)
    checked_choice(on_unsolved)


def check_every(every: Any) -> None:
    """Check the number of steps between two recorded ones."""
    _require_number("every", every)
    if not every >= 1:
        raise SettingsError(f"every must be at least 1, got {every}")
    if every != every // 1:
        raise SettingsError(f"every must be a whole number of steps, got {every}")
    if every > MOST_STEPS:
        raise SettingsError(f"every must be at most {MOST_STEPS:.0e} steps, got {every}")


def _require_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SettingsError(f"{name} must be a number, got {value!r}")


def checked_step(dt: Any) -> float:
    """A time step that is a positive number (s)."""
    _require_number("dt", dt)
    if not (math.isfinite(dt) and dt > 0):
        raise SettingsError(f"dt must be positive{' and finite' if dt > 0 else ''}, got {dt}")
    return float(dt)


def checked_choice(on_unsolved: Any) -> OnUnsolved:
    """Check ``on_unsolved``."""
    if on_unsolved not in ("raise", "record"):
        raise SettingsError(f"on_unsolved must be 'raise' or 'record', got '{on_unsolved}'")
    choice: OnUnsolved = on_unsolved
    return choice
