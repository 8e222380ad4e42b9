"""Checks of the settings of static drivers."""

from __future__ import annotations

from clapas.errors import SettingsError


def check_loop(tol: float, max_iterations: int) -> None:
    """Check the tolerance and the number of iterations."""
    if not tol > 0.0 or max_iterations < 1:
        raise SettingsError(f"tol and max_iterations must be positive, got {tol!r} and {max_iterations!r}")
