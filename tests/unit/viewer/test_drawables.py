from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clapas.geometry import rotations
from clapas.geometry.shapes import Box, Capsule, Cylinder, Sphere
from clapas.io.recording import Recording
from clapas.viewer.drawables import drawables, sharp_edges, volumes
from clapas.viewer.ground import clip
from tests.recordings import OCTAHEDRON


def test_every_shape_is_drawn(space_run: Path) -> None:
    with Recording(space_run) as recording:
        model = recording.model
        made = drawables(model, np.zeros(3), 5.0)
    bodies = {name: model.names.index(name) for name in model.names}
    drawn: dict[str, list[int]] = {}
    for drawable in made:
        drawn.setdefault(drawable.kind, []).extend(drawable.body.tolist())
    assert sorted(drawn["sphere"]) == sorted(
        [bodies["ball"], *[bodies["pill"]] * 2, *[bodies["dumbbell"]] * 2]
    )
    assert drawn["box"] == [bodies["brick"]]
    assert sorted(drawn["cylinder"]) == sorted([bodies["pill"], bodies["tin"]])
    assert drawn["mesh"] == [bodies["gem"]]
    assert drawn["surface"] == [bodies["stair"]]
    assert sorted(drawn["ground"]) == sorted([bodies["floor"], bodies["wall"]])


def test_a_capsule_is_two_balls_and_a_cylinder(space_run: Path) -> None:
    with Recording(space_run) as recording:
        model = recording.model
        pill = model.names.index("pill")
        made = [part for part in drawables(model, np.zeros(3), 5.0) if pill in part.body]
    ends = np.concatenate([part.position[part.body == pill] for part in made if part.kind == "sphere"])
    (tube,) = (part for part in made if part.kind == "cylinder")
    assert tube.arrays["size"][tube.body == pill].tolist() == [[pytest.approx(0.1), pytest.approx(0.15)]]
    along = rotations.rotate(tube.orientation[tube.body == pill][0], np.array([0, 0, 0.15]))
    assert np.sort(ends, axis=0) == pytest.approx(np.sort(np.array([along, -along]), axis=0), abs=1e-12)


def test_volumes_are_those_of_the_shapes(space_run: Path, plane_run: Path) -> None:
    with Recording(space_run) as recording:
        volume = dict(zip(recording.model.names, volumes(recording.model), strict=True))
    assert volume["ball"] == pytest.approx(Sphere(0.2).volume)
    assert volume["brick"] == pytest.approx(Box((0.4, 0.3, 0.2)).volume)
    assert volume["pill"] == pytest.approx(Capsule(0.1, 0.3).volume)
    assert volume["tin"] == pytest.approx(Cylinder(0.15, 0.3).volume)
    assert volume["gem"] == pytest.approx(OCTAHEDRON.volume)
    assert volume["dumbbell"] == pytest.approx(2 * Sphere(0.1).volume)
    assert volume["floor"] == volume["stair"] == 0.0
    with Recording(plane_run) as recording:
        volume = dict(zip(recording.model.names, volumes(recording.model), strict=True))
    assert volume["coin"] == pytest.approx(np.pi * 0.04)
    assert volume["square"] == pytest.approx(0.16)
    assert volume["triangle"] == pytest.approx(0.06)


def test_diagonals_are_no_edges(space_run: Path) -> None:
    with Recording(space_run) as recording:
        made = drawables(recording.model, np.zeros(3), 5.0)
    (gem,) = (part for part in made if part.kind == "mesh")
    assert len(gem.arrays["edges"]) == 12
    assert len(gem.arrays["triangles"]) == 8
    (stair,) = (part for part in made if part.kind == "surface")
    assert len(stair.arrays["edges"]) == 7  # two squares that share a side


def test_a_flat_sheet_has_only_its_border() -> None:
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    edges = sharp_edges(square, np.array([[0, 1, 2], [0, 2, 3]]))
    assert {tuple(sorted(edge)) for edge in edges.tolist()} == {(0, 1), (1, 2), (2, 3), (0, 3)}


def test_walls_end_where_they_meet(space_run: Path) -> None:
    with Recording(space_run) as recording:
        model = recording.model
        made = [part for part in drawables(model, np.zeros(3), 5.0) if part.kind == "ground"]
    where = {}
    for part in made:
        body = int(part.body[0])
        corners = rotations.rotate(model.orientation[body], part.arrays["vertices"].astype(float))
        where[model.names[body]] = corners + model.position[body]
    assert where["floor"][:, 2] == pytest.approx(0.0, abs=1e-6)
    assert where["floor"][:, 0].min() == pytest.approx(-2.0, abs=1e-3)  # the wall
    assert where["wall"][:, 0] == pytest.approx(-2.0, abs=1e-6)
    assert where["wall"][:, 2].min() == pytest.approx(0.0, abs=1e-3)  # the floor


def test_clipping_all_or_nothing() -> None:
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    x = np.array([1.0, 0.0, 0.0])
    assert np.array_equal(clip(square, -x, x), square)
    assert len(clip(square, 2 * x, x)) == 0
