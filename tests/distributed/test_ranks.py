"""Several ranks do what one does: the same motion, the same judge, whatever crosses a border."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .experiments import EXPERIMENTS, TOL
from .launching import mpirun, needs_mpi

pytestmark = needs_mpi
Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=[2, 3])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What ``experiments.py`` finds on so many ranks."""
    path = Path(__file__).with_name("experiments.py")
    done = mpirun(request.param, path, folder=tmp_path_factory.mktemp("ranks"))
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [result["name"] for result in results] == [experiment.__name__ for experiment in EXPERIMENTS]
    return {result["name"]: result for result in results} | {"ranks": {"count": request.param}}


MOVED = "falling general sheared born slept mixed hosted_joints hosted_truss".split()
MOVED += "divided large tumbling lonely".split()


@pytest.mark.parametrize("name", MOVED)
def test_ranks_move_bodies_as_one_does(found: Found, name: str) -> None:
    """Each step agrees to the residual; over some tens of steps what is left of it adds up."""
    result = found[name]
    assert result["unsolved"] == 0
    assert result["worst"] <= TOL
    assert result["velocity"] <= 1e-5 * result["fastest"] + 1e-7
    assert result["position"] <= 1e-7
    assert result["same_contacts"]
    assert result["contacts"] > 0
    assert result["work"][0] == pytest.approx(result["work"][1], rel=1e-8)
    assert result["given"][0] == pytest.approx(result["given"][1], rel=1e-5, abs=1e-12)
    assert sum(result["own"]) == result["alive"] - 1  # each body has one owner; the floor has none


def test_domains_share_the_work(found: Found) -> None:
    own = found["falling"]["own"]
    assert len(own) == found["ranks"]["count"]
    assert max(own) <= 1.3 * sum(own) / len(own)


def test_momentum_is_conserved(found: Found) -> None:
    result = found["momentum"]
    assert result["contacts"] > 5
    assert result["change"] <= 1e-13 * result["size"]


def test_a_fast_body_changes_owners_and_bounces(found: Found) -> None:
    result = found["crossing"]
    assert result["owners"] == list(range(found["ranks"]["count"]))
    np.testing.assert_allclose(result["velocity"], [-200.0, 0.0, 0.0], atol=1e-9)


def test_ranks_without_bodies(found: Found) -> None:
    assert sorted(found["lonely"]["own"])[:-1] == [0.0] * (found["ranks"]["count"] - 1)
    assert sum(found["coincident"]["own"]) == 4.0


def test_the_same_ranks_give_the_same_bits(found: Found) -> None:
    first, second = found["same_bits"]["digests"]
    assert first == second


def test_the_residual_is_that_of_the_whole_problem(found: Found) -> None:
    for shared, alone in found["judged"]["residuals"]:
        assert shared <= 1e-4
        assert shared == pytest.approx(alone, rel=1e-6, abs=1e-14)


def test_what_rank_0_records(found: Found) -> None:
    result = found["recorded"]
    assert result["kept"][0] == result["kept"][1] == [0, 5, 10, 15, 20]
    for name in ("readings", "energy", "work"):
        shared, alone = (np.array(each) for each in result[name])
        np.testing.assert_allclose(shared, alone, rtol=1e-5, atol=1e-5 * np.abs(alone).max())


def test_substructures_on_ranks_iterate_as_on_one(found: Found) -> None:
    result = found["substructured"]
    shared, alone = result["indicator"]
    assert len(shared) == len(alone) < 40
    np.testing.assert_array_equal(shared, alone)
    np.testing.assert_array_equal(*result["U"])


def test_one_rank_has_the_bits_of_a_run_without_mpi(tmp_path: Path) -> None:
    done = mpirun(1, Path(__file__).with_name("alone.py"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"position": 0.0, "velocity": 0.0, "work": 0.0}


def test_grains_born_inside_others_are_told_once(found: Found) -> None:
    by_ranks, alone = found["crowded"]["told"]
    assert by_ranks == alone
    assert len(alone) == 1
    assert "'rain 1' appeared" in alone[0]
    assert found["crowded"]["elsewhere"] == 1
