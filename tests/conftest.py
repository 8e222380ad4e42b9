"""Fixtures and settings shared by all tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Kernels compile at their first call, which no deadline forgives; derandomised runs repeat.
settings.register_profile(
    "clapas", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("clapas")

# Tests share the cores among themselves: no run starts a process that compiles ahead.
os.environ["CLAPAS_AHEAD"] = "0"

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of published problems, kept beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"the published problems are not here: no folder {SHARED}")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def temporary_recordings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Runs that name no file leave it in a folder that pytest clears."""
    tempfile.tempdir = str(tmp_path_factory.mktemp("recordings"))
