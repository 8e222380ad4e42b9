"""The default solver of time steps."""

from __future__ import annotations

from clapas.solvers import Auto

STEP_SOLVER = Auto(tol=1e-6)
"""A residual of 1e-6 is far below the errors of the time step, of coefficients and of shapes."""
