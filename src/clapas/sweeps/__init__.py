"""Many runs of one scene: parameters times seeds, in parallel, into one table."""

from __future__ import annotations

from clapas.sweeps.definition import Case, Sweep
from clapas.sweeps.execution import execute
from clapas.sweeps.executors import executor
from clapas.sweeps.table import columns, write_csv, write_parquet

__all__ = ["Case", "Sweep", "columns", "execute", "executor", "write_csv", "write_parquet"]
