"""Kernels compiled by another process: the list of them, and the process that must not stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import clapas
from clapas.compiled import ahead
from clapas.compiled.signatures import decoded, encoded

LISTS = json.loads(ahead.LIST.read_text(encoding="utf-8"))
ENDS_WITHIN = 60.0  # seconds, on a machine that does much else


def test_types_come_back_from_text() -> None:
    assert [encoded(decoded(kind)) for kind in LISTS["types"]] == LISTS["types"]


@pytest.mark.parametrize("usual", ["few", "many"])
def test_listed_kernels_exist(usual: str) -> None:
    assert all(hasattr(getattr(import_module(module), name), "py_func") for module, name, _ in LISTS[usual])


def test_a_ball_needs_what_is_listed() -> None:
    scene = clapas.Scene()
    scene.law(mu=0.3)
    scene.add(clapas.Plane())
    scene.add(clapas.Sphere(0.1), (0, 0, 0.15), mass=1.0)
    clapas.simulate(scene, duration=0.3, dt=1e-3)
    missing = [
        name
        for module, name, arguments in LISTS["few"]
        if tuple(decoded(LISTS["types"][i]) for i in arguments)
        not in getattr(import_module(module), name).overloads
    ]
    assert missing == [], "python -m benchmarks.first_kernels --write"


def test_the_process_ends_with_its_input(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", ahead.__name__, "few"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        process.communicate(timeout=ENDS_WITHIN)
    assert process.returncode == 0
    compiled = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert len(compiled) < len(LISTS["few"]), "it went on to the end of the list"


def test_the_process_is_gone_after_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(usual: ahead.Usual) -> list[subprocess.Popen[bytes]]:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        started.extend(subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2))
        return started

    monkeypatch.setattr(ahead, "_is_welcome", lambda: True)
    monkeypatch.setattr(ahead, "_started", start)
    with suppress(KeyboardInterrupt), ahead.compiling_ahead("few"):
        assert [process.poll() for process in started] == [None, None]
        raise KeyboardInterrupt
    assert all(process.returncode is not None for process in started)
    with ahead.compiling_ahead(None):
        assert len(started) == 2


def test_no_process_where_the_list_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_is_kept", lambda module, name: True)
    assert ahead._started.__wrapped__("few") == []


@pytest.mark.parametrize(
    ("cores", "idle", "expected"), [(1, 0.0, 0), (2, 0.5, 0), (2, 0.9, 1), (8, 1.7, 2), (8, 7.0, 3)]
)
def test_a_process_for_each_free_core(
    monkeypatch: pytest.MonkeyPatch, cores: int, idle: float, expected: int
) -> None:
    class Helper:
        def __init__(self, command: list[str], **files: int) -> None:
            assert command[-1] == "many"

    monkeypatch.setattr(ahead.subprocess, "Popen", Helper)
    monkeypatch.setattr(ahead, "_is_kept", lambda module, name: False)
    monkeypatch.setattr(ahead, "_idle_cores", lambda: idle)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    assert len(ahead._started.__wrapped__("many")) == expected


def test_processes_are_started_by_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAPAS_AHEAD")
    monkeypatch.setattr(ahead, "IS_SCALAR", False)
    monkeypatch.setattr(ahead.config, "NUMBA_NUM_THREADS", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    assert ahead._is_welcome()

    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(ahead._is_welcome()))
    thread.start()
    thread.join()
    assert answers == [False]

    monkeypatch.setenv("CLAPAS_AHEAD", "0")
    assert not ahead._is_welcome()
