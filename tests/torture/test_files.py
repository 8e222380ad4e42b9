"""Damaged and edited files of every format: refused with a message that names the place, or read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from clapas import NSGS, Plane, Recording, Scene, Sphere, simulate
from clapas.geometry.meshfiles import write_mesh
from clapas.geometry.shapes import Box, Polyhedron
from clapas.io import shipped
from clapas.io.lcp import write_lcp
from clapas.problems.lcp import LCP
from tests.torture import worker
from tests.torture.harness import Random, fuzz, inputs
from tests.torture.mutations import edited, spoil_hdf5, spoilt_bytes, spoilt_words

CORNERS = [(0.1, 0, 0), (-0.1, 0, 0), (0, 0.1, 0), (0, -0.1, 0), (0, 0, 0.1), (0, 0, -0.1)]


def spoilt(path: Path, target: Path, rng: Random, words: bool) -> str:
    """A spoilt copy of a file at ``target``."""
    if words and rng.random() < 0.7:
        text, origin = spoilt_words(path.read_text(encoding="utf-8"), rng)
        target.write_text(text, encoding="utf-8")
        return f"{path.name}: {origin}"
    data, origin = spoilt_bytes(path.read_bytes(), rng)
    target.write_bytes(data)
    return f"{path.name}: {origin}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Small recordings: with probes and hulls, and with sleep."""
    folder = tmp_path_factory.mktemp("recordings")
    scene = Scene(seed=1)
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Polyhedron(CORNERS), position=(0.5, 0, 0.11), density=2000, name="gem")
    for k in range(3):
        scene.add(Sphere(0.1), position=(0.05 * k, 0, 0.1 + 0.21 * k), density=2000)
    scene.probe("position", "gem", name="way")
    method = NSGS(tol=1e-3)
    simulate(scene, 0.1, 2e-3, method, out=folder / "probes.h5", every=5).close()
    from clapas.dynamics.sleep import Sleeping

    sleeping = Sleeping(speed=1e-2)
    simulate(scene, 0.1, 2e-3, method, out=folder / "sleep.h5", every=2, sleeping=sleeping).close()
    return [folder / "probes.h5", folder / "sleep.h5"]


def test_recordings(runs: list[Path], tmp_path: Path) -> None:
    target, expected = tmp_path / "run.h5", []
    for path in runs:
        with Recording(path) as run:
            expected.append(worker.fingerprint(run))

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = runs[int(rng.integers(0, len(runs)))]
        if rng.random() < 0.5:
            target.write_bytes(path.read_bytes())
            origin = spoil_hdf5(target, rng)
        else:
            origin = spoilt(path, target, rng, words=False)
        yield [str(target), expected], f"{path.name}: {origin}"

    fuzz("recordings", "recording", inputs(150, 0.05), make)


def test_fclib(tmp_path: Path) -> None:
    path, target = shipped("two-blocks.hdf5"), tmp_path / "problem.hdf5"

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        if rng.random() < 0.6:
            target.write_bytes(path.read_bytes())
            origin = spoil_hdf5(target, rng)
        else:
            origin = spoilt(path, target, rng, words=False)
        yield str(target), origin

    fuzz("FCLib", "problem", inputs(150, 0.1), make)


def test_siconos_text(tmp_path: Path) -> None:
    files = [path for path in shipped().iterdir() if path.suffix == ".dat"]
    target = tmp_path / "problem.dat"

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        yield str(target), spoilt(files[int(rng.integers(0, len(files)))], target, rng, words=True)

    fuzz("Siconos text", "problem", inputs(150, 0.17), make)


def relay(path: Path, form: str) -> Path:
    """A relay, with texts of variable length, as a program that knows nothing of Clapas writes it."""
    with h5py.File(path, "w", libver=(form, form if form != "earliest" else "v108")) as file:
        file.attrs["name"] = "relay"
        file["M"], file["q"] = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, 1.0])
        file["lower"], file["upper"], file["kind"] = np.array([0.0, -1.0]), np.array([1.0, 1.0]), "dual"
    return path


@pytest.mark.parametrize("form", ["earliest", "v110"])
def test_bits_of_texts_of_variable_length(form: str, tmp_path: Path) -> None:
    """Bits of references to heaps, and of their types before them: the library crashed, or copied 1 GB."""
    path, target = relay(tmp_path / "relay.hdf5", form), tmp_path / "spoilt.hdf5"
    data = path.read_bytes()
    heap = data.index(b"GCOL").to_bytes(8, "little")
    places = [at for at in range(len(data)) if data.startswith(heap, at)]
    assert len(places) >= 2
    bits = [
        (at + i, bit)
        for at in places
        for i in range(-40 if form == "earliest" else -4, 12)
        for bit in range(8)
    ]

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        for at, bit in bits if "CLAPAS_TORTURE_INPUTS" in os.environ else bits[:: len(bits) // 200]:
            spoilt = bytearray(data)
            spoilt[at] ^= 1 << bit
            target.write_bytes(spoilt)
            yield str(target), f"bit {bit} of byte {at}"

    fuzz(f"texts ({form})", "lcp", 1, make)


def test_lcp_files(tmp_path: Path) -> None:
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 3.0]])
    problems = {"full": LCP(M, [-5.0, -6.0, 1.0]), "sparse": LCP(sparse.csr_array(M), [-5.0, -6.0, 1.0])}
    files = []
    for name, problem in problems.items():
        for ending in (".hdf5", ".npz", ".mtx", ".dat"):
            files.append(tmp_path / f"{name}{ending}")
            write_lcp(files[-1], problem)
    for form in ("earliest", "v110"):
        files += [relay(tmp_path / f"{form}.hdf5", form)]

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        if path.suffix == ".hdf5" and rng.random() < 0.6:
            target.write_bytes(path.read_bytes())
            origin = spoil_hdf5(target, rng)
        else:
            origin = spoilt(path, target, rng, words=path.suffix in (".mtx", ".dat"))
        yield str(target), f"{path.name}: {origin}"

    fuzz("LCP files", "lcp", inputs(150, 0.13), make)


def test_meshes(tmp_path: Path) -> None:
    vertices = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    triangles = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    files = [tmp_path / "text.stl", tmp_path / "binary.stl", tmp_path / "corners.obj"]
    for path in files:
        write_mesh(path, vertices, triangles, text=path.stem == "text")

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        path = files[int(rng.integers(0, len(files)))]
        target = tmp_path / f"spoilt{path.suffix}"
        yield str(target), spoilt(path, target, rng, words=path.stem != "binary")

    fuzz("meshes", "mesh", inputs(150, 0.12), make)


def _scenes() -> list[dict[str, object]]:
    """Plain data of scenes with something of everything."""
    from clapas.scenes import examples

    names = (
        "bouncing-ball",
        "wedged-bar",
        "pile-of-balls",
        "rolling-ball",
        "vibrating-plate",
        "two-block-stack",
        "gripper",
        "slider-crank",
        "four-bar",
    )
    made = [examples.load(name).to_dict() for name in names]
    scene = Scene(period=(5.0, None))
    scene.material("stone", density=2500)
    scene.law("stone", "stone", mu=0.4, cohesion=1.0, rolling=0.01)
    scene.add(Plane(), material="stone")
    scene.add(Box((1, 1, 0.1)), (1, 0, 0.3), motion=([0.0, 1.0], [(0, 0, 0), (0, 0, 1)]), name="lift")
    scene.add(Sphere(0.1), (3, 0, 0.5), material="stone", force=(0, 0, 1), free="z", name="bob")
    scene.probe("force", "bob")
    return [*made, scene.to_dict()]


def _systems() -> list[dict[str, object]]:
    """Plain data of scenes with trusses, elastic bodies and rods."""
    from clapas.scenes import examples

    sizes: dict[str, dict[str, object]] = {
        "tensegrity-ball": {"rocks": 1},
        "tensegrity-deployment": {},
        "elastic-bar": {"cells": 2},
        "pulled-square": {"cells": 2},
        "elastic-ring": {"cells": 8},
        "brush": {"bristles": 1},
        "capstan": {"elements": 4},
        "hair": {"rods": 2, "elements": 3},
    }
    return [examples.load(name, **parameters).to_dict() for name, parameters in sizes.items()]


@pytest.mark.parametrize("kind", ["scenes", "scenes with trusses, elastic bodies and rods"])
def test_scenes(kind: str, tmp_path: Path) -> None:
    from clapas.scenes.toml import to_toml

    scenes = _scenes() if kind == "scenes" else _systems()

    def make(rng: Random) -> Iterator[tuple[object, str]]:
        which = int(rng.integers(0, len(scenes)))
        data = scenes[which]
        for _ in range(int(rng.integers(1, 4))):
            changed = edited(data, rng)
            data = changed if isinstance(changed, dict) else data
        target = tmp_path / ("scene.toml" if rng.random() < 0.8 else "scene.yaml")
        text = to_toml(data) if target.suffix == ".toml" else json.dumps(data)
        if rng.random() < 0.2:
            text = spoilt_words(text, rng)[0]
        target.write_text(text, encoding="utf-8", errors="replace")
        yield str(target), f"scene {which}"

    fuzz(kind, "scene", inputs(30, 0.025), make)
