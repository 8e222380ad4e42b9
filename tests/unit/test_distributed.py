"""Domains without MPI: cuts of space, owners of contacts, parts of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clapas.collision import Detector
from clapas.collision.detector import radix_of
from clapas.distributed.bisection import BINS, bisection
from clapas.distributed.communication import EndedElsewhere, Ranks
from clapas.distributed.domain import Layout
from clapas.distributed.launch import launched_size
from clapas.distributed.solving import sweeping
from clapas.errors import SettingsError
from clapas.geometry.shapes import Box, Plane, Polyhedron, Sphere
from clapas.scenes.compilation import compile_scene
from clapas.scenes.scene import Scene
from clapas.solvers import NSGS, Auto, SemismoothNewton
from clapas.solvers.nsgs import Coloured, Shuffled


class Alone:
    """A communicator of several ranks of which this one has everything and the others nothing."""

    def __init__(self, size: int) -> None:
        self.size, self.rank = size, 0

    def Allgather(self, own: Any, everyone: Any) -> None:
        everyone[:] = own  # corners of boxes, which are the same for all
        if len(own) % BINS == 0:  # a histogram, to which the others add nothing
            everyone[1:] = 0.0


@given(
    size=st.integers(1, 9),
    n=st.integers(0, 200),
    seed=st.integers(0, 100),
    d=st.sampled_from([2, 3]),
)
def test_cuts_share_out_the_weight(size: int, n: int, seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    position, weight = rng.uniform(-1.0, 1.0, (n, d)), rng.integers(1, 6, n)
    cuts = bisection(Ranks(Alone(size)), position, weight)
    owner = cuts.owner(position)
    assert owner.min(initial=0) >= 0
    assert owner.max(initial=0) < size
    loads = np.bincount(owner, weight, size)
    if n:
        # Each cut is at most the heaviest body away from its goal, on each of the levels above a domain.
        assert np.abs(loads - weight.sum() / size).max() <= 6 * (1 + np.ceil(np.log2(size))) + 1


def test_bodies_in_one_place_have_one_owner() -> None:
    position = np.ones((5, 3))
    owner = bisection(Ranks(Alone(4)), position, np.ones(5, dtype=np.int64)).owner(position)
    assert len(set(owner.tolist())) == 1


def mixed() -> Scene:
    scene = Scene()
    scene.law(mu=0.5)
    scene.add(Plane(), name="floor")
    scene.add(Sphere(0.1), (0, 0, 0.1), density=1.0)
    scene.add(Box((0.2, 0.2, 0.2)), (0.2, 0, 0.1), density=1.0)
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    scene.add(Polyhedron(corners), (0.4, 0, 0.3), density=1.0)
    scene.add(Sphere(5.0), (0, 0, 10.0), density=1.0)
    return scene


def test_a_contact_has_one_owner() -> None:
    layout = Layout(compile_scene(mixed()), Ranks(Alone(3)), 2)
    assert layout.is_large.tolist() == [False, False, False, False, True]
    floor, small, box, large = 0, 1, 2, 4

    def owner(a: int, b: int, of_a: int, of_b: int) -> int:
        pair = (np.array([each]) for each in (a, b, of_a, of_b))
        return int(layout.contact_owner(*pair)[0])

    assert owner(floor, small, -1, 2) == 2
    assert owner(small, box, 2, 1) == owner(small, box, 1, 2) == 1
    assert owner(small, large, 2, 0) == 2  # the small one's


def test_a_part_of_a_model_finds_the_same_contacts() -> None:
    """Numbers of features depend on the largest hull of all bodies, not on those of the part."""
    model = compile_scene(mixed())
    radix = radix_of(model.colliders)
    ids = np.array([0, 1, 2])
    part = model.of_bodies(ids)
    whole = Detector(model.colliders).detect(model.position, model.orientation, 0.01)
    some = Detector(part.colliders, radix=radix).detect(part.position, part.orientation, 0.01)
    among = np.flatnonzero((whole.a < 3) & (whole.b < 3))
    assert len(some) == len(among) > 0
    np.testing.assert_array_equal(some.feature, whole.feature[among])
    np.testing.assert_array_equal(some.gap, whole.gap[among])
    assert part.has_spheres == model.has_spheres
    assert part.smallest == model.smallest


def test_rows_of_colliders_of_some_bodies() -> None:
    colliders = compile_scene(mixed()).colliders
    rows = colliders.rows_of(np.array([1, 3]))
    assert colliders.body[rows].tolist() == [1, 3]
    assert colliders.of_bodies(np.array([1, 3])).body.tolist() == [0, 1]
    assert len(colliders.rows_of(np.empty(0, dtype=np.int64))) == 0


def test_solvers_on_ranks() -> None:
    assert sweeping(Auto(tol=1e-5)).tol == 1e-5
    assert isinstance(sweeping(NSGS(tol=1e-5)).order, Coloured)
    for solver in (SemismoothNewton(), NSGS(order=Shuffled()), NSGS(form="delassus")):
        with pytest.raises(SettingsError, match="solved by 'auto' or by 'nsgs' on bodies"):
            sweeping(solver)


def test_an_error_of_one_rank_is_one_of_all() -> None:
    ranks = Ranks(Alone(1))
    ranks.agree(None)
    with pytest.raises(ValueError, match="mine"):
        ranks.agree(ValueError("mine"))

    class Failing(Alone):
        def Allgather(self, own: Any, everyone: Any) -> None:
            everyone[:] = [[0.0], [1.0]]

    with pytest.raises(EndedElsewhere, match="rank 1 ended the run"):
        Ranks(Failing(2)).agree(None)


def test_without_a_launcher_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert launched_size() == 1
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert launched_size() == 4
