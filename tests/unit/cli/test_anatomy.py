"""Numbers that describe a problem."""

from __future__ import annotations

import numpy as np
import pytest

from clapas.cli.anatomy import dissect
from clapas.problems import ContactProblem, gallery, reduce, split


@pytest.mark.parametrize(
    "name", ["packing-plane-100", "alea-42-5", "tower-10", "subset-sum-six", "no-contact"]
)
def test_components_are_those_of_split(name: str) -> None:
    problem = gallery.get(name).problem
    expected = len(split(problem))
    assert dissect(problem).components == expected
    assert dissect(reduce(problem)).components == expected


def test_some_problem_has_several_components() -> None:
    problem = gallery.get("packing-plane-100").problem
    assert len(split(problem)) > 1, "the test above needs a problem in pieces"


def test_mass_blocks_by_size() -> None:
    M = np.eye(5)
    M[0, 1] = M[1, 0] = 0.5
    problem = ContactProblem(M=M, H=np.eye(2, 5), f=np.zeros(5), mu=[0.5], d=2)
    anatomy = dissect(problem)
    assert anatomy.mass_blocks == {1: 3, 2: 1}
    assert anatomy.density == {"M": 7 / 25, "H": 2 / 10, "W": 1.0}
    assert (anatomy.dofs, anatomy.ratio) == (5, 2 / 5)
    # M = [[1, ½], [½, 1]] on the two dofs of the contact has eigenvalues ½ and 3/2.
    assert anatomy.condition == pytest.approx(3.0)


def test_columns_of_the_thesis_on_its_first_problem() -> None:
    anatomy = dissect(gallery.get("alea-42-5").problem)
    assert anatomy.ratio == pytest.approx(15 / 42)  # printed 0.36
    assert dissect(gallery.get("no-contact").problem).condition == 1.0


def test_ranges_and_asymmetry() -> None:
    W = np.diag([1.0, 3.0, 5.0, 7.0])
    W[0, 3] = 0.7
    with pytest.warns(UserWarning, match="not symmetric"):
        problem = ContactProblem(W=W, q=[[-3.0, 0.0], [4.0, 0.0]], mu=[0.25, 0.5])
    anatomy = dissect(problem)
    assert (anatomy.mu, anatomy.response) == ((0.25, 0.5), (2.0, 6.0))
    assert (anatomy.free_velocity, anatomy.approaching, anatomy.components) == (5.0, 1, 1)
    assert anatomy.asymmetry == {"W": pytest.approx(0.1)}
    assert anatomy.density == {"W": 5 / 16}
    assert (anatomy.dofs, anatomy.mass_blocks) == (None, None)
