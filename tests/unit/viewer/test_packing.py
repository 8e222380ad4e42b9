from __future__ import annotations

import numpy as np
import pytest

from clapas.viewer.packing import pack, unpack


def test_arrays_come_back() -> None:
    arrays = {
        "letters": np.arange(5, dtype="u1"),  # five bytes: what follows must be aligned all the same
        "points": np.arange(6, dtype="f4").reshape(2, 3),
        "none": np.empty((0, 3), dtype="f4"),
        "numbers": np.array([-1, 7], dtype="i4"),
    }
    data = pack({"name": "µ", "n": 3}, arrays)
    header, back = unpack(data)
    assert header == {"name": "µ", "n": 3}
    assert list(back) == list(arrays)
    for name, values in arrays.items():
        assert back[name].shape == values.shape
        assert np.array_equal(back[name], values)


def test_every_array_is_aligned() -> None:
    data = pack({"x": "odd"}, {"a": np.zeros(3, dtype="u1"), "b": np.zeros(1, dtype="f4")})
    length = int.from_bytes(data[:4], "little")
    assert length % 4 == 0
    assert len(data) == 4 + length + 4 + 4


def test_nan_and_infinity_become_null() -> None:
    header, _ = unpack(pack({"a": float("nan"), "b": [1.0, float("inf")], "c": {"d": -float("inf")}}, {}))
    assert header == {"a": None, "b": [1.0, None], "c": {"d": None}}


def test_types_that_do_not_travel_are_refused() -> None:
    with pytest.raises(AssertionError, match="does not travel"):
        pack({}, {"a": np.zeros(2)})
