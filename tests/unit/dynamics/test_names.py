"""Names kept in one string are read as a tuple of them is."""

from __future__ import annotations

import copy
import pickle

import pytest

from clapas.dynamics.names import Names

GIVEN = ("floor", "", "body 2", "Kügelchen", "ball")


def test_they_are_read_as_a_tuple() -> None:
    names = Names(GIVEN)
    assert len(names) == 5
    assert list(names) == [names[k] for k in range(5)] == list(GIVEN)
    assert names[-1] == "ball"
    assert "Kügelchen" in names
    assert "stone" not in names
    assert names.index("body 2") == 2
    with pytest.raises(IndexError):
        names[5]


@pytest.mark.parametrize(
    "part", [slice(0, 0), slice(3), slice(1, 4), slice(-2, None), slice(7, 9), slice(None, None, -2)]
)
def test_a_part_has_the_names_of_the_part_of_a_tuple(part: slice) -> None:
    assert Names(GIVEN)[part] == GIVEN[part]
    assert Names(GIVEN)[part] == Names(GIVEN[part])


def test_equal_names_are_the_same_ones_in_the_same_order() -> None:
    names = Names(GIVEN)
    assert names == Names(GIVEN) == copy.deepcopy(names) == pickle.loads(pickle.dumps(names))
    assert hash(names) == hash(Names(GIVEN))
    assert names == list(GIVEN)
    assert Names(["ab", "c"]) != Names(["a", "bc"])
    assert not Names()
    assert Names() == ()
