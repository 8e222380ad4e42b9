from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings import record, scene_in_plane, scene_in_space


@pytest.fixture(scope="session")
def space_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(scene_in_space(), tmp_path_factory.mktemp("runs") / "space.h5")


@pytest.fixture(scope="session")
def plane_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(scene_in_plane(), tmp_path_factory.mktemp("runs") / "plane.h5")
