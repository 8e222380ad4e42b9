"""A real browser for the page: Chromium, driven by Playwright. Tests are skipped where one is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.recordings import record, scene_in_plane, scene_in_space

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Drawing in software works on any machine; no word to the outside, no sandbox inside containers.
FLAGS = (
    "--no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist "
    "--no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-quic"
).split()


def chromium() -> str:
    named = os.environ.get("CLAPAS_BROWSER")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(
            "no Chromium found: install it (apt-get install chromium) or set CLAPAS_BROWSER to its path"
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is missing: pip install 'clapas[browser]'"
    )
    path = chromium()
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that notes every error of its own; none is expected unless a test takes it away."""
    made = browser.new_page(viewport={"width": 900, "height": 600})
    made.complaints = []
    made.on(
        "console",
        lambda said: made.complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    made.on("pageerror", lambda error: made.complaints.append(str(error)))
    made.set_default_timeout(30_000)
    yield made
    left = [text for text in made.complaints if "GPU stall" not in text]  # software drawing says so
    made.close()
    assert left == []


@pytest.fixture(scope="session")
def space_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(scene_in_space(), tmp_path_factory.mktemp("runs") / "space.h5")


@pytest.fixture(scope="session")
def plane_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(scene_in_plane(), tmp_path_factory.mktemp("runs") / "plane.h5")
